"""Which test functions a file defines, from its syntax tree alone, and how surely pytest collects each of them."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kl_hooks.code.parse import LARGEST, fresh_tree

VERSION: Final = 1
"""Part of the key of cached facts: raised whenever the same bytes would give other facts."""
PLAIN, CASE, BASED, UNSURE = "plain", "case", "based", "unsure"
"""Kinds of classes: without a base, of unittest, with another base, and those that nobody can be sure of."""
_CASES: Final = frozenset({"unittest.TestCase", "unittest.case.TestCase", "unittest.IsolatedAsyncioTestCase"})
_KEEPING: Final = frozenset(
    {
        "staticmethod", "classmethod", "unittest.skip", "unittest.skipIf", "unittest.skipUnless",
        "unittest.expectedFailure", "hypothesis.given", "hypothesis.settings", "hypothesis.example",
        "hypothesis.seed", "hypothesis.reproduce_failure",
    }
)  # fmt: skip
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
    """Name → whether it is plain: defined once, unconditionally, with decorators that keep it a test."""
    classes: Mapping[str, str]
    """Name → its kind."""
    error: str = ""
    """Why the file could not be read; empty: it was."""

    def plain(self) -> dict[str, Any]:
        """As it is cached."""
        return dict(self._asdict())


def defined_tests(content: bytes) -> DefinedTests:
    """The functions that a file's content defines. Never raises for bad source."""
    if len(content) > LARGEST:
        return DefinedTests({}, {}, "too large")
    try:
        tree = fresh_tree(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        return DefinedTests({}, {}, type(problem).__name__)
    return _File(tree).found()


def conditional_ignores(content: bytes) -> frozenset[str]:
    """The texts that a `conftest.py` adds to `collect_ignore` or `collect_ignore_glob` under a condition.

    Files for one version of Python or one platform are left out like this, and no run of another can collect them.
    """
    try:
        tree = fresh_tree(content) if len(content) <= LARGEST else ast.Module([], [])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    inside = (one for node in tree.body if isinstance(node, ast.If | ast.Try) for one in ast.walk(node))
    statements = [one for one in inside if isinstance(one, ast.Expr | ast.Assign | ast.AugAssign | ast.AnnAssign)]
    named = [one for one in statements if _IGNORES & {x.id for x in ast.walk(one) if isinstance(x, ast.Name)}]
    constants = (x.value for one in named for x in ast.walk(one) if isinstance(x, ast.Constant))
    return frozenset(value for value in constants if isinstance(value, str))


class _Scope:
    """The bindings of one scope (a module or a class body), and the names that its code looks at."""

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self.bound: Counter[str] = Counter()
        self.used: set[str] = set()
        self.definitions: list[tuple[_Def | ast.ClassDef, bool]] = []
        """Each with whether it is unconditional."""
        self.late_star = 0
        """The line of the last `from x import *`."""
        direct = {id(statement) for statement in body}
        stack: list[tuple[ast.AST, bool]] = [(one, False) for one in reversed(body) if not _is_main(one)]
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

    def _deferred(self, node: _Def | ast.Lambda, inner: bool, direct: bool, stack: list[tuple[ast.AST, bool]]) -> None:
        """A function is bound now; its body runs later, in a scope of its own."""
        if not isinstance(node, ast.Lambda):
            if not inner:
                self.definitions.append((node, direct))
                self.bound[node.name] += 1
            stack += [(part, inner) for part in node.decorator_list]
        stack += [(part, inner) for part in (*node.args.defaults, *node.args.kw_defaults) if part is not None]

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
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name and not inner:
            self.bound[node.name] += 1

    def sure(self, node: _Def | ast.ClassDef, direct: bool) -> bool:
        """Whether its name means just this definition when the scope is through."""
        name = node.name
        return direct and self.bound[name] == 1 and name not in self.used and self.late_star < node.lineno


class _File:
    """One file while it is read."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._names = dict(_imports(tree))
        self._marks = dict(_marks(tree, self._names))
        self.functions: dict[str, bool] = {}
        self.classes: dict[str, str] = {}

    def found(self) -> DefinedTests:
        """All of it."""
        scope = _Scope(self._tree.body)
        scope.used |= {name for node in ast.walk(self._tree) if isinstance(node, ast.Global) for name in node.names}
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
        if node.keywords or inner.bound["__test__"] or not all(self._keeps(one) for one in node.decorator_list):
            return UNSURE
        if bases <= {"object"}:
            return UNSURE if inner.bound["__init__"] or inner.bound["__new__"] else PLAIN
        return CASE if bases <= _CASES else BASED

    def _keeps(self, decorator: ast.expr) -> bool:
        name = self._dotted(decorator)
        return name in _KEEPING or name.startswith(_KEEPING_BELOW) or name in self._marks

    def _dotted(self, node: ast.expr) -> str:
        """`pytest.mark.skip` for what is called so here, whatever it was imported as; empty for anything else."""
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
                yield (alias.asname, alias.name) if alias.asname else (alias.name.partition(".")[0],) * 2
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)


def _marks(tree: ast.Module, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Names at module level that are marks: `linux = pytest.mark.skipif(…)`."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and (dotted := _dotted(node.value, names)).startswith("pytest.mark."):
            yield from ((target.id, dotted) for target in node.targets if isinstance(target, ast.Name))


def _is_main(node: ast.stmt) -> bool:
    """`if __name__ == "__main__":`, which no import runs."""
    test = node.test if isinstance(node, ast.If) else None
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _yields(node: _Def) -> bool:
    """A generator: no test for pytest, since version 4 or 9."""
    stack: list[ast.AST] = list(node.body)
    while stack:
        one = stack.pop()
        if isinstance(one, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(one, (*_Deferred, ast.ClassDef)):
            stack += ast.iter_child_nodes(one)
    return False


def from_plain(plain: Any) -> DefinedTests | None:
    """The way back from `DefinedTests.plain()`; None for data that is not of this form."""
    try:
        found = DefinedTests(plain["functions"], plain["classes"], plain["error"])
    except (TypeError, KeyError):
        return None
    sound = isinstance(found.functions, dict) and isinstance(found.classes, dict) and isinstance(found.error, str)
    return found if sound and _values(found.functions.values(), bool) and _values(found.classes.values(), str) else None


def _values(values: Iterable[object], kind: type) -> bool:
    return all(type(value) is kind for value in values)
