"""Decorators that wrap a function and do no more, by the full names that imports give them.

A decorator may do anything with the function that it gets: register it, call it, make machine code
of its bytecode (as `numba.njit` does), store a digest of its source. These do nothing of that.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from kl_hooks.code.scanner.parser import nodes_inside, parse_tree

if TYPE_CHECKING:
    from kl_hooks.code.scanner.parser import Outline

_WITHOUT_ARGUMENTS: Final = frozenset(
    {
        "builtins.staticmethod",
        "builtins.classmethod",
        "builtins.property",
        "functools.cache",
        "functools.cached_property",
        "contextlib.contextmanager",
        "contextlib.asynccontextmanager",
        "abc.abstractmethod",
        "typing.overload",
        "typing.override",
        "typing.final",
        "typing.no_type_check",
        "typing_extensions.overload",
        "typing_extensions.override",
        "typing_extensions.final",
    }
)
"""Those of `QUIET_DECORATORS` that are never called before they decorate."""
QUIET_DECORATORS: Final = _WITHOUT_ARGUMENTS.union(
    {
        "functools.lru_cache",
        "functools.wraps",
        "dataclasses.dataclass",
        "attrs.define",
        "attrs.frozen",
        "attrs.mutable",
        "attr.s",
        "attr.attrs",
        "attr.define",
        "attr.frozen",
        "attr.mutable",
        "hypothesis.given",
        "hypothesis.settings",
        "hypothesis.example",
        "pytest.fixture",
        "pytest.mark.skip",
        "pytest.mark.skipif",
        "pytest.mark.xfail",
        "pytest.mark.usefixtures",
        "pytest.mark.filterwarnings",
    }
)
"""Decorators that leave nothing behind but what they decorate, by the name that imports give them.
"""
_OUTERMOST: Final = frozenset(
    {
        "builtins.staticmethod",
        "builtins.classmethod",
        "builtins.property",
        "functools.cached_property",
    }
)
"""What they return is no function: decorators that call it, or set an attribute of it, fail."""
_TAKE_ANYTHING: Final = frozenset(
    f"{module}.{name}"
    for module in ("typing", "typing_extensions")
    for name in ("overload", "override", "final")
)
"""They return what they get, and pass over what takes no attribute."""
_MARKS: Final = "pytest.mark."
"""pytest stores each mark at the function, whatever it is called (`pytest.MarkDecorator`)."""
_PATCHES: Final = tuple(
    f"{module}.patch{way}"
    for module in ("unittest.mock", "mock")
    for way in ("", ".object", ".dict")
)
_SKIPS: Final = tuple(
    f"unittest.{name}" for name in ("skip", "skipIf", "skipUnless", "expectedFailure")
)
_BY_A_CALL: Final = QUIET_DECORATORS.union(_PATCHES, _SKIPS)
_ACCESSORS: Final = ("setter", "getter", "deleter")


def is_executed_by_calls_alone(name: str) -> bool:
    """Whether a function with this decorator does what it does only where its code is executed: no
    other code is made of it, and none reads it.
    """
    return name in _BY_A_CALL or name.startswith(_MARKS)


def takes_arguments(name: str) -> bool:
    """Whether a quiet decorator may be called with arguments before it decorates."""
    return name not in _WITHOUT_ARGUMENTS


def may_be_above(name: str, inner: str) -> bool:
    """Whether a wrapper takes what another one returned: `functools.cache` calls it, and
    `abstractmethod` sets an attribute of it, which a property has not. `inner` is empty for
    `x.setter`.
    """
    return name in _TAKE_ANYTHING or bool(inner and inner not in _OUTERMOST)


def full_names(marks: Iterable[str], owner: str, outline: Outline) -> list[str]:
    """The full names of decorators; empty for one that doesn't resolve.

    `marks`: as written, `@app.route("/")`; `owner`: the class that the function is in, if any;
    `outline`: of the file, empty where it is not known.
    """
    return [
        _full_name(mark.removeprefix("@").partition("(")[0].strip(), owner, outline)
        for mark in marks
    ]


def _full_name(written: str, owner: str, outline: Outline) -> str:
    root, *attributes = written.split(".")
    if "names" not in outline:
        return ""
    if attributes in ([accessor] for accessor in _ACCESSORS):
        is_property = outline["defs"].get(f"{owner}.{root}") == "property"
        return "builtins.property" if is_property else ""
    if root in outline["names"]:
        module, *names = outline["names"][root].removeprefix("@").split(":")
        return ".".join([module, *names, *attributes])
    is_defined = root in outline["defs"] or f"{owner}.{root}" in outline["defs"]
    if is_defined or outline["stars"] or not hasattr(builtins, root):
        return ""
    return ".".join(["builtins", root, *attributes])


@lru_cache(maxsize=256)
def decorates_only(content: bytes, name: str) -> bool:
    """Whether a file uses a function of this name as a decorator, and for nothing else.

    False for a file that can't be read.
    """
    try:
        nodes = nodes_inside(parse_tree(content))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    imported = [alias for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names]
    names = {name, *(alias.asname or name for alias in imported if alias.name == name)}
    decorators = {
        id(_called(decorator))
        for node in nodes
        for decorator in getattr(node, "decorator_list", ())
    }
    named = [
        node
        for node in nodes
        if (isinstance(node, ast.Name) and node.id in names)
        or (isinstance(node, ast.Attribute) and node.attr in names)
    ]
    # `getattr(module, "note")`, `vars(module)["note"]`; a list of names calls nothing
    asked = [part for node in nodes for part in _asked_by_text(node)]
    is_asked = any(isinstance(part, ast.Constant) and part.value in names for part in asked)
    return not is_asked and all(id(node) in decorators for node in named)


def _asked_by_text(node: ast.AST) -> Sequence[ast.expr]:
    if isinstance(node, ast.Call):
        return node.args
    if isinstance(node, ast.Subscript):
        return [node.slice]
    return ()


def _called(decorator: ast.expr) -> ast.expr:
    if isinstance(decorator, ast.Call):
        return decorator.func
    return decorator
