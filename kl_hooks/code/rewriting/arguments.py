"""Which functions use an imported thing, and which take such a thing as an argument already. Pure, from one file."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from dataclasses import dataclass

from kl_hooks.code.rewriting.names import binds


@dataclass(frozen=True, slots=True)
class Place:
    """A function or method of a file."""

    name: str
    line: int


def users(tree: ast.Module, line: int) -> tuple[list[str], list[Place]]:
    """The names imported by the statement on a line, and the functions that use them, in order.

    No functions where something outside of functions uses them too: an argument would not do there.
    """
    imports = [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom) and n.lineno == line]
    bound = {name for node in imports for name in binds(node)}
    real = [alias.name.rpartition(".")[2] for node in imports for alias in node.names]
    places: dict[Place, None] = {}
    inside: set[int] = set()
    for node in tree.body:
        outer = [n for n in getattr(node, "body", ()) if _is_function(n)] if isinstance(node, ast.ClassDef) else [node]
        for function in outer:
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for part in (part for child in function.body for part in ast.walk(child)):
                    if isinstance(part, ast.Name) and part.id in bound:
                        places[Place(function.name, function.lineno)] = None
                        inside.add(id(part))
    every = [part for part in ast.walk(tree) if isinstance(part, ast.Name) and part.id in bound]
    notes = {id(p) for n in ast.walk(tree) if isinstance(n, ast.arg) and n.annotation for p in ast.walk(n.annotation)}
    if any(id(part) not in inside | notes for part in every):
        return real, []
    return real, list(places)


def takers(tree: ast.Module, names: Collection[str]) -> list[Place]:
    """The functions with a parameter that is called like one of the names, or annotated with it; in order."""
    wanted = {word for name in names for word in parameter_names(name)}
    noted = re.compile(rf"\b(?:{'|'.join(re.escape(name) for name in sorted(names))})\b") if names else None
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        if any(
            one.arg in wanted or (noted and one.annotation and noted.search(ast.unparse(one.annotation)))
            for one in arguments
        ):
            found.append(Place(node.name, node.lineno))
    return sorted(found, key=lambda place: place.line)


def parameter_names(name: str) -> list[str]:
    """What a parameter for such a thing may be called: `HttpPage` → http_page, page; `current_user` → …, user."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower().strip("_")
    last = snake.rpartition("_")[2]
    return [snake, last] if len(last) > 2 and last != snake else [snake]


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
