"""`kl evidence import coverage`: what a coverage report or data file shows, as executed symbols.

coverage.py's file is read by its documented tables (coverage.readthedocs.io/en/latest/dbschema.html):
coverage.py need not be installed here.

Links of imported coverage are *assumed*. They show which tests to read and to run, or that a run
executed a symbol at all; no result is valid because of them, and nothing is proven. Where a report
names no tests, its symbols are those of the run. The content is the tree that whoever imports the
file names, or what is on disk, without the files that were changed after it was measured.
"""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from types import CodeType
from typing import Any, Final

from kl_hooks.clock import iso
from kl_hooks.code.file_facts import definitions_of, facts_under
from kl_hooks.code.languages import SUFFIXES, scanners_of, unread, unread_text
from kl_hooks.code.modules import module_names
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.evidence.coverage_paths import content_paths
from kl_hooks.evidence.coverage_symbols import FileExecution, file_execution
from kl_hooks.evidence.executed import (
    COVERAGE,
    Executed,
    SymbolHash,
    TestFile,
    TestSets,
    store_executed,
    test_path,
)
from kl_hooks.evidence.high_water import ledger_writer
from kl_hooks.evidence.ledger import append, has_receipt, recent
from kl_hooks.evidence.provenance import producer
from kl_hooks.evidence.sources.coverage_report import LARGEST, MeasuredFile, Report, read_report
from kl_hooks.git.files import FileEntry, files_at, read_files, worktree_files
from kl_hooks.git.repository import Repository
from kl_hooks.git.worktree import tree_of_revision
from kl_hooks.model.canonical import digest
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import Receipt
from kl_hooks.model.symbol import NodeText, make_id
from kl_hooks.model.text import counted, name_list, one_line
from kl_hooks.proof.execution import Trace
from kl_hooks.store.files import read_given
from kl_hooks.store.redaction import redact
from kl_hooks.store.sqlite import SqliteDatabase
from kl_hooks.workspace import Workspace, require_setup

_CHANGED: Final = "it changed after it was measured"
_FORMAT: Final = 7
"""The version of the tables; the one since coverage.py 5.0."""
_LARGEST_DATA_FILE: Final = 1 << 30
_PHASES: Final = {"setup": 0, "run": 1, "teardown": 2}
"""The last word of a context of pytest-cov (`--cov-context=test`), as in `Trace.tests`."""
_MODULE: Final = "<module>"
_OPTIMIZED: Final = 0x1
"""Flag of the code of functions (inspect.CO_OPTIMIZED)."""


class MeasuredLines(NamedTuple):
    """What one context executed of one file."""

    path: str
    """As the data file has it."""
    context: str
    lines: frozenset[int]
    entered: frozenset[int]
    """First lines of the code objects that were entered; only branch data has them."""


@dataclass
class Unplaced:
    """What of the measured lines could not be given to tests and symbols."""

    files: dict[str, str] = field(default_factory=dict)
    """Path → why its lines could not be given to symbols."""
    contexts: tuple[str, ...] = ()
    """Contexts that name no test of this repository."""
    outside: int = 0
    """Measured files that this content does not have."""


# the data file


def read_data_file(path: Path) -> Iterator[MeasuredLines]:
    """The lines by file and context. UsageProblem for another file."""
    if path.stat().st_size >= _LARGEST_DATA_FILE:
        raise UsageProblem(f"it has more than {_LARGEST_DATA_FILE:,} bytes.", place=str(path))
    with SqliteDatabase.of_another_program(path) as db:
        if db.row("SELECT 1 FROM sqlite_master WHERE name = 'coverage_schema'") is None:
            hint = "It is the file .coverage; of a run in parallel: coverage combine"
            raise UsageProblem("it is no data file of coverage.py.", place=str(path), hint=hint)
        version = db.row("SELECT version FROM coverage_schema")
        if version != (_FORMAT,):
            if version:
                stored_format = version[0]
            else:
                stored_format = "none"
            raise UsageProblem(
                f"its format {stored_format} is not {_FORMAT}, of coverage.py 5.0 and later.",
                place=str(path),
            )
        names = "SELECT file.path, context.context"
        joined = "JOIN file ON file.id = file_id JOIN context ON context.id = context_id"
        for file, context, bits in db.rows(f"{names}, numbits FROM line_bits {joined}"):
            if not isinstance(bits, bytes):
                raise UsageProblem("is damaged: its line numbers are no bit map.", place=str(path))
            yield MeasuredLines(str(file), str(context), frozenset(_numbers(bits)), frozenset())
        # a negative number is the entry of the code object with that first line
        arcs = db.rows(f"{names}, fromno, tono FROM arc {joined} ORDER BY file_id, context_id")
        for (file, context), file_arcs in groupby(arcs, key=lambda row: (str(row[0]), str(row[1]))):
            pairs = [(int(start), int(end)) for _, _, start, end in file_arcs]
            lines = {number for pair in pairs for number in pair if number > 0}
            yield MeasuredLines(
                file,
                context,
                frozenset(lines),
                frozenset(-start for start, _ in pairs if start < 0),
            )


def _numbers(bits: Any) -> Iterator[int]:
    """The lines of a bit map: bit n of byte m is line 8 m + n (coverage.numbits)."""
    for place, byte in enumerate(bytes(bits)):
        for bit in range(8):
            if byte >> bit & 1:
                yield place * 8 + bit


# from lines to code objects


class _Code(NamedTuple):
    """A code object of a file."""

    name: str
    first: int
    flags: int
    lines: frozenset[int]
    """Those that no code object around it has: `def` is executed by the module."""

    @property
    def runs_at_import(self) -> bool:
        """Whether it is the body of a module, or of a class that is not in a function."""
        return not self.flags & _OPTIMIZED and "<locals>" not in self.name


def _codes(code: CodeType, around: frozenset[int] = frozenset()) -> Iterator[_Code]:
    lines = frozenset(line for _, _, line in code.co_lines() if line)
    yield _Code(code.co_qualname, code.co_firstlineno, code.co_flags, lines - around)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant, around | lines)


class MeasuredPython:
    """The files of a content, found by the paths of a data file that may come from another
    machine.
    """

    def __init__(
        self, repo: Repository, entries: Sequence[FileEntry], tree: str | None, measured: float
    ) -> None:
        self._repo = repo
        self._tree = tree
        self._measured = measured
        self._entries = {one.path: one for one in entries}
        self._codes: dict[str, list[_Code]] = {}
        self._lines: dict[str, list[str]] = {}

    def trace(self, rows: Sequence[MeasuredLines], unplaced: Unplaced) -> Trace:
        """What the tests executed. Notes in `unplaced` what could not be named."""
        trace = Trace()
        trace.recorder = COVERAGE
        paths = self._paths({row.path for row in rows})
        unplaced.outside = len({row.path for row in rows} - paths.keys())
        self._load(sorted(set(paths.values())), trace)
        by_file: dict[str, list[MeasuredLines]] = {}
        for row in rows:
            if row.path in paths and paths[row.path] in self._codes:
                by_file.setdefault(paths[row.path], []).append(row)
        contexts = _Contexts(
            {row.context for row in rows}, sorted(self._entries), sorted(set(paths.values()))
        )
        for path, file_rows in by_file.items():
            if why := self._flaw(path, file_rows):
                trace.unknown[path] = why
            else:
                self._add(trace, path, file_rows, contexts)
        unplaced.contexts = contexts.unnamed
        trace.incomplete = dict.fromkeys(trace.tests, "from imported coverage data")
        return trace

    def _paths(self, measured: set[str]) -> dict[str, str]:
        """Path in the data → path in the content. The checkout may have been elsewhere: where most
        files fit.
        """
        roots: Counter[str] = Counter()
        root_and_tail: dict[str, tuple[str, str]] = {}
        top = f"{self._repo.top}/"
        for measured_path in measured:
            plain = measured_path.replace("\\", "/")
            parts = plain.split("/")
            tails = ("/".join(parts[at:]) for at in range(len(parts)))
            tail = next((tail for tail in tails if tail in self._entries), "")
            if tail:
                root = plain[: len(plain) - len(tail)]
                # a file of this checkout beats any number of others, such as installed copies
                roots[root] += 1_000_000 if root == top else 1
                root_and_tail[measured_path] = (root, tail)
        best = max(roots, key=lambda root: (roots[root], root), default="")
        return {
            measured_path: tail
            for measured_path, (root, tail) in root_and_tail.items()
            if root == best
        }

    def _load(self, paths: Sequence[str], trace: Trace) -> None:
        """The code objects of these files; the reason where a file is of no use."""
        wanted = []
        for path in paths:
            if not self._tree and (self._repo.top / path).stat().st_mtime > self._measured:
                trace.unknown[path] = _CHANGED
            else:
                wanted.append(self._entries[path])
        for entry, source in read_files(
            self._repo, wanted, "objects" if self._tree else "worktree"
        ):
            try:
                with warnings.catch_warnings():
                    # the compiler's own, about code that is not ours
                    warnings.simplefilter("ignore")
                    code = compile(source, entry.path, "exec", dont_inherit=True)
                self._codes[entry.path] = list(_codes(code))
                self._lines[entry.path] = source.decode("utf-8", "replace").split("\n")
            except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
                trace.unknown[entry.path] = f"it can't be read ({type(problem).__name__})"

    def _flaw(self, path: str, rows: Sequence[MeasuredLines]) -> str:
        """Whether lines were executed that this content can't execute: then another one was
        measured.
        """
        lines = self._lines[path]
        last = max((max(one.lines, default=0) for one in rows), default=0)
        if last > len(lines):
            return f"line {last} was executed, and it has {len(lines)}"
        for number in sorted(set().union(*(one.lines for one in rows))):
            text = lines[number - 1].strip()
            if (not text or text.startswith("#")) and lines != [""]:
                return f"line {number} was executed, which has no code"
        return ""

    def _add(
        self, trace: Trace, path: str, rows: Sequence[MeasuredLines], contexts: _Contexts
    ) -> None:
        """What each context started of one file. What runs at import belongs to the file, in any
        context.
        """
        by_line: dict[int, set[int]] = {}
        first: dict[int, set[int]] = {}
        codes = self._codes[path]
        for index, code in enumerate(codes):
            for line in code.lines:
                by_line.setdefault(line, set()).add(index)
            if code.name != _MODULE:
                first.setdefault(code.first, set()).add(index)
        numbers = [trace.number((path, one.name, one.first, one.flags)) for one in codes]
        at_import = trace.modules.setdefault(path, set())
        for row in rows:
            started = {index for line in row.lines for index in by_line.get(line, ())}
            started |= {index for line in row.entered for index in first.get(line, ())}
            at_import |= {numbers[index] for index in started if codes[index].runs_at_import}
            if test := contexts.tests.get(row.context):
                name, phase = test
                sets = trace.tests.setdefault(name, (set(), set(), set()))
                sets[phase].update(
                    numbers[index] for index in started if not codes[index].runs_at_import
                )


class _Contexts:
    """The tests that contexts name."""

    def __init__(self, contexts: set[str], files: Sequence[str], measured: Sequence[str]) -> None:
        self._files = frozenset(files)
        self._modules: dict[str, list[str]] = {}
        """Module as its frames call it → its measured files."""
        for path, module in module_names(files).items():
            parts = module.split(".")
            for start in range(len(parts) if path in set(measured) else 0):
                self._modules.setdefault(".".join(parts[start:]), []).append(path)
        # a static context comes before the dynamic one, with a bar between (coverage.collector)
        static = [
            one
            for one in contexts
            if one and "::" not in one and any(c.startswith(f"{one}|") for c in contexts)
        ]
        self.tests: dict[str, tuple[str, int]] = {}
        """Context → node ID and phase."""
        unnamed = []
        for context in sorted(contexts - {"", *static}):
            prefix = next((f"{one}|" for one in static if context.startswith(f"{one}|")), "")
            test = self._test(context.removeprefix(prefix))
            if test:
                self.tests[context] = test
            else:
                unnamed.append(context)
        self.unnamed = tuple(unnamed)

    def _test(self, context: str) -> tuple[str, int] | None:
        name, _, phase = context.rpartition("|")
        if phase in _PHASES:
            path, colons, qualified = name.partition("::")
            # pytest names files from its own root, which may be a folder of the repository
            if path in self._files:
                candidates = [path]
            else:
                candidates = [file for file in self._files if file.endswith(f"/{path}")]
            if len(candidates) != 1:
                return None
            return (f"{candidates[0]}{colons}{qualified}", _PHASES[phase])
        parts = context.split(".")
        for split in range(len(parts) - 1, 0, -1):
            candidates = self._modules.get(".".join(parts[:split]), [])
            if len(candidates) == 1 and parts[-1].startswith("test"):
                return "::".join([candidates[0], *parts[split:]]), 1
        return None


# the import

_DATA_FILE: Final = b"SQLite format 3\0"
_PYTHON: Final = "coverage.py"
_SHOWN: Final = 5
_RUNS_OF_NAMES: Final = 20
"""The newest runs whose tests a report may name."""


@dataclass
class ImportedCoverage:
    """What became of a report or data file."""

    run: str
    format: str
    """`coverage.py`, `lcov`, `Istanbul` or `llvm-cov`."""
    is_known: bool = False
    """Whether it was imported before."""
    tests: int = 0
    symbols: int = 0
    """Those that were executed."""
    unreached: int | None = None
    """Those that were measured and not executed; None: data by test has none of them."""
    files: int = 0
    """With links."""
    unplaced: Unplaced = field(default_factory=Unplaced)
    functions: int = 0
    """Executed ones without links, since several begin on one line."""
    unread: str = ""
    """Measured files that no scanner reads, a sentence; else empty."""

    def remarks(self) -> Iterator[str]:
        """What could not be named, a sentence each."""
        misfits = self.unplaced.files
        for path, why in list(misfits.items())[:_SHOWN]:
            text = f"{one_line(path)}: no links, because {why}."
            yield NodeText(text, make_id("file", path))
        if (omitted := len(misfits) - _SHOWN) > 0:
            yield f"{counted(omitted, 'more file')} without links."
        if _CHANGED in misfits.values():
            yield "Name the content that was measured with --tree, or measure again."
        if self.unplaced.contexts:
            contexts = self.unplaced.contexts
            names = name_list([repr(one_line(context, 80)) for context in contexts], 3)
            yield (
                f"{counted(len(contexts), 'context')} that name no test of this repository: {names}."
            )
        if self.functions:
            number = counted(self.functions, "executed function")
            yield f"{number} without links, because several begin on one line."
        if self.unread:
            yield f"{self.unread}."
        if self.unplaced.outside:
            yield f"{counted(self.unplaced.outside, 'measured file')} of another place."


def import_coverage(ws: Workspace, path: Path, tree: str | None) -> ImportedCoverage:
    """Import a report or data file as a run without outcomes. `tree`: the content that was
    measured; None: what is on disk.

    UsageProblem for what is neither, or is about no file of this repository.
    """
    require_setup(ws)
    if ws.repo is None:
        raise EnvironmentProblem(
            "not a git repository.", place=str(ws.root), hint="Run it inside a repository."
        )
    if tree and tree_of_revision(ws.repo, tree) is None:
        hint = "Of the commit that was measured: git rev-parse 'COMMIT^{tree}'"
        raise UsageProblem("this repository has no such tree.", place=f"--tree {tree}", hint=hint)
    if not path.is_file():  # a pipe may never end
        hint = "A report, such as coverage/lcov.info, or the file .coverage"
        raise UsageProblem("is not a file.", place=str(path), hint=hint)
    measurement = _Measurement(ws, ws.repo, path, tree)
    with path.open("rb") as file:
        is_data_file = file.read(len(_DATA_FILE)) == _DATA_FILE
    if is_data_file:
        content = path.read_bytes() if path.stat().st_size < _LARGEST_DATA_FILE else b""
        done, executed = measurement.of_contexts(content, list(read_data_file(path)))
    else:
        if path.stat().st_size > LARGEST:
            hint = "Measure fewer files at once; lcov is smaller than JSON."
            raise UsageProblem(f"larger than {LARGEST >> 20} MiB.", place=str(path), hint=hint)
        content = read_given(path, LARGEST)
        report = read_report(content, str(path))
        if report.format == _PYTHON:
            done, executed = measurement.of_contexts(content, _lines_of_contexts(report))
        else:
            done, executed = measurement.of_report(content, report)
    done.tests = len(executed.tests)
    done.symbols = len(executed.symbols)
    _store(ws, done, measurement.receipt(done, executed), executed)
    return done


def _store(ws: Workspace, done: ImportedCoverage, receipt: Receipt, executed: Executed) -> None:
    with ledger_writer(ws) as db:
        done.is_known = has_receipt(db, done.run)
        if not done.is_known:
            append(db, [receipt], "imported:coverage")
            store_executed(db, executed)


def _lines_of_contexts(report: Report) -> list[MeasuredLines]:
    return [
        MeasuredLines(file.path, file.test, frozenset(file.lines), frozenset())
        for file in report.files
    ]


class _Measurement:
    """A file with coverage, and the content that it is read by."""

    def __init__(self, ws: Workspace, repo: Repository, path: Path, tree: str | None) -> None:
        self._ws = ws
        self._repo = repo
        self._path = path
        self._tree = tree
        self._time = path.stat().st_mtime

    def _entries(self, suffixes: tuple[str, ...]) -> list[FileEntry]:
        if self._tree:
            return files_at(self._repo, self._tree, suffixes)
        return worktree_files(self._repo, suffixes)

    def receipt(self, done: ImportedCoverage, executed: Executed) -> Receipt:
        """A run without outcomes, which vouches for the executed symbols."""
        facts = {
            "digest": executed.digest,
            "symbols": len(executed.symbols),
            "tests": len(executed.tests),
            "recorder": COVERAGE,
        }
        result: dict[str, Any] = {
            "exit": None,
            "complete": False,
            "how": "imported",
            "verdict": "inconclusive",
            "reasons": ["coverage data has no outcomes"],
            "counts": {},
        }
        measured = iso(int(self._time * 1_000_000))
        return Receipt(
            run=done.run,
            source=COVERAGE,
            observer=COVERAGE,
            producer=redact(producer(self._ws.environ)),
            evidence=(),
            started=measured,
            ended=measured,
            tree=self._tree,
            tree_end=self._tree,
            selection={"args": []},
            result=result,
            environment={"executed": facts, "coverage": {"format": done.format}},
        )

    # lines of Python by test

    def of_contexts(
        self, content: bytes, rows: Sequence[MeasuredLines]
    ) -> tuple[ImportedCoverage, Executed]:
        """What contexts of tests executed. UsageProblem where there are none of this repository."""
        entries = self._entries((".py",))
        files = MeasuredPython(self._repo, entries, self._tree, self._time)
        # the same lines mean other symbols in another content
        named = sorted([entry.path, entry.blob] for entry in entries)
        run = digest("coverage/1", [sha256(content).hexdigest(), named])[:32]
        done = ImportedCoverage(run, _PYTHON)
        trace = files.trace(rows, done.unplaced)
        done.unplaced.files = dict(trace.unknown)
        if not trace.tests and trace.unknown:
            raise self._nothing_executed(done)
        if not trace.tests:
            names = ", ".join(repr(name) for name in done.unplaced.contexts[:3]) or "none at all"
            hint = (
                "Measure with: pytest --cov --cov-context=test (or dynamic_context ="
                " test_function); as JSON: coverage json --show-contexts"
            )
            raise UsageProblem(
                f"it has no contexts of tests of this repository ({names}).",
                place=str(self._path),
                hint=hint,
            )
        executed = trace.executed(self._ws, run, ())
        done.files = len({executed.places[symbol.symbol] for symbol in executed.symbols})
        return done, executed

    # functions of a report

    def of_report(self, content: bytes, report: Report) -> tuple[ImportedCoverage, Executed]:
        """What the functions of a report are here. UsageProblem where it has no file of this
        content.
        """
        entries = {entry.path: entry for entry in self._entries(SUFFIXES)}
        measured = {file.path for file in report.files}
        path_of = content_paths(measured, entries.keys(), str(self._repo.top), self._folder())
        parts_of: dict[str, list[MeasuredFile]] = {}
        for file in report.files:
            if file.path in path_of:
                parts_of.setdefault(path_of[file.path], []).append(file)
        if not parts_of:
            raise self._no_files(measured)
        named = sorted([path, entries[path].blob] for path in parts_of)
        run = digest("coverage/2", [report.format, sha256(content).hexdigest(), named])[:32]
        done = ImportedCoverage(run, report.format)
        done.unplaced.outside = len(measured) - len(path_of)
        executions = self._executions(parts_of, entries, done)
        done.files = len(executions)
        done.functions = sum(execution.unplaced for execution in executions.values())
        tests = _test_names(self._ws, executions)
        done.unplaced.contexts = tuple(sorted(name for name, test in tests.items() if not test))
        if not any(execution.executed for execution in executions.values()):
            raise self._nothing_executed(done)
        executed = _executed(run, executions, tests, done.unplaced.files)
        done.unreached = len(executed.unreached)
        return done, executed

    def _folder(self) -> str:
        """Where the report is in the repository; empty for its top and for a place outside."""
        path = Path(os.path.realpath(self._path))
        if not path.is_relative_to(self._repo.top):
            return ""
        folder = path.parent.relative_to(self._repo.top).as_posix()
        return "" if folder == "." else folder

    def _no_files(self, measured: Collection[str]) -> UsageProblem:
        names = name_list([repr(one_line(path, 80)) for path in sorted(measured)], 3)
        hint = "Paths in it are read from its own folder, those above it, and the repository's top."
        return UsageProblem(
            f"it measured no source file of this repository ({names or 'none at all'}).",
            place=str(self._path),
            hint=hint,
        )

    def _nothing_executed(self, done: ImportedCoverage) -> UsageProblem:
        problem = UsageProblem(
            "it shows no executed function of this content.",
            place=str(self._path),
            hint="Measure again, or name the content that was measured with --tree.",
        )
        problem.notes = tuple(done.remarks())
        return problem

    def _executions(
        self,
        parts_of: Mapping[str, Sequence[MeasuredFile]],
        entries: Mapping[str, FileEntry],
        done: ImportedCoverage,
    ) -> dict[str, FileExecution]:
        """Path → what was measured of it, of the files of which that is known. Notes in `done` why
        it is not of others.
        """
        scanners = scanners_of(self._ws)
        done.unread = unread_text(unread(parts_of, scanners))
        wanted = []
        for path in sorted(parts_of):
            if not self._tree and self._is_newer(path):
                done.unplaced.files[path] = _CHANGED
            else:
                wanted.append(entries[path])
        source = "objects" if self._tree else "worktree"
        contents = {
            entry.path: content for entry, content in read_files(self._repo, wanted, source)
        }
        facts = definitions_of(
            self._ws.store,
            [entry for entry in wanted if entry.path in contents],
            lambda batch: ((entry, contents[entry.path]) for entry in batch),
            scanners,
        )
        modules = module_names(list(entries))
        executions = {}
        for path, facts_of_file in facts.items():
            if facts_of_file["error"] and not facts_of_file["symbols"]:
                done.unplaced.files[path] = f"it can't be read ({facts_of_file['error']})"
                continue
            named = facts_under(facts_of_file, modules.get(path, path), path)
            execution = file_execution(parts_of[path], named["symbols"], contents[path])
            if isinstance(execution, str):
                done.unplaced.files[path] = execution
            else:
                executions[path] = execution
        return executions

    def _is_newer(self, path: str) -> bool:
        """Whether a file was changed after it was measured."""
        try:
            return (self._repo.top / path).stat().st_mtime > self._time
        except OSError:
            return True


def _test_names(ws: Workspace, executions: Mapping[str, FileExecution]) -> dict[str, str]:
    """Name of a test in a report → the recorded test that it is; empty where no one test is named
    so.
    """
    names = {name for execution in executions.values() for name in execution.executed} - {""}
    if not names:
        return {}
    with ws.store.reading() as db:
        entries = recent(db, _RUNS_OF_NAMES) if db is not None else []
    recorded = {
        evidence.subject.removeprefix("test:")
        for entry in entries
        for evidence in entry.receipt.evidence
        if evidence.subject.startswith("test:")
    }
    tests_of: dict[str, set[str]] = {}
    for test in recorded:
        own = test.partition("::")[2] or test
        for spelling in (test, own, own.rpartition(" > ")[2]):
            # lcov allows letters, digits and `_` in the name of a test (geninfo --test-name)
            tests_of.setdefault(spelling, set()).add(test)
            tests_of.setdefault(re.sub(r"\W", "_", spelling), set()).add(test)
    return {
        name: next(iter(tests_of[name])) if len(tests_of.get(name, ())) == 1 else ""
        for name in names
    }


def _executed(
    run: str,
    executions: Mapping[str, FileExecution],
    tests: Mapping[str, str],
    misfits: Mapping[str, str],
) -> Executed:
    """All of it as a run. What a test executed that has no name here, the run executed."""
    places: dict[str, str] = {}
    hashes: dict[str, SymbolHash] = {}
    symbols_of_test: dict[str, set[str]] = {}
    measured: dict[str, SymbolHash] = {}
    for path, execution in executions.items():
        for name, executed_symbols in execution.executed.items():
            for symbol in executed_symbols:
                places[symbol.symbol] = path
                hashes[symbol.symbol] = symbol
                if test := tests.get(name, ""):
                    symbols_of_test.setdefault(test, set()).add(symbol.symbol)
        measured.update((symbol.symbol, symbol) for symbol in execution.measured)
    symbols = tuple(hashes[name] for name in sorted(hashes))
    index = {symbol.symbol: place for place, symbol in enumerate(symbols)}
    sets: dict[str, dict[str, dict[int, str]]] = {}
    for test, names in symbols_of_test.items():
        sets.setdefault(test_path(test), {})[test] = {index[name]: "call" for name in names}
    return Executed(
        run,
        COVERAGE,
        symbols,
        TestSets({path: TestFile.of(file) for path, file in sets.items()}),
        modules={},
        imports={},
        places=places,
        unknown=dict(misfits),
        incomplete=dict.fromkeys(symbols_of_test, "from imported coverage data"),
        unreached=frozenset(symbol for name, symbol in measured.items() if name not in hashes),
    )
