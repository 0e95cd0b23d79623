"""Coverage reports that tools of other languages write: lcov, Istanbul's JSON, the JSON of
`llvm-cov export` (as `cargo llvm-cov --json` has it), and that of coverage.py.

A report names functions by their lines, and neither contents nor, mostly, tests. Reading one opens
no file that it names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kl_hooks.errors import UsageProblem
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.text import one_line

LARGEST: Final = 64 * 1024 * 1024
"""Bytes of a report that is read: JSON takes ten times as many in memory."""
_LONGEST_NAME: Final = 4096
"""Characters of a path or a name; a longer one is no path of any system (PATH_MAX)."""
_LAST_LINE: Final = 10_000_000
"""No source file has as many lines."""
_LLVM: Final = "llvm.coverage.json.export"
_LCOV_START: Final = lazy_pattern(rb"\s*(?:#[^\n]*\n\s*)*(?:TN:|SF:)")
_KINDS: Final = "lcov, Istanbul's coverage-final.json, llvm-cov's JSON, coverage.py's"


class Function(NamedTuple):
    """A function of a measured file."""

    name: str
    """As the tool calls it: `formatPrice`, `get total`, `(anonymous_3)`, `_RNvC4cart5total`."""
    line: int
    """Its first line, from 1."""
    column: int | None
    """Where it starts there, from 0; None where that is not known."""
    calls: int
    """1 where it was called, else 0."""


class MeasuredFile(NamedTuple):
    """What one test, or the run as a whole, executed of a file."""

    path: str
    """As the report has it."""
    test: str
    """The name of the test; empty for the run."""
    functions: tuple[Function, ...] | None
    """None where the tool lists none."""
    lines: Mapping[int, int]
    """Line, from 1 → 0 where it was not executed; of use only where functions are not listed."""


class Report(NamedTuple):
    """A report as it was read."""

    format: str
    """`lcov`, `Istanbul`, `llvm-cov` or `coverage.py`."""
    files: tuple[MeasuredFile, ...]


def read_report(content: bytes, place: str) -> Report:
    """The report that a file is; `place`: its name. UsageProblem, with the reason, for any other
    file.
    """
    if _LCOV_START.match(content):
        return Report("lcov", tuple(_LcovReader(place).files(content)))
    return _of_json(_parsed(content, place), place)


def _parsed(content: bytes, place: str) -> Any:
    try:
        return json.loads(content)
    except RecursionError as problem:
        raise UsageProblem("nested too deeply.", place=place) from problem
    except ValueError as problem:
        reason = f"it is no coverage report ({one_line(str(problem), 80)})."
        raise UsageProblem(reason, place=place, hint=f"These are read: {_KINDS}.") from problem


def _of_json(plain: Any, place: str) -> Report:
    try:
        if isinstance(plain, dict) and plain.get("type") == _LLVM:
            return Report("llvm-cov", tuple(_llvm_files(plain, place)))
        if isinstance(plain, dict) and isinstance(plain.get("files"), dict):
            return Report("coverage.py", tuple(_python_files(plain["files"])))
        # jest --json has its coverage under this key
        by_path = plain.get("coverageMap", plain) if isinstance(plain, dict) else None
        if isinstance(by_path, dict) and any(_is_istanbul(file) for file in by_path.values()):
            return Report("Istanbul", tuple(_istanbul_files(by_path)))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as problem:
        reason = f"a part of it has another form ({type(problem).__name__})."
        raise UsageProblem(reason, place=place) from problem
    raise UsageProblem("it is no coverage report.", place=place, hint=f"These are read: {_KINDS}.")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    # half of a pair of surrogates is valid JSON, and no text that can be stored
    return value[:_LONGEST_NAME].encode("utf-8", "replace").decode("utf-8")


def _line(value: Any) -> int:
    # type, not isinstance: true is an int in Python
    if type(value) is not int or not 0 < value <= _LAST_LINE:
        raise ValueError("no line")
    return value


def _count(value: Any) -> int:
    if type(value) not in (int, float) or value != value:
        raise ValueError("no count")
    return 1 if value > 0 else 0


# lcov (geninfo(1): TRACEFILE FORMAT)


@dataclass
class _Section:
    """The records of one `SF:` … `end_of_record`."""

    path: str
    test: str
    lists_functions: bool = False
    lines_by_name: dict[str, list[int]] = field(default_factory=dict)
    counts_by_name: dict[str, list[int]] = field(default_factory=dict)
    numbered: dict[str, int] = field(default_factory=dict)
    """Number of a function → its line, as lcov writes them since 2.2."""
    numbered_counts: list[tuple[str, str, int]] = field(default_factory=list)
    """(number, name, count)."""
    lines: dict[int, int] = field(default_factory=dict)

    def measured(self) -> MeasuredFile:
        functions = None
        if self.lists_functions:
            functions = (*self._by_name(), *self._by_number())
        return MeasuredFile(self.path, self.test, functions, self.lines)

    def _by_name(self) -> Iterator[Function]:
        for name, lines in self.lines_by_name.items():
            counts = self.counts_by_name.get(name, [])
            # two methods of one name: tools list both in one order, or give the name once
            if len(counts) == len(lines):
                pairs = zip(lines, counts, strict=True)
                yield from (Function(name, line, None, count) for line, count in pairs)
            elif len(lines) == 1:
                yield Function(name, lines[0], None, max(counts, default=0))

    def _by_number(self) -> Iterator[Function]:
        for number, name, count in self.numbered_counts:
            if number in self.numbered:
                yield Function(name, self.numbered[number], None, count)


class _LcovReader:
    """Reads the records line by line: a report may have millions."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._test = ""
        self._section: _Section | None = None

    def files(self, content: bytes) -> Iterator[MeasuredFile]:
        """The measured files. UsageProblem for a record that can't be read."""
        start = 0
        number = 0
        while start < len(content):
            end = content.find(b"\n", start)
            end = len(content) if end < 0 else end
            number += 1
            text = content[start : min(end, start + _LONGEST_NAME)].decode("utf-8", "replace")
            start = end + 1
            try:
                finished = self._read(text.strip())
            except ValueError as problem:
                reason = f"{one_line(text, 60)!r} is not a record of lcov."
                raise UsageProblem(reason, place=f"{self._place}:{number}") from problem
            if finished is not None:
                yield finished.measured()
        if self._section is not None:
            reason = "it ends within a file: an end_of_record is missing."
            raise UsageProblem(reason, place=self._place)

    def _read(self, record: str) -> _Section | None:
        """The section that this record ends. ValueError for a damaged record; those that are
        unknown are not read.
        """
        kind, _, value = record.partition(":")
        section = self._section
        if record == "end_of_record":
            self._section = None
            return section
        if kind == "TN":
            self._test = value
        elif kind == "SF":
            self._section = _Section(value, self._test)
        elif section is not None:
            _add_record(section, kind, value)
        return None


def _add_record(section: _Section, kind: str, value: str) -> None:
    first, _, name = value.partition(",")
    section.lists_functions |= kind in ("FN", "FNF", "FNL")
    if kind == "DA":
        line = _line(int(first))
        section.lines[line] = section.lines.get(line, 0) + _count(int(name.partition(",")[0]))
    elif kind == "FN":
        last, comma, after = name.partition(",")
        # since lcov 2.0 the last line of a function comes before its name
        name = after if comma and last.isdecimal() else name
        section.lines_by_name.setdefault(name, []).append(_line(int(first)))
    elif kind == "FNDA":
        section.counts_by_name.setdefault(name, []).append(_count(int(first)))
    elif kind == "FNL":
        section.numbered[first] = _line(int(name.partition(",")[0]))
    elif kind == "FNA":
        count, _, name = name.partition(",")
        section.numbered_counts.append((first, name, _count(int(count))))


# Istanbul: of vitest, jest, nyc and c8


def _is_istanbul(file: Any) -> bool:
    return isinstance(file, dict) and "fnMap" in file and "f" in file


_NOT_LOADED: Final = "(empty-report)"
"""The one function of a file that was never loaded (v8-to-istanbul)."""


def _istanbul_files(by_path: Mapping[str, Any]) -> Iterator[MeasuredFile]:
    for path, file in by_path.items():
        counts = file["f"]
        functions = [
            _istanbul_function(function, counts[number])
            for number, function in file["fnMap"].items()
            # of a file that was never loaded: it is about no function
            if function.get("name") != _NOT_LOADED
        ]
        yield MeasuredFile(_text(file.get("path", path)) or path, "", tuple(functions), {})


def _istanbul_function(function: Mapping[str, Any], count: Any) -> Function:
    declared = function.get("decl") or function["loc"]
    start = declared["start"]
    column = start.get("column")
    return Function(
        _text(function.get("name", "")),
        _line(start["line"]),
        column if type(column) is int and column >= 0 else None,
        _count(count),
    )


# llvm-cov export


def _llvm_files(plain: Mapping[str, Any], place: str) -> Iterator[MeasuredFile]:
    functions_of_path: dict[str, list[Function]] = {}
    for export in plain["data"]:
        for file in export["files"]:
            functions_of_path.setdefault(_text(file["filename"]), [])
        if "functions" not in export:
            hint = "Write it without --summary-only and -skip-functions."
            raise UsageProblem("it lists no functions.", place=place, hint=hint)
        for function in export["functions"]:
            # [first line, first column, last line, last column, count, file, …], by place
            line, column, _, _, _, file_number, *_ = function["regions"][0]
            path = _text(function["filenames"][file_number])
            functions_of_path.setdefault(path, []).append(
                Function(
                    _text(function["name"]),
                    _line(line),
                    _line(column) - 1,
                    _count(function["count"]),
                )
            )
    for path, functions in functions_of_path.items():
        yield MeasuredFile(path, "", tuple(functions), {})


# coverage json --show-contexts


def _python_files(files: Mapping[str, Any]) -> Iterator[MeasuredFile]:
    for path, file in files.items():
        lines_of_test: dict[str, dict[int, int]] = {}
        for line, contexts in file.get("contexts", {}).items():
            for context in contexts:
                lines_of_test.setdefault(_text(context), {})[_line(int(line))] = 1
        for test, lines in lines_of_test.items():
            yield MeasuredFile(_text(path), test, None, lines)
