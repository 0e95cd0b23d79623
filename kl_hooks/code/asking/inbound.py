"""Who uses a thing: references of every sort, and calls alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kl_hooks.code.asking.address import addressed
from kl_hooks.code.asking.answers import Answer, answer, names_of
from kl_hooks.code.asking.doubts import doubts_of_calls
from kl_hooks.code.asking.written import METHODS, about
from kl_hooks.graph import links
from kl_hooks.model.symbol import split_id

if TYPE_CHECKING:
    from kl_hooks.code.asking.opened import Graph
    from kl_hooks.model.symbol import Link, Symbol

USES: Final = ("calls", "references", "inherits", "implements", "imports")


@dataclass(frozen=True, slots=True)
class Inbound:
    """The links that lead to a symbol."""

    symbol: Symbol
    links: tuple[Link, ...]
    """By path and line."""
    answer: Answer


def refs(graph: Graph, text: str) -> Inbound:
    """Everything that uses what `text` means: calls, references, base classes, imports; and what was written about it.

    Errors as `addressed`.
    """
    symbol = addressed(graph, text)
    used = [link for link in _to(graph, [symbol.id], USES) if link.method not in METHODS]
    found = _ordered([*used, *about(graph, symbol)])
    return Inbound(symbol, found, answer(graph, bool(found), names_of([symbol])))


def callers(graph: Graph, text: str) -> Inbound:
    """What calls it. Calling a class calls its `__init__` too; reading a property calls it.

    Without any, other ways in which it may be called are said (see `asking.doubts`).
    """
    symbol = addressed(graph, text)
    prefix, name = split_id(symbol.id)
    asked, relations = [symbol.id], ["calls"]
    if prefix in ("type", "interface"):
        asked.append(f"method:{name}.__init__")
    if prefix == "property":
        relations.append("references")
    calls = _to(graph, asked, relations)
    direct = {(k.source, k.path, k.line) for k in calls if k.target == symbol.id}
    rest = [k for k in calls if k.target != symbol.id and (k.source, k.path, k.line) not in direct]
    found = _ordered([*[k for k in calls if k.target == symbol.id], *rest])
    doubts = [] if found else doubts_of_calls(graph, symbol)
    names = names_of([symbol]) or {name.rpartition(".")[0].rpartition(".")[2]}  # `__init__` by the name of its class
    return Inbound(symbol, found, answer(graph, bool(found), names, doubts))


def _to(graph: Graph, ids: Sequence[str], relations: Sequence[str]) -> list[Link]:
    found = links.of_many(graph.db, ids, incoming=True)
    return [link for some in found.values() for link in some if link.relation in relations]


def _ordered(found: Sequence[Link]) -> tuple[Link, ...]:
    return tuple(sorted(found, key=lambda link: (link.path, link.line, link.source, link.relation, link.target)))
