"""Everything that hangs on a thing, by any number of links: breadth-first over numbers, texts only at the end.

A small closure looks at the blocks that hold its names, level by level; a large one reads all blocks once and looks
at whole columns, which costs a few passes in C instead of a look-up for each link.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from kl_hooks.graph.columns import Columns
from kl_hooks.graph.lookups import Blocks
from kl_hooks.graph.names import numbers, texts
from kl_hooks.store.database import Rows

DEPENDS: Final = ("calls", "references", "inherits", "implements", "imports", "depends_on")
"""Relations whose source depends on its target."""
ANY_DEPTH: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Reach:
    """What was reached from some things."""

    levels: dict[str, int]
    """Id → how many links away, 1 and more; without the things it was asked for."""
    parts: dict[str, int]
    """What counts with a reached class because the class defines it: Id → level of that class."""


def reach(
    db: Rows, starts: Collection[str], depth: int = ANY_DEPTH, *, relations: Collection[str] = DEPENDS,
    forward: bool = False, lookups: bool | None = None,
) -> Reach:  # fmt: skip
    """What depends on `starts` (`forward`: what they depend on), by at most `depth` links; each thing once.

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
    edges.leave_out(first)
    front, level = first, 0
    while front and level < depth:
        level += 1
        found = edges.beyond(front)
        if found is None:  # too many blocks for look-ups
            edges = edges.columns()
            edges.leave_out(first | levels.keys())
            found = edges.beyond(front) or set()
        levels.update(dict.fromkeys(found, level))
        front = found - parts.keys() if parts else found
        inside = edges.parts(found)
        if inside:
            inside = inside - levels.keys() - parts.keys() - first
            front = front | inside
            parts.update(dict.fromkeys(inside, level))
    return levels, parts


def first_of(levels: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """(Id, level) in the order of levels, then of Ids: the same every time."""
    return sorted(levels, key=lambda pair: (pair[1], pair[0]))
