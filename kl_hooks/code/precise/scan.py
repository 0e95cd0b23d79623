"""The precise scanner for Python: the facts of one file as libcst sees them, by its own parser,
scopes and positions.

It fills the same contract as `scanner.python.scan_python` for definitions and imports and shares no code
with it that looks at a syntax tree. Content hashes and words stay empty: there is one definition of
these, the fast scanner's walk.
"""

from __future__ import annotations

from typing import Any

import libcst as cst
from libcst.metadata import ImportAssignment

from kl_hooks.code.scanner.parser import LONGEST, Facts
from kl_hooks.code.scanner.symbols import namespace_signature, tidy
from kl_hooks.model.canonical import replace_surrogates
from kl_hooks.model.definitions import NamedTuple, lazy_pattern

# not str.splitlines(): it also splits at form feeds, U+0085 and U+2028, which end no line of Python
# source
_LINE_END = lazy_pattern(r"\r\n|\r|\n")


class Source:
    """The text of a module and the positions of its nodes."""

    def __init__(self, module: Any, positions: Any) -> None:
        self.module = module
        self._positions = positions
        self._lines = _LINE_END.split(module.code.removeprefix("\ufeff"))
        self.count = max(len(self._lines) - (self._lines[-1] == ""), 1)
        """How many lines there are; an empty file has one."""

    def place(self, node: Any) -> tuple[int, int, int, int]:
        """(line, column, end line, end column); lines count from 1, columns in characters from
        0.
        """
        there = self._positions[node]
        return there.start.line, there.start.column, there.end.line, there.end.column

    def statement(self, node: Any) -> str:
        """The source of a node on one line; of a longer one the first line and `…`."""
        line, column, end_line, end_column = self.place(node)
        if line == end_line:
            return _shortened_text(self._lines[line - 1][column:end_column])
        return _shortened_text(self._lines[line - 1][column:].rstrip()) + " …"


def header(source: Source, node: Any) -> str:
    """The head of a class or function up to its colon: decorators, comments and line ends taken out
    of the tree.
    """
    import libcst

    class Plain(libcst.CSTTransformer):
        def leave_Comment(self, original_node: Any, updated_node: Any) -> Any:
            return libcst.RemoveFromParent()

        def leave_SimpleWhitespace(self, original_node: Any, updated_node: Any) -> Any:
            return updated_node.with_changes(value=" " if updated_node.value else "")

    # code_for_node prints whole statements only: this body is short and known, and is cut off again
    # below
    nothing = libcst.SimpleStatementSuite(
        [libcst.Pass()], leading_whitespace=libcst.SimpleWhitespace("")
    )
    alone = node.with_changes(
        body=nothing, decorators=(), leading_lines=(), lines_after_decorators=()
    )
    text = libcst.Module([]).code_for_node(alone.visit(Plain()))
    return _shortened_text(
        tidy(text.rstrip().removesuffix(":pass").encode("utf-8", "replace")).decode()
    )


def _doc_line(node: Any) -> str:
    """The first line of a module's, class's or function's docstring, or empty."""
    text = node.get_docstring(clean=False)
    if not text:
        return ""
    return _shortened_text(
        str(replace_surrogates(text.lstrip().partition("\n")[0].rstrip())).replace("\0", "")
    )


def _shortened_text(text: str) -> str:
    """At most `LONGEST` characters, `…` where it was cut."""
    if len(text) <= LONGEST:
        return text
    return text[: LONGEST - 1] + "…"


class Definition(NamedTuple):
    """A definition."""

    kind: str
    """`class`, `function`, `field` or `alias`."""
    name: str
    """Qualified within its module."""
    node: Any
    in_class: bool
    """True in the body of a class."""


def _sort_of(definition: Definition) -> str:
    """The part of its Id before the colon."""
    if definition.kind == "class":
        bases = [arg.value for arg in definition.node.bases]
        metaclasses = [
            arg.value
            for arg in definition.node.keywords
            if arg.keyword and arg.keyword.value == "metaclass"
        ]
        if {last_name(b) for b in bases + metaclasses} & {"Protocol", "ABC", "ABCMeta"}:
            return "interface"
        return "type"
    if definition.kind == "function":
        if not definition.in_class:
            return "function"
        if any(_makes_property(d.decorator) for d in definition.node.decorators):
            return "property"
        return "method"
    if definition.kind == "alias":
        return "type"
    return "field"


def _is_overload(definition: Definition) -> bool:
    """True for a function under `@overload`."""
    return definition.kind == "function" and any(
        last_name(d.decorator) == "overload" for d in definition.node.decorators
    )


def last_name(node: Any) -> str:
    """`c` of `a.b.c`, `c(…)` and `c[…]`; empty for anything else."""
    import libcst

    while isinstance(node, libcst.Subscript | libcst.Call):
        if isinstance(node, libcst.Subscript):
            node = node.value
        else:
            node = node.func
    if isinstance(node, libcst.Attribute):
        return node.attr.value
    if not isinstance(node, libcst.Name):
        return ""
    return node.value


def local_names(scopes: Any, node: Any, around: Any) -> list[str]:
    """The qualified names that libcst gives to what `node` binds in the scope of `around`; `?` if
    it gives none.
    """
    from libcst.metadata import QualifiedNameSource

    qualified_names = scopes[around].get_qualified_names_for(node)
    return sorted(
        qualified_name.name
        for qualified_name in qualified_names
        if qualified_name.source is QualifiedNameSource.LOCAL
    ) or ["?"]


def _makes_property(decorator: Any) -> bool:
    import libcst

    name = last_name(decorator)
    accessor = isinstance(decorator, libcst.Attribute) and name in ("setter", "getter", "deleter")
    return name.endswith("property") or accessor


DYNAMIC = ("import_module", "__import__")
"""The functions that import by name."""


def import_rows(node: Any, manner_name: str, source: Source) -> list[list[Any]]:
    """`[module, name, level, line, how, statement]` for everything that an import statement
    imports.
    """
    import libcst
    from libcst.helpers import get_full_name_for_node

    line, _, end_line, _ = source.place(node)

    def text(short: str) -> str:
        if line != end_line:
            return short
        return source.statement(node)

    if isinstance(node, libcst.Import):
        names = [get_full_name_for_node(alias.name) or "" for alias in node.names]
        return [[name, "", 0, line, manner_name, text(f"import {name}")] for name in names]
    if node.module is not None:
        module = get_full_name_for_node(node.module) or ""
    else:
        module = ""
    start = "." * len(node.relative) + module
    if isinstance(node.names, libcst.ImportStar):
        if manner_name == "import":
            manner = "star import"
        else:
            manner = manner_name
        return [[module, "*", len(node.relative), line, manner, text(f"from {start} import *")]]
    imported = [get_full_name_for_node(alias.name) or "" for alias in node.names]
    return [
        [module, name, len(node.relative), line, manner_name, text(f"from {start} import {name}")]
        for name in imported
    ]


def _dynamic_row(node: Any, source: Source, importers: set[str]) -> list[list[Any]]:
    """The row of `importlib.import_module("a.b")` or `__import__("a.b")` with a literal name; else
    none.

    `importers`: what such functions are called in the file.
    """
    if last_name(node.func) not in importers or not _plain(node.func):
        return []
    if last_name(node.func) == "__import__":
        line = source.place(node)[0]
        text = source.statement(node)
        return [[*row, line, "dynamic import", text] for row in _dunder(node)]
    positional = [arg.value for arg in node.args if arg.keyword is None and arg.star != "**"]
    named = {arg.keyword.value: arg.value for arg in node.args if arg.keyword is not None}
    name = _literal(positional[0] if positional else named.get("name"))
    parts = name.lstrip(".").split(".")
    if not all(part.isidentifier() for part in parts):
        return []
    dots = len(name) - len(name.lstrip("."))
    module = ".".join(parts)
    if dots:
        if len(positional) > 1:
            package = positional[1]
        else:
            package = named.get("package")
        package_name = _literal(package)
        if package_name:
            # as importlib.util.resolve_name does: one dot is the package itself
            above = package_name.split(".")
            dots, module = 0, ".".join([*above[: len(above) - dots + 1], module])
        # relative to its own __package__ is what an import statement with dots means (PEP 366): the
        # dots stay
        elif last_name(package) != "__package__" or not _plain(package, attribute=False):
            return []
    return [[module, "", dots, source.place(node)[0], "dynamic import", source.statement(node)]]


def _dunder(node: Any) -> list[tuple[str, str, int]]:
    """`(module, name, level)` of `__import__(module, globals, locals, fromlist, level)`, where
    these are literal.
    """
    import libcst

    order = iter(("name", "globals", "locals", "fromlist", "level"))
    arguments: dict[str, Any] = {}
    for arg in node.args:
        if arg.keyword:
            key = arg.keyword.value
        elif arg.star == "**":
            key = ""
        else:
            key = next(order, "")
        # what a starred argument passes is unknown; a name is no literal, so nothing is read from
        # it
        arguments[key] = libcst.Name("_") if arg.star else arg.value
    if not isinstance(arguments.get("name"), libcst.SimpleString | libcst.ConcatenatedString):
        return []
    module = _literal(arguments["name"])
    written = arguments.get("level", libcst.Integer("0"))
    if not isinstance(written, libcst.Integer) or not all(
        part.isidentifier() for part in module.split(".") if module
    ):
        return []
    level = int(written.evaluated_value)
    wanted = arguments.get("fromlist")
    if isinstance(wanted, libcst.List | libcst.Tuple):
        items = [one.value for one in wanted.elements]
    else:
        items = []
    names = [name for name in map(_literal, items) if name]
    # no name at level 0 is a ValueError of __import__; with a level it is the package itself
    return [(module, name, level) for name in names if module or level] or (
        [(module, "", level)] if module else []
    )


def _plain(node: Any, attribute: bool = True) -> bool:
    import libcst

    return isinstance(node, libcst.Name) or (attribute and isinstance(node, libcst.Attribute))


def _literal(node: Any) -> str:
    """The value of a text literal, or empty."""
    import libcst

    if not isinstance(node, libcst.SimpleString | libcst.ConcatenatedString):
        return ""
    value = node.evaluated_value
    if isinstance(value, str):
        return value
    return ""


class _Scope(NamedTuple):
    kind: str
    name: str
    """Qualified, as CPython has it."""
    seen: str
    """As libcst has it for the names inside: it puts a class declared `global` under its function.
    """
    receiver: str = ""


class Visitor(cst.CSTVisitor):
    """Fills `found` and `imports`; runs over one module."""

    def __init__(self, source: Source, scopes: Any) -> None:
        super().__init__()
        self.source, self.scopes = source, scopes
        self.found: list[Definition] = []
        self.imports: list[list[Any]] = []
        self.dynamic = set(DYNAMIC)
        """The names of what imports by name, in this file."""
        self.calls: list[cst.Call] = []
        self.harmless: set[cst.CSTNode] = set()
        """Targets of a `TYPE_CHECKING` of the file's own that is false when it runs."""
        self._around = [_Scope("module", "", "")]
        self._checking = 0

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self.found.append(
            Definition("class", self._name(node, node), node, self._around[-1].kind == "class")
        )

    # at the body and not at the class: its decorators and bases are evaluated in the scope around
    # it
    def visit_ClassDef_body(self, node: cst.ClassDef) -> None:
        self._around.append(_Scope("class", self._name(node, node), self._prefix(node.name.value)))

    def leave_ClassDef_body(self, node: cst.ClassDef) -> None:
        self._around.pop()

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        in_class = self._around[-1].kind == "class"
        self.found.append(Definition("function", self._name(node, node), node, in_class))

    def visit_FunctionDef_body(self, node: cst.FunctionDef) -> None:
        first = [*node.params.posonly_params, *node.params.params][:1]
        in_class = self._around[-1].kind == "class"
        if first and in_class:
            receiver = first[0].name.value
        else:
            receiver = ""
        scope = _Scope("function", self._name(node, node), self._prefix(node.name.value), receiver)
        self._around.append(scope)

    def leave_FunctionDef_body(self, node: cst.FunctionDef) -> None:
        self._around.pop()

    def visit_Assign(self, node: cst.Assign) -> None:
        self._named_anew(node, [target.target for target in node.targets])
        if self._around[-1].kind != "function":
            self._fields(node, [target.target for target in node.targets])

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        scope = self._around[-1]
        target = node.target
        self._named_anew(node, [target])
        if scope.kind != "function":
            self._fields(node, [target])
            return
        if isinstance(target, cst.Attribute):
            owner = target.value
        else:
            owner = None
        if (
            isinstance(owner, cst.Name)
            and scope.receiver == owner.value
            and isinstance(target, cst.Attribute)
        ):
            self.found.append(
                Definition("field", f"{self._around[-2].name}.{target.attr.value}", node, False)
            )

    def _named_anew(self, node: Any, targets: list[Any]) -> None:
        """`load = importlib.import_module`, and `TYPE_CHECKING = False` outside of functions."""
        value = node.value
        whole = not isinstance(value, cst.Call | cst.Subscript)
        if whole and value is not None and last_name(value) in self.dynamic:
            self.dynamic |= {target.value for target in targets if isinstance(target, cst.Name)}
        elsewhere = isinstance(value, cst.Attribute) and value.attr.value == "TYPE_CHECKING"
        if isinstance(value, cst.Name | cst.Integer):
            written = value.value
        else:
            written = ""
        if self._around[-1].kind != "function" and (
            value is None or elsewhere or written in ("False", "0")
        ):
            self.harmless.update(targets)

    def visit_TypeAlias(self, node: cst.TypeAlias) -> None:
        self.found.append(Definition("alias", self._name(node.name, node), node, False))

    def _name(self, node: Any, around: Any) -> str:
        (name, *_) = local_names(self.scopes, node, around)
        scope = self._around[-1]
        inside = scope.seen and name.startswith(f"{scope.seen}.")
        if not inside:
            return name
        return scope.name + name.removeprefix(scope.seen)

    def _prefix(self, name: str) -> str:
        scope = self._around[-1]
        if scope.kind == "function":
            dots = ".<locals>."
        else:
            dots = "."
        if not scope.seen:
            return name
        return f"{scope.seen}{dots}{name}"

    def _fields(self, node: Any, targets: list[Any]) -> None:
        for target in targets:
            if isinstance(target, cst.Tuple | cst.List):
                inner = [part.value for part in target.elements]
            else:
                inner = [target]
            for part in inner:
                if isinstance(part, cst.Name):
                    self.found.append(Definition("field", self._name(part, part), node, False))

    def visit_If_body(self, node: cst.If) -> None:
        self._checking += _type_checking(node.test) == 1

    def leave_If_body(self, node: cst.If) -> None:
        self._checking -= _type_checking(node.test) == 1

    def visit_If_orelse(self, node: cst.If) -> None:
        self._checking += _type_checking(node.test) == -1

    def leave_If_orelse(self, node: cst.If) -> None:
        self._checking -= _type_checking(node.test) == -1

    def visit_Import(self, node: cst.Import) -> None:
        self.imports += import_rows(node, self._how(), self.source)

    def visit_ImportFrom(self, node: cst.ImportFrom) -> None:
        self.imports += import_rows(node, self._how(), self.source)
        if (
            isinstance(node.module, cst.Name)
            and node.module.value in ("importlib", "builtins")
            and not node.relative
        ):
            names = () if isinstance(node.names, cst.ImportStar) else node.names
            self.dynamic |= {
                last_name(one.asname.name)
                for one in names
                if one.asname and one.name.value in DYNAMIC
            }

    def visit_Call(self, node: cst.Call) -> None:
        self.calls.append(node)

    def leave_Module(self, original_node: cst.Module) -> None:
        """What needs the whole file: which names import by name, and whether `TYPE_CHECKING` is
        what it seems to be.
        """
        for call in self.calls:
            self.imports += _dynamic_row(call, self.source, self.dynamic)
        if self._checked_always():
            self.imports = [
                [*row[:4], row[4].replace("type-checking import", "import"), row[5]]
                for row in self.imports
            ]

    def _checked_always(self) -> bool:
        for scope in {scope for scope in self.scopes.values() if scope is not None}:
            for assignment in scope.assignments["TYPE_CHECKING"]:
                imported = isinstance(assignment, ImportAssignment) and isinstance(
                    assignment.node, cst.ImportFrom
                )
                if assignment.node not in self.harmless and not (
                    imported and _from_another(assignment.node)
                ):
                    return True
        return False

    def _how(self) -> str:
        if self._checking:
            return "type-checking import"
        if any(scope.kind == "function" for scope in self._around):
            return "lazy import"
        return "import"


def _from_another(node: Any) -> bool:
    """True for `from m import TYPE_CHECKING`."""
    names = () if isinstance(node.names, cst.ImportStar) else node.names
    return any(last_name(one.name) == "TYPE_CHECKING" for one in names)


def _type_checking(test: cst.BaseExpression) -> int:
    """1 for `TYPE_CHECKING` and `typing.TYPE_CHECKING`, -1 for `not` of it, else 0."""
    sign = 1
    while isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        sign, test = -sign, test.expression
    if isinstance(test, cst.Attribute):
        test = test.attr
    if isinstance(test, cst.Name) and test.value == "TYPE_CHECKING":
        return sign
    return 0


def scan_precise(content: bytes, path: str, module: str) -> Facts:
    """The facts of one Python file that CPython's parser accepts.

    Raises what libcst raises for what it can't read, RecursionError for what is nested too deeply
    for a visitor in Python; libcst may also end the process, so call it in one that may be lost
    (`precise_run`).
    """
    import libcst
    from libcst.metadata import MetadataWrapper, PositionProvider, ScopeProvider

    # the deep copy is for trees that hold a node twice; a tree that comes from the parser does not
    # (libcst's docs)
    wrapper = MetadataWrapper(libcst.parse_module(content), unsafe_skip_copy=True)
    metadata = wrapper.resolve_many((PositionProvider, ScopeProvider))
    source = Source(wrapper.module, metadata[PositionProvider])
    visitor = Visitor(source, metadata[ScopeProvider])
    wrapper.module.visit(visitor)
    whole = [
        f"namespace:{module}",
        1,
        source.count,
        namespace_signature(module),
        _doc_line(wrapper.module),
        "",
    ]
    rows = [whole, *_rows(visitor.found, source, module)]
    imports = sorted(visitor.imports, key=lambda row: (row[3], row[0], row[1]))
    return {"error": "", "symbols": rows, "words": ["" for _ in rows], "imports": imports}


def _rows(definitions: list[Definition], source: Source, module: str) -> list[list[Any]]:
    """A row for each name: place and signature of its first definition that is no overload, the
    first docstring.
    """
    same: dict[str, list[Definition]] = {}
    for candidate in definitions:
        same.setdefault(f"{_sort_of(candidate)}:{module}.{candidate.name}", []).append(candidate)
    rows = []
    for name, all_of_it in same.items():
        chosen = next(
            (candidate for candidate in all_of_it if not _is_overload(candidate)), all_of_it[0]
        )
        line, _, end_line, _ = source.place(chosen.node)
        definition = chosen.kind in ("class", "function")
        if definition:
            signature = header(source, chosen.node)
        else:
            signature = source.statement(chosen.node)
        if definition:
            doc = next(filter(None, (_doc_line(candidate.node) for candidate in all_of_it)), "")
        else:
            doc = ""
        rows.append([name, line, end_line, signature, doc, ""])
    return rows
