"""From the frames of a file to its symbols: Id, place, signature, docstring's first line, content hash, words."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kl_hooks.code.decoded import LONGEST, statement
from kl_hooks.code.digests import combined
from kl_hooks.code.frames import Frame, docstring_of
from kl_hooks.code.signature import header

_INTERFACES: Final = frozenset({"Protocol", "ABC"})
_AROUND: Final = (ast.Subscript, ast.Call)
_ACCESSORS: Final = frozenset({"setter", "getter", "deleter"})
Row = list[Any]
"""[id, line, end_line, signature, doc, content_hash], plain JSON."""


def symbol_rows(frames: Sequence[Frame], lines: Sequence[bytes], module: str) -> tuple[list[Row], list[str]]:
    """The symbols of a file, the module first, then in the order of their lines; and for each the words of its code.

    Definitions of one Id (overloads, a property and its setter, `if`/`else`) are one row: place and signature of the
    first that is no `@overload`, the docstring of the first that has one, a hash over all of them.
    """
    found: dict[str, list[Frame]] = {}
    for frame in frames:
        frame.ids = _ids(frame, module)
        for name in frame.ids:
            found.setdefault(name, []).append(frame)
    rows: list[tuple[Row, str]] = []
    for name, same in found.items():
        if len(same) > 1:
            same.sort(key=lambda frame: getattr(frame.node, "lineno", 0))  # `else` was walked before `if`
        chosen, doc, said = same[0], _doc(same[0]), dict.fromkeys(same[0].text)
        if len(same) > 1:
            chosen = next((f for f in same if not _is_overload(f)), chosen)
            doc = next(filter(None, (_doc(f) for f in same)), "")
            said = dict.fromkeys(text for f in same for text in f.text)
        line, end_line = _place(chosen, lines)
        row = [name, line, end_line, _signature(chosen, lines, module), doc, combined([f.own for f in same])]
        rows.append((row, " ".join(sorted(filter(str.isidentifier, said)))))  # no mark of a text is an identifier
    rows.sort(key=lambda pair: (not pair[0][0].startswith("namespace:"), pair[0][1]))  # the outer before the inner
    return [row for row, _ in rows], [words for _, words in rows]


def decorators_of(frames: Sequence[Frame], lines: Sequence[bytes], places: Mapping[str, int]) -> dict[str, list[str]]:
    """Place of a symbol → its decorators as written, one line each; of several definitions those of the first."""
    found: dict[str, list[str]] = {}
    for frame in sorted(frames, key=lambda frame: getattr(frame.node, "lineno", 0)):
        if frame.kind in ("class", "function") and frame.node.decorator_list:
            shown = [_decorator(node, lines) for node in frame.node.decorator_list]
            for identifier in frame.ids:
                found.setdefault(str(places[identifier]), shown)
    return found


def _decorator(node: ast.expr, lines: Sequence[bytes]) -> str:
    end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
    return "@" + statement(lines, node.lineno, node.col_offset, end_line, end_column)


def namespace_signature(module: str) -> str:
    """What stands as the signature of a module."""
    return f"module {module}"


def _ids(frame: Frame, module: str) -> list[str]:
    outer = frame.outer
    if outer is None:
        return [f"namespace:{module}"]
    if frame.kind == "block":
        return []
    if frame.kind == "field" and outer.scope == "function":
        owner = outer.prefix.rpartition(".<locals>.")[0].rpartition(".")[0]
        return [f"field:{module}.{owner}.{name}" for name in frame.names]
    sort = _sort(frame, outer)
    names = [name if name in outer.globals else outer.prefix + name for name in frame.names]
    return [f"{sort}:{module}.{name}" for name in dict.fromkeys(names)]


def _sort(frame: Frame, outer: Frame) -> str:
    if frame.kind == "class":
        bases = [*frame.node.bases, *(k.value for k in frame.node.keywords if k.arg == "metaclass")]
        return "interface" if any(_last_name(b) in _INTERFACES or _last_name(b) == "ABCMeta" for b in bases) else "type"
    if frame.kind == "function":
        if outer.scope != "class":
            return "function"
        return "property" if any(map(_makes_property, frame.node.decorator_list)) else "method"
    return "type" if frame.kind == "alias" else "field"


def _last_name(node: ast.expr) -> str:
    while isinstance(node, _AROUND):
        node = node.value if isinstance(node, ast.Subscript) else node.func
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _makes_property(decorator: ast.expr) -> bool:
    name = _last_name(decorator)
    return name.endswith("property") or (name in _ACCESSORS and isinstance(decorator, ast.Attribute))


def _is_overload(frame: Frame) -> bool:
    return frame.kind == "function" and any(_last_name(d) == "overload" for d in frame.node.decorator_list)


def _place(frame: Frame, lines: Sequence[bytes]) -> tuple[int, int]:
    if frame.kind == "module":
        return 1, max(len(lines), 1)
    return frame.node.lineno, frame.node.end_lineno


def _signature(frame: Frame, lines: Sequence[bytes], module: str) -> str:
    if frame.kind == "module":
        return namespace_signature(module)
    node = frame.node
    if frame.kind in ("class", "function"):
        return header(lines, node)
    return statement(lines, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)


def _doc(frame: Frame) -> str:
    if frame.kind not in ("module", "class", "function"):
        return ""
    text = docstring_of(frame.node)
    if not text:
        return ""
    clean = text.lstrip().partition("\n")[0].rstrip()
    if not clean.isascii() or "\0" in clean:
        from kl_hooks.model.canonical import replace_surrogates

        clean = str(replace_surrogates(clean)).replace("\0", "")
    return clean if len(clean) <= LONGEST else clean[: LONGEST - 1] + "…"
