"""Symbols, links and answers of the code graph as JSON, as each operation of the graph prints
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kl_hooks.model.symbol import FILE_SIGN, split_id

if TYPE_CHECKING:
    from kl_hooks.code.query.dependents import DependencyPath
    from kl_hooks.code.query.lookup import Answer
    from kl_hooks.code.query.references import SymbolPage
    from kl_hooks.code.query.search import Found
    from kl_hooks.code.query.sites import Site
    from kl_hooks.model.symbol import Link, Symbol


_LISTED: Final = 100
"""Unresolved uses that are given of a chain."""


def symbol_to_dict(symbol: Symbol) -> dict[str, Any]:
    """A symbol as JSON, without what only `kl graph show` shows."""
    place = {"path": symbol.path, "line": symbol.line}
    return {
        "id": symbol.id,
        **id_to_dict(symbol.id),
        **place,
        "end_line": symbol.end_line,
        "signature": symbol.signature,
    }


def id_to_dict(identifier: str, kind: str = "") -> dict[str, Any]:
    """The parts of an Id: the name, the kind (`kind`, where the Id has no prefix), and the dotted
    name (of a test or file: the path) of what it is defined in; null for none.
    """
    prefix, whole = split_id(identifier)
    owner, _, name = whole.rpartition(_seam(prefix, whole))
    return {"name": name, "kind": kind or prefix, "owner": owner or None}


def _seam(prefix: str, whole: str) -> str:
    """What is between a name and what it is defined in."""
    if prefix == "test" and "::" in whole:
        return "::"
    # a dotted name has no slash: this module is named by its path
    if prefix == "file" or (prefix == "namespace" and "/" in whole):
        return "/"
    if FILE_SIGN in whole and "." not in whole.rpartition(FILE_SIGN)[2]:
        return FILE_SIGN
    return "."


def found_to_dict(one: Found) -> dict[str, Any]:
    """Something that was searched for, as JSON."""
    place = {"path": one.path, "line": one.line}
    return {
        "id": one.id,
        **id_to_dict(one.id, one.kind),
        **place,
        "signature": one.signature,
        "by": one.by,
        **({"mark": one.mark} if one.mark else {}),
    }


def link_to_dict(link: Link) -> dict[str, Any]:
    """A link as JSON."""
    ends = {"source": link.source, "relation": link.relation, "target": link.target}
    return {
        **ends,
        "path": link.path,
        "line": link.line,
        "method": link.method,
        "confidence": link.confidence,
    }


def site_to_dict(site: Site) -> dict[str, Any]:
    """A place that uses a name, as JSON."""
    return {
        "path": site.path,
        "line": site.line,
        "kind": site.kind,
        "certainty": site.certainty,
        "in": site.owner,
        "receiver": site.receiver,
        "types": list(site.types),
        "text": site.text,
    }


def answer_to_dict(answer: Answer) -> dict[str, Any]:
    """How far an answer can be relied on, as JSON."""
    sure = {"answer": answer.verdict, "unresolved": len(answer.unresolved)}
    return {**sure, "not_assessed": list(answer.not_assessed), "doubts": list(answer.doubts)}


def path_to_dict(way: DependencyPath) -> dict[str, Any]:
    """A chain of links as JSON."""
    ends = {
        "from": symbol_to_dict(way.start),
        "to": symbol_to_dict(way.end),
        "reversed": way.reversed,
    }
    steps = [link_to_dict(step) for step in way.steps]
    open_uses = [link_to_dict(link) for link in way.answer.unresolved[:_LISTED]]
    more = {
        "steps": steps,
        "length": way.length if way.answer.found else None,
        "unresolved_uses": open_uses,
    }
    return {**ends, **more, **answer_to_dict(way.answer)}


def page_to_dict(page: SymbolPage) -> dict[str, Any]:
    """The page of a symbol as JSON."""
    symbol = page.symbol
    about = {
        "decorators": list(symbol.decorators),
        "doc": symbol.doc,
        "content_hash": symbol.content_hash,
    }
    names = ("defines", "bases", "subclasses", "overrides", "overridden_by", "tests")
    lists: dict[str, Any] = {name: list(getattr(page, name)) for name in names}
    more = {
        "uses": page.uses,
        "uses_unresolved": page.unresolved,
        "used_by": page.used_by,
        "written": page.written,
        "links": page.links,
    }
    links = {key: [link_to_dict(link) for link in some] for key, some in more.items()}
    whole = {**symbol_to_dict(symbol), **about}
    return {
        "symbol": whole,
        "defined_by": page.defined_by,
        **lists,
        **links,
        **answer_to_dict(page.answer),
    }
