"""Reads `.kl/baseline.json`; whatever is wrong is said with its place, everything at once. Pure."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kl_hooks.arch.baseline.file import KEYS, SCHEMA, Accepted
from kl_hooks.arch.source import LARGEST
from kl_hooks.config.problems import Problems
from kl_hooks.model.problem import Problem

_MARKER: Final = re.compile(r"(?:<{7}|={7}|>{7}|\|{7})(?: .*|\r?)")
_LIST: Final = re.compile(r'"violations"\s*:\s*\[')
_BETWEEN: Final = re.compile(r"[\s,]*")
_MOST_PROBLEMS: Final = 100
_AGAIN: Final = "Take it from git (git checkout -- .kl/baseline.json), or delete it and run: kl arch baseline write"
_MEND: Final = "Mend this line, or take the file from git: git checkout -- .kl/baseline.json"


class BaselineProblems(Problems):
    """The baseline can't be used: exit 2. `problems` has each with its place."""


def read_baseline(path_name: str, data: bytes) -> tuple[Accepted, ...]:
    """The entries in `data`. Raises BaselineProblems with everything that is wrong: a bad baseline never passes."""
    text, problems = _decoded(path_name, data)
    if not problems:
        try:
            value = json.loads(text, object_pairs_hook=_Keys)
        except json.JSONDecodeError as error:
            said = f"is not JSON: {error.msg[:1].lower()}{error.msg[1:]}."
            problems = [Problem(path_name, error.lineno, error.colno, said, _AGAIN)]
        except (ValueError, RecursionError) as error:
            problems = [Problem(path_name, 0, 0, f"can't be read: {str(error)[:200]}.", _AGAIN)]
    if problems:
        raise BaselineProblems(problems)
    reader = _Reader(path_name, text)
    entries = reader.entries(value)
    if reader.problems:
        raise BaselineProblems(reader.problems[:_MOST_PROBLEMS])
    return entries


def _decoded(path_name: str, data: bytes) -> tuple[str, list[Problem]]:
    """The text; or why there is none to parse."""
    if len(data) > LARGEST:
        return "", [Problem(path_name, 0, 0, f"is too large; at most {LARGEST} bytes are read.", _AGAIN)]
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return "", [Problem(path_name, data[: error.start].count(b"\n") + 1, 1, "this byte is not UTF-8.", _AGAIN)]
    hint = "Keep every entry of both sides, take the markers out, then run: kl arch baseline prune"
    lines = enumerate(text.split("\n"), 1)
    marks = [Problem(path_name, n, 1, "a merge conflict stands here.", hint) for n, x in lines if _MARKER.fullmatch(x)]
    return text, marks[:_MOST_PROBLEMS]


class _Keys(dict[str, Any]):
    """A JSON object that remembers which of its keys were given twice."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.twice: list[str] = []
        if len(self) < len(pairs):
            self.twice = sorted(key for key, number in Counter(key for key, _ in pairs).items() if number > 1)


class _Reader:
    """Takes entries out of parsed JSON, and gathers what is wrong with it."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self.problems: list[Problem] = []
        self._lines: list[int] = []

    def entries(self, value: Any) -> tuple[Accepted, ...]:
        """Every entry that is right; the rest is said."""
        if not isinstance(value, _Keys):
            self._say(1, "must be a JSON object with schema and violations.", _AGAIN)
            return ()
        if value.get("schema") != SCHEMA:
            shown = json.dumps(value.get("schema"))[:60]
            self._say(
                1, f'"schema" is {shown}, not "{SCHEMA}".', "Was it written by a newer kl? Upgrade, or write it anew."
            )
        self._keys(1, value, ("schema", "violations"))
        rows = value.get("violations")
        if not isinstance(rows, list):
            self._say(1, '"violations" must be a list.', _AGAIN)
            return ()
        found: list[Accepted] = []
        first: dict[Accepted, int] = {}
        for number, row in enumerate(rows):
            one = self._entry(number, row)
            if one is None:
                continue
            same = Accepted(one.source_layer, one.target_layer, one.importer, one.imported)
            if same in first:
                here = f"{one.importer} -> {one.imported} stands here twice (first at line {self._line(first[same])})."
                self._say(self._line(number), here, "Keep one of them, with the lower count that is right.")
            first.setdefault(same, number)
            found.append(one)
        return tuple(sorted(found))

    def _entry(self, number: int, row: Any) -> Accepted | None:
        before = len(self.problems)
        if not isinstance(row, _Keys):
            self._say(self._line(number), "an entry must be an object.", _MEND)
            return None
        wrong = list(_wrong(row))
        if wrong or row.keys() != set(KEYS) or row.twice:
            line = self._line(number)
            self._keys(line, row, KEYS)
            for said in wrong:
                self._say(line, said, _MEND)
        if len(self.problems) > before:
            return None
        one = Accepted(row["from"], row["to"], row["importer"], row["imported"], row["count"])
        if row["fingerprint"] != one.fingerprint:
            said = f'the fingerprint does not fit {one}: it would be "{one.fingerprint}".'
            self._say(self._line(number), said, _MEND)
            return None
        return one

    def _keys(self, line: int, row: _Keys, known: tuple[str, ...]) -> None:
        for key in sorted(row.keys() - set(known)):
            self._say(line, f'unknown key "{key[:60]}".', f"Known: {', '.join(known)}.")
        for key in [key for key in known if key not in row and key != "schema"]:
            self._say(line, f'the key "{key}" is missing.', _MEND)
        for key in row.twice:
            self._say(line, f'"{key[:60]}" is given twice.', _MEND)

    def _say(self, line: int, message: str, hint: str) -> None:
        self.problems.append(Problem(self.path, line, 1, message, hint))

    def _line(self, number: int) -> int:
        """Line of an entry; where they stand is looked up only when something is wrong."""
        self._lines = self._lines or list(_lines(self.text))
        return self._lines[number] if number < len(self._lines) else 1


def _wrong(row: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the values that are there."""
    for key in (key for key in KEYS if key in row):
        value = row[key]
        if key == "count":
            if type(value) is not int or value < 1:
                yield '"count" must be a whole number from 1.'
        elif not isinstance(value, str) or not value:
            yield f'"{key}" must be text.'


def _lines(text: str) -> Iterator[int]:
    """The line on which each entry of the list starts."""
    start, decoder = _LIST.search(text), json.JSONDecoder()
    place = start.end() if start else len(text)
    line, seen = 1, 0
    while True:
        found = _BETWEEN.match(text, place)
        place = found.end() if found else place
        if place >= len(text) or text[place] == "]":
            return
        line, seen = line + text.count("\n", seen, place), place
        yield line
        place = decoder.raw_decode(text, place)[1]
