"""Who looks at annotations while the program runs, so that they must keep their meaning there. Pure, from a tree."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Collection, Iterator
from typing import Final

from kl_hooks.code.rewriting.names import notes_of

LIBRARIES: Final = frozenset(
    ("aiogram", "apischema", "arguably", "beanie", "beartype", "blacksheep", "cappa", "cattr", "cattrs", "clize",
     "cyclopts", "dacite", "dagster", "dataclasses_json", "defopt", "dishka", "disnake", "discord", "esmerald",
     "fastapi", "fastmcp", "faststream", "flytekit", "injector", "jaxtyping", "jsonargparse", "kfp", "lagom",
     "langchain_core", "litestar", "magicgui", "marshmallow_dataclass", "mashumaro", "mcp", "mirascope", "msgspec",
     "multimethod", "nextcord", "ninja", "odmantic", "ovld", "pandera", "piccolo", "plac", "plum", "prefect", "punq",
     "pydantic", "pydantic_ai", "pydantic_settings", "pyserde", "runtype", "sanic_ext", "serde", "simple_parsing",
     "spock", "sqlalchemy", "sqlmodel", "starlite", "strawberry", "svcs", "taskiq", "that_depends", "tortoise",
     "trycast", "typeguard", "typer", "typic", "tyro", "wireup", "zenml")
)  # fmt: skip
"""Top-level names of libraries that evaluate annotations at run time, or may."""
WORDS: Final = frozenset(
    ("get_type_hints", "get_annotations", "__annotations__", "eval_str", "annotation", "return_annotation",
     "singledispatch", "singledispatchmethod", "resolve_types", "make_dataclass", "ForwardRef")
)  # fmt: skip
"""Names and attributes by which code looks at annotations itself."""
_HARMLESS: Final = frozenset({"click", "pytest", "hypothesis"})
_KEYS: Final = frozenset({"ClassVar", "InitVar", "KW_ONLY"})


def evaluator(tree: ast.Module) -> str:
    """Who in this file looks at annotations at run time, with its line; empty where nobody does."""
    for node in ast.walk(tree):
        for module in _imported(node):
            top = module.partition(".")[0]
            if top in LIBRARIES or (top in ("attr", "attrs") and _converts(tree)):
                return f"{top} reads annotations at run time (line {node.lineno})"  # type: ignore[attr-defined]
        word = _word(node) or _spelled(node)
        if word in WORDS:
            return f"{word} reads annotations at run time (line {getattr(node, 'lineno', 0)})"
    return ""


def reader_of(tree: ast.Module, trusted: Collection[str], adding_future: bool) -> str:
    """What else may read the annotations of this file: a decorator or base class that is not known not to.

    `trusted`: names that are imported from modules of the repository which keep away from such libraries.
    `adding_future`: whether all annotations of the file turn into text, not those of one name alone.
    """
    known = set(trusted) | set(dir(builtins)) | _own(tree)
    local = {id(part) for node in ast.walk(tree) if _is_function(node) for part in ast.walk(node) if part is not node}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for decorator in node.decorator_list:
                if _root(decorator) not in known:
                    return f"@{_said(decorator)} may read annotations at run time (line {decorator.lineno})"
        if isinstance(node, ast.ClassDef) and any(isinstance(part, ast.AnnAssign) for part in node.body):
            for base in [*node.bases, *(keyword.value for keyword in node.keywords)]:
                if _root(base) not in known and not isinstance(base, ast.Constant):
                    return f"the class {_said(base)} may read annotations at run time (line {node.lineno})"
                if adding_future and _said(base).rpartition(".")[2] == "TypedDict":
                    return f"a TypedDict reads its annotations at run time (line {node.lineno})"
            if adding_future and id(node) in local:
                return f"a class inside a function may need its annotations at run time (line {node.lineno})"
        if adding_future and any(_does(note) for note in notes_of(node)):
            return f"an annotation calls something (line {node.lineno})"  # type: ignore[attr-defined]
    return ""


def special(tree: ast.Module, name: str, original: str) -> bool:
    """True if the name stands for a word that dataclasses look for in annotations, such as `ClassVar`."""
    if original in _KEYS or name in _KEYS:
        return True
    return any(
        isinstance(part, ast.Attribute) and part.attr in _KEYS and _root(part) == name for part in ast.walk(tree)
    )


def _converts(tree: ast.Module) -> bool:
    return any(
        (isinstance(node, ast.keyword) and "convert" in (node.arg or "")) or "convert" in _word(node)
        for node in ast.walk(tree)
    )


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and not node.level:
        yield node.module or ""


def _spelled(node: ast.AST) -> str:
    """A word with underscores that a string is: nobody says one by accident."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) and "_" in node.value else ""


def _word(node: ast.AST) -> str:
    for key in ("id", "attr", "arg", "name"):
        word = getattr(node, key, None)
        if isinstance(word, str) and (key != "arg" or isinstance(node, ast.keyword)):
            return word
    return ""


def _own(tree: ast.Module) -> set[str]:
    """What the file itself defines, and what it has from Python's own library or from harmless ones."""
    found = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    for node in ast.walk(tree):
        for module in _imported(node):
            top = module.partition(".")[0]
            if top in sys.stdlib_module_names or top in _HARMLESS or top in ("attr", "attrs", "typing_extensions"):
                found.update(a.asname or a.name.partition(".")[0] for a in node.names)  # type: ignore[attr-defined]
    return found


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _said(node: ast.expr) -> str:
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return ast.unparse(node)


def _does(note: ast.expr) -> bool:
    return any(isinstance(part, ast.Call | ast.NamedExpr | ast.Await | ast.Yield) for part in ast.walk(note))
