"""Coverage data with a context for each test, from coverage.py and pytest-cov, as executed symbols.

Such a file has lines, and neither outcomes nor contents. It is read by its documented tables
(coverage.readthedocs.io/en/latest/dbschema.html): coverage.py need not be installed here.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from types import CodeType
from typing import Any, Final, NamedTuple

from kl_hooks.code.modules import module_names
from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.executed import COVERAGE
from kl_hooks.git.files import FileEntry, read_files
from kl_hooks.git.repository import Repository
from kl_hooks.proof.execution import Trace
from kl_hooks.store.sqlite import SqliteDatabase

CHANGED: Final = "it changed after it was measured"
_FORMAT: Final = 7
"""The version of the tables; the one since coverage.py 5.0."""
LARGEST: Final = 1 << 30
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
    if path.stat().st_size >= LARGEST:
        raise UsageProblem(f"it has more than {LARGEST:,} bytes.", place=str(path))
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
        trace = Trace(recorder=COVERAGE)
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
                trace.unknown[path] = CHANGED
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
