"""Who reads and writes an attribute, a module variable, a constant.

An attribute need not be declared: `self.closing = None` in a method makes one, which has no symbol
of its own in the graph. It is asked for by its class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kl_hooks.code.linker import CLASSES
from kl_hooks.code.query.lookup import MEMBERS, Unknown, class_closure, class_ids, resolve_text
from kl_hooks.code.query.occurrences import CHANGES, READS, WRITES, UseKind
from kl_hooks.code.query.sites import Certainty, Site, Target, sites, target_of
from kl_hooks.errors import NotFound
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.symbol import FILE_SIGN, split_id

if TYPE_CHECKING:
    from kl_hooks.code.query.session import Graph
    from kl_hooks.model.symbol import Symbol

_ALL: Final = READS | CHANGES | WRITES
_NO_STATE: Final = (
    "is no attribute, variable, function or class that code reads or writes by its name."
)
_OTHER_LANGUAGE: Final = "not assessed: reads and writes are known of Python code alone."


class NoState(NotFound):
    """What was asked for is not bound by a name: a module, a file, a record."""

    def __init__(self, text: str, symbol: Symbol) -> None:
        if FILE_SIGN in symbol.id:
            reason = _OTHER_LANGUAGE
        else:
            reason = _NO_STATE
        super().__init__(reason, place=text, hint="List what uses it with: kl graph refs")
        self.symbol = symbol


class StateUses(NamedTuple):
    """The uses of an attribute or variable; each list by path and line, source before tests."""

    symbol: Symbol
    """Itself, or the class of an attribute that is declared nowhere."""
    name: str
    """`_Slot.closing`, or the name of a variable."""
    writes: tuple[Site, ...]
    """Where it is bound: assigned, declared, deleted, passed to the constructor by name."""
    changes: tuple[Site, ...]
    """Where what it holds is changed in place."""
    reads: tuple[Site, ...]
    possible: tuple[Site, ...]
    """Uses of any kind that may mean it, the likeliest first."""
    elsewhere: tuple[Site, ...]
    """Uses of the name with another meaning, as far as is known."""


def state_uses(graph: Graph, text: str) -> StateUses:
    """Who reads and writes what `text` means. Errors as `resolve_text`, and NoState for what code
    does not bind by a name: "nothing reads it" would be no answer for a module.
    """
    try:
        symbol = resolve_text(graph, text)
    except Unknown as problem:
        return _of_undeclared(graph, text, problem)
    target = target_of(graph, symbol)
    if target is None:
        raise NoState(text, symbol)
    if target.owner:
        name = f"{target.owner.rpartition('.')[2]}.{target.name}"
    else:
        name = target.name
    return _sorted(symbol, name, sites(graph, _with_family(graph, target), _ALL))


def _of_undeclared(graph: Graph, text: str, unknown: Unknown) -> StateUses:
    """The uses of an attribute that only methods assign."""
    owner, _, attribute = text.rpartition(".")
    if not owner or not attribute.isidentifier():
        raise unknown
    symbol = resolve_text(graph, owner)
    prefix, dotted = split_id(symbol.id)
    if prefix not in CLASSES:
        raise unknown
    target = Target(attribute, frozenset(), (symbol.path,), dotted)
    every_site = sites(graph, _with_family(graph, target), _ALL)
    if not any(site.certainty == Certainty.RESOLVED for site in every_site):
        raise unknown
    return _sorted(symbol, f"{dotted.rpartition('.')[2]}.{attribute}", every_site)


def _with_family(graph: Graph, target: Target) -> Target:
    """The target with the attributes of that name that subclasses declare: an instance has one."""
    if not target.owner:
        return target
    subclasses = class_closure(graph.db, class_ids(target.owner), incoming=True)
    names = [target.owner, *(split_id(identifier)[1] for identifier in subclasses)]
    ids = {f"{prefix}:{name}.{target.name}" for prefix in MEMBERS for name in names}
    return target._replace(ids=target.ids | ids)


def _sorted(symbol: Symbol, name: str, every_site: list[Site]) -> StateUses:
    resolved = [site for site in every_site if site.certainty == Certainty.RESOLVED]
    others = [site for site in every_site if site.certainty != Certainty.RESOLVED]
    return StateUses(
        symbol,
        name,
        tuple(site for site in resolved if site.kind in WRITES),
        tuple(site for site in resolved if site.kind in CHANGES),
        tuple(site for site in resolved if site.kind in READS - WRITES),
        tuple(site for site in others if site.certainty != Certainty.ELSEWHERE),
        # the argument of a function that has the name is no use of it
        tuple(
            site
            for site in others
            if site.certainty == Certainty.ELSEWHERE and site.kind != UseKind.KEYWORD
        ),
    )
