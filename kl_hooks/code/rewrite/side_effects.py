"""Whether importing a module does anything but define: only such an import can be removed unnoticed. Pure."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from kl_hooks.code.rewrite.import_use import notes_of

_MAKERS: Final = frozenset(
    ("compile", "frozenset", "set", "dict", "list", "tuple", "object", "str", "int", "float", "bool", "bytes", "range",
     "TypeVar", "ParamSpec", "TypeVarTuple", "NewType", "NamedTuple", "namedtuple", "TypedDict", "Enum", "getLogger",
     "Path", "PurePath", "PurePosixPath", "Decimal", "Fraction", "timedelta", "date", "datetime", "field", "auto",
     "sorted", "len", "min", "max", "sum", "cast", "attrgetter", "itemgetter", "methodcaller", "partial",
     "MappingProxyType", "ContextVar", "Lock", "RLock", "defaultdict", "OrderedDict", "Counter", "deque", "zip",
     "enumerate", "join", "split", "strip", "format", "lower", "upper", "encode", "decode", "removeprefix")
)  # fmt: skip
"""Calls that make a value and touch nothing else, by the last part of their name."""
_DECORATORS: Final = frozenset(
    ("property", "staticmethod", "classmethod", "dataclass", "abstractmethod", "overload", "override", "final",
     "unique", "runtime_checkable", "contextmanager", "asynccontextmanager", "cached_property", "lru_cache", "cache",
     "wraps", "total_ordering", "setter", "getter", "deleter", "no_type_check", "deprecated", "define",
     "frozen", "mutable")
)  # fmt: skip
_CHECKING: Final = ("TYPE_CHECKING", "typing.TYPE_CHECKING")
_Found = Iterator[tuple[int, str]]
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def first_side_effect(tree: ast.Module, trusted: Collection[str] = ()) -> tuple[int, str]:
    """Line and description of the first statement of this file that does more than define; `(0, "")` for none.

    `trusted`: names imported from modules of the repository: those files are asked for themselves.
    """
    known = {*dir(builtins), *trusted, *_own(tree)}
    return next(_of_body(tree.body, known), (0, ""))


def _of_body(body: Sequence[ast.stmt], known: Collection[str]) -> _Found:
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Pass | ast.Global):
            continue
        if isinstance(node, ast.If | ast.Try):
            yield from _of_block(node, known)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            defaults = [*node.args.defaults, *(value for value in node.args.kw_defaults if value is not None)]
            yield from _of_values(node, [*defaults, *(note for part in ast.walk(node.args) for note in notes_of(part))])
            yield from _decorators(node)
        elif isinstance(node, ast.ClassDef):
            yield from _of_class(node, known)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            yield from _of_assignment(node)
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)) and not _is_alias(node):
            yield node.lineno, _brief(node)


def _of_block(node: ast.If | ast.Try, known: Collection[str]) -> _Found:
    if isinstance(node, ast.If):
        if ast.unparse(node.test) not in _CHECKING:
            yield from _of_values(node, [node.test])
            yield from _of_body(node.body, known)
        yield from _of_body(node.orelse, known)
        return
    for part in (node.body, *(handler.body for handler in node.handlers), node.orelse, node.finalbody):
        yield from _of_body(part, known)


def _of_class(node: ast.ClassDef, known: Collection[str]) -> _Found:
    for base in node.bases:
        # an unknown base may have a metaclass or an `__init_subclass__`, which run when the class is defined
        if _root(base) not in known:
            yield node.lineno, f"class {node.name}({_brief(base)})"
    for keyword in node.keywords:
        if keyword.arg not in ("total", "frozen") and ast.unparse(keyword.value).rpartition(".")[2] != "ABCMeta":
            yield node.lineno, f"class {node.name}({keyword.arg}=…)"
    yield from _decorators(node)
    for part in node.body:
        # hooks of PEP 487: they run when another class is defined
        if isinstance(part, ast.FunctionDef) and part.name in ("__init_subclass__", "__set_name__"):
            yield part.lineno, f"{node.name}.{part.name}"
    yield from _of_body(node.body, known)


def _of_assignment(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> _Found:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    flat = [e for t in targets for e in (t.elts if isinstance(t, ast.Tuple | ast.List) else [t])]
    if not all(isinstance(target, ast.Name) for target in flat):
        yield node.lineno, _brief(node)
    yield from _of_values(node, [*([node.value] if node.value else []), *notes_of(node)])


def _of_values(node: ast.stmt, values: Sequence[ast.expr]) -> _Found:
    """Names and literals do nothing; a call only where it is known to make a value and no more."""
    for value in values:
        stack: list[ast.AST] = [value]
        while stack:
            part = stack.pop()
            # its body runs when it is called
            if isinstance(part, ast.Lambda):
                continue
            if isinstance(part, ast.Await | ast.Yield | ast.YieldFrom) or (
                isinstance(part, ast.Call) and _last(part.func) not in _MAKERS
            ):
                yield node.lineno, _brief(node)
            stack.extend(ast.iter_child_nodes(part))


def _decorators(node: _Definition) -> _Found:
    for decorator in node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if _last(called) not in _DECORATORS:
            yield decorator.lineno, f"@{_brief(decorator)}"


def _own(tree: ast.Module) -> set[str]:
    """The classes of the file, and what it imports from Python's own library."""
    found = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    for node in ast.walk(tree):
        names = node.names if isinstance(node, ast.Import | ast.ImportFrom) else []
        for alias in names:
            module = alias.name if isinstance(node, ast.Import) else ("" if node.level else node.module or "")  # type: ignore[attr-defined]
            if module.partition(".")[0] in {*sys.stdlib_module_names, "typing_extensions"}:
                found.add(alias.asname or alias.name.partition(".")[0])
    return found


def _is_alias(node: ast.stmt) -> bool:
    return node.__class__.__name__ == "TypeAlias"  # Python 3.12


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Subscript):
        return _last(node.value)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _brief(node: ast.AST) -> str:
    text = ast.unparse(node).partition("\n")[0]
    return text if len(text) <= 60 else text[:57] + "..."
