"""The rules of a run by name, known failures, configured omissions and losses, on made-up runs."""

from __future__ import annotations

from typing import Any

import pytest

from kl_hooks.config.settings import KnownFailure, VerifyPolicy
from kl_hooks.evidence.ledger import Entry
from kl_hooks.evidence.shared_names import OMITTED_PASSES
from kl_hooks.model.claim import Tier
from kl_hooks.model.receipt import WAS_RUNNING, Evidence
from kl_hooks.proof.configured_selection import ConfiguredSelection, collects_doctests
from kl_hooks.proof.content_policy import _counting_failures, _known_failure_notes
from kl_hooks.proof.content_proof import Proof
from kl_hooks.proof.content_runs import ContentRun
from kl_hooks.proof.failed_tests import Failure
from kl_hooks.proof.other_runs import Transfer
from kl_hooks.proof.pytest_config import PytestConfig
from kl_hooks.proof.run_rules import judge_run
from tests.evidence.test_claims import DONE, HERE, THERE, run
from tests.proof.contents import proof
from tests.proof.test_gate_union import CONTENT, A, B, made, wanted

FAILED = {**DONE, "exit": 1, "verdict": "failed", "counts": {"failed": 1}}
OF_OPTIONS = {"deselected": 2, "deselected_by_options": 2}
KNOWN = KnownFailure(B[0], "later", "2027-03-01")


def prove(*entries: Entry, content: Any = CONTENT, **facts: Any) -> Proof:
    return proof(entries, {}, expected=lambda: content, **facts)


NO_TESTS = {**DONE, "exit": 5, "verdict": "inconclusive"}


@pytest.mark.parametrize(
    ("changes", "has_collected"),
    [
        ({}, True),
        ({"result": NO_TESTS, "evidence": ()}, True),
        ({"result": {**NO_TESTS, "exit": 2}, "evidence": ()}, False),
        ({"result": NO_TESTS, "evidence": (), "moved": True}, False),
        ({"result": NO_TESTS, "evidence": (), "selection": {"weakened": ["-c x"]}}, False),
        ({"result": NO_TESTS, "evidence": (), "tree_all": THERE}, False),
        ({"result": FAILED}, False),
    ],
)
def test_a_run_without_tests_may_have_collected_all(
    changes: dict[str, Any], has_collected: bool
) -> None:
    run_of_part = ContentRun(made("a4", *A, **changes), trees=(HERE,))
    assert judge_run(run_of_part).has_collected == has_collected


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"result": FAILED}, "tests_failed"),
        ({"evidence": ()}, "nothing_passed"),
        ({"moved": True}, "weak_observation"),
        ({"selection": {"weakened": ["-p no:x"]}}, "weaker_than_configured"),
        ({"selection": {"not_called": {"by": "a.py", "tests": 1}}}, "tests_not_called"),
        ({"selection": {"session_checks": ["conftest.py"], "keyword": "x"}}, "judged_as_a_part"),
        ({"selection": {"setup_plan": True}}, "no_test_run"),
        ({"tree_all": THERE}, "untracked_files"),
        (
            {
                "tree_all": THERE,
                "environment": {"untracked": {"files": 1, "first": ["x.py"]}},
            },
            "untracked_files",
        ),
        ({"seq": 3}, "before_a_loss"),
    ],
)
def test_each_rule_has_its_name(changes: dict[str, Any], rule: str) -> None:
    facts = {"trees": (HERE,), "lost_until": 3 if "seq" in changes else -1}
    judged = judge_run(ContentRun(made("a4", *A, **changes), **facts))
    assert judged.against is not None and judged.against.rule == rule
    assert judged.has_failed == (rule == "tests_failed")


def test_a_file_that_can_not_be_collected_is_named_with_the_place_of_the_error() -> None:
    judged = judge_run(ContentRun(made("a4", *A), trees=(HERE,)))
    place = "tests/test_a.py:3:8: SyntaxError: invalid syntax"
    error = Evidence("PytestTest", "test:tests/test_a.py", "error", detail={"at": place})
    run = judged.run.receipt.run[:8]
    assert str(Failure.of(error, judged)) == (
        f"tests/test_a.py can't be collected (run {run}): {place}"
    )
    unplaced = Failure.of(error._replace(detail={}), judged)
    assert str(unplaced) == f"tests/test_a.py failed in run {run}, and did not pass since"


@pytest.mark.parametrize(
    ("selection", "words"),
    [
        ({}, "nothing passed"),
        ({OMITTED_PASSES: 2}, "its tests share a redacted name with tests that it omitted"),
    ],
)
def test_a_run_without_a_pass_states_whether_its_passes_were_of_shared_names(
    selection: dict[str, Any], words: str
) -> None:
    judged = judge_run(ContentRun(made("a4", evidence=(), selection=selection), trees=(HERE,)))
    assert judged.against is not None
    assert (judged.against.rule, judged.against.text) == ("nothing_passed", words)


def test_a_run_in_which_only_known_failures_failed_counts() -> None:
    failing = made("a1", *A, f"{B[0]}=failed", B[1], result=FAILED)
    accepting = wanted("test_a.py", "test_b.py", known_failures=(KNOWN,))
    found = prove(failing, content=accepting)
    assert (found.tier, found.known_failures, found.failing) == (Tier.INFERRED, (KNOWN,), ())
    assert found.but_for_known == " but for 1 known failure (until 2027-03-01)"
    transferred = found._replace(transfers=(Transfer("b2" * 16, 3, 3),), transferred_tests=3)
    assert transferred.transfer_text.endswith("; 4 ran here; 1 known failure (until 2027-03-01)")
    assert prove(failing).tier is Tier.GUESSED
    more = made("a1", f"{A[0]}=failed", A[1], f"{B[0]}=error", B[1], result=FAILED)
    found = prove(more, content=accepting)
    assert (found.failed, [failure.test for failure in found.failing]) == ("newest", [A[0]])
    passes = prove(made("a1", *A, *B), content=accepting)
    assert passes.notes == (f"known failure {B[0]} passes: remove it from .kl/config.yaml",)
    excluded = wanted("test_a.py", exclude=("test_b.py",))
    found = prove(failing, content=excluded)
    assert (found.tier, found.but_for_known) == (Tier.INFERRED, "")
    assert KNOWN.covers(f"{B[0]}[1]") and not KNOWN._replace(test=f"{B[0]}[1]").covers(B[0])


def test_a_change_adds_no_known_failure_for_itself_and_an_end_ends() -> None:
    ours = VerifyPolicy(known_failures=(KNOWN, KNOWN._replace(test="a")))
    theirs = VerifyPolicy(known_failures=(KNOWN._replace(until="2027-01-01"),))

    def counting(
        trust_ref: str, before: VerifyPolicy = theirs, today: str = "2026-12-24"
    ) -> object:
        return _counting_failures(ours, before, trust_ref, today)

    assert counting("") == ours.known_failures
    assert counting("main") == theirs.known_failures
    longer = VerifyPolicy(known_failures=(KNOWN._replace(until="2028-01-01"),))
    assert counting("main", longer) == (KNOWN,)
    # it counts on its last day
    assert counting("main", today="2027-01-01") == theirs.known_failures
    assert counting("main", today="2027-01-02") == ()
    assert counting("", today="2027-03-01") == ours.known_failures
    assert counting("", today="2027-03-02") == ()

    def notes(today: str, trust_ref: str = "") -> list[str]:
        return list(_known_failure_notes(ours, theirs, "HEAD^", trust_ref, today))

    assert notes("2027-03-01") == ["known failure a was added since HEAD^"]
    assert notes("2027-03-01", "main") == ["known failure a is not in main: it does not count"]
    assert [" ended on 2027-03-01: fix the test" in note for note in notes("2027-03-02")] == [
        True,
        True,
    ]


def test_a_killed_test_must_run_again() -> None:
    killed = Evidence("TestResult", f"test:{B[0]}", "error", 0, None, {"message": WAS_RUNNING})
    result = {**DONE, "complete": False, "how": "killed", "verdict": "inconclusive"}
    found = prove(run("a2", seq=2, evidence=(killed,), result=result), made("a1", *A, *B))
    assert (found.tier, found.failed, found.run) == (Tier.GUESSED, "", None)
    assert found.missing == ((B[0], "was running when run a2a2a2a2 was killed: run it again"),)
    assert (
        prove(
            made("a3", B[0], seq=3),
            run("a2", seq=2, evidence=(killed,), result=result),
            made("a1", *A, *B),
        ).tier
        is Tier.INFERRED
    )


@pytest.mark.parametrize(
    ("addopts", "selection", "limits"),
    [
        (["-ra", "-m", "not slow"], {"markers": "not slow"}, False),
        (["-m", "not slow"], {"markers": "not slow", "deselected": 2}, True),
        (
            ["-mnot slow"],
            {"markers": "not slow", "deselected": 2, "deselected_by_options": 2},
            False,
        ),
        (["-m", "not slow"], {"markers": "slow"}, True),
        (["-q"], {"markers": "slow"}, True),
        (["--ignore=x"], {"ignore": ["x"], "left_out": {"files": 2, "ignored": 2}}, False),
        (["--ignore=x"], {"ignore": ["x"], "left_out": {"files": 2, "ignored": 1}}, True),
        (["--ignore=x"], {"ignore": ["x"], "left_out": {"files": 2}}, True),
        (["--ignore=x"], {"ignore": ["x", "y"], "left_out": {"files": 2, "ignored": 2}}, True),
        (["-m"], {"markers": "slow"}, True),
        (["-k", "fast"], {"keyword": "fast"}, False),
        (["-k", "fast"], {"keyword": "slow"}, True),
        (["--deselect=a.py::b"], {"deselect": ["a.py::b"], **OF_OPTIONS}, False),
        (["--deselect=a.py::b"], {"deselect": ["a.py::c"], **OF_OPTIONS}, True),
        (
            ["--ignore-glob=x*"],
            {"ignore_glob": ["x*"], "left_out": {"files": 2, "ignored": 2}},
            False,
        ),
        (["--ignore-glob=x*"], {"ignore": ["x*"], "left_out": {"files": 2, "ignored": 2}}, True),
        # pytest knows no abbreviations, and joins short options
        (["--desel=a.py::b"], {"deselect": ["a.py::b"], **OF_OPTIONS}, True),
        (["-vra", "-m", "not slow"], {"markers": "not slow", **OF_OPTIONS}, False),
        (["-qxm", "not slow"], {"markers": "not slow", **OF_OPTIONS}, False),
    ],
    ids=str,
)
def test_what_the_configuration_omits_limits_no_run(
    addopts: list[str], selection: dict[str, Any], limits: bool
) -> None:
    configured = ConfiguredSelection.of(PytestConfig("pytest.ini", addopts=tuple(addopts)))
    entry = made("a1", *A, *B, selection=selection)
    completed = entry.receipt.selection
    completed = configured.complete(completed)
    judged = judge_run(ContentRun(made("a1", *A, selection=dict(completed))))
    assert bool(judged.run.limits) == limits


def test_which_files_the_configuration_ignores_and_how_that_is_stated() -> None:
    options = ("--ignore=docs/", "--ignore-glob", "*slow*.py", "-k", "x", "--deselect=a.py::b")
    configured = ConfiguredSelection.of(PytestConfig("tox.ini", addopts=options))
    paths = ("docs", "docs/test_a.py", "tests/test_slow_a.py", "docs2/test_a.py", "test_a.py")
    assert [configured.ignores(path) for path in paths] == [True, True, True, False, False]
    assert ConfiguredSelection(ignore=("docs/test_a.py",)).ignores("docs/test_a.py")
    assert configured.notes(["a", "b", "c", "d"]) == [
        "addopts in tox.ini ignores a, b, c and 1 more",
        "addopts in tox.ini deselects tests: -k 'x', --deselect a.py::b",
    ]
    assert configured.notes(["a", "b", "c"])[0] == "addopts in tox.ini ignores a, b, c"
    assert ConfiguredSelection().notes([]) == []


@pytest.mark.parametrize(
    ("addopts", "are_collected"),
    [
        (["--doctest-modules"], True),
        (["-ra", "--doctest-modules", "-m", "not slow"], True),
        (["-ra"], False),
        (["--doctest-modules", "-m"], False),
    ],
    ids=str,
)
def test_whether_doctests_of_modules_are_tests(addopts: list[str], are_collected: bool) -> None:
    assert collects_doctests(addopts) is are_collected


def test_transfers_in_words() -> None:
    one, two = Transfer("a1" * 16, 3, 3), Transfer("b2" * 16, 1, 4)
    assert Proof(Tier.INFERRED, None, ()).transfer_text == ""
    proof = Proof(
        Tier.INFERRED, None, (), transfers=(two, one), transferred_tests=4, compared_tests=4, ran=2
    )
    assert proof.transfer_text == (
        "from run a1a1a1a1 and 1 more run: all 4 tests executed nothing that changed; 2 ran here"
    )
    proof = proof._replace(transfers=(two,), transferred_tests=1)
    assert proof.transfer_text.startswith("from run b2b2b2b2: 1 of 4 tests")
