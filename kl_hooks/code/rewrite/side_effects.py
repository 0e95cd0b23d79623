"""Whether importing a module does anything but define: only such an import can be removed unnoticed. Pure."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Collection, Iterable
from typing import Final

from kl_hooks.code.rewrite.import_use import names_from, notes_of, root_of

_HARMLESS: Final = frozenset(
    ("compile", "frozenset", "set", "dict", "list", "tuple", "object", "str", "int", "float", "bool", "bytes", "range",
     "TypeVar", "ParamSpec", "TypeVarTuple", "NewType", "NamedTuple", "namedtuple", "TypedDict", "Enum", "getLogger",
     "Path", "PurePath", "PurePosixPath", "Decimal", "Fraction", "timedelta", "date", "datetime", "field", "auto",
     "sorted", "len", "min", "max", "sum", "cast", "attrgetter", "itemgetter", "methodcaller", "partial",
     "MappingProxyType", "ContextVar", "Lock", "RLock", "defaultdict", "OrderedDict", "Counter", "deque", "zip",
     "enumerate", "join", "split", "strip", "format", "lower", "upper", "encode", "decode", "removeprefix",
     # decorators
     "property", "staticmethod", "classmethod", "dataclass", "abstractmethod", "overload", "override", "final",
     "unique", "runtime_checkable", "contextmanager", "asynccontextmanager", "cached_property", "lru_cache", "cache",
     "wraps", "total_ordering", "setter", "getter", "deleter", "no_type_check", "deprecated", "define",
     "frozen", "mutable")
)  # fmt: skip
"""Functions that make a value and touch nothing else, by the last part of their name."""
_CHECKING: Final = ("TYPE_CHECKING", "typing.TYPE_CHECKING")
_STDLIB: Final = frozenset({*sys.stdlib_module_names, "typing_extensions"})
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Defining = (
    _Function | ast.ClassDef | ast.Assign | ast.AnnAssign | ast.AugAssign | ast.If | ast.Try | ast.Import
    | ast.ImportFrom | ast.Pass | ast.Global
)  # fmt: skip
"""Statements that do no more than their parts."""


def first_side_effect(tree: ast.Module, trusted: Collection[str] = ()) -> tuple[int, str]:
    """Line and description of the first statement of this file that does more than define; `(0, "")` for none.

    `trusted`: names imported from modules of the repository: those files are asked for themselves.
    """
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    known = {*dir(builtins), *trusted, *own, *names_from(tree, _STDLIB)}
    todo: list[ast.AST] = [*tree.body]
    for node in todo:  # grows while it is walked
        what = _effect(node, known)
        if what:
            return getattr(node, "lineno", 0), what
        todo += _parts(node)
    return 0, ""


def _parts(node: ast.AST) -> Iterable[ast.AST]:
    """The parts of this node that run when the module is imported."""
    if isinstance(node, _Function):
        notes = (note for part in (node, *ast.walk(node.args)) for note in notes_of(part))
        return [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults), *notes]
    if isinstance(node, ast.If) and ast.unparse(node.test) in _CHECKING:
        return node.orelse
    return () if isinstance(node, ast.Lambda) else ast.iter_child_nodes(node)


def _effect(node: ast.AST, known: Collection[str]) -> str:
    """What this very node does, apart from its parts, besides defining; empty for nothing."""
    if isinstance(node, ast.ClassDef):
        # an unknown base may have a metaclass or an `__init_subclass__`, which run when the class is defined
        for base in node.bases:
            if root_of(base) not in known or any(isinstance(part, ast.Call) for part in ast.walk(base)):
                return f"class {node.name}({_brief(base)})"
        for keyword in node.keywords:
            if keyword.arg not in ("total", "frozen") and ast.unparse(keyword.value).rpartition(".")[2] != "ABCMeta":
                return f"class {node.name}({keyword.arg}=…)"
    # hooks of PEP 487: they run when another class is defined
    hook = isinstance(node, _Function) and node.name in ("__init_subclass__", "__set_name__")
    for decorator in node.decorator_list if isinstance(node, _Function | ast.ClassDef) else ():
        if _last(decorator.func if isinstance(decorator, ast.Call) else decorator) not in _HARMLESS:
            return f"@{_brief(decorator)}"
    calls = isinstance(node, ast.Call) and _last(node.func) not in _HARMLESS
    changes = isinstance(node, ast.Attribute | ast.Subscript | ast.Starred) and not isinstance(node.ctx, ast.Load)
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    # TypeAlias: Python 3.12
    other = isinstance(node, ast.stmt) and not isinstance(node, _Defining) and node.__class__.__name__ != "TypeAlias"
    waits = isinstance(node, ast.Await | ast.Yield | ast.YieldFrom)
    return _brief(node) if hook or calls or changes or waits or (other and not text) else ""


def _last(node: ast.expr) -> str:
    node = node.value if isinstance(node, ast.Subscript) else node
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _brief(node: ast.AST) -> str:
    text = ast.unparse(node).partition("\n")[0]
    return text if len(text) <= 60 else text[:57] + "..."
