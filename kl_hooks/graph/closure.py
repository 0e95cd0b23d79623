"""Everything that depends on a symbol, by any number of links: breadth-first over numbers, texts only at the end.

A small closure looks at the blocks that hold its names, level by level; a large one reads all blocks once and looks
at whole columns, which costs a few passes in C instead of a look-up for each link.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import compress
from operator import itemgetter
from sys import byteorder
from typing import Any, Final

from kl_hooks.graph.links import COLUMNS, columns_of, numbers, texts
from kl_hooks.store.database import Rows, chunks, placeholders

CLASSES: Final = ("type:", "interface:")
"""How the Ids of classes begin: what has parts that count with it."""


class Columns:
    """All links at once, as columns of numbers; those that can bring nothing more are dropped on the way."""

    def __init__(self, db: Rows, relations: Collection[str], forward: bool) -> None:
        self._forward = forward
        self._size = int(db.rows("SELECT COALESCE(MAX(id), 0) + 1 FROM link_names")[0][0])
        blocks = [row[0] for row in db.rows("SELECT packed FROM link_owners ORDER BY owner")]
        sources, kinds, targets = (_column(blocks, place) for place in range(3))
        known = numbers(db, {*relations, "defines"})
        wanted = self._marks(known[name] for name in relations if name in known)
        chosen = _each(kinds, wanted)
        ends = list(compress(sources, chosen)), list(compress(targets, chosen))
        self._from, self._to = reversed(ends) if forward else ends
        self._new = bytearray(b"\1") * self._size
        self._classes = self._numbers_of_classes(db)
        self._inside = self._owned(kinds, sources, targets, known.get("defines")) if self._classes else {}

    def exclude(self, nodes: Iterable[int]) -> None:
        """These are not given again."""
        for node in nodes:
            self._new[node] = 0

    def columns(self) -> Columns:
        """Itself."""
        return self

    def beyond(self, nodes: set[int]) -> set[int] | None:
        """What lies one link from `nodes` and was not given before. Never None."""
        if not self._to:
            return set()
        hit = set(compress(self._from, _each(self._to, self._marks(nodes))))
        found = set(compress(hit, map(self._new.__getitem__, hit)))
        self.exclude(found)
        if len(found) * 20 > self._size:  # worth a pass over all of them
            new = _each(self._from, bytes(self._new))
            self._from, self._to = list(compress(self._from, new)), list(compress(self._to, new))
        return found

    def parts(self, nodes: set[int]) -> set[int]:
        """What the classes among `nodes` define, and what that defines; `forward`: the classes that `nodes` are in."""
        front = nodes if self._forward else nodes & self._classes
        found: set[int] = set()
        while front and self._inside:
            front = {one for node in front for one in self._inside.get(node, ())} - found
            found |= front
        return found & self._classes if self._forward else found

    def _owned(
        self, kinds: array[int], sources: array[int], targets: array[int], defines: int | None
    ) -> dict[int, list[int]]:
        chosen = _each(kinds, self._marks([] if defines is None else [defines]))
        made: dict[int, list[int]] = {}
        for owner, part in zip(compress(sources, chosen), compress(targets, chosen), strict=True):
            key, value = (part, owner) if self._forward else (owner, part)
            made.setdefault(key, []).append(value)
        return made

    def _marks(self, nodes: Iterable[int]) -> bytes:
        marks = bytearray(self._size)
        for node in nodes:
            marks[node] = 1
        return bytes(marks)

    @staticmethod
    def _numbers_of_classes(db: Rows) -> set[int]:
        # a range, for the index on text: LIKE ignores case and can't use it. `;` is the character after `:`
        sql = "SELECT id FROM link_names WHERE text >= ? AND text < ?"
        return {row[0] for prefix in CLASSES for row in db.rows(sql, (prefix, prefix[:-1] + ";"))}


def _column(blocks: list[bytes], place: int) -> array[int]:
    """One column of all blocks, one after the other."""
    sizes = [(block, len(block) // COLUMNS) for block in blocks]
    joined = array("I", b"".join(block[place * size : (place + 1) * size] for block, size in sizes))
    # blocks are little-endian on every machine (links.pack)
    if byteorder == "big":
        joined.byteswap()
    return joined


def _each(column: Collection[int], marks: bytes) -> Any:
    """The mark of each number of a column; `itemgetter` is the fastest loop there is for it."""
    # itemgetter needs a key, and with a single one returns the item instead of a tuple
    if len(column) < 2:
        return [marks[number] for number in column]
    return itemgetter(*column)(marks)


_FEW: Final = 64
"""Blocks that are looked up in any case."""
_SHARE: Final = 8
"""Look-ups end where more than one block in so many would be read."""


class Blocks:
    """Look-ups: reads only the blocks that hold a name asked for, each once. Towards what depends on it only."""

    def __init__(self, db: Rows, relations: Collection[str], limited: bool) -> None:
        self._db, self._relations = db, relations
        known = numbers(db, {*relations, "defines"})
        self._defines = known.get("defines")
        self._wanted = {known[name] for name in relations if name in known}
        total = int(db.rows("SELECT COUNT(*) FROM link_owners")[0][0])
        self._most = max(_FEW, total // _SHARE) if limited else total
        self._read: dict[int, tuple[list[tuple[int, int]], dict[int, list[int]]]] = {}
        self._given: set[int] = set()

    def exclude(self, nodes: Iterable[int]) -> None:
        """These are not given again."""
        self._given.update(nodes)

    def columns(self) -> Columns:
        """The other way, for the same question."""
        return Columns(self._db, self._relations, False)

    def beyond(self, nodes: set[int]) -> set[int] | None:
        """What links to one of `nodes` and was not given before; None where too many blocks would have to be read."""
        owners = self._owners(nodes)
        if len(owners) > self._most:
            return None
        found = {s for owner in self._blocks(owners) for s, t in owner[0] if t in nodes} - self._given
        self._given |= found
        return found

    def parts(self, nodes: set[int]) -> set[int]:
        """What the classes among `nodes` define, and what that defines."""
        named = texts(self._db, nodes)
        front = {number for number, text in named.items() if text.startswith(CLASSES)}
        found: set[int] = set()
        while front:
            defined = {t for owner in self._blocks(self._owners(front)) for n in front for t in owner[1].get(n, ())}
            front = defined - found
            found |= front
        return found

    def _owners(self, nodes: Collection[int]) -> list[int]:
        asked, found = sorted(nodes), set[int]()
        for some in chunks(asked):
            sql = f"SELECT owner FROM link_ends WHERE name IN ({placeholders(some)})"
            found.update(row[0] for row in self._db.rows(sql, some))
        return sorted(found)

    def _blocks(self, owners: Collection[int]) -> Iterator[tuple[list[tuple[int, int]], dict[int, list[int]]]]:
        """Of each owner its (source, target) pairs of the wanted relations, and what defines what."""
        missing = [owner for owner in owners if owner not in self._read]
        for some in chunks(missing):
            sql = f"SELECT owner, packed FROM link_owners WHERE owner IN ({placeholders(some)})"
            for owner, block in self._db.rows(sql, some):
                self._read[owner] = self._unpacked(block)
        return (self._read[owner] for owner in owners if owner in self._read)

    def _unpacked(self, block: bytes) -> tuple[list[tuple[int, int]], dict[int, list[int]]]:
        sources, kinds, targets, *_ = columns_of(block)
        pairs = [(s, t) for s, kind, t in zip(sources, kinds, targets, strict=True) if kind in self._wanted]
        parts: dict[int, list[int]] = {}
        for s, kind, t in zip(sources, kinds, targets, strict=True):
            if kind == self._defines:
                parts.setdefault(s, []).append(t)
        return pairs, parts


DEPENDS: Final = ("calls", "references", "inherits", "implements", "imports", "depends_on")
"""Relations whose source depends on its target."""
ANY_DEPTH: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Reach:
    """What was reached."""

    levels: dict[str, int]
    """Id → how many links away, 1 and more; without those it was asked for."""
    parts: dict[str, int]
    """What counts with a reached class because the class defines it: Id → level of that class."""


def reach(
    db: Rows, starts: Collection[str], depth: int = ANY_DEPTH, *, relations: Collection[str] = DEPENDS,
    forward: bool = False, lookups: bool | None = None,
) -> Reach:  # fmt: skip
    """What depends on `starts` (`forward`: what they depend on), by at most `depth` links; each once.

    Who uses a part of a class depends on the class: with a class its parts are looked at too (`forward`: with a part
    its classes), at the same level. `lookups`: True for look-ups only, False for columns from the start; None decides
    by how many blocks are touched. Both give the same.
    """
    known = numbers(db, starts)
    first = set(known.values())
    by_lookups = not forward and lookups is not False
    edges = Blocks(db, relations, limited=lookups is None) if by_lookups else Columns(db, relations, forward)
    levels, parts = _spread(edges, first, depth)
    named = texts(db, levels.keys() | parts.keys())
    return Reach({named[n]: level for n, level in levels.items()}, {named[n]: level for n, level in parts.items()})


def _spread(edges: Blocks | Columns, first: set[int], depth: int) -> tuple[dict[int, int], dict[int, int]]:
    levels: dict[int, int] = {}
    parts: dict[int, int] = {}
    edges.exclude(first)
    front, level = first, 0
    while front and level < depth:
        level += 1
        found = edges.beyond(front)
        if found is None:  # too many blocks for look-ups
            edges = edges.columns()
            # without the parts: one that counted with its class may still be reached by a link of its own
            edges.exclude(first | levels.keys())
            found = edges.beyond(front) or set()
        levels.update(dict.fromkeys(found, level))
        # a part was in the front when its class was reached: what depends on it is known already
        front = found - parts.keys() if parts else found
        inside = edges.parts(found)
        if inside:
            inside = inside - levels.keys() - parts.keys() - first
            front = front | inside
            parts.update(dict.fromkeys(inside, level))
    return levels, parts


def nearest_first(levels: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """(Id, level) in the order of levels, then of Ids: the same every time."""
    return sorted(levels, key=lambda pair: (pair[1], pair[0]))
