"""The imports of one file: what each is needed for, and an edit that moves some under
`if TYPE_CHECKING:`. Pure.

An import can be moved unnoticed only where nothing but annotations needs its name, and what it
imports just defines.

An edit takes whole statements, at the lines that `ast` gives, so every other byte stays as it is:
encoding, byte order mark, line endings. The result is checked: it has to compile, with the same
comments, and the same statements but for the imports that were asked for. Why not by libcst's
transformers: ADR-0027.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any, Final, TypeGuard

from kl_hooks.code.scanner.parser import cached_tree, no_garbage_collection
from kl_hooks.model.definitions import NamedTuple, lazy_pattern


def parsed(content: bytes) -> ast.Module | None:
    """The tree of a file, for reading only; None where it does not parse."""
    try:
        with no_garbage_collection():
            return cached_tree(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def any_of(words: Iterable[str]) -> re.Pattern[bytes]:
    """Find any of these identifiers in a text."""
    # in a pattern for bytes \b knows ASCII letters only: callers treat other text as a match
    return re.compile(
        rb"\b(?:%s)\b" % b"|".join(re.escape(word.encode()) for word in sorted(words))
    )


Import = ast.Import | ast.ImportFrom
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Definition = _Function | ast.ClassDef
_LOOKS: Final = frozenset({"globals", "eval", "exec", "dir", "vars", "locals"})
_BY_NAME: Final = frozenset({"modules", "import_module", "__import__"})
"""What gives a module by its name: of `sys` and `importlib`."""
# type comments of PEP 484; `# type: ignore` names no type
_TYPE_COMMENT = lazy_pattern(r"#\s*type:\s*(?!ignore)(.*)")
_WORD = lazy_pattern(r"[^\W\d]\w*")


class Uses:
    """How a file uses names. Scopes are not distinguished: a name that is used anywhere counts as
    used.

    Lines are those of the first use.
    """

    def __init__(self, tree: ast.Module, text: str = "") -> None:
        """`text`: the same file, for its type comments."""
        self.bound = Counter[str]()
        """Name → how many statements bind or delete it, in any scope; arguments too."""
        self.used: dict[str, int] = {}
        """Name → the line that needs it at run time."""
        self.noted = dict.fromkeys(
            word for found in _TYPE_COMMENT.findall(text) for word in _WORD.findall(found)
        )
        """The names in annotations: written out, in a string, or in a type comment."""
        self.strings: dict[str, int] = {}
        """Word → the line of a string outside annotations that has it; of docstrings only those
        with doctests.
        """
        self.members: dict[str, int] = {}
        """Attribute, keyword or word of a string → line: what may be taken out of a module with
        this name.
        """
        skipped: set[int] = set()
        todo: list[tuple[ast.AST, bool]] = [(tree, False)]
        while todo:
            node, noted = todo.pop()
            # doctest runs what follows `>>>` with the names of the module
            if isinstance(node, _Definition | ast.Module):
                doc = ast.get_docstring(node, clean=False)
            else:
                doc = None
            if doc is not None and ">>>" not in doc:
                skipped.add(id(node.body[0].value))  # type: ignore[attr-defined]
            notes = {id(note) for note in _notes_of(node)}
            children = [
                (child, noted or id(child) in notes) for child in ast.iter_child_nodes(node)
            ]
            todo += reversed(children)
            if id(node) not in skipped:
                self._add(node, noted)

    @property
    def looks(self) -> int:
        """The line where the file may look at its own names: `globals()`, `sys.modules[__name__]`;
        0 for none.
        """
        if "__name__" in self.used:
            own = [self.used["__name__"]]
        else:
            own = []
        if _BY_NAME & (self.used.keys() | self.members.keys()):
            by_name = own
        else:
            by_name = []
        return min([*by_name, *(self.used[word] for word in _LOOKS & self.used.keys())], default=0)

    def _add(self, node: ast.AST, noted: bool) -> None:
        """Note the uses by this very node; `noted`: it is in an annotation."""
        self.bound.update(binds(node))
        members = []
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            (self.noted if noted else self.used).setdefault(node.id, node.lineno)
        elif isinstance(node, ast.Constant):
            text = (
                node.value.decode("utf-8", "replace")
                if isinstance(node.value, bytes)
                else node.value
            )
            members = _WORD.findall(text) if isinstance(text, str) else []
            for word in members:
                (self.noted if noted else self.strings).setdefault(word, node.lineno)
        elif isinstance(node, ast.Attribute):
            members = [node.attr]
        elif isinstance(node, ast.keyword):
            members = [node.arg] if node.arg else []
        elif isinstance(node, ast.MatchClass):  # `case Point(x=0)` reads the attribute x (PEP 634)
            members = node.kwd_attrs
        for word in members:
            if isinstance(node, ast.Attribute):
                line = node.end_lineno
            else:
                line = getattr(node, "lineno", 0)
            self.members.setdefault(word, line or 0)


def _notes_of(node: ast.AST) -> list[ast.expr]:
    """The annotation that belongs to this very node, if it has one."""
    note = getattr(node, "annotation", None) or getattr(node, "returns", None)
    if not isinstance(note, ast.expr):
        return []
    return [note]


def binds(node: ast.AST) -> Iterator[str]:
    """The names that this very node binds or deletes."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]
    elif isinstance(node, ast.Name):
        if not isinstance(node.ctx, ast.Load):
            yield node.id
    elif isinstance(node, ast.Global | ast.Nonlocal):
        yield from node.names
    elif isinstance(node, ast.arg):
        yield node.arg
    elif not isinstance(node, ast.alias):
        for key in ("name", "rest"):  # of a function, class, except clause, pattern, type parameter
            name = getattr(node, key, None)
            if isinstance(name, str):
                yield name


LIBRARIES: Final = frozenset(
    (
        "aiogram",
        "apischema",
        "arguably",
        "beanie",
        "beartype",
        "blacksheep",
        "cappa",
        "cattr",
        "cattrs",
        "clize",
        "cyclopts",
        "dacite",
        "dagster",
        "dataclasses_json",
        "defopt",
        "dishka",
        "disnake",
        "discord",
        "esmerald",
        "fastapi",
        "fastmcp",
        "faststream",
        "flytekit",
        "hypothesis",
        "injector",
        "jaxtyping",
        "jsonargparse",
        "kfp",
        "lagom",
        "langchain_core",
        "litestar",
        "magicgui",
        "marshmallow_dataclass",
        "mashumaro",
        "mcp",
        "mirascope",
        "msgspec",
        "multimethod",
        "nextcord",
        "ninja",
        "odmantic",
        "ovld",
        "pandera",
        "piccolo",
        "plac",
        "plum",
        "prefect",
        "punq",
        "pydantic",
        "pydantic_ai",
        "pydantic_settings",
        "pyserde",
        "runtype",
        "sanic_ext",
        "serde",
        "simple_parsing",
        "spock",
        "sqlalchemy",
        "sqlmodel",
        "starlite",
        "strawberry",
        "svcs",
        "taskiq",
        "that_depends",
        "tortoise",
        "trycast",
        "typeguard",
        "typer",
        "typic",
        "tyro",
        "wireup",
        "zenml",
    )
)
"""Top-level names of libraries that evaluate annotations at run time, or may."""
_READERS = lazy_pattern(
    rb"\b(get_type_hints|get_annotations|__annotations__|eval_str|annotation|return_annotation|singledispatch"
    rb"|singledispatchmethod|resolve_types|make_dataclass|ForwardRef)\b"
)
"""What code that looks at annotations itself names; a comment that does counts too."""
_HARMLESS: Final = frozenset({*sys.stdlib_module_names, "click", "pytest", "typing_extensions"})
"""Modules whose decorators and classes read no annotations; those functions that do are among the
words above.
"""
# dataclasses recognizes these in the text of an annotation, by the names that the module has
# (_is_type in CPython)
_KEYS: Final = frozenset({"ClassVar", "InitVar", "KW_ONLY"})


def imported_modules(node: ast.AST) -> Iterator[tuple[str, ast.alias]]:
    """The top-level modules that an import names, each with a name that it binds."""
    match node:
        case ast.Import(names=aliases):
            for alias in aliases:
                yield alias.name.partition(".")[0], alias
        case ast.ImportFrom(module=module, names=aliases, level=level) if not level:
            for alias in aliases:
                yield (module or "").partition(".")[0], alias


def _names_from(tree: ast.Module, modules: Collection[str]) -> set[str]:
    """The names that a file, in any scope, imports from these top-level modules."""
    pairs = (pair for node in ast.walk(tree) for pair in imported_modules(node))
    return {alias.asname or alias.name.partition(".")[0] for top, alias in pairs if top in modules}


def _root_of(node: ast.expr) -> str:
    """The name that an expression starts with: `a` of `a.b(1)[2]`; empty for any other."""
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    if not isinstance(node, ast.Name):
        return ""
    return node.id


UNUSED: Final = "unused"
NOTED: Final = "annotations"
NEEDED: Final = "needed"
# what flake8 and ruff (a bare noqa, or F401: unused import), pycln and isort take as an order to
# leave an import
_KEEP_COMMENT = lazy_pattern(
    rb"#.*?(noqa(?!:)|noqa:[^#]*F401|nopycln|isort:\s*skip|import-side-effect)", re.I
)


class Need(NamedTuple):
    """What one imported name is needed for."""

    kind: str
    """`unused`, `annotations`, or `needed`: it has to stay as it is."""
    reason: str = ""
    """Why it is needed: a clause such as `it is used at run time (line 7)`."""
    name: str = ""
    """The name that it binds."""


@dataclass
class Source:
    """One parsed file, ready to be asked."""

    path: str
    content: bytes
    tree: ast.Module

    @cached_property
    def uses(self) -> Uses:
        """How it uses names."""
        return Uses(self.tree, self.content.decode("utf-8", "replace"))

    @cached_property
    def reader(self) -> str:
        """Who in it may read its annotations at run time, as a clause; empty for nobody."""
        # without it they are evaluated; to add it would turn all others of the file into text too
        if "annotations" not in _names_from(self.tree, ("__future__",)):
            return (
                "its annotations are evaluated at run time, without `from __future__ import"
                " annotations`"
            )
        reader_match = _READERS.search(self.content)
        if reader_match:
            line = self.content.count(b"\n", 0, reader_match.start()) + 1
            return f"{reader_match[1].decode()} reads annotations at run time (line {line})"
        nodes = list(ast.walk(self.tree))
        own = {node.name for node in nodes if isinstance(node, _Definition)}
        harmless = {*dir(builtins), *own, *_names_from(self.tree, _HARMLESS)}
        for node in nodes:
            # attrs reads those of functions that convert values
            for library in {top for top, _ in imported_modules(node)} & {
                *LIBRARIES,
                "attr",
                "attrs",
            }:
                return (
                    f"{library} reads annotations at run time (line {getattr(node, 'lineno', 0)})"
                )
            if isinstance(node, _Definition):
                readers = [*node.decorator_list]
            else:
                readers = []
            if isinstance(node, ast.ClassDef) and any(
                isinstance(part, ast.AnnAssign) for part in node.body
            ):
                readers += [*node.bases, *(keyword.value for keyword in node.keywords)]
            for reader in readers:
                if _root_of(reader) not in harmless and not isinstance(reader, ast.Constant):
                    name = ast.unparse(reader).partition("(")[0]
                    return f"{name} may read annotations at run time (line {reader.lineno})"
        return ""


def need(source: Source, row: Sequence[Any]) -> Need:
    """Return what an import (`row` of the scanner) is needed for; `needed` too where an edit of it
    is not safe.
    """
    mention_need = mention(source, row)
    # an import holds no strings: whatever is behind a `#` on its lines is a comment
    if mention_need.kind != NEEDED and b"#" in _text(source, row[3]):
        return Need(NEEDED, "a comment belongs to it", mention_need.name)
    special = _KEYS & {mention_need.name, row[1] or row[0], *source.uses.members}
    if special:
        reason = "dataclasses look for it in annotations at run time"
    else:
        reason = source.reader
    if mention_need.kind == NOTED and reason:
        return Need(NEEDED, reason, mention_need.name)
    return mention_need


def mention(source: Source, row: Sequence[Any]) -> Need:
    """Return what an import is needed for in its file, without asking who evaluates annotations at
    run time.
    """
    module = row[0]
    name = row[1]
    manner = row[4]
    if manner != "import":
        return Need(NEEDED, _METHODS.get(manner, f"it is a {manner}"))
    import_node = statement(source.tree, row[3])
    if import_node:
        same = [alias for alias in import_node.names if alias.name == (name or module)]
    else:
        same = []
    if not same:
        return Need(NEEDED, "it is not a statement by itself at the top level of the file")
    bound = same[0].asname or same[0].name.partition(".")[0]
    reason = _why_needed(source, row[3], same, bound)
    if reason:
        return Need(NEEDED, reason, bound)
    return Need(NOTED if bound in source.uses.noted else UNUSED, reason, bound)


_METHODS: Final = {
    "lazy import": "it is imported inside a function, when that runs",
    "dynamic import": "it is imported by its name at run time",
    "star import": "it imports everything, so its uses are not known",
    "type-checking import": "only type checkers see it, and the manifest enforces such imports too",
}


def statement(tree: ast.Module, line: int) -> Import | None:
    """The import at the top level of a file that starts on a line, if it has its lines to
    itself.
    """
    on_line = [
        node for node in tree.body if node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    if len(on_line) == 1 and on_line[0].lineno == line:
        alone = on_line[0]
    else:
        alone = None
    if isinstance(alone, Import):
        return alone
    return None


def _text(source: Source, line: int) -> bytes:
    """The lines of an import that starts on a line."""
    node = statement(source.tree, line)
    if not node:
        return b""
    return b"\n".join(source.content.splitlines()[line - 1 : node.end_lineno])


def _why_needed(source: Source, line: int, same: Sequence[ast.alias], bound: str) -> str:
    """Why a name has to stay that is imported on a line, as one of `same`; empty where nothing
    speaks for it.
    """
    uses = source.uses
    if uses.bound[bound] > 1:
        return f"something else in the file is called {bound} too"
    # a use in the code is a better reason than a comment
    if bound in uses.used:
        return f"it is used at run time (line {uses.used[bound]})"
    if source.path.rpartition("/")[2] == "__init__.py":
        return "it is in an __init__.py, where others may import it from"
    # the explicit re-export of PEP 484, which mypy asks for under --no-implicit-reexport
    if same[0].asname == same[0].name:
        return f"`{same[0].name} as {same[0].name}` offers it to others"
    if len(same) > 1:
        return "the statement imports it twice"
    marked = _KEEP_COMMENT.search(_text(source, line))
    if marked:
        return f"a comment asks to leave it ({marked[1].decode('ascii', 'replace')})"
    if bound in uses.strings:
        return f"a string names it (line {uses.strings[bound]})"
    if uses.looks:
        return f"the file looks at its own names (line {uses.looks})"
    functions = (node for node in source.tree.body if isinstance(node, ast.FunctionDef))
    getattr_line = next((node.lineno for node in functions if node.name == "__getattr__"), 0)
    if not getattr_line:
        return ""
    return f"the module's __getattr__ would answer in its place (line {getattr_line})"


_QUIET: Final = frozenset(
    (
        "compile",
        "frozenset",
        "set",
        "dict",
        "list",
        "tuple",
        "object",
        "str",
        "int",
        "float",
        "bool",
        "bytes",
        "range",
        "TypeVar",
        "ParamSpec",
        "TypeVarTuple",
        "NewType",
        "NamedTuple",
        "namedtuple",
        "TypedDict",
        "Enum",
        "getLogger",
        "Path",
        "PurePath",
        "PurePosixPath",
        "Decimal",
        "Fraction",
        "timedelta",
        "date",
        "datetime",
        "field",
        "auto",
        "sorted",
        "len",
        "min",
        "max",
        "sum",
        "cast",
        "attrgetter",
        "itemgetter",
        "methodcaller",
        "partial",
        "MappingProxyType",
        "ContextVar",
        "Lock",
        "RLock",
        "defaultdict",
        "OrderedDict",
        "Counter",
        "deque",
        "zip",
        "enumerate",
        "join",
        "split",
        "strip",
        "format",
        "lower",
        "upper",
        "encode",
        "decode",
        "removeprefix",
        # decorators
        "property",
        "staticmethod",
        "classmethod",
        "dataclass",
        "abstractmethod",
        "overload",
        "override",
        "final",
        "unique",
        "runtime_checkable",
        "contextmanager",
        "asynccontextmanager",
        "cached_property",
        "lru_cache",
        "cache",
        "wraps",
        "total_ordering",
        "setter",
        "getter",
        "deleter",
        "no_type_check",
        "deprecated",
        "define",
        "frozen",
        "mutable",
    )
)
"""Functions that make a value and touch nothing else, by the last part of their name."""
_CHECKING: Final = ("TYPE_CHECKING", "typing.TYPE_CHECKING")
_STDLIB: Final = frozenset({*sys.stdlib_module_names, "typing_extensions"})
_Defining = (
    _Function
    | ast.ClassDef
    | ast.Assign
    | ast.AnnAssign
    | ast.AugAssign
    | ast.If
    | ast.Try
    | ast.Import
    | ast.ImportFrom
    | ast.Pass
    | ast.Global
)
"""Statements that do no more than their parts."""


def first_side_effect(tree: ast.Module, trusted: Collection[str] = ()) -> tuple[int, str]:
    """Line and description of the first statement of this file that does more than define; `(0,
    "")` for none.

    `trusted`: names imported from modules of the repository: those files are asked for themselves.
    """
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    harmless = {*dir(builtins), *trusted, *own, *_names_from(tree, _STDLIB)}
    todo: list[ast.AST] = [*tree.body]
    for node in todo:  # grows while it is walked
        what = _effect(node, harmless)
        if what:
            return getattr(node, "lineno", 0), what
        todo += _parts(node)
    return 0, ""


def _parts(node: ast.AST) -> Iterable[ast.AST]:
    """The parts of this node that run when the module is imported."""
    if isinstance(node, _Function):
        notes = (note for part in (node, *ast.walk(node.args)) for note in _notes_of(part))
        return [
            *node.decorator_list,
            *node.args.defaults,
            *filter(None, node.args.kw_defaults),
            *notes,
        ]
    if isinstance(node, ast.If) and ast.unparse(node.test) in _CHECKING:
        return node.orelse
    if isinstance(node, ast.Lambda):
        return ()
    return ast.iter_child_nodes(node)


def _effect(node: ast.AST, harmless: Collection[str]) -> str:
    """What this very node does, apart from its parts, besides defining; empty for nothing."""
    if isinstance(node, ast.ClassDef):
        # an unknown base may have a metaclass or an `__init_subclass__`, which run when the class
        # is defined
        for base in node.bases:
            if _root_of(base) not in harmless or any(
                isinstance(part, ast.Call) for part in ast.walk(base)
            ):
                return f"class {node.name}({_brief(base)})"
        for keyword in node.keywords:
            if (
                keyword.arg not in ("total", "frozen")
                and ast.unparse(keyword.value).rpartition(".")[2] != "ABCMeta"
            ):
                return f"class {node.name}({keyword.arg}=…)"
    # hooks of PEP 487: they run when another class is defined
    hook = isinstance(node, _Function) and node.name in ("__init_subclass__", "__set_name__")
    for decorator in node.decorator_list if isinstance(node, _Definition) else ():
        if _last(decorator.func if isinstance(decorator, ast.Call) else decorator) not in _QUIET:
            return f"@{_brief(decorator)}"
    calls = isinstance(node, ast.Call) and _last(node.func) not in _QUIET
    changes = isinstance(node, ast.Attribute | ast.Subscript | ast.Starred) and not isinstance(
        node.ctx, ast.Load
    )
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    # TypeAlias: Python 3.12
    other = (
        isinstance(node, ast.stmt)
        and not isinstance(node, _Defining)
        and node.__class__.__name__ != "TypeAlias"
    )
    waits = isinstance(node, ast.Await | ast.Yield | ast.YieldFrom)
    if hook or calls or changes or waits or (other and not text):
        return _brief(node)
    return ""


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    return ""


def _brief(node: ast.AST) -> str:
    text = ast.unparse(node).partition("\n")[0]
    if len(text) <= 60:
        return text
    return text[:57] + "..."


_FLAG: Final = "TYPE_CHECKING"
_FLAG_IMPORT: Final = f"from typing import {_FLAG}"
_BOM: Final = b"\xef\xbb\xbf"


class Unfixable(Exception):
    """This edit can't be made; the text is the reason, a clause."""


def move_imports(content: bytes, lines: Collection[int]) -> bytes:
    """Return the file with the imports that start on these lines moved. Raises Unfixable.

    They must be statements at the top level that nothing needs at run time (`need`). They go to
    the end of the first `if TYPE_CHECKING:` block, or to a new one after the imports at the top,
    and `TYPE_CHECKING` is imported where it is missing. The file must have `from __future__ import
    annotations`.
    """
    try:
        edit = _Edit(content)
        changed = edit.run(lines)
        # dont_inherit: else the future statements of this module would hold for the text, too
        compile(changed, "<new>", "exec", dont_inherit=True)
        mine = {*edit.dumps, ast.dump(ast.parse(_FLAG_IMPORT).body[0])}
        if _other_statements(content, mine) != _other_statements(changed, mine):
            raise Unfixable("more than the import would change")
    except (SyntaxError, ValueError, LookupError) as problem:
        raise Unfixable(f"the file would no longer compile ({problem})") from problem
    except (RecursionError, MemoryError) as problem:
        raise Unfixable("the file is nested too deeply") from problem
    return changed


class _Edit:
    """Lines to replace, gathered by their number in the file as it was."""

    def __init__(self, content: bytes) -> None:
        self.tree = ast.parse(content)
        self.mark = _BOM if content.startswith(_BOM) else b""
        # bytes.splitlines cuts at \n, \r and \r\n only, as the tokenizer does; str.splitlines also
        # at \f and \x1c
        self.lines = content.removeprefix(_BOM).splitlines(keepends=True)
        self.newline = b"\r\n" if b"\r\n" in content else b"\n"
        if content.count(b"\r") != content.count(b"\r\n") or content.count(b"\n") < len(self.lines):
            raise Unfixable("the file has odd line endings, or none at its end")
        self.dumps: list[str] = []
        """The statements that are moved."""
        self.removed: set[int] = set()
        """Numbers of lines."""
        self.above: dict[int, list[bytes]] = {}
        """Number of a line → what is inserted above it."""

    def run(self, lines: Collection[int]) -> bytes:
        moved: list[bytes] = []
        for line in sorted(lines):
            node = statement(self.tree, line)
            if node is None:
                raise Unfixable("the import is not there any more")
            self.dumps.append(ast.dump(node))
            own = range(line, (node.end_lineno or line) + 1)
            # an import holds no strings: whatever is behind a `#` on its lines is a comment
            if any(b"#" in self.lines[number - 1] for number in own):
                raise Unfixable("a comment belongs to it")
            self.removed.update(own)
            moved += [self.lines[number - 1] for number in own]
            self._join_blank_lines(own)
        self._move(moved)
        return self.mark + b"".join(
            line for number in range(1, len(self.lines) + 2) for line in self._at(number)
        )

    def _join_blank_lines(self, own: range) -> None:
        """Where these lines are removed, keep the larger group of blank lines around them."""
        start = own.start
        while start > 1 and (start - 1 in self.removed or not self.lines[start - 2].strip()):
            start -= 1
        above = [number for number in range(start, own.start) if number not in self.removed]
        below = list(
            takewhile(lambda n: not self.lines[n - 1].strip(), range(own.stop, len(self.lines) + 1))
        )
        self.removed.update(above[max(len(above) - len(below), 0) :])

    def _move(self, moved: Sequence[bytes]) -> None:
        """Put the lines under `if TYPE_CHECKING:`, with the import that this needs."""
        start = int(ast.get_docstring(self.tree, clean=False) is not None)
        head = list(takewhile(lambda node: isinstance(node, Import), self.tree.body[start:]))
        own = [node for node in head if _top_module(node) in sys.stdlib_module_names]
        if not own or _top_module(own[0]) != "__future__":
            raise Unfixable("its annotations are evaluated at run time")
        flag = self._flag()
        block = next((node for node in self.tree.body if flag and _is_block(node)), None)
        if block:
            line = self.lines[block.body[0].lineno - 1]
        else:
            line = b"    pass"
        text = [line[: len(line) - len(line.lstrip())] + one for one in moved]
        if block:
            self._insert((block.body[-1].end_lineno or 0) + 1, text)
        else:
            last = max(node.end_lineno or 0 for node in (head[-1], flag) if node)
            self._insert(last + 1, [b"if TYPE_CHECKING:" + self.newline, *text], apart=True)
        if not flag:
            # among the imports of the standard library, where isort wants it
            importing = [_FLAG_IMPORT.encode() + self.newline]
            self._insert(
                (own[-1].end_lineno or 0) + 1, importing, apart=_top_module(own[-1]) == "__future__"
            )

    def _flag(self) -> ast.stmt | None:
        """The import of TYPE_CHECKING; Unfixable where something else in the file has the name."""
        binding = [node for node in ast.walk(self.tree) if _FLAG in binds(node)]
        imports = [
            node for node in self.tree.body if isinstance(node, ast.ImportFrom) and node in binding
        ]
        plain = [
            one
            for node in imports
            for one in node.names
            if one.name == _FLAG and one.asname in (None, _FLAG)
        ]
        if len(plain) != len(binding) or {*map(_top_module, imports)} - {
            "typing",
            "typing_extensions",
        }:
            raise Unfixable(f"something in the file is called {_FLAG} that is not typing's")
        if not imports:
            return None
        return imports[0]

    def _insert(self, place: int, text: list[bytes], *, apart: bool = False) -> None:
        """Insert lines above a line; `apart`: blank lines part them from what is there."""
        if apart:
            before = [line for number in range(1, place) for line in self._at(number)]
            after = next(
                (line for number in range(place, len(self.lines) + 2) for line in self._at(number)),
                b"",
            )
            over = before and before[-1].strip()
            text = [
                *([self.newline] if over else []),
                *text,
                *([self.newline] if after.strip() else []),
            ]
        self.above[place] = [*text, *self.above.get(place, [])]

    def _at(self, number: int) -> list[bytes]:
        """What is written for a line: what is inserted above it, and the line itself unless it is
        removed.
        """
        if number in self.removed:
            own = []
        else:
            own = self.lines[number - 1 : number]
        return [*self.above.get(number, []), *own]


def _is_block(node: ast.stmt) -> TypeGuard[ast.If]:
    return (
        isinstance(node, ast.If)
        and ast.unparse(node.test) == _FLAG
        and node.body[0].lineno > node.lineno
    )


def _top_module(node: ast.stmt) -> str:
    """The first module that an import names, its first part; empty for a relative import."""
    return next((top for top, _ in imported_modules(node)), "")


def _other_statements(content: bytes, mine: Collection[str]) -> list[str]:
    """The statements at the top level, and those under `if TYPE_CHECKING:` apart, in their order,
    without mine.
    """
    dumps = []
    for node in ast.parse(content).body:
        inner, outer = (node.body, node.orelse) if _is_block(node) else ([], [node])
        dumps += [
            f"under {_FLAG}: {dump}" for part in inner if (dump := ast.dump(part)) not in mine
        ]
        dumps += [dump for part in outer if (dump := ast.dump(part)) not in mine]
    return dumps
