"""Which tests a content is expected to have, and which of them its test runs never reported.

Expected are the tests of the files that pytest's configuration names, read from their source:
nothing is collected, imported or run. What source alone can't show is not assessed, and never
called missing.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.config.settings import KnownFailure
from kl_hooks.git.files import path_matches
from kl_hooks.model.definitions import EMPTY, NamedTuple
from kl_hooks.model.doctests import has_examples
from kl_hooks.proof.configured_selection import (
    ConfiguredSelection,
    collects_doctests,
    doctest_globs,
)
from kl_hooks.proof.content_source import ContentSource
from kl_hooks.proof.defined_tests import (
    DefinedTests,
    conditional_ignores,
    doctest_names,
    expected_names,
    tests_of_files,
)
from kl_hooks.proof.least_coverage import LeastCoverage, least_coverage
from kl_hooks.proof.pytest_config import PytestConfig, PytestConfigs
from kl_hooks.proof.reported_tests import Reported
from kl_hooks.store.redaction import redact

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


class Missing(NamedTuple):
    """A test, or all tests of a file, that no run reported."""

    name: str
    """`tests/test_a.py::test_b`, or a file."""
    reason: str


class Assessment(NamedTuple):
    """What is missing, and what could not be assessed."""

    missing: tuple[Missing, ...] = ()
    not_assessed: tuple[str, ...] = ()


class Expected(NamedTuple):
    """The tests that a content is expected to have."""

    root: str
    files: Mapping[str, tuple[PytestConfig, str]]
    """File → the configuration by which it is expected, and why it is although today's
    configuration leaves it out.
    """
    functions: Mapping[str, DefinedTests]
    nearer: Mapping[str, str] = EMPTY
    """File → the configuration file that pytest takes where it is started in a folder, and not at
    the root.
    """
    others: frozenset[str] = frozenset()
    """Python files that neither the configuration nor `verify.exclude` names."""
    ignored: frozenset[str] = frozenset()
    """Expected files that a `conftest.py` ignores under a condition, as it did in the commit
    before.
    """
    text: Callable[[str], bytes | None] = lambda path: None
    """The content of a Python file; None where there is none."""
    configured: ConfiguredSelection = ConfiguredSelection()
    """What `addopts` omits, as it did in the commit before."""
    least_coverage: tuple[LeastCoverage, ...] = ()
    """What every run has to cover."""
    known_failures: tuple[KnownFailure, ...] = ()
    """Tests that may fail today."""
    exclude: tuple[str, ...] = ()
    """Globs of files that are no tests (`verify: exclude:`)."""
    notes: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    texts: frozenset[str] = frozenset()
    """Files with examples that pytest collects as doctests, and that are no Python."""
    modules: frozenset[str] = frozenset()
    """Python files of which pytest collects the examples in docstrings, that have some."""
    imported: frozenset[str] = frozenset()
    """Those that have none: pytest imports them to see that."""

    def accepts_failure(self, test: str) -> bool:
        """Whether a failure of this test is known, or its file is none of the tests."""
        path = test.partition("::")[0]
        return any(failure.covers(test) for failure in self.known_failures) or self.excludes(path)

    def excludes(self, path: str) -> bool:
        """Whether the settings state that a file is none of the tests."""
        return any(path_matches(path, glob) for glob in self.exclude)

    def still_defines(self, path: str, name: str, doctests: bool) -> bool:
        """Whether the source of a test that an earlier run reported is still there. `doctests`:
        whether the configuration of that run made doctests of modules tests.
        """
        if self.excludes(path):
            return False
        defined = self.functions.get(path)
        if defined is not None and name in defined.functions:
            return True
        if doctests and "." in f".{name}" and "::" not in name:
            content = self.text(path)
        else:
            content = None
        return content is not None and any(
            _is_end_of_one(example, [name]) for example in doctest_names(content, path)
        )

    def lost_source(self, path: str, name: str, doctests: bool) -> bool:
        """Whether the source of such a test is surely removed, or its file is."""
        if self.excludes(path):
            return False
        defined = self.functions.get(path)
        is_read = defined is not None and not defined.error
        if not is_read and self.text(path) is not None:
            return False
        return not self.still_defines(path, name, doctests)

    def assess(self, reported: Reported) -> Assessment:
        """Compares what is expected with what was reported."""
        missing: list[Missing] = []
        unsure: list[str] = list(self.unread)
        for path, (config, reason) in sorted(self.files.items()):
            if reported.skips(path):
                continue
            defined = self.functions.get(path)
            if path not in reported.tests and (why := self._unsure(path, defined)):
                unsure.append(f"{path} ({why})")
            if (
                defined is None
                or defined.error
                or (path in self.ignored and path not in reported.tests)
            ):
                continue
            lost, open_ = compare_file(path, defined, config, reported)
            if reported.omits(path):
                lost = []
            missing += [
                Missing(name, reason or why + self.nearer.get(path, "")) for name, why in lost
            ]
            unsure += open_
        missing += self._missing_texts(reported)
        missing += self._missing_modules(reported)
        missing += (
            Missing(path, _NOT_IMPORTED)
            for path in sorted(self.imported - self.files.keys())
            if not reported.imported(path)
        )
        return Assessment(tuple(missing), tuple(unsure))

    def _missing_texts(self, reported: Reported) -> Iterator[Missing]:
        for path in sorted(self.texts):
            is_settled = path in reported.tests or reported.skips(path) or reported.omits(path)
            if not is_settled and not reported.complete(path, [path.rpartition("/")[2]]):
                yield Missing(path, "no complete run collected its examples")

    def _missing_modules(self, reported: Reported) -> Iterator[Missing]:
        for path in sorted(self.modules):
            if reported.everything or reported.skips(path) or reported.omits(path):
                continue
            examples = doctest_names(self.text(path) or b"", path)
            names = reported.tests.get(path, set())
            unreported = {example for example in examples if not _is_end_of_one(example, names)}
            # what a decorator hides, or replaces, is never collected
            if unreported and not reported.complete_doctests(path, unreported):
                yield Missing(path, "no complete run collected the examples of its docstrings")

    def _unsure(self, path: str, defined: DefinedTests | None) -> str:
        """Why it is unknown whether this file has tests that could be collected; empty where it is
        known.
        """
        if path in self.ignored:
            return "a conftest.py ignores it under a condition"
        if defined is None:
            return "its content could not be read"
        return defined.error


def _is_end_of_one(example: str, names: Iterable[str]) -> bool:
    """Whether one of these names, such as `shop.cart.Cart.total`, ends with `Cart.total`."""
    return any(f".{name}".endswith(f".{example}") for name in names)


NOT_REPORTED: Final = "not reported"
_NOT_IMPORTED: Final = "no complete run imported it, as pytest does to collect it"


def compare_file(
    path: str, defined: DefinedTests, config: PytestConfig, reported: Reported
) -> tuple[list[Missing], list[str]]:
    """The tests of one file that are missing, and those that can't be assessed."""
    certain, doubtful = expected_names(defined, config, reported.tests.get(path, ()))
    if path not in reported.tests:
        if certain:
            number = f"{len(certain)} test{'' if len(certain) == 1 else 's'}"
            return [Missing(path, f"no test of it was reported, {number} expected")], []
        if doubtful and not reported.complete(path, doubtful):
            return [Missing(path, "no complete run collected it")], []
        if not doubtful and not reported.imported(path):
            return [Missing(path, _NOT_IMPORTED)], []
        return [], [path] if doubtful else []
    lost = [
        Missing(f"{path}::{name}", NOT_REPORTED)
        for name in certain
        if not _was_reported(reported, path, name)
    ]
    unreported = [name for name in doubtful if not _was_reported(reported, path, name)]
    open_ = [f"{path}::{name}" for name in unreported]
    if not reported.complete(path, unreported) and not lost:
        return [Missing(path, "only a part of it ran")], open_
    return lost, open_


def _was_reported(reported: Reported, path: str, name: str) -> bool:
    """Whether it was reported, also under the name that a redacted record has."""
    if reported.has(path, name):
        return True
    hidden = redact(f"{path}::{name}")
    return hidden != f"{path}::{name}" and reported.has(*hidden.partition("::")[::2])


def expected_tests(
    ws: Workspace,
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
    configs = PytestConfigs.of(source.blobs, source.text)
    if before is not None:
        older = PytestConfigs.of(before.blobs, before.text)
    else:
        older = configs
    python = [
        p
        for p in source.blobs
        if p.endswith(".py") and not any(path_matches(p, glob) for glob in exclude)
    ]
    wanted = _wanted_files(python, configs, older, label)
    configured, changed = _configured(configs, older if before is not None else None, label)
    omitted = sorted(path for path in wanted if configured.ignores(path))
    wanted = {path: wanted[path] for path in wanted if path not in omitted}
    # where pytest is started in such a folder, it finds another configuration before the root's
    near = {
        path: f"; {nearer} is nearer than {configs.by_folder[''].path}"
        for path in wanted
        if (nearer := configs.nearer_than_root(path))
    }
    file_configs = {path: config for path, (config, _) in wanted.items()}
    functions = tests_of_files(ws, source, file_configs)
    ignored = _ignored(source, wanted)
    if before is not None and ignored:
        # an ignore that is new may hide a failing test: only one that the commit before has as well
        # is accepted
        ignored &= _ignored(before, wanted)
    others = frozenset(python) - wanted.keys() - frozenset(omitted)
    modules, imported = _doctest_modules(source, python, configs, configured)
    return Expected(
        str(ws.root),
        wanted,
        functions,
        near,
        others,
        ignored,
        source.text,
        configured,
        least_coverage(map(configs.for_file, wanted), source.text),
        texts=_texts(source, configs, configured, exclude),
        modules=modules,
        imported=imported,
        notes=(*changed, *configured.notes(omitted)),
        unread=configs.unread,
    )


def _wanted_files(
    paths: Iterable[str], configs: PytestConfigs, older: PytestConfigs, label: str
) -> dict[str, tuple[PytestConfig, str]]:
    """File that one of both collects → the wider configuration of it, and how the newer one is
    narrower than that of `label`; empty where it is not.
    """
    wanted: dict[str, tuple[PytestConfig, str]] = {}
    for path in paths:
        now = configs.for_file(path)
        earlier_config = older.for_file(path)
        if now.collects(path):
            wider = now.wider(earlier_config)
            wanted[path] = (wider, _narrower(now, earlier_config, label) if wider != now else "")
        elif earlier_config.collects(path):
            wanted[path] = (earlier_config, _narrower(now, earlier_config, label))
    return wanted


def _texts(
    source: ContentSource,
    configs: PytestConfigs,
    configured: ConfiguredSelection,
    exclude: Sequence[str],
) -> frozenset[str]:
    """The files with examples that pytest collects by their names."""
    globs = {config: doctest_globs(config.addopts) for config in configs.by_folder.values()}
    candidates = []
    for path in source.blobs:
        if path.endswith(".py"):
            continue
        config = configs.for_file(path)
        patterns = globs.get(config, doctest_globs(config.addopts))
        if config.collects_by(path, patterns) and not configured.ignores(path):
            candidates.append(path)
    paths = [path for path in candidates if not any(path_matches(path, glob) for glob in exclude)]
    return frozenset(path for path, content in source.read(paths) if has_examples(path, content))


def _doctest_modules(
    source: ContentSource,
    paths: Iterable[str],
    configs: PytestConfigs,
    configured: ConfiguredSelection,
) -> tuple[frozenset[str], frozenset[str]]:
    """The modules in whose docstrings pytest looks for examples, by importing them: those that have
    some, and the others.
    """
    collecting = {
        config: collects_doctests(config.addopts)
        for config in {PytestConfig(), *configs.by_folder.values()}
    }
    modules = set[str]()
    for path in paths:
        config = configs.for_file(path)
        is_collected = collecting.get(config) and config.collects_by(path, ("*.py",))
        if is_collected and not configured.ignores(path):
            modules.add(path)
    contents = source.read(sorted(modules))
    with_examples = frozenset(path for path, content in contents if has_examples(path, content))
    return with_examples, frozenset(modules - with_examples)


def _configured(
    configs: PytestConfigs, older: PytestConfigs | None, label: str
) -> tuple[ConfiguredSelection, list[str]]:
    """What `addopts` of the root's configuration omits; nothing, and why, where that changed, or
    where no older commit shows it: a first commit, or a clone without its parent.
    """
    now = ConfiguredSelection.of(configs.by_folder.get("", PytestConfig()))
    if older is None:
        words = (
            f"addopts in {now.path} omits tests, and there is no older commit to compare that with"
        )
        return ConfiguredSelection(now.path), [words] if any(now.omits) else []
    before = ConfiguredSelection.of(older.by_folder.get("", PytestConfig()))
    if now.omits == before.omits:
        return now, []
    path = now.path or before.path
    return ConfiguredSelection(path), [f"addopts in {path} omits other tests since {label}"]


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


def _narrower(now: PytestConfig, earlier_config: PytestConfig, label: str) -> str:
    return (
        f"no longer collected since {label}:"
        f" {now.difference(earlier_config) or 'pytest is configured elsewhere'}"
    )


def outside_testpaths(source: ContentSource) -> list[str]:
    """Globs for the files that are named like tests and that `addopts` ignores, or that lie outside
    `testpaths`: folders, where no test lies below.
    """
    configs = PytestConfigs.of(source.blobs, source.text)
    python = [path for path in source.blobs if path.endswith(".py")]
    tests = [path for path in python if configs.for_file(path).collects(path)]
    globs: set[str] = set()
    for path in sorted(set(python).difference(tests)):
        config = configs.for_file(path)
        folder = path.rpartition("/")[0]
        if config.testpaths and config._replace(testpaths=()).collects(path):
            mixed = not folder or any(test.startswith(f"{folder}/") for test in tests)
            globs.add(path if mixed else folder)
    configured = ConfiguredSelection.of(configs.by_folder.get("", PytestConfig()))
    globs |= {path for path in tests if configured.ignores(path)}
    return sorted(
        one for one in globs if not any(path_matches(one, other) for other in globs - {one})
    )
