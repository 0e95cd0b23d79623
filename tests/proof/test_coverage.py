"""`kl evidence import coverage`: lines of tests become links to symbols, as far as they can be
known.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.evidence.making import leave_run
from tests.support import Checkout, checkout

coverage = pytest.importorskip("coverage")

CART = """import functools
PRICE = 3
class Cart:
    items = 1
    def total(self):
        return add(self.items, [y for y in (1,)])
@functools.cache
def add(
    a,
    b=PRICE,
):
    '''Add.'''
    return a
def one(): return 1
def never():
    return add(1)
"""
TEST = (
    "import cart\ndef test_total():\n    assert cart.Cart().total()\ndef test_one():\n    assert"
    " cart.one()\n"
)
FILES = {
    "src/cart.py": CART,
    "tests/test_cart.py": TEST,
    "pytest.ini": "[pytest]\npythonpath = src\n",
}
TOTAL, ONE = "tests/test_cart.py::test_total", "tests/test_cart.py::test_one"
LINES: Mapping[str, Mapping[str, list[int]]] = {
    "": {"src/cart.py": [1, 2, 3, 4, 5, 7, 8, 10, 14, 15], "tests/test_cart.py": [1, 2, 4]},
    f"{TOTAL}|run": {"src/cart.py": [6, 13], "tests/test_cart.py": [3]},
    f"{ONE}|run": {"src/cart.py": [14], "tests/test_cart.py": [5]},
    f"{ONE}|teardown": {"src/cart.py": [6]},
}


@pytest.fixture
def shop(tmp_path_factory: pytest.TempPathFactory, home: object) -> Checkout:
    """Nobody measured anything yet."""
    return checkout(tmp_path_factory.mktemp("coverage") / "shop", FILES)


def measured(
    repo: Checkout, contexts: Mapping[str, Mapping[str, list[int]]], root: str = ""
) -> str:
    """A data file beside the repository, written after its files."""
    path = repo.root.parent / "data"
    path.unlink(missing_ok=True)
    data = coverage.CoverageData(str(path))
    for context, files in contexts.items():
        data.set_context(context)
        data.add_lines({f"{root or repo.root}/{name}": lines for name, lines in files.items()})
    data.write()
    data.close()
    last = max((repo.root / name).stat().st_mtime for name in FILES) + 60
    os.utime(path, (last, last))
    return str(path)


def executing(repo: Checkout, symbol: str) -> list[tuple[str, str, str]]:
    done = repo.kl("proof", "tests", symbol, "--format", "json")
    return [
        (one["test"], one["outcome"], one["state"])
        for one in json.loads(done.stdout or '{"tests": []}')["tests"]
    ]


def test_links_are_shown_with_recorded_outcomes_and_prove_nothing(shop: Checkout) -> None:
    done = shop.kl("evidence", "import", "coverage", measured(shop, LINES))
    assert (
        done.stdout.endswith("imported: 2 tests executed 7 symbols in 2 files (coverage.py).\n")
        and done.stderr == ""
    ), done
    assert executing(shop, "cart.add") == [(TOTAL, "unknown", "not assessed")]
    assert executing(shop, "Cart.total") == [
        (ONE, "unknown", "not assessed"),
        (TOTAL, "unknown", "not assessed"),
    ]
    nothing = shop.kl("proof", "tests", "cart.never").stderr
    assert nothing == (
        "kl: function:cart.never: no recorded test executed it. Who calls it: kl graph callers"
        " cart.never\n"
    )
    # a function on one line: its line is also executed by the import
    assert executing(shop, "cart.one") == []
    leave_run(shop.workspace(), [(TOTAL, "passed", 5), (ONE, "failed", 5)])
    assert executing(shop, "cart.add") == [(TOTAL, "passed", "not assessed")]
    shown = shop.kl("graph", "show", "cart.add").stdout
    assert f"executed by    1\n    {TOTAL}  passed (by imported coverage data)" in shown
    package = shop.kl("context", "Cart.total adds the items", "--budget", "6000").stdout
    assert "add:8 (executed by 1 test, passed, assumed)" in package, package
    assert shop.kl("verify").returncode == 1
    again = shop.kl("evidence", "import", "coverage", str(shop.root.parent / "data"))
    assert "known already" in again.stdout
    assert "coverage  imported" in shop.kl("evidence", "list").stdout.replace(
        "coverage imported", "coverage  imported"
    )
    assert shop.kl("evidence", "verify").returncode == 0


def test_data_that_is_older_than_all_of_its_files_is_refused_for_that(shop: Checkout) -> None:
    path = measured(shop, LINES)
    os.utime(path, (1, 1))
    done = shop.kl("evidence", "import", "coverage", path)
    assert done.returncode == 2
    assert "it changed after it was measured" in done.stderr and "contexts" not in done.stderr


@pytest.mark.skipif(
    sys.version_info < (3, 12), reason="executed symbols are recorded from Python 3.12 on"
)
def test_a_function_is_not_listed_beside_its_recorded_cases(shop: Checkout) -> None:
    marked = TEST.replace(
        "def test_total()", "@pytest.mark.parametrize('n', [1, 2])\ndef test_total(n)"
    )
    shop.write("tests/test_cart.py", f"import pytest\n{marked}")
    assert "2 failed" in shop.pytest("-q", "tests/test_cart.py::test_total").stdout, (
        "a list has no hash"
    )
    # coverage's own contexts (`dynamic_context = test_function`) have no parameters
    contexts = {f"{TOTAL}|run": {"src/cart.py": [6, 13]}}
    last = (shop.root / "tests/test_cart.py").stat().st_mtime + 60
    path = measured(shop, contexts)
    os.utime(path, (last, last))
    assert shop.kl("evidence", "import", "coverage", path).returncode == 0
    cases = [(f"{TOTAL}[{n}]", "failed", "valid") for n in (1, 2)]
    assert executing(shop, "Cart.total") == cases
    shown = json.loads(shop.kl("graph", "show", "Cart.total", "--format", "json").stdout)[
        "executed_by"
    ]
    assert [one["test"] for one in shown] == [name for name, *_ in cases]


def test_branches_show_functions_on_one_line(shop: Checkout) -> None:
    path = shop.root.parent / "arcs"
    data = coverage.CoverageData(str(path))
    data.set_context(f"static|{ONE}|run")
    data.add_arcs({f"{shop.root}/src/cart.py": [(-14, 14), (14, -14)]})
    data.set_context("static")
    data.add_arcs({f"{shop.root}/src/cart.py": [(-1, 1), (1, -1)]})
    data.write()
    assert shop.kl("evidence", "import", "coverage", str(path)).returncode == 0
    assert executing(shop, "cart.one") == [(ONE, "unknown", "not assessed")]


def test_what_changed_since_has_no_links_unless_the_content_is_named(shop: Checkout) -> None:
    path = measured(shop, LINES)
    tree = shop.git("rev-parse", "HEAD^{tree}")
    shop.write("src/cart.py", "# new\n" + CART)
    later = Path(path).stat().st_mtime + 5
    os.utime(shop.root / "src/cart.py", (later, later))
    done = shop.kl("evidence", "import", "coverage", path)
    assert (
        "src/cart.py: no links, because it changed after it was measured.\n" in done.stderr
        and "--tree" in done.stderr
    )
    assert executing(shop, "cart.add") == []
    assert shop.kl("evidence", "import", "coverage", path, "--tree", tree).stderr == ""
    assert executing(shop, "cart.add") == [(TOTAL, "unknown", "not assessed")]
    # a content that can't have executed these lines is not the one that was measured, whatever the
    # clock shows
    os.utime(shop.root / "src/cart.py", (later - 3600, later - 3600))
    for text, why in (
        ("#\n\n" + CART, "line 1 was executed, which has no code"),
        ("\n", "line 15 was executed"),
    ):
        shop.write("src/cart.py", text)
        os.utime(shop.root / "src/cart.py", (later - 3600, later - 3600))
        shop.write("other.txt", text)  # another content, another run
        wrong = shop.kl(
            "evidence",
            "import",
            "coverage",
            measured(shop, {**LINES, "x|run": {"src/cart.py": [1]}}),
        )
        assert why in wrong.stderr, wrong


def test_contexts_of_functions_and_files_of_another_machine(shop: Checkout) -> None:
    contexts: dict[str, Mapping[str, list[int]]] = {
        "test_cart.test_total": LINES[f"{TOTAL}|run"],
        "cart.Cart.total": {"src/cart.py": [6]},
        "": {"../venv/lib/click.py": [1]},
    }
    done = shop.kl(
        "evidence", "import", "coverage", measured(shop, contexts, "/home/runner/work/shop")
    )
    assert (
        "1 context that name no test" in done.stderr
        and "1 measured file of another place" in done.stderr
    )
    assert executing(shop, "cart.add") == [(TOTAL, "unknown", "not assessed")]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("SQLite format 3\0", "no database that can be read"),
        ("", "no coverage report"),
        (None, "no contexts of tests"),
    ],
)
def test_a_file_without_contexts_of_tests_is_refused(
    shop: Checkout, text: str | None, why: str
) -> None:
    path = measured(shop, {"": LINES[""]})
    if text is not None:
        Path(path).write_text(text, encoding="utf-8")
    done = shop.kl("evidence", "import", "coverage", path)
    assert done.returncode == 2 and why in done.stderr, done
    assert "coverage" not in shop.kl("evidence", "list").stdout
