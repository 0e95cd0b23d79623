"""The audit of transferred results: the verdict of kl on each test before a run, and how the
test ended there.

A result that is called valid and fails where it runs is a hole in what kl records or compares.
Each run is audited once, when somebody asks; what was found is stored. `pytest --kl-impacted` runs
a few valid tests for it, which the content chooses.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.evidence.flaky import wilson_interval
from kl_hooks.evidence.ledger import Entry, selection_limits
from kl_hooks.evidence.shared_names import lasting_name
from kl_hooks.evidence.snapshot import Snapshot
from kl_hooks.evidence.trust import environment_key
from kl_hooks.model.canonical import canonical
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import REFUTES
from kl_hooks.proof.facts import VALID, Difference
from kl_hooks.proof.impact import Runs, content_of
from kl_hooks.proof.installed import Environments
from kl_hooks.proof.other_runs import OtherRun, is_sound, pytest_command
from kl_hooks.store.database import Database
from kl_hooks.workspace import Workspace

_SHARE: Final = 20
"""A sample takes one part in so many of the time of the tests that must run, …"""
_MOST_TIME: Final = 2_000_000
"""… and no more microseconds than these."""
_LEAST_TIME: Final = 10_000
"""Of less than this nothing is measured: what pytest itself takes for a test is more."""
_TEST_TIME: Final = 1_000
"""Microseconds that each test counts at least."""
_EARLIER_RUNS: Final = 20
_WHOLE_RUNS: Final = 3
_CHANGED: Final = 20
"""Changed files that are stored with a disagreement."""
_DECIDED: Final = frozenset(("passed", *REFUTES))
COUNTED: Final = "counted"
FLAKY: Final = "flaky"
_UNCONFIRMED: Final = "not run again"


# the sample


class Selected(NamedTuple):
    """What `--kl-impacted` does with the tests that have a valid result."""

    settled: frozenset[str]
    """Those that need not run, the sample among them."""
    sample: frozenset[str]
    """Those of them that run all the same."""


def settled_with_sample(ws: Workspace, snapshot: Snapshot) -> Selected:
    """The tests that need not run on what is on disk, and the sample of them for this content."""
    content = content_of(ws)
    runs = Runs(ws, snapshot, content)
    settled = {name for name, result in runs.results.items() if result.settled}
    durations: dict[str, int] = {}
    for part in runs.parts:
        for evidence in part.original.receipt.evidence:
            name = lasting_name(evidence.subject.removeprefix("test:"))
            durations.setdefault(name, evidence.duration_us)
    to_run = sum(
        durations.get(name, 0)
        for name in runs.results
        if name not in settled and not runs.removed(name)
    )
    valid = {name: durations.get(name, 0) for name in settled if not runs.removed(name)}
    tree = content.trees[0] if content.trees else ""
    return Selected(frozenset(settled), sampled_tests(tree, valid, to_run))


def sampled_tests(tree: str, durations: Mapping[str, int], to_run: int) -> frozenset[str]:
    """A few of these tests, the same for each content. `durations`, and `to_run` of the tests that
    must run: microseconds.
    """
    left = min(to_run // _SHARE, _MOST_TIME)
    if not tree or left < _LEAST_TIME:
        return frozenset()
    chosen = []
    for name in sorted(durations, key=lambda name: sha256(f"{tree}\0{name}".encode()).digest()):
        taken = max(durations[name], _TEST_TIME)
        if taken <= left:
            chosen.append(name)
            left -= taken
        if left < _TEST_TIME:
            break
    return frozenset(chosen)


# what earlier runs state of the tests of a run


class Disagreement(NamedTuple):
    """A test that failed in a run, although an earlier result was called valid for its content."""

    run: str
    test: str
    outcome: str
    valid_by: str
    """The run of the earlier result."""
    changed: tuple[str, ...]
    """Files that differ between the two contents."""
    is_whole: bool
    """Whether the run was asked for all tests: then it is the truth by itself."""
    again: tuple[str, ...] = ()
    """How the test ended in other runs of the content: `passed in run 1f3a…`."""

    @property
    def state(self) -> str:
        """`COUNTED`; `FLAKY`: it passed on the same content; `_UNCONFIRMED`: it failed in a run of
        a few tests alone.
        """
        if any(outcome.startswith("passed") for outcome in self.again):
            return FLAKY
        if self.is_whole or self.again:
            return COUNTED
        return _UNCONFIRMED

    @property
    def commands(self) -> tuple[str, ...]:
        """What runs it alone, and in the order of its file."""
        path = self.test.partition("::")[0]
        return (pytest_command([self.test]), pytest_command([path]))

    def to_dict(self) -> dict[str, Any]:
        """As in JSON answers."""
        return {
            "run": self.run,
            "test": self.test,
            "outcome": self.outcome,
            "verdict": VALID,
            "reason": f"nothing that it executed differs from run {self.valid_by}",
            "valid_by": self.valid_by,
            "changed": list(self.changed),
            "state": self.state,
            "again": list(self.again),
        }


class RunAudit(NamedTuple):
    """The audit of one run."""

    run: str
    checked: int
    """Tests with an earlier result that was called valid, which ran and passed or failed."""
    disagreements: tuple[Disagreement, ...] = ()


class Audit(NamedTuple):
    """The audits of all runs that were looked at."""

    runs: int
    checked: int
    disagreements: tuple[Disagreement, ...]

    @property
    def wrong(self) -> int:
        """How many results were called valid and are not."""
        return sum(found.state == COUNTED for found in self.disagreements)

    @property
    def interval(self) -> tuple[float, float]:
        """The bounds of the share of wrong ones, 95 %."""
        if not self.checked:
            return (0.0, 1.0)
        return wilson_interval(self.wrong, self.checked)


def audit(ws: Workspace, snapshot: Snapshot, limit: int, failed_only: bool = False) -> Audit:
    """Audit the newest runs that were not audited yet, and return the audits of all of them.

    `limit`: runs. `failed_only`: others can show no disagreement, so that a quick answer needs
    none of them.
    """
    stored = _stored(snapshot.db)
    entries = [entry for entry in snapshot.runs(limit + _EARLIER_RUNS) if is_sound(entry)]
    new = []
    for index, entry in enumerate(entries[:limit]):
        failed = entry.receipt.result.get("verdict") == "failed"
        if entry.receipt.run not in stored and (failed or not failed_only):
            new.append(_audit_run(ws, snapshot, entry, entries[index + 1 :]))
    _store(ws, new)
    audits = [*stored.values(), *new]
    of_run = {entry.receipt.run: entry for entry in entries}
    disagreements = (disagreement for audited in audits for disagreement in audited.disagreements)
    return Audit(
        len(audits),
        sum(audited.checked for audited in audits),
        tuple(
            _with_outcomes(snapshot, disagreement, of_run.get(disagreement.run))
            for disagreement in disagreements
        ),
    )


def _audit_run(
    ws: Workspace, snapshot: Snapshot, entry: Entry, earlier: Sequence[Entry]
) -> RunAudit:
    """Compare the results of a run with what earlier runs, newest first, state of them."""
    receipt = entry.receipt
    repo = ws.repo
    trees = {receipt.tree, receipt.tree_all}
    valid_by: dict[str, OtherRun] = {}
    ran_before: set[str] = set()
    for part in _judged(ws, snapshot, entry, earlier) if repo is not None else ():
        for name, verdict in part.verdicts.items():
            if verdict.state == VALID:
                valid_by.setdefault(lasting_name(name), part)
    for other in earlier:
        if {other.receipt.tree, other.receipt.tree_all} & trees:
            ran_before |= {lasting_name(name) for name in _outcomes(other)}
    before: dict[str, dict[str, str]] = {}
    checked = 0
    wrong = []
    whole = not selection_limits(receipt.selection)
    for name, outcome in _outcomes(entry).items():
        judged = valid_by.get(lasting_name(name))
        if judged is None or lasting_name(name) in ran_before or outcome not in _DECIDED:
            continue
        if judged.original.receipt.run not in before:
            earlier_outcomes = _outcomes(judged.original).items()
            before[judged.original.receipt.run] = {
                lasting_name(test): ended for test, ended in earlier_outcomes
            }
        if before[judged.original.receipt.run].get(lasting_name(name)) != "passed":
            continue
        checked += 1
        if outcome in REFUTES:
            changed = tuple(sorted(judged.changes.changes))[:_CHANGED]
            run = judged.original.receipt.run
            wrong.append(Disagreement(receipt.run, name, outcome, run, changed, whole))
    return RunAudit(receipt.run, checked, tuple(wrong))


def _judged(
    ws: Workspace, snapshot: Snapshot, entry: Entry, earlier: Iterable[Entry]
) -> Iterator[OtherRun]:
    """Earlier runs of other contents in the same environment, judged for the content of a run."""
    receipt = entry.receipt
    repo = ws.repo
    tree = str(receipt.tree_all or receipt.tree)
    differences: dict[str, Difference] = {}
    environments = Environments()
    whole = 0
    for other in earlier:
        same = {other.receipt.tree, other.receipt.tree_all} & {receipt.tree, receipt.tree_all}
        if same or environment_key(other.receipt) != environment_key(receipt):
            continue
        assert repo is not None
        yield OtherRun.judged(ws, repo, snapshot, other, tree, tree, differences, environments)
        whole += not selection_limits(other.receipt.selection)
        if whole == _WHOLE_RUNS:
            return


def _outcomes(entry: Entry) -> dict[str, str]:
    """Node ID → how the test ended."""
    return {
        evidence.subject.removeprefix("test:"): evidence.outcome
        for evidence in entry.receipt.evidence
        if evidence.kind == "TestResult"
    }


def _with_outcomes(
    snapshot: Snapshot, disagreement: Disagreement, entry: Entry | None
) -> Disagreement:
    """With how the test ended in other runs of the same content."""
    if entry is None:
        return disagreement
    trees = [tree for tree in (entry.receipt.tree, entry.receipt.tree_all) if tree]
    again = []
    for other in snapshot.of_tree(trees):
        outcome = _outcomes(other).get(disagreement.test)
        is_other = other.receipt.run != disagreement.run
        if is_other and (outcome in _DECIDED or outcome == "flaky"):
            if outcome == "flaky":
                word = "passed"
            else:
                word = outcome
            again.append(f"{word} in run {other.receipt.run}")
    return disagreement._replace(again=tuple(again))


# the store


def _stored(db: Database | None) -> dict[str, RunAudit]:
    if db is None or not db.has_table("run_audit"):
        return {}
    audits = {}
    for run, body in db.rows("SELECT run, body FROM run_audit"):
        plain = json.loads(body)
        wrong = [
            Disagreement(run, test, outcome, valid_by, tuple(changed), bool(whole))
            for test, outcome, valid_by, changed, whole in plain["disagreements"]
        ]
        audits[run] = RunAudit(run, int(plain["checked"]), tuple(wrong))
    return audits


def _store(ws: Workspace, audits: Sequence[RunAudit]) -> None:
    """A store that can't be written, or is busy, is asked again the next time."""
    if not audits:
        return
    rows = []
    for audited in audits:
        wrong = [
            [found.test, found.outcome, found.valid_by, list(found.changed), found.is_whole]
            for found in audited.disagreements
        ]
        body = canonical({"checked": audited.checked, "disagreements": wrong}).decode()
        rows.append((audited.run, body))
    try:
        with ws.store.writing() as db:
            db.many(
                "INSERT INTO run_audit (run, body) VALUES (?, ?) ON CONFLICT DO NOTHING",
                rows,
            )
    except (EnvironmentProblem, OSError):
        return
