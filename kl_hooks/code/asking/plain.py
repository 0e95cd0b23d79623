"""Symbols, links and answers of the code graph as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kl_hooks.code.asking.answers import Answer
    from kl_hooks.model.symbol import Link, Symbol


def plain_symbol(symbol: Symbol) -> dict[str, Any]:
    """A symbol as JSON, without what only `kl graph show` tells."""
    place = {"path": symbol.path, "line": symbol.line}
    return {"id": symbol.id, **place, "end_line": symbol.end_line, "signature": symbol.signature}


def plain_link(link: Link) -> dict[str, Any]:
    """A link as JSON."""
    ends = {"source": link.source, "relation": link.relation, "target": link.target}
    return {**ends, "path": link.path, "line": link.line, "method": link.method, "confidence": link.confidence}


def plain_answer(answer: Answer) -> dict[str, Any]:
    """How far an answer can be relied on, as JSON."""
    sure = {"answer": answer.verdict, "unresolved": len(answer.unresolved)}
    return {**sure, "not_assessed": list(answer.not_assessed), "doubts": list(answer.doubts)}
