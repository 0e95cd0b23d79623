"""Claims that evidence makes, and the gate on top."""

from __future__ import annotations

from typing import Any

import pytest

from kl_hooks.evidence.claims import derived_claims
from kl_hooks.evidence.ledger import Entry
from kl_hooks.evidence.trust import execution_mode, observation
from kl_hooks.model.receipt import Evidence, Receipt
from tests.proof.contents import proof

pytestmark = pytest.mark.both_databases

HERE, THERE = "1" * 40, "2" * 40
DONE = {
    "exit": 0,
    "complete": True,
    "how": "finished",
    "verdict": "passed",
    "reasons": [],
    "counts": {"passed": 1},
}


LINUX = {
    "implementation": "cpython",
    "python": "3.13.1",
    "platform": "linux-x86_64",
    "way": {"distributed": 0},
}


def run(
    name: str = "a1",
    outcome: str = "passed",
    *,
    seq: int = 1,
    origin: str = "local",
    **changes: Any,
) -> Entry:
    receipt = Receipt(
        run=name * 16,
        source="pytest",
        observer="pytest",
        producer="local:a@b",
        evidence=(Evidence("TestResult", "test:a.py::one", outcome, 5),),
        started="2026-01-01T00:00:00.000000Z",
        ended="2026-01-01T00:00:01.000000Z",
        tree=HERE,
        result=DONE,
        environment=LINUX,
    )
    receipt = receipt._replace(**changes)
    return Entry(seq, "", origin, receipt.id, receipt)


def command(name: str = "c1", outcome: str = "passed") -> Entry:
    fact = Evidence("ExitCode", "command:pytest", outcome, 5)
    return run(name, source="command", observer="kl run", evidence=(fact,), seq=9)


def the_claim(
    entries: list[Entry], parents: dict[str, Entry] | None = None, trees: tuple[str, ...] = (HERE,)
) -> Any:
    (claim,) = derived_claims(entries, trees, parents or {})
    return claim


@pytest.mark.requirement("A34")
def test_a_pass_makes_a_claim_that_is_inferred() -> None:
    claim = the_claim([run()])
    assert (claim.text, claim.about) == ("Test passes: a.py::one", "test:a.py::one")
    assert (claim.tier.word, claim.freshness) == ("inferred", "current")


def test_the_parent_process_is_shown_and_is_no_second_observation() -> None:
    parent = command()
    entries, parents = [run(parent=parent.receipt.run)], {parent.receipt.run: parent}
    claim = the_claim(entries, parents)
    assert claim.tier.word == "inferred", "one execution is one observation"
    assert {s.observation.observer for s in claim.support} == {"pytest", "kl run"}
    (claim,) = derived_claims(entries, (HERE,), parents, rule="classes")
    assert claim.tier.word == "verified", "the seeds' rule counts classes"


def test_a_parent_that_failed_adds_nothing() -> None:
    parent = command(outcome="failed")
    assert (
        the_claim([run(parent=parent.receipt.run)], {parent.receipt.run: parent}).tier.word
        == "inferred"
    )


def test_a_process_that_failed_after_its_report_takes_the_report_back() -> None:
    fact = Evidence("ExitCode", "command:pytest", "failed", 5, None, {"exit": 1, "pid": 41})
    parent = run("c1", source="command", observer="kl run", evidence=(fact,), seq=9)
    parents = {parent.receipt.run: parent}
    claim = the_claim([run(parent=parent.receipt.run, environment={**LINUX, "pid": 41})], parents)
    assert claim.tier.word == "guessed"
    assert (
        claim.support[0].observation.why_not == "the process exited 1 after pytest reported success"
    )
    other = the_claim([run(parent=parent.receipt.run, environment={**LINUX, "pid": 42})], parents)
    assert other.tier.word == "inferred"


@pytest.mark.requirement("A36")
def test_another_interpreter_or_way_makes_it_verified_but_another_name_does_not() -> None:
    assert the_claim([run("a2", seq=2), run("a1")]).tier.word == "inferred"
    assert the_claim([run("a2", seq=2, producer="ci:github:7"), run("a1")]).tier.word == "inferred"
    assert (
        the_claim(
            [run("a2", seq=2, environment={**LINUX, "python": "3.13.9"}), run("a1")]
        ).tier.word
        == "inferred"
    )
    assert (
        the_claim(
            [run("a2", seq=2, environment={**LINUX, "python": "3.12.1"}), run("a1")]
        ).tier.word
        == "verified"
    )
    way = {"distributed": 2}
    assert (
        the_claim([run("a2", seq=2, environment={**LINUX, "way": way}), run("a1")]).tier.word
        == "verified"
    )


WAYS = [
    (None, ""),
    ({"distributed": 0}, "serial"),
    ({"distributed": 1}, "serial"),
    ({"distributed": 2}, "distributed"),
    ({"distributed": 0, "random_order": "r", "seed": 7}, "serial random:r:7"),
    ({"distributed": 3, "random_order": "r", "seed": "7"}, "distributed random:r:7"),
    ({"distributed": 0, "random_order": "r", "seed": None}, ""),
    ("words", ""),
]


@pytest.mark.parametrize(("reported", "expected"), WAYS, ids=str)
def test_the_way_of_running(reported: Any, expected: str) -> None:
    assert execution_mode(run(environment={"way": reported}).receipt) == expected


def test_evidence_for_another_tree_reports_it() -> None:
    claim = the_claim([run(tree=THERE)])
    assert claim.freshness == "older tree"
    assert THERE[:12] in claim.reasons[0]


def test_evidence_for_this_tree_wins_over_newer_evidence_for_another() -> None:
    claim = the_claim([run("a2", "failed", seq=2, tree=THERE), run("a1")])
    assert [s.tree for s in claim.support] == [HERE]


def test_tree_all_counts_as_this_tree() -> None:
    assert the_claim([run(tree=THERE, tree_all=HERE)]).freshness == "current"


@pytest.mark.parametrize("outcome", ["failed", "error", "skipped", "xfailed", "xpassed", "flaky"])
def test_what_did_not_pass_makes_no_claim(outcome: str) -> None:
    assert derived_claims([run(outcome=outcome)], (HERE,), {}) == []


WEAK = {
    "imported": ({"origin": "imported:receipts"}, "imported"),
    "incomplete": ({"result": {**DONE, "complete": False, "how": "killed"}}, "incomplete (killed)"),
    "inconclusive": (
        {"result": {**DONE, "verdict": "inconclusive", "reasons": ["exit 0 disagrees"]}},
        "exit 0 disagrees",
    ),
    "unknown tree": ({"tree": None}, "unknown"),
    "moved": ({"moved": True}, "changed while it ran"),
    "flaky": ({"outcome": "flaky"}, "flaky"),
}


@pytest.mark.parametrize("name", WEAK)
def test_what_is_not_hard_states_why(name: str) -> None:
    changes, reason = WEAK[name]
    entry = run(**changes)
    seen = observation(entry.receipt, entry.receipt.evidence[0], entry.origin)
    assert seen.hard is False
    assert reason in seen.why_not


def test_the_gate_wants_a_complete_passing_run_of_everything() -> None:
    assert proof([], {}).tier.word == "guessed"
    assert proof([run()], {}).tier.word == "inferred"
    failed = {**DONE, "verdict": "failed", "counts": {"failed": 1}}
    broken = proof([run("a2", "failed", seq=2, result=failed), run()], {})
    assert (broken.tier.word, broken.run) == ("guessed", None)
    assert "1 failed" in broken.reasons[0]
    partial = proof([run(selection={"keyword": "one"})], {})
    assert partial.tier.word == "guessed"
    assert "-k 'one'" in partial.reasons[0]


def test_the_gate_notes_the_parent_process() -> None:
    parent = command()
    found = proof([run(parent=parent.receipt.run)], {parent.receipt.run: parent})
    assert (found.tier.word, found.notes) == (
        "inferred",
        ("run a1a1a1a1: exit status seen by the parent",),
    )
