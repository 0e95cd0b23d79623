"""Three answers: yes, no, and not assessed. "No" is said only where nothing was left unlooked at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kl_hooks.code.writing import last_name
from kl_hooks.graph import links

if TYPE_CHECKING:
    from kl_hooks.code.asking.opened import Graph
    from kl_hooks.model.symbol import Link, Symbol

YES: Final = "yes"
NO: Final = "no"
NOT_ASSESSED: Final = "not assessed"


@dataclass(frozen=True, slots=True)
class Answer:
    """How far an answer can be relied on."""

    found: bool
    unresolved: tuple[Link, ...] = ()
    """Uses of the same name that may or may not mean it."""
    not_assessed: tuple[str, ...] = ()
    """Files that could not be understood, by path."""
    doubts: tuple[str, ...] = ()
    """Other ways in which it may be used: one sentence each."""

    @property
    def verdict(self) -> str:
        """`yes`, `no` or `not assessed`."""
        if self.found:
            return YES
        return NOT_ASSESSED if self.unresolved or self.not_assessed or self.doubts else NO


def answer(graph: Graph, found: bool, names: Iterable[str], doubts: Sequence[str] = ()) -> Answer:
    """The answer about things with these names."""
    lost = tuple(problem.path for problem in graph.not_assessed)
    return Answer(found, tuple(unresolved(graph, names)), lost, tuple(doubts))


def unresolved(graph: Graph, names: Iterable[str]) -> list[Link]:
    """The uses of these names of which nobody can say what they mean, by place."""
    wanted = [f"name:{name}" for name in sorted(set(names))]
    found = links.of_many(graph.db, wanted, incoming=True)
    every = (link for some in found.values() for link in some)
    return sorted(every, key=lambda link: (link.path, link.line, link.source, link.relation))


def names_of(symbols: Iterable[Symbol]) -> set[str]:
    """The names by which symbols may be used."""
    return used_names(symbol.id for symbol in symbols)


def used_names(ids: Iterable[str]) -> set[str]:
    """The last parts of Ids; those that Python itself uses (`__len__`) say nothing."""
    found = {last_name(identifier) for identifier in ids}
    return {name for name in found if not (name.startswith("__") and name.endswith("__"))}
