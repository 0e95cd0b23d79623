"""The front matter of an authored file: YAML between two lines of `---`, read with places and changed key by key."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from kl_hooks.config.nodes import Listing, Mapping, Node, Text
from kl_hooks.config.yaml import load
from kl_hooks.model.problem import Problem

_FENCE: Final = re.compile(r"---[ \t]*")
_CONFLICT: Final = ("<<<<<<< ", "=======", ">>>>>>> ")


@dataclass(frozen=True, slots=True)
class Span:
    """Where a key and its value stand: lines counted from 0, the end left out, and the column of the value from 0."""

    key: str
    start: int
    end: int
    column: int
    one_line: bool
    """True where the value is a plain scalar on the line of its key: a comment may follow it."""


@dataclass(frozen=True, slots=True)
class Front:
    """What the front matter says."""

    raw: dict[str, Any]
    """Key → text, list of text or map of text, as written."""
    spans: tuple[Span, ...]
    end: int
    """The line of the second `---`, from 0; the body begins after it."""


def read_front(path: str, lines: list[str]) -> tuple[Front | None, list[Problem]]:
    """The front matter of these lines, and what is wrong with it. None where there is none that can be read."""
    conflict = next((n for n, line in enumerate(lines) if line.startswith(_CONFLICT[0])), None)
    if conflict is not None and any(line.startswith(_CONFLICT[2]) for line in lines[conflict:]):
        return None, [Problem(path, conflict + 1, 1, "holds an unfinished merge.", "Settle it, then save the file.")]
    if not lines or not _FENCE.fullmatch(lines[0]):
        return None, [Problem(path, 1, 1, "has no front matter.", "Begin the file with `---`, `title: …`, `---`.")]
    end = next((n for n, line in enumerate(lines[1:], 1) if _FENCE.fullmatch(line)), None)
    if end is None:
        return None, [Problem(path, 1, 1, "the front matter never ends.", "Close it with a line `---`.")]
    text = "\n" + "\n".join(lines[1:end]) + "\n"
    node, problems = load(path, text.encode("utf-8", "surrogatepass"))
    if problems:
        return None, problems
    if node is None:
        return Front({}, (), end), []
    if not isinstance(node, Mapping):
        return None, [Problem(path, 2, 1, "the front matter must be keys and values.", "Write `title: …`.")]
    return _front(path, node, lines, end)


def _front(path: str, node: Mapping, lines: list[str], end: int) -> tuple[Front | None, list[Problem]]:
    problems: list[Problem] = []
    raw = {key.value: _plain(path, value, problems) for key, value in node.entries}
    starts = [key.line - 1 for key, _ in node.entries]
    spans = []
    for (key, value), start, following in zip(node.entries, starts, [*starts[1:], end], strict=True):
        last = following
        while last > start + 1 and (not lines[last - 1].strip() or lines[last - 1].lstrip().startswith("#")):
            last -= 1
        single = isinstance(value, Text) and value.plain and bool(value.value) and last == start + 1
        spans.append(Span(key.value, start, last, value.column - 1, single))
    return (None if problems else Front(raw, tuple(spans), end)), problems


def _plain(path: str, node: Node, problems: list[Problem]) -> Any:
    if isinstance(node, Text):
        return node.value if node.value or not node.plain else None
    inner = node.items if isinstance(node, Listing) else tuple(value for _, value in node.entries)
    for one in inner:
        if not isinstance(one, Text):
            problems.append(Problem(path, one.line, one.column, "is nested too deep here.", "Write text."))
    if isinstance(node, Listing):
        return [one.value for one in node.items if isinstance(one, Text)]
    return {key.value: one.value for key, one in node.entries if isinstance(one, Text)}


def comment_after(line: str, column: int, value: str) -> str:
    """The comment that follows a plain value on its line, with the space before it."""
    rest = line[column + len(value) :]
    return rest if re.match(r"\s+#", rest) else ""
