"""The gate with tests that are expected: which runs prove a content together, what is missing, and
what is noted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.clock import iso
from kl_hooks.evidence.ingestion import SyncResult
from kl_hooks.evidence.ledger import Entry, append
from kl_hooks.evidence.provenance import worktree_state
from kl_hooks.evidence.snapshot import Snapshot
from kl_hooks.git.worktree import tree_of_revision
from kl_hooks.model.problem import Problems
from kl_hooks.model.receipt import Evidence
from kl_hooks.proof.completeness import Completeness
from kl_hooks.proof.content_proof import Proof
from kl_hooks.proof.content_runs import first_of, had_untracked_files
from kl_hooks.proof.defined_tests import DefinedTests
from kl_hooks.proof.expected_tests import Expected, Missing
from kl_hooks.proof.gate import NOTHING_TRACKED, facts_of_content, judge
from kl_hooks.proof.pytest_config import PytestConfig
from kl_hooks.proof.run_rules import selection_words
from tests.evidence.test_claims import DONE, HERE, LINUX, THERE, run
from tests.proof.contents import proof
from tests.support import Checkout, checkout

FAILED = {**DONE, "exit": 1, "verdict": "failed", "counts": {"failed": 1}}
PART = {"left_out": {"files": 1, "first": ["x.py"]}}
OLDER = {**LINUX, "python": "3.12.1"}
A, B = (
    ("test_a.py::test_one", "test_a.py::test_two"),
    ("test_b.py::test_one", "test_b.py::test_two"),
)
TWO = DefinedTests({"test_one": True, "test_two": True}, {})


def wanted(*files: str, **changes: Any) -> Expected:
    config = (PytestConfig(), "")
    return Expected("/r", dict.fromkeys(files, config), dict.fromkeys(files, TWO))._replace(
        **changes
    )


CONTENT = wanted("test_a.py", "test_b.py")


def made(name: str, *tests: str, **changes: Any) -> Entry:
    """A run of tests, each with `=outcome` and `@who switched it off` where that matters; its
    number is its order.
    """
    evidence = []
    for test in tests:
        subject, _, by = test.partition("@")
        subject, _, outcome = subject.partition("=")
        evidence.append(
            Evidence(
                "TestResult",
                f"test:{subject}",
                outcome or "passed",
                5,
                None,
                {"by": by} if by else {},
            )
        )
    return run(name, **({"evidence": tuple(evidence), "seq": int(name[1])} | changes))


def prove(
    *entries: Entry,
    content: Expected | None = CONTENT,
    earlier: Sequence[Entry] = (),
    **parents: Entry,
) -> Proof:
    """What these runs (newest first) prove of this content."""
    known = {one.receipt.run: one for one in parents.values()}
    return proof(
        entries,
        known,
        expected=(lambda: content) if content is not None else None,
        earlier_runs=lambda entry: earlier,
    )


def names(found: Proof) -> list[str]:
    return [one[:2] for one in found.runs]


# Runs of parts
# -------------------------------------------------------------------------------------------------


def test_one_run_of_everything_proves_alone() -> None:
    found = prove(made("a1", *A, *B))
    assert (found.tier.word, names(found), found.run, found.together) == (
        "inferred",
        ["a1"],
        "a1" * 16,
        False,
    )
    assert (found.reasons, found.missing, found.notes, found.failed) == ((), (), (), "")


def test_runs_of_parts_prove_together_what_none_proves_alone() -> None:
    parts = made("a2", *B, selection=PART), made("a1", *A, selection=PART)
    found = prove(*parts)
    assert (found.tier.word, names(found), found.run, found.together) == (
        "inferred",
        ["a2", "a1"],
        "a2" * 16,
        True,
    )
    assert (found.reasons, found.missing) == (
        (),
        (),
    ), "that each of them was a part is no reason any more"
    found = prove(parts[1])
    assert (found.tier.word, found.run, found.runs, found.together) == ("guessed", None, (), False)
    assert found.missing == (("test_b.py", "no test of it was reported, 2 tests expected"),)
    assert found.reasons == (
        "run a1a1a1a1: only a selection ran (1 test file omitted: x.py)",
        "test_b.py: no test of it was reported, 2 tests expected",
    )


def test_a_limited_run_that_omitted_nothing_that_is_expected_proves_it() -> None:
    found = prove(made("a1", *A, *B, selection=PART))
    assert (found.tier.word, names(found), found.together, found.reasons) == (
        "inferred",
        ["a1"],
        True,
        (),
    )


def test_a_part_beside_a_run_of_everything_is_no_part_of_the_proof() -> None:
    found = prove(made("a2", *B, selection=PART), made("a1", *A, *B))
    assert (found.tier.word, names(found), found.together) == ("inferred", ["a1"], False)
    assert found.reasons == ("run a2a2a2a2: only a selection ran (1 test file omitted: x.py)",)
    found = prove(made("a2", *A), made("a1", *A, *B))
    assert names(found) == ["a1"], "limited by nothing, and yet it left a file out"


def test_two_environments_do_not_add_up_and_the_nearest_is_named() -> None:
    few, more = made("a2", A[0], environment=OLDER), made("a1", *A, selection=PART)
    found = prove(few, more)
    assert (found.tier.word, [one.name for one in found.missing]) == ("guessed", ["test_b.py"])
    found = prove(more._replace(seq=3), few)
    assert [one.name for one in found.missing] == ["test_b.py"], "also where it is the newest"
    other = made("a3", *B, selection=PART, environment=OLDER)
    assert [one.name for one in prove(other, more).missing] == ["test_a.py"], (
        "of equal ones the newest"
    )


def test_another_environment_makes_it_verified_by_parts_too() -> None:
    parts = [made("a2", *B, selection=PART), made("a1", *A, selection=PART)]
    older = [
        made("a4", *B, selection=PART, environment=OLDER),
        made("a3", *A, selection=PART, environment=OLDER),
    ]
    found = prove(*older, *parts)
    assert (found.tier.word, names(found), found.together) == (
        "verified",
        ["a4", "a3", "a2", "a1"],
        True,
    )
    found = prove(*older, made("a1", *A, *B))
    assert (found.tier.word, names(found), found.together) == (
        "verified",
        ["a4", "a3", "a1"],
        False,
    )
    assert (found.run, found.cited_runs) == ("a1" * 16, ("a1" * 16,)), "a part is not the whole"
    ways = {**LINUX, "way": {"distributed": 2}}
    assert (
        prove(made("a2", *B, selection=PART, environment=ways), parts[1]).tier.word == "inferred"
    ), "no second look"
    assert prove(made("a2", *A, *B, environment=ways), made("a1", *A, *B)).tier.word == "verified"
    unknown = [one._replace(receipt=one.receipt._replace(environment={})) for one in parts]
    assert prove(made("a3", *A, *B), *unknown).tier.word == "inferred", (
        "what is unknown differs from nothing"
    )
    unfinished = prove(made("a4", *A, selection=PART, environment=OLDER), made("a1", *A, *B))
    assert (unfinished.tier.word, unfinished.missing) == (
        "inferred",
        (),
    ), "the other environment proves it"


def counted(collected: int, digest: str) -> dict[str, Any]:
    return {"keyword": "x", "collected": collected, "collected_names": digest}


def test_parts_that_collected_other_names_do_not_add_up() -> None:
    def two(first: Any, second: Any) -> Proof:
        return prove(made("a2", *B, selection=second), made("a1", *A, selection=first))

    assert two(counted(4, "d1"), counted(4, "d1")).tier.word == "inferred"
    for first, second in (("d1", "d2"), ("d1", "")):
        found = two(counted(4, first), counted(4, second))
        assert (found.tier.word, [one.reason for one in found.missing]) == (
            "guessed",
            ["only a part of it ran"] * 2,
        )
    assert two(counted(5, "d1"), counted(5, "d1")).tier.word == "guessed", "one test was in neither"


def test_a_selection_of_tests_that_no_configuration_names_proves_nothing() -> None:
    other = made("a1", "test_c.py::test_one", selection={"keyword": "one"})
    found = prove(other, content=wanted())
    reason = "only a selection ran, of tests that no configuration names"
    assert (found.tier.word, found.missing) == ("guessed", (("a1a1a1a1", reason),))
    assert prove(made("a1", "test_c.py::test_one"), content=wanted()).tier.word == "inferred"


def test_a_report_file_counts_as_it_states_and_only_whole() -> None:
    cases = ("test_a.py::test_any", "test_b.py::named[as the writer likes]")
    found = prove(made("a2", *cases, source="junit", observer="junit"), made("a1", *A))
    assert (found.tier.word, names(found), found.together) == ("inferred", ["a2"], False)
    found = prove(made("a2", *cases, source="junit", selection=PART), made("a1", *A))
    assert (found.tier.word, found.run) == ("guessed", None)
    assert names(prove(made("a1", *A, *B, source="junit"))) == ["a1"]
    assert (
        prove(made("a2", *B, source="junit", selection=PART), made("a1", *A, selection=PART)).run
        is None
    )
    assert prove(made("a1", *A, *B, source="command")).reasons == (), "a command is no run of tests"


# What is missing
# -------------------------------------------------------------------------------------------------


def test_missing_tests_and_files_are_named_with_their_reasons_and_the_rest_counted() -> None:
    content = wanted("test_a.py", "test_b.py", "test_c.py", "test_d.py")
    found = prove(made("a1", A[0]), content=content)
    assert found.tier.word == "guessed"
    assert found.missing[0] == ("test_a.py::test_two", "not reported")
    assert found.reasons == (
        "test_a.py::test_two: not reported",
        "test_b.py: no test of it was reported, 2 tests expected",
        "test_c.py: no test of it was reported, 2 tests expected",
        "1 more test or file has no valid result here",
    )
    assert len(prove(made("a1", *A), content=content).reasons) == 3, "three are all named"


def test_what_can_not_be_assessed_and_what_the_content_states_is_reported_with_the_proof() -> None:
    content = wanted("test_a.py", unread=("pytest.ini can't be read",), notes=("of the content",))
    found = prove(made("a1", *A), content=content)
    assert (found.tier.word, found.not_assessed) == ("inferred", ("pytest.ini can't be read",))
    assert found.notes == ("of the content",)
    assert prove(made("a1", A[0]), content=content).notes == ("of the content",)


# Earlier runs
# -------------------------------------------------------------------------------------------------

OTHERS = wanted("test_a.py", others=frozenset({"test_old.py", "script.py"}))


def test_what_an_earlier_run_reported_and_no_configuration_names_any_more_is_missing() -> None:
    before = made("b1", *A, "test_old.py::test_x", "script.py::test_y", tree=THERE)
    newer = made("b2", *A, tree=THERE)
    reason = "run b1b1b1b1 reported it, and no configuration names it any more"
    for earlier in ([before], [newer, before]):
        found = prove(made("a3", *A), content=OTHERS, earlier=earlier)
        assert (found.tier.word, found.missing) == ("guessed", (("test_old.py", reason),))
    assert prove(made("a3", *A), content=OTHERS, earlier=[newer]).tier.word == "inferred"
    assert (
        prove(made("a3", *A, "test_old.py::test_z"), content=OTHERS, earlier=[before]).tier.word
        == "inferred"
    )
    assert (
        prove(made("a3", *A), content=wanted("test_a.py"), earlier=[before]).tier.word == "inferred"
    ), "it is gone"


def test_a_test_that_is_still_there_must_be_reported() -> None:
    """Where an earlier run has reported it; the configuration may omit it, or skip its file."""
    sources = {"app.py": 'def double():\n    """\n    >>> double()\n    2\n    """\n'}
    content = wanted("test_a.py", text=sources.get)
    doctests = {"addopts": ["--doctest-modules"]}
    before = made("b1", *A, "app.py::app.double", tree=THERE, selection=doctests)
    left = "run b1b1b1b1 reported it, and it is still there: not collected"
    found = prove(made("a3", *A), content=content, earlier=[before])
    assert (found.tier.word, found.missing) == ("guessed", (("app.py::app.double", left),))
    without = made("b1", *A, "app.py::app.double", tree=THERE)
    assert prove(made("a3", *A), content=content, earlier=[without]).tier.word == "inferred"

    def missing(*tests: str, **selection: Any) -> list[str]:
        now = made("a3", *tests, selection=selection)
        earlier = [made("b1", *A, *B, tree=THERE)]
        content = wanted("test_a.py")._replace(functions={"test_a.py": TWO, "test_b.py": TWO})
        return [test.name for test in prove(now, content=content, earlier=earlier).missing]

    assert missing(*A) == list(B)
    assert missing(*A, omitted_files=["test_b.py"]) == [], "by the configuration"
    assert missing(*A, omitted_files=["test_c.py"]) == list(B)
    assert missing(*A, "test_b.py=skipped") == [], "as a whole"
    assert missing(*A, B[0]) == [B[1]]


def test_what_must_run_again_is_named_once_with_the_better_reason() -> None:
    missing = (Missing("test_b.py", "no test of it"), Missing("test_c.py::test_x", "not reported"))
    again = Missing("test_b.py::test_one", "app.f changed")
    complete = Completeness(missing=missing, not_assessed=("x",), notes=("y",)).without([again])
    assert complete.missing == (again, missing[1])
    assert complete.reasons == (
        "test_b.py::test_one: app.f changed",
        "test_c.py::test_x: not reported",
    )
    assert (complete.not_assessed, complete.notes, complete.alone) == (("x",), ("y",), ())


def test_earlier_means_before_the_oldest_run_of_the_environment() -> None:
    asked: list[str] = []

    def earlier(entry: Entry) -> list[Entry]:
        asked.append(entry.receipt.run[:2])
        return []

    runs = [made("a3", *A, selection=PART), made("a2", *A, environment=OLDER), made("a1", *A)]
    assert proof(runs, {}, expected=lambda: OTHERS, earlier_runs=earlier).tier.word == "verified"
    assert asked == ["a1", "a2"]


CHANGED = {**LINUX, "local_plugins": "p2"}
WAS = {**LINUX, "local_plugins": "p1"}


@pytest.mark.parametrize("outcome", ["skipped", "xfailed", "xpassed"])
def test_a_test_that_passed_and_is_switched_off_by_a_changed_plugin_is_missing(
    outcome: str,
) -> None:
    off = made("a3", A[0], f"{A[1]}={outcome}@conftest.py", environment=CHANGED)
    before = made("b2", *A, tree=THERE, environment=WAS)
    found = prove(off, content=OTHERS, earlier=[before])
    reason = f"it passed in run b2b2b2b2, and now conftest.py makes it {outcome}"
    assert (found.tier.word, found.missing) == ("guessed", ((A[1], reason),))
    same = made("b2", *A, tree=THERE, environment=CHANGED)
    for earlier in (
        [same],
        [same, before],
        [made("b2", A[0], f"{A[1]}={outcome}", tree=THERE, environment=WAS)],
    ):
        assert prove(off, content=OTHERS, earlier=earlier).tier.word == "inferred"
    mixed = prove(off, made("a2", A[0], environment=WAS), content=OTHERS, earlier=[before])
    assert mixed.missing == found.missing, "one run with the plugins of before is not all of them"
    by_itself = made("a3", A[0], f"{A[1]}={outcome}", environment=CHANGED)
    assert prove(by_itself, content=OTHERS, earlier=[before]).tier.word == "inferred"
    passed = made("a4", A[1], environment=CHANGED, selection=PART)
    assert "passed" not in str(prove(passed, off, content=OTHERS, earlier=[before]).missing)


# Notes
# -------------------------------------------------------------------------------------------------


def parent(outcome: str, **detail: Any) -> Entry:
    fact = Evidence("ExitCode", "command:pytest", outcome, 5, None, detail)
    return run("c1", source="command", observer="kl run", evidence=(fact,), seq=9)


def test_what_the_parent_process_saw_is_noted() -> None:
    child = made("a1", *A, *B, parent="c1" * 16)
    saw = prove(child, parent=parent("passed"))
    assert (saw.tier.word, saw.notes) == (
        "inferred",
        ("run a1a1a1a1: exit status seen by the parent",),
    )
    around = prove(child, parent=parent("failed", exit=3))
    assert (around.tier.word, around.notes) == (
        "inferred",
        ("run a1a1a1a1: the command around it exited 3",),
    )
    itself = made("a1", *A, *B, parent="c1" * 16, environment={**LINUX, "pid": 7})
    against = prove(itself, parent=parent("failed", exit=3, pid=7))
    assert (against.tier.word, against.notes) == ("guessed", ())
    assert against.reasons[0] == "run a1a1a1a1: the process exited 3 after pytest reported success"
    orphan = parent("passed")._replace(receipt=parent("passed").receipt._replace(run="XX"))
    assert prove(made("a1", *A, *B), parent=orphan).notes == (), "it has no parent"


def test_skips_from_outside_and_replaced_hooks_are_noted() -> None:
    off = [
        f"test_a.py::x{n}={what}@{who}"
        for n, (what, who) in enumerate(
            [
                ("skipped", "b.py"),
                ("xfailed", "a.py"),
                ("xpassed", "d.py"),
                ("skipped", "c.py"),
                ("passed", "e.py"),
            ]
        )
    ]
    hooks = {"replaced_hooks": ["h1", "h2", "h3", "h4"]}
    found = prove(made("a1", *A, *B, "test_a.py::y=skipped", *off, selection=hooks))
    assert found.tier.word == "inferred"
    assert found.notes == (
        (
            "run a1a1a1a1: 4 tests skipped or expected to fail from outside their files (a.py,"
            " b.py, c.py and 1 more)"
        ),
        "run a1a1a1a1: run with hooks of this repository: h1, h2, h3 and 1 more",
    )
    assert prove(made("a1", *A, *B, selection={"replaced_hooks": "h1"})).notes == ()


# Runs that do not count
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "printed"),
    [
        (
            {"selection": {"weakened": ["--noconftest", "-p no:x"]}},
            "otherwise than configured: --noconftest, -p no:x",
        ),
        (
            {
                "selection": {
                    "not_called": {"first": ["t1", "t2", "t3"], "tests": 5, "by": "conftest.py"}
                }
            },
            (
                "conftest.py replaces how tests are called (pytest_pyfunc_call); 5 passed without"
                " being called: t1, t2, t3 and 2 more"
            ),
        ),
        ({"selection": {"collect_only": True}}, "no test was run (--collect-only)"),
        (
            {"selection": {"setup_only": True, "setup_plan": True}},
            "no test was run (--setup-only, --setup-plan)",
        ),
        ({"moved": True}, "tracked files changed while it ran"),
        ({"origin": "imported:receipts"}, "imported, and no trusted key signed it: assumed"),
        (
            {"result": {**DONE, "complete": False, "how": "killed"}},
            "the run is incomplete (killed)",
        ),
        ({"evidence": ()}, "nothing passed"),
        (
            {
                "result": {
                    **DONE,
                    "verdict": "failed",
                    "counts": {"failed": 2, "error": 1, "passed": 3},
                }
            },
            "tests failed: 1 error, 2 failed",
        ),
    ],
    ids=str,
)
def test_a_run_that_proves_nothing_is_named_with_the_reason(
    changes: dict[str, Any], printed: str
) -> None:
    weak = made("a2", *A, *B, **changes)
    found = prove(weak)
    assert (found.tier.word, found.run) == ("guessed", None)
    assert found.reasons[0] == f"run a2a2a2a2: {printed}"
    if "failed" not in printed:
        good = prove(weak, made("a1", *A, *B))
        assert (good.tier.word, names(good), good.reasons) == (
            "inferred",
            ["a1"],
            (f"run a2a2a2a2: {printed}",),
        )


def test_a_weaker_run_takes_no_failure_back() -> None:
    bad = made("a1", *A, f"{B[0]}=failed", result=FAILED)
    weak = made("a2", *A, *B, selection={"weakened": ["-p no:x"]})
    found = prove(weak, bad)
    assert (found.tier.word, found.failed) == ("guessed", "earlier")
    assert f"{B[0]} failed in run a1a1a1a1, and did not pass since" in found.reasons
    assert prove(made("a3", *A, *B), weak, bad).tier.word == "inferred"


def test_failures_are_named_up_to_three_and_the_newest_run_is_distinguished_from_earlier_ones() -> (
    None
):
    def failing(number: int) -> Proof:
        return prove(made("a1", *[f"test_a.py::t{n}=failed" for n in range(number)], result=FAILED))

    assert failing(3).reasons[1:] == tuple(
        f"test_a.py::t{n} failed in run a1a1a1a1, and did not pass since" for n in range(3)
    )
    assert failing(5).reasons[-1] == "2 more tests failed, and did not pass since"
    assert failing(1).failed == "newest"
    assert prove().failed == "", "no run at all"
    bad = made("a1", f"{A[0]}=failed", result=FAILED)
    assert prove(made("a2", A[1], selection=PART), bad).failed == "earlier"
    unnamed = made("a1", *A, *B, result=FAILED)
    assert prove(unnamed).failed == "newest", "it failed, whatever test it was"
    assert prove(made("a2", *A, *B), unnamed).failed == ""


def test_the_newest_run_of_more_than_the_content_is_no_failure_of_just_this_content() -> None:
    beside = {
        "tree_all": THERE,
        "environment": {"untracked": {"files": 4, "first": ["x", "y", "z"]}},
    }
    bad = made("a2", f"{A[0]}=failed", result=FAILED, **beside)
    found = proof([bad, made("a1", *A, *B)], {}, trees=(HERE,))
    assert (found.tier.word, found.failed) == ("guessed", "earlier")
    plain = made("a2", f"{A[0]}=failed", result=FAILED, tree_all=HERE)
    assert proof([plain, made("a1", *A, *B, **beside)], {}, trees=(HERE,)).failed == "newest"
    more = proof([made("a1", *A, *B, **beside)], {}, trees=(HERE,))
    assert more.reasons == (
        "run a1a1a1a1: untracked files were there when it ran: x, y, z and 1 more",
    )


# Failures of what no configuration makes a test
# ---------------------------------------------------------------------

SCRIPT = made("a1", *A, *B, "script.py::test_x=failed", result=FAILED)
IN_RUST = "src/cart.rs::tests::adds=failed"


def test_a_failure_of_what_only_an_option_made_a_test_is_settled_by_a_later_complete_run() -> None:
    found = prove(made("a2", *A, *B), SCRIPT)
    assert (found.tier.word, names(found), found.failed) == ("inferred", ["a2"], "")
    assert found.notes == (
        "script.py::test_x failed in run a1a1a1a1; no configuration makes it a test",
    )
    many = made("a1", *[f"s{n}.py::test_x=failed" for n in range(4)], result=FAILED)
    assert len(prove(made("a2", *A, *B), many).notes) == 3


@pytest.mark.parametrize(
    ("runs", "content"),
    [
        ([SCRIPT], CONTENT),
        ([made("a2", *A, *B, selection=PART), SCRIPT], CONTENT),
        ([SCRIPT._replace(seq=2), made("a0", *A, *B)], CONTENT),
        ([made("a2", *A, *B), SCRIPT], wanted("test_a.py", "test_b.py", "script.py")),
        ([made("a2", *A, *B), SCRIPT], None),
        ([made("a2", *A, *B), made("a1", "test_x.py::test_x=failed", result=FAILED)], CONTENT),
        ([made("a2", *A, *B), made("a1", IN_RUST, result=FAILED, source="junit")], CONTENT),
        ([made("a2", *A, *B, source="junit"), SCRIPT], CONTENT),
    ],
    ids=[
        "not followed",
        "followed by a part",
        "followed what is complete",
        "configured",
        "unknown",
        "by default",
        "of another runner",
        "followed by another runner",
    ],
)
def test_it_is_otherwise(runs: list[Entry], content: Expected | None) -> None:
    found = prove(*runs, content=content)
    assert (found.tier.word, found.run) == ("guessed", None)
    assert any("did not pass since" in reason for reason in found.reasons)


# Words
# -------------------------------------------------------------------------------------------------


def test_a_selection_in_words() -> None:
    chosen = {
        "keyword": "one",
        "markers": "not slow",
        "lf": True,
        "deselected": 3,
        "dropped": 2,
        "config_file": "",
    }
    assert (
        selection_words(made("a1", selection=chosen).receipt)
        == "-k 'one', -m 'not slow', --lf True, 3 tests deselected, 2 tests taken out by a plugin"
        " or a conftest.py"
    )
    assert (
        selection_words(
            made("a1", selection={"setup_only": True, "overridden": ["a=b", "c=d"]}).receipt
        )
        == "--setup-only True, -o 'a=b', 'c=d'"
    )
    assert selection_words(made("a1", selection={"config_file": "x.ini"}).receipt) == "-c 'x.ini'"
    assert (
        selection_words(made("a1", selection={"left_out": {"files": 2}}).receipt)
        == "2 test files omitted:  and 2 more"
    )
    assert first_of(None, "?") == first_of("ab", "?") == ""
    assert selection_words(
        made("a1", selection={"left_out": {"files": True, "first": ["a"]}}).receipt
    ).endswith(": a")
    assert selection_words(
        made("a1", selection={"left_out": {"files": "?", "first": ["a"]}}).receipt
    ).endswith(": a")
    assert (
        selection_words(made("a1", selection={"args": ["-q"], "left_out": {"files": 0}}).receipt)
        == ""
    )


def test_whether_untracked_files_were_beside_the_tree_of_a_run() -> None:
    entries = [made("a2", *A, tree_all=THERE), made("a1", *A, tree_all=HERE), made("a0", *A)]
    assert [
        had_untracked_files(entries, [f"{name}" * 16], HERE) for name in ("a2", "a1", "a0")
    ] == [
        True,
        False,
        False,
    ]
    assert not had_untracked_files(entries, ["a2" * 16], THERE)
    assert had_untracked_files(entries, ["a1" * 16, "a2" * 16], HERE)


# With a repository
# -------------------------------------------------------------------------------------------------

ONE = "def test_one():\n    pass\n"
BOTH = f"{ONE}def test_two():\n    pass\n"
EXCLUDE = "verify:\n  exclude: [{}]\n"


@pytest.fixture
def repo(tmp_path: Path, home: Path) -> Checkout:
    """Two commits: the second one has test_a.py with one test, and test_b.py."""
    made = checkout(tmp_path / "repo", {"test_a.py": ONE, "test_b.py": BOTH})
    made.git("commit", "-q", "--allow-empty", "-m", "another")
    return made


def judged(
    repo: Checkout, *runs: Entry, rev: str | None = None, tree: str = "", **more: Any
) -> Proof:
    """What runs in a ledger prove of a commit, or of the files as they are. Without a tree they are
    of that content.
    """
    ws = repo.workspace()
    assert ws.repo
    here = (tree_of_revision(ws.repo, rev) or "",) if rev else worktree_state(ws.repo).trees
    with ws.store.writing() as db, db.transaction():
        for one in runs:
            of_it = one.receipt.tree == HERE
            append(db, [one.receipt._replace(tree=here[0]) if of_it else one.receipt], one.origin)
    with ws.store.reading() as stored:
        found = judge(
            ws, Snapshot(stored, SyncResult()), here, rev is not None, rev=rev or "", **more
        )[1]
    # runs that a test makes have no distributions: tests/proof/test_distributions.py is about these
    notes = [note for note in found.notes if "which distributions were installed" not in note]
    return found._replace(notes=tuple(notes))


def test_a_commit_is_judged_by_its_own_files_and_edited_files_by_theirs(repo: Checkout) -> None:
    repo.write("test_a.py", BOTH)
    assert judged(repo, made("a1", A[0], *B), rev="HEAD").tier.word == "inferred"
    found = judged(repo, made("a2", A[0], *B))
    assert (found.tier.word, found.missing) == ("guessed", ((A[1], "not reported"),))


def test_the_file_of_a_failed_untracked_test_is_looked_for_where_the_content_is(
    repo: Checkout,
) -> None:
    repo.write("test_x.py", ONE)
    beside = {
        "tree_all": THERE,
        "environment": {**LINUX, "untracked": {"files": 1, "first": ["test_x.py"]}},
    }
    bad = made("a1", A[0], *B, "test_x.py::test_one=failed", result=FAILED, **beside)
    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    good = made("a2", A[0], *B, tree=tree, tree_all=tree)
    found = judged(repo, bad, good, rev="HEAD")
    assert (found.tier.word, found.notes) == (
        "inferred",
        ("test_x.py::test_one failed in run a1a1a1a1; its file was untracked, and is removed",),
    )
    ws = repo.workspace()
    locked = bad.receipt._replace(
        evidence=made("a1", "test_b.py::test_gone=failed").receipt.evidence, tree=tree
    )
    runs = Snapshot(None, SyncResult(), (good._replace(seq=2), bad._replace(receipt=locked)))
    assert judge(ws, runs, (tree,), committed=True)[1].failed == "earlier", (
        "its file is in the commit"
    )
    with ws.store.reading() as db:
        assert judge(ws, Snapshot(db, SyncResult()), (tree,))[1].failed == "earlier", (
            "it is still on disk"
        )
        (repo.root / "test_x.py").unlink()
        assert judge(ws, Snapshot(db, SyncResult()), (tree,))[1].tier.word == "inferred"


def narrowed(repo: Checkout) -> None:
    repo.write("pytest.ini", "[pytest]\ntestpaths = test_a.py\n")


def test_the_configuration_before_is_that_of_the_parent(repo: Checkout) -> None:
    def reason(name: str, **more: Any) -> list[tuple[str, str]]:
        return [(one.name, one.reason) for one in judged(repo, made(name, A[0]), **more).missing]

    def since(label: str) -> list[tuple[str, str]]:
        return [("test_b.py", f"no longer collected since {label}: testpaths in pytest.ini")]

    narrowed(repo)
    repo.git("add", "-A")
    assert reason("a1") == since("HEAD"), "edited files"
    repo.commit("narrowed")
    assert reason("a2") == since("HEAD^"), "files as they are in HEAD"
    assert reason("a3", rev="HEAD") == since("HEAD^")
    repo.write("test_a.py", f"{ONE}\n")
    repo.commit("later")
    assert reason("a4", rev="HEAD") == [], "both are narrow"
    assert reason("a5", rev="HEAD~1") == since("HEAD~1^")
    base = repo.git("rev-parse", "HEAD~2").strip()
    assert reason("a6", rev="HEAD", base=base) == since(base[:12]), "also over several commits"


def test_a_first_commit_and_files_before_it_have_no_parent(tmp_path: Path, home: Path) -> None:
    repo = checkout(tmp_path / "repo", {"test_a.py": ONE})
    assert judged(repo, made("a1", A[0]), rev="HEAD").tier.word == "inferred"
    assert judged(repo, made("a2", A[0])).tier.word == "inferred"
    repo.git("update-ref", "-d", "HEAD")
    found = judged(repo, made("a3", A[0]))
    assert (found.tier.word, found.notes) == ("inferred", ())
    repo.git("rm", "-rq", "--cached", ".")
    assert judged(repo).reasons == (NOTHING_TRACKED,)


def test_changes_of_what_is_excluded_are_noted(repo: Checkout) -> None:
    repo.write(".kl/config.yaml", EXCLUDE.format("test_b.py, x"))
    repo.commit("exclude")
    found = judged(repo, made("a1", A[0]))
    assert (found.tier.word, found.notes) == (
        "inferred",
        ("verify.exclude in .kl/config.yaml changed since HEAD^: added test_b.py, x",),
    )
    trusted = judged(repo, rev="HEAD", trust_ref="HEAD^")
    assert (trusted.tier.word, [one.name for one in trusted.missing]) == ("guessed", ["test_b.py"])
    assert trusted.notes[0].endswith(
        "changed since HEAD^: added test_b.py, x; that of HEAD^ counts"
    )
    repo.write(".kl/config.yaml", EXCLUDE.format("x, y"))
    repo.commit("exclude less")
    assert judged(repo, made("a2", A[0], *B)).notes == (
        "verify.exclude in .kl/config.yaml changed since HEAD^: added y; removed test_b.py",
    )
    repo.git("commit", "-q", "--allow-empty", "-m", "another")
    assert judged(repo).notes == ()


def test_settings_that_can_not_be_read_before_are_noted_and_trusted_ones_are_refused(
    repo: Checkout,
) -> None:
    repo.write(".kl/config.yaml", "verify: [\n")
    repo.commit("broken")
    repo.write(".kl/config.yaml", EXCLUDE.format("x"))
    repo.commit("repaired")
    found = judged(repo, made("a1", A[0], *B))
    assert found.tier.word == "inferred"
    assert found.notes[0].startswith(
        "verify.exclude of HEAD^ can't be read and was not compared: HEAD^:.kl/config.yaml"
    )
    with pytest.raises(Problems):
        judged(repo, rev="HEAD", trust_ref="HEAD^")


def test_earlier_complete_runs_in_the_ledger_are_compared(repo: Checkout) -> None:
    narrowed(repo)
    repo.commit("narrowed")
    repo.git("commit", "-q", "--allow-empty", "-m", "another")
    old = {"tree": THERE}
    not_compared: list[dict[str, Any]] = [
        {"result": {**DONE, "complete": False}},
        {"result": FAILED},
        {"environment": OLDER},
        {"selection": PART},
        {"environment": {**LINUX, "rootdir": "sub"}},
        {"source": "junit"},
        {"origin": "imported:x"},
        # of this very content; it does not count
        {"tree": HERE, "selection": {"weakened": ["-p no:x"]}},
    ]
    runs = [made(f"b{n}", A[0], B[0], **old | changes) for n, changes in enumerate(not_compared)]
    assert judged(repo, *runs, made("a1", A[0])).tier.word == "inferred"
    found = judged(repo, made("b8", A[0], B[0], **old), made("b9", A[0], **old), made("a2", A[0]))
    assert found.tier.word == "inferred", (
        "only what ran before the oldest run of the content counts"
    )
    repo.write("test_a.py", f"{ONE}\n")
    found = judged(repo, made("a3", A[0]))
    reason = "run b8b8b8b8 reported it, and no configuration names it any more"
    assert (found.tier.word, found.missing) == ("guessed", (("test_b.py", reason),))
    # the five runs before are looked at: b8 is the fifth, …
    repo.write("test_a.py", f"{ONE}\n\n")
    assert judged(repo, made("c1", A[0], **old), made("a4", A[0])).missing == (
        ("test_b.py", reason),
    )
    # … and then the sixth
    repo.write("test_a.py", f"{ONE}\n\n\n")
    assert judged(repo, made("a5", A[0])).tier.word == "inferred"


def test_an_earlier_run_that_the_configuration_limits_is_complete(repo: Checkout) -> None:
    narrowed(repo)
    repo.write("pytest.ini", "[pytest]\ntestpaths = test_a.py\naddopts = -m 'not slow'\n")
    repo.commit("narrowed")
    repo.git("commit", "-q", "--allow-empty", "-m", "another")
    omitting = {"markers": "not slow", "deselected": 1, "deselected_by_options": 1}
    before = made("b1", A[0], B[0], tree=THERE, selection=omitting)
    found = judged(repo, before, made("a1", A[0]))
    assert [test.name for test in found.missing] == ["test_b.py"]
    typed = made("b2", A[0], B[0], tree=THERE, selection={**omitting, "markers": "not fast"})
    repo.write("test_a.py", f"{ONE}\n")
    later = judged(
        repo,
        *[made(f"c{number}", A[0], tree=THERE) for number in range(5)],
        typed,
        made("a2", A[0]),
    )
    assert later.tier.word == "inferred"


def test_a_branch_is_compared_with_where_it_parted_from_the_remote(repo: Checkout) -> None:
    base = repo.git("rev-parse", "HEAD").strip()
    repo.git("update-ref", "refs/remotes/origin/HEAD", base)
    narrowed(repo)
    repo.commit("narrowed")
    repo.write("test_a.py", f"{ONE}\n")
    repo.commit("later")
    for name, rev in (("a1", "HEAD"), ("a2", None), ("a3", "HEAD~1")):
        found = judged(repo, made(name, A[0]), rev=rev)
        reason = f"no longer collected since {base[:12]}: testpaths in pytest.ini"
        assert found.missing == (("test_b.py", reason),), name
    # the remote has it: it is compared with its parent
    repo.git("update-ref", "refs/remotes/origin/HEAD", "HEAD")
    assert judged(repo, rev="HEAD").tier.word == "inferred"


def test_a_known_failure_is_accepted_on_its_last_day(repo: Checkout) -> None:
    def accepted(until: str) -> bool:
        known = f"  known_failures:\n  - test: {A[0]}\n    reason: later\n    until: {until}\n"
        repo.write(".kl/config.yaml", f"verify:\n{known}")
        repo.commit("known")
        failing = made("a1", f"{A[0]}=failed", *B, result=FAILED)
        return judged(repo, failing).tier.word == "inferred"

    today = iso(repo.workspace().clock.now())[:10]
    assert accepted(today)
    assert not accepted("2026-01-02")


def test_untracked_files_are_noted_where_the_files_on_disk_are_judged(repo: Checkout) -> None:
    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    repo.write("test_x.py", ONE)
    run_of_commit = made("a1", A[0], *B, tree=tree, tree_all=tree)
    note = "test_x.py is untracked, and was not there when the tests ran"
    assert judged(repo, run_of_commit).notes == (note,)
    assert judged(repo, rev="HEAD").notes == ()


def test_runs_of_other_contents_are_compared_where_that_is_asked_for(repo: Checkout) -> None:
    other = made("b1", A[0], *B, tree=THERE)
    assert len(judged(repo, other).not_compared) == 1
    assert judged(repo, transfer=False).not_compared == ()
    ws = repo.workspace()
    with ws.store.reading() as db:
        without_id = judge(ws, Snapshot(db, SyncResult()), ())
    assert without_id[1].state == "not proven", "such as where git could not be asked"


def test_a_path_that_no_file_can_have_ends_no_failure(repo: Checkout) -> None:
    ws = repo.workspace()
    assert ws.repo
    snapshot = Snapshot(None, SyncResult())
    path_exists = facts_of_content(ws.repo, snapshot, (HERE,), None, lambda: CONTENT).path_exists
    paths = {"test_a.py": True, "test_x.py": False, "test_x\0.py": True}
    assert {path: path_exists(path) for path in paths} == paths


def test_waiting_runs_prove_where_nothing_is_stored_yet(repo: Checkout) -> None:
    ws = repo.workspace()
    trees = worktree_state(ws.repo).trees if ws.repo else ()
    waiting = Snapshot(None, SyncResult(), (made("a1", A[0], *B, tree=trees[0]),))
    assert judge(ws, waiting, trees)[1].tier.word == "inferred"


def test_gaps_in_the_evidence_are_named_and_without_git_a_run_counts_for_what_it_states(
    repo: Checkout,
) -> None:
    ws = repo.workspace()
    found = judge(ws, Snapshot(None, SyncResult(), (), ("a spool file can't be read",)), (HERE,))[1]
    assert (found.tier.word, found.reasons) == (
        "guessed",
        ("not assessed: a spool file can't be read",),
    )
    ws = replace(ws, repo=None)
    waiting = Snapshot(None, SyncResult(), (made("a1", *A),))
    assert judge(ws, waiting, (HERE,))[1].tier.word == "inferred"
