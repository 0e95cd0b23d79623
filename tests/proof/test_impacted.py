"""Impacted tests in a clone where only a part of the tests was ever recorded."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import Checkout, checkout

CORE = "def total(prices):\n    return sum(prices)\n"
CHANGED = CORE.replace("sum(prices)", "sum(prices, 0)")
FILES = {
    "shop/__init__.py": "",
    "shop/core.py": CORE,
    "shop/page.py": "from shop import core\n\n\ndef shown(prices):\n    return "
    "core.total(prices)\n",
    "shop/tax.py": "RATE = 2\n",
    "shop/types.py": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from shop.core import total\n"
    ),
    "tests/test_core.py": "from shop.core import total\n\n\ndef test_total():\n    assert "
    "total([1]) == 1\n",
    "tests/test_page.py": (
        "from shop.page import shown\n\n\ndef test_shown():\n    assert shown([1]) == 1\n\n\n"
        "def test_none():\n    assert True\n"
    ),
    "tests/test_near.py": "from shop.core import total\n\n\ndef test_near():\n    assert "
    "total([]) == 0\n",
    "tests/test_tax.py": "from shop import tax\n\n\ndef test_rate():\n    assert tax.RATE == 2\n",
    "tests/test_types.py": "import shop.types\n\n\ndef test_types():\n    assert shop.types\n",
    "pytest.ini": "[pytest]\npythonpath = .\ntestpaths = tests\n",
}
NEAR, SHOWN, NONE = (
    "tests/test_near.py::test_near",
    "tests/test_page.py::test_shown",
    "tests/test_page.py::test_none",
)
RATE, TYPES = "tests/test_tax.py::test_rate", "tests/test_types.py::test_types"
TOTAL = "tests/test_core.py::test_total"


@pytest.fixture
def shop(tmp_path: Path, home: Path) -> Checkout:
    """A repository of which one test was recorded before a function that it executes changed."""
    repo = checkout(tmp_path / "shop", FILES)
    assert repo.pytest("-q", "tests/test_core.py").returncode == 0
    repo.write("shop/core.py", CHANGED)
    return repo


def impacted(repo: Checkout, *args: str) -> Any:
    return json.loads(repo.kl("proof", "impacted", "--format", "json", *args).stdout)


def ran(repo: Checkout, *args: str) -> set[str]:
    """The tests that pytest ran."""
    done = repo.pytest("-v", "--kl-audit=off", *args)
    return {line.split()[0] for line in done.stdout.splitlines() if " PASSED" in line}


def test_tests_come_by_how_it_is_known_that_they_must_run(shop: Checkout) -> None:
    answer = impacted(shop)
    assert (answer["schema"], answer["groups"], answer["total"]) == (
        "kl.proof.impacted/2",
        {"known": 1, "imports": 3, "unconnected": 2},
        6,
    )
    fields = ("test", "group", "uses", "distance")
    rows = [tuple(test[name] for name in fields) for test in answer["tests"]]
    assert rows == [
        (TOTAL, "known", None, None),
        (NEAR, "imports", 1, 1),
        (SHOWN, "imports", 2, 2),
        # its file imports what changed, and it does not use it
        (NONE, "imports", None, 2),
        (RATE, "unconnected", None, None),
        # an import that only type checkers see runs nothing
        (TYPES, "unconnected", None, None),
    ]
    assert set(answer["arguments"]) == {row[0] for row in rows}


def test_the_text_has_a_line_for_a_file_and_counts_what_has_no_import_path(shop: Checkout) -> None:
    lines = shop.kl("proof", "impacted").stdout.splitlines()
    assert lines[0] == "known to execute what changed: 1 test in 1 file"
    assert lines[1].startswith(f"  {TOTAL}: ")
    assert lines[2:] == [
        "may reach it by imports, never recorded: 3 tests in 2 files",
        f"  {NEAR}: not recorded yet, 1 call away",
        f"  {SHOWN}: not recorded yet, 2 calls away",
        f"  {NONE}: not recorded yet, 2 imports away",
        "no import path found, never recorded: 2 tests in 2 files",
        "not listed: 2 rows (kl proof impacted --all lists each test)",
        (
            "6 tests to run (1 known: pytest --kl-impacted --kl-unrecorded=none); the results of 0"
            " others are valid"
        ),
    ]
    whole = shop.kl("proof", "impacted", "--all").stdout
    assert f"{RATE}: not recorded yet\n{TYPES}: not recorded yet\n" in whole
    assert f"{NONE}: not recorded yet, 2 imports away\n" in whole


def test_of_many_files_ten_lines_are_printed(shop: Checkout) -> None:
    for number in range(20):
        for module in ("core", "tax"):
            text = f"from shop import {module}\n\n\ndef test_{module}():\n    assert {module}\n"
            shop.write(f"tests/test_{module}_{number}.py", text)
    shop.git("add", "-A")
    shop.git("commit", "-qm", "more", "--", "tests")
    lines = shop.kl("proof", "impacted").stdout.splitlines()
    assert len(lines) <= 10
    # what changed is the function alone: modules that are merely imported come after its users
    assert [line.split(":")[0].strip() for line in lines[3:5]] == [
        "tests/test_near.py",
        "tests/test_page.py",
    ]
    assert lines[-2].startswith("not listed: ")


def test_a_package_and_a_conftest_are_imported_with_what_is_inside_them(shop: Checkout) -> None:
    shop.write("shop/core.py", CORE)
    shop.write("shop/__init__.py", "VERSION = 1\n")
    assert impacted(shop)["groups"]["unconnected"] == 0
    shop.write("shop/__init__.py", "")
    shop.write("tests/conftest.py", "LIMIT = 1\n")
    assert impacted(shop)["groups"]["unconnected"] == 0


def test_what_imported_a_removed_module_may_be_reached(shop: Checkout) -> None:
    shop.write("shop/core.py", CORE)
    (shop.root / "shop/tax.py").unlink()
    distances = {test["test"]: test["distance"] for test in impacted(shop)["tests"]}
    assert distances[RATE] is not None


def test_tests_of_a_file_that_changed_are_known(shop: Checkout) -> None:
    shop.write("tests/test_tax.py", FILES["tests/test_tax.py"].replace("== 2", "< 3"))
    rows = {test["test"]: test for test in impacted(shop, "--unrecorded", "none")["tests"]}
    assert rows.keys() == {TOTAL, RATE}
    assert ran(shop, "--kl-impacted", "--kl-unrecorded=none") == {TOTAL, RATE}


def test_impacted_runs_every_test_that_cannot_be_ruled_out(shop: Checkout) -> None:
    assert ran(shop, "--kl-impacted") == {TOTAL, NEAR, SHOWN, NONE, RATE, TYPES}


def test_unrecorded_narrows_the_run_and_pytest_reports_it(shop: Checkout) -> None:
    done = shop.pytest("-v", "--kl-impacted", "--kl-unrecorded=imports")
    assert "kl: 2 tests deselected that no run recorded, so nothing is known of them" in done.stdout
    assert "4 passed, 2 deselected" in done.stdout
    # the rest was not run, so it is not proven
    assert shop.kl("verify").returncode == 1
    done = shop.pytest("-q", "--kl-impacted", "--kl-unrecorded=imports", "--kl-audit=off")
    assert done.returncode == 5, "no test ran, and there are tests without any result"
    assert "nothing had to run" not in done.stdout
    assert shop.pytest("-q", "--kl-impacted").returncode == 0
    assert shop.kl("verify").returncode == 0


def test_unrecorded_narrows_the_run_of_workers(shop: Checkout) -> None:
    done = shop.pytest("-q", "--kl-impacted", "--kl-unrecorded=none", "-n", "2", "-p", "xdist")
    assert "1 passed" in done.stdout, done.stdout


def test_unrecorded_without_impacted_is_refused(shop: Checkout) -> None:
    done = shop.pytest("-q", "--kl-unrecorded=none")
    assert (done.returncode, "--kl-unrecorded: it narrows --kl-impacted" in done.stderr) == (
        4,
        True,
    )


def test_a_commit_is_asked_by_the_imports_that_it_has(shop: Checkout) -> None:
    shop.commit()
    shop.write("tests/test_tax.py", FILES["tests/test_near.py"])
    rows = {test["test"]: test for test in impacted(shop, "--changed", "HEAD~1...HEAD")["tests"]}
    assert rows[RATE]["group"] == "unconnected"


@pytest.mark.skipif(sys.version_info < (3, 12), reason="symbols are recorded from 3.12 on")
def test_a_module_without_examples_is_imported_where_nothing_is_to_run(
    tmp_path: Path, home: Path
) -> None:
    files = {
        "pytest.ini": "[pytest]\naddopts = --doctest-modules\n",
        "shop/__init__.py": "",
        "test_shop.py": "def test_shop():\n    pass\n",
    }
    repo = checkout(tmp_path / "shop", files=files)
    assert repo.pytest("-q").returncode == 0
    repo.write("shop/cart.py", "def total():\n    return 1\n")
    repo.commit()
    assert repo.kl("verify").returncode == 1, "nobody knows whether it can be imported"
    assert repo.pytest("-q", "--kl-impacted").returncode in (0, 5)
    assert repo.kl("verify").returncode == 0
    repo.write("shop/line.py", "import shop.missing\n")
    repo.commit()
    assert repo.pytest("-q", "--kl-impacted").returncode == 2
    assert repo.kl("verify").returncode == 1
