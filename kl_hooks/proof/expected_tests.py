"""Which tests a content is expected to have, and which of them its test runs never reported.

Expected are the tests of the files that pytest's configuration names, read from their source: nothing is collected
or run. What can't be told from source alone is not assessed, and never called missing.
"""

from __future__ import annotations

import json
import os
import posixpath
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kl_hooks.git import files
from kl_hooks.model.receipt import Receipt
from kl_hooks.proof import defined_tests
from kl_hooks.proof.defined_tests import BASED, CASE, PLAIN, DefinedTests
from kl_hooks.proof.pytest_config import (
    NAMES,
    PytestConfig,
    below,
    configurations,
    difference,
    governing,
    matches,
)
from kl_hooks.store.redaction import redact

if TYPE_CHECKING:
    from kl_hooks.git.repository import Repository
    from kl_hooks.workspace import Workspace

SETTINGS: Final = ".kl/config.yaml"
_COUNTED: Final = frozenset({"keyword", "markers", "deselected", "dropped"})
"""Limits of a run that still collects everything, and says how much that was."""


class Missing(NamedTuple):
    """A test, or all tests of a file, that no run reported."""

    name: str
    """`tests/test_a.py::test_b`, or a file."""
    reason: str


@dataclass(frozen=True, slots=True)
class Source:
    """The files of one content: those on disk, or those of a tree."""

    blobs: Mapping[str, str]
    """Path → blob ID of tracked Python files and of files that may configure pytest or kl."""
    read: Callable[[Iterable[str]], Iterator[tuple[str, bytes]]]
    """The contents of files by path; those that can't be had are left out."""

    def text(self, path: str) -> bytes | None:
        """The content of one file; None where there is none."""
        return next((content for _, content in self.read([path])), None) if path in self.blobs else None


def source_of(repo: Repository, tree: str) -> Source:
    """The content of a tree or commit; of the tracked files on disk where `tree` is empty."""
    wanted = (".py", *NAMES, SETTINGS)
    if tree:
        entries = {entry.path: entry for entry in files.files_at(repo, tree, wanted)}
    else:
        from kl_hooks.git.worktree import scan_worktree

        look = scan_worktree(repo)
        others = {os.fsdecode(path) for path in look.seen.untracked}
        found = files.worktree_files(repo, wanted, look)
        entries = {entry.path: entry for entry in found if entry.path not in others}

    def read(paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        some = [entries[path] for path in paths if path in entries]
        return ((one.path, text) for one, text in files.read_files(repo, some, "objects" if tree else "worktree"))

    return Source({path: entry.blob for path, entry in entries.items()}, read)


@dataclass
class Reported:
    """What the runs of one environment reported together, by names without parameters."""

    root: str
    tests: dict[str, set[str]] = field(default_factory=dict)
    """File → names such as `TestA::test_b`."""
    skipped: set[str] = field(default_factory=set)
    """Files and folders that were skipped as a whole."""
    whole: set[str] = field(default_factory=set)
    """Files of which nothing can have been left out by a selection."""
    everything: bool = False
    """True where one run was limited by nothing, or the runs together make up for what each left out."""
    _ids: set[str] = field(default_factory=set)
    _collected: list[tuple[int, str]] = field(default_factory=list)
    """Of each limited run: how many tests it collected, and the digest of their names (empty: an older kl's)."""

    def add(self, receipt: Receipt, limits: Mapping[str, Any]) -> None:
        """Adds a good run. `limits`: the selection options that left tests out of it; empty for none."""
        part = receipt.environment.get("rootdir") not in (None, "")
        seen: set[str] = set()
        for one in receipt.evidence:
            if one.kind != "TestResult":
                continue
            path, _, name = one.subject.removeprefix("test:").partition("::")
            path = self._path(receipt, path)
            self._ids.add(f"{path}::{name}")
            if name:
                self.tests.setdefault(path, set()).add(name.partition("[")[0])
                seen.add(path)
            elif one.outcome == "skipped":
                self.skipped.add(path.removesuffix("/__init__.py"))
        if not limits and not part:
            self.everything = True
        elif limits.keys() <= {"left_out"} and "::" not in str(receipt.selection.get("args")):
            self.whole |= seen
        elif limits.keys() <= _COUNTED and not part and isinstance(receipt.selection.get("collected"), int):
            digest = str(receipt.selection.get("collected_names") or "")
            self._collected.append((receipt.selection["collected"], digest))

    def close(self) -> Reported:
        """Call it when all runs are in: what one left out may have been reported by the others, test by test."""
        # runs that collected other names can't be added up: a parameter may hold a clock
        if len(set(self._collected)) == 1 and len(self._ids) >= self._collected[0][0]:
            self.everything = True
        return self

    def _path(self, receipt: Receipt, path: str) -> str:
        """The path from the repository's root, also where pytest's root is above it or the path leads upwards."""
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

    def complete(self, path: str) -> bool:
        """Whether a run has asked the whole file for its tests."""
        return self.everything or path in self.whole


class Assessment(NamedTuple):
    """What is missing, and what could not be assessed."""

    missing: tuple[Missing, ...] = ()
    not_assessed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Expected:
    """The tests that a content is expected to have."""

    root: str
    files: Mapping[str, tuple[PytestConfig, str]]
    """File → the configuration by which it is expected, and why it is although today's configuration leaves it out."""
    functions: Mapping[str, DefinedTests]
    nearer: Mapping[str, str] = field(default_factory=dict)
    """File → the configuration file that pytest takes where it is started in a folder, and not at the root."""
    others: frozenset[str] = frozenset()
    """Python files that neither the configuration nor `verify.exclude` names."""
    ignored: frozenset[str] = frozenset()
    """Expected files that a `conftest.py` ignores under a condition, as it did in the commit before."""
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
            if found is None or found.error or (path in self.ignored and path not in reported.tests):
                continue
            lost, open_ = compare(path, found, config, reported)
            missing += [Missing(name, reason or why + self.nearer.get(path, "")) for name, why in lost]
            unsure += open_
        return Assessment(tuple(missing), tuple(unsure))

    def _unsure(self, path: str, found: DefinedTests | None) -> str:
        """Why nobody can tell whether this file has tests that could be collected; empty where one can."""
        if path in self.ignored:
            return "a conftest.py ignores it under a condition"
        return found.error if found is not None else "its content could not be read"


def compare(
    path: str, found: DefinedTests, config: PytestConfig, reported: Reported
) -> tuple[list[Missing], list[str]]:
    """The tests of one file that are missing, and those that can't be assessed."""
    certain, doubtful = expected_names(found, config, reported.tests.get(path, ()))
    if path not in reported.tests:
        if certain:
            number = f"{len(certain)} test{'' if len(certain) == 1 else 's'}"
            return [Missing(path, f"no test of it was reported, {number} expected")], []
        if doubtful and not reported.everything:
            return [Missing(path, "no complete run collected it")], []
        return [], [path] if doubtful else []
    gone = [Missing(f"{path}::{name}", "not reported") for name in certain if not _was(reported, path, name)]
    open_ = [f"{path}::{name}" for name in doubtful if not _was(reported, path, name)]
    if not reported.complete(path) and not gone:
        return [Missing(path, "only a part of it ran")], open_
    return gone, open_


def _was(reported: Reported, path: str, name: str) -> bool:
    """Whether it was reported, also under the name that a redacted record has."""
    if reported.has(path, name):
        return True
    hidden = redact(f"{path}::{name}")
    return hidden != f"{path}::{name}" and reported.has(*hidden.partition("::")[::2])


def expected_names(found: DefinedTests, config: PytestConfig, seen: Iterable[str] = ()) -> tuple[list[str], list[str]]:
    """The names that pytest surely collects from a file by this configuration, and those that it may collect.

    `seen`: names that were reported: a class with a base of its own is collected if one of its tests was.
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
        sure = plain and all(kind in (PLAIN, CASE) or (kind == BASED and chain[-1] in collected) for kind in kinds)
        (certain if sure else doubtful).append(name)
    return certain, doubtful


def _is_test(function: str, chain: Sequence[str], kinds: Sequence[str], config: PytestConfig) -> bool:
    """Whether the names are those of a test: of unittest's classes and their methods unittest decides."""
    by_unittest = bool(kinds) and kinds[-1] == CASE
    named = function.startswith("test") if by_unittest else matches(function, config.python_functions)
    if kinds and kinds[-1] == BASED:
        named = named and function.startswith("test")
    return named and all(
        kind != PLAIN or matches(one.rpartition("::")[2], config.python_classes)
        for one, kind in zip(chain, kinds, strict=True)
    )


def expected_tests(
    ws: Workspace, repo: Repository, source: Source, before: Source | None, label: str, exclude: Sequence[str]
) -> Expected:
    """What a content is expected to have, also by the configuration `before` it (called `label`).

    A file that only the earlier configuration collects is expected with the difference as its reason: a narrower
    configuration must not make tests disappear. `exclude`: globs of files that are no tests.
    """
    configs, unread = configurations(source.blobs, source.text)
    older = configurations(before.blobs, before.text)[0] if before is not None else configs
    python = [p for p in source.blobs if p.endswith(".py") and not any(below(p, glob) for glob in exclude)]
    wanted: dict[str, tuple[PytestConfig, str]] = {}
    for path in python:
        now, was = governing(configs, path), governing(older, path)
        if now.collects(path):
            wanted[path] = (_wider(now, was), _narrower(now, was, label) if _wider(now, was) != now else "")
        elif was.collects(path):
            wanted[path] = (was, _narrower(now, was, label))
    near = {path: f"; {name} is nearer than {governing(configs, path).path}" for path, name in _nearer(configs, wanted)}
    functions = _functions(ws, source, list(wanted))
    ignored = _ignored(source, wanted)
    if before is not None and ignored:
        ignored &= _ignored(before, wanted)
    others = frozenset(python) - wanted.keys()
    return Expected(str(ws.root), wanted, functions, near, others, ignored, unread=tuple(unread))


def _ignored(source: Source, paths: Iterable[str]) -> frozenset[str]:
    """Those of these files that a `conftest.py` in a folder above them ignores under a condition."""
    conftests = [path for path in source.blobs if path.rpartition("/")[2] == "conftest.py"]
    globs = [
        posixpath.normpath(posixpath.join(path.rpartition("/")[0], glob)) if glob else ""
        for path, content in source.read(conftests)
        for glob in defined_tests.conditional_ignores(content)
    ]
    return frozenset(path for path in paths if any(glob and below(path, glob) for glob in globs))


def _wider(now: PytestConfig, was: PytestConfig) -> PytestConfig:
    """Names of classes and functions count as tests if they do today, or did before."""
    return now._replace(
        python_classes=tuple(dict.fromkeys((*now.python_classes, *was.python_classes))),
        python_functions=tuple(dict.fromkeys((*now.python_functions, *was.python_functions))),
    )


def _narrower(now: PytestConfig, was: PytestConfig, label: str) -> str:
    return f"no longer collected since {label}: {difference(now, was) or 'pytest is configured elsewhere'}"


def _nearer(configs: Mapping[str, PytestConfig], paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The files for which pytest finds another configuration before the root's, and which one."""
    if "" not in configs:
        return
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in configs:
            folder = folder.rpartition("/")[0]
        if folder:
            yield path, configs[folder].path


def outside_testpaths(source: Source) -> list[str]:
    """Globs for the files that are named like tests and lie outside `testpaths`: folders, where no test lies below."""
    configs, _ = configurations(source.blobs, source.text)
    python = [path for path in source.blobs if path.endswith(".py")]
    tests = [path for path in python if governing(configs, path).collects(path)]
    found: set[str] = set()
    for path in sorted(set(python).difference(tests)):
        config, folder = governing(configs, path), path.rpartition("/")[0]
        if config.testpaths and config._replace(testpaths=()).collects(path):
            mixed = not folder or any(test.startswith(f"{folder}/") for test in tests)
            found.add(path if mixed else folder)
    return sorted(one for one in found if not any(below(one, other) for other in found - {one}))


def _functions(ws: Workspace, source: Source, paths: Sequence[str]) -> dict[str, DefinedTests]:
    """The functions of these files; each content is parsed once and then cached by its blob ID."""
    known: dict[str, DefinedTests] = {}
    for path in paths:
        cached = ws.cache.get(_key(source.blobs[path]))
        if cached is not None and (found := _decoded(cached)) is not None:
            known[path] = found
    for path, content in source.read([path for path in paths if path not in known]):
        known[path] = defined_tests.defined_tests(content)
        ws.cache.set(_key(source.blobs[path]), json.dumps(known[path].plain()).encode(), None)
    return known


def _key(blob: str) -> str:
    return f"defined-tests/{defined_tests.VERSION}/{sys.version_info[0]}.{sys.version_info[1]}/{blob}"


def _decoded(cached: bytes) -> DefinedTests | None:
    try:
        return defined_tests.from_plain(json.loads(cached))
    except (ValueError, RecursionError):
        return None
