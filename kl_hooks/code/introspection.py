"""What the code of a file asks of namespaces, docstrings and code objects, and which names it uses,
by symbol.

A function that lists a module (`globals()`, `vars(module)`, `inspect.getmembers(module)`) gets
another answer when the module defines one name more, though nothing that it executes differs. The
same is true of a class, and of docstrings that are read. Names are resolved through the imports of
the file; an argument that doesn't resolve may be any module.

Pure: one file's bytes in, facts out.
"""

from __future__ import annotations

import ast
import symtable
import warnings
from collections.abc import Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field, fields
from importlib.util import decode_source
from typing import Any, Final, Self, TypeGuard

from kl_hooks.code.scanner.parser import nodes_inside, parse_tree
from kl_hooks.model.definitions import EMPTY, NamedTuple, lazy_pattern

_ANY: Final = "?"
"""In place of a module's name: an object that doesn't resolve, which may be any module."""
_AT_IMPORT: Final = ""
"""In place of a symbol: what importing the file executes."""
EXAMPLES: Final = ">>>"
"""In place of a symbol: the examples in docstrings, which a doctest executes and nothing else."""
_WORDS_OF_CODE: Final = (
    *("__code__", "getsource", "getsourcelines", "getcomments", "dis"),
    *("f_lineno", "tb_lineno", "lineno"),
)
WORDS: Final = {
    "lists_anything": (
        *("globals", "locals", "vars", "dir", "getmembers", "getmembers_static"),
        *("__dict__", "getattr", "hasattr", "doctest", "create_autospec", "autospec"),
    ),
    "passes_anything": ("modules", "import_module", "__import__"),
    "asks_by_computed_names": (
        *("getattr", "getattr_static", "hasattr", "attrgetter"),
        *("__getattribute__", "__dict__"),
    ),
    "lists_subclasses": ("__subclasses__",),
    "reads_docs": ("__doc__", "getdoc", "doctest", "docopt", "pydoc"),
    "reads_annotations": (
        *("__annotations__", "__signature__", "get_type_hints", "get_annotations"),
        *("signature", "Signature", "getfullargspec"),
    ),
    "reads_code": _WORDS_OF_CODE,
    "reads_code_of_arguments": _WORDS_OF_CODE,
    "reads_source": _WORDS_OF_CODE,
    "reads_lines": ("lineno",),
    "counts_objects": (
        *("get_objects", "get_referrers", "get_count", "get_stats", "garbage"),
        *("getweakrefcount", "getweakrefs", "getrefcount", "getallocatedblocks"),
        *("get_traced_memory", "take_snapshot"),
    ),
    "draws_random_numbers": ("random",),
}
"""What is asked, an attribute of `SymbolUses` → the words of which a file has one where its code asks
it.
"""

_BUILTIN_LISTS: Final = frozenset({"globals", "locals", "vars", "dir"})
_LISTS: Final = frozenset(
    {
        *("inspect.getmembers", "inspect.getmembers_static", "importlib.resources.files"),
        # with all that they have, and the signatures of it
        *("unittest.mock.create_autospec", "mock.create_autospec"),
    }
)
_ASKS_FOR_ONE: Final = frozenset({"getattr", "getattr_static", "hasattr"})
"""What asks its first argument for the attribute that its second one names."""
_LEADS_TO_CODE: Final = frozenset({"__code__", "f_lineno", "tb_lineno"})
"""Attributes that have a code object, or the number of one of its lines."""
_LINE_FORMATS: Final = ("%(lineno)", "{lineno", "$lineno", "${lineno")
_IMPORTERS: Final = frozenset({"importlib.import_module", "builtins.__import__", "sys.modules"})
_READERS_OF_SOURCE: Final = ("inspect.getsource", "inspect.getcomments", "dis.")
"""`getsource` and `getsourcelines` read comments and layout, too."""
_READERS_OF_ANNOTATIONS: Final = (
    *("typing.get_type_hints", "typing_extensions.get_type_hints", "inspect.get_annotations"),
    *("inspect.signature", "inspect.Signature", "inspect.getfullargspec", "annotationlib."),
)
_COUNTERS: Final = frozenset(
    {
        *("gc.get_objects", "gc.get_referrers", "gc.get_count", "gc.get_stats", "gc.garbage"),
        *("weakref.getweakrefcount", "weakref.getweakrefs"),
        *("sys.getrefcount", "sys.getallocatedblocks"),
        *("tracemalloc.get_traced_memory", "tracemalloc.take_snapshot"),
    }
)
"""What the interpreter knows of all objects of the process."""
_GENERATORS: Final = ("random.", "numpy.random.")
_OWN_GENERATORS: Final = frozenset(
    {
        *("random.Random", "random.SystemRandom"),
        *("numpy.random.default_rng", "numpy.random.Generator", "numpy.random.RandomState"),
    }
)
"""Modules with a generator of random numbers for the whole process, and what makes others."""
_READERS_OF_DOCS: Final = ("doctest", "docopt", "pydoc", "inspect.getdoc")
_IDENTIFIER: Final = lazy_pattern(r"[^\W\d]\w*")
_MADE_CODE: Final = frozenset({"exec", "eval", "help"})
"""What executes code that is made at run time, or shows what is got by a text."""
_NAMES_ALONE: Final = frozenset(
    {"names", "variables", "texts", "values", "draws_random_numbers", "draws_itself"}
)
"""The fields of `SymbolUses` of code that gets nothing but what it names."""
_EQUALS: Final = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True)
class SymbolUses:
    """What the code of one symbol uses: of a function with all that is inside."""

    names: set[str] = field(default_factory=set)
    """Identifiers that it loads or asks for as attributes, and those in strings: code may ask for
    `app.Shape` or make a type of "list[Shape]".
    """
    variables: set[str] = field(default_factory=set)
    """Of these names those that only name variables of functions, or are in texts that are only
    compared: by them nothing else is got.
    """
    texts: set[str] = field(default_factory=set)
    """Of the names those that are in texts alone."""
    listed: set[str] = field(default_factory=set)
    """Modules whose namespace it lists."""
    lists_own: bool = False
    """Whether it lists that of its own module."""
    values: set[str] = field(default_factory=set)
    """Modules that it uses as a value, such as an argument."""
    asks_by_computed_names: bool = False
    """Whether it asks some object for an attribute by a name made at run time."""
    lists_subclasses: bool = False
    reads_docs: bool = False
    reads_annotations: bool = False
    """Whether it asks for annotations or signatures, which lead to classes."""
    reads_code: bool = False
    """Whether it asks for code objects, without executing them, or for numbers of lines."""
    reads_code_of_arguments: bool = False
    """The same of what it is called with, `def note(function): CODES.add(function.__code__)`."""
    reads_source: bool = False
    """Whether it asks for source: comments and layout, too."""
    reads_lines: bool = False
    """Whether it asks some object for the number of a line: a record of a log, a warning, a node of
    a syntax tree.
    """
    counts_objects: bool = False
    """Whether it asks the interpreter which objects there are, or how often one is referred to."""
    draws_random_numbers: bool = False
    """Whether it uses the generator of random numbers that the whole process has."""
    draws_itself: bool = False
    """Whether that is more than to hand it to others, as `def pick(choose=random.choice)` does."""

    def plain(self) -> dict[str, Any]:
        """As JSON, without what has its default."""
        values = {part.name: getattr(self, part.name) for part in fields(self)}
        return {
            name: sorted(value) if isinstance(value, set) else value
            for name, value in values.items()
            if value
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """The way back. TypeError for what `plain` did not make."""
        values: dict[str, Any] = {
            name: set(value) if isinstance(value, list) else value for name, value in plain.items()
        }
        return cls(**values)

    @property
    def shared_names(self) -> Set[str]:
        """The names of what outlives a call: globals, attributes, what strings may name."""
        return self.names - self.variables

    @property
    def gets_by_names_alone(self) -> bool:
        """Whether it gets nothing that it does not name, but by what it hands modules to."""
        is_made = self.passes_anything or not self.names.isdisjoint(_MADE_CODE)
        return not is_made and self.plain().keys() <= _NAMES_ALONE

    @property
    def lists_anything(self) -> bool:
        """Whether it lists an object that may be any module."""
        return _ANY in self.listed

    @property
    def passes_anything(self) -> bool:
        """Whether it gets modules by names made at run time."""
        return _ANY in self.values


class Introspection(NamedTuple):
    """The uses of a file."""

    symbols: Mapping[str, SymbolUses] = EMPTY
    """`C.m`, `f`, `C` for the body of a class → its uses; `_AT_IMPORT`, `EXAMPLES`."""
    bases: Mapping[str, frozenset[str]] = EMPTY
    """Class → identifiers in its bases."""
    aliases: Mapping[str, str] = EMPTY
    """Another name that an import or an assignment of the module gives → the name that it is of."""
    stars: frozenset[str] = frozenset()
    """Modules of which it imports everything; relative ones with leading dots."""
    error: str = ""

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "symbols": {symbol: uses.plain() for symbol, uses in self.symbols.items()},
            "bases": {name: sorted(names) for name, names in self.bases.items()},
            "aliases": dict(self.aliases),
            "stars": sorted(self.stars),
            "error": self.error,
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """The way back. KeyError and TypeError for what `plain` did not make."""
        return cls(
            {symbol: SymbolUses.from_plain(uses) for symbol, uses in plain["symbols"].items()},
            {name: frozenset(names) for name, names in plain["bases"].items()},
            plain["aliases"],
            frozenset(plain["stars"]),
            plain["error"],
        )

    @property
    def names_of_bases(self) -> frozenset[str]:
        """Identifiers in bases and in annotations of fields."""
        return frozenset().union(*self.bases.values())

    def runs_at_import(self, symbol: str) -> bool:
        """Whether importing the file executes the code of a symbol: of the module or a class."""
        return symbol == _AT_IMPORT or symbol in self.bases


def introspection(content: bytes) -> Introspection:
    """Read the uses of a file of this content. Never raises for bad source."""
    try:
        return _Reader(parse_tree(content), _Variables(content)).read()
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        return Introspection(error=str(problem))


class ExamplesOfText(NamedTuple):
    """What the examples of a text, such as a README, may get."""

    words: frozenset[str]
    """Those of the whole text."""
    values: frozenset[str]
    """Full names that they use as values: of modules, perhaps."""


def examples_of_text(content: bytes) -> ExamplesOfText | None:
    """None where a text has no examples that a doctest executes, or these may get more than they
    name.
    """
    # takes .02 s, and few programs have such a text
    from doctest import DocTestParser

    try:
        text = content.decode()
        examples = DocTestParser().get_examples(text)
    except ValueError:  # it is not UTF-8, or an example is not indented as it should be
        return None
    uses_of_text = introspection("".join(example.source for example in examples).encode())
    uses = uses_of_text.symbols.values()
    if (
        not examples
        or uses_of_text.error
        or not all(of_symbol.gets_by_names_alone for of_symbol in uses)
    ):
        return None
    values = frozenset[str]().union(*(of_symbol.values for of_symbol in uses))
    return ExamplesOfText(frozenset(_IDENTIFIER.findall(text)), values)


class _Variables:
    """The variables of the functions of a file, as the compiler distinguishes them from
    globals.
    """

    def __init__(self, content: bytes) -> None:
        self._functions: dict[tuple[str, int], set[str]] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # the parser takes what the compiler refuses: no variable is known then
            with suppress(SyntaxError):
                self._add(symtable.symtable(decode_source(content), "", "exec"))

    def _add(self, table: symtable.SymbolTable) -> tuple[set[str], set[str]]:
        """The variables and the globals in a scope, with all that is inside."""
        variables: set[str] = set()
        others: set[str] = set()
        for symbol in table.get_symbols():
            if symbol.is_global() or symbol.is_imported():
                others.add(symbol.get_name())
            else:
                variables.add(symbol.get_name())
        for inner in table.get_children():
            inner_variables, inner_others = self._add(inner)
            variables |= inner_variables
            others |= inner_others
        if table.get_type() == "function":
            place = (table.get_name(), table.get_lineno())
            self._functions.setdefault(place, set()).update(variables - others)
        return variables, others

    def of(self, function: Function) -> Set[str]:
        """Those of a function and of all that is inside."""
        return self._functions.get((function.name, function.lineno), frozenset())


class _Reader:
    def __init__(self, tree: ast.Module, variables: _Variables) -> None:
        self._tree = tree
        self._variables = variables
        self._parameters: Set[str] = frozenset()
        """Of the function that is read."""
        self._shared: dict[str, set[str]] = {}
        """Symbol → names that are more than variables."""
        self._compared: dict[str, set[str]] = {}
        """Symbol → names in texts that are compared."""
        self._named: dict[str, set[str]] = {}
        """Symbol → names that are more than in texts."""
        self._imported: dict[str, str] = {}
        """Name → module or `module.name` that it is imported from."""
        self._modules: dict[str, str] = {}
        """Names of `import a.b`: what they are bound to is a module for certain."""
        self._symbols: dict[str, SymbolUses] = {}
        self._bases: dict[str, frozenset[str]] = {}
        self._aliases: dict[str, str] = {}
        self._stars: set[str] = set()

    def read(self) -> Introspection:
        for node in nodes_inside(self._tree):
            self._note_import(node)
        for statement in self._tree.body:
            self._statement(statement, _AT_IMPORT)
        # `if kind == "limit": …`, and another function gets what has this name
        asks = any(
            uses.asks_by_computed_names or uses.lists_own or uses.listed
            for uses in self._symbols.values()
        )
        for symbol, uses in self._symbols.items():
            uses.variables = uses.names - self._shared.get(symbol, set())
            if asks:
                uses.variables -= self._compared.get(symbol, set())
            uses.texts = uses.names - self._named.get(symbol, set())
        return Introspection(self._symbols, self._bases, self._aliases, frozenset(self._stars))

    def _note_import(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                if alias.asname:
                    target = alias.name
                else:
                    target = name
                self._imported[name] = self._modules[name] = target
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                if alias.name == "*":
                    self._stars.add(module)
                    continue
                name = alias.asname or alias.name
                if module.endswith(".") or not module:
                    joint = ""
                else:
                    joint = "."
                self._imported[name] = f"{module}{joint}{alias.name}"
                if alias.asname:
                    self._aliases[alias.asname] = alias.name

    # symbols

    def _statement(self, statement: ast.stmt, symbol: str) -> None:
        if isinstance(statement, Function):
            # an import evaluates defaults; an annotation makes no instance, but who calls the
            # function may make one by it
            for decorator in statement.decorator_list:
                self._code(decorator, symbol)
            for default in (*statement.args.defaults, *filter(None, statement.args.kw_defaults)):
                self._default(default, symbol)
            name = _inside(symbol, statement.name)
            for argument in ast.iter_child_nodes(statement.args):
                self._code(argument, name)
            self._parameters = _parameters_of(statement)
            for inner in statement.body:
                self._code(inner, name, self._variables.of(statement))
            self._parameters = frozenset()
            if statement.returns is not None:
                self._code(statement.returns, name)
            return
        if isinstance(statement, ast.ClassDef):
            self._class(statement, symbol)
            return
        if _assigns_all(statement):
            return  # a list of names uses none of them
        if _is_text(statement):
            self._note_examples(statement)
            return
        self._note_alias(statement, symbol)
        for part in ast.iter_child_nodes(statement):
            if isinstance(part, ast.stmt):
                self._statement(part, symbol)
            elif isinstance(part, ast.ExceptHandler | ast.match_case):
                for inner in part.body:
                    self._statement(inner, symbol)
                if isinstance(part, ast.ExceptHandler) and part.type is not None:
                    self._code(part.type, symbol)
            else:
                self._code(part, symbol)

    def _class(self, node: ast.ClassDef, symbol: str) -> None:
        bases = [*node.bases, *(keyword.value for keyword in node.keywords)]
        # a library may make instances by the annotations of fields, as pydantic does
        bases += [part.annotation for part in node.body if isinstance(part, ast.AnnAssign)]
        names = {name for base in bases for part in ast.walk(base) for name in _names(part)}
        self._bases[_inside(symbol, node.name)] = frozenset(names)
        for decorator in node.decorator_list:
            self._code(decorator, symbol)
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign):
                if statement.value is not None:
                    self._code(statement.value, _inside(symbol, node.name))
            else:
                self._statement(statement, _inside(symbol, node.name))

    def _note_alias(self, statement: ast.stmt, symbol: str) -> None:
        if symbol == _AT_IMPORT and isinstance(statement, ast.Assign):
            value = statement.value
            if isinstance(value, ast.Name):
                named = value.id
            else:
                named = getattr(value, "attr", "")
            for target in statement.targets:
                if isinstance(target, ast.Name) and isinstance(value, ast.Name | ast.Attribute):
                    self._aliases[target.id] = named

    def _default(self, default: ast.expr, symbol: str) -> None:
        uses = self._symbols.setdefault(symbol, SymbolUses())
        draws_itself = uses.draws_itself
        self._code(default, symbol)
        if isinstance(default, ast.Name | ast.Attribute):
            uses.draws_itself = draws_itself

    def _code(self, root: ast.AST, symbol: str, variables: Set[str] = frozenset()) -> None:
        """Add what a piece of code uses, with all that is inside. `variables`: of the function that
        it is in.
        """
        uses = self._symbols.setdefault(symbol, SymbolUses())
        shared = self._shared.setdefault(symbol, set())
        draws_before, uses.draws_random_numbers = uses.draws_random_numbers, False
        nodes = nodes_inside(root)
        # first what is in another node, then what each means
        texts = [node for node in nodes if _is_text(node)]
        for text in texts:
            self._note_examples(text)
        unused = {id(text.value) for text in texts}
        compared = {id(operand) for node in nodes for operand in _compared_in(node)}
        called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        attribute_bases = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
        for node in nodes:
            if isinstance(node, ast.Name):
                if node.id not in variables:
                    shared.add(node.id)
                self._named.setdefault(symbol, set()).add(node.id)
                self._name(node, uses, is_value=id(node) not in attribute_bases)
                # `reduce(getattr, names, module)`
                uses.asks_by_computed_names |= node.id in _ASKS_FOR_ONE and id(node) not in called
            elif isinstance(node, ast.Attribute):
                shared.add(node.attr)
                self._named.setdefault(symbol, set()).add(node.attr)
                self._attribute(node, uses, is_value=id(node) not in attribute_bases)
            elif isinstance(node, ast.Constant):
                if id(node) not in unused:
                    names = set(_names(node))
                    uses.names |= names
                    if id(node) in compared:
                        self._compared.setdefault(symbol, set()).update(names)
                    else:
                        shared |= names
                uses.reads_docs = uses.reads_docs or "__doc__" in str(node.value)
                uses.reads_code = uses.reads_code or _shows_lines(node.value)
            elif isinstance(node, ast.Call):
                self._call(node, uses)
        uses.draws_itself = uses.draws_itself or uses.draws_random_numbers
        uses.draws_random_numbers = uses.draws_random_numbers or draws_before

    def _name(self, node: ast.Name, uses: SymbolUses, *, is_value: bool) -> None:
        uses.names.add(node.id)
        uses.reads_docs = uses.reads_docs or node.id == "__doc__"
        full_name = self._full_name(node)
        if full_name:
            _note_full_name(full_name, uses)
            if is_value and node.id in self._imported:
                # what `from a import b` binds may be a module
                uses.values.add(full_name)

    def _call(self, node: ast.Call, uses: SymbolUses) -> None:
        uses.listed.update(self._listed(node))
        uses.lists_own = uses.lists_own or self._lists_own(node)
        if self._asks_by_computed_name(node):
            uses.asks_by_computed_names = True

    def _note_examples(self, text: ast.Expr) -> None:
        """The names in examples of a docstring: a doctest executes them, and nothing of the
        file.
        """
        if isinstance(text.value, ast.Constant):
            value = text.value.value
        else:
            value = None
        if isinstance(value, str) and ">>>" in value:
            names = _IDENTIFIER.findall(value)
            self._symbols.setdefault(EXAMPLES, SymbolUses()).names.update(names)
            self._shared.setdefault(EXAMPLES, set()).update(names)

    def _attribute(self, node: ast.Attribute, uses: SymbolUses, *, is_value: bool) -> None:
        uses.names.add(node.attr)
        full_name = self._full_name(node)
        if full_name:
            _note_full_name(full_name, uses)
            if is_value:
                uses.values.add(full_name)
        if node.attr == "__subclasses__":
            uses.lists_subclasses = True
        elif node.attr == "__doc__":
            uses.reads_docs = True
        elif node.attr in ("__annotations__", "__signature__"):
            uses.reads_annotations = True
        elif node.attr in _LEADS_TO_CODE:
            if isinstance(node.value, ast.Name) and node.value.id in self._parameters:
                uses.reads_code_of_arguments = True
            else:
                uses.reads_code = True
        elif node.attr == "lineno":
            uses.reads_lines = True
        elif node.attr == "__dict__":
            uses.listed.update(filter(None, [self._module(node.value)]))
            uses.asks_by_computed_names = True

    def _lists_own(self, call: ast.Call) -> bool:
        if isinstance(call.func, ast.Name):
            name = call.func.id
        else:
            name = ""
        return name in _BUILTIN_LISTS and name not in self._imported and not call.args

    @staticmethod
    def _asks_by_computed_name(call: ast.Call) -> bool:
        """Of `getattr` the second argument is the name, of others every one may be."""
        function = call.func
        if isinstance(function, ast.Name):
            name = function.id
        else:
            name = getattr(function, "attr", "")
        if name in _ASKS_FOR_ONE:
            names = call.args[1:]
        else:
            names = call.args
        return name in WORDS["asks_by_computed_names"] and not all(
            isinstance(argument, ast.Constant) for argument in names
        )

    def _listed(self, call: ast.Call) -> Iterator[str]:
        """The modules whose namespaces a call lists."""
        name = self._full_name(call.func)
        if isinstance(call.func, ast.Name) and call.func.id not in self._imported:
            if call.func.id in _BUILTIN_LISTS and call.args:
                yield self._module(call.args[0]) or _ANY
            elif call.func.id in _ASKS_FOR_ONE and len(call.args) > 1:
                # of an object that is no module for certain, this asks one name of a class
                module = self._module(call.args[0])
                if module and not isinstance(call.args[1], ast.Constant):
                    yield module
        elif any(keyword.arg == "autospec" for keyword in call.keywords):
            yield _ANY
        # what finds the examples of a module looks at all its names
        elif name in _LISTS or name.startswith("doctest."):
            yield self._module(call.args[0]) or _ANY if call.args else _ANY

    def _module(self, node: ast.expr) -> str:
        """The module that an expression may be, by the imports of the file; empty: not known."""
        if isinstance(node, ast.Subscript | ast.Call):
            if isinstance(node, ast.Subscript):
                inner = node.value
            else:
                inner = node.func
            if self._full_name(inner) in _IMPORTERS:
                return _ANY
            return ""
        return self._full_name(node)

    def _full_name(self, node: ast.AST) -> str:
        attributes: list[str] = []
        while isinstance(node, ast.Attribute):
            attributes.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        root = self._imported.get(node.id, "")
        if not root:
            if node.id == "__import__" and not attributes:
                return "builtins.__import__"
            return ""
        return ".".join([root, *reversed(attributes)])


def _shows_lines(value: object) -> bool:
    """Whether a text is a format of logging with the number of a line (LogRecord attributes)."""
    return isinstance(value, str) and any(form in value for form in _LINE_FORMATS)


def _note_full_name(full_name: str, uses: SymbolUses) -> None:
    """Add what a name asks for that imports give: `inspect.getdoc`."""
    if full_name in _IMPORTERS:
        uses.values.add(_ANY)
    if full_name.startswith(_READERS_OF_ANNOTATIONS):
        uses.reads_annotations = True
    if full_name.startswith(_READERS_OF_DOCS):
        uses.reads_docs = True
    if full_name.startswith(_READERS_OF_SOURCE):
        uses.reads_source = True
    if full_name in _COUNTERS:
        uses.counts_objects = True
    if full_name.startswith(_GENERATORS) and full_name not in _OWN_GENERATORS:
        uses.draws_random_numbers = True


def _parameters_of(node: Function) -> Set[str]:
    """Those to which nothing else is assigned."""
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    stored = {
        inner.id
        for inner in nodes_inside(node)
        if isinstance(inner, ast.Name) and not isinstance(inner.ctx, ast.Load)
    }
    return {argument.arg for argument in every} - stored


def _assigns_all(statement: ast.stmt) -> bool:
    match statement:
        case (
            ast.Assign(targets=[ast.Name(id="__all__")])
            | ast.AugAssign(target=ast.Name(id="__all__"))
        ):
            return True
        case ast.AnnAssign(target=ast.Name(id="__all__")):
            return True
    return False


def _inside(symbol: str, name: str) -> str:
    if not symbol:
        return name
    return f"{symbol}.{name}"


def _compared_in(node: ast.AST) -> Iterator[ast.expr]:
    """What a node compares, with the parts of `in ("a", "b")`. Not with a variable, which may have
    the text and be used as a name: `if name == "limit": lookup(name)`.
    """
    if not isinstance(node, ast.Compare) or not all(isinstance(op, _EQUALS) for op in node.ops):
        return
    operands = (node.left, *node.comparators)
    if any(isinstance(operand, ast.Name | ast.NamedExpr) for operand in operands):
        return
    for operand in operands:
        yield operand
        if isinstance(operand, ast.Tuple | ast.List | ast.Set):
            yield from operand.elts


def _is_text(node: ast.AST) -> TypeGuard[ast.Expr]:
    """Whether it is a docstring, or another constant that is a statement."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            yield name
        case ast.Constant(value=str(text)):
            yield from _IDENTIFIER.findall(text)
        case ast.Constant(value=bytes(content)):
            yield from _IDENTIFIER.findall(content.decode("latin-1"))
