"""What recorded executions show of code: in `kl graph show`, in a context package, and for a
failing test.
"""

from __future__ import annotations

import json

import pytest

from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.proof.symbol_tests import TestResults as Results
from kl_hooks.proof.symbol_tests import suspects
from tests.evidence.making import executed_sets, leave_run
from tests.support import Checkout, checkout

CORE = '''def add(a, b):
    """Add two prices."""
    return base(a) + b
def base(a):
    return a
class Cart:
    """A cart of prices."""
    def total(self):
        return add(1, 2)
'''
TEST = (
    "from core import Cart, add\ndef test_add():\n    assert add(1, 1)\ndef test_total():\n   "
    " assert Cart().total()\n"
)
PLACES = {
    "function:core.add": "core.py",
    "function:core.base": "core.py",
    "method:core.Cart.total": "core.py",
    "function:test_core.test_add": "test_core.py",
    "function:test_core.test_total": "test_core.py",
}
ADD, TOTAL = "test_core.py::test_add", "test_core.py::test_total"
SETS = {
    ADD: dict.fromkeys(
        ["function:core.add", "function:core.base", "function:test_core.test_add"], "call"
    ),
    TOTAL: dict.fromkeys([one for one in PLACES if "test_add" not in one], "call"),
}


@pytest.fixture
def shop(tmp_path_factory: pytest.TempPathFactory, home: object) -> Checkout:
    """Two runs in which two tests executed three symbols; the second failed at last; and a commit
    after that.
    """
    repo = checkout(
        tmp_path_factory.mktemp("symbols") / "shop", {"core.py": CORE, "test_core.py": TEST}
    )
    symbol = json.loads(repo.kl("graph", "show", "core.add", "--format", "json").stdout)["symbol"]
    one = executed_sets(SETS, PLACES, {"function:core.add": symbol["content_hash"]})
    leave_run(repo.workspace(), [(ADD, "passed", 5), (TOTAL, "passed", 5)], executed=one)
    leave_run(
        repo.workspace(),
        [(ADD, "passed", 5), (TOTAL, "failed", 5)],
        executed=one,
        details={TOTAL: {"message": "assert 4"}},
    )
    sync_evidence(repo.workspace())
    repo.write("notes.md", "Later.\n")
    repo.commit("A later commit")
    return repo


def test_graph_show_lists_the_tests_that_executed_a_symbol(shop: Checkout) -> None:
    out = shop.kl("graph", "show", "core.add").stdout
    flaky = ", flaky: failed in 1 of 2 runs (9% to 91%)"
    lines = f"    {TOTAL}  failed, 1 commit ago, in 2 runs{flaky}\n    {ADD}  passed, 1 commit ago"
    assert f"executed by    2\n{lines}" in out
    assert (
        f"executed by    1\n    {TOTAL}  failed" in shop.kl("graph", "show", "core.Cart").stdout
    ), "by its methods"
    plain = json.loads(shop.kl("graph", "show", "core.base", "--format", "json").stdout)
    assert {(one["test"], one["changed"]) for one in plain["executed_by"]} == {
        (ADD, True),
        (TOTAL, True),
    }
    assert ", before it was changed" in shop.kl("graph", "show", "core.base").stdout
    assert "executed by" not in shop.kl("graph", "show", "test_core.test_gone").stdout


def test_a_package_counts_executions_and_leads_to_what_a_failing_test_executed(
    shop: Checkout,
) -> None:
    out = shop.kl("context", "the price of core.add", "--budget", "6000").stdout
    assert "(executed by 2 tests, 1 failed 1 commit ago, 1 flaky (9% to 91%))" in out
    brief = shop.kl("context", "the price of core.add").stdout
    assert "executed by 2 tests, 1 failed 1 commit ago, 1 flaky" in brief
    found = suspects(shop.workspace(), [TOTAL])
    assert [(one.symbol, one.path, round(one.score, 3)) for one in found] == [
        ("function:test_core.test_total", "test_core.py", 1.0),
        ("method:core.Cart.total", "core.py", 1.0),
        ("function:core.add", "core.py", 0.707),
        ("function:core.base", "core.py", 0.707),
    ]
    assert suspects(shop.workspace(), ["test_core.py::test_gone"]) == []
    # the failing test run alone is compared with the passing ones of the run before
    alone = executed_sets({TOTAL: SETS[TOTAL]}, PLACES)
    leave_run(
        shop.workspace(),
        [(TOTAL, "failed", 5)],
        executed=alone,
        details={TOTAL: {"message": "assert 4"}},
    )
    assert suspects(shop.workspace(), [TOTAL]) == found
    package = json.loads(shop.kl("context", f"fix {TOTAL}", "--format", "json").stdout)
    reasons = {one["id"]: one["reasons"] for one in package["items"]}
    assert any(
        "executed by the failing test" in reason for reason in reasons["method:core.Cart.total"]
    )
    assert package["coverage"]["executed"] == "ok"
    # a task that names no test, and shares a word with one that failed lately
    package = json.loads(shop.kl("context", "a wrong total is shown", "--format", "json").stdout)
    lately = f"executed by {TOTAL}, which failed lately"
    assert any(
        lately in one["reasons"]
        for one in package["items"]
        if one["id"] == "method:core.Cart.total"
    )
    package = json.loads(shop.kl("context", "greet the users", "--format", "json").stdout)
    assert package["coverage"]["executed"] == "empty"


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Results(3, (), True, "verified", True), "executed by 3 tests, all passed, verified"),
        (Results(1, (), True, "inferred", True), "executed by 1 test, passed, inferred"),
        (Results(1, ("a", "b"), True, "inferred", True), "executed by 3 tests, 2 failed"),
        (
            Results(2, (), False, "inferred", True),
            "executed by 2 tests, all passed on older content",
        ),
        (
            Results(2, (), False, "inferred", True, 12),
            "executed by 2 tests, all passed 12 commits ago",
        ),
        (Results(2, (), True, "inferred"), "2 tests that use it passed, inferred"),
        (Results(0, ("a",), False, ""), "1 of 1 test that uses it failed on older content"),
    ],
)
def test_words(found: Results, words: str) -> None:
    assert found.words() == words
