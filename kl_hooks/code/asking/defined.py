"""What one file defines, as a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kl_hooks.code.asking.address import file_of
from kl_hooks.code.asking.stored import in_file
from kl_hooks.model.symbol import split_id

if TYPE_CHECKING:
    from kl_hooks.code.asking.opened import Graph
    from kl_hooks.model.symbol import Symbol


def symbols(graph: Graph, text: str) -> tuple[str, list[tuple[int, Symbol]], str]:
    """The file that `text` means, what it defines, and why that is unknown (empty: it is known).

    (depth, symbol), the outer before the inner.
    """
    path = file_of(graph, text)
    problem = next((str(problem) for problem in graph.not_assessed if problem.path == path), "")
    found: list[tuple[int, Symbol]] = []
    names: list[str] = []
    for symbol in in_file(graph.db, path):
        name = split_id(symbol.id)[1]
        while names and not name.startswith(f"{names[-1]}."):
            names.pop()
        found.append((len(names), symbol))
        names.append(name)
    return path, found, problem
