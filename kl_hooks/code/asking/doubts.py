"""How something that nobody calls by name may be called after all: one sentence for each way."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from kl_hooks.code.asking.classes import above, overridden
from kl_hooks.code.asking.stored import by_ids, parts
from kl_hooks.code.writing import last_name
from kl_hooks.graph import links
from kl_hooks.model.symbol import split_id

if TYPE_CHECKING:
    from kl_hooks.code.asking.opened import Graph
    from kl_hooks.model.symbol import Link, Symbol

_CALLABLE: Final = ("function", "method", "type", "interface")
_HARMLESS: Final = frozenset({
    "staticmethod", "classmethod", "property", "cached_property", "cache", "lru_cache", "wraps", "contextmanager",
    "abstractmethod", "override", "overload", "final", "dataclass", "total_ordering", "setter", "getter", "deleter",
    "singledispatch", "singledispatchmethod", "asynccontextmanager", "deprecated", "runtime_checkable", "unique",
})  # fmt: skip
"""Decorators that call nothing on their own; any other may keep what it decorates and call it."""
_PLAIN_BASES: Final = frozenset({"object", "Protocol", "Generic", "ABC", "NamedTuple", "TypedDict"})


def doubts_of_calls(graph: Graph, symbol: Symbol) -> list[str]:
    """For something that no link calls."""
    prefix = split_id(symbol.id)[0]
    said = [*_handed_on(graph, symbol)] if prefix in _CALLABLE else []
    said += _decorated(symbol)
    if prefix == "namespace":
        said.append(f"it is a module, which nothing calls (kl graph dependents {symbol.id} lists what uses it)")
    if prefix in ("type", "interface"):
        said += _by_itself(graph, symbol)
    if prefix in ("method", "property"):
        said += [*_by_python(symbol), *_overriding(graph, symbol), *_from_outside(graph, symbol)]
    return said


def _handed_on(graph: Graph, symbol: Symbol) -> list[str]:
    number = len(links.incoming(graph.db, symbol.id, "references"))
    where = "a place" if number == 1 else f"{number} places"
    return [f"it is used without being called in {where} (kl graph refs {symbol.id})"] if number else []


def _decorated(symbol: Symbol) -> list[str]:
    names = [mark for mark in symbol.decorators if mark[1:].partition("(")[0].rpartition(".")[2] not in _HARMLESS]
    return [f"{names[0]} may call it"] if names else []


def _by_itself(graph: Graph, symbol: Symbol) -> list[str]:
    """`cls()` in a class method makes one, and no link says so."""
    makers = [one.id for one in parts(graph.db, symbol) if "@classmethod" in one.decorators]
    return [f"{makers[0]} may make one by cls()"] if makers else []


def _by_python(symbol: Symbol) -> list[str]:
    name = last_name(symbol.id)
    special = name.startswith("__") and name.endswith("__") and name not in ("__init__", "__new__")
    return ["Python itself calls it where its class is used, which is not seen"] if special else []


def _overriding(graph: Graph, symbol: Symbol) -> list[str]:
    said = []
    for one in overridden(graph.db, symbol):
        number = len(_calls(graph, one.id))
        if number:
            calls = "a call" if number == 1 else f"{number} calls"
            said.append(f"{calls} of {one.id}, which it overrides, may reach it (kl graph callers {one.id})")
    return said


def _from_outside(graph: Graph, symbol: Symbol) -> list[str]:
    """A base that is not of this repository may call what it expects to be overridden."""
    owner = split_id(symbol.id)[1].rpartition(".")[0]
    classes = [f"type:{owner}", f"interface:{owner}"]
    for one in by_ids(graph.db, [*classes, *above(graph.db, classes)]).values():
        known = {
            last_name(k.target) for k in links.outgoing(graph.db, one.id) if k.relation in ("inherits", "implements")
        }
        for base in _bases(one.signature):
            if base.partition("[")[0].rpartition(".")[2] not in known | _PLAIN_BASES:
                return [f"{base}, which {one.id} inherits from, is not of this repository and may call it"]
    return []


def _bases(signature: str) -> list[str]:
    """The bases in a class's signature; none where it was cut."""
    try:
        (node,) = ast.parse(f"{signature}: pass").body
    except (SyntaxError, ValueError):
        return []
    return [ast.unparse(base) for base in node.bases] if isinstance(node, ast.ClassDef) else []


def _calls(graph: Graph, identifier: str) -> list[Link]:
    return links.incoming(graph.db, identifier, "calls")
