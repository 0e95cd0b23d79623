"""What importing a Python file executes besides the bodies of its module and classes: headers.

The header of a function or class is its decorators, the defaults of its arguments, its annotations,
its bases and keywords (The Python Language Reference, 8.7, 8.8). A header that differs is a changed
import. A *new* definition is quiet where evaluating its header can't fail and leaves nothing
behind: every name in it is a builtin or bound before it, and its decorators and bases are known to
register nothing. Names are resolved through the imports of the file; what doesn't resolve is not
quiet.

Pure: one file's bytes in, facts out. Nothing is imported or executed; the file is compiled.
"""

from __future__ import annotations

import ast
import builtins
import collections.abc
import enum
import inspect
import types
import typing
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from itertools import pairwise
from typing import Any, Final, Self

from kl_hooks.code.assignments import is_immutable
from kl_hooks.code.decorators import QUIET_DECORATORS, may_be_above, takes_arguments
from kl_hooks.code.scanner.parser import parse_tree
from kl_hooks.model.definitions import EMPTY, NamedTuple

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef
_BUILTINS: Final = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__", "__spec__"}
_DOCUMENTED: Final = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_DISPLAYS: Final = (
    *(ast.Dict, ast.List, ast.Set, ast.Tuple),
    *(ast.DictComp, ast.ListComp, ast.SetComp),
)
"""Expressions that make a new object which nothing else has."""
_BLOCKS: Final = (ast.stmt, ast.ExceptHandler, ast.match_case)
_CONSTRUCTORS: Final = frozenset({"__init__", "__post_init__", "__set_name__"})
"""Methods that store in the object that they are called with, which is new."""
_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)

_TYPING: Final = frozenset(
    f"{module}.{name}"
    for module, names in (
        ("typing", typing.__all__),
        ("typing_extensions", typing.__all__),
        ("collections.abc", collections.abc.__all__),
        ("types", types.__all__),
    )
    for name in names
)
"""What these modules of the standard library do define (`__all__`)."""
_MODULES_OF_TYPES: Final = frozenset(
    {
        *("builtins", "collections", "collections.abc", "datetime", "decimal", "enum"),
        *("fractions", "pathlib", "re", "types", "typing", "uuid"),
    }
)
"""Modules of the standard library whose classes are usual in annotations."""
DATACLASSES: Final = frozenset(
    {
        name
        for name in QUIET_DECORATORS
        if name.partition(".")[0] in ("attr", "attrs") or name == "dataclasses.dataclass"
    }
)
_QUIET_CALLS: Final = frozenset(
    {
        "dataclasses.field",
        "attrs.field",
        "attrs.Factory",
        "attr.ib",
        "attr.attrib",
        "attr.field",
        "attr.Factory",
        "pytest.param",
        "builtins.frozenset",
        "builtins.object",
        "enum.auto",
    }
)
"""Calls that make a value and nothing else."""
_QUIET_BASES: Final = frozenset(
    {
        "typing.Protocol",
        "typing.NamedTuple",
        "typing.TypedDict",
        "typing.Generic",
        "typing_extensions.Protocol",
        "typing_extensions.TypedDict",
        "abc.ABC",
        "enum.Enum",
        "enum.IntEnum",
        "enum.StrEnum",
        "enum.Flag",
        "enum.IntFlag",
        "unittest.TestCase",
    }
)
"""Classes whose subclasses register nowhere but in `__subclasses__()`."""
_ENUMS: Final = frozenset(name for name in dir(enum) if name.endswith(("Enum", "Flag")))
_GENERIC: Final = frozenset(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and hasattr(value, "__class_getitem__")
)


class Header(NamedTuple):
    """The header of a definition, or of all definitions of one name."""

    text: str
    """Equal where importing the file evaluates the same."""
    loud: str = ""
    """Why evaluating it may fail or leave something behind; empty: it is quiet."""
    registers: bool = False
    """Whether it may leave something behind: a registry may have the definition."""
    decorators: tuple[str, ...] = ()
    """Full names; empty for one that doesn't resolve."""
    bases: tuple[str, ...] = ()
    """Full names of bases and of the values of keywords, such as a metaclass."""
    documented: bool = False
    """Whether a decorator or base that may read the docstring has it."""
    customizes: bool = False
    """Whether it is a class that executes code of its own where a subclass is defined."""
    shape: str = ""
    """Of a function: equal where nothing but the values of plain defaults differs."""


class ImportTime(NamedTuple):
    """What importing a file executes, as far as its module body doesn't show it."""

    headers: Mapping[str, Header] = EMPTY
    """`C.m` → its header, of definitions that an import executes: not those inside functions."""
    order: tuple[str, ...] = ()
    """What the import binds and executes, in its order: names of definitions, statements."""
    effects: tuple[str, ...] = ()
    """Statements of the module that may change something outside of it: `os.environ["A"] = "1"`."""
    reaches: tuple[str, ...] = ()
    """Of each of these the full names of what it calls, changes and hands over, with spaces:
    `os.environ.update`; empty where one does not resolve.
    """
    storing: tuple[str, ...] = ()
    """`C.m`, `f.inner`: the functions that may change something that outlives their call."""
    docs: Mapping[str, str] = EMPTY
    """`C.m` → its docstring as written, of definitions anywhere; empty for the module."""
    refused: str = ""
    """Why the compiler refuses the file: `line:column: reason`."""
    warned: tuple[str, ...] = ()
    """What the compiler warns of, once for each place: where warnings are errors, it refuses."""
    imports: tuple[str, ...] = ()
    """What importing the file imports, by full names: `pkg.a`, `.b.name`, which may be a module or
    a name in one.
    """
    later_imports: tuple[str, ...] = ()
    """The same of the imports inside its functions."""
    class_cells: tuple[str, ...] = ()
    """`C.D`: the classes of which a method names `super` or `__class__`, once for each definition.
    Their bodies have the name `__classcell__` for whatever makes the class (data model, 3.3.3.6).
    """

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        headers = {name: header._asdict() for name, header in self.headers.items()}
        return {**self._asdict(), "headers": headers}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """The way back. KeyError and TypeError for what `plain` did not make."""
        headers = {name: Header(**_as_tuples(row)) for name, row in plain["headers"].items()}
        return cls(**{**_as_tuples(plain), "headers": headers})


def _as_tuples(plain: Mapping[str, Any]) -> dict[str, Any]:
    """JSON has lists for tuples."""
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in plain.items()
    }


def import_time(content: bytes) -> ImportTime:
    """Read what importing a file of this content executes. Never raises for bad source."""
    try:
        tree = parse_tree(content)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            # what the parser takes and the compiler refuses: `return` outside of a function
            code = compile(content, "<kl>", "exec", dont_inherit=True)
    except SyntaxError as problem:
        return ImportTime(refused=f"{problem.lineno or 0}:{problem.offset or 0}: {problem.msg}")
    except (ValueError, RecursionError, MemoryError) as problem:
        return ImportTime(refused=f"0:0: {problem}")
    try:
        import_facts = _Module(tree).read()
    except RecursionError:
        return ImportTime(refused="0:0: nested too deeply")
    return import_facts._replace(
        warned=tuple(sorted(str(warning.message) for warning in caught)),
        class_cells=tuple(sorted(_class_cells(code))),
    )


class _Module:
    """The walk over what importing a module executes, in its order."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._imported: dict[str, str] = {}
        """Name → what it is imported from: `functools.lru_cache`."""
        self._defined: dict[str, Definition] = {}
        self._postponed = any(
            isinstance(node, ast.ImportFrom)
            and node.module == "__future__"
            and any(alias.name == "annotations" for alias in node.names)
            for node in tree.body
        )
        self._headers: dict[str, list[Header]] = {}
        self._order: list[str] = []
        self._quiet_classes: set[str] = set()
        self._imports: set[str] = set()
        self._stores = _stored_names(tree)

    def read(self) -> ImportTime:
        self._statements(self._tree.body, "", set(_BUILTINS), set())
        headers = {name: _joined(headers) for name, headers in self._headers.items()}
        statements = list(_statements_with_effects(self._tree))
        return ImportTime(
            headers,
            tuple(self._order),
            tuple(map(ast.dump, statements)),
            tuple(map(self._reached, statements)),
            tuple(_storing_functions(self._tree)),
            _docstrings(self._tree),
            imports=tuple(sorted(self._imports)),
            later_imports=tuple(sorted(_all_imports(self._tree) - self._imports)),
        )

    def _reached(self, statement: ast.stmt) -> str:
        """The full names of what a statement calls or changes, and of what it hands to a call."""
        match statement:
            case ast.Expr(value=value):
                expressions = [value]
            case ast.Assign(targets=targets) | ast.Delete(targets=targets):
                expressions = targets
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                expressions = [target]
            case _:
                return ""
        names = [self._full_name(_root_chain(expression)) for expression in expressions]
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            chains = map(_root_chain, statement.value.args)
            names += filter(None, map(self._full_name, chains))
        return " ".join(names) if all(names) else ""

    def _statements(
        self, statements: Iterable[ast.stmt], prefix: str, bound: set[str], local: set[str]
    ) -> None:
        """Walk statements of the module or of a class. `bound`: the names that a header may use,
        which grows; `local`: those among them that the class around has.
        """
        for statement in statements:
            if isinstance(statement, Definition):
                self._definition(statement, prefix, bound)
            else:
                if not prefix:
                    self._order.append(f"={ast.dump(statement)}")
                for block in _blocks(statement):
                    # what a branch binds is there only if all branches bind it: `_bindings`
                    self._statements(block, prefix, set(bound), set(local))
            names = _bindings(statement)
            self._note_imports(statement)
            bound |= names
            local |= names
            if isinstance(statement, ast.Delete):
                bound -= {target.id for target in statement.targets if isinstance(target, ast.Name)}

    def _note_imports(self, statement: ast.stmt) -> None:
        self._imports.update(_imported_names(statement))
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                top = alias.name.partition(".")[0]
                self._imported[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(statement, ast.ImportFrom):
            module = "." * statement.level + (statement.module or "")
            for alias in statement.names:
                self._imported[alias.asname or alias.name] = f"{module}.{alias.name}"
        else:
            for name in _bindings(statement):
                self._imported.pop(name, None)
            self._note_alias(statement)

    def _note_alias(self, statement: ast.stmt) -> None:
        """`slow = pytest.mark.slow` is another name, and `slow = pytest.mark.skipif(…)`
        what a call returns: `pytest.mark.skipif()`. Only of a name that has no other value anywhere.
        """
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                root = self._full_name(_called(value))
                if root and self._stores[name] == 1:
                    self._imported[name] = f"{root}()" if isinstance(value, ast.Call) else root

    def _definition(self, node: Definition, prefix: str, bound: set[str]) -> None:
        name = f"{prefix}{node.name}"
        if not prefix:
            self._order.append(name)
        header = self._header(node, bound)
        if isinstance(node, ast.ClassDef):
            inside = set(bound)
            self._statements(node.body, f"{name}.", inside, set())
            if not header.loud:
                header = header._replace(loud=self._loud_body(node, name, bound))
            if not header.registers and not _customizes_subclasses(node):
                self._quiet_classes.add(name)
        self._headers.setdefault(name, []).append(header)
        if not prefix:
            self._defined[node.name] = node

    def _header(self, node: Definition, bound: set[str]) -> Header:
        decorators = tuple(self._full_name(_called(one)) for one in node.decorator_list)
        bases: tuple[str, ...] = ()
        leaves = self._loud_decorators(node, decorators, bound)
        if isinstance(node, ast.ClassDef):
            bases = tuple(self._full_name(_subscripted(base)) for base in node.bases)
            leaves = leaves or self._loud_bases(node, bases, bound)
            bases += tuple(self._full_name(keyword.value) for keyword in node.keywords)
        loud = leaves or self._loud_expressions(self._evaluated(node), bound | _parameters(node))
        documented = not all(map(QUIET_DECORATORS.__contains__, decorators)) or any(
            self._may_read_docstrings(base) for base in bases
        )
        customizes = isinstance(node, ast.ClassDef) and _customizes_subclasses(node)
        text = _header_text(node)
        shape = _shape(node)
        return Header(text, loud, bool(leaves), decorators, bases, documented, customizes, shape)

    def _may_read_docstrings(self, base: str) -> bool:
        """Whether a base is of code that is not known here: it may make help of docstrings."""
        if base.startswith("=."):
            return any(header.documented for header in self._headers.get(base[2:], ()))
        return base not in _QUIET_BASES and not base.startswith("builtins.")

    def _evaluated(self, node: Definition) -> Iterator[ast.expr]:
        """The expressions that executing a definition evaluates, without what is called."""
        for decorator in node.decorator_list:
            yield from _arguments(decorator)
        if isinstance(node, ast.ClassDef):
            yield from (base.slice for base in node.bases if isinstance(base, ast.Subscript))
            return
        arguments = node.args
        yield from [*arguments.defaults, *filter(None, arguments.kw_defaults)]
        if not self._postponed:
            every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            every += filter(None, (arguments.vararg, arguments.kwarg))
            yield from (argument.annotation for argument in every if argument.annotation)
            yield from filter(None, [node.returns])

    # names

    def _full_name(self, node: ast.expr) -> str:
        """`functools.lru_cache`, of a name or a chain of attributes; empty: it doesn't resolve."""
        attributes: list[str] = []
        while isinstance(node, ast.Attribute):
            attributes.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        if node.id in self._imported:
            root = self._imported[node.id]
        elif node.id in self._defined:
            root = f"=.{node.id}"
        elif node.id in _BUILTINS and not self._is_bound(node.id):
            root = f"builtins.{node.id}"
        else:
            return ""
        return ".".join([root, *reversed(attributes)])

    def _is_bound(self, name: str) -> bool:
        """Whether the module itself binds a name anywhere, so that it may be no builtin."""
        return name in self._stores

    # what is quiet

    def _loud_decorators(self, node: Definition, decorators: Sequence[str], bound: set[str]) -> str:
        for decorator, name in zip(node.decorator_list, decorators, strict=True):
            is_quiet = name in QUIET_DECORATORS or self._is_accessor(decorator, bound)
            if not is_quiet or not _fits(node, decorator, name):
                return f"the decorator {ast.unparse(_called(decorator))} may do more"
        for name, inner in pairwise(decorators):
            if not may_be_above(name, inner):
                return f"the decorator {name} may not take what {inner} returns"
        return ""

    @staticmethod
    def _is_accessor(decorator: ast.expr, bound: set[str]) -> bool:
        """`x.setter`, where the class has x by now."""
        return (
            isinstance(decorator, ast.Attribute)
            and decorator.attr in ("setter", "getter", "deleter")
            and isinstance(decorator.value, ast.Name)
            and decorator.value.id in bound - _BUILTINS
        )

    def _loud_bases(self, node: ast.ClassDef, bases: Sequence[str], bound: set[str]) -> str:
        if node.keywords:
            return "its metaclass or keywords may do more"
        for base, name in zip(node.bases, bases, strict=True):
            roots = {part.id for part in ast.walk(base) if isinstance(part, ast.Name)}
            if not self._is_quiet_base(name) or not roots <= bound | _parameters(node):
                return f"what its base {ast.unparse(base)} does to subclasses is not known"
        # several bases may have no common order or layout (TypeError)
        mixed = len(bases) == 2 and bases[0] in ("builtins.str", "builtins.int")
        if len(bases) > 1 and not (mixed and bases[1].removeprefix("enum.") in _ENUMS):
            return "it has several bases"
        return ""

    def _is_quiet_base(self, name: str) -> bool:
        if name.startswith("=."):
            return name[2:] in self._quiet_classes
        if name.startswith("builtins."):
            return _can_be_subclassed(name.removeprefix("builtins."))
        return name in _QUIET_BASES

    def _loud_body(self, node: ast.ClassDef, name: str, bound: set[str]) -> str:
        """Why executing the body of a new class may fail or leave something behind."""
        inside = set(bound)
        fields = set[str]()
        for statement in node.body:
            if isinstance(statement, Definition):
                header = self._headers[f"{name}.{statement.name}"][-1]
                if header.loud:
                    return header.loud
                if _is_special(statement.name) and statement.name != "__init__":
                    return f"it defines {statement.name}"
            elif why := self._loud_field(statement, inside, fields):
                return why
            inside |= _bindings(statement)
        decorators = {self._full_name(_called(one)) for one in node.decorator_list}
        if decorators & DATACLASSES and not _has_plain_fields(node):
            return "its fields may be refused"
        return ""

    def _loud_field(self, statement: ast.stmt, inside: set[str], fields: set[str]) -> str:
        match statement:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                return ""
            case ast.AnnAssign(target=ast.Name(id=field_name)):
                parts = list(filter(None, [statement.value]))
                if not self._postponed:
                    parts += [statement.annotation]
            case ast.Assign(targets=[ast.Name(id=field_name)]):
                parts = [statement.value]
            case _:
                return "its body does more than define"
        if _is_special(field_name) or field_name in fields:
            return f"its body sets {field_name}"
        fields.add(field_name)
        return self._loud_expressions(parts, inside)

    def _loud_expressions(self, nodes: Iterable[ast.expr], bound: set[str]) -> str:
        for node in nodes:
            if why := self._loud_expression(node, bound):
                return why
        return ""

    def _loud_expression(self, node: ast.expr, bound: set[str]) -> str:
        """Why evaluating an expression may fail or leave something behind; empty: it is quiet."""
        unknown = f"{ast.unparse(node)[:60]} may fail when the file is imported"
        match node:
            case ast.Constant():
                return ""
            case ast.Name(id=name) if _is_mangled(name):
                return unknown
            case ast.Name(id=name):
                if name in bound:
                    return ""
                return f"{name} is not bound where it is used"
            case ast.Attribute():
                if self._full_name(node) in _TYPING:
                    return ""
                return unknown
            case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
                hashable = not isinstance(node, ast.Set) or all(
                    isinstance(part, ast.Constant) for part in parts
                )
                if not hashable:
                    return unknown
                return self._loud_expressions(parts, bound)
            case ast.Dict(keys=keys, values=values) if all(
                isinstance(key, ast.Constant) for key in keys
            ):
                return self._loud_expressions(values, bound)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float())):
                return ""
            case ast.Subscript(value=value, slice=index):
                generic = self._full_name(value)
                is_typing = generic in _TYPING or generic.removeprefix("builtins.") in _GENERIC
                if not is_typing or not _takes(generic, index):
                    return unknown
                return self._loud_expression(index, bound)
            case ast.BinOp(op=ast.BitOr(), left=left, right=right):
                if not (self._is_type(left, bound) or self._is_type(right, bound)):
                    return unknown  # `None | None`
                sides = (side for side in (left, right) if not _is_none(side))
                # `callable | None`, `str | "C"` are TypeErrors
                if not all(self._is_type(side, bound) for side in sides):
                    return unknown
                return self._loud_expressions([left, right], bound)
            case ast.Lambda():
                return self._loud_expressions(node.args.defaults, bound)
            case ast.Call(func=called):
                arguments = _arguments(node)
                quiet = self._full_name(called) in _QUIET_CALLS
                if not quiet:
                    return unknown
                return self._loud_expressions(arguments, bound)
            case _:
                return unknown

    def _is_type(self, node: ast.expr, bound: set[str]) -> bool:
        """Whether an expression surely is a type, which `|` takes: a class of the file, of the
        builtins or of some modules of the standard library, or what `typing` makes.
        """
        match node:
            case ast.BinOp(op=ast.BitOr()):
                return not self._loud_expression(node, bound)
            case ast.Subscript(value=value):
                return self._full_name(value) in _TYPING or self._is_type(value, bound)
            case ast.Name(id=name) if isinstance(self._defined.get(name), ast.ClassDef):
                return True
        full_name = self._full_name(node)
        return full_name in _TYPING or _is_known_type(full_name)


# nodes


@lru_cache(maxsize=256)
def _is_known_type(full_name: str) -> bool:
    """Whether it is a class of one of these modules, which to import has no effect."""
    module, _, name = full_name.rpartition(".")
    return module in _MODULES_OF_TYPES and isinstance(
        getattr(import_module(module), name, None), type
    )


def _takes(generic: str, index: ast.expr) -> bool:
    """Whether a generic type takes so many arguments: `Optional[int, str]` is a TypeError."""
    module, _, name = generic.rpartition(".")
    if module not in ("typing", "builtins"):
        return True
    try:
        getattr(import_module(module), name)[_placeholder(index)]
    # `List["a b"]`: the text is compiled
    except (AttributeError, TypeError, ValueError, SyntaxError):
        return False
    return True


def _placeholder(node: ast.expr) -> Any:
    """A value of the form of the arguments of a generic type."""
    match node:
        case ast.Tuple(elts=parts):
            return tuple(map(_placeholder, parts))
        case ast.List(elts=parts):
            return [*map(_placeholder, parts)]
        case ast.Constant(value=value):
            return value
    return int


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_mangled(name: str) -> bool:
    """Whether a class gives the name another meaning (Private name mangling, 6.2.1)."""
    return name.startswith("__") and not name.endswith("__")


def _called(decorator: ast.expr) -> ast.expr:
    if not isinstance(decorator, ast.Call):
        return decorator
    return decorator.func


def _arguments(node: ast.expr) -> list[ast.expr]:
    if not isinstance(node, ast.Call):
        return []
    return [*node.args, *(keyword.value for keyword in node.keywords)]


_OPTIONS: Final = {
    "dataclasses.dataclass": frozenset(inspect.signature(dataclass).parameters),
    "functools.lru_cache": frozenset({"maxsize", "typed"}),
}


def _fits(node: Definition, decorator: ast.expr, name: str) -> bool:
    """Whether a known decorator takes a definition, and its own arguments."""
    if name in DATACLASSES and not isinstance(node, ast.ClassDef):
        return False
    if not isinstance(decorator, ast.Call) or name == "functools.wraps":
        return True
    if not takes_arguments(name):
        return False
    if name.startswith("pytest.mark."):
        return True
    options = {keyword.arg for keyword in decorator.keywords}
    plain = all(
        isinstance(part, ast.Constant) and not isinstance(part.value, str | bytes | float)
        for part in _arguments(decorator)
    )
    return plain and not decorator.args and options <= _OPTIONS.get(name, frozenset())


def _subscripted(base: ast.expr) -> ast.expr:
    if not isinstance(base, ast.Subscript):
        return base
    return base.value


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


@lru_cache(maxsize=256)
def _can_be_subclassed(name: str) -> bool:
    """Whether a builtin is a class that takes subclasses: `bool` is one that doesn't."""
    base = getattr(builtins, name, None)
    try:
        return isinstance(base, type) and bool(type("_", (base,), {}))
    except TypeError:
        return False


def _customizes_subclasses(node: ast.ClassDef) -> bool:
    return any(
        isinstance(statement, Function)
        and statement.name in ("__init_subclass__", "__class_getitem__", "__set_name__")
        for statement in node.body
    )


def _has_plain_fields(node: ast.ClassDef) -> bool:
    """Whether a dataclass takes these fields: no mutable default, none without one after others."""
    seen_default = False
    for statement in node.body:
        if not isinstance(statement, ast.AnnAssign):
            continue
        if isinstance(statement.value, ast.List | ast.Dict | ast.Set):
            return False
        if statement.value is None and seen_default:
            return False
        seen_default = seen_default or statement.value is not None
    return True


def _parameters(node: Definition) -> set[str]:
    """The type parameters of a definition (PEP 695)."""
    return {parameter.name for parameter in getattr(node, "type_params", ())}


def _class_cells(code: types.CodeType) -> Iterator[str]:
    """The classes outside of functions whose bodies have a cell for the class itself."""
    waiting = [code]
    while waiting:
        inner_codes = [const for const in waiting.pop().co_consts if isinstance(const, type(code))]
        waiting += inner_codes
        for inner in inner_codes:
            # the body of a class has its names in a dictionary, a function in places
            is_body = not inner.co_flags & inspect.CO_OPTIMIZED
            if is_body and "__class__" in inner.co_cellvars and "<" not in inner.co_qualname:
                yield inner.co_qualname


def _docstrings(tree: ast.Module) -> dict[str, str]:
    docs: dict[str, str] = {}
    waiting: list[tuple[str, ast.AST]] = [("", tree)]
    while waiting:
        prefix, node = waiting.pop()
        if isinstance(node, _DOCUMENTED):
            text = ast.get_docstring(node, clean=False)
        else:
            text = None
        if text is not None:
            docs[prefix] = text
        for part in ast.iter_child_nodes(node):
            if isinstance(part, Definition):
                waiting.append((f"{prefix}.{part.name}" if prefix else part.name, part))
            else:
                waiting.append((prefix, part))
    return docs


def _header_text(node: Definition) -> str:
    parts: list[ast.AST] = [*node.decorator_list, *getattr(node, "type_params", ())]
    if isinstance(node, ast.ClassDef):
        parts += [*node.bases, *node.keywords]
    else:
        parts += [node.args, *filter(None, [node.returns])]
    kind = type(node).__name__
    # a generator runs nothing when it is called, and `inspect` asks for that without calling it
    if not isinstance(node, ast.ClassDef) and _yields(node):
        kind = f"{kind} of a generator"
    return "\n".join([kind, *(ast.dump(part) for part in parts)])


def _yields(node: Function) -> bool:
    """Whether a function is a generator: what yields is in itself, and in no function inside."""
    waiting: list[ast.AST] = [*node.body]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(part, _SCOPES):
            waiting += ast.iter_child_nodes(part)
    return False


def _shape(node: Definition) -> str:
    """A header of a function without the values of its plain defaults; empty for a class."""
    if isinstance(node, ast.ClassDef):
        return ""
    plain = ast.Name("=", ast.Load())
    defaults = [plain if is_immutable(default) else default for default in node.args.defaults]
    others = [
        plain if default is not None and is_immutable(default) else default
        for default in node.args.kw_defaults
    ]
    arguments = copy(node.args)
    arguments.defaults, arguments.kw_defaults = defaults, others
    parts = [*node.decorator_list, *getattr(node, "type_params", ()), arguments]
    return "\n".join(ast.dump(part) for part in [*parts, *filter(None, [node.returns])])


def _joined(headers: Sequence[Header]) -> Header:
    """The header of several definitions of one name: overloads, a property and its setter."""
    if len(headers) == 1:
        return headers[0]
    return Header(
        "\n".join(header.text for header in headers),
        next((header.loud for header in headers if header.loud), ""),
        any(header.registers for header in headers),
        tuple(name for header in headers for name in header.decorators),
        tuple(name for header in headers for name in header.bases),
        any(header.documented for header in headers),
        any(header.customizes for header in headers),
        # of a class and a function of one name nothing is alike
        "\n".join(header.shape for header in headers)
        if all(header.shape for header in headers)
        else "",
    )


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if block:
            yield block
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def _bindings(statement: ast.stmt) -> set[str]:
    """The names that are certainly bound once a statement was executed."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Import(names=aliases):
            return {alias.asname or alias.name.partition(".")[0] for alias in aliases}
        case ast.ImportFrom(names=aliases):
            return {alias.asname or alias.name for alias in aliases} - {"*"}
        case ast.Assign(targets=targets):
            return {name for target in targets for name in _target_names(target)}
        case ast.AnnAssign(target=target, value=value) if value is not None:
            return set(_target_names(target))
        case ast.AugAssign(target=target):
            return set(_target_names(target))
        case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
            targets = [item.optional_vars for item in items if item.optional_vars]
            return {name for one in targets for name in _target_names(one)} | _bound_by(body)
        case ast.If(body=body, orelse=orelse):
            if _is_type_checking(statement.test):
                return _bound_by(orelse)
            return _bound_by(body) & _bound_by(orelse)
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=finalbody):
            names = _bound_by(body) | _bound_by(orelse)
            for handler in handlers:
                if not isinstance(handler.body[-1], ast.Raise):
                    names &= _bound_by(handler.body)
            return names | _bound_by(finalbody)
        case _ if type(statement).__name__ == "TypeAlias":
            return {statement.name.id}  # type: ignore[attr-defined]
    return set()


def _bound_by(statements: Iterable[ast.stmt]) -> set[str]:
    names: set[str] = set()
    for statement in statements:
        names |= _bindings(statement)
    return names


def _target_names(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            yield from _target_names(element)
    elif isinstance(target, ast.Starred):
        yield from _target_names(target.value)


def _is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def _imported_names(statement: ast.AST) -> Iterator[str]:
    """What an import statement imports: `from . import a` gives `.a`, `from ..a import A` gives
    `..a.A`.
    """
    if isinstance(statement, ast.Import):
        yield from (alias.name for alias in statement.names)
    elif isinstance(statement, ast.ImportFrom):
        module = "." * statement.level + (statement.module or "")
        between = "" if module.endswith(".") else "."
        yield from (f"{module}{between}{alias.name}" for alias in statement.names)


def _all_imports(tree: ast.Module) -> set[str]:
    return {name for node in ast.walk(tree) for name in _imported_names(node)}


def _root_chain(node: ast.expr) -> ast.expr:
    """The name with the attributes right behind it that an expression starts from: `os.environ` of
    `os.environ["A"].strip()`.
    """
    chain = node
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        if not isinstance(node, ast.Attribute):
            chain = node.value if isinstance(node, ast.Subscript) else node.func
        node = node.func if isinstance(node, ast.Call) else node.value
    return chain


def _storing_functions(tree: ast.Module) -> Iterator[str]:
    """The functions with a statement that changes an object which they did not make, or calls
    something for its effect. What a constructor stores in the new object outlives no call.
    """
    waiting: list[tuple[str, ast.AST]] = [("", tree)]
    while waiting:
        prefix, node = waiting.pop()
        for part in ast.iter_child_nodes(node):
            name = f"{prefix}{part.name}" if isinstance(part, Definition) else ""
            if isinstance(part, Function) and _stores(part):
                yield name
            waiting.append((f"{name}." if name else prefix, part))


def _stores(function: Function) -> bool:
    own = {"self"} if function.name in _CONSTRUCTORS else set[str]()
    waiting: list[ast.AST] = list(reversed(function.body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, Definition):
            continue
        if isinstance(node, ast.Global | ast.Nonlocal):
            return True
        if isinstance(node, ast.Assign) and isinstance(node.value, (*_DISPLAYS, ast.Call)):
            own |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        if isinstance(node, ast.stmt) and not _calls_super(node) and _has_effect(node, own):
            return True
        waiting += reversed(
            [part for part in ast.iter_child_nodes(node) if isinstance(part, _BLOCKS)]
        )
    return False


def _calls_super(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super"))))
        ):
            return True
    return False


@lru_cache(maxsize=8)
def _statements_with_effects(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements of a module that call something for its effect alone, or that change an object
    which the module did not make by a display: those of `if`, `for`, `try` and `with` included.
    """
    own = {
        target.id
        for statement in tree.body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, _DISPLAYS)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    waiting: list[ast.AST] = list(reversed(tree.body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, Definition) or _is_for_scripts(node):
            continue
        if isinstance(node, ast.stmt) and _has_effect(node, own):
            yield node
        else:
            blocks = [part for part in ast.iter_child_nodes(node) if isinstance(part, _BLOCKS)]
            waiting += reversed(blocks)


def _is_for_scripts(node: ast.AST) -> bool:
    """Whether it is `if __name__ == "__main__":`, which an import passes over."""
    match node:
        case ast.If(
            test=ast.Compare(
                left=ast.Name(id="__name__"),
                ops=[ast.Eq()],
                comparators=[ast.Constant(value="__main__")],
            ),
            orelse=[],
        ):
            return True
    return False


def _has_effect(statement: ast.stmt, own: Collection[str]) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant()):
            return False
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            return name not in own
        case ast.Expr():
            return True
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            return any(_changes_other(target, own) for target in targets)
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            return _changes_other(target, own)
    return False


def _changes_other(target: ast.expr, own: Collection[str]) -> bool:
    """Whether a target is an attribute or an item of an object that is not the module's own."""
    if isinstance(target, ast.Tuple | ast.List):
        return any(_changes_other(part, own) for part in target.elts)
    if not isinstance(target, ast.Attribute | ast.Subscript):
        return False
    while isinstance(target, ast.Attribute | ast.Subscript):
        target = target.value
    return not (isinstance(target, ast.Name) and target.id in own)


def _stored_names(tree: ast.Module) -> Counter[str]:
    """All names that the module's own scope may bind, by any statement, `global` included, and in
    how many places it does.
    """
    names = Counter[str]()
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                names[name] += 1
            case ast.Global(names=global_names):
                names.update(global_names)
            case ast.alias(name=name, asname=asname):
                names[asname or name.partition(".")[0]] += 1
            case ast.ExceptHandler(name=str(name)):
                names[name] += 1
        if isinstance(node, Definition):
            names[node.name] += 1
        if isinstance(node, _SCOPES):
            waiting += [part for part in ast.walk(node) if isinstance(part, ast.Global)]
        else:
            waiting += ast.iter_child_nodes(node)
    return names
