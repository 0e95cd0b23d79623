"""Which tests a content is expected to have, and which of them its test runs never reported.

Expected are the tests of the files that pytest's configuration names, read from their source:
nothing is collected, imported or run. What source alone can't show is not assessed, and never
called missing.
"""

from __future__ import annotations

import ast
import builtins
import configparser
import fnmatch
import json
import os
import posixpath
import shlex
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kl_hooks.code.modules import module_names
from kl_hooks.code.scanner.parser import LARGEST, parse_tree
from kl_hooks.config.settings import SETTINGS_FILE
from kl_hooks.git import files
from kl_hooks.git.files import path_matches
from kl_hooks.git.worktree import STAGED, scan_worktree
from kl_hooks.model.receipt import Receipt
from kl_hooks.store.redaction import redact

if TYPE_CHECKING:
    from kl_hooks.git.repository import Repository
    from kl_hooks.workspace import Workspace


CONFIG_NAMES: Final = (
    "pytest.toml",
    ".pytest.toml",
    "pytest.ini",
    ".pytest.ini",
    "pyproject.toml",
    "tox.ini",
    "setup.cfg",
)
"""Files that may configure pytest, in the order in which pytest looks (9.0; earlier ones do not
know the first two).
"""
CONFIG_KEYS: Final = (
    "testpaths",
    "python_files",
    "python_classes",
    "python_functions",
    "norecursedirs",
)
LARGEST_CONFIG: Final = 1_000_000
"""Bytes of a configuration file that is read."""
FACTS_VERSION: Final = 1
"""Part of the key of cached facts: raised whenever the same bytes would give other facts."""
PLAIN, CASE, BASED, UNSURE = "plain", "case", "based", "unsure"
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
_COUNTED: Final = frozenset({"keyword", "markers", "deselected", "dropped"})
"""Limits of a run that still collects everything, and counts it."""


class PytestConfig(NamedTuple):
    """What a test is, as pytest has it."""

    path: str = ""
    """The configuration file, from the repository's root; empty: pytest's defaults."""
    testpaths: tuple[str, ...] = ()
    python_files: tuple[str, ...] = ("test_*.py", "*_test.py")
    python_classes: tuple[str, ...] = ("Test",)
    python_functions: tuple[str, ...] = ("test",)
    norecursedirs: tuple[str, ...] = (
        "*.egg",
        ".*",
        "_darcs",
        "build",
        "CVS",
        "dist",
        "node_modules",
        "venv",
        "{arch}",
    )

    @property
    def folder(self) -> str:
        """The folder that its paths start from; empty: the repository's root."""
        return self.path.rpartition("/")[0]

    def collects(self, path: str) -> bool:
        """Whether plain `pytest` in its folder looks for tests in this file (a path from the
        repository's root).
        """
        if self.folder and not path.startswith(f"{self.folder}/"):
            return False
        inside = path[len(self.folder) + 1 :] if self.folder else path
        folders, _, name = inside.rpartition("/")
        if self.testpaths and not any(path_matches(inside, pattern) for pattern in self.testpaths):
            return False
        if any(_fits(part, f"/{path}", self.norecursedirs) for part in folders.split("/") if part):
            return False
        return _fits(name, f"/{path}", self.python_files)


def _fits(name: str, whole: str, patterns: Iterable[str]) -> bool:
    """pytest's rule: a pattern with a slash is for the path, any other one for the name."""
    return any(
        fnmatch.fnmatchcase(whole, f"*/{one}") if "/" in one else fnmatch.fnmatchcase(name, one)
        for one in patterns
    )


def name_matches(name: str, options: Iterable[str]) -> bool:
    """pytest's rule for classes and functions: a prefix, or a glob."""
    return any(
        name.startswith(one)
        or (any(sign in one for sign in "*?[") and fnmatch.fnmatchcase(name, one))
        for one in options
    )


def configurations(
    paths: Iterable[str], read: Callable[[str], bytes | None]
) -> tuple[dict[str, PytestConfig], list[str]]:
    """Folder → its configuration, and in words which files could not be read. `paths`: of all files
    of a content.

    Of several files in one folder pytest takes the first that configures it.
    """
    found: dict[str, PytestConfig] = {}
    unread: list[str] = []
    named = [(path.rpartition("/")[0], path.rpartition("/")[2], path) for path in paths]
    known = sorted(
        (folder, CONFIG_NAMES.index(one), one, path)
        for folder, one, path in named
        if one in CONFIG_NAMES
    )
    for folder, _, name, path in known:
        if folder in found:
            continue
        content = read(path)
        try:
            table = pytest_table(name, content) if content is not None else None
            if table is not None:
                given = {
                    key: words
                    for key in CONFIG_KEYS
                    if (words := _words(table.get(key))) is not None
                }
                found[folder] = PytestConfig(path, **given)
        except (ValueError, configparser.Error, RecursionError) as problem:
            unread.append(f"{path} can't be read ({type(problem).__name__})")
    return found, unread


def config_for(configs: Mapping[str, PytestConfig], path: str) -> PytestConfig:
    """The configuration that decides about a file: the root's where there is one, else the nearest
    above the file.
    """
    # plain `pytest` is started at the root, and takes that file; those in folders are for runs
    # started there
    return configs.get("" if "" in configs else _nearest_folder(configs, path), PytestConfig())


def _nearest_folder(configs: Mapping[str, PytestConfig], path: str) -> str:
    """The nearest folder above a file that has a configuration; empty for the root, or for none."""
    folder = path.rpartition("/")[0]
    while folder and folder not in configs:
        folder = folder.rpartition("/")[0]
    return folder


def pytest_table(name: str, content: bytes) -> Mapping[str, Any] | None:
    """The table for pytest; None where a file does not configure pytest. ValueError for one that
    can't be read.
    """
    if len(content) > LARGEST_CONFIG:
        raise ValueError("too large")
    # editors on Windows write a byte order mark, which is no valid TOML to tomllib
    text = content.decode("utf-8-sig")
    if name.endswith(".toml"):
        return _toml(name, tomllib.loads(text))
    # Raw: pytest's own parser (iniconfig) knows no interpolation, and `%` is usual in log_format
    parser = configparser.RawConfigParser(
        strict=False, allow_no_value=True, comment_prefixes=("#", ";")
    )
    parser.read_string(text)
    section = "tool:pytest" if name == "setup.cfg" else "pytest"
    if parser.has_section(section):
        return dict(parser.items(section))
    # pytest takes these even if they are empty; tox.ini and setup.cfg only with a section for it
    return {} if name in ("pytest.ini", ".pytest.ini") else None


def _toml(name: str, document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if name != "pyproject.toml":
        table = document.get("pytest")
        return table if isinstance(table, dict) else {}
    tool = document.get("tool")
    table = tool.get("pytest") if isinstance(tool, dict) else None
    if not isinstance(table, dict):
        return None
    # `[tool.pytest]` itself is read since pytest 9.0, `[tool.pytest.ini_options]` since 6.0
    options = table.get("ini_options")
    own = {key: value for key, value in table.items() if key != "ini_options"}
    return own or (options if isinstance(options, dict) else None)


def _words(value: object) -> tuple[str, ...] | None:
    """A list, or text as a shell would split it; None where the option is not given."""
    if isinstance(value, str):
        return tuple(shlex.split(value))
    return tuple(str(one) for one in value) if isinstance(value, list) else None


def config_difference(now: PytestConfig, before: PytestConfig) -> str:
    """The keys in which two configurations differ: `testpaths, python_files in pytest.ini`."""
    changed = ", ".join(key for key in CONFIG_KEYS if getattr(now, key) != getattr(before, key))
    return f"{changed} in {now.path or 'no configuration file'}" if changed else ""


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
    return DefinedTests({}, {}, tree) if isinstance(tree, str) else _File(tree).found()


def _parsed(content: bytes) -> ast.Module | str:
    """The syntax tree of a file, or in a word why there is none."""
    if len(content) > LARGEST:
        return "too large"
    try:
        return parse_tree(content)
    # MemoryError: CPython's parser raises it for brackets that are nested too deeply
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        return type(problem).__name__


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
            return UNSURE if inner.bound["__init__"] or inner.bound["__new__"] else PLAIN
        return CASE if bases <= _CASES else BASED

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
        first, _, rest = name.partition(".")
        if read is None or not first or not deep:
            return False
        scope, names = read
        if first not in scope.bound:
            return not scope.late_star and hasattr(builtins, first)
        if scope.bound[first] != 1:
            return False
        if first in names:
            return self._is_no_case_of(".".join(filter(None, (names[first], rest))), deep - 1)
        node = next(
            (node for node, direct in scope.definitions if node.name == first and direct), None
        )
        if not isinstance(node, ast.ClassDef) or rest:
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
            tree = _parsed(content) if content is not None else ""
            self._scopes[path] = (
                None if isinstance(tree, str) else (_Scope(tree.body), self._imported(path, tree))
            )
        return self._scopes[path]

    def _imported(self, path: str, tree: ast.Module) -> dict[str, str]:
        """As `_imports`, with relative ones."""
        package = self._modules[path].split(".")[: None if path.endswith("/__init__.py") else -1]
        found = dict(_imports(tree))
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.level:
                start = [*package[: len(package) - node.level + 1], *filter(None, (node.module,))]
                found |= {
                    alias.asname or alias.name: ".".join([*start, alias.name])
                    for alias in node.names
                }
        return found


def _without_helper_classes(
    functions: Mapping[str, DefinedTests],
    wanted: Mapping[str, tuple[PytestConfig, str]],
    source: ContentSource,
) -> dict[str, DefinedTests]:
    """The same, where classes are plain that can be tests by neither their name nor their bases.

    pytest collects a class with another name than `python_classes` has only if it is one of
    unittest.
    """
    bases: _Bases | None = None
    found = dict(functions)
    for path, defined in functions.items():
        config = wanted[path][0]
        named = {
            name.partition("::")[0]
            for name in defined.functions
            if name.partition("::")[2].startswith("test")
        }
        for name in sorted(named):
            if defined.classes[name] == BASED and not name_matches(name, config.python_classes):
                bases = bases or _Bases(source)
                if bases.is_no_case(path, name):
                    found[path] = found[path]._replace(classes={**found[path].classes, name: PLAIN})
    return found


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
        one = stack.pop()
        if isinstance(one, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(one, (*_Deferred, ast.ClassDef)):
            stack += ast.iter_child_nodes(one)
    return False


def defined_tests_from_dict(plain: Any) -> DefinedTests | None:
    """The way back from `DefinedTests.plain()`; None for data that is not of this form."""
    try:
        found = DefinedTests(plain["functions"], plain["classes"], plain["error"])
    except (TypeError, KeyError):
        return None
    if not (
        isinstance(found.functions, dict)
        and isinstance(found.classes, dict)
        and isinstance(found.error, str)
    ):
        return None
    values = ((found.functions, bool), (found.classes, str))
    return (
        found
        if all(type(value) is kind for names, kind in values for value in names.values())
        else None
    )


class Missing(NamedTuple):
    """A test, or all tests of a file, that no run reported."""

    name: str
    """`tests/test_a.py::test_b`, or a file."""
    reason: str


@dataclass(frozen=True, slots=True)
class ContentSource:
    """The files of one content: those on disk, or those of a tree."""

    blobs: Mapping[str, str]
    """Path → blob ID of tracked Python files and of files that may configure pytest or kl."""
    read: Callable[[Iterable[str]], Iterator[tuple[str, bytes]]]
    """The contents of files by path, of those that can be read."""

    def text(self, path: str) -> bytes | None:
        """The content of one file; None where there is none."""
        return (
            next((content for _, content in self.read([path])), None)
            if path in self.blobs
            else None
        )


def content_source(repo: Repository, tree: str, *, untracked: bool = False) -> ContentSource:
    """The content of a tree or commit, or of what is `STAGED`; of the tracked files on disk where
    `tree` is empty.

    `untracked`: on disk also the files that git does not track, and does not ignore.
    """
    wanted = (".py", *CONFIG_NAMES, SETTINGS_FILE)
    if tree == STAGED:
        entries = {entry.path: entry for entry in files.staged_files(repo, wanted)}
    elif tree:
        entries = {entry.path: entry for entry in files.files_at(repo, tree, wanted)}
    else:
        look = scan_worktree(repo)
        others = {os.fsdecode(path) for path in look.listing.untracked}
        found = files.worktree_files(repo, wanted, look)
        # tracked files only: what a commit would not hold is not expected of its tests
        entries = {entry.path: entry for entry in found if untracked or entry.path not in others}

    def read(paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        some = [entries[path] for path in paths if path in entries]
        return (
            (one.path, text)
            for one, text in files.read_files(repo, some, "objects" if tree else "worktree")
        )

    return ContentSource({path: entry.blob for path, entry in entries.items()}, read)


@dataclass
class Reported:
    """What the runs of one environment reported together, by names without parameters."""

    root: str
    tests: dict[str, set[str]] = field(default_factory=dict)
    """File → names such as `TestA::test_b`."""
    skipped: set[str] = field(default_factory=set)
    """Files and folders that were skipped as a whole."""
    whole: set[str] = field(default_factory=set)
    """Files that were run as a whole."""
    everything: bool = False
    """True where one run was limited by nothing, or the runs together reported everything."""
    ids: set[str] = field(default_factory=set)
    """Node IDs."""
    unchanged: list[Callable[[str, Sequence[str]], bool]] = field(default_factory=list)
    """Of each run of other content: whether it asked a file for its tests that has the same ones
    now, given the names of which that is not certain."""
    _collected: list[tuple[int, str]] = field(default_factory=list)
    """Of each limited run: how many tests it collected, and the digest of their names (empty: an
    older kl's).
    """

    def add(self, receipt: Receipt, limits: Mapping[str, Any]) -> None:
        """Adds a good run. `limits`: the selection options that left tests out of it; empty for
        none.
        """
        part = receipt.environment.get("rootdir") not in (None, "")
        seen: set[str] = set()
        for one in receipt.evidence:
            if one.kind != "TestResult":
                continue
            path, _, name = one.subject.removeprefix("test:").partition("::")
            path = self._path(receipt, path)
            self.ids.add(f"{path}::{name}")
            if name:
                self.tests.setdefault(path, set()).add(name.partition("[")[0])
                seen.add(path)
            elif one.outcome == "skipped":
                self.skipped.add(path.removesuffix("/__init__.py"))
        if not limits and not part:
            self.everything = True
        # an argument with `::` asks for tests, not files: then no file of that run is known to be
        # whole
        elif limits.keys() <= {"left_out"} and "::" not in str(receipt.selection.get("args")):
            self.whole |= seen
        elif (
            limits.keys() <= _COUNTED
            and not part
            and isinstance(receipt.selection.get("collected"), int)
        ):
            digest = str(receipt.selection.get("collected_names") or "")
            self._collected.append((receipt.selection["collected"], digest))
            files = receipt.selection.get("deselected_files")
            # what disappeared without a word ("dropped") may have been of any file
            if (
                isinstance(files, list | tuple)
                and "dropped" not in limits
                and "::" not in str(receipt.selection.get("args"))
            ):
                self.whole |= seen - {self._path(receipt, str(one)) for one in files}

    def close(self) -> Reported:
        """Call it when all runs are in: what one omitted may have been reported by the others, test
        by test.
        """
        # runs that collected other names can't be added up: a parameter may hold a clock
        if len(set(self._collected)) == 1 and len(self.ids) >= self._collected[0][0]:
            self.everything = True
        return self

    def _path(self, receipt: Receipt, path: str) -> str:
        """The path from the repository's root, also where pytest's root is above it or the path
        leads upwards.
        """
        # the receipt has pytest's rootdir only where it is not the repository's; absolute, if it is
        # above or elsewhere
        rootdir = str(receipt.environment.get("rootdir") or "")
        if rootdir.startswith("/"):
            path = os.path.relpath(posixpath.join(rootdir, path), self.root)
        return posixpath.normpath(path) if ".." in path or path.startswith("./") else path

    def has(self, path: str, name: str) -> bool:
        """Whether this test, or the class that it is in, was reported."""
        known = self.tests.get(path, ())
        parts = name.split("::")
        return any("::".join(parts[:depth]) in known for depth in range(1, len(parts) + 1))

    def skips(self, path: str) -> bool:
        """Whether the file, or a folder that it is in, was skipped as a whole."""
        parts = path.split("/")
        return any("/".join(parts[:depth]) in self.skipped for depth in range(1, len(parts) + 1))

    def complete(self, path: str, doubtful: Sequence[str] = ()) -> bool:
        """Whether a run has asked the whole file for its tests. `doubtful`: names that may be
        tests, and unreported.
        """
        return (
            self.everything
            or path in self.whole
            or any(asked(path, doubtful) for asked in self.unchanged)
        )


class Assessment(NamedTuple):
    """What is missing, and what could not be assessed."""

    missing: tuple[Missing, ...] = ()
    not_assessed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Expected:
    """The tests that a content is expected to have."""

    root: str
    files: Mapping[str, tuple[PytestConfig, str]]
    """File → the configuration by which it is expected, and why it is although today's
    configuration leaves it out.
    """
    functions: Mapping[str, DefinedTests]
    nearer: Mapping[str, str] = field(default_factory=dict)
    """File → the configuration file that pytest takes where it is started in a folder, and not at
    the root.
    """
    others: frozenset[str] = frozenset()
    """Python files that neither the configuration nor `verify.exclude` names."""
    ignored: frozenset[str] = frozenset()
    """Expected files that a `conftest.py` ignores under a condition, as it did in the commit
    before.
    """
    notes: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    def assess(self, reported: Reported) -> Assessment:
        """Compares what is expected with what was reported."""
        missing: list[Missing] = []
        unsure: list[str] = list(self.unread)
        for path, (config, reason) in sorted(self.files.items()):
            if reported.skips(path):
                continue
            found = self.functions.get(path)
            if path not in reported.tests and (why := self._unsure(path, found)):
                unsure.append(f"{path} ({why})")
            if (
                found is None
                or found.error
                or (path in self.ignored and path not in reported.tests)
            ):
                continue
            lost, open_ = compare_file(path, found, config, reported)
            missing += [
                Missing(name, reason or why + self.nearer.get(path, "")) for name, why in lost
            ]
            unsure += open_
        return Assessment(tuple(missing), tuple(unsure))

    def _unsure(self, path: str, found: DefinedTests | None) -> str:
        """Why it is unknown whether this file has tests that could be collected; empty where it is
        known.
        """
        if path in self.ignored:
            return "a conftest.py ignores it under a condition"
        return found.error if found is not None else "its content could not be read"


def compare_file(
    path: str, found: DefinedTests, config: PytestConfig, reported: Reported
) -> tuple[list[Missing], list[str]]:
    """The tests of one file that are missing, and those that can't be assessed."""
    certain, doubtful = expected_names(found, config, reported.tests.get(path, ()))
    if path not in reported.tests:
        if certain:
            number = f"{len(certain)} test{'' if len(certain) == 1 else 's'}"
            return [Missing(path, f"no test of it was reported, {number} expected")], []
        if doubtful and not reported.complete(path, doubtful):
            return [Missing(path, "no complete run collected it")], []
        return [], [path] if doubtful else []
    lost = [
        Missing(f"{path}::{name}", "not reported")
        for name in certain
        if not _was_reported(reported, path, name)
    ]
    rest = [name for name in doubtful if not _was_reported(reported, path, name)]
    open_ = [f"{path}::{name}" for name in rest]
    if not reported.complete(path, rest) and not lost:
        return [Missing(path, "only a part of it ran")], open_
    return lost, open_


def _was_reported(reported: Reported, path: str, name: str) -> bool:
    """Whether it was reported, also under the name that a redacted record has."""
    if reported.has(path, name):
        return True
    hidden = redact(f"{path}::{name}")
    return hidden != f"{path}::{name}" and reported.has(*hidden.partition("::")[::2])


def expected_names(
    found: DefinedTests, config: PytestConfig, seen: Iterable[str] = ()
) -> tuple[list[str], list[str]]:
    """The names that pytest surely collects from a file by this configuration, and those that it
    may collect.

    `seen`: names that were reported: a class with a base of its own is collected if one of its
    tests was.
    """
    collected = {name.rpartition("::")[0] for name in seen}
    certain: list[str] = []
    doubtful: list[str] = []
    for name, plain in found.functions.items():
        *classes, function = name.split("::")
        chain = ["::".join(classes[:depth]) for depth in range(1, len(classes) + 1)]
        kinds = [found.classes.get(one, "") for one in chain]
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
    named = (
        function.startswith("test")
        if by_unittest
        else name_matches(function, config.python_functions)
    )
    if kinds and kinds[-1] == BASED:
        # a base of unknown origin may be a unittest.TestCase: only what pytest and unittest both
        # collect is expected
        named = named and function.startswith("test")
    return named and all(
        kind != PLAIN or name_matches(one.rpartition("::")[2], config.python_classes)
        for one, kind in zip(chain, kinds, strict=True)
    )


def expected_tests(
    ws: Workspace,
    repo: Repository,
    source: ContentSource,
    before: ContentSource | None,
    label: str,
    exclude: Sequence[str],
) -> Expected:
    """What a content is expected to have, also by the configuration `before` it (called `label`).

    A file that only the earlier configuration collects is expected with the difference as its
    reason: a narrower configuration must not make tests disappear. `exclude`: globs of files that
    are no tests.
    """
    configs, unread = configurations(source.blobs, source.text)
    older = configurations(before.blobs, before.text)[0] if before is not None else configs
    python = [
        p
        for p in source.blobs
        if p.endswith(".py") and not any(path_matches(p, glob) for glob in exclude)
    ]
    wanted: dict[str, tuple[PytestConfig, str]] = {}
    for path in python:
        now, was = config_for(configs, path), config_for(older, path)
        if now.collects(path):
            wanted[path] = (
                _wider(now, was),
                _narrower(now, was, label) if _wider(now, was) != now else "",
            )
        elif was.collects(path):
            wanted[path] = (was, _narrower(now, was, label))
    # where pytest is started in such a folder, it finds another configuration before the root's
    near = {
        path: f"; {configs[folder].path} is nearer than {configs[''].path}"
        for path in (wanted if "" in configs else ())
        if (folder := _nearest_folder(configs, path))
    }
    functions = _without_helper_classes(_functions(ws, source, list(wanted)), wanted, source)
    ignored = _ignored(source, wanted)
    if before is not None and ignored:
        # an ignore that is new may hide a failing test: only one that the commit before has as well
        # is accepted
        ignored &= _ignored(before, wanted)
    others = frozenset(python) - wanted.keys()
    return Expected(str(ws.root), wanted, functions, near, others, ignored, unread=tuple(unread))


def _ignored(source: ContentSource, paths: Iterable[str]) -> frozenset[str]:
    """Those of these files that a `conftest.py` in a folder above them ignores under a
    condition.
    """
    conftests = [path for path in source.blobs if path.rpartition("/")[2] == "conftest.py"]
    globs = [
        posixpath.normpath(posixpath.join(path.rpartition("/")[0], glob)) if glob else ""
        for path, content in source.read(conftests)
        for glob in conditional_ignores(content)
    ]
    return frozenset(
        path for path in paths if any(glob and path_matches(path, glob) for glob in globs)
    )


def _wider(now: PytestConfig, was: PytestConfig) -> PytestConfig:
    """Names of classes and functions count as tests if they do today, or did before."""
    return now._replace(
        python_classes=tuple(dict.fromkeys((*now.python_classes, *was.python_classes))),
        python_functions=tuple(dict.fromkeys((*now.python_functions, *was.python_functions))),
    )


def _narrower(now: PytestConfig, was: PytestConfig, label: str) -> str:
    return (
        f"no longer collected since {label}:"
        f" {config_difference(now, was) or 'pytest is configured elsewhere'}"
    )


def outside_testpaths(source: ContentSource) -> list[str]:
    """Globs for the files that are named like tests and lie outside `testpaths`: folders, where no
    test lies below.
    """
    configs, _ = configurations(source.blobs, source.text)
    python = [path for path in source.blobs if path.endswith(".py")]
    tests = [path for path in python if config_for(configs, path).collects(path)]
    found: set[str] = set()
    for path in sorted(set(python).difference(tests)):
        config, folder = config_for(configs, path), path.rpartition("/")[0]
        if config.testpaths and config._replace(testpaths=()).collects(path):
            mixed = not folder or any(test.startswith(f"{folder}/") for test in tests)
            found.add(path if mixed else folder)
    return sorted(
        one for one in found if not any(path_matches(one, other) for other in found - {one})
    )


def _functions(
    ws: Workspace, source: ContentSource, paths: Sequence[str]
) -> dict[str, DefinedTests]:
    """The functions of these files; each content is parsed once and then cached by its blob ID."""
    known: dict[str, DefinedTests] = {}
    for path in paths:
        cached = ws.cache.get(_key(source.blobs[path]))
        if cached is not None and (found := _decoded(cached)) is not None:
            known[path] = found
    for path, content in source.read([path for path in paths if path not in known]):
        known[path] = defined_tests(content)
        ws.cache.set(_key(source.blobs[path]), json.dumps(known[path].plain()).encode(), None)
    return known


def _key(blob: str) -> str:
    # the minor version of Python is in the key: another one parses other syntax from the same bytes
    return f"defined-tests/{FACTS_VERSION}/{sys.version_info[0]}.{sys.version_info[1]}/{blob}"


def _decoded(cached: bytes) -> DefinedTests | None:
    try:
        return defined_tests_from_dict(json.loads(cached))
    except (ValueError, RecursionError):
        return None
