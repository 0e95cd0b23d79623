"""What lies one link further, by columns: all links at once, each step a few passes in C."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable
from itertools import compress
from operator import itemgetter
from sys import byteorder
from typing import Any, Final

from kl_hooks.graph.names import numbers
from kl_hooks.graph.packing import COLUMNS
from kl_hooks.store.database import Rows

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

    def leave_out(self, nodes: Iterable[int]) -> None:
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
        self.leave_out(found)
        if len(found) * 20 > self._size:  # worth a pass over all of them
            kept = _each(self._from, bytes(self._new))
            self._from, self._to = list(compress(self._from, kept)), list(compress(self._to, kept))
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
        sql = "SELECT id FROM link_names WHERE text >= ? AND text < ?"
        return {row[0] for prefix in CLASSES for row in db.rows(sql, (prefix, prefix[:-1] + ";"))}


def _column(blocks: list[bytes], place: int) -> array[int]:
    """One column of all blocks, one after the other."""
    sizes = [(block, len(block) // COLUMNS) for block in blocks]
    joined = array("I", b"".join(block[place * size : (place + 1) * size] for block, size in sizes))
    if byteorder == "big":
        joined.byteswap()
    return joined


def _each(column: Collection[int], marks: bytes) -> Any:
    """The mark of each number of a column; `itemgetter` is the fastest loop there is for it."""
    if len(column) < 2:
        return [marks[number] for number in column]
    return itemgetter(*column)(marks)
