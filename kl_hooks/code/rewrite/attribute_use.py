"""Names of modules that a file may use while it runs: attributes, and words in strings and keywords. Pure."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

from kl_hooks.code.rewrite.import_use import binds, docstring_of, words

Importing = ast.Import | ast.ImportFrom
Taken = dict[str, dict[str | None, int]]
"""Word → the module it may belong to (None: any) → the first line."""
_OWN = ("self", "cls")
"""What methods call their first argument: no module."""


def attribute_uses(tree: ast.Module, module: Callable[[Importing, ast.alias], str | None]) -> Taken:
    """Return the words by which a file may use something of a module, without plain names and docstrings.

    `module`: the dotted name of the module that an import binds a name to; None where that is not certain.
    """
    nodes = list(ast.walk(tree))
    bound, docs = _bound(nodes, module), {id(doc) for node in nodes if (doc := docstring_of(node))}
    found: Taken = defaultdict(dict)
    for node in nodes:
        if isinstance(node, ast.Attribute):
            line = node.end_lineno or node.lineno
            if isinstance(node.value, ast.Name):
                some = () if node.value.id in _OWN else bound.get(node.value.id, {None})
                for one in some:
                    _note(found[node.attr], one, line)
            else:
                _note(found[node.attr], None, line)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if not _imports_module(module(node, alias), node, alias):
                    _note(found[alias.name], node.module or "", node.lineno)
        elif not isinstance(node, ast.Constant) or id(node) not in docs or _has_doctest(node):
            for word in _words(node):
                _note(found[word], None, node.lineno)  # type: ignore[attr-defined]
    return found


def _imports_module(target: str | None, node: ast.ImportFrom, alias: ast.alias) -> bool:
    """True for `from package import module`: that imports the module itself, and takes nothing out of the package."""
    return target is not None and target != node.module and target.rpartition(".")[2] == alias.name


def _note(places: dict[str | None, int], module: str | None, line: int) -> None:
    places[module] = min(places.get(module, line), line)


def _bound(nodes: list[ast.AST], module: Callable[[Importing, ast.alias], str | None]) -> Mapping[str, set[str | None]]:
    """Name → the modules that imports bind to it; None for whatever else."""
    found: dict[str, set[str | None]] = defaultdict(set)
    for node in nodes:
        if isinstance(node, Importing):
            for alias in node.names:
                found[alias.asname or alias.name.partition(".")[0]].add(module(node, alias))
        else:
            for name in binds(node):
                found[name].add(None)
    return found


def _words(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            yield from words(node.value)
        elif isinstance(node.value, bytes):
            yield from words(node.value.decode("utf-8", "replace"))
    elif isinstance(node, ast.keyword):
        yield from [node.arg] if node.arg else []
    elif isinstance(node, ast.MatchClass):
        yield from node.kwd_attrs


def _has_doctest(node: ast.Constant) -> bool:
    return ">>>" in str(node.value)
