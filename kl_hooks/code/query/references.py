"""Who uses a symbol: references of every sort, calls alone; and all that the graph holds of one
symbol, on a page.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.code.query.dependents import DEPTH
from kl_hooks.code.query.lookup import (
    MEMBERS,
    NOTE_METHODS,
    Answer,
    answer,
    class_closure,
    class_ids,
    names_of,
    nested_symbols,
    resolve_text,
    symbols_by_id,
    with_position,
)
from kl_hooks.graph import links
from kl_hooks.graph.links import nearest_first, reach
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.symbol import NodeId, NodeText, last_name, split_id

if TYPE_CHECKING:
    from kl_hooks.code.query.session import Graph
    from kl_hooks.model.symbol import Link, Symbol
    from kl_hooks.store.database import Rows


_CALLABLE: Final = ("function", "method", "type", "interface")
_HARMLESS: Final = frozenset(
    {
        "staticmethod",
        "classmethod",
        "property",
        "cached_property",
        "cache",
        "lru_cache",
        "wraps",
        "contextmanager",
        "abstractmethod",
        "override",
        "overload",
        "final",
        "dataclass",
        "total_ordering",
        "setter",
        "getter",
        "deleter",
        "singledispatch",
        "singledispatchmethod",
        "asynccontextmanager",
        "deprecated",
        "runtime_checkable",
        "unique",
    }
)
"""Decorators that call nothing on their own; any other may keep what it decorates and call it."""
_HARMLESS_ATTRIBUTES: Final = frozenset(
    {"allow", "automatically_derived", "cfg", "cfg_attr", "cold", "deny", "deprecated", "derive"}
    | {"doc", "expect", "forbid", "ignore", "inline", "macro_export", "macro_use", "must_use"}
    | {"non_exhaustive", "path", "repr", "should_panic", "target_feature", "track_caller", "warn"}
)
"""The same of Rust: attributes of the compiler."""
_TRAIT: Final = "impl "
"""Before the trait that a method of Rust is of, among its decorators."""
_PLAIN_BASES: Final = frozenset({"object", "Protocol", "Generic", "ABC", "NamedTuple", "TypedDict"})


def _call_doubts(graph: Graph, symbol: Symbol) -> list[str]:
    """For something that no link calls."""
    prefix = split_id(symbol.id)[0]
    if prefix in _CALLABLE:
        doubts = [*_handed_on(graph, symbol)]
    else:
        doubts = []
    doubts += _decorated(symbol)
    if prefix == "namespace":
        doubts.append(
            f"it is a module, which nothing calls (kl graph dependents {symbol.id} lists what"
            " uses it)"
        )
    if prefix in ("type", "interface"):
        doubts += _by_itself(graph, symbol)
    if prefix in ("method", "property"):
        doubts += [*_by_python(symbol), *_overriding(graph, symbol), *_from_outside(graph, symbol)]
    return doubts


def _handed_on(graph: Graph, symbol: Symbol) -> list[str]:
    number = len(links.incoming(graph.db, symbol.id, "references"))
    where = "a place" if number == 1 else f"{number} places"
    if not number:
        return []
    return [f"it is used without being called in {where} (kl graph refs {symbol.id})"]


def _decorated(symbol: Symbol) -> list[str]:
    traits = [mark.removeprefix(_TRAIT) for mark in symbol.decorators if mark.startswith(_TRAIT)]
    names = [
        mark for mark in symbol.decorators if not mark.startswith(_TRAIT) and not _is_harmless(mark)
    ]
    doubts = [f"it is of the trait {trait}: a call by the trait may reach it" for trait in traits]
    if names:
        doubts.append(f"{names[0]} may call it")
    return doubts


def _is_harmless(mark: str) -> bool:
    if mark.startswith("#["):
        return mark[2:].partition("]")[0].partition("(")[0].strip() in _HARMLESS_ATTRIBUTES
    return mark[1:].partition("(")[0].rpartition(".")[2] in _HARMLESS


def _by_itself(graph: Graph, symbol: Symbol) -> list[str]:
    """`cls()` in a class method makes one, and there is no link for it."""
    makers = [
        one.id for one in nested_symbols(graph.db, symbol) if "@classmethod" in one.decorators
    ]
    if not makers:
        return []
    return [f"{makers[0]} may make one by cls()"]


def _by_python(symbol: Symbol) -> list[str]:
    name = last_name(symbol.id)
    special = name.startswith("__") and name.endswith("__") and name not in ("__init__", "__new__")
    if not special:
        return []
    return ["Python itself calls it where its class is used, which is not seen"]


def _overriding(graph: Graph, symbol: Symbol) -> list[NodeText]:
    texts = []
    for overridden in _same_name(graph.db, symbol, up=True):
        number = len(links.incoming(graph.db, overridden.id, "calls"))
        if number:
            if number == 1:
                calls = "a call"
            else:
                calls = f"{number} calls"
            text = f"{calls} of {overridden.id}, which it overrides, may reach it"
            texts.append(NodeText(f"{text} (kl graph callers {overridden.id})", overridden.id))
    return texts


def _from_outside(graph: Graph, symbol: Symbol) -> list[NodeText]:
    """A base that is not of this repository may call what it expects to be overridden."""
    owner = split_id(symbol.id)[1].rpartition(".")[0]
    # the Id of a method does not show which of the two its class is
    classes = class_ids(owner)
    for related in symbols_by_id(
        graph.db, [*classes, *class_closure(graph.db, classes, incoming=False)]
    ).values():
        internal_bases = {
            last_name(k.target)
            for k in links.outgoing(graph.db, related.id)
            if k.relation in ("inherits", "implements")
        }
        # links lead to bases of the repository only: the others are in the signature and nowhere
        # else
        for base in _bases(related.signature):
            if base.partition("[")[0].rpartition(".")[2] not in internal_bases | _PLAIN_BASES:
                text = f"{base}, which {related.id} inherits from, is not of this repository"
                return [NodeText(f"{text} and may call it", related.id)]
    return []


def _bases(signature: str) -> list[str]:
    """The bases in a class's signature; none where it was cut."""
    try:
        # a signature is source up to the colon: with a body Python's own parser reads it
        (node,) = ast.parse(f"{signature}: pass").body
    except (SyntaxError, ValueError):
        return []
    if not isinstance(node, ast.ClassDef):
        return []
    return [ast.unparse(base) for base in node.bases]


USES: Final = ("calls", "references", "inherits", "implements", "imports")


class References(NamedTuple):
    """The links that lead to a symbol."""

    symbol: Symbol
    links: tuple[Link, ...]
    """By path and line."""
    answer: Answer


def references(graph: Graph, text: str) -> References:
    """Everything that uses what `text` means: calls, references, base classes, imports; and what
    was written about it.

    Errors as `resolve_text`.
    """
    symbol = resolve_text(graph, text)
    used = [link for link in _to(graph, [symbol.id], USES) if link.method not in NOTE_METHODS]
    uses = _by_position([*used, *_notes_about(graph, symbol)])
    return References(symbol, uses, answer(graph, symbol, bool(uses), names_of([symbol.id])))


def callers(graph: Graph, text: str) -> References:
    """What calls it. Calling a class calls its `__init__` too; reading a property calls it.

    Without any, other ways in which it may be called are given (see `asking.doubts`).
    """
    symbol = resolve_text(graph, text)
    prefix, name = split_id(symbol.id)
    asked = [symbol.id]
    relations = ["calls"]
    if prefix in ("type", "interface"):
        asked.append(f"method:{name}.__init__")
    if prefix == "property":
        relations.append("references")
    calls = _to(graph, asked, relations)
    # `C()` has a link to the class and one to its `__init__`, and is one call: listed once
    direct = {(k.source, k.path, k.line) for k in calls if k.target == symbol.id}
    other_calls = [
        k for k in calls if k.target != symbol.id and (k.source, k.path, k.line) not in direct
    ]
    calls_by_position = _by_position([*[k for k in calls if k.target == symbol.id], *other_calls])
    if calls_by_position:
        doubts = []
    else:
        doubts = _call_doubts(graph, symbol)
    names = names_of([symbol.id]) or {
        name.rpartition(".")[0].rpartition(".")[2]
    }  # `__init__` by the name of its class
    return References(
        symbol, calls_by_position, answer(graph, symbol, bool(calls_by_position), names, doubts)
    )


def _to(graph: Graph, ids: Sequence[str], relations: Sequence[str]) -> list[Link]:
    links_by_target = links.of_many(graph.db, ids, incoming=True)
    return [
        link
        for target_links in links_by_target.values()
        for link in target_links
        if link.relation in relations
    ]


def _by_position(unordered: Sequence[Link]) -> tuple[Link, ...]:
    return tuple(
        sorted(
            unordered,
            key=lambda link: (link.path, link.line, link.source, link.relation, link.target),
        )
    )


class SymbolPage(NamedTuple):
    """A symbol and what hangs on it."""

    symbol: Symbol
    defined_by: str
    defines: tuple[NodeId, ...]
    uses: tuple[Link, ...]
    """Outgoing: calls, references, bases, imports; by line."""
    unresolved: tuple[Link, ...]
    """Unresolved uses in it: their targets are names."""
    used_by: tuple[Link, ...]
    """Incoming, by path and line."""
    bases: tuple[NodeId, ...]
    subclasses: tuple[NodeId, ...]
    overrides: tuple[NodeId, ...]
    overridden_by: tuple[NodeId, ...]
    tests: tuple[NodeId, ...]
    """Tests that reach it by at most three links, nearest first."""
    answer: Answer
    """Whether it is used."""
    written: tuple[Link, ...] = ()
    """Links of records, pages and violations to it, to its file, and to the folders above."""
    links: tuple[Link, ...] = ()
    """Of a record or a page: what it links to."""


def symbol_page(graph: Graph, text: str) -> SymbolPage:
    """Everything the graph knows of what `text` means. Errors as `resolve_text`."""
    symbol = resolve_text(graph, text)
    db = graph.db
    into = [
        k
        for k in links.incoming(db, symbol.id)
        if k.relation in (*USES, "defines") and k.method not in NOTE_METHODS
    ]
    out = [k for k in links.outgoing(db, symbol.id) if k.method not in NOTE_METHODS]
    owners = [k.source for k in into if k.relation == "defines"]
    used_by = sorted((k for k in into if k.relation != "defines"), key=_by_place)
    uses = sorted(
        (k for k in out if k.relation in USES and not k.target.startswith("name:")), key=_by_place
    )
    is_class = split_id(symbol.id)[0] in ("type", "interface")
    return SymbolPage(
        symbol,
        owners[0] if owners else "",
        tuple(NodeId(k.target) for k in sorted(out, key=_by_place) if k.relation == "defines"),
        tuple(uses),
        tuple(k for k in sorted(out, key=_by_place) if k.target.startswith("name:")),
        tuple(used_by),
        tuple(map(NodeId, class_closure(db, [symbol.id], incoming=False))) if is_class else (),
        tuple(map(NodeId, class_closure(db, [symbol.id], incoming=True))) if is_class else (),
        tuple(NodeId(one.id) for one in _same_name(db, symbol, up=True)),
        tuple(NodeId(one.id) for one in _same_name(db, symbol, up=False)),
        tuple(map(NodeId, reaching_tests(graph, symbol))),
        answer(graph, symbol, bool(used_by), names_of([symbol.id])),
        tuple(_notes_about(graph, symbol, whole=True)),
        tuple(_notes_from(graph, symbol)),
    )


def reaching_tests(graph: Graph, symbol: Symbol, depth: int = DEPTH) -> list[str]:
    """The Ids of the tests among the dependents, nearest first."""
    reached = reach(
        graph.db, [symbol.id, *(one.id for one in nested_symbols(graph.db, symbol))], depth
    )
    return [name for name, _ in nearest_first(reached.levels.items()) if name.startswith("test:")]


def _by_place(link: Link) -> tuple[str, int, str, str]:
    return (link.path, link.line, link.relation, link.target)


def _same_name(db: Rows, symbol: Symbol, *, up: bool) -> list[Symbol]:
    """The members that a method, property or field overrides (`up`), or that override it."""
    prefix, name = split_id(symbol.id)
    owner, _, last = name.rpartition(".")
    if prefix not in MEMBERS:
        return []
    classes = class_closure(db, class_ids(owner), incoming=not up)
    ids = [f"{kind}:{split_id(one)[1]}.{last}" for one in classes for kind in MEMBERS]
    there = symbols_by_id(db, ids)
    return [there[one] for one in ids if one in there]


def _notes_about(graph: Graph, symbol: Symbol, *, whole: bool = False) -> list[Link]:
    """The links of records, pages and violations to a symbol; of a module or file to its file and
    the folders above it.

    `whole`: for what is defined in a file too, as a decision that governs the file governs it.
    """
    asked = [symbol.id]
    if whole or split_id(symbol.id)[0] in ("namespace", "file"):
        parts = symbol.path.split("/")
        asked += [f"file:{'/'.join(parts[:count])}" for count in range(len(parts), 0, -1)]
    links_by_target = links.of_many(graph.db, list(dict.fromkeys(asked)), incoming=True)
    links_ = [
        link
        for one in dict.fromkeys(asked)
        for link in links_by_target.get(one, ())
        if link.method in NOTE_METHODS
    ]
    return [with_position(graph, link) for link in links_]


def _notes_from(graph: Graph, symbol: Symbol) -> list[Link]:
    """The links from a record or a page."""
    return [
        with_position(graph, link)
        for link in links.outgoing(graph.db, symbol.id)
        if link.method in NOTE_METHODS
    ]
