"""Front matter: YAML between two lines of `---`, read with positions, and entries written back.

A written scalar is read back as exactly the same text by every YAML reader, and a reviewer sees what is in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kl_hooks.config.yaml import ListNode, Node, TextNode, load_yaml
from kl_hooks.config.yaml import MapNode as Map
from kl_hooks.model.problem import Problem
from kl_hooks.model.record import Value
from kl_hooks.model.text import safe_text

_FENCE: Final = re.compile(r"---[ \t]*")
_CONFLICT_BEGIN: Final = "<<<<<<< "
_CONFLICT_END: Final = ">>>>>>> "
_PLAIN_SCALAR: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._/@()+-]|:(?=[A-Za-z0-9_./]))*")
# Plain words that readers of YAML 1.1 take for a boolean, a number or base 60 (PyYAML: `no`, `12:30`).
_OTHER_TYPE: Final = re.compile(
    r"(?i:true|false|yes|no|on|off|null|y|n)|[-+]?[0-9.][0-9_.]*(?:e[-+]?[0-9]+)?|0[xob][0-9a-f]+|[0-9]+(?::[0-9]+)+"
)
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*")
_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_NOT_IN_YAML: Final = "\ufffe\uffff"


@dataclass(frozen=True, slots=True)
class KeySpan:
    """The lines (from 0, end exclusive) of a key and its value, and the column of the value from 0."""

    key: str
    start: int
    end: int
    column: int
    one_line: bool
    """True where the value is a plain scalar on the line of its key: a comment may follow it."""


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """Parsed front matter."""

    raw: dict[str, Any]
    """Key → text, list of text or map of text, as written."""
    spans: tuple[KeySpan, ...]
    end: int
    """The line of the second `---`, from 0; the body begins after it."""


def read_front_matter(path: str, lines: list[str]) -> tuple[FrontMatter | None, list[Problem]]:
    """Return the front matter of these lines and its problems; None where it can't be read."""
    conflict = next((n for n, line in enumerate(lines) if line.startswith(_CONFLICT_BEGIN)), None)
    if conflict is not None and any(line.startswith(_CONFLICT_END) for line in lines[conflict:]):
        return None, [Problem(path, conflict + 1, 1, "holds an unfinished merge.", "Settle it, then save the file.")]
    if not lines or not _FENCE.fullmatch(lines[0]):
        return None, [Problem(path, 1, 1, "has no front matter.", "Begin the file with `---`, `title: …`, `---`.")]
    end = next((n for n, line in enumerate(lines[1:], 1) if _FENCE.fullmatch(line)), None)
    if end is None:
        return None, [Problem(path, 1, 1, "the front matter never ends.", "Close it with a line `---`.")]
    text = "\n" + "\n".join(lines[1:end]) + "\n"  # an empty first line, so that the parser counts lines of the file
    node, problems = load_yaml(path, text.encode("utf-8", "surrogatepass"))
    if problems:
        return None, problems
    if node is None:
        return FrontMatter({}, (), end), []
    if not isinstance(node, Map):
        return None, [Problem(path, 2, 1, "the front matter must be keys and values.", "Write `title: …`.")]
    raw = {key.value: _node_value(path, value, problems) for key, value in node.entries}
    return (None if problems else FrontMatter(raw, tuple(_spans(node, lines, end)), end)), problems


def trailing_comment(line: str, column: int, value: str) -> str:
    """Return the comment after a plain value on its line, with the space before it."""
    rest = line[column + len(value) :]
    return rest if re.match(r"\s+#", rest) else ""


def format_entry(name: str, value: Value, typed: bool = False) -> list[str]:
    """Return the lines of a key and its value. `typed`: the field makes it a date or number: no quotes."""
    if isinstance(value, Mapping):
        return [f"{name}:", *(f"  {_scalar(key)}: {_scalar(item)}" for key, item in value.items())]
    if isinstance(value, tuple):
        return _format_list(name, value)
    return [f"{name}: {_scalar(value, typed)}"]


def _spans(node: Map, lines: list[str], end: int) -> Iterator[KeySpan]:
    """Yield where each key is; empty lines and comments before the next key belong to neither."""
    starts = [key.line - 1 for key, _ in node.entries]
    for (key, value), start, following in zip(node.entries, starts, [*starts[1:], end], strict=True):
        last = following
        while last > start + 1 and (not lines[last - 1].strip() or lines[last - 1].lstrip().startswith("#")):
            last -= 1
        one_line = isinstance(value, TextNode) and value.plain and bool(value.value) and last == start + 1
        yield KeySpan(key.value, start, last, value.column - 1, one_line)


def _node_value(path: str, node: Node, problems: list[Problem]) -> Any:
    if isinstance(node, TextNode):
        return node.value if node.value or not node.plain else None
    inner = node.items if isinstance(node, ListNode) else tuple(value for _, value in node.entries)
    for one in inner:
        if not isinstance(one, TextNode):
            problems.append(Problem(path, one.line, one.column, "is nested too deep here.", "Write text."))
    if isinstance(node, ListNode):
        return [one.value for one in node.items if isinstance(one, TextNode)]
    return {key.value: one.value for key, one in node.entries if isinstance(one, TextNode)}


def _scalar(value: str | int | bool, typed: bool = False) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    plain = _PLAIN_SCALAR.fullmatch(value) and not value.endswith(" ")
    if plain and (typed or not (_OTHER_TYPE.fullmatch(value) or _DATE.fullmatch(value))):
        return value
    return f'"{"".join(map(_escape, value))}"'


def _format_list(name: str, items: Sequence[str]) -> list[str]:
    shown = [_scalar(item) for item in items]
    flow = f"{name}: [{', '.join(shown)}]"
    if len(flow) <= 100 and all(len(item) <= 24 and re.fullmatch(r"[\w.-]+", item) for item in shown):
        return [flow]
    return [f"{name}:", *(f"  - {item}" for item in shown)]


def _escape(letter: str) -> str:
    if letter in _NOT_IN_YAML:
        return f"\\u{ord(letter):04x}"
    return _ESCAPES.get(letter) or safe_text(letter)
