"""What tests were called before: one that was renamed or moved is recognized by its content, where
that is unique.

The contents of an older run and a newer one are compared. Of the functions that only one of them
has, two are one test if they have the same content hash under the same name, or would have it if
the newer one had the older name, and no other function of either content has. So nothing is derived
of a test that was edited and renamed between two runs.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

from kl_hooks.code.scanner.parser import parse_tree
from kl_hooks.code.scanner.symbols import combined_digest, set_digests
from kl_hooks.code.scanner.visitor import Frame, walk
from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.ledger import functions_of_runs
from kl_hooks.git.files import FileEntry, read_files, states_at
from kl_hooks.git.run import GitFailed
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.text import name_list
from kl_hooks.proof.difference import changed_states, content_of_run, file_changes
from kl_hooks.proof.facts import FileChange
from kl_hooks.workspace import Workspace

if TYPE_CHECKING:
    from kl_hooks.model.receipt import Receipt
    from kl_hooks.store.database import Database

_NAMED: Final = 5
"""Tests of one name that a message names."""
_RUNS: Final = 200
"""Newest runs that are looked at."""
_COMPARED: Final = 5
"""Contents that one is compared with, and names that a test had: each comparison asks git."""
_PAIRS: Final = 40_000
"""Functions of one content times those of the other that are compared under another name."""


class _Place(NamedTuple):
    """A function in a content."""

    path: str
    local: str
    """`method:_.TestA.test_b`"""

    @property
    def name(self) -> str:
        return self.local.rpartition(".")[2]

    @property
    def qualified(self) -> str:
        return self.local.partition(":_.")[2]

    @property
    def test(self) -> str:
        """As in node IDs."""
        return f"{self.path}::{self.qualified.replace('.', '::')}"


def moved_tests(
    changes: Iterable[FileChange], read: Callable[[str], bytes | None]
) -> dict[str, str]:
    """Test functions of the newer content (`path::TestA::test_b`) → what they were called in the
    older one.

    `read` gives a file of the newer content, or None.
    """
    removed = _only_in(changes := list(changes), old=True)
    added = _only_in(changes, old=False)
    pairs = dict(
        _unique_pairs(
            [((place.name, value), place) for place, value in removed.items()],
            [((place.name, value), place) for place, value in added.items()],
        )
    )
    settled = set(pairs.values())
    unsettled = {place: value for place, value in removed.items() if place not in settled}
    others = [place for place in added if place not in pairs]
    if unsettled and others and len(unsettled) * len(others) <= _PAIRS:
        names = {place.name for place in unsettled}
        keys = [
            ((name, value), place)
            for path in sorted({place.path for place in others})
            for place, name, value in _hashes_under(
                names, path, [place for place in others if place.path == path], read(path)
            )
        ]
        renamed = list(
            _unique_pairs(
                [((place.name, value), place) for place, value in unsettled.items()], keys
            )
        )
        times = Counter(new for new, _ in renamed)
        pairs |= {new: old for new, old in renamed if times[new] == 1}
    return {new.test: old.test for new, old in pairs.items()}


def _only_in(changes: Iterable[FileChange], *, old: bool) -> dict[_Place, str]:
    """The functions that only the older or only the newer content has → their content hashes."""
    functions: dict[_Place, str] = {}
    for change in changes:
        here, there = (
            (change.symbols_before, change.symbols_now)
            if old
            else (change.symbols_now, change.symbols_before)
        )
        if here is None or here.error or (there is not None and there.error):
            continue
        if there is not None:
            other_hashes = there.hashes
        else:
            other_hashes = {}
        for local, value in here.hashes.items():
            if (
                local not in other_hashes
                and local.startswith(("function:_.", "method:_."))
                and "<locals>" not in local
            ):
                functions[_Place(change.path, local)] = value
    return functions


def _unique_pairs(
    old: Iterable[tuple[tuple[str, str], _Place]], new: Iterable[tuple[tuple[str, str], _Place]]
) -> Iterator[tuple[_Place, _Place]]:
    """(newer, older) of the keys that one function of each content has, and no two."""
    sides: tuple[dict[tuple[str, str], list[_Place]], dict[tuple[str, str], list[_Place]]] = {}, {}
    for side, rows in zip(sides, (old, new), strict=True):
        for key, place in rows:
            side.setdefault(key, []).append(place)
    for key, places in sides[1].items():
        before = sides[0].get(key, ())
        if len(places) == 1 and len(before) == 1:
            yield places[0], before[0]


def _hashes_under(
    older_names: Iterable[str], path: str, places: Sequence[_Place], content: bytes | None
) -> Iterator[tuple[_Place, str, str]]:
    """(function, name, the content hash that it would have under that name), of functions whose
    body uses something.
    """
    try:
        if content is not None:
            frames = walk(parse_tree(content))
        else:
            frames = []
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    set_digests(frames)
    functions: dict[str, list[Frame]] = {}
    for frame in frames:
        if frame.kind == "function" and frame.outer is not None:
            functions.setdefault(frame.outer.prefix + frame.names[0], []).append(frame)
    for place in places:
        definitions = functions.get(place.qualified, [])
        # of several definitions of one name the hash is over all; two bodies that use nothing are
        # equal by chance
        if len(definitions) == 1 and len(definitions[0].uses) > definitions[0].head:
            for name in sorted(older_names):
                definitions[0].text[1] = name  # after the sort of node, see `scanner.visitor`
                set_digests(definitions)
                yield place, name, combined_digest([definitions[0].own])


def ambiguous_name(name: str, matching: Sequence[str]) -> UsageProblem:
    """The problem that several tests are named like this, with names that can be copied."""
    hint = f"Use one of: {name_list([shlex.quote(test) for test in matching], _NAMED)}"
    return UsageProblem(
        f"ambiguous ({len(matching)} tests are named like this).", place=name, hint=hint
    )


def matching_tests(name: str, nodeids: Collection[str]) -> list[str]:
    """The tests that a name means: the node ID, else those that end so, else every case of a
    function that does.
    """
    if name in nodeids:
        return [name]
    ends = (f"::{name}", f"/{name}")
    matching = [nodeid for nodeid in nodeids if nodeid.endswith(ends)]
    cases = (
        nodeid
        for nodeid in nodeids
        if (function := nodeid.partition("[")[0]) == name or function.endswith(ends)
    )
    return sorted(matching or cases)


class _Run(NamedTuple):
    receipt: Receipt
    functions: frozenset[str]


class TestNames:
    """The names that tests had in the recorded runs; read from the store when first asked."""

    __test__ = False  # no test class, whatever its name

    def __init__(self, ws: Workspace, db: Database | None, waiting: Sequence[Receipt] = ()) -> None:
        """`waiting`: receipts that are not imported yet, newest first."""
        self._ws = ws
        self._db = db
        self._waiting = waiting
        self._known: dict[tuple[str, str], Mapping[str, str]] = {}
        self._names_after: dict[tuple[str, str], Mapping[str, str]] = {}
        self._known_others: dict[tuple[int, int], list[Receipt]] = {}
        self._texts: dict[str, str] = {}

    def earlier(self, nodeid: str) -> tuple[str, ...]:
        """What a test was called before, newest name first; nothing where no name is certain."""
        function, bracket, case = nodeid.partition("[")
        names = [function]
        for name in names:  # grows while it is walked
            names += [
                earlier_name for earlier_name in self._before(name) if earlier_name not in names
            ]
            if len(names) > _COMPARED:
                break
        return tuple(f"{name}{bracket}{case}" for name in names[1 : _COMPARED + 1])

    def current(self, nodeid: str) -> str:
        """What a test of a recorded run is called now; as it was where no other name is certain."""
        function, bracket, case = nodeid.partition("[")
        names = [function]
        while len(names) <= _COMPARED and not self._is_here(names[-1]):
            name = self._after(names[-1])
            if not name or name in names:
                break
            names.append(name)
        return f"{names[-1]}{bracket}{case}"

    def unrecorded(self) -> Mapping[str, str]:
        """Test functions on disk that were called otherwise in the content of the newest run →
        their name there.
        """
        if not self._runs:
            return {}
        return self.pairs(self._runs[0].receipt, None)

    def pairs(self, old: Receipt, new: Receipt | None) -> Mapping[str, str]:
        """Test functions of a newer run (None: on disk) → their names in an older one, where these
        differ.
        """
        key = (old.run, new.run if new else "")
        if key not in self._known:
            try:
                self._known[key] = self._older_names(old, new)
            except GitFailed:
                self._known[key] = {}
        return self._known[key]

    @cached_property
    def _runs(self) -> list[_Run]:
        """Newest first."""
        if self._db:
            stored = functions_of_runs(self._db, _RUNS)
        else:
            stored = []
        waiting = [
            (
                one,
                frozenset(
                    row.subject.removeprefix("test:").partition("[")[0] for row in one.evidence
                ),
            )
            for one in self._waiting
        ]
        return [
            _Run(receipt, functions) for receipt, functions in (*waiting, *stored) if receipt.tree
        ]

    def _before(self, function: str) -> list[str]:
        index = max(
            (place for place, run in enumerate(self._runs) if function in run.functions), default=-1
        )
        if index >= 0:
            newest = self._runs[index].receipt
        else:
            newest = None
        # not the newest name alone: of a content that was never committed no earlier name is known
        names = [self.pairs(receipt, newest).get(function) for receipt in self._others(index, 1)]
        return list(dict.fromkeys(filter(None, names)))

    def _after(self, function: str) -> str:
        index = next(
            (place for place, run in enumerate(self._runs) if function in run.functions), -1
        )
        if index < 0:
            return ""
        for receipt in (None, *self._others(index, -1)):
            key = (self._runs[index].receipt.run, receipt.run if receipt else "")
            if key not in self._names_after:
                pairs = self.pairs(self._runs[index].receipt, receipt)
                self._names_after[key] = {before: name for name, before in pairs.items()}
            if name := self._names_after[key].get(function):
                return name
        return ""

    def _others(self, index: int, step: int) -> list[Receipt]:
        """The next runs, older (1) or newer (-1) than that at a place, that have tests which none
        before them has.

        What was renamed is among those.
        """
        if (index, step) not in self._known_others:
            runs_passed = self._runs[: index + 1]
            other = self._runs[index + 1 :]
            if step < 0:
                runs_passed = self._runs[index:]
                other = self._runs[:index][::-1]
            # runs of one suite share their set
            functions_seen: set[str] = set().union(
                *{id(run.functions): run.functions for run in runs_passed}.values()
            )
            receipts: list[Receipt] = []
            before: frozenset[str] = frozenset()
            for run in other:
                if run.functions is not before and not run.functions <= functions_seen:
                    receipts.append(run.receipt)
                    if len(receipts) == _COMPARED:
                        break
                before = run.functions
                functions_seen |= run.functions
            self._known_others[index, step] = receipts
        return self._known_others[index, step]

    def _is_here(self, function: str) -> bool:
        """Whether what is on disk seems to have it."""
        path, *names = function.split("::")
        if path not in self._texts:
            try:
                self._texts[path] = (self._ws.root / path).read_text(
                    encoding="utf-8", errors="replace"
                )
            except OSError:
                self._texts[path] = ""
        return all(f" {name}" in self._texts[path] for name in names)

    def _older_names(self, old: Receipt, new: Receipt | None) -> dict[str, str]:
        """Test function of the newer content → its name in the older one."""
        repo = self._ws.repo
        old_content = content_of_run(repo, old) if repo else None
        if repo and new:
            new_content = content_of_run(repo, new)
        else:
            new_content = None
        if repo is None or old_content is None or (new and new_content is None):
            return {}
        new_tree = new_content.tree if new_content else None
        states_by_path = changed_states(repo, old_content, new_tree)
        for path, state in new_content.states.items() if new_content else ():
            if path in states_by_path:
                state_in_old_tree = states_by_path[path][0]
            else:
                state_in_old_tree = states_at(repo, old_content.tree, [path]).get(path, "")
            states_by_path[path] = (old_content.states.get(path, state_in_old_tree), state)

        def read(path: str) -> bytes | None:
            mode, _, blob = states_by_path[path][1].partition(" ")
            # a run may have been of a content that was never committed, and is on disk
            if not blob:
                return None
            return next((text for _, text in read_files(repo, [FileEntry(path, blob, mode)])), None)

        return moved_tests(file_changes(self._ws, repo, states_by_path, new_tree).values(), read)
