"""The functions and classes of a file that could be tests, read from its source.

Nothing is imported or run. What source alone can't show is unsure, and never called missing.
"""

from __future__ import annotations

import ast
import builtins
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.code.modules import module_names
from kl_hooks.code.scanner.parser import LARGEST, parse_tree
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.proof.content_source import ContentSource
from kl_hooks.proof.pytest_config import PytestConfig, name_matches

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace

_FACTS_VERSION: Final = 1
"""Part of the key of cached facts: raised whenever the same bytes would give other facts."""
PLAIN = "plain"
CASE = "case"
BASED = "based"
UNSURE = "unsure"
"""Kinds of classes: without a base, of unittest, with another base, and those that nobody can be
sure of.
"""
_CASES: Final = frozenset(
    {"unittest.TestCase", "unittest.case.TestCase", "unittest.IsolatedAsyncioTestCase"}
)
_KEEPING: Final = frozenset(
    {
        "staticmethod",
        "classmethod",
        "unittest.skip",
        "unittest.skipIf",
        "unittest.skipUnless",
        "unittest.expectedFailure",
        "hypothesis.given",
        "hypothesis.settings",
        "hypothesis.example",
        "hypothesis.seed",
        "hypothesis.reproduce_failure",
    }
)
"""Decorators after which the function is a test of the same name."""
_KEEPING_BELOW: Final = ("pytest.mark.", "unittest.mock.patch", "mock.patch")
_REACHING: Final = frozenset({"globals", "locals", "vars", "exec", "eval"})
"""Names that, used at module level, may define or remove anything."""
_IGNORES: Final = frozenset({"collect_ignore", "collect_ignore_glob"})
_Def = ast.FunctionDef | ast.AsyncFunctionDef
_Deferred = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class DefinedTests(NamedTuple):
    """The functions and classes of a file that could be tests, by names such as `TestA::test_b`."""

    functions: Mapping[str, bool]
    """Name → whether it is plain: defined once, unconditionally, with decorators that keep it a
    test.
    """
    classes: Mapping[str, str]
    """Name → its kind."""
    error: str = ""
    """Why the file could not be read; empty: it was."""

    def plain(self) -> dict[str, Any]:
        """As it is cached."""
        return self._asdict()


def defined_tests(content: bytes) -> DefinedTests:
    """The functions that a file's content defines. Never raises for bad source."""
    tree = _parsed(content)
    if isinstance(tree, str):
        return DefinedTests({}, {}, tree)
    return _File(tree).found()


def _parsed(content: bytes) -> ast.Module | str:
    """The syntax tree of a file, or in a word why there is none."""
    if len(content) > LARGEST:
        return "too large"
    try:
        return parse_tree(content)
    # MemoryError: CPython's parser raises it for brackets that are nested too deeply
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        return type(problem).__name__


def doctest_names(content: bytes, path: str) -> frozenset[str]:
    """The ends of the names that pytest gives the doctests of a module: `Cart.total`, and the name
    of the module itself.
    """
    tree = _parsed(content)
    if isinstance(tree, str):
        return frozenset()
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    return frozenset(
        name or parts[-1] for name, text in _docstrings(tree, "") if _has_example(text)
    )


def _docstrings(node: ast.Module | ast.ClassDef | _Def, name: str) -> Iterator[tuple[str, str]]:
    """The docstrings that doctest looks at, by qualified name: not those in functions."""
    yield name, ast.get_docstring(node, clean=False) or ""
    if not isinstance(node, _Deferred):
        for child in node.body:
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield from _docstrings(child, f"{name}.{child.name}" if name else child.name)


def _has_example(docstring: str) -> bool:
    # the module is imported where there may be one: it is slow, and most docstrings have none
    if ">>>" not in docstring:
        return False
    from doctest import DocTestParser

    try:
        return bool(DocTestParser().get_examples(docstring))
    except ValueError:
        return True


def conditional_ignores(content: bytes) -> frozenset[str]:
    """The texts that a `conftest.py` adds to `collect_ignore` or `collect_ignore_glob` under a
    condition.

    Files for one version of Python or one platform are ignored like this, and no run of another can
    collect them.
    """
    tree = _parsed(content)
    if isinstance(tree, str):
        return frozenset()
    inside = (
        one for node in tree.body if isinstance(node, ast.If | ast.Try) for one in ast.walk(node)
    )
    statements = [
        one
        for one in inside
        if isinstance(one, ast.Expr | ast.Assign | ast.AugAssign | ast.AnnAssign)
    ]
    named = [
        one
        for one in statements
        if _IGNORES & {x.id for x in ast.walk(one) if isinstance(x, ast.Name)}
    ]
    constants = (x.value for one in named for x in ast.walk(one) if isinstance(x, ast.Constant))
    return frozenset(value for value in constants if isinstance(value, str))


class _Scope:
    """The bindings of one scope (a module or a class body), and the names that its code looks
    at.
    """

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self.bound: Counter[str] = Counter()
        self.used: set[str] = set()
        self.definitions: list[tuple[_Def | ast.ClassDef, bool]] = []
        """Each with whether it is unconditional."""
        self.late_star = 0
        """The line of the last `from x import *`."""
        direct = {id(statement) for statement in body}
        stack: list[tuple[ast.AST, bool]] = [
            (one, False) for one in reversed(body) if not _is_main(one)
        ]
        while stack:
            node, inner = stack.pop()
            if isinstance(node, _Deferred):
                self._deferred(node, inner, id(node) in direct, stack)
            elif isinstance(node, ast.ClassDef):
                if not inner:
                    self.definitions.append((node, id(node) in direct))
                    self.bound[node.name] += 1
                parts = (*node.decorator_list, *(keyword.value for keyword in node.keywords))
                stack += [(part, inner) for part in parts]
                stack += [(part, True) for part in node.body]
            else:
                self._plain(node, inner)
                stack += [(part, inner) for part in ast.iter_child_nodes(node)]

    def _deferred(
        self, node: _Def | ast.Lambda, inner: bool, direct: bool, stack: list[tuple[ast.AST, bool]]
    ) -> None:
        """A function is bound now; its body runs later, in a scope of its own."""
        if not isinstance(node, ast.Lambda):
            if not inner:
                self.definitions.append((node, direct))
                self.bound[node.name] += 1
            stack += [(part, inner) for part in node.decorator_list]
        stack += [
            (part, inner)
            for part in (*node.args.defaults, *node.args.kw_defaults)
            if part is not None
        ]

    def _plain(self, node: ast.AST, inner: bool) -> None:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                self.used.add(node.id)
            elif not inner:
                self.bound[node.id] += 1
        elif isinstance(node, ast.Attribute) and node.attr == "modules":
            self.used.add("globals")  # sys.modules[__name__]
        elif isinstance(node, ast.Import | ast.ImportFrom) and not inner:
            for alias in node.names:
                self.bound[alias.asname or alias.name.partition(".")[0]] += 1
                if alias.name == "*":
                    self.late_star = max(self.late_star, node.lineno)
        elif (
            isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar)
            and node.name
            and not inner
        ):
            self.bound[node.name] += 1

    def sure(self, node: _Def | ast.ClassDef, direct: bool) -> bool:
        """Whether its name means just this definition after the whole scope was executed."""
        name = node.name
        return (
            direct
            and self.bound[name] == 1
            and name not in self.used
            and self.late_star < node.lineno
        )


class _File:
    """One file while it is read."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._names = dict(_imports(tree))
        self._marks = dict(_marks(tree, self._names))
        self.functions: dict[str, bool] = {}
        self.classes: dict[str, str] = {}

    def found(self) -> DefinedTests:
        scope = _Scope(self._tree.body)
        # a function with `global test_a` may bind that name to anything, at any time
        scope.used |= {
            name
            for node in ast.walk(self._tree)
            if isinstance(node, ast.Global)
            for name in node.names
        }
        self._read(scope, "", not (scope.used & _REACHING or scope.bound["__test__"]))
        return DefinedTests(self.functions, self.classes)

    def _read(self, scope: _Scope, prefix: str, reliable: bool) -> None:
        """Reads the definitions of a scope, and of the classes in it, one level after the other."""
        waiting = [(scope, prefix, reliable)]
        while waiting:
            scope, prefix, reliable = waiting.pop()
            for node, direct in scope.definitions:
                sure = reliable and scope.sure(node, direct)
                name = prefix + node.name
                if isinstance(node, ast.ClassDef):
                    inner = _Scope(node.body)
                    self.classes[name] = self._kind(node, inner) if sure else UNSURE
                    waiting.append((inner, f"{name}::", sure and not inner.used & _REACHING))
                elif not any(self._dotted(one).endswith("fixture") for one in node.decorator_list):
                    keeping = all(self._keeps(one) for one in node.decorator_list)
                    self.functions[name] = sure and keeping and not _yields(node)

    def _kind(self, node: ast.ClassDef, inner: _Scope) -> str:
        bases = {self._dotted(base) for base in node.bases}
        # a metaclass may make other methods of it, `__test__ = False` means that it is no test
        # class
        if (
            node.keywords
            or inner.bound["__test__"]
            or not all(self._keeps(one) for one in node.decorator_list)
        ):
            return UNSURE
        if bases <= {"object"}:
            # pytest does not collect a class with a constructor of its own, and warns
            if inner.bound["__init__"] or inner.bound["__new__"]:
                return UNSURE
            return PLAIN
        if bases <= _CASES:
            return CASE
        return BASED

    def _keeps(self, decorator: ast.expr) -> bool:
        name = self._dotted(decorator)
        return name in _KEEPING or name.startswith(_KEEPING_BELOW) or name in self._marks

    def _dotted(self, node: ast.expr) -> str:
        """`pytest.mark.skip` whatever name it was imported as; empty for anything else."""
        return _dotted(node, self._names)


def _dotted(node: ast.expr, names: Mapping[str, str]) -> str:
    parts: list[str] = []
    while True:
        if isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Name):
            return ".".join([names.get(node.id, node.id), *reversed(parts)])
        else:
            return ""


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Name → what it is imported from, of imports at module level."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (
                    (alias.asname, alias.name)
                    if alias.asname
                    else (alias.name.partition(".")[0],) * 2
                )
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from (
                (alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names
            )


def _marks(tree: ast.Module, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Names at module level that are marks: `linux = pytest.mark.skipif(…)`."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and (dotted := _dotted(node.value, names)).startswith(
            "pytest.mark."
        ):
            yield from (
                (target.id, dotted) for target in node.targets if isinstance(target, ast.Name)
            )


class _Bases:
    """What the classes of a content are derived from, as far as its own files show it."""

    def __init__(self, source: ContentSource) -> None:
        self._source = source
        self._modules = module_names(sorted(path for path in source.blobs if path.endswith(".py")))
        self._paths = {module: path for path, module in self._modules.items()}
        self._scopes: dict[str, tuple[_Scope, dict[str, str]] | None] = {}

    def is_no_case(self, path: str, name: str, deep: int = 20) -> bool:
        """Whether what a file calls `name` surely is no class of unittest; metaclasses are not
        looked at.
        """
        read = self._scope(path)
        first, _, attributes = name.partition(".")
        if read is None or not first or not deep:
            return False
        scope, names = read
        if first not in scope.bound:
            return not scope.late_star and hasattr(builtins, first)
        if scope.bound[first] != 1:
            return False
        if first in names:
            return self._is_no_case_of(".".join(filter(None, (names[first], attributes))), deep - 1)
        node = next(
            (node for node, direct in scope.definitions if node.name == first and direct), None
        )
        if not isinstance(node, ast.ClassDef) or attributes:
            return False
        bases = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
        # what a call returns, such as `type(…)`, may be anything
        return all(
            isinstance(base, ast.Name | ast.Attribute)
            and self.is_no_case(path, _dotted(base, {}), deep - 1)
            for base in bases
        )

    def _is_no_case_of(self, dotted: str, deep: int) -> bool:
        parts = dotted.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            if path := self._paths.get(".".join(parts[:cut])):
                return self.is_no_case(path, ".".join(parts[cut:]), deep)
        return parts[0] in sys.stdlib_module_names - {"unittest", "test"}

    def _scope(self, path: str) -> tuple[_Scope, dict[str, str]] | None:
        if path not in self._scopes:
            content = self._source.text(path)
            if content is not None:
                tree = _parsed(content)
            else:
                tree = ""
            if isinstance(tree, str):
                self._scopes[path] = None
            else:
                self._scopes[path] = (_Scope(tree.body), self._imported(path, tree))
        return self._scopes[path]

    def _imported(self, path: str, tree: ast.Module) -> dict[str, str]:
        """As `_imports`, with relative ones."""
        package = self._modules[path].split(".")[: None if path.endswith("/__init__.py") else -1]
        imports = dict(_imports(tree))
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.level:
                start = [*package[: len(package) - node.level + 1], *filter(None, (node.module,))]
                imports |= {
                    alias.asname or alias.name: ".".join([*start, alias.name])
                    for alias in node.names
                }
        return imports


def _without_helper_classes(
    functions: Mapping[str, DefinedTests],
    configs: Mapping[str, PytestConfig],
    source: ContentSource,
) -> dict[str, DefinedTests]:
    """The same, where classes are plain that can be tests by neither their name nor their bases.

    pytest collects a class with another name than `python_classes` has only if it is one of
    unittest.
    """
    bases: _Bases | None = None
    tests_by_path = dict(functions)
    for path, defined in functions.items():
        config = configs[path]
        named = {
            name.partition("::")[0]
            for name in defined.functions
            if name.partition("::")[2].startswith("test")
        }
        for name in sorted(named):
            if defined.classes[name] == BASED and not name_matches(name, config.python_classes):
                bases = bases or _Bases(source)
                if bases.is_no_case(path, name):
                    tests_by_path[path] = tests_by_path[path]._replace(
                        classes={**tests_by_path[path].classes, name: PLAIN}
                    )
    return tests_by_path


def _is_main(node: ast.stmt) -> bool:
    """`if __name__ == "__main__":`, which no import runs."""
    test = node.test if isinstance(node, ast.If) else None
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.left, ast.Name)
        and test.left.id == "__name__"
    )


def _yields(node: _Def) -> bool:
    """A generator: no test for pytest, since version 4 or 9."""
    stack: list[ast.AST] = list(node.body)
    while stack:
        inner = stack.pop()
        if isinstance(inner, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(inner, (*_Deferred, ast.ClassDef)):
            stack += ast.iter_child_nodes(inner)
    return False


def defined_tests_from_dict(plain: Any) -> DefinedTests | None:
    """The way back from `DefinedTests.plain()`; None for data that is not of this form."""
    try:
        defined = DefinedTests(plain["functions"], plain["classes"], plain["error"])
    except (TypeError, KeyError):
        return None
    if not (
        isinstance(defined.functions, dict)
        and isinstance(defined.classes, dict)
        and isinstance(defined.error, str)
    ):
        return None
    values = ((defined.functions, bool), (defined.classes, str))
    if all(type(value) is kind for names, kind in values for value in names.values()):
        return defined
    return None


def tests_of_files(
    ws: Workspace, source: ContentSource, configs: Mapping[str, PytestConfig]
) -> dict[str, DefinedTests]:
    """The functions of the files of `configs`, each with the configuration that decides about it;
    each content is parsed once and then cached by its blob ID.
    """
    tests: dict[str, DefinedTests] = {}
    for path in configs:
        cached = ws.cache.get(_key(source.blobs[path]))
        if cached is not None and (defined := _decoded(cached)) is not None:
            tests[path] = defined
    for path, content in source.read([path for path in configs if path not in tests]):
        tests[path] = defined_tests(content)
        ws.cache.set(_key(source.blobs[path]), json.dumps(tests[path].plain()).encode(), None)
    return _without_helper_classes(tests, configs, source)


def _key(blob: str) -> str:
    # the minor version of Python is in the key: another one parses other syntax from the same bytes
    return f"defined-tests/{_FACTS_VERSION}/{sys.version_info[0]}.{sys.version_info[1]}/{blob}"


def _decoded(cached: bytes) -> DefinedTests | None:
    try:
        return defined_tests_from_dict(json.loads(cached))
    except (ValueError, RecursionError):
        return None


def expected_names(
    defined: DefinedTests, config: PytestConfig, reported: Iterable[str] = ()
) -> tuple[list[str], list[str]]:
    """The names that pytest surely collects from a file by this configuration, and those that it
    may collect.

    `reported`: names that were reported: a class with a base of its own is collected if one of its
    tests was.
    """
    collected = {name.rpartition("::")[0] for name in reported}
    certain: list[str] = []
    doubtful: list[str] = []
    for name, plain in defined.functions.items():
        *classes, function = name.split("::")
        chain = ["::".join(classes[:depth]) for depth in range(1, len(classes) + 1)]
        kinds = [defined.classes.get(class_name, "") for class_name in chain]
        if not _is_test(function, chain, kinds, config):
            continue
        sure = plain and all(
            kind in (PLAIN, CASE) or (kind == BASED and chain[-1] in collected) for kind in kinds
        )
        (certain if sure else doubtful).append(name)
    return certain, doubtful


def _is_test(
    function: str, chain: Sequence[str], kinds: Sequence[str], config: PytestConfig
) -> bool:
    """Whether the names are those of a test: of unittest's classes and their methods unittest
    decides.
    """
    by_unittest = bool(kinds) and kinds[-1] == CASE
    if by_unittest:
        named = function.startswith("test")
    else:
        named = name_matches(function, config.python_functions)
    if kinds and kinds[-1] == BASED:
        # a base of unknown origin may be a unittest.TestCase: only what pytest and unittest both
        # collect is expected
        named = named and function.startswith("test")
    return named and all(
        kind != PLAIN or name_matches(one.rpartition("::")[2], config.python_classes)
        for one, kind in zip(chain, kinds, strict=True)
    )
