"""Adds an exception to the text of a manifest by inserting text in one place; every other byte stays as it is. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from kl_hooks.arch.draft import quoted
from kl_hooks.arch.manifest import read_manifest
from kl_hooks.arch.mistakes import ManifestProblems
from kl_hooks.config.typed import snake
from kl_hooks.model.manifest import Allowance, Manifest

_BREAK: Final = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_NOTHING: Final = re.compile("[ \t]*(?:#.*)?(?=[\n\r\x85\u2028\u2029]|$)")
_KEY: Final = "exceptions"


def insert_exception(path_name: str, data: bytes, one: Allowance) -> tuple[bytes, int] | None:
    """The text with the exception in it, and its line; None where no place was found that gives exactly that.

    The result reads as `data` does, and one exception more. Raises ManifestProblems for a manifest that is invalid.
    """
    before = _facts(read_manifest(path_name, data))
    mark = len(data) - len(data.removeprefix(b"\xef\xbb\xbf"))
    text = data.decode("utf-8-sig")
    for place, more in _candidates(text, _entry(one)):
        at = mark + len(text[:place].encode())
        made = data[:at] + more.encode() + data[at:]
        try:
            read = read_manifest(path_name, made)
        except ManifestProblems:
            continue
        line = _added(before, read, one)
        if line:
            return made, line
    return None


def _facts(manifest: Manifest) -> Any:
    """The manifest without the places of things."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items() if not key.endswith("line")}
        return [plain(item) for item in value] if isinstance(value, list | tuple) else value

    return plain(asdict(manifest))


def _added(before: Any, after: Manifest, one: Allowance) -> int:
    """The line of the exception, if it is the only difference; else 0."""
    facts = _facts(after)
    wanted = {key: value for key, value in asdict(one).items() if not key.endswith("line")}
    for number, found in enumerate(facts["exceptions"]):
        rest = facts | {"exceptions": facts["exceptions"][:number] + facts["exceptions"][number + 1 :]}
        if found == wanted and rest == before:
            return after.exceptions[number].line
    return 0


def _entry(one: Allowance) -> str:
    parts = [f"from: {quoted(one.source)}", f"to: {quoted(one.target)}"]
    parts += [f"until: {one.until}"] if one.until else []
    parts += [f"decision: {quoted(one.decision)}"] if one.decision else []
    return "{" + ", ".join(parts) + "}"


@dataclass(frozen=True, slots=True)
class _Found:
    """What the parser says about places, as indexes into the text."""

    column: int
    """Of the keys of the manifest, from 0."""
    end: int
    """After the last text of the manifest."""
    brace: int
    """Of the `}` that ends it; -1: it is not written in braces."""
    kind: str
    """Of the list of exceptions: `flow`, `block`, or empty for none."""
    start: int = 0
    """Of the list: its `[`, or its first `-`."""
    last: int = 0
    """After the last text of the list."""
    empty: bool = True


def _candidates(text: str, entry: str) -> Iterator[tuple[int, str]]:
    """(index, text to insert there), the best place first."""
    found = _look(text)
    newline = (_BREAK.search(text) or ["\n"])[0]
    indent = " " * found.column
    if found.kind == "flow":
        line = f"{indent}  {entry}{'' if found.empty else ','}"
        nothing = _NOTHING.match(text, found.start + 1)
        after = _BREAK.match(text, nothing.end()) if nothing else None
        yield (after.end(), line + newline) if after else (found.start + 1, f"{newline}{line}{newline}{indent}  ")
    elif found.kind == "block":
        dash = text[_line_start(text, found.start) : found.start]
        yield _whole_line(text, found.last, f"{dash}- {entry}", newline)
    elif found.brace >= 0:
        for comma in (", ", " "):
            yield found.brace, f"{comma}{_KEY}: [{entry}]"
    else:
        block = f"{newline}{indent}{_KEY}:{newline}{indent}  - {entry}"
        yield _whole_line(text, len(text), block, newline)
        yield _whole_line(text, found.end, block, newline)


def _line_start(text: str, index: int) -> int:
    return max((found.end() for found in _BREAK.finditer(text, 0, index)), default=0)


def _whole_line(text: str, index: int, line: str, newline: str) -> tuple[int, str]:
    """Where, and with which line breaks, `line` stands after the line of `index`."""
    if index and _BREAK.fullmatch(text[index - 1]):
        return index, f"{line}{newline}"
    end = _BREAK.search(text, index)
    return (end.end(), f"{line}{newline}") if end else (len(text), f"{newline}{line}")


def _look(text: str) -> _Found:
    """Reads the places out of the events of the parser; the text is that of a valid manifest."""
    import yaml

    depth, key, column, brace, end = 0, "", 0, -1, 0
    kind, start, last, items = "", 0, 0, 0
    inside = awaited = False
    event: Any
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        name, first, after = type(event).__name__, event.start_mark, event.end_mark
        if depth == 0 and name == "MappingStartEvent":
            column = first.column
        if depth == 1 and name == "MappingEndEvent" and after.index > first.index:
            brace = first.index
        if depth == 1 and name == "ScalarEvent" and not awaited:
            key, awaited = snake(event.value), True
        elif depth == 1 and name != "MappingEndEvent":
            awaited = False
            if key == _KEY and name == "SequenceStartEvent":
                inside, start = True, first.index
                kind = "flow" if event.flow_style else "block"
        elif depth == 2 and inside and not name.endswith("EndEvent"):
            items += 1
        depth += name.endswith("StartEvent") and not name.startswith(("Stream", "Document"))
        depth -= name in ("SequenceEndEvent", "MappingEndEvent")
        if depth and after.index > first.index:
            end = max(end, after.index)
            last = after.index if inside else last
        inside = inside and depth > 1
    return _Found(column, end, brace, kind, start, last, not items)
