"""Holds violations against a baseline: which are accepted, which are new, which entries nothing needs any more. Pure.

An import fits the entry of its fingerprint, as often as the entry counts. What is left on both sides may be the same
import after a rename: an entry whose module is gone fits a new module that differs in nothing else, where only one
such pair is possible. So moved lines and renamed files change no verdict, and no entry ever accepts more than it says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from kl_hooks.arch.baseline.file import Accepted
from kl_hooks.model.manifest import Violation


@dataclass(frozen=True, slots=True)
class Match:
    """What a baseline says about some violations."""

    new: tuple[Violation, ...]
    """In the order they were given; of more than an entry accepts, the last ones."""
    accepted: tuple[Violation, ...]
    needed: tuple[Accepted, ...]
    """The entries as far as something needs them: those that nothing fits are left out, counts are no higher."""
    renamed: tuple[tuple[Accepted, Accepted], ...] = ()
    """An entry, and what it would be called today."""

    @property
    def today(self) -> tuple[Accepted, ...]:
        """`needed` under the names of today."""
        names = dict(self.renamed)
        return tuple(sorted(replace(names.get(one, one), count=one.count) for one in self.needed))


def match(entries: Sequence[Accepted], violations: Sequence[Violation], modules: Collection[str]) -> Match:
    """Holds `violations` against the entries of a baseline; `modules` are the dotted names that exist today."""
    groups: dict[Accepted, list[int]] = defaultdict(list)
    for number, one in enumerate(violations):
        groups[Accepted(one.source_layer, one.target_layer, one.importer, one.imported)].append(number)
    room = {_key(entry): entry.count for entry in entries}
    used: dict[Accepted, int] = {}
    taken: set[int] = set()

    def take(key: Accepted, group: Accepted) -> None:
        some = groups[group][: room[key]]
        taken.update(some)
        used[key] = len(some)

    for key in room.keys() & groups.keys():
        take(key, key)
    renamed = []
    for named, other in (_IMPORTER, _IMPORTED):
        free = [key for key in room if key not in used and named(key) not in modules]
        loose = [group for group in groups if group not in room and groups[group][0] not in taken]
        for key, group in _pairs(free, loose, named, other):
            take(key, group)
            renamed.append((key, group))
    needed = {key: replace(key, count=number) for key, number in used.items()}
    return Match(
        tuple(one for number, one in enumerate(violations) if number not in taken),
        tuple(one for number, one in enumerate(violations) if number in taken),
        tuple(sorted(needed.values())),
        tuple(sorted((needed[key], replace(group, count=needed[key].count)) for key, group in renamed)),
    )


def added(before: Iterable[Accepted], after: Iterable[Accepted]) -> tuple[Accepted, ...]:
    """What `after` accepts and `before` does not, with the difference in counts."""
    known = {_key(one): one.count for one in before}
    grown = ((one, one.count - known.get(_key(one), 0)) for one in after)
    return tuple(replace(one, count=more) for one, more in grown if more > 0)


_Name = Callable[[Accepted], str]
_Rest = Callable[[Accepted], tuple[str, str, str]]
_IMPORTER: tuple[_Name, _Rest] = (lambda x: x.importer, lambda x: (x.source_layer, x.target_layer, x.imported))
_IMPORTED: tuple[_Name, _Rest] = (lambda x: x.imported, lambda x: (x.source_layer, x.target_layer, x.importer))


def _key(entry: Accepted) -> Accepted:
    return replace(entry, count=1)


def _pairs(
    free: Iterable[Accepted], loose: Iterable[Accepted], name: _Name, rest: _Rest
) -> list[tuple[Accepted, Accepted]]:
    """Pairs that differ in one name only, none of which could be another: the last part of that name decides first."""
    made: list[tuple[Accepted, Accepted]] = []
    sides = [list(free), list(loose)]
    keys: list[Callable[[Accepted], object]] = [lambda x: (rest(x), name(x).rpartition(".")[2]), rest]
    for key in keys:
        alone = [_alone(side, key) for side in sides]
        found = [(alone[0][same], alone[1][same]) for same in sorted(alone[0].keys() & alone[1].keys(), key=repr)]
        made += found
        gone = {one for pair in found for one in pair}
        sides = [[one for one in side if one not in gone] for side in sides]
    return made


def _alone(side: Iterable[Accepted], key: Callable[[Accepted], object]) -> dict[object, Accepted]:
    """Key → the entry that has it, for keys that only one has."""
    found: dict[object, list[Accepted]] = defaultdict(list)
    for one in side:
        found[key(one)].append(one)
    return {same: many[0] for same, many in found.items() if len(many) == 1}
