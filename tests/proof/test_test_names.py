"""Tests that were renamed or moved: which old name is theirs, and that every answer about a test
follows it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.code.scanner.python import scan_guarded
from kl_hooks.proof.difference import file_symbols
from kl_hooks.proof.facts import FileChange
from kl_hooks.proof.test_names import matching_tests, moved_tests
from tests.pytest_kl.recorded import environment, git, repository, run_pytest
from tests.support import run_in_process


def moves(old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, str]:
    """What is found to be renamed from one content to another."""

    def symbols(files: Mapping[str, str], path: str) -> Any:
        return (
            file_symbols(scan_guarded(files[path].encode(), path, path[:-3]))
            if path in files
            else None
        )

    paths = [path for path in sorted({*old, *new}) if old.get(path) != new.get(path)]
    changes = [FileChange(path, "a", "b", symbols(old, path), symbols(new, path)) for path in paths]
    return moved_tests(changes, lambda path: new[path].encode() if path in new else None)


FIRST = "def test_a():\n    assert total([1]) == 1\n\n"
CALLS = (
    f"{FIRST}class TestOne:\n    def test_m(self, x):\n        def inner(): return x\n       "
    " assert inner()\n"
)


@pytest.mark.parametrize(
    ("new", "found"),
    [
        (
            {"b.py": CALLS},
            {"b.py::test_a": "a.py::test_a", "b.py::TestOne::test_m": "a.py::TestOne::test_m"},
        ),
        ({"a.py": CALLS.replace("test_a", "test_b")}, {"a.py::test_b": "a.py::test_a"}),
        (
            {"a.py": CALLS.replace("TestOne", "TestTwo")},
            {"a.py::TestTwo::test_m": "a.py::TestOne::test_m"},
        ),
        (
            {
                "b.py": (
                    CALLS.replace("test_a", "test_b")
                    .replace("test_m", "test_n")
                    .replace("TestOne", "TestTwo")
                )
            },
            {"b.py::test_b": "a.py::test_a", "b.py::TestTwo::test_n": "a.py::TestOne::test_m"},
        ),
        # edited too, copied, twice the same, removed
        ({"a.py": CALLS.replace("test_a", "test_b").replace("== 1", "== 2")}, {}),
        ({"a.py": CALLS, "b.py": CALLS}, {}),
        ({"a.py": CALLS.replace("test_a", "test_b") + FIRST.replace("test_a", "test_c")}, {}),
        ({"a.py": CALLS.removeprefix(FIRST)}, {}),
        ({"a.py": CALLS.replace("test_a", "test_b") + "def broken(:\n"}, {}),
    ],
)
def test_a_test_is_recognized_by_its_content_where_no_other_has_it(
    new: dict[str, str], found: dict[str, str]
) -> None:
    assert moves({"a.py": CALLS}, new) == found


def test_equal_bodies_are_separated_by_name_or_not_at_all() -> None:
    twins = "def test_a():\n    check(1)\n\ndef test_b():\n    check(1)\n"
    assert moves({"a.py": twins}, {"b.py": twins}) == {
        "b.py::test_a": "a.py::test_a",
        "b.py::test_b": "a.py::test_b",
    }
    assert (
        moves(
            {"a.py": twins}, {"a.py": twins.replace("test_a", "test_c").replace("test_b", "test_d")}
        )
        == {}
    )
    # one of them is left: which of the two it was nobody knows
    assert moves({"a.py": twins}, {"a.py": "def test_c():\n    check(1)\n"}) == {}
    # what uses nothing is equal by chance
    assert moves({"a.py": "def test_a(): pass\n"}, {"a.py": "def test_b(): pass\n"}) == {}


NAMES = st.sampled_from(["test_a", "test_b", "test_c", "test_d"])
BODIES = st.sampled_from(["check(1)", "check(2)", "return other", "pass"])


@given(st.dictionaries(NAMES, BODIES), st.dictionaries(NAMES, BODIES))
def test_no_pair_has_another_body_and_none_has_a_twin(
    old: dict[str, str], new: dict[str, str]
) -> None:
    def text(functions: dict[str, str]) -> str:
        return "".join(f"def {name}():\n    {body}\n" for name, body in functions.items())

    removed, added = old.keys() - new.keys(), new.keys() - old.keys()
    for now, before in moves({"a.py": text(old)}, {"a.py": text(new)}).items():
        one, other = now.partition("::")[2], before.partition("::")[2]
        assert one in added and other in removed and new[one] == old[other] != "pass"
        assert [name for name in removed if old[name] == old[other]] == [other]
        assert [name for name in added if new[name] == old[other]] == [one]


def test_a_name_is_that_of_a_test_or_of_all_that_end_so_or_of_its_cases() -> None:
    known = (
        "a.py::test_x",
        "b/a.py::test_x",
        "b/a.py::T::test_xy[1]",
        "b/a.py::T::test_xy[2]",
        "c.py::test_z[a/test_w]",
    )
    assert matching_tests("a.py::test_x", known) == ["a.py::test_x"]
    assert matching_tests("test_x", known) == ["a.py::test_x", "b/a.py::test_x"]
    assert matching_tests("test_xy[2]", known) == ["b/a.py::T::test_xy[2]"]
    assert matching_tests("T::test_xy", known) == ["b/a.py::T::test_xy[1]", "b/a.py::T::test_xy[2]"]
    assert matching_tests("c.py::test_z", known) == ["c.py::test_z[a/test_w]"]
    assert matching_tests("xy", known) == matching_tests("test_w", known) == []


CART = "def total(prices):\n    return sum(prices)\n\ndef count(prices):\n    return len(prices)\n"
TESTS = """
import pathlib, pytest
from cart import count, total

@pytest.mark.parametrize("n", [1, 2])
def test_total(n):
    assert total([n]) == n

def test_luck():
    assert count([1]) == int((pathlib.Path.cwd().parent / "luck").read_text())
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A test that failed and was fixed, and one that fails by chance."""
    folder = repository(tmp_path / "shop", {"cart.py": CART, "test_cart.py": TESTS})
    wrong = CART.replace("sum(prices)", "sum(prices) + 1")
    # chance is a file beside the repository: no run records what it holds
    for text, luck in ((wrong, "1"), (CART, "1"), (CART, "2")):
        (folder / "cart.py").write_text(text, encoding="utf-8")
        (tmp_path / "luck").write_text(luck, encoding="utf-8")
        run_pytest(folder, "--kl-symbols=on")
    return folder


def kl(folder: Path, *args: str) -> str:
    done = run_in_process(args, folder, environment({}))
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_history_of_a_test_follows_it(shop: Path) -> None:
    assert "test_cart.py::test_luck: failed in 1 of 2 runs" in kl(shop, "proof", "flaky")
    (shop / "tests").mkdir()
    git(shop, "mv", "test_cart.py", "tests/test_basket.py")
    text = TESTS.replace("test_total", "test_sum").replace("test_luck", "test_chance")
    (shop / "tests/test_basket.py").write_text(text, encoding="utf-8")
    (shop / "cart.py").write_text(CART.replace("sum(prices)", "sum(prices) + 1"), encoding="utf-8")
    before = kl(shop, "proof", "why", "test_chance")
    assert "called test_cart.py::test_luck" in before and "as test_cart.py::test_luck" in before
    assert "test_cart.py::test_total[2]  " in kl(
        shop, "evidence", "show", "tests/test_basket.py::test_sum"
    )
    cases = kl(shop, "proof", "why", "test_sum[2]")
    assert (
        "test      tests/test_basket.py::test_sum[2]\n" in cases
        and "as test_cart.py::test_total[2]" in cases
    )
    assert (
        "tests/test_basket.py::test_sum: not recorded yet; it was test_cart.py::test_total"
        in kl(shop, "proof", "impacted")
    )
    run = run_pytest(
        shop, "--kl-symbols=on", env={"PYTHONPATH": f"{shop}:{environment({})['PYTHONPATH']}"}
    )
    assert "as test_cart.py::test_total[1])\nit passed again" in run.stdout, run.stdout
    plain = json.loads(kl(shop, "proof", "why", "test_basket.py::test_sum[1]", "--format", "json"))
    assert plain["earlier_names"] == ["test_cart.py::test_total[1]"]
    assert [one["outcome"] for one in plain["results"]] == ["failed", "passed", "passed", "failed"]
    assert plain["fix"] and len(plain["earlier"]) == 1
    # a name that it had before names it too
    assert "test      tests/test_basket.py::test_sum[2]" in kl(
        shop, "proof", "why", "test_cart.py::test_total[2]"
    )
    flaky = kl(shop, "proof", "flaky")
    assert (
        "tests/test_basket.py::test_chance: failed in 1 of 2 runs" in flaky
        and "as test_cart.py::test_luck" in flaky
    )
    # of its cases none is meant more than another: they are named
    for verb in ("why", "symbols") if sys.version_info >= (3, 12) else ("why",):
        done = run_in_process(["proof", verb, "test_sum"], shop, environment({}))
        assert done.returncode == 2, done.stdout
        assert done.stderr.endswith(
            "one of: 'tests/test_basket.py::test_sum[1]', 'tests/test_basket.py::test_sum[2]'\n"
        )
    # executed symbols are recorded from Python 3.12 on
    if sys.version_info >= (3, 12):
        check_each_test_of_a_symbol_is_listed_once(shop)


def check_each_test_of_a_symbol_is_listed_once(shop: Path) -> None:
    listed = kl(shop, "proof", "tests", "cart.total")
    assert listed.count("test_basket.py::test_sum[1]") == 1 and "test_cart" not in listed
    shown = json.loads(kl(shop, "graph", "show", "cart.total", "--format", "json"))["executed_by"]
    assert {one["test"]: one["runs"] for one in shown} == {
        "tests/test_basket.py::test_sum[1]": 4,
        "tests/test_basket.py::test_sum[2]": 4,
    }
    assert "(executed by 2 tests, 2 failed)" in kl(
        shop, "context", "the total of the cart is wrong", "--budget", "6000"
    )
    # its passes are those of a flaky test, whatever it is called
    answer = json.loads(kl(shop, "graph", "show", "cart.count", "--format", "json"))["executed_by"]
    assert [one["flaky"][:5] for one in answer] == ["flaky"]
