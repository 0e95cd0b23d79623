"""What an import is needed for in its own file, and which names of modules a file may use while it runs. Pure."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kl_hooks.code.rewrite.source_text import lines_with, near

_LOOKS: Final = frozenset({"globals", "eval", "exec"})
_BARE_LOOKS: Final = frozenset({"dir", "vars", "locals"})
_SILENT: Final = frozenset({ast.Load, ast.Store, ast.Del, ast.Attribute, ast.Expr, ast.Return, ast.keyword, ast.Tuple})
"""The commonest nodes that neither bind a name nor mention one themselves."""
# type comments of PEP 484; `# type: ignore` names no type
_TYPE_COMMENT = re.compile(r"#\s*type:\s*(?!ignore)(.*)")
_NEWLINE = re.compile(r"\r\n|\r|\n")
_WORD = re.compile(r"[^\W\d]\w*")


class Mentions:
    """How a file uses one name. Scopes are not distinguished: a name that is used anywhere counts as used."""

    __slots__ = ("bound", "looks", "noted", "string", "used")

    def __init__(self, name: str, nodes: Iterable[ast.AST], text: str = "") -> None:
        """`nodes`: those of its tree, or of the part of it that is asked about. `text`: for its type comments."""
        self.bound = 0
        """How many statements bind or delete it, in any scope; arguments too."""
        self.used = 0
        """The first line that needs it at run time, 0 for none."""
        self.noted = _in_type_comment(name, text)
        """True where annotations (written out, in a string, or in a type comment) use it."""
        self.string = 0
        """The line of a string outside annotations that has it, 0 for none; of docstrings only those with doctests."""
        self.looks = 0
        """The line where the file looks at its own names (`globals()`), 0 for none."""
        found, others = list[Any](), list[ast.AST]()
        for node in nodes:
            sort = node.__class__
            if isinstance(node, ast.Name):
                if node.id == name:
                    (found if isinstance(node.ctx, ast.Load) else others).append(node)
            elif isinstance(node, ast.Constant):
                if name in words_in(node, name):
                    found.append(node)
            elif sort is ast.Call or sort is ast.Subscript:
                if looks_at_names(node):
                    found.append(node)
            elif sort not in _SILENT:
                others.append(node)
        self.bound = sum(list(binds(node)).count(name) for node in others)
        inside = {id(part) for node in others for note in notes_of(node) for part in ast.walk(note)} if found else set()
        docs = {id(doc) for one in others if (doc := docstring_of(one))} if found else set()
        for node in found:
            if id(node) in inside:
                self.noted = self.noted or not isinstance(node, ast.Call | ast.Subscript)
            else:
                self._use(node, id(node) in docs)

    def _use(self, node: Any, docstring: bool) -> None:
        if isinstance(node, ast.Name):
            self.used = min(self.used or node.lineno, node.lineno)
        elif isinstance(node, ast.Constant):
            # doctest runs what follows `>>>` with the names of the module
            if not docstring or ">>>" in str(node.value):
                self.string = self.string or node.lineno
        else:
            self.looks = self.looks or node.lineno


def _in_type_comment(name: str, text: str) -> bool:
    if name not in text:
        return False
    found = (_TYPE_COMMENT.search(line) for line in _NEWLINE.split(text) if name in line)
    return any(name in words(one[1]) for one in found if one)


def looks_at_names(node: ast.AST) -> bool:
    """True for `globals()`, `eval(…)`, `dir()`, `sys.modules[__name__]` and the like."""
    if isinstance(node, ast.Call):
        called = node.func.id if isinstance(node.func, ast.Name) else ""
        own = [arg for arg in node.args if isinstance(arg, ast.Name) and arg.id == "__name__"]
        reload = (called or getattr(node.func, "attr", "")) in ("import_module", "__import__") and bool(own)
        return called in _LOOKS or (called in _BARE_LOOKS and not node.args) or reload
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name) and node.slice.id == "__name__"


def notes_of(node: ast.AST) -> Iterator[ast.expr]:
    """The annotations that belong to this very node."""
    if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
        yield node.annotation
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
        yield node.returns


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


def docstring_of(node: ast.AST) -> ast.Constant | None:
    """The docstring of this very node."""
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or not node.body:
        return None
    first = node.body[0]
    value = first.value if isinstance(first, ast.Expr) else None
    return value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None


def words_in(node: ast.Constant, name: str) -> list[str]:
    """The identifiers in a constant, if it is a text or bytes that may hold this one."""
    text = node.value.decode("utf-8", "replace") if isinstance(node.value, bytes) else node.value
    return words(text) if isinstance(text, str) and name in text else []


def words(text: str) -> list[str]:
    """The identifiers in a text."""
    return _WORD.findall(text)


LIBRARIES: Final = frozenset(
    ("aiogram", "apischema", "arguably", "beanie", "beartype", "blacksheep", "cappa", "cattr", "cattrs", "clize",
     "cyclopts", "dacite", "dagster", "dataclasses_json", "defopt", "dishka", "disnake", "discord", "esmerald",
     "fastapi", "fastmcp", "faststream", "flytekit", "hypothesis", "injector", "jaxtyping", "jsonargparse", "kfp",
     "lagom", "langchain_core", "litestar", "magicgui", "marshmallow_dataclass", "mashumaro", "mcp", "mirascope",
     "msgspec", "multimethod", "nextcord", "ninja", "odmantic", "ovld", "pandera", "piccolo", "plac", "plum",
     "prefect", "punq", "pydantic", "pydantic_ai", "pydantic_settings", "pyserde", "runtype", "sanic_ext", "serde",
     "simple_parsing", "spock", "sqlalchemy", "sqlmodel", "starlite", "strawberry", "svcs", "taskiq", "that_depends",
     "tortoise", "trycast", "typeguard", "typer", "typic", "tyro", "wireup", "zenml")
)  # fmt: skip
"""Top-level names of libraries that evaluate annotations at run time, or may."""
WORDS: Final = frozenset(
    ("get_type_hints", "get_annotations", "__annotations__", "eval_str", "annotation", "return_annotation",
     "singledispatch", "singledispatchmethod", "resolve_types", "make_dataclass", "ForwardRef")
)  # fmt: skip
"""Names and attributes by which code looks at annotations itself."""
_HARMLESS: Final = frozenset({"click", "pytest"})
# dataclasses recognizes these in the text of an annotation, by the names that the module has (_is_type in CPython)
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
    # PEP 563: once annotations are text, names of a function around the class can no longer be looked up
    local = {id(part) for node in ast.walk(tree) if _is_function(node) for part in ast.walk(node) if part is not node}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for decorator in node.decorator_list:
                if _root(decorator) not in known:
                    return f"@{_source_of(decorator)} may read annotations at run time (line {decorator.lineno})"
        if isinstance(node, ast.ClassDef) and any(isinstance(part, ast.AnnAssign) for part in node.body):
            for base in [*node.bases, *(keyword.value for keyword in node.keywords)]:
                if _root(base) not in known and not isinstance(base, ast.Constant):
                    return f"the class {_source_of(base)} may read annotations at run time (line {node.lineno})"
                if adding_future and _source_of(base).rpartition(".")[2] == "TypedDict":
                    return f"a TypedDict reads its annotations at run time (line {node.lineno})"
            if adding_future and id(node) in local:
                return f"a class inside a function may need its annotations at run time (line {node.lineno})"
        if adding_future and any(_does(note) for note in notes_of(node)):
            return f"an annotation calls something (line {node.lineno})"  # type: ignore[attr-defined]
    return ""


def special(tree: ast.Module, name: str, original: str) -> bool:
    """True if the name is a word that dataclasses look for in annotations, such as `ClassVar`."""
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
    """A string that is one word with underscores: nobody writes one by accident."""
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
            # what the standard library has to read annotations (get_type_hints, singledispatch) is in WORDS
            if top in sys.stdlib_module_names or top in _HARMLESS or top in ("attr", "attrs", "typing_extensions"):
                found.update(a.asname or a.name.partition(".")[0] for a in node.names)  # type: ignore[attr-defined]
    return found


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _source_of(node: ast.expr) -> str:
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return ast.unparse(node)


def _does(note: ast.expr) -> bool:
    return any(isinstance(part, ast.Call | ast.NamedExpr | ast.Await | ast.Yield) for part in ast.walk(note))


UNUSED: Final = "unused"
NOTED: Final = "annotations"
NEEDED: Final = "needed"
# what flake8 and ruff (a bare noqa, or F401: unused import), pycln and isort take as an order to leave an import
_KEEP_COMMENT = re.compile(rb"#.*?(noqa(?!:)|noqa:[^#]*F401|nopycln|isort:\s*skip|import-side-effect)", re.I)


@dataclass(frozen=True, slots=True)
class Need:
    """What one imported name is needed for."""

    kind: str
    """`unused`, `annotations`, or `needed`: it has to stay as it is."""
    reason: str = ""
    """Why it is needed: a clause such as `it is used at run time (line 7)`."""
    name: str = ""
    """The name that it binds."""


@dataclass(slots=True)
class Source:
    """One parsed file, ready to be asked."""

    path: str
    content: bytes
    tree: ast.Module
    trusted: Collection[str] = ()
    """Names imported from modules of the repository that keep away from libraries which evaluate annotations."""
    readers: str | None = None
    """Who may read the annotations of this file at run time, once that was asked; empty: nobody."""

    def mentions(self, name: str) -> Mentions:
        """How the file uses a name, in strings and comments too."""
        return Mentions(name, ast.walk(self.tree), self.content.decode("utf-8", "replace"))

    def mentions_in_code(self, name: str) -> Mentions:
        """How its code uses a name, faster: from the statements with the name only."""
        return Mentions(name, near([self.tree], lines_with(self.content, [name])))

    @property
    def lazy_annotations(self) -> bool:
        """True where the file has `from __future__ import annotations`."""
        return any(
            isinstance(node, ast.ImportFrom) and node.module == "__future__" and node.names[0].name == "annotations"
            for node in self.tree.body
        )


def need(source: Source, row: Sequence[Any]) -> Need:
    """Return what an import (`row` of the scanner) is needed for, libraries that read annotations included."""
    found = mention(source, row)
    reason = _evaluated(source, found.name, row[1] or row[0]) if found.kind == NOTED else ""
    return Need(NEEDED, reason, found.name) if reason else found


def mention(source: Source, row: Sequence[Any]) -> Need:
    """Return what an import is needed for in its file, without asking who evaluates annotations at run time."""
    module, name, how = row[0], row[1], row[4]
    if how != "import":
        return Need(NEEDED, _MANNERS.get(how, f"it is a {how}"))
    found = statement(source.tree, row)
    if found is None:
        return Need(NEEDED, "it is not a statement by itself at the top level of the file")
    alias = next(alias for alias in found.names if alias.name == (name or module))
    bound = alias.asname or alias.name.partition(".")[0]
    # a use in the code is the better reason than a comment
    reason = _bound_twice_or_used(source.mentions_in_code(bound), bound) or _marked(source, found, alias)
    if reason:
        return Need(NEEDED, reason, bound)
    mentions = source.mentions(bound)
    reason = _spoken_of(mentions) or _answered(source.tree)
    return Need(NEEDED if reason else NOTED if mentions.noted else UNUSED, reason, bound)


_MANNERS: Final = {
    "lazy import": "it is imported inside a function, when that runs",
    "dynamic import": "it is imported by its name at run time",
    "star import": "it imports everything, so its uses are not known",
    "type-checking import": "only type checkers see it, and the manifest enforces such imports too",
}


def statement(tree: ast.Module, row: Sequence[Any]) -> ast.Import | ast.ImportFrom | None:
    """The import statement at the top level of a file that `row` was read from, if it has its lines to itself."""
    module, name, level, line, *_ = row
    found = None
    for node in tree.body:
        if node.lineno <= line <= (node.end_lineno or node.lineno):
            if found is not None or node.lineno != line:
                return None  # two statements on a line
            found = node
    if isinstance(found, ast.Import) and not name and any(alias.name == module for alias in found.names):
        return found
    if isinstance(found, ast.ImportFrom) and (found.module or "", found.level) == (module, level):
        return found if any(alias.name == name for alias in found.names) else None
    return None


def _marked(source: Source, node: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    if source.path.rpartition("/")[2] == "__init__.py":
        return "it is in an __init__.py, where others may import it from"
    # the explicit re-export of PEP 484, which mypy asks for under --no-implicit-reexport
    if alias.asname == alias.name:
        return f"`{alias.name} as {alias.name}` offers it to others"
    if sum(other.name == alias.name for other in node.names) > 1:
        return "the statement imports it twice"
    lines = source.content.splitlines()[node.lineno - 1 : node.end_lineno]
    found = next((match for line in lines if (match := _KEEP_COMMENT.search(line))), None)
    return f"a comment asks to leave it ({found[1].decode('ascii', 'replace')})" if found else ""


def _bound_twice_or_used(code: Mentions, bound: str) -> str:
    if code.bound > 1:
        return f"something else in the file is called {bound} too"
    return f"it is used at run time (line {code.used})" if code.used else ""


def _spoken_of(mentions: Mentions) -> str:
    if mentions.string:
        return f"a string names it (line {mentions.string})"
    return f"the file looks at its own names (line {mentions.looks})" if mentions.looks else ""


def _answered(tree: ast.Module) -> str:
    """The `__getattr__` of the module, which would answer for a removed name."""
    found = next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "__getattr__"), None)
    return f"the module's __getattr__ would answer in its place (line {found.lineno})" if found else ""


def _evaluated(source: Source, bound: str, original: str) -> str:
    if special(source.tree, bound, original):
        return "dataclasses look for it in annotations at run time"
    if source.readers is None:
        adding = not source.lazy_annotations
        source.readers = evaluator(source.tree) or reader_of(source.tree, source.trusted, adding)
    return source.readers


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
            for word in _words_of(node):
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


def _words_of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            yield from words(node.value)
        elif isinstance(node.value, bytes):
            yield from words(node.value.decode("utf-8", "replace"))
    elif isinstance(node, ast.keyword):
        yield from [node.arg] if node.arg else []
    # `case Point(x=0)` reads the attribute x (PEP 634)
    elif isinstance(node, ast.MatchClass):
        yield from node.kwd_attrs


def _has_doctest(node: ast.Constant) -> bool:
    return ">>>" in str(node.value)
