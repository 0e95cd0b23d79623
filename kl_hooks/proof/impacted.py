"""Impacted tests: what must run to know how the tests end on a content, in groups by how that is
known (ADR-0081).

In most clones only a part of the tests was ever recorded. A test that was recorded is impacted
where what it executed or read changed, or where it failed. Of a test that was never recorded the
source shows only whether imports lead from its file to what changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.code.query.session import open_graph
from kl_hooks.errors import KlError
from kl_hooks.evidence.executed import test_path
from kl_hooks.evidence.provenance import worktree_state
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import REFUTES
from kl_hooks.proof.content_source import content_source
from kl_hooks.proof.defined_tests import expected_names
from kl_hooks.proof.difference import file_changes, states_since
from kl_hooks.proof.expected_tests import expected_tests
from kl_hooks.proof.facts import VALID
from kl_hooks.proof.impact import Content, Result, Runs, content_of, repository_of
from kl_hooks.proof.import_distance import import_distances, use_distances
from kl_hooks.proof.other_runs import addopts_limits

if TYPE_CHECKING:
    from kl_hooks.evidence.snapshot import Snapshot
    from kl_hooks.proof.facts import FileChange
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

_FARTHEST: Final = 1 << 30


class Group(StrEnum):
    """How it is known that a test must run, the surest first."""

    KNOWN = "known"
    """A run recorded it, and what it executed or read changed, or it failed; or its file changed.
    """
    IMPORTS = "imports"
    """Never recorded; imports lead from its file to what changed."""
    UNCONNECTED = "unconnected"
    """Never recorded; no import path was found. That proves nothing."""


class Unrecorded(StrEnum):
    """Which tests that no run recorded are asked for."""

    ALL = "all"
    IMPORTS = "imports"
    """Those with an import path to what changed."""
    NONE = "none"


_GROUPS_OF: Final[Mapping[Unrecorded, Collection[Group]]] = {
    Unrecorded.ALL: tuple(Group),
    Unrecorded.IMPORTS: (Group.KNOWN, Group.IMPORTS),
    Unrecorded.NONE: (Group.KNOWN,),
}


class Impacted(NamedTuple):
    """A test to run, and why."""

    test: str
    """A node ID; a file whose tests the source does not show."""
    reason: str
    symbols: tuple[str, ...] = ()
    run: str = ""
    """The run of its last result; empty: it was never recorded."""
    group: Group = Group.KNOWN
    distance: int | None = None
    """Imports from its file to what changed, where it was never recorded; None: no path."""
    uses: int | None = None
    """Calls and other uses from it to a changed symbol, likewise."""

    def to_dict(self) -> dict[str, Any]:
        """As in JSON answers."""
        return {**self._asdict(), "symbols": list(self.symbols), "group": str(self.group)}


class ImpactedTests(NamedTuple):
    """The tests that must run, the surest and most specific first, and how many need not."""

    tests: list[Impacted]
    settled: int


def impacted_tests(
    ws: Workspace,
    snapshot: Snapshot,
    content: Content,
    before: str = "",
    unrecorded: Unrecorded = Unrecorded.ALL,
) -> ImpactedTests:
    """Return the tests that must run to know how they end on a content.

    `before`: a revision; then those that a change from there reaches, whether they were run since
    or not. `unrecorded`: which of those that no run recorded. Raises KlError where git has no
    answer.
    """
    runs = Runs(ws, snapshot, content)
    if before:
        there = Runs(ws, snapshot, content_of(ws, before))
    else:
        there = None
    impacted: list[Impacted] = []
    settled = 0
    for name, result in sorted(runs.results.items()):
        if runs.removed(name):
            continue
        # what passed before and after the change is reached by it all the same
        if there and result.settled:
            result = there.judged(name, result)
        if result.settled:
            settled += 1
        else:
            impacted.append(Impacted(name, _why(result), result.symbols, result.run))
    ranked = sorted(impacted, key=_SpecificityOf(runs))
    distances = _distances(ws, runs, content)
    ranked += sorted(_unrecorded(ws, runs, content, distances), key=_nearness)
    ranked.sort(key=lambda test: tuple(Group).index(test.group))
    return ImpactedTests([test for test in ranked if test.group in _GROUPS_OF[unrecorded]], settled)


class Skipped(NamedTuple):
    """The tests that `--kl-impacted` does not run."""

    settled: frozenset[str]
    """Lasting node IDs of tests whose result is valid."""
    recorded: frozenset[str] = frozenset()
    """Lasting node IDs of tests with any result; asked where `files` is not None."""
    files: frozenset[str] | None = None
    """Files whose tests run although no run recorded them; None: all."""

    def lacks_record(self, name: str) -> bool:
        """Whether a test is skipped although no run shows how it ends. `name`: lasting node ID."""
        if self.files is None:
            return False
        return name not in self.recorded and test_path(name) not in self.files

    def to_lists(self) -> list[list[str] | None]:
        """As a worker process gets it."""
        if self.files is None:
            files = None
        else:
            files = sorted(self.files)
        return [sorted(self.settled), sorted(self.recorded), files]

    @classmethod
    def from_lists(cls, lists: Sequence[Sequence[str] | None]) -> Skipped:
        """The same of `to_lists`."""
        settled, recorded, files = lists
        return cls(
            frozenset(settled or ()),
            frozenset(recorded or ()),
            None if files is None else frozenset(files),
        )


def skipped_tests(
    ws: Workspace,
    snapshot: Snapshot,
    before: str = "",
    unrecorded: Unrecorded = Unrecorded.ALL,
) -> Skipped:
    """Return the tests that need not run on what is on disk, or are not asked for; with `before`,
    those that a change from there does not reach.
    """
    content = content_of(ws, changed=before)
    runs = Runs(ws, snapshot, content)
    if before:
        there = Runs(ws, snapshot, content_of(ws, before))
    else:
        there = None
    settled = frozenset(
        name
        for name, result in runs.results.items()
        if result.settled and (there is None or there.judged(name, result).settled)
    )
    if unrecorded is Unrecorded.ALL:
        return Skipped(settled)
    distances = _distances(ws, runs, content)
    if unrecorded is Unrecorded.IMPORTS:
        most = _FARTHEST
    else:
        most = 0
    files = {path for path, distance in distances.of_file.items() if distance <= most}
    return Skipped(settled, frozenset(runs.results), frozenset(files))


def _why(result: Result) -> str:
    if result.state != VALID or result.reason:
        return result.reason
    return f"{'flaky' if result.outcome == 'flaky' else 'failed'} in run {result.run[:8]}"


class _SpecificityOf:
    """The key by which recorded tests are ranked: failures, then those that executed a changed
    symbol, and of each those that executed least.
    """

    def __init__(self, runs: Runs) -> None:
        self._results = runs.results
        self._executed = {
            part.original.receipt.run: part.executed
            for part in runs.parts
            if part.executed is not None
        }

    def __call__(self, test: Impacted) -> tuple[bool, bool, int, str]:
        executed = self._executed.get(test.run)
        try:
            if executed:
                size = len(executed.tests.indexes(test.test))
            else:
                size = _FARTHEST
        except KeyError:  # a name that is stored in another form, or that executed nothing
            size = _FARTHEST
        result = self._results[test.test]
        has_failed = result.state == VALID and result.outcome in REFUTES
        return not has_failed, not test.symbols, size, test.test


@dataclass(frozen=True)
class _Distances:
    """How far tests are from what changed."""

    of_file: Mapping[str, int] = field(default_factory=dict)
    """File → imports to a changed one."""
    of_test: Mapping[str, int] = field(default_factory=dict)
    """Test → calls and other uses to a changed symbol."""
    is_known: bool = True
    """False: the imports could not be read, so any file may reach what changed."""

    def group(self, test: str) -> tuple[Group, int | None]:
        """The group of a test that no run recorded, and its distance."""
        distance = self.of_file.get(test_path(test))
        if distance == 0:
            return Group.KNOWN, distance
        has_path = distance is not None or not self.is_known
        return Group.IMPORTS if has_path else Group.UNCONNECTED, distance


def _nearness(test: Impacted) -> tuple[int, int, str]:
    """The key by which tests that no run recorded are ranked: by uses, which are more specific than
    imports (measured: ADR-0081).
    """
    uses = _FARTHEST if test.uses is None else test.uses
    if test.distance is None:
        distance = _FARTHEST
    else:
        distance = test.distance
    return uses, distance, test.test


def _distances(ws: Workspace, runs: Runs, content: Content) -> _Distances:
    """Return the distances by the imports of the content; of the files on disk for what is
    staged.
    """
    repo = repository_of(ws)
    changes = _changes(ws, runs, content)
    is_on_disk = content.other is None or set(content.trees) & set(worktree_state(repo).trees)
    try:
        with ExitStack() as stack:
            if content.trees and not is_on_disk:
                rev = content.trees[0]
            else:
                rev = None
            graph = stack.enter_context(open_graph(ws, rev))
            symbols = _changed_symbols(graph.db, changes)
            return _Distances(import_distances(graph.db, changes), use_distances(graph.db, symbols))
    except KlError:  # it ranks and groups; what must run is known without it
        return _Distances(is_known=False)


def _changes(ws: Workspace, runs: Runs, content: Content) -> Mapping[str, FileChange]:
    """Return what changed, by path: since the revision before, else since the newest recorded
    run.
    """
    repo = repository_of(ws)
    states = states_since(repo, content.before, content.other)
    if states:
        return file_changes(ws, repo, states, content.other)
    if not runs.parts:
        return {}
    return runs.parts[0].changes.changes


def _changed_symbols(db: Database, changes: Mapping[str, FileChange]) -> set[str]:
    """Return the IDs of the functions and classes that differ, as the graph has them."""
    module_of = {str(path): str(name) for path, name in db.rows("SELECT path, module FROM files")}
    return {
        f"{kind}:{module_of[path]}{name.removeprefix('_')}"
        for path, change in changes.items()
        if path in module_of and change.is_python and change.symbols_now is not None
        for local, content_hash in change.symbols_now.hashes.items()
        if change.symbols_before is None or change.symbols_before.hashes.get(local) != content_hash
        for kind, _, name in [local.partition(":")]
        if kind != "namespace"
    }


def _unrecorded(
    ws: Workspace, runs: Runs, content: Content, distances: _Distances
) -> Iterator[Impacted]:
    """Yield the tests in the source that no run reported."""
    if runs.parts:
        limits = addopts_limits(runs.parts[0].original.receipt.selection)[0]
    else:
        limits = ""
    if limits:
        deselection = f"; addopts may deselect it: {limits}"
    else:
        deselection = ""
    for name in _unrecorded_names(ws, content, runs.results):
        earlier = runs.earlier_name(name)
        if earlier:
            reason = f"not recorded yet; it was {earlier}"
        else:
            reason = "not recorded yet"
        group, distance = distances.group(name)
        if not earlier:
            reason += deselection
        if group is Group.IMPORTS:
            uses = distances.of_test.get(name)
        else:
            uses = None
        yield Impacted(name, reason, group=group, distance=distance, uses=uses)


def _unrecorded_names(ws: Workspace, content: Content, recorded: Iterable[str]) -> Iterator[str]:
    """Yield each function that is surely a test and was not recorded, else its file."""
    repo = repository_of(ws)
    # a new test file is untracked until it is added, and is what its author wants to run
    source = content_source(repo, content.other or "", untracked=True)
    # what `addopts` omits now is omitted: these are tests to run, no proof
    wanted = expected_tests(ws, source, source, "", ws.settings.verify_exclude)
    functions = {name.partition("[")[0] for name in recorded}
    files = {test_path(name) for name in functions}
    for path, (config, _) in sorted(wanted.files.items()):
        defined = wanted.functions.get(path)
        if defined is None or defined.error:
            if path not in files:
                yield path
            continue
        certain, doubtful = expected_names(defined, config)
        yield from (f"{path}::{name}" for name in certain if f"{path}::{name}" not in functions)
        if path not in files and doubtful and not certain:
            yield path
