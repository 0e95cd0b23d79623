"""What depends on a thing, directly and through others; and the tests among it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kl_hooks.code.asking.address import addressed
from kl_hooks.code.asking.answers import Answer, answer, names_of
from kl_hooks.code.asking.stored import parts
from kl_hooks.graph import links
from kl_hooks.graph.closure import DEPENDS, Reach, first_of, reach
from kl_hooks.store import database

if TYPE_CHECKING:
    from kl_hooks.code.asking.opened import Graph
    from kl_hooks.model.symbol import Link, Symbol

DEPTH: Final = 3
DEEPEST: Final = 10


@dataclass(frozen=True, slots=True)
class Dependent:
    """Something that depends on what was asked for."""

    level: int
    link: Link
    """One of the links through which it does: the first by relation, target and line. Its source is the dependent."""


@dataclass(frozen=True, slots=True)
class Dependents:
    """The answer, nearest first."""

    symbol: Symbol
    found: tuple[Dependent, ...]
    """By level, then by Id; at most as many as were asked for."""
    total: int
    answer: Answer


def dependents(graph: Graph, text: str, depth: int = DEPTH, limit: int = 200) -> Dependents:
    """Everything that depends on what `text` means by at most `depth` links, each thing once, nearest first.

    Who uses a part of it (a method of a class, a function of a module) depends on it; its own parts are not listed.
    A class that is found counts with its parts; a module that is found does not: who uses another function of a
    module need not depend on what one of its functions uses.
    """
    symbol = addressed(graph, text)
    inside = parts(graph.db, symbol)
    starts = [symbol.id, *(one.id for one in inside)]
    reached = reach(graph.db, starts, depth)
    order = first_of(reached.levels.items())
    found = _with_links(graph, starts, reached, order[:limit])
    return Dependents(symbol, found, len(order), answer(graph, bool(order), names_of([symbol, *inside])))


def reaching_tests(graph: Graph, symbol: Symbol, depth: int = DEPTH) -> list[str]:
    """The Ids of the tests among the dependents, nearest first."""
    reached = reach(graph.db, [symbol.id, *(one.id for one in parts(graph.db, symbol))], depth)
    return [name for name, _ in first_of(reached.levels.items()) if name.startswith("test:")]


def outgoing(graph: Graph, ids: Iterable[str]) -> dict[str, list[Link]]:
    """Id → the links by which it depends on something."""
    found: dict[str, list[Link]] = {}
    for some in database.chunks(list(ids)):
        found |= links.of_many(graph.db, some, incoming=False)
    return {name: [link for link in some if link.relation in DEPENDS] for name, some in found.items()}


def _with_links(
    graph: Graph, starts: Sequence[str], reached: Reach, shown: Sequence[tuple[str, int]]
) -> tuple[Dependent, ...]:
    """Each with the link that leads one level back. What is reached may also be a part of a class of its level."""
    level_of = dict.fromkeys(starts, 0)
    said = outgoing(graph, [name for name, _ in shown])
    made = []
    for name, level in shown:
        before = [k for k in said[name] if _level(k.target, level_of, reached) == level - 1]
        made.append(Dependent(level, min(before, key=lambda k: (DEPENDS.index(k.relation), k.target, k.path, k.line))))
    return tuple(made)


def _level(name: str, starts: dict[str, int], reached: Reach) -> int:
    """When a thing was looked at: as itself, or with its class."""
    known = [where[name] for where in (starts, reached.levels, reached.parts) if name in where]
    return min(known, default=-1)
