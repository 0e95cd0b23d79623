"""Since a pass: what changed between the content in which a test passed last and the files as they
are, and whether it fails without that change too.

Each answer names the run that it rests on; what no recorded run shows is not mentioned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final

from kl_hooks.evidence.shared_names import lasting_name
from kl_hooks.evidence.snapshot import Snapshot, newest_first, snapshot
from kl_hooks.git.worktree import tree_of_revision
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import REFUTES
from kl_hooks.model.symbol import split_id
from kl_hooks.model.text import counted, name_list, one_line
from kl_hooks.proof.difference import Base, changed_states, content_of_run
from kl_hooks.proof.facts import STALE, VALID
from kl_hooks.proof.failing import failing_tests
from kl_hooks.proof.failures import signature
from kl_hooks.proof.impact import content_of, repository_of
from kl_hooks.proof.other_runs import (
    OtherRun,
    environments_of,
    runs_of_others,
)
from kl_hooks.proof.repeated_failures import results_of_content

if TYPE_CHECKING:
    from kl_hooks.evidence.ledger import Entry
    from kl_hooks.model.receipt import Evidence
    from kl_hooks.proof.facts import Difference
    from kl_hooks.workspace import Workspace

_NAMED: Final = 4
_SHORT: Final = 8
"""Digits of a run that a person is shown."""


class SincePass(NamedTuple):
    """What earlier runs show of a test that fails now."""

    passed: str = ""
    """The run in which it passed last; empty: it failed like this ever since, or that is unknown.
    """
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
        runs = _Runs(ws, stored)
        answers = {
            test: runs.newest_pass(lasting_name(test), failure)._replace(
                failed=runs.failing_run(lasting_name(test), failure)
            )
            for test, failure in failures.items()
        }
    return {test: answer for test, answer in answers.items() if answer != SincePass()}


def failed_before(ws: Workspace, stored: Snapshot) -> dict[str, str]:
    """Return test that fails on the files as they are → the newest run without the uncommitted
    changes in which it failed like this; without tests of which no run shows that. Raises KlError.
    """
    failures = {
        failing.test: failing.failure
        for failing in failing_tests(ws, stored)
        if failing.verdict.state == VALID and "::" in failing.test
    }
    if not failures:
        return {}
    answers = since_pass(ws, failures)
    return {test: answer.failed for test, answer in answers.items() if answer.failed}


def failed_before_text(runs: Mapping[str, str], failing: int) -> str:
    """Return `2 of 3 failing tests failed without the uncommitted changes, too (run ec1b316e)`.

    `runs`: as `failed_before` returns them; `failing`: how many tests fail now.
    """
    newest = name_list(sorted({run[:_SHORT] for run in runs.values()}), _NAMED)
    if len(runs) == failing:
        number = counted(failing, "failing test")
    else:
        number = f"{len(runs)} of {counted(failing, 'failing test')}"
    return f"{number} failed without the uncommitted changes, too (run {newest})"


class _Run(NamedTuple):
    """A recorded run, and its results."""

    entry: Entry
    results: Mapping[str, Evidence]
    """By lasting node ID."""

    @classmethod
    def of(cls, entry: Entry) -> _Run:
        evidence = entry.receipt.evidence
        return cls(
            entry,
            {lasting_name(result.subject.removeprefix("test:")): result for result in evidence},
        )


class _Runs:
    """The newest runs. One is compared with the files as they are only where a failing test passed
    in it: a person waits for the report, and a comparison reads all files that differ.
    """

    def __init__(self, ws: Workspace, stored: Snapshot) -> None:
        self._ws, self._stored, self._repo = ws, stored, repository_of(ws)
        self._content = content_of(ws)
        environments = environments_of(ws, self._repo, self._content.other)
        self._compared = results_of_content(
            stored, stored.of_tree(self._content.trees), self._content.trees, environments
        )
        own = (run.original for run in self._compared.values())
        entries = newest_first((*own, *runs_of_others(stored, self._content.trees)))
        self._runs = [_Run.of(entry) for entry in entries]
        self._environments = environments
        self._differences: dict[str, Difference] = {}
        self._unchanged: dict[str, bool] = {}

    def newest_pass(self, test: str, failure: Evidence) -> SincePass:
        """The newest run in which the test passed, and what changed since."""
        for run in self._runs:
            evidence = run.results.get(test)
            if evidence is None:
                continue
            if evidence.outcome in REFUTES and signature(evidence) != signature(failure):
                break  # another failure: what ended it is not what this one began with
            if evidence.outcome != "passed":
                continue
            part = self._comparison(run.entry)
            verdict = part.verdicts.get(evidence.subject.removeprefix("test:"))
            if verdict is not None and verdict.state in (STALE, VALID):
                names = tuple(split_id(symbol)[1] for symbol in verdict.symbols)
                reasons = (verdict.reason,) if verdict.reason else ()
                return SincePass(run.entry.receipt.run, names or reasons)
            # what it executed was not recorded: all that changed, if anything did
            paths = tuple(sorted(part.changes.changes.keys() - part.changes.documents))
            if paths:
                return SincePass(run.entry.receipt.run, paths)
            return SincePass()
        return SincePass()

    def failing_run(self, test: str, failure: Evidence) -> str:
        """The newest run without the uncommitted changes that has a result of the test, where it
        failed in the same way; empty where there is none.
        """
        for run in self._runs if self._uncommitted else ():
            evidence = run.results.get(test)
            if evidence is not None and self._is_unchanged(run.entry):
                is_same = evidence.outcome in REFUTES and signature(evidence) == signature(failure)
                if is_same:
                    return run.entry.receipt.run
                return ""
        return ""

    @cached_property
    def _uncommitted(self) -> dict[str, str]:
        """The state that each file has in HEAD which is another one on disk."""
        tree = tree_of_revision(self._repo, "HEAD")
        if tree:
            states = changed_states(self._repo, Base(tree, {}), None)
        else:
            states = {}
        return {path: before for path, (before, _) in states.items()}

    def _is_unchanged(self, entry: Entry) -> bool:
        """Whether a run was on content that has the files with uncommitted changes as in HEAD."""
        if entry.id not in self._unchanged:
            base = content_of_run(self._repo, entry.receipt)
            if base:
                states = changed_states(self._repo, base, self._content.other)
            else:
                states = {}
            self._unchanged[entry.id] = all(
                path in states and states[path][0] == state
                for path, state in self._uncommitted.items()
            )
        return self._unchanged[entry.id]

    def _comparison(self, entry: Entry) -> OtherRun:
        if entry.id not in self._compared:
            self._compared[entry.id] = OtherRun.judged(
                self._ws,
                self._repo,
                self._stored,
                entry,
                self._content.trees[0],
                self._content.other,
                self._differences,
                self._environments,
            )
        return self._compared[entry.id]


def change_line(answers: Mapping[str, SincePass], total: int) -> str:
    """Return in one line what changed since failing tests passed; empty where no run shows it.

    `total`: how many tests failed.
    """
    passed = [answer for answer in answers.values() if answer.passed]
    if not passed:
        return ""
    names = list(dict.fromkeys(name for answer in passed for name in answer.changed))
    runs = {answer.passed for answer in passed}
    if len(runs) == 1:
        run = f" in run {runs.pop()[:_SHORT]}"
    else:
        run = ""
    if total == 1:
        subject = "it"
    else:
        subject = f"{len(passed)} of {total} failing tests"
    if not names:
        return f"kl: nothing that {subject} executed changed since the pass{run}"
    return one_line(f"kl: changed since {subject} passed{run}: {name_list(names, _NAMED)}", 400)


def without_change_lines(answer: SincePass) -> Iterator[str]:
    """Yield a line where the test fails without the uncommitted changes too."""
    if answer.failed:
        yield f"it fails without the uncommitted changes, too (run {answer.failed[:_SHORT]})"
