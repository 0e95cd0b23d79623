"""What lies one link further, by look-ups: only the blocks that hold a name asked for are read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from kl_hooks.graph.columns import CLASSES, Columns
from kl_hooks.graph.names import numbers, texts
from kl_hooks.graph.packing import columns_of
from kl_hooks.store.database import Rows, chunks, placeholders

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

    def leave_out(self, nodes: Iterable[int]) -> None:
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
