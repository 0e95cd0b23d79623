"""Builds nodes from the events of a YAML parser, and refuses what a file of ours must not hold.

Events rather than finished objects: so duplicate keys are seen, aliases never expand, limits hold before anything
deep or large is built, nothing recurses, and no type is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from kl_hooks.config.nodes import Listing, Mapping, Node, Text
from kl_hooks.model.problem import Problem

MAX_DEPTH: Final = 50
MAX_NODES: Final = 10_000
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class _Open:
    """A list or map that is still being read."""

    __slots__ = ("column", "is_map", "items", "key", "line", "seen")

    def __init__(self, is_map: bool, line: int, column: int) -> None:
        self.is_map, self.line, self.column = is_map, line, column
        self.items: list[Any] = []
        self.key: Text | None = None
        self.seen: dict[str, int] = {}

    def node(self) -> Node:
        if self.is_map:
            return Mapping(tuple(self.items), self.line, self.column)
        return Listing(tuple(self.items), self.line, self.column)


class Builder:
    """Turns events into nodes without recursion; says what is not allowed and goes on wherever it can."""

    def __init__(self, path_name: str, problems: list[Problem]) -> None:
        self.root: Node | None = None
        self.last = (0, 0)
        self._path, self._problems = path_name, problems
        self._open: list[_Open] = []
        self._documents = self._nodes = 0

    def _say(self, message: str, hint: str = "", place: tuple[int, int] | None = None) -> None:
        self._problems.append(Problem(self._path, *(place or self.last), message, hint))

    def take(self, event: Any) -> bool:
        """Takes one event; False when there is no sense in going on."""
        name = type(event).__name__
        self.last = (event.start_mark.line + 1, event.start_mark.column + 1)
        if name == "DocumentStartEvent":
            self._documents += 1
            if self._documents > 1:
                self._say("a second document starts here; a file holds one.", "Take the `---` out.")
                return False
        elif name in ("SequenceEndEvent", "MappingEndEvent"):
            self._put(self._open.pop().node())
        elif name in ("AliasEvent", "ScalarEvent", "SequenceStartEvent", "MappingStartEvent"):
            return self._node(name, event)
        return True

    def _node(self, name: str, event: Any) -> bool:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            self._say(f"more than {MAX_NODES} values; this file is too large.")
            return False
        for problem in self._refused(name, event):
            self._say(problem, "Write the value out.")
        if name == "AliasEvent" or name == "ScalarEvent":
            self._put(self._text(event))
            return True
        if len(self._open) >= MAX_DEPTH:
            self._say(f"nested deeper than {MAX_DEPTH} levels.")
            return False
        self._open.append(_Open(name == "MappingStartEvent", *self.last))
        return True

    def _refused(self, name: str, event: Any) -> Iterator[str]:
        if name == "AliasEvent":
            yield f"the alias `*{event.anchor}` is not allowed here."
            return
        if event.anchor is not None:
            yield f"the anchor `&{event.anchor}` is not allowed here."
        if event.tag is not None:
            yield f"the tag `{event.tag}` is not allowed here."

    def _text(self, event: Any) -> Text:
        value = getattr(event, "value", "")
        if _SURROGATE.search(value):
            self._say("half a character (a lone surrogate).", "Write the character itself.")
            value = _SURROGATE.sub("\ufffd", value)
        return Text(value, *self.last, plain=getattr(event, "style", None) is None)

    def _put(self, node: Node) -> None:
        """Puts a finished node where it belongs."""
        if not self._open:
            self.root = node
            return
        parent = self._open[-1]
        if not parent.is_map:
            parent.items.append(node)
        elif parent.key is None:
            parent.key = self._as_key(parent, node)
        else:
            key, parent.key = parent.key, None
            if key.value not in parent.seen:
                parent.seen[key.value] = key.line
                parent.items.append((key, node))

    def _as_key(self, parent: _Open, node: Node) -> Text:
        if not isinstance(node, Text):
            self._say("a key must be text.", place=(node.line, node.column))
            return Text("", node.line, node.column)
        if node.value == "<<" and node.plain:
            self._say("the merge key `<<` is not allowed here.", "Write the values out.")
        elif node.value in parent.seen:
            first = parent.seen[node.value]
            self._say(f'"{node.value}" is given twice (first at line {first}).')
        return node
