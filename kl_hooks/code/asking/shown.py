"""What is known of one symbol, on a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kl_hooks.code.asking.address import addressed
from kl_hooks.code.asking.answers import Answer, answer, names_of
from kl_hooks.code.asking.classes import above, below, overridden, overriding
from kl_hooks.code.asking.dependents import reaching_tests
from kl_hooks.code.asking.inbound import USES
from kl_hooks.code.asking.written import METHODS, about, said_by
from kl_hooks.graph import links
from kl_hooks.model.symbol import split_id

if TYPE_CHECKING:
    from kl_hooks.code.asking.opened import Graph
    from kl_hooks.model.symbol import Link, Symbol


@dataclass(frozen=True, slots=True)
class Page:
    """A symbol and what hangs on it."""

    symbol: Symbol
    defined_by: str
    defines: tuple[str, ...]
    uses: tuple[Link, ...]
    """Outgoing: calls, references, bases, imports; by line."""
    unresolved: tuple[Link, ...]
    """Uses in it of which nobody can say what they mean: their targets are names."""
    used_by: tuple[Link, ...]
    """Incoming, by path and line."""
    bases: tuple[str, ...]
    subclasses: tuple[str, ...]
    overrides: tuple[str, ...]
    overridden_by: tuple[str, ...]
    tests: tuple[str, ...]
    """Tests that reach it by at most three links, nearest first."""
    answer: Answer
    """Whether it is used."""
    written: tuple[Link, ...] = ()
    """Links of records, pages and violations to it, to its file, and to the folders above."""
    says: tuple[Link, ...] = ()
    """Of a record or a page: what it links to."""


def show(graph: Graph, text: str) -> Page:
    """Everything the graph knows of what `text` means. Errors as `addressed`."""
    symbol, db = addressed(graph, text), graph.db
    into = [k for k in links.incoming(db, symbol.id) if k.relation in (*USES, "defines") and k.method not in METHODS]
    out = [k for k in links.outgoing(db, symbol.id) if k.method not in METHODS]
    owners = [k.source for k in into if k.relation == "defines"]
    used_by = sorted((k for k in into if k.relation != "defines"), key=_by_place)
    uses = sorted((k for k in out if k.relation in USES and not k.target.startswith("name:")), key=_by_place)
    is_class = split_id(symbol.id)[0] in ("type", "interface")
    return Page(
        symbol, owners[0] if owners else "",
        tuple(k.target for k in sorted(out, key=_by_place) if k.relation == "defines"),
        tuple(uses), tuple(k for k in sorted(out, key=_by_place) if k.target.startswith("name:")), tuple(used_by),
        tuple(above(db, [symbol.id])) if is_class else (), tuple(below(db, [symbol.id])) if is_class else (),
        tuple(one.id for one in overridden(db, symbol)), tuple(one.id for one in overriding(db, symbol)),
        tuple(reaching_tests(graph, symbol)), answer(graph, bool(used_by), names_of([symbol])),
        tuple(about(graph, symbol, whole=True)), tuple(said_by(graph, symbol)),
    )  # fmt: skip


def counted_relations(found: Sequence[Link]) -> dict[str, int]:
    """Relation → how many of these links, by name."""
    return dict(sorted(Counter(link.relation for link in found).items()))


def _by_place(link: Link) -> tuple[str, int, str, str]:
    return (link.path, link.line, link.relation, link.target)
