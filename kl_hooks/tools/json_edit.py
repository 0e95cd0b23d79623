"""Edit a JSON file that people write: members are added and removed as text, and every other byte stays."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from kl_hooks.errors import UsageProblem

_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_SCALAR: Final = re.compile(r"[^\s,\]}]+")
_SPACE: Final = re.compile(r"[ \t\r\n]*")


@dataclass(slots=True)
class Node:
    """A value and where it is in the text."""

    start: int
    end: int = 0
    value: Any = None
    """Of a text, number or word; of an object or a list None."""
    opening: str = ""
    """`{` or `[`; empty for other values."""
    children: list[tuple[str, int, Node]] = field(default_factory=list)
    """(key, where it starts, value); in a list the key is its place, as text."""

    def get(self, key: str) -> Node | None:
        """The last member of this name, as `json.loads` takes it."""
        return next((node for name, _, node in reversed(self.children) if name == key), None)

    def items(self, path: tuple[str, ...]) -> Iterator[tuple[str, Node]]:
        """Yield (key or place, value) of what is in the object or list at a path; nothing where there is none."""
        for name in path:
            below = self.get(name)
            if below is None:
                return
            self = below
        yield from ((name, child) for name, _, child in self.children)


def parse(text: str, place: str) -> Node:
    """Return the object in a file. UsageProblem with file and line for what is none."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError as problem:
        hint = "Nothing was changed. Comments and trailing commas are not JSON; correct it, or move it away."
        raise UsageProblem(f"is no JSON: {problem.msg}.", place=f"{place}:{problem.lineno}", hint=hint) from None
    except RecursionError:
        raise UsageProblem("is nested too deeply.", place=f"{place}:1", hint="Nothing was changed.") from None
    if not isinstance(found, dict):
        raise UsageProblem("is no JSON object.", place=f"{place}:1", hint="Nothing was changed.")
    return _node(text, _skip(text, 0))


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _node(text: str, at: int) -> Node:
    """The value that starts at a place of a text that is known to be JSON."""
    node = Node(at)
    if text[at] not in "{[":
        found = _STRING.match(text, at) or _SCALAR.match(text, at)
        assert found
        node.end, node.value = found.end(), json.loads(found[0])
        return node
    node.opening = text[at]
    at = _skip(text, at + 1)
    while text[at] not in "}]":
        start, key = at, str(len(node.children))
        if node.opening == "{":
            found = _STRING.match(text, at)
            assert found
            key = json.loads(found[0])
            at = _skip(text, _skip(text, found.end()) + 1)  # behind the colon
        child = _node(text, at)
        node.children.append((key, start, child))
        at = _skip(text, child.end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    node.end = at + 1
    return node


def insert(text: str, path: tuple[str, ...], key: str | None, value: Any, place: str) -> tuple[str, list[str]]:
    """Return the text with a value added, and the paths (`a.b`) of objects and lists that were made for it.

    `path`: the keys of the object (with `key`) or list (without) that it belongs to; what is missing of it is made.
    UsageProblem where something else is in the way.
    """
    root = node = parse(text, place)
    for depth, name in enumerate(path):
        below = node.get(name)
        if below is None:
            wrapped: Any = {key: value} if key is not None else [value]
            for step in reversed(path[depth + 1 :]):
                wrapped = {step: wrapped}
            made = [".".join(path[: end + 1]) for end in range(depth, len(path))]
            return _added(text, root, node, depth, name, wrapped), made
        node = below
        _require(text, node, "[" if depth == len(path) - 1 and key is None else "{", ".".join(path[: depth + 1]), place)
    return _added(text, root, node, len(path), key, value), []


def _require(text: str, node: Node, opening: str, path: str, place: str) -> None:
    if node.opening != opening:
        line = text.count("\n", 0, node.start) + 1
        what = "object" if opening == "{" else "list"
        raise UsageProblem(f"{path} is no {what}.", place=f"{place}:{line}", hint="Nothing was changed.")


def _added(text: str, root: Node, node: Node, depth: int, key: str | None, value: Any) -> str:
    """The text with a member at the end of an object, or an item at the end of a list, in the style of the file."""
    end = "\r\n" if "\r\n" in text else "\n"
    unit = _unit(text, root)
    inside = text[node.start : node.end]
    if node.children and "\n" not in inside:
        return _spliced(text, node.children[-1][2].end, f", {_dumped(key, value, None)}")
    if node.children:
        first = node.children[0][1]
        line = text.rfind("\n", 0, first) + 1
        indent = text[line:first] if not text[line:first].strip() else unit * (depth + 1)
        return _spliced(text, node.children[-1][2].end, f",{end}{_indented(_dumped(key, value, unit), indent, end)}")
    outer = _indent_of(text, node)
    new = _indented(_dumped(key, value, unit), outer + unit, end)
    return _spliced(text, node.start + 1, f"{end}{new}{end}{outer}")


def _spliced(text: str, at: int, new: str) -> str:
    return text[:at] + new + text[at:]


def _unit(text: str, root: Node) -> str:
    """What the file indents by; two spaces where it shows none."""
    if not root.children:
        return "  "
    first = root.children[0][1]
    before = text[text.rfind("\n", 0, first) + 1 : first]
    return before if before and not before.strip() else "  "


def _indent_of(text: str, node: Node) -> str:
    line = text[text.rfind("\n", 0, node.start) + 1 : node.start]
    return line[: len(line) - len(line.lstrip())]


def _dumped(key: str | None, value: Any, unit: str | None) -> str:
    return ("" if key is None else f"{json.dumps(key)}: ") + json.dumps(value, indent=unit)


def _indented(text: str, indent: str, end: str) -> str:
    return end.join(indent + line for line in text.split("\n"))


def remove(text: str, path: tuple[str, ...], place: str) -> str:
    """Return the text without the member or item at a path (a list's item by its place, as text); else unchanged.

    The inverse of `insert`: what that has put around a value goes with it.
    """
    root = node = parse(text, place)
    for name in path[:-1]:
        below = node.get(name)
        if below is None:
            return text
        node = below
    number = next((at for at, (name, _, _) in enumerate(node.children) if name == path[-1]), None)
    if number is None:
        return text
    _, start, removed = node.children[number]
    if number:
        return text[: node.children[number - 1][2].end] + text[removed.end :]
    if len(node.children) > 1:
        return text[:start] + text[node.children[1][1] :]
    return _emptied(text, root, node, start, removed)


def _emptied(text: str, root: Node, node: Node, start: int, removed: Node) -> str:
    """The text without the only member of an object or list, and without the line ends that `insert` put around it."""
    before, after = text[node.start + 1 : start], text[removed.end : node.end - 1]
    outer, unit = _indent_of(text, node), _unit(text, root) if node is not root else before.lstrip("\r\n")
    for end in ("\r\n", "\n"):
        if before == f"{end}{outer}{unit}" and after.startswith(f"{end}{outer}"):
            return text[: node.start + 1] + after.removeprefix(f"{end}{outer}") + text[node.end - 1 :]
    return text[: node.start + 1] + (before + after if (before + after).strip() else "") + text[node.end - 1 :]
