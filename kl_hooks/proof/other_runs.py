"""The results of runs of other contents that are valid for one, as entries that the gate judges
with those of its own.

A result that is not valid is omitted from the entry of its run, and named with the reason: another
run must have reported it, or its test must be removed. So an older run and a new one of what a
change reaches prove a content.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from kl_hooks.evidence.executed import Executed, test_path
from kl_hooks.evidence.ledger import COUNTED_LIMITS, Entry, selection_limits
from kl_hooks.evidence.private import PrivateDigests
from kl_hooks.evidence.shared_names import lasting_name, reports_all_cases
from kl_hooks.evidence.snapshot import Snapshot
from kl_hooks.evidence.trust import environment_key
from kl_hooks.git.repository import Repository
from kl_hooks.git.run import GitFailed
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import REFUTES, Evidence, Receipt
from kl_hooks.model.symbol import split_id
from kl_hooks.model.text import name_list
from kl_hooks.proof.collecting_hooks import newly_collected
from kl_hooks.proof.configured_selection import CONFIGURED, doctest_globs
from kl_hooks.proof.difference import changed_states, content_of_run, difference
from kl_hooks.proof.facts import (
    NOT_ASSESSED,
    STALE,
    VALID,
    Difference,
    FileChange,
    FileSymbols,
    RunSymbols,
    Verdict,
)
from kl_hooks.proof.installed import Environments
from kl_hooks.proof.opened_bytes import BytesOfCheckout, BytesOnDisk
from kl_hooks.proof.verdict import judge_results
from kl_hooks.workspace import Workspace

_RUNS: Final = 20
"""Runs of other contents that are looked at: each costs a comparison of contents."""
_WHOLE_RUNS: Final = 3
"""Complete runs after which older ones add nothing but time."""
_MOST_ARGUMENTS: Final = 10
"""Of a command that a person is shown; beyond it pytest itself looks for the tests
(`--kl-impacted`).
"""
_UNDOING: Final = {
    "-m": "-m ''",
    "-k": "-k ''",
    "--deselect": "-o addopts=",
    "--ignore": "-o addopts=",
    "--ignore-glob": "-o addopts=",
}
PART: Final = "transferred"
"""The key in the selection of a derived entry that means that not all of its content is the same.
Never stored.
"""


class _OtherRun(NamedTuple):
    """The parts of `OtherRun`, which stores also what it computes of them."""

    entry: Entry
    """With the valid results alone."""
    original: Entry
    verdicts: Mapping[str, Verdict]
    """Node ID of each result → whether it is valid."""
    changes: Difference
    executed: Executed | None = None
    is_own: bool = False
    """Whether it ran on this very content: what is not valid of it had another environment."""
    differs_outside_git: bool = False
    """Whether something differs that no commit shows: what is installed, ignored files."""
    not_compared: str = ""
    """Why it is not known whether its environment is as it was."""


class OtherRun(_OtherRun):
    """A run of another content, with the results that are valid for this one."""

    @cached_property
    def symbols(self) -> RunSymbols | None:
        """What the run executed, by file."""
        if not self.executed:
            return None
        return RunSymbols(self.executed)

    @property
    def valid(self) -> int:
        """How many results are valid."""
        return sum(verdict.state == VALID for verdict in self.verdicts.values())

    @property
    def why_not(self) -> str:
        """Why no result of it is valid; empty where some are."""
        if any(verdict.state == VALID for verdict in self.verdicts.values()):
            return ""
        reasons = {verdict.reason for verdict in self.verdicts.values()}
        if len(reasons) != 1:
            return "no result of it is valid here"
        return reasons.pop()

    @cached_property
    def failures(self) -> frozenset[str]:
        """Node IDs of the tests that failed in it."""
        results = _results_of(self.original).items()
        return frozenset(name for name, result in results if result.outcome in REFUTES)

    @property
    def is_compared(self) -> bool:
        """Whether it is known of a result that it is valid, or what it rests on that changed."""
        return any(verdict.state in (VALID, STALE) for verdict in self.verdicts.values())

    def without(self, stale: Mapping[str, Verdict]) -> OtherRun:
        """The same without these results. `stale`: node ID → why."""
        receipt = self.entry.receipt
        valid = [result for name, result in _results_of(self.entry).items() if name not in stale]
        return self._replace(
            entry=self.entry._replace(receipt=_derived(receipt, valid, True)),
            verdicts={**self.verdicts, **stale},
        )

    @cached_property
    def stale(self) -> Mapping[str, Verdict]:
        """Those that are not valid."""
        return {name: verdict for name, verdict in self.verdicts.items() if verdict.state != VALID}

    def whole(self, path: str, doubtful: Iterable[str]) -> bool:
        """Whether the run asked this file for all its tests, and the file has no other ones now.

        `doubtful`: names such as `TestA::test_b` in the file that pytest may collect, and that no
        run reported.
        """
        asked = self._asked(path)
        change = self.changes.changes.get(path)
        if not asked or change is None:
            return asked
        # what was not collected then, and is the same, is not collected now; whatever is new must
        # be reported
        return all(_is_same(change, name) for name in doubtful)

    def has_asked_for_doctests(self, path: str, names: Collection[str]) -> bool:
        """Whether the run asked this module for all its doctests, when the definitions of these
        names (`Cart.total`) had the docstrings of now.
        """
        if not self._asked(path):
            return False
        if path not in self.changes.changes:
            return True
        contents = (self.changes.text(path, side) for side in (0, 1))
        before, now = (
            self.changes.source.import_time(content).docs if content is not None else {}
            for content in contents
        )
        # the docstring of the module itself is under no name; its example has that of the file
        keys = (name if name in now else "" for name in names)
        return all(key in before and before[key] == now.get(key) for key in keys)

    def has_imported(self, path: str) -> bool:
        """Whether the run collected this file, and so imported it, and importing it executes now what
        it did then.
        """
        imported = self.executed.modules if self.executed is not None else ()
        if path not in imported and not self.collects_all:
            return False
        change = self.changes.changes.get(path)
        if change is None:
            return True
        texts = [self.changes.text(path, side) for side in (0, 1)]
        before, now = change.symbols_before, change.symbols_now
        if None in texts or before is None or now is None or before.error or now.error:
            return False
        old, new = (self.changes.source.import_time(text or b"") for text in texts)
        if not (new.order or new.effects or new.refused):
            return True  # an import of it executes nothing
        # what nothing in the file names can be removed without any effect
        removed = old.headers.keys() - new.headers.keys()
        if any(name.rpartition(".")[2] in now.names for name in removed):
            return False
        headers = {name: old.headers[name] for name in old.headers if name not in removed}
        order = tuple(name for name in old.order if name not in removed)
        return (
            (headers, order, old.effects) == (dict(new.headers), new.order, new.effects)
            and not new.refused
            and _bodies(before) == _bodies(now)
        )

    @property
    def tested_files(self) -> frozenset[str]:
        """The files with a result in it."""
        return frozenset(map(test_path, self.verdicts))

    @property
    def collects_all(self) -> bool:
        """Whether the run collected all files."""
        receipt = self.original.receipt
        is_all = selection_limits(receipt.selection).keys() <= COUNTED_LIMITS
        return is_all and not receipt.environment.get("rootdir")

    def _asked(self, path: str) -> bool:
        """Whether the run asked this file for all its tests."""
        limits = selection_limits(self.original.receipt.selection)
        if limits.keys() == {"left_out"} and "::" not in str(
            self.original.receipt.selection.get("args")
        ):
            return any(test_path(name) == path for name in self.verdicts)
        return not limits and not self.original.receipt.environment.get("rootdir")

    @classmethod
    def judged(
        cls,
        ws: Workspace,
        repo: Repository,
        snapshot: Snapshot,
        entry: Entry,
        tree: str,
        other: str | None,
        differences: dict[str, Difference],
        environments: Environments | None = None,
    ) -> OtherRun:
        """One run against the content. `environments`: what newer runs had installed."""
        receipt = entry.receipt
        results = _results_of(entry)
        key = str(receipt.tree_all or receipt.tree)
        why = ""
        try:
            base = content_of_run(repo, receipt)
            if base is None:
                why = "the content it ran on is not in git any more"
            elif key not in differences:
                differences[key] = difference(ws, repo, changed_states(repo, base, other), other)
        except GitFailed as problem:
            why = f"its content can't be compared ({problem})"
        if why:
            return cls(
                entry, entry, dict.fromkeys(results, Verdict(NOT_ASSESSED, why)), Difference()
            )
        environments = environments or environments_of(ws, repo, other)
        facts, not_compared = environments.facts_of_run(entry, snapshot.executed(entry))
        verdicts = judge_results(facts, differences[key], results)
        verdicts = _together(receipt, verdicts)
        valid = [result for name, result in results.items() if verdicts[name].state == VALID]
        part = len(valid) < len(results) or any(
            path.endswith(".py") or _is_doctest(differences[key], path)
            for path in differences[key].changes
        )
        part = part or bool(newly_collected(differences[key], set(map(test_path, results))))
        derived = _derived(receipt, valid, part)._replace(tree=tree, tree_all=tree, tree_end=tree)
        return cls(
            entry._replace(receipt=derived),
            entry,
            verdicts,
            differences[key],
            facts.executed,
            differs_outside_git=(
                facts.has_other_files or facts.has_other_distributions(differences[key])
            ),
            not_compared=not_compared,
        )

    def removed(self, nodeid: str) -> bool:
        """Whether the test is not there any more: its file, or its function in it."""
        change = self.changes.changes.get(test_path(nodeid))
        if change is None:
            return False
        if not change.state_now:
            return True
        old = change.symbols_before
        new = change.symbols_now
        if old is None or new is None or old.error or new.error:
            return False
        ids = _ids(nodeid.partition("::")[2])
        return any(symbol in old.hashes for symbol in ids) and not any(
            symbol in new.hashes for symbol in ids
        )


class Transfer(NamedTuple):
    """How a content is proven by runs of other contents."""

    run: str
    valid: int
    total: int
    origin: str = "local"
    """Of the run; `ci:<name>` or `signed:<name>` where a trusted key signed it."""

    def to_dict(self) -> dict[str, Any]:
        """As in JSON answers."""
        return {"run": self.run, "valid": self.valid, "total": self.total}


def environments_of(ws: Workspace, repo: Repository, other: str | None) -> Environments:
    """What runs are compared with: the bytes on disk where these are judged, else those of a
    checkout.
    """
    if other is None:
        return Environments(BytesOnDisk(repo, PrivateDigests(ws)))
    return Environments(BytesOfCheckout(repo, other))


def other_runs(
    ws: Workspace, repo: Repository, snapshot: Snapshot, trees: Sequence[str], other: str | None
) -> list[OtherRun]:
    """The newest runs of other contents, newest first, with the results that are valid.

    `trees`: the IDs of the content. `other`: as `changed_files` takes it.
    """
    runs: list[OtherRun] = []
    whole: dict[tuple[str, ...], int] = {}
    differences: dict[str, Difference] = {}
    environments = environments_of(ws, repo, other)
    for entry in runs_of_others(snapshot, trees):
        key = environment_key(entry.receipt)
        # by environment: runs of one Python must not use up the places of another one's
        if whole.get(key, 0) < _WHOLE_RUNS:
            runs.append(
                OtherRun.judged(
                    ws, repo, snapshot, entry, trees[0], other, differences, environments
                )
            )
            whole[key] = whole.get(key, 0) + (not selection_limits(entry.receipt.selection))
    return runs


def runs_of_others(snapshot: Snapshot, trees: Sequence[str]) -> Iterator[Entry]:
    """The newest runs of tests, newest first, on other contents."""
    for entry in snapshot.runs(_RUNS):
        if not is_just_of(entry.receipt, trees) and is_sound(entry):
            yield entry


def is_just_of(receipt: Receipt, trees: Sequence[str]) -> bool:
    """Whether a run was of a content, without untracked files that are not there now."""
    if receipt.tree_all in (None, receipt.tree):
        return receipt.tree in trees
    return receipt.tree_all in trees


def is_sound(entry: Entry) -> bool:
    """Whether the results of a run count: it ended by itself, here, on a content that did not
    change under way.
    """
    receipt = entry.receipt
    ended = receipt.result.get("complete") and receipt.result.get("verdict") in ("passed", "failed")
    weak = receipt.selection.get("weakened") or receipt.selection.get("not_called")
    here = receipt.source == "pytest" and not entry.origin.startswith("imported")
    return bool(
        ended and here and not receipt.moved and receipt.tree and receipt.evidence and not weak
    )


def runs_of_content(
    snapshot: Snapshot,
    entries: Iterable[Entry],
    trees: Sequence[str],
    environments: Environments,
) -> dict[str, OtherRun]:
    """ID of each sound run of the content itself → its results, and which of them are valid for
    what is installed, and on disk, now. `trees`: its IDs.
    """
    return {
        entry.id: _of_this_content(snapshot, entry, environments)
        for entry in entries
        if is_sound(entry) and is_just_of(entry.receipt, trees)
    }


def _of_this_content(snapshot: Snapshot, entry: Entry, environments: Environments) -> OtherRun:
    """A run of the content itself: its results are valid, but those of tests that reach what was
    installed otherwise, or opened files that have other bytes now.
    """
    facts, not_compared = environments.facts_of_run(entry, snapshot.executed(entry), is_own=True)
    results = _results_of(entry)
    verdicts = judge_results(facts, Difference(), results)
    valid = [result for name, result in results.items() if verdicts[name].state == VALID]
    if len(valid) < len(results):
        derived = _derived(entry.receipt, valid, True)
    else:
        derived = entry.receipt
    return OtherRun(
        entry._replace(receipt=derived),
        entry,
        verdicts,
        Difference(),
        facts.executed,
        is_own=True,
        not_compared=not_compared,
    )


def _results_of(entry: Entry) -> dict[str, Evidence]:
    """Node ID → result."""
    return {
        result.subject.removeprefix("test:"): result
        for result in entry.receipt.evidence
        if result.kind == "TestResult"
    }


def _together(receipt: Receipt, verdicts: dict[str, Verdict]) -> dict[str, Verdict]:
    """Where a hook of the repository judges all tests together, all results are valid or none."""
    checks = session_checks(receipt)
    if not checks or all(verdict.state == VALID for verdict in verdicts.values()):
        return verdicts
    why = f"{checks}, and not all are as they were"
    return {
        name: Verdict(STALE, why) if verdict.state == VALID else verdict
        for name, verdict in verdicts.items()
    }


def session_checks(receipt: Receipt) -> str:
    """`conftest.py judges all tests together`; empty where no hook of the repository does."""
    files = receipt.selection.get("session_checks")
    if not files:
        return ""
    names = list(map(str, files)) if isinstance(files, list | tuple) else ["a hook"]
    return f"{name_list(names, 3)} judges all tests together"


def _derived(receipt: Receipt, valid: Sequence[Evidence], part: bool) -> Receipt:
    """The receipt of a run with these results alone."""
    counts: dict[str, int] = {}
    for evidence in valid:
        counts[evidence.outcome] = counts.get(evidence.outcome, 0) + 1
    # the run may have failed in a test that is not valid here: what is left decides (ADR-0029)
    failed = any(evidence.outcome in REFUTES for evidence in valid)
    result = {**receipt.result, "verdict": "failed" if failed else "passed", "counts": counts}
    selection = {**receipt.selection, PART: len(valid)} if part else receipt.selection
    return receipt._replace(evidence=tuple(valid), result=result, selection=selection)


def _is_doctest(changes: Difference, path: str) -> bool:
    """Whether pytest collects the examples of a text by its name."""
    config = changes.pytest_config(path)
    return config.collects_by(path, doctest_globs(config.addopts))


def _bodies(symbols: FileSymbols) -> dict[str, str]:
    """The hashes of what importing a file executes: of the module, of its classes."""
    later = ("function:", "method:", "property:")
    return {name: value for name, value in symbols.hashes.items() if not name.startswith(later)}


def _is_same(change: FileChange, name: str) -> bool:
    old = change.symbols_before
    new = change.symbols_now
    if old is None or new is None or old.error or new.error:
        return False
    return any(old.hashes.get(symbol, "") == new.hashes.get(symbol) for symbol in _ids(name))


def _ids(name: str) -> tuple[str, str]:
    """What the scanner may call a test, such as `TestA::test_b[1]`."""
    local = name.partition("[")[0].replace("::", ".")
    return f"function:_.{local}", f"method:_.{local}"


def addopts_limits(selection: Mapping[str, Any]) -> tuple[str, str]:
    """(what of the project's `addopts` limits a run: `-m 'not slow'`, the options that undo it);
    empty: nothing.
    """
    if selection.get(CONFIGURED):
        return "", ""
    words = [str(word) for word in selection.get("addopts") or ()]
    limits = []
    undoing = []
    for position, word in enumerate(words):
        option, joined, _ = word.partition("=")
        if undo := _UNDOING.get(option):
            limits += [word] if joined else words[position : position + 2]
            undoing.append(undo)
    return shlex.join(limits), " ".join(dict.fromkeys(undoing))


def unsettled(
    parts: Iterable[OtherRun],
    runs: Iterable[Entry],
    reported: Iterable[str],
    wholly_run: Iterable[str],
) -> dict[str, Verdict]:
    """Node ID → why, of the results that are not valid, that no other run reported and whose tests
    are still there.

    `reported`: what the runs report together. `wholly_run`: files that were run as a whole on this
    content.
    """
    reported_names = {lasting_name(name) for name in reported}
    whole_files = set(wholly_run)
    covered = {
        lasting_name(result.subject.removeprefix("test:"))
        for run in runs
        if reports_all_cases(run.receipt)
        for result in run.receipt.evidence
    }
    verdicts: dict[str, Verdict] = {}
    # a failing edit may be undone since: what changed since a test passed is the better reason
    since_failure: dict[str, Verdict] = {}
    for part in parts:
        for name, verdict in part.stale.items():
            # it may have other parameters now, so only a run that asked for all of them settles it
            reports = reported_names if _has_equal_cases(part, name, verdict) else covered
            settled = (
                lasting_name(name) in reports
                or test_path(name) in whole_files
                or part.removed(name)
            )
            if not settled:
                reasons = since_failure if name in part.failures else verdicts
                reasons.setdefault(name, verdict)
    return since_failure | verdicts


def _has_equal_cases(part: OtherRun, name: str, verdict: Verdict) -> bool:
    """Whether surely no parameter was added to a test: it has none where it is reported by its old
    name, or only functions differ that it executed, in other files. The body of a module or class
    may have the values.
    """
    if "[" not in name:
        return True
    kinds = {split_id(symbol)[0] for symbol in verdict.symbols}
    is_called = bool(kinds) and kinds <= {"function", "method", "property"}
    return is_called and test_path(name) not in part.changes.changes


def pytest_arguments(names: Iterable[str]) -> list[str]:
    """Tests as few arguments of pytest: files and functions; the parameters of a function run
    together.
    """
    wanted = list(dict.fromkeys(names))
    files = {name for name in wanted if "::" not in name}
    return sorted(
        {*files, *(name.partition("[")[0] for name in wanted if test_path(name) not in files)}
    )


def pytest_command(names: Iterable[str], otherwise: str = "pytest") -> str:
    """The shortest pytest command that runs these tests; `otherwise` for very many.

    Plain `pytest` where a name is neither a test nor a file.
    """
    arguments = pytest_arguments(names)
    if not arguments or any(not test_path(argument).endswith(".py") for argument in arguments):
        return "pytest"
    if len(arguments) > _MOST_ARGUMENTS:
        arguments = sorted({test_path(argument) for argument in arguments})
    if len(arguments) > _MOST_ARGUMENTS:
        return otherwise
    return shlex.join(["pytest", *arguments])
