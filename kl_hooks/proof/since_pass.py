"""Since a pass: what changed between the content in which a test passed last and the files as they
are, and whether it fails without that change too.

Each answer names the run that it rests on; what no recorded run shows is not mentioned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from kl_hooks.evidence.shared_names import lasting_name
from kl_hooks.evidence.snapshot import snapshot
from kl_hooks.git.worktree import tree_of_revision
from kl_hooks.model.receipt import REFUTES
from kl_hooks.model.symbol import split_id
from kl_hooks.model.text import name_list, one_line
from kl_hooks.proof.difference import Base, changed_states
from kl_hooks.proof.facts import STALE, VALID
from kl_hooks.proof.failures import signature
from kl_hooks.proof.impact import Runs, content_of, repository_of

if TYPE_CHECKING:
    from kl_hooks.model.receipt import Evidence
    from kl_hooks.proof.other_runs import OtherRun
    from kl_hooks.workspace import Workspace

_NAMED: Final = 4
_MOST_TESTS: Final = 5_000
"""Recorded tests of a store; of more, the comparison of twenty runs takes minutes."""
_SHORT: Final = 8
"""Digits of a run that a person is shown."""


class SincePass(NamedTuple):
    """What earlier runs show of a test that fails now."""

    passed: str = ""
    """The run in which it passed last; empty: it failed like this ever since, or that is unknown."""
    changed: tuple[str, ...] = ()
    """What changed since then: names of symbols that it executed, else a reason in words. Empty
    with `passed`: nothing that it executed or read.
    """
    failed: str = ""
    """A run without the uncommitted changes in which it failed like this; empty: not known."""


def since_pass(ws: Workspace, failures: Mapping[str, Evidence]) -> dict[str, SincePass]:
    """Return failing test → what earlier runs show of it; without what they show nothing of.

    `failures`: node ID → result, of a run that is not recorded yet. Raises KlError.
    """
    # a run of tests changes nothing in the store
    with snapshot(ws, imports=False) as stored:
        if stored.db and stored.db.rows("SELECT COUNT(*) FROM test")[0][0] > _MOST_TESTS:
            return {}  # a person waits for the report
        runs = [_Run.of(part) for part in Runs(ws, stored, content_of(ws)).parts]
        uncommitted = _uncommitted_states(ws)
        unchanged = [run for run in runs if uncommitted and run.lacks(uncommitted)]
        answers = {
            test: _newest_pass(lasting_name(test), failure, runs)._replace(
                failed=_failing_run(lasting_name(test), failure, unchanged)
            )
            for test, failure in failures.items()
        }
    return {test: answer for test, answer in answers.items() if answer != SincePass()}


class _Run(NamedTuple):
    """A recorded run, and what it shows of each test."""

    part: OtherRun
    results: Mapping[str, Evidence]
    """By lasting node ID."""

    @classmethod
    def of(cls, part: OtherRun) -> _Run:
        evidence = part.original.receipt.evidence
        return cls(
            part,
            {lasting_name(result.subject.removeprefix("test:")): result for result in evidence},
        )

    @property
    def id(self) -> str:
        return self.part.original.receipt.run

    def lacks(self, states: Mapping[str, str]) -> bool:
        """Whether it ran on content that has these files (path → state) as they are there."""
        changes = self.part.changes.changes
        return all(
            path in changes and changes[path].before == state for path, state in states.items()
        )


def _uncommitted_states(ws: Workspace) -> dict[str, str]:
    """Return the state that each file has in HEAD which is another one on disk."""
    repo = repository_of(ws)
    tree = tree_of_revision(repo, "HEAD")
    states = changed_states(repo, Base(tree, {}), None) if tree else {}
    return {path: before for path, (before, _) in states.items()}


def _failing_run(test: str, failure: Evidence, runs: Sequence[_Run]) -> str:
    """The newest of these runs with a result of the test, where it failed in the same way."""
    for run in runs:
        evidence = run.results.get(test)
        if evidence is not None:
            is_same = evidence.outcome in REFUTES and signature(evidence) == signature(failure)
            return run.id if is_same else ""
    return ""


def _newest_pass(test: str, failure: Evidence, runs: Sequence[_Run]) -> SincePass:
    for run in runs:
        evidence = run.results.get(test)
        if evidence is None:
            continue
        if evidence.outcome in REFUTES and signature(evidence) != signature(failure):
            break  # another failure: what ended it is not what this one began with
        if evidence.outcome != "passed":
            continue
        verdict = run.part.verdicts.get(evidence.subject.removeprefix("test:"))
        if verdict is not None and verdict.state in (STALE, VALID):
            names = tuple(split_id(symbol)[1] for symbol in verdict.symbols)
            return SincePass(run.id, names or ((verdict.reason,) if verdict.reason else ()))
        # what it executed was not recorded: all that changed, if anything did
        paths = _changed_paths(run.part)
        return SincePass(run.id, paths) if paths else SincePass()
    return SincePass()


def _changed_paths(part: OtherRun) -> tuple[str, ...]:
    """The files, without documentation, that differ from the content of a run."""
    return tuple(sorted(part.changes.changes.keys() - part.changes.documents))


def change_line(answers: Mapping[str, SincePass], total: int) -> str:
    """Return in one line what changed since failing tests passed; empty where no run shows it.

    `total`: how many tests failed.
    """
    passed = [answer for answer in answers.values() if answer.passed]
    if not passed:
        return ""
    names = list(dict.fromkeys(name for answer in passed for name in answer.changed))
    runs = {answer.passed for answer in passed}
    run = f" in run {runs.pop()[:_SHORT]}" if len(runs) == 1 else ""
    subject = "it" if total == 1 else f"{len(passed)} of {total} failing tests"
    if not names:
        return f"kl: nothing that {subject} executed changed since the pass{run}"
    return one_line(f"kl: changed since {subject} passed{run}: {name_list(names, _NAMED)}", 400)


def without_change_lines(answer: SincePass) -> Iterator[str]:
    """Yield a line where the test fails without the uncommitted changes too."""
    if answer.failed:
        yield f"it fails without the uncommitted changes, too (run {answer.failed[:_SHORT]})"
