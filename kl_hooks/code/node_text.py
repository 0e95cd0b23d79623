"""What one node of a syntax tree says: our own text for it, the same on every supported Python.

A node's mark, then its fields in a fixed order, empty ones skipped; positions, comments, layout and the `u` of `u""`
are left out. `ast.dump` would not do: it differs between Python 3.11, 3.12 and 3.13. No mark is an identifier, so the
identifiers of a text can be told from its marks.
"""

from __future__ import annotations

import ast
from typing import Any

from kl_hooks.code.frames import Node

_LEFT_OUT = frozenset({"ctx", "kind", "type_comment", "type_ignores"})
_STATEMENTS = frozenset({"body", "orelse", "finalbody", "handlers", "cases"})
_Known = tuple[str, tuple[tuple[str, str, bool], ...]]
_PLAIN: dict[type, _Known] = {}
"""Node class → its mark and (field, the field's mark, is a list of statements)."""
_LEAVES: dict[type, str] = {
    cls: "#" + cls.__name__
    for base in (ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
    for cls in base.__subclasses__()
}


def constant(value: object) -> str:
    """The text of a literal's value; equal texts mean equal values of one type."""
    cls = value.__class__
    if cls is str:
        words = str(value)
        return '"' + words if "\0" not in words else "%" + words.encode("utf-8", "surrogatepass").hex()
    if cls is int:
        return hex(value) if isinstance(value, int) else ""  # repr() of a huge int is refused
    if cls is complex:
        return f"j{getattr(value, 'imag', 0.0)!r}"
    return f"={value!r}"


def plain(node: Node, stack: list[Any], text: list[str]) -> None:
    """Any node without a rule of its own: its mark, the marks of its fields that are not empty, their values."""
    known = _PLAIN.get(node.__class__)
    mark, fields = known if known is not None else _learn(node.__class__)
    text.append(mark)
    for field, field_mark, statements in fields:
        value = getattr(node, field, None)
        if value is None:
            continue
        cls = value.__class__
        if cls is list:
            if not value:
                continue
            text.append(field_mark)
            if statements:
                # An end mark instead of a length: what a class defines may not show in the text of the class.
                stack.append("}")
                stack += value[::-1]
            else:
                text.append(str(len(value)))
                stack += value if None not in value else ["0" if item is None else item for item in value]
        elif cls in _LEAVES:
            text.append(_LEAVES[cls])
        else:
            text.append(field_mark)
            if cls is str or cls is int:
                text.append(str(value))
            else:
                stack.append(value)


def _learn(cls: type) -> _Known:
    names = [name for name in getattr(cls, "_fields", ()) if name not in _LEFT_OUT]
    made: _Known = ("#" + cls.__name__, tuple((name, "#" + name, name in _STATEMENTS) for name in names))
    _PLAIN[cls] = made
    return made
