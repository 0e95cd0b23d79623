"""Functions that use an imported name, and functions that take such an object as an argument. Pure."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from kl_hooks.code.rewrite.import_use import binds
from kl_hooks.code.rewrite.source_text import lines_with, near, places
from kl_hooks.code.scanner.parser import encoding_of

_LONGEST: Final = 5_000
"""Bytes of a signature that are looked at; of a longer one nobody knows the end."""
_DEF: Final = re.compile(rb"\bdef\b")
_TOKEN: Final = re.compile(
    rb"""(?P<prefix>\b[A-Za-z]{1,2})?(?P<quote>'{3}|"{3}|'|")(?P<text>(?s:\\.|(?!(?P=quote)).)*)(?P=quote)"""
    rb"""|\#[^\r\n]*|[()\[\]{}]|(?P<odd>['"\x80-\xff])"""
)


def signatures(content: bytes) -> Iterator[tuple[int, int]]:
    """From the name to the closing bracket of every function: bytes before each end.

    To the end of the text, and no more come, where that is not certain: an f-string may hold anything, an escape in a
    string or a letter of another script may spell any name. A `def` in a string or comment counts too.
    """
    spent = 0
    for found in _DEF.finditer(content):
        start = found.end()
        # signatures overlap where one holds the word `def`: each is read on its own, all together up to this limit
        end = _end(content, start) if spent <= 4 * len(content) else len(content)
        spent += end - start
        yield start, end
        if end == len(content):
            return


def _end(content: bytes, start: int) -> int:
    depth, string_end = 0, -1
    for token in _TOKEN.finditer(content, start, start + _LONGEST):
        if token["quote"]:
            # neighboring strings are one string: `"Bas" "ket"` spells a name that neither piece has
            joined = string_end >= 0 and not content[string_end : token.start()].strip()
            if joined or b"\\" in token["text"] or {*b"fFtT"} & {*(token["prefix"] or b"")}:
                break
            string_end = token.end()
        elif token["odd"]:
            break
        elif not token[0].startswith(b"#"):
            depth += 1 if token[0] in b"([{" else -1
            if depth <= 0 and token[0] == b")":
                return token.end()
    return len(content)


_FREE: Final = ("__init__", "__new__", "__call__")


@dataclass(frozen=True, slots=True)
class Place:
    """A function or method of a file."""

    name: str
    line: int


def users(tree: ast.Module, content: bytes, line: int) -> tuple[list[str], list[Place]]:
    """The names imported by the statement on a line, and the functions that use them, in order.

    No functions where something outside of functions, or a method whose arguments Python decides about, uses them too:
    an argument would not do there.
    """
    imports = [n for n in near([tree], [line]) if isinstance(n, ast.Import | ast.ImportFrom) and n.lineno == line]
    if not imports:
        return [], []
    real = [alias.name.rpartition(".")[2] for node in imports for alias in node.names]
    lines = lines_with(content, {name for node in imports for name in binds(node)})
    every = near([tree], lines)
    uses = _uses(imports, every)
    found: dict[Place, None] = {}
    inside: set[int] = set()
    for node in tree.body:
        outer = [n for n in getattr(node, "body", ()) if _is_function(n)] if isinstance(node, ast.ClassDef) else [node]
        for function in outer:
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and _is_free(function.name):
                for part in near(function.body, lines):
                    if id(part) in uses:
                        found[Place(function.name, function.lineno)] = None
                        inside.add(id(part))
    notes = {id(p) for n in every if isinstance(n, ast.arg) and n.annotation for p in ast.walk(n.annotation)}
    return real, [] if uses - inside - notes else list(found)


def _uses(imports: Iterable[ast.Import | ast.ImportFrom], nodes: Iterable[ast.AST]) -> set[int]:
    """The ids of the Name nodes that mean what is imported: of `import a.b` those in `a.b`, not every `a`."""
    named = [(alias, isinstance(node, ast.Import)) for node in imports for alias in node.names]
    modules = {alias.name for alias, whole in named if whole and not alias.asname and "." in alias.name}
    plain = {alias.asname or alias.name for alias, _ in named if alias.asname or alias.name not in modules}
    found = set()
    for node in nodes:
        if isinstance(node, ast.Name) and node.id in plain:
            found.add(id(node))
        elif modules and isinstance(node, ast.Attribute) and ast.unparse(node) in modules:
            found.add(id(_root(node)))
    return found


def _root(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def may_accept(content: bytes, names: Collection[str]) -> bool:
    """False where the text alone shows that `takers` would find nothing, as in most files."""
    found = sorted(places(content, {*names, *_wanted(names)}))
    if encoding_of(content) != "utf-8":
        return True
    if not found and content.isascii():
        return False
    for start, end in signatures(content):
        if bisect_left(found, start) < bisect_left(found, end) or not content[start:end].isascii():
            return True  # letters of other scripts may spell the same names
    return False


def takers(tree: ast.Module, content: bytes, names: Collection[str]) -> list[Place]:
    """The functions with a parameter that is called like one of the names, or annotated with it; in order."""
    wanted = _wanted(names)
    # searched in the text of an annotation: the name may be in quotes, or within `list[X]`
    noted = re.compile(rf"\b(?:{'|'.join(re.escape(name) for name in sorted(names))})\b") if names else None
    found = []
    for node in near([tree], lines_with(content, {*names, *wanted})):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or not _is_free(node.name):
            continue
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        if any(
            one.arg in wanted or (noted and one.annotation and noted.search(ast.unparse(one.annotation)))
            for one in arguments
        ):
            found.append(Place(node.name, node.lineno))
    return sorted(found, key=lambda place: place.line)


def _is_free(name: str) -> bool:
    """False for `__getattr__`, `__eq__` and the like: Python calls them, with arguments of its own."""
    return name in _FREE or not (name.startswith("__") and name.endswith("__"))


def _wanted(names: Iterable[str]) -> set[str]:
    return {word for name in names for word in parameter_names(name)}


def parameter_names(name: str) -> list[str]:
    """Names of a parameter for such an object: `HttpPage` → http_page, page; `current_user` → …, user."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower().strip("_")
    last = snake.rpartition("_")[2]
    return [snake, last] if len(last) > 2 and last != snake else [snake]


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
