"""Compare the modules that a run imported with the content tree that its receipt names.

A suite can pass on code that is not in the tree: an editable install of another worktree, `pip
install .` of an older state, a package that pytest itself imports. A module is *in place* if its
real path is a path of the content tree. Every other module whose dotted name maps to a Python file
of the tree is compared with that file (ADR-0016).

It runs in the process that runs the tests, at the end of the session: in an xdist worker the
`report` is sent to the controller, which merges all of them in `summarize`. What it needs of `os`
and `io` is bound when it is imported, because test suites replace these.
"""

# A Path would look these functions up in `os`, which a suite may have replaced.
# ruff: noqa: PTH109, PTH114, PTH116, PTH118, PTH119, PTH120

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib.machinery import ModuleSpec, SourcelessFileLoader
from io import FileIO
from os import fsdecode as _fsdecode
from os import fsencode as _fsencode
from os import getcwd as _getcwd
from os import stat as _stat
from os.path import basename, dirname, islink, join, realpath
from types import ModuleType
from typing import Any, Final

from kl_hooks.git.files import ignored_paths
from kl_hooks.git.repository import Repository
from kl_hooks.git.worktree import FileListing
from kl_hooks.model.canonical import replace_surrogates
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from pytest_kl.distributions import Environment

MOST: Final = 50
"""Modules of one sort that a worker reports by name."""
STORED: Final = 10
"""Modules of one sort that the receipt names."""
NOT_COMPARED: Final = "imported modules could not be compared"

_PROJECT_FILES: Final = ("pyproject.toml", "setup.py", "setup.cfg")
_SOURCE_FOLDERS: Final = ("src", "lib", "python")
"""Folders of a project whose modules are distributed under their own names."""
_NOT_SOURCE: Final = frozenset(
    (
        "tests",
        "test",
        "testing",
        "docs",
        "doc",
        "examples",
        "example",
        "benchmarks",
        "vendor",
        "_vendor",
        "vendored",
        "third_party",
        "node_modules",
        "templates",
        "fixtures",
        "data",
        "build",
        "dist",
    )
)
"""A root in one of these is assessed only if it is on `sys.path`: its files are not what the
project installs.
"""
_SCRIPTS: Final = frozenset(("conftest", "setup", "noxfile", "__main__", "__mp_main__"))
"""Names that many folders and projects have: one of them elsewhere is not an installed copy of
ours.
"""
_STANDARD: Final = sys.stdlib_module_names
_SORTS: Final = ("same", "compiled", "different", "absent", "unknown", "sourceless")
_INSTALLED: Final = lazy_pattern(r"/(?:site|dist)-packages/")
_LEGACY_NAMESPACE: Final = lazy_pattern(rb"declare_namespace|extend_path")
_NAME: Final = lazy_pattern(r"""\bname\s*=\s*["']?([A-Za-z0-9][A-Za-z0-9._-]*)""")
_LAYOUT: Final = lazy_pattern(r"""(?m)^.*(?:where|from|package|source|""|'').*$""")


class Loaded(NamedTuple):
    """A module that was loaded from a file."""

    name: str
    file: str
    loader: Any


class _Content(NamedTuple):
    """The parts of `Content`, which stores also what it computes of them."""

    top: str
    """The real path of the working tree's top folder."""
    files: frozenset[str]
    projects: frozenset[str]
    """Folders with a project file; the top is always one."""
    nested: tuple[str, ...] = ()
    """Submodules and other repositories inside this one, with `/` at the end."""


class Content(_Content):
    """The Python files of a content tree; paths from its top, `/` between."""

    @classmethod
    def of(cls, repo: Repository, listing: FileListing) -> Content:
        """The content that git listed. Starts no process."""
        return cls._made(realpath(repo.top), list(listing.paths((".py", *_PROJECT_FILES))))

    @classmethod
    def _made(cls, top: str, listed: Iterable[str]) -> Content:
        files = []
        projects = {""}
        nested = []
        for path in listed:
            if path.endswith("/"):
                nested.append(path)
            elif _INSTALLED.search(f"/{path}"):
                continue  # an environment that nobody ignored: what is installed there is a copy
            elif path.endswith(".py"):
                files.append(path)
            if basename(path) in _PROJECT_FILES:
                projects.add(dirname(path))
        return cls(top, frozenset(files), frozenset(projects), tuple(nested))

    def packed(self) -> list[Any]:
        """For a worker of xdist: plain values, small (47,000 paths in about 300 kB)."""
        projects = [join(folder, _PROJECT_FILES[0]) for folder in self.projects]
        # NUL is the one byte that no path contains; bytes, since a lone surrogate has no UTF-8 to
        # be sent as
        text = "\0".join([*sorted(self.files), *self.nested, *projects])
        return [_fsencode(self.top), zlib.compress(_fsencode(text), 1)]

    @classmethod
    def unpacked(cls, packed: Sequence[Any]) -> Content:
        """What `packed` made."""
        return cls._made(_fsdecode(packed[0]), _fsdecode(zlib.decompress(packed[1])).split("\0"))

    def path_of(self, real: str) -> str | None:
        """The path from the top of a real path under it; None for any other."""
        if real.startswith(self.top + "/"):
            return real[len(self.top) + 1 :]
        return None

    @cached_property
    def packages(self) -> frozenset[str]:
        """Folders with an `__init__.py`; never the top, which some repositories have one in."""
        return frozenset(
            dirname(path) for path in self.files if basename(path) == "__init__.py"
        ) - {""}

    @cached_property
    def roots(self) -> dict[str, set[str]]:
        """Top-level module name → folders that it could be imported from: neither a package nor
        inside one.
        """
        roots_of: dict[str, set[str]] = {}
        done: set[str] = set()
        for path in self.files:
            folder, _, name = path.rpartition("/")
            if folder not in done:
                done.add(folder)
                parts = folder.split("/") if folder else []
                for root, part in zip(self._outside(parts), parts, strict=False):
                    roots_of.setdefault(part, set()).add(root)
            if not self._inside_package(folder) and name != "__init__.py":
                roots_of.setdefault(name.removesuffix(".py"), set()).add(folder)
        return roots_of

    def _outside(self, parts: Sequence[str]) -> Iterator[str]:
        """The folders on the way down that are no package."""
        for depth in range(len(parts)):
            folder = "/".join(parts[:depth])
            if folder in self.packages:
                return
            yield folder

    def _inside_package(self, folder: str) -> bool:
        while folder:
            if folder in self.packages:
                return True
            folder = dirname(folder)
        return False

    def candidates(self, name: str) -> Iterator[tuple[str, str]]:
        """(root, path) of the files that a dotted name could mean."""
        top = name.partition(".")[0]
        tail = name.replace(".", "/")
        for root in sorted(self.roots.get(top, ())):
            for path in (join(root, tail + ".py"), join(root, tail, "__init__.py")):
                if path in self.files:
                    yield root, path


class _Projects:
    """Where the packages of a content are, by its project files."""

    def __init__(self, content: Content) -> None:
        self.content = content
        self._texts: dict[str, str] = {}

    def distributes(self, root: str, path: str) -> bool:
        """Whether the file is imported from `root` where the project is installed."""
        if not _NOT_SOURCE.isdisjoint(root.split("/")):
            return False
        project = self.folder(root)
        inner = root[len(project) :].strip("/")
        if inner in _SOURCE_FOLDERS:
            return True
        top = path[len(root) :].strip("/").partition("/")[0].removesuffix(".py")
        inside = dirname(path) != root and dirname(path) in self.content.packages
        if not inner and top not in _NOT_SOURCE and inside:
            return True
        text = self._text(project)
        names = {re.sub(r"[-_.]+", "_", one).lower() for one in _NAME.findall(text)}
        if top.lower() in names or re.search(rf"\bpy[-_]modules\b[^\n]*\b{re.escape(top)}\b", text):
            return True
        word = re.compile(rf"(?<![\w.-]){re.escape(inner)}(?![\w-])")
        return bool(inner) and any(word.search(line) for line in _LAYOUT.findall(text))

    def folder(self, root: str) -> str:
        """The nearest folder at or above with a project file."""
        while root and root not in self.content.projects:
            root = dirname(root)
        return root

    def _text(self, folder: str) -> str:
        if folder not in self._texts:
            parts = []
            for name in _PROJECT_FILES:
                try:
                    parts.append(
                        _read(join(self.content.top, folder, name)).decode("utf-8", "replace")
                    )
                except OSError:
                    continue
            self._texts[folder] = "\n".join(parts)
        return self._texts[folder]


def loaded(modules: Mapping[Any, Any]) -> Iterator[Loaded]:
    """The modules with a file, but those of the standard library. Runs no code of a module: some
    load themselves when an attribute is asked for.
    """
    # a copy: a thread that a test left behind may import something meanwhile
    for key, module in list(modules.items()):
        if not isinstance(key, str) or not isinstance(module, ModuleType):
            continue
        try:
            facts = object.__getattribute__(module, "__dict__")
        except (
            AttributeError
        ):  # what only claims to be a module by its __class__, such as the libraries of cffi
            continue
        spec = facts.get("__spec__")
        name = key
        file = facts.get("__file__")
        # the key may be another name: of `python -m pkg` it is `__main__`, and `pkg.__main__` in
        # the spec (PEP 451)
        if isinstance(spec, ModuleSpec):
            name, file = spec.name, spec.origin if spec.has_location else file
        if (
            isinstance(file, str)
            and name not in _SCRIPTS
            and name.partition(".")[0] not in _STANDARD
        ):
            yield Loaded(name, file, facts.get("__loader__"))


class _Comparison:
    """One comparison of what is loaded with a content."""

    def __init__(self, content: Content, search_path: Sequence[str]) -> None:
        self._content = content
        self._projects = _Projects(content)
        self._folders: dict[str, str] = {}
        # an empty entry of sys.path is the current directory
        entries = {self._real_folder(one or _getcwd()) for one in search_path}
        inside = {"" if one == content.top else content.path_of(one) for one in entries}
        self._search_path = {one for one in inside if one is not None}
        self._nested = tuple(join(content.top, one) for one in content.nested)
        self.in_place = 0
        self.rows: dict[str, list[tuple[str, ...]]] = {sort: [] for sort in _SORTS}

    def judge(self, module: Loaded) -> bool:
        """Put a module where it belongs; False for one that is no business of this repository."""
        content = self._content
        is_ours = module.name.partition(".")[0] in content.roots
        if not is_ours and not module.file.startswith(content.top + "/"):
            return False
        real = self._real(module.file)
        if content.path_of(real) in content.files:
            self.in_place += 1
            return True
        # by its loader: what is compiled from other sources is built, bytecode is what was left
        # over
        path = content.path_of(real)
        if path and not real.startswith(self._nested) and _is_bytecode(module, real):
            self.rows["sourceless"].append((module.name, path))
            return True
        candidates = [
            one
            for one in content.candidates(module.name)
            if self._assessed(*one, module.name, real)
        ]
        package = candidates or self._package(module.name, real)
        if not package or (
            not candidates and content.path_of(real) and real.startswith(self._nested)
        ):
            return False
        if not real.endswith(".py"):
            self.rows["compiled"].append((module.name,))
        elif candidates:
            self._compare(module, real, [path for _, path in candidates])
        else:
            root = package[0][0]
            name = module.name.replace(".", "/")
            if basename(real) == "__init__.py":
                end = "/__init__.py"
            else:
                end = ".py"
            self.rows["absent"].append((module.name, join(root, name + end), real))
        return True

    def _assessed(self, root: str, path: str, name: str, real: str) -> bool:
        """Whether the file of the tree is what this name was meant to import (ADR-0016)."""
        if root in self._search_path or self._projects.distributes(root, path):
            return True
        return bool(root) and real.endswith(f"/{path}")  # the same place in another checkout

    def _package(self, name: str, real: str) -> list[tuple[str, str]]:
        """(root, path) of the nearest regular package of this repository that a module without a
        file belongs to.

        Empty where its path is not that of its name: a package may look for plugins in other
        folders. So may an old namespace package, which has an `__init__.py` in each distribution.
        """
        tail = "/" + name.replace(".", "/")
        stem = re.sub(r"(?:/__init__)?\.[^/]*$", "", real)
        parent = name.rpartition(".")[0]
        while parent and stem.endswith(tail):
            inits = [
                one for one in self._content.candidates(parent) if one[1].endswith("/__init__.py")
            ]
            if inits:
                assessed = [one for one in inits if self._assessed(*one, parent, real)]
                return [
                    one
                    for one in assessed
                    if not _LEGACY_NAMESPACE.search(_read(join(self._content.top, one[1])))
                ]
            parent = parent.rpartition(".")[0]
        return []

    def _compare(self, module: Loaded, real: str, paths: Sequence[str]) -> None:
        try:
            size, data = _size_of(real, module.loader)
            there = False
            for path in paths:
                try:
                    if _stat(join(self._content.top, path)).st_size != size:
                        there = True
                        continue
                except FileNotFoundError:
                    continue
                there = True
                data = _read(real) if data is None else data
                if _read(join(self._content.top, path)) == data:
                    self.rows["same"].append((module.name,))
                    return
        except Exception as problem:  # a loader or a file system of somebody else's
            self.rows["unknown"].append((module.name, paths[0], type(problem).__name__))
            return
        self.rows["different" if there else "absent"].append((module.name, paths[0], real))

    def _real(self, file: str) -> str:
        folder = dirname(file)
        name = basename(file)
        # realpath asks for every folder on the way; with the real folder cached, one lstat a module
        # is enough
        path = join(self._real_folder(folder), name)
        if islink(path):
            return realpath(path)
        return path

    def _real_folder(self, folder: str) -> str:
        if folder not in self._folders:
            self._folders[folder] = realpath(folder)
        return self._folders[folder]


def _is_bytecode(module: Loaded, real: str) -> bool:
    """Whether a module was loaded from bytecode without source, in no environment of the
    project.
    """
    return isinstance(module.loader, SourcelessFileLoader) and not _INSTALLED.search(real)


def _size_of(file: str, loader: Any) -> tuple[int, bytes | None]:
    """The size; with the content where that had to be read for it, because the file is in an
    archive.
    """
    try:
        return _stat(file).st_size, None
    except (FileNotFoundError, NotADirectoryError):
        if not hasattr(loader, "get_data") or not hasattr(loader, "archive"):
            raise
    data = loader.get_data(file)
    return len(data), data


def _read(file: str) -> bytes:
    with FileIO(file) as stream:
        return stream.readall()


def report(
    content: Content, modules: Mapping[str, Any], search_path: Sequence[str]
) -> dict[str, Any]:
    """What is loaded in this process, against the content: plain values, lists of at most `MOST`,
    no surrogates.
    """
    comparison = _Comparison(content, search_path)
    foreign = [(one.name, one.file) for one in loaded(modules) if not comparison.judge(one)]
    plain: dict[str, Any] = {"in_place": comparison.in_place, "counts": {}}
    plain["outside"] = Environment.outside_modules(foreign, content.top)
    for key, rows in comparison.rows.items():
        unique = sorted(set(rows))
        plain["counts"][key] = len(unique)
        plain[key] = [list(row) for row in unique[:MOST]]
    cleaned: dict[str, Any] = replace_surrogates(plain)
    return cleaned


def summarize(
    content: Content, repo: Repository, reports: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Any], list[str]]:
    """What the receipt has as `imported` of its environment, and the reasons why the run is no evidence about this
    content.

    Asks git (one process) only where a package of this repository has a module without a file in
    the tree: one that git ignores is generated, one that it does not ignore should be there.
    """
    rows = {key: sorted({tuple(row) for one in reports for row in one[key]}) for key in _SORTS}
    # a process names at most MOST modules of a sort, so its count may be higher than what is merged
    number = {key: max([len(rows[key]), *(one["counts"][key] for one in reports)]) for key in rows}
    if rows["absent"]:
        generated = _generated(content, repo, rows["absent"])
    else:
        generated = []
    if rows["sourceless"]:
        sourceless = _sourceless(repo, rows["sourceless"])
    else:
        sourceless = []
    missing = [row for row in rows["absent"] if row[0] not in generated]
    number["missing"] = number["absent"] - len(generated)
    summary: dict[str, Any] = {
        # not the sum: all workers import much the same modules
        "in_place": max((one["in_place"] for one in reports), default=0),
        "same": number["same"],
        "same_first": [one[0] for one in rows["same"][:3]],
        "compiled": number["compiled"],
        "different": [
            dict(zip(("module", "path", "file"), one, strict=True))
            for one in rows["different"][:STORED]
        ],
        "missing": [
            dict(zip(("module", "path", "file"), one, strict=True)) for one in missing[:STORED]
        ],
        "generated": generated[:STORED],
        "not_compared": [one[0] for one in rows["unknown"][:STORED]],
        **({"sourceless": sourceless[:STORED]} if sourceless else {}),
    }
    totals = {
        "different": number["different"],
        "missing": number["missing"],
        "generated": len(generated),
    }
    if cut := {key: total for key, total in totals.items() if total > len(summary[key])}:
        summary["total"] = cut
    return summary, [
        *_reasons(content, rows["different"], missing, number),
        *_unknown(rows["unknown"], number["unknown"]),
        *_without_source(sourceless),
    ]


def _generated(content: Content, repo: Repository, absent: Sequence[Sequence[str]]) -> list[str]:
    """The modules whose file git ignores. One git process."""
    own = {
        row[2]: path
        for row in absent
        if (path := content.path_of(row[2])) and not _INSTALLED.search(row[2])
    }
    ignored = ignored_paths(repo, {*own.values(), *(row[1] for row in absent)})
    return [row[0] for row in absent if row[1] in ignored or own.get(row[2]) in ignored]


def _sourceless(repo: Repository, rows: Sequence[Sequence[str]]) -> list[dict[str, str]]:
    """The modules whose bytecode git ignores, so that no content has them. One git process."""
    ignored = ignored_paths(repo, {path for _, path in rows})
    return [{"module": name, "path": path} for name, path in rows if path in ignored]


def _without_source(modules: Sequence[Mapping[str, str]]) -> Iterator[str]:
    if modules:
        first = modules[0]
        others = len(modules) - 1
        if others:
            remainder = f" (and {others} more module{'s' if others > 1 else ''})"
        else:
            remainder = ""
        yield (
            f"{first['module']} was imported from {first['path']}{remainder}, bytecode "
            f"without source that git ignores; hint: rm {first['path']}"
        )


def _reasons(
    content: Content,
    different: Sequence[Sequence[str]],
    missing: Sequence[Sequence[str]],
    number: Mapping[str, int],
) -> Iterator[str]:
    for rows, total, what in (
        (different, number["different"], "{} was imported from {}, which differs from {}"),
        (missing, number["missing"], "{} was imported from {}: this checkout has no {}"),
    ):
        if rows:
            name, path, file = rows[0]
            if total > 1:
                remainder = f" (and {total - 1} more module{'s' if total > 2 else ''})"
            else:
                remainder = ""
            yield f"{what.format(name, file, path)}{remainder}; hint: {_hint(content, name, path)}"


def _hint(content: Content, name: str, path: str) -> str:
    """The command after which the module is imported from this checkout."""
    parts = len(name.split(".")) + (basename(path) == "__init__.py")
    root = "/".join(path.split("/")[:-parts])
    projects = _Projects(content)
    folder = projects.folder(root)
    if projects.distributes(root, path) and _installable(content, folder):
        return f"pip install -e {folder or '.'} in this checkout"
    return f"PYTHONPATH={root or '.'} python -m pytest in this checkout"


def _installable(content: Content, folder: str) -> bool:
    for name in ("pyproject.toml", "setup.py"):
        try:
            data = _read(join(content.top, folder, name))
        except OSError:
            continue
        if name == "setup.py" or b"[build-system]" in data or b"[project]" in data:
            return True
    return False


def _unknown(rows: Sequence[Sequence[str]], total: int) -> Iterator[str]:
    if rows:
        name, path, why = rows[0]
        if total > 1:
            remainder = f" and {total - 1} more"
        else:
            remainder = ""
        yield f"{NOT_COMPARED}: {name}{remainder} with {path} ({why})"


class Observer:
    """Compares once, at the end of the session, in the process that runs the tests. Never raises.

    What it asks for is bound now: a suite may put other objects in the place of `sys.modules` and
    `sys.path`.
    """

    def __init__(self, content: Callable[[], Content]) -> None:
        self._content = content
        self._modules = sys.modules

    def report(self) -> dict[str, Any] | None:
        """The report of this process; None where it could not be made."""
        try:
            return report(self._content(), self._modules, [str(one) for one in sys.path])
        except Exception:
            return None
