"""Symbol and Link: a named thing in the source, and how two things hang together."""

from __future__ import annotations

from typing import NamedTuple


class Symbol(NamedTuple):
    """A named thing in the source."""

    id: str
    """`namespace: type: interface: function: method: property: field:` and its dotted name, `<locals>` kept;
    `test:` and its path and name as pytest would call it."""
    path: str
    """The file, from the repository's root, with `/`."""
    line: int
    end_line: int
    signature: str
    """One line: `def feed(self, data: bytes) -> int`, `class Parser(Base)`."""
    doc: str
    """First line of its docstring, or empty."""
    content_hash: str
    """16 hexadecimal digits over its code without comments, docstrings and layout; equal on every supported Python."""
    decorators: tuple[str, ...] = ()
    """As written, one line each: `@property`."""


class Link(NamedTuple):
    """`source` stands in `relation` to `target`, found at a place by a method."""

    source: str
    relation: str
    """defines, imports, inherits, calls, verified_by, …"""
    target: str
    path: str = ""
    line: int = 0
    method: str = ""
    """How it was found: `import`, `lazy import`, `type-checking import`, `dynamic import`, `star import` …"""
    confidence: int = 100
    """Percent."""
