"""The gate: what the receipts of one tree prove together, and what they must not."""

from __future__ import annotations

from typing import Any

import pytest

from kl_hooks.evidence.capture import opening_record
from kl_hooks.evidence.claims import derived_claims
from kl_hooks.git.worktree import WorktreeState
from kl_hooks.model.receipt import Evidence
from tests.evidence.test_claims import DONE, HERE, LINUX, THERE, run
from tests.proof.contents import proof

FAILED = {**DONE, "exit": 1, "verdict": "failed", "counts": {"failed": 1}}
PART = {"left_out": {"files": 1, "first": ["b.py"]}}


def word(*entries: Any, trees: tuple[str, ...] = ()) -> str:
    return proof(entries, {}, trees=trees).tier.word


def seen(**outcomes: str) -> tuple[Evidence, ...]:
    return tuple(
        Evidence("TestResult", f"test:{name}.py::one", outcome, 5)
        for name, outcome in outcomes.items()
    )


@pytest.mark.parametrize(
    ("selection", "printed"),
    [
        (PART, "1 test file omitted: b.py"),
        (
            {"left_out": {"files": 9, "first": ["a", "b", "c"]}},
            "9 test files omitted: a, b, c and 6 more",
        ),
        ({"dropped": 2}, "2 tests taken out"),
        ({"overridden": ["python_files=a.py"]}, "-o 'python_files=a.py'"),
        ({"config_file": "/elsewhere.ini"}, "-c '/elsewhere.ini'"),
        ({"setup_plan": True}, "--setup-plan"),
    ],
)
def test_a_part_of_the_tests_is_not_the_tests(selection: dict[str, Any], printed: str) -> None:
    found = proof([run(selection=selection)], {})
    assert found.tier.word == "guessed"
    assert printed in found.reasons[0]


def test_a_part_that_passed_does_not_take_back_what_failed() -> None:
    whole = run("a1", evidence=seen(a="passed", b="failed"), result=FAILED)
    green = run("a0", evidence=seen(a="passed", b="passed"))
    unsaid = run("a2", seq=2, evidence=seen(a="passed"))  # nothing states that b was omitted
    assert word(unsaid, whole, green) == "guessed"
    assert word(run("a2", seq=2, evidence=seen(a="passed", b="skipped")), whole) == "inferred"
    limited = run("a2", seq=2, evidence=seen(a="passed"), selection=PART)
    assert word(limited, whole, green) == "guessed"
    assert (
        "b.py::one failed in run a1a1a1a1, and did not pass since"
        in proof([limited, whole, green], {}).reasons
    )
    fixed = run("a3", seq=3, evidence=seen(b="passed"), selection=PART)
    assert word(fixed, limited, whole, green) == "inferred"
    assert word(run("a4", seq=4, evidence=seen(a="passed", b="passed")), whole) == "inferred"
    assert word(fixed, limited, whole) == "guessed"


@pytest.mark.parametrize(
    "changes",
    [{"evidence": seen(b="skipped")}, {"moved": True}, {"origin": "imported:junit"}],
    ids=str,
)
def test_what_does_not_take_a_failure_back(changes: dict[str, Any]) -> None:
    whole = run("a1", evidence=seen(b="failed"), result=FAILED)
    later = run("a2", seq=2, **({"evidence": seen(b="passed"), "selection": PART} | changes))
    assert word(later, whole, run("a0", evidence=seen(b="passed"))) == "guessed"


def test_a_file_that_could_not_be_collected_is_settled_by_its_tests() -> None:
    broken = Evidence("TestResult", "test:b.py", "error", 0)
    whole = run("a1", evidence=(broken,), result=FAILED)
    green = run("a0", evidence=seen(b="passed"))
    assert word(whole, green) == "guessed"
    assert (
        word(run("a2", seq=2, evidence=seen(b="passed"), selection=PART), whole, green)
        == "inferred"
    )


def test_a_run_with_untracked_files_next_to_it_states_nothing_about_the_commit_alone() -> None:
    beside = {"untracked": {"files": 2, "first": ["helper.py", "data.json"]}}
    more = run(tree_all=THERE, environment=beside)
    assert word(more, trees=(HERE, THERE)) == "inferred"
    found = proof([more], {}, trees=(HERE,))
    assert found.tier.word == "guessed"
    assert "untracked files were there when it ran: helper.py, data.json" in found.reasons[0]
    assert word(run(tree_all=THERE), trees=(HERE,)) == "guessed"
    assert (
        word(
            run(tree_all=THERE, environment={"untracked": {"files": 0, "first": []}}), trees=(HERE,)
        )
        == "inferred"
    )
    assert word(run(tree_all=HERE), trees=(HERE,)) == "inferred"


def test_notes_and_what_editors_leave_are_no_files_that_a_test_needs() -> None:
    def recorded(*names: str) -> object:
        return opening_record("r", "pytest", "pytest", WorktreeState(untracked=names), 0, {})[
            "environment"
        ].get("untracked")

    assert recorded() is None
    assert recorded("notes.md", "a.py~") == {"files": 0, "first": []}
    assert recorded("a.py", "b.md", "data/", "c.txt", "d.json") == {
        "files": 4,
        "first": ["a.py", "data/", "c.txt"],
    }


SCRATCH = {"tree_all": THERE, "environment": {"untracked": {"files": 1, "first": ["b.py"]}}}
CLEAN = {"tree_all": HERE}


def after_scratch(holds: tuple[str, ...] = ("a.py",), scratch: Any = SCRATCH, **later: Any) -> Any:
    """The proof where b.py failed as an untracked file, and a later run has no such test."""
    failed = run("a1", evidence=seen(a="passed", b="failed"), result=FAILED, **scratch)
    green = run("a2", seq=2, **({"evidence": seen(a="passed")} | CLEAN | later))
    return proof([green, failed], {}, trees=(HERE,), path_exists=holds.__contains__)


def test_a_failure_of_an_untracked_test_that_was_removed_does_not_count_against_a_later_whole_run() -> (
    None
):
    found = after_scratch()
    assert (found.tier.word, found.run, found.failed) == ("inferred", "a2" * 16, "")
    assert (
        "b.py::one failed in run a1a1a1a1; its file was untracked, and is removed" in found.reasons
    )
    assert (
        after_scratch(
            tree_all=THERE, environment={"untracked": {"files": 0, "first": []}}
        ).tier.word
        == "inferred"
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"holds": ("a.py", "b.py")},
        {"scratch": CLEAN},
        {"scratch": {}},
        {"selection": PART},
        {"moved": True},
        {"origin": "imported:junit"},
        {"tree_all": None},
        {"tree_all": "3" * 40},
        {"result": {**DONE, "complete": False}},
        {"scratch": {"tree_all": THERE, "environment": {"untracked": {"files": 0, "first": []}}}},
    ],
    ids=str,
)
def test_any_other_failure_counts(changes: dict[str, Any]) -> None:
    found = after_scratch(**changes)
    assert (found.tier.word, found.run, found.failed) == ("guessed", None, "earlier")
    assert "b.py::one failed in run a1a1a1a1, and did not pass since" in found.reasons


def test_a_failure_counts_where_the_whole_run_was_before_it_or_nobody_can_know_what_is_there() -> (
    None
):
    failed = run("a1", seq=2, evidence=seen(a="passed", b="failed"), result=FAILED, **SCRATCH)
    green = run("a0", evidence=seen(a="passed"), **CLEAN)
    found = proof([failed, green], {}, trees=(HERE,), path_exists=lambda path: False)
    assert (found.tier.word, found.failed) == (
        "guessed",
        "earlier",
    ), "it was not just this content that failed"
    assert proof([green, failed], {}, trees=(HERE,)).tier.word == "guessed"
    assert (
        proof([run(outcome="failed", result=FAILED, **CLEAN)], {}, trees=(HERE,)).failed == "newest"
    )


BEFORE, AFTER = "2025-12-31T23:59:59.000000Z", "2026-01-01T00:00:02.000000Z"


@pytest.mark.parametrize(
    ("changes", "vouched"),
    [
        ({}, True),
        ({"started": BEFORE, "ended": AFTER}, True),
        ({"outcome": "failed"}, False),
        ({"ended": BEFORE, "started": BEFORE}, False),
        ({"started": AFTER, "ended": AFTER}, False),
        ({"tree": THERE}, False),
        ({"moved": True}, False),
        ({"source": "arch"}, False),
        ({"origin": "imported:receipts"}, False),
    ],
    ids=str,
)
def test_who_may_vouch_for_a_run(changes: dict[str, Any], vouched: bool) -> None:
    fact = Evidence("ExitCode", "command:pytest", changes.pop("outcome", "passed"), 5)
    parent = run(
        "c1",
        **({"source": "command", "observer": "kl run", "evidence": (fact,), "seq": 9} | changes),
    )
    child, parents = run(parent=parent.receipt.run), {parent.receipt.run: parent}
    assert proof([child], parents).tier.word == "inferred"
    assert proof([child], parents, "classes").tier.word == ("verified" if vouched else "inferred")
    (claim,) = derived_claims([child], (HERE,), parents, rule="classes")
    assert claim.tier.word == ("verified" if vouched else "inferred")


def test_a_failing_exit_contradicts_only_the_process_that_it_is_of() -> None:
    fact = Evidence("ExitCode", "command:pytest", "failed", 5, None, {"exit": 1, "pid": 41})
    parent = run("c1", source="command", observer="kl run", evidence=(fact,), seq=9)
    parents = {parent.receipt.run: parent}
    found = proof([run(parent=parent.receipt.run, environment={**LINUX, "pid": 41})], parents)
    assert found.tier.word == "guessed"
    assert found.reasons == ("run a1a1a1a1: the process exited 1 after pytest reported success",)
    around = proof([run(parent=parent.receipt.run, environment={**LINUX, "pid": 42})], parents)
    assert (around.tier.word, around.notes) == (
        "inferred",
        ("run a1a1a1a1: the command around it exited 1",),
    )
    assert proof([run(parent=parent.receipt.run)], parents).tier.word == "inferred", (
        "an old receipt has no process ID"
    )
