"""What a test consists of: its function, and the definitions of test files that it uses.

What a test states is in more than its own lines: in constants, helpers, base classes and
fixtures. Names are followed through the imports of test files and to the `conftest.py` files above;
code that is no test code is what the test is about, and no part of it. What pytest or an import
executes unasked counts as used: statements that bind no name, `autouse` fixtures, hooks, functions
of the test's own file that nothing there names (`setup_module`). Read from the source alone, so the
parts of one content are equal on every Python, whichever runs were recorded.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.code.modules import absolute
from kl_hooks.code.scanner.parser import parse_tree
from kl_hooks.evidence.executed import test_path
from kl_hooks.model.canonical import digest
from kl_hooks.model.claim import CitedTest, TestPart
from kl_hooks.model.symbol import is_test_path
from kl_hooks.proof.collected_names import collected_names
from kl_hooks.proof.pytest_config import PytestConfigs, config_paths
from kl_hooks.proof.run_files import CONFTEST
from kl_hooks.proof.run_imports import conftests_above

if TYPE_CHECKING:
    from kl_hooks.code.modules import ModuleIndex

_MOST_PARTS: Final = 200
"""Parts that are stored one by one; of more only a digest over all."""
_ROOT: Final = ("", "")
_WHOLE: Final = "*"
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES: Final = (*_FUNCTIONS, ast.ClassDef, ast.Lambda)
_UNREADABLE: Final = (SyntaxError, ValueError, RecursionError, MemoryError)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class TestSource:
    """The files of one content, as far as tests consist of them."""

    __test__ = False  # no test class, whatever its name

    def __init__(
        self,
        read: Callable[[str], bytes | None],
        modules: Callable[[], ModuleIndex],
        reported: Callable[[str], Collection[str]],
    ) -> None:
        """`read`: a file by its path, None where it is not there; `modules`: what imports mean;
        `reported`: the tests of a file that some run has reported (`TestA::test_b`).
        """
        self._read = read
        self._find_modules = modules
        self._reported = reported
        self._files: dict[str, _File | None] = {}
        self._tests: dict[str, frozenset[str]] = {}
        self._parts: dict[str, tuple[TestPart, ...]] = {}

    @cached_property
    def modules(self) -> ModuleIndex:
        """What imports of this content mean; asked for where a test file imports something."""
        return self._find_modules()

    def file(self, path: str) -> _File | None:
        """A file; None where it is not there."""
        if path not in self._files:
            content = self._read(path)
            self._files[path] = None if content is None else _File(path, content)
        return self._files[path]

    def is_test(self, path: str, name: str) -> bool:
        """Whether a function (`TestA.test_b`) is a test: some run has reported it, or its source
        and pytest's configuration leave no doubt, so that a test which was not run yet is one.
        """
        if path not in self._tests:
            content = self.file(path)
            config = PytestConfigs.of(config_paths(path), self._read).for_file(path)
            if content is not None:
                self._tests[path] = collected_names(content.content, config, self._reported(path))
            else:
                self._tests[path] = frozenset()
        return name in self._tests[path]

    def change(self, before: CitedTest, nodeid: str) -> str:
        """In words how a test differs from what it was; empty: not at all. `nodeid`: its name
        now.
        """
        old = {(part.path, part.name): part.digest for part in before.parts}
        new = {(part.path, part.name): part.digest for part in self.parts(nodeid)}
        if old == new:
            return ""
        if not new:
            return f"the cited test {nodeid} was removed"
        if old[_ROOT] != new[_ROOT]:
            return f"the cited test {nodeid} changed"
        edited = [key for key in old.keys() & new.keys() if old[key] != new[key]]
        path, name = min(edited or old.keys() ^ new.keys())
        place = f"{name} in {path or test_path(nodeid)}"
        return f"{place} changed, which the cited test {nodeid} uses"

    def parts(self, nodeid: str) -> tuple[TestPart, ...]:
        """The parts of a test, its own function first; none where it is not there."""
        if nodeid not in self._parts:
            self._parts[nodeid] = self._parts_of(nodeid)
        return self._parts[nodeid]

    def _parts_of(self, nodeid: str) -> tuple[TestPart, ...]:
        walk = _Walk(self, test_path(nodeid))
        names = nodeid.partition("[")[0].split("::")[1:]
        if not walk.start(names):
            return ()
        walk.finish()
        parts = [TestPart(*key, value) for key, value in walk.digests.items()]
        if len(parts) > _MOST_PARTS:
            parts = [parts[0], TestPart("", _WHOLE, digest("test-parts/1", sorted(parts))[:16])]
        return (parts[0], *sorted(parts[1:]))


@dataclass
class _File:
    """The top level of a file: which statements bind a name, and which bind none."""

    path: str
    content: bytes
    bound: dict[str, list[ast.stmt]] = field(default_factory=dict)
    effects: list[ast.stmt] = field(default_factory=list)
    """Statements that bind no name: an import executes them for what they do."""
    stars: list[ast.ImportFrom] = field(default_factory=list)
    is_readable: bool = True

    def __post_init__(self) -> None:
        try:
            statements = parse_tree(self.content).body
        except _UNREADABLE:
            self.is_readable = False
            statements = []
        for statement in statements[_is_docstring(statements) :]:
            names = set(_bound_names(statement))
            if isinstance(statement, ast.ImportFrom) and "*" in names:
                self.stars.append(statement)
            elif not names:
                self.effects.append(statement)
            for name in names - {"*"}:
                self.bound.setdefault(name, []).append(statement)

    @cached_property
    def functions(self) -> list[_Function]:
        """The functions of its top level."""
        return [
            statement
            for statements in self.bound.values()
            for statement in statements
            if isinstance(statement, _FUNCTIONS)
        ]

    @cached_property
    def unused_functions(self) -> list[_Function]:
        """Functions that nothing in the file names: whoever calls them finds them by their name."""
        counts: dict[str, int] = {}
        for statement in {
            id(bound): bound for group in self.bound.values() for bound in group
        }.values():
            for name in _Uses.of(statement).all_names:
                counts[name] = counts.get(name, 0) + 1
        for statement in self.effects:
            for name in _Uses.of(statement).all_names:
                counts[name] = counts.get(name, 0) + 1
        return [function for function in self.functions if not counts.get(function.name)]


@dataclass
class _Uses:
    """What a piece of source names."""

    names: set[str] = field(default_factory=set)
    fixtures: set[str] = field(default_factory=set)
    """Parameters, and texts such as those of `usefixtures`: in what pytest calls, a fixture of such
    a name is meant."""
    attributes: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, *nodes: ast.AST) -> _Uses:
        uses = cls()
        for root in nodes:
            for node in ast.walk(root):
                uses._add(node)
        return uses

    def _add(self, node: ast.AST) -> None:
        match node:
            case ast.Name(id=name):
                self.names.add(name)
            case ast.arg(arg=name):
                self.fixtures.add(name)
            case ast.Attribute(attr=name):
                self.attributes.add(name)
            case ast.Constant(value=str(text)) if text.isidentifier():
                self.fixtures.add(text)

    @property
    def all_names(self) -> set[str]:
        return self.names | self.fixtures


class _Walk:
    """One test, followed from its function to everything that it uses."""

    def __init__(self, source: TestSource, path: str) -> None:
        self._source, self._path = source, path
        self.digests: dict[tuple[str, str], str] = {}
        """(path, name) → digest; the path of the test's own file is empty, so that a moved test is
        the same one."""
        self._waiting: list[tuple[str, str]] = []
        self._visited: set[tuple[str, str]] = set()
        self._called: dict[str, frozenset[str]] = {}
        """Path of each file that was entered → its functions that pytest calls unasked."""

    def start(self, names: Sequence[str]) -> bool:
        """Begin with the function of the test; False where there is none."""
        own_file = self._source.file(self._path)
        if own_file is None or not own_file.is_readable or not names:
            return False
        statements = own_file.bound.get(names[0], [])
        classes = [statement for statement in statements if isinstance(statement, ast.ClassDef)]
        if len(names) > 1 and classes:
            self.digests[_ROOT] = ""  # the first one
            for node in classes:
                self._class(node, names[0], names[1:])
            return True
        if len(names) > 1 or not statements:
            return False
        self._visited.add((self._path, names[0]))
        self._root(statements)
        return True

    def _root(self, statements: Sequence[ast.stmt]) -> None:
        # without its name: a test that was renamed is the same one
        self.digests[_ROOT] = _digest(
            [
                {**_shape(statement), "name": ""}
                if isinstance(statement, _FUNCTIONS)
                else _shape(statement)
                for statement in statements
            ]
        )
        self._follow(self._path, _Uses.of(*statements))

    def _class(self, node: ast.ClassDef, prefix: str, names: Sequence[str]) -> None:
        """A class around the test: all of it but its other tests, unless what it keeps uses one."""
        header = _digest([_shape(part) for part in (*node.decorator_list, *node.bases)])
        keywords = _digest([_shape(part) for part in node.keywords])
        self._add(self._path, prefix, f"{header}{keywords}")
        self._follow(self._path, _Uses.of(*node.decorator_list, *node.bases, *node.keywords))
        statements = node.body[_is_docstring(node.body) :]
        others = self._other_tests(statements, prefix, names[0])
        for statement in statements:
            name = getattr(statement, "name", "")
            if isinstance(statement, ast.ClassDef) and name == names[0] and len(names) > 1:
                self._class(statement, f"{prefix}.{name}", names[1:])
            elif isinstance(statement, _FUNCTIONS) and [name] == list(names):
                self._root([statement])
            elif statement not in others:
                if name:
                    part = f"{prefix}.{name}"
                else:
                    part = prefix
                self._add(self._path, part, _digest(_shape(statement)))
                self._follow(self._path, _Uses.of(statement))

    def _other_tests(
        self, statements: Sequence[ast.stmt], prefix: str, own_name: str
    ) -> list[ast.stmt]:
        """The tests of a class but one, as far as that and what is no test use none of them."""
        others = [
            statement
            for statement in statements
            if isinstance(statement, _FUNCTIONS)
            and statement.name != own_name
            and self._source.is_test(self._path, f"{prefix}.{statement.name}")
        ]
        while True:
            used = _Uses.of(*(part for part in statements if part not in others)).attributes
            unused = [test for test in others if test.name not in used]
            if len(unused) == len(others):
                return [*unused]
            others = unused

    def finish(self) -> None:
        """Follow everything that is used."""
        self._enter(self._path)
        for conftest in conftests_above(self._path):
            self._enter(conftest)
        while self._waiting:
            path, name = self._waiting.pop()
            if (path, name) not in self._visited:
                self._visited.add((path, name))
                self._visit(path, name)

    def _enter(self, path: str) -> frozenset[str]:
        """What an import of a file executes for itself, and what pytest calls unasked."""
        content = self._source.file(path)
        if content is None or path in self._called:
            return self._called.get(path, frozenset())
        self._called[path] = frozenset()
        if not content.is_readable:
            self._add(path, "", digest("test-file/1", content.content.hex())[:16])
            return frozenset()
        if content.effects:
            self._add(path, "", _digest([_shape(function) for function in content.effects]))
            self._follow(path, _Uses.of(*content.effects))
        called = [function for function in content.functions if _is_autouse(function)]
        if path == self._path:
            called += content.unused_functions
        elif path.rpartition("/")[2] == CONFTEST:
            # pytest finds hooks by this beginning (pluggy's project name)
            called += [
                function for function in content.functions if function.name.startswith("pytest_")
            ]
        names = {
            function.name for function in called if not self._source.is_test(path, function.name)
        }
        self._called[path] = frozenset(names)
        names |= {"pytestmark"} & content.bound.keys()
        self._waiting += [(path, name) for name in sorted(names)]
        return self._called[path]

    def _visit(self, path: str, name: str) -> None:
        content = self._source.file(path)
        if content is None:
            return
        called = self._enter(path)
        if name == _WHOLE:
            self._waiting += [(path, bound) for bound in content.bound]
        statements = content.bound.get(name, [])
        if not statements:
            for star in content.stars:
                self._import(path, star, name)
            return
        pieces = [_piece(statement, name) for statement in statements]
        self._add(path, name, _digest([_shape(piece) for piece in pieces]))
        for piece in pieces:
            uses = _Uses.of(piece)
            if isinstance(piece, _FUNCTIONS) and not (piece.decorator_list or name in called):
                uses.fixtures.clear()  # a helper: whoever calls it gives it its arguments
            self._follow(path, uses)
            for node in ast.walk(piece):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    self._import(path, node, name)

    def _follow(self, path: str, uses: _Uses) -> None:
        content = self._source.file(path)
        names = uses.all_names
        if content is not None:
            if content.stars:
                bound = names
            else:
                bound = names & content.bound.keys()
            self._waiting += [(path, name) for name in sorted(bound)]
        for conftest in conftests_above(self._path):
            above = self._source.file(conftest)
            if above is not None and conftest != path:
                fixtures = uses.fixtures & above.bound.keys()
                self._waiting += [(conftest, name) for name in sorted(fixtures)]

    def _import(self, path: str, node: ast.Import | ast.ImportFrom, name: str) -> None:
        """Follow an import into another test file."""
        for module, wanted in _imported(node, name):
            for target, target_name in self._targets(path, module, wanted, node):
                if is_test_path(target) and target != path:
                    self._waiting.append((target, target_name))

    def _targets(
        self, path: str, module: str, wanted: str, node: ast.Import | ast.ImportFrom
    ) -> Iterator[tuple[str, str]]:
        modules = self._source.modules
        if isinstance(node, ast.ImportFrom):
            level = node.level
        else:
            level = 0
        try:
            own = modules.module_of(path)
        except KeyError:
            return
        base = absolute(module, level, own, path.endswith("__init__.py"))
        if base is None:
            return
        if wanted:
            submodule = modules.find(f"{base}.{wanted}", path)
        else:
            submodule = None
        if submodule is not None:
            yield modules.path_of(submodule), _WHOLE
        elif (target := modules.find(base, path)) is not None:
            yield modules.path_of(target), wanted or _WHOLE

    def _add(self, path: str, name: str, value: str) -> None:
        key = ("" if path == self._path else path, name or "(statements)")
        earlier = self.digests.get(key)  # several definitions of one name, as of a property
        self.digests[key] = _digest([earlier, value]) if earlier else value


def _piece(statement: ast.stmt, name: str) -> ast.stmt:
    """A statement, or of an import the part that binds the name: its other names are others'
    business.
    """
    if isinstance(statement, ast.ImportFrom):
        aliases = [alias for alias in statement.names if (alias.asname or alias.name) == name]
        return ast.ImportFrom(statement.module, aliases, statement.level)
    if isinstance(statement, ast.Import):
        aliases = [
            alias
            for alias in statement.names
            if (alias.asname or alias.name.partition(".")[0]) == name
        ]
        return ast.Import(aliases)
    return statement


def _imported(node: ast.Import | ast.ImportFrom, name: str) -> Iterator[tuple[str, str]]:
    """(module, name in it) of what an import binds; an empty name for the module itself."""
    if isinstance(node, ast.Import):
        yield from ((alias.name, "") for alias in node.names)
        return
    for alias in node.names:
        yield node.module or "", name if alias.name == "*" else alias.name


def _bound_names(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement of the top level may bind."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name):
                yield name
            case ast.Import(names=aliases):
                yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)
            case ast.ImportFrom(names=aliases):
                yield from (alias.asname or alias.name for alias in aliases)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                yield name
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                yield name
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)


def _is_docstring(body: Sequence[ast.stmt]) -> bool:
    return bool(
        body
        and isinstance(body[0], ast.Expr)
        and isinstance(body[0].value, ast.Constant)
        and isinstance(body[0].value.value, str)
    )


def _is_autouse(function: _Function) -> bool:
    """Whether a decorator asks for it to be used unasked; what can't be read from the source,
    is.
    """
    keywords = [
        keyword
        for decorator in function.decorator_list
        if isinstance(decorator, ast.Call)
        for keyword in decorator.keywords
    ]
    return any(
        keyword.arg is None
        or (
            keyword.arg == "autouse"
            and not (isinstance(keyword.value, ast.Constant) and not keyword.value.value)
        )
        for keyword in keywords
    )


def _digest(shape: Any) -> str:
    return digest("test-part/1", shape)[:16]


def _shape(node: Any) -> Any:
    """A syntax tree as plain data, without positions, docstrings, and what is empty: versions of
    Python differ in which empty fields they have (`type_params`).
    """
    if isinstance(node, ast.AST):
        fields: Mapping[str, Any] = {
            name: value
            for name, value in ast.iter_fields(node)
            if name not in ("ctx", "kind", "type_comment") and value not in (None, [])
        }
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)) and _is_docstring(node.body):
            fields = {**fields, "body": node.body[1:]}
        shape = {name: _shape(value) for name, value in fields.items()}
        return {"node": type(node).__name__, **shape}
    if isinstance(node, list):
        return [_shape(element) for element in node]
    return f"{type(node).__name__} {node!r}"
