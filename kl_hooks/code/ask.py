"""What the graph holds, counted. Questions to it stand in `code.asking`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kl_hooks.graph import links
from kl_hooks.store.database import Rows, placeholders

KINDS: Final = ("namespace", "type", "interface", "function", "method", "property", "field")
"""What a symbol can be: the part of its Id before the colon, and its kind in the index."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How much there is."""

    nodes: dict[str, int]
    """Kind of symbol → how many, by name."""
    links: dict[str, int]
    """Relation → how many, by name."""
    unresolved: int
    """Links of these that lead to a name only."""
    knowledge: dict[str, int]
    """Kind of what is no code (page, decision, …, violation) → how many, by name; `section`: the headings of pages."""


def counts(db: Rows, kinds: Sequence[str] = ()) -> Counts:
    """What a graph holds. `kinds`: of what is no code."""
    sql = "SELECT substr(id, 1, instr(id, ':') - 1), COUNT(*) FROM symbols GROUP BY 1"
    return Counts(dict(sorted(db.rows(sql))), links.counts(db), links.count_to(db, "name:"), _knowledge(db, kinds))


def _knowledge(db: Rows, kinds: Sequence[str]) -> dict[str, int]:
    if not kinds:
        return {}
    kind = "CASE WHEN kind = 'page' AND id LIKE '%#%' THEN 'section' ELSE kind END"
    sql = f"SELECT {kind}, COUNT(DISTINCT id) FROM documents WHERE kind IN ({placeholders(kinds)}) GROUP BY 1"
    return dict(sorted(db.rows(sql, tuple(kinds))))
