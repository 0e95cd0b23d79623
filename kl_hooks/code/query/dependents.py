"""What depends on a symbol, directly and through others, and the shortest chain from one symbol to
another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.code.query.lookup import (
    Answer,
    Unknown,
    answer,
    names_of,
    nested_symbols,
    paths_not_assessed,
    resolve_text,
    symbols_of_id,
    with_position,
)
from kl_hooks.graph import links
from kl_hooks.graph.links import DEPENDS, Reach, nearest_first, reach
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.symbol import Link, Symbol, split_id
from kl_hooks.store import database

if TYPE_CHECKING:
    from kl_hooks.code.query.session import Graph


DEPTH: Final = 3


class Dependent(NamedTuple):
    """Something that depends on what was asked for."""

    level: int
    link: Link
    """One of the links through which it does: the first by relation, target and line. Its source is
    the dependent.
    """


class Dependents(NamedTuple):
    """The answer, nearest first."""

    symbol: Symbol
    found: tuple[Dependent, ...]
    """By level, then by Id; at most as many as were asked for."""
    total: int
    answer: Answer


def dependents(graph: Graph, text: str, depth: int = DEPTH, limit: int = 200) -> Dependents:
    """Everything that depends on what `text` means by at most `depth` links, each once, nearest
    first.

    Who uses a part of it (a method of a class, a function of a module) depends on it; its own parts
    are not listed. A class that is found counts with its parts; a module that is found does not:
    who uses another function of a module need not depend on what one of its functions uses.
    """
    symbol = resolve_text(graph, text)
    inside = nested_symbols(graph.db, symbol)
    starts = [symbol.id, *(one.id for one in inside)]
    reached = reach(graph.db, starts, depth)
    order = nearest_first(reached.levels.items())
    shown = _with_links(graph, starts, reached, order[:limit])
    return Dependents(
        symbol, shown, len(order), answer(graph, symbol, bool(order), names_of(starts))
    )


def outgoing(graph: Graph, ids: Iterable[str]) -> dict[str, list[Link]]:
    """Id → the links by which it depends on something."""
    links_by_source: dict[str, list[Link]] = {}
    for batch in database.chunks(list(ids)):
        links_by_source |= links.of_many(graph.db, batch, incoming=False)
    return {
        name: [link for link in source_links if link.relation in DEPENDS]
        for name, source_links in links_by_source.items()
    }


def _with_links(
    graph: Graph, starts: Sequence[str], reached: Reach, shown: Sequence[tuple[str, int]]
) -> tuple[Dependent, ...]:
    """Each with the link that leads one level back. What is reached may also be a part of a class
    of its level.
    """
    level_of = dict.fromkeys(starts, 0)
    out = outgoing(graph, [name for name, _ in shown])
    with_links = []
    for name, level in shown:
        before = [k for k in out[name] if _level(k.target, level_of, reached) == level - 1]
        with_links.append(
            Dependent(
                level,
                min(before, key=lambda k: (DEPENDS.index(k.relation), k.target, k.path, k.line)),
            )
        )
    return tuple(with_links)


def _level(name: str, starts: dict[str, int], reached: Reach) -> int:
    """The level at which it was reached: as itself, or with its class."""
    levels = [where[name] for where in (starts, reached.levels, reached.parts) if name in where]
    return min(levels, default=-1)


PART_OF: Final = "is part of"
_HOLDS: Final = "holds"
_FARTHEST: Final = 10
_MOST: Final = 100_000
"""Nodes that are visited for a chain across kinds."""


class DependencyPath(NamedTuple):
    """How `start` depends on `end`."""

    start: Symbol
    end: Symbol
    steps: tuple[Link, ...]
    """One after the other. `holds` and `is part of` lead into a class or module and out of it; they
    have no line.
    """
    length: int
    """Links on the way, without those two."""
    answer: Answer
    reversed: bool = False
    """True where nothing leads from FROM to TO, and this is the way from TO to FROM: records and
    pages name code, code never names them.
    """


_MoreLinks = Callable[[Sequence[str]], Mapping[str, Sequence[Link]]]
"""Nodes → links from them that the graph does not store."""


def dependency_path(
    graph: Graph, from_text: str, to_text: str, unstored_links: _MoreLinks | None = None
) -> DependencyPath:
    """The shortest way, the same every time; without one, whether there may be one that nobody can
    see.

    `unstored_links`: links of what is no code, such as what documents mention.
    """
    start = _resolved(graph, from_text, unstored_links)
    end = _resolved(graph, to_text, unstored_links)
    mine = {start.id, *(one.id for one in nested_symbols(graph.db, start))}
    theirs = {end.id, *(one.id for one in nested_symbols(graph.db, end))}
    lost = paths_not_assessed(graph, end)
    if mine & theirs:
        inner, outer = (start, end) if start.id in theirs else (end, start)
        if inner.id == outer.id:
            step = []
        else:
            step = [_free(start, PART_OF if inner is start else _HOLDS, end.id)]
        return DependencyPath(start, end, tuple(step), 0, Answer(True, (), lost))
    if not (_is_code(graph, start) and _is_code(graph, end)):
        return _across(graph, start, end, unstored_links)
    reached = reach(graph.db, theirs, lookups=False)
    # of equally near ones the start itself comes before its parts
    near = [
        (level, name != start.id, name) for name, level in reached.levels.items() if name in mine
    ]
    if not near:
        return DependencyPath(
            start, end, (), 0, Answer(False, tuple(_unseen(graph, mine, theirs, reached)), lost)
        )
    length, _, first = min(near)
    if first != start.id:
        steps = [_free(start, _HOLDS, first)]
    else:
        steps = []
    steps += _walk(graph, first, length, [end.id, *sorted(theirs)], reached)
    if steps[-1].target != end.id:
        steps.append(Link(steps[-1].target, PART_OF, end.id, end.path))
    return DependencyPath(start, end, tuple(steps), length, Answer(True, (), lost))


def _resolved(graph: Graph, text: str, unstored_links: _MoreLinks | None) -> Symbol:
    """As `resolve_text`, also a file that is neither code nor a page but mentions something, such
    as a README.
    """
    try:
        return resolve_text(graph, text)
    except Unknown:
        path = text.strip().removeprefix("file:").removeprefix("./")
        if unstored_links is None or not unstored_links([f"file:{path}"]):
            raise
        return Symbol(f"file:{path}", path, 1, 1, "", "", "")


def _is_code(graph: Graph, symbol: Symbol) -> bool:
    return bool(symbols_of_id(graph.db, symbol.id))


def _across(
    graph: Graph, start: Symbol, end: Symbol, unstored_links: _MoreLinks | None
) -> DependencyPath:
    """The shortest way that crosses kinds: page → decision → file → symbol; one way, else the
    other.
    """
    lost = graph.paths_not_assessed
    for first, last, turned in ((start, end, False), (end, start, True)):
        steps = _spread(graph, _nodes(first), _nodes(last), unstored_links)
        if steps is not None:
            length = sum(step.relation not in (_HOLDS, PART_OF) for step in steps)
            return DependencyPath(first, last, tuple(steps), length, Answer(True, (), lost), turned)
    return DependencyPath(start, end, (), 0, Answer(False, (), lost))


def _nodes(symbol: Symbol) -> list[str]:
    """The nodes of a symbol: of a module its file too, which is what records and pages name."""
    if symbol.id.startswith("namespace:"):
        return [symbol.id, f"file:{symbol.path}"]
    return [symbol.id]


def _spread(
    graph: Graph, starts: list[str], ends: list[str], unstored_links: _MoreLinks | None
) -> list[Link] | None:
    """Breadth-first, forward over links of every relation; None where they do not lead there."""
    reached_by: dict[str, Link | None] = dict.fromkeys(starts)
    front = starts
    for _ in range(_FARTHEST):
        if not reached_by.keys().isdisjoint(ends) or not front or len(reached_by) > _MOST:
            break
        out = links.of_many(graph.db, front, incoming=False)
        if unstored_links is not None:
            unstored = unstored_links(front)
        else:
            unstored = {}
        fresh: list[str] = []
        for node in front:
            for link in (*_inside(graph, node), *out.get(node, ()), *unstored.get(node, ())):
                # by way of an unresolved name (`name:get`) everything would be near everything
                if link.target not in reached_by and not link.target.startswith("name:"):
                    reached_by[link.target] = link
                    fresh.append(link.target)
        front = fresh
    end = next((one for one in ends if one in reached_by), None)
    if end is None:
        return None
    steps: list[Link] = []
    while (link := reached_by[steps[-1].source if steps else end]) is not None:
        steps.append(with_position(graph, link))
    return steps[::-1]


def _inside(graph: Graph, node: str) -> list[Link]:
    """Steps without a link: from a section to its page, from a folder to the source files in it."""
    prefix, name = split_id(node)
    if prefix != "file":
        return []
    page, mark, _ = name.partition("#")
    if mark:
        return [Link(node, PART_OF, f"file:{page}")]
    below = f"{name.rstrip('/')}/"
    # a range for the index on path: `0` is the character after `/`
    rows = graph.db.rows(
        "SELECT path FROM files WHERE path >= ? AND path < ? ORDER BY path",
        (below, f"{below[:-1]}0"),
    )
    return [Link(node, _HOLDS, f"file:{path}") for (path,) in rows]


def _walk(graph: Graph, name: str, level: int, ends: list[str], reached: Reach) -> list[Link]:
    """From something `level` links away, always to what is one link nearer, by way of its class
    where need be.
    """
    steps: list[Link] = []
    while level:
        level -= 1
        out = outgoing(graph, [name])[name]
        if not level:
            return [
                *steps,
                min((k for k in out if k.target in ends), key=lambda k: ends.index(k.target)),
            ]
        whole = [k for k in out if reached.levels.get(k.target) == level]
        part = [k for k in out if reached.parts.get(k.target) == level]
        steps.append((whole or part)[0])
        name = steps[-1].target
        if not whole:
            owner = _class_of(name, level, reached)
            steps.append(Link(name, PART_OF, owner))
            name = owner
    return steps


def _class_of(name: str, level: int, reached: Reach) -> str:
    owner = split_id(name)[1]
    while owner:
        owner = owner.rpartition(".")[0]
        for prefix in ("type", "interface"):
            if reached.levels.get(f"{prefix}:{owner}") == level:
                return f"{prefix}:{owner}"
    return name


def _unseen(graph: Graph, mine: set[str], theirs: set[str], reached: Reach) -> list[Link]:
    """Uses that nobody can resolve, in what the start depends on, of names that would lead to the
    end.
    """
    ends = theirs | reached.levels.keys() | reached.parts.keys()
    possible = reach(graph.db, mine, forward=True)
    here = mine | possible.levels.keys() | possible.parts.keys()
    unresolved_links = links.between(graph.db, here, {f"name:{name}" for name in names_of(ends)})
    return sorted(
        unresolved_links, key=lambda link: (link.path, link.line, link.source, link.target)
    )


def _free(start: Symbol, relation: str, target: str) -> Link:
    return Link(start.id, relation, target, start.path, start.line)
