"""The policy on findings, results of tests and what is proven: what is hidden stays a reason for
doubt, without its name and its text.
"""

from __future__ import annotations

from typing import Any

import pytest

from kl_hooks.arch.autofix import FileChange
from kl_hooks.arch.layer_check import Verdict
from kl_hooks.context.access import Access
from kl_hooks.context.policy import Policy, Rule
from kl_hooks.model.problem import Problem
from kl_hooks.model.receipt import Evidence
from kl_hooks.operations.operation import visible_result
from kl_hooks.proof.expected_tests import Missing
from kl_hooks.proof.failed_tests import Failure
from kl_hooks.proof.impact import SymbolState
from kl_hooks.records.knowledge_check import CheckResult
from tests.arch.verdicts import RULES, broken
from tests.support import Checkout

RULES_OF_FILES = (
    Rule("hidden", "deny", paths=("hidden/**",)),
    Rule("short", "redact", paths=("short/**",)),
)
HIDDEN, SHORT, OPEN = "hidden/code.py", "short/code.py", "open/code.py"
DOUBT = Problem("withheld", 0, 0, "withheld")


@pytest.fixture
def access(repo: Checkout) -> Access:
    """An agent's, where one folder is denied and one is redacted."""
    return Access(repo.workspace(), Policy(RULES_OF_FILES, "agent:bot", "key"))


def problems(*paths: str) -> tuple[Problem, ...]:
    return tuple(Problem(path, 3, 1, "does not parse.", "Fix it.") for path in paths)


def results(*subjects: str, **detail: Any) -> tuple[Evidence, ...]:
    return tuple(
        Evidence("PytestTest", f"test:{subject}::test_a", "failed", detail=detail)
        for subject in subjects
    )


def test_a_layer_check_counts_hidden_findings_without_their_names(access: Access) -> None:
    found = problems(HIDDEN, SHORT, OPEN)
    verdict = Verdict(RULES, (), found, (), 3, "worktree", emptied=found, loosened=found)
    shown = visible_result(access, verdict)
    doubts = (DOUBT, Problem(SHORT, 3, 1, "", ""), found[2])
    assert (shown.problems, shown.emptied, shown.loosened) == (doubts, doubts, doubts)
    warned = verdict._replace(
        warnings=found, unassigned=(HIDDEN, OPEN), stopping=frozenset((HIDDEN,))
    )
    shown = visible_result(access, warned)
    assert shown.warnings == doubts[1:]
    assert (shown.unassigned, shown.stopping) == (("withheld", OPEN), {"withheld"})


def test_a_violation_of_a_hidden_file_still_blocks(access: Access) -> None:
    chained = broken(OPEN)._replace(via=(f"{HIDDEN}:3", f"{OPEN}:4"))
    paths = (HIDDEN, SHORT, OPEN)
    found = (*map(broken, paths), broken(OPEN)._replace(imported="hidden/code.py"), chained)
    hidden, short, shown, imported, linked = visible_result(
        access, Verdict(RULES, found, (), (), 3, "worktree")
    ).violations
    assert (hidden.path, hidden.importer, hidden.line) == ("withheld", "withheld", 0)
    assert (hidden.statement, hidden.suggested_fix, hidden.via) == ("withheld", "", ())
    assert (hidden.source_layer, hidden.target_layer) == ("core", "web")
    assert short == found[1]._replace(statement="", suggested_fix="", via=())
    assert shown == found[2]
    assert (imported.imported, imported.statement) == ("withheld", "withheld")
    assert (imported.suggested_fix, imported.via) == ("", ())
    assert linked.via == ("withheld:3", f"{OPEN}:4")


def test_a_check_of_records_counts_hidden_problems_and_drops_hidden_remarks(access: Access) -> None:
    found = [*problems(HIDDEN, OPEN)]
    shown = visible_result(access, CheckResult(found, found, found, 2))
    assert (shown.findings, shown.unread, shown.remarks) == (
        [DOUBT, found[1]],
        [DOUBT, found[1]],
        [found[1]],
    )


def test_a_failed_or_missing_test_of_a_hidden_file_stays_one_without_its_name(
    access: Access,
) -> None:
    failures = [Failure(f"{path}::test_a", "a1", f"{path}:3:8") for path in (HIDDEN, SHORT, OPEN)]
    assert visible_result(access, failures) == [
        Failure("withheld", "a1", ""),
        failures[1]._replace(at=""),
        failures[2],
    ]
    missing = [Missing(f"{path}::test_a", f"{HIDDEN} changed") for path in (HIDDEN, OPEN)]
    assert visible_result(access, missing) == [
        Missing("withheld", missing[0].reason),
        Missing(missing[1].name, "withheld changed"),
    ]


def test_a_symbol_of_a_hidden_file_keeps_its_state_and_its_sort(access: Access) -> None:
    tests = (f"{HIDDEN}::test_a", f"{OPEN}::test_a")
    states = [
        SymbolState(f"function:{path}", path, 3, "stale", f"{HIDDEN} changed", tests)
        for path in (HIDDEN, SHORT, OPEN)
    ]
    hidden, short, shown = visible_result(access, states)
    assert hidden == SymbolState("function:withheld", "withheld", 0, "stale", "withheld")
    assert short == states[1]._replace(reason="", tests=tests[1:])
    assert shown == states[2]._replace(reason="withheld changed", tests=tests[1:])


def test_of_a_result_its_details_are_shown_where_its_file_and_the_raising_one_are(
    access: Access,
) -> None:
    shown = visible_result(access, results(HIDDEN, SHORT, OPEN, message="ValueError: 90"))
    assert [one.subject for one in shown] == [f"test:{path}::test_a" for path in (SHORT, OPEN)]
    assert [one.detail for one in shown] == [{}, {"message": "ValueError: 90"}]
    for place in ("frame", "path"):
        for path in (HIDDEN, f"{HIDDEN}::f", SHORT):
            (raised,) = visible_result(access, results(OPEN, message="90", **{place: path}))
            assert raised.detail == {}, (place, path)
    (raised,) = visible_result(access, results(OPEN, message="90", frame=OPEN, path=HIDDEN))
    assert raised.detail["message"] == "90"


def test_a_change_of_a_hidden_file_is_not_shown(access: Access) -> None:
    changes = [FileChange(path, b"a\n", b"b\n") for path in (HIDDEN, SHORT, OPEN)]
    assert visible_result(access, changes) == changes[2:]
