"""Tests that failed at least once, each with its outcomes in the order in which they were seen. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kl_hooks.evidence.ledger import Entry
from kl_hooks.kinds.memory.mine_commands import runs_of
from kl_hooks.kinds.memory.trivia import trivial
from kl_hooks.model.outcome import REFUTES
from kl_hooks.model.receipt import Evidence


@dataclass(frozen=True, slots=True)
class Step:
    """One outcome of a subject."""

    entry: Entry
    outcome: str
    message: str = ""
    """Of a failure."""

    @property
    def bad(self) -> bool:
        """True for a failure."""
        return self.outcome in REFUTES


def steps_of_tests(entries: Sequence[Entry]) -> dict[str, list[Step]]:
    """Subject → its steps, for every test that failed in one of the runs (oldest first). Incomplete runs left out."""
    whole = [entry for entry in entries if entry.receipt.result.get("complete")]
    failed = {one.subject for entry in whole for one in _tests(entry) if one.outcome in REFUTES}
    found: dict[str, list[Step]] = {subject: [] for subject in sorted(failed)}
    for entry in whole:
        for one in _tests(entry):
            if one.subject in failed and (one.outcome == "passed" or one.outcome in REFUTES):
                found[one.subject].append(Step(entry, one.outcome, str(one.detail.get("message") or "")))
    return found


def steps_of_commands(entries: Sequence[Entry]) -> dict[str, list[Step]]:
    """The same for commands that are not trivial. Its message is the last line of the output that names an error."""
    found = {}
    for command, runs in runs_of(entries).items():
        if any(outcome in REFUTES for _, outcome in runs) and not trivial(command):
            subject = f"command:{command}"
            found[subject] = [Step(entry, outcome, _tail(entry, subject)) for entry, outcome in runs]
    return found


def _tests(entry: Entry) -> Iterator[Evidence]:
    return (one for one in entry.receipt.evidence if one.kind == "TestResult")


def _tail(entry: Entry, subject: str) -> str:
    lines = [
        line.strip()
        for one in entry.receipt.evidence
        if one.subject == subject
        for line in str(one.detail.get("tail") or "").splitlines()
        if line.strip()
    ]
    telling = [line for line in lines if "error" in line.lower() or "exception" in line.lower()]
    return (telling or lines or [""])[-1]
