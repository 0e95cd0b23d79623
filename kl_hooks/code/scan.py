"""The fast scanner for Python: one file's bytes in, facts out, with the standard library's `ast`.

Facts are plain JSON:
    {"error": "" or "line:column: reason",
     "symbols": [[id, line, end_line, signature, doc, content_hash], …],
     "words": [the identifiers in the code of each symbol, one text per symbol],
     "imports": [[module, name, level, line, how, statement], …],
     "decorators": {place of a symbol: [its decorators as written, one line each]},
     "uses", "outline": what the file uses, and what others need to know of it; see `code.uses`,
     "names": every identifier in these, between spaces}
What CPython's own parser refuses is refused, with its words; nothing else is, save what is larger than `LARGEST`.
(More than 200 nested brackets are among it: the tokenizer stops there, before anything could grow deep.)
"""

from __future__ import annotations

import ast

from kl_hooks.code.decoded import lines_of
from kl_hooks.code.digests import seal
from kl_hooks.code.frames import Frame, release
from kl_hooks.code.imports_found import seen_running, told
from kl_hooks.code.parse import LARGEST, VERSION, Facts, parsed, unread
from kl_hooks.code.symbols import decorators_of, symbol_rows
from kl_hooks.code.uses import outline_of, uses_of, words_of
from kl_hooks.code.walk import walk

__all__ = ["LARGEST", "VERSION", "Facts", "scan_python", "unread"]


def scan_python(content: bytes, path: str, module: str) -> Facts:
    """The facts of one Python file. `module` stands at the head of every Id. Never raises for bad source."""
    return parsed(content, lambda tree: _facts(tree, lines_of(content), module))


def _facts(tree: ast.Module, lines: list[bytes], module: str) -> Facts:
    frames = walk(tree)
    try:
        return _told(frames, lines, module)
    finally:
        release(frames)


def _told(frames: list[Frame], lines: list[bytes], module: str) -> Facts:
    seal(frames)
    symbols, words = symbol_rows(frames, lines, module)
    places = {row[0]: place for place, row in enumerate(symbols)}
    uses, outline = uses_of(frames, places), outline_of(frames, places)
    imports = told([row for frame in frames for row in frame.imports], lines)
    if any(row[4] == "type-checking import" for row in imports) and _checked_always(frames):
        imports = seen_running(imports)
    return {
        "error": "", "symbols": symbols, "words": words, "imports": imports,
        "decorators": decorators_of(frames, lines, places), "uses": uses, "outline": outline,
        "names": words_of(imports, uses, outline),
    }  # fmt: skip


def _checked_always(frames: list[Frame]) -> bool:
    """True where a file makes a `TYPE_CHECKING` of its own that may be true: what stands under it is imported then."""
    return any(_binds_it(frame) for frame in frames)


def _binds_it(frame: Frame) -> bool:
    if "TYPE_CHECKING" in frame.stores:
        return frame.kind != "field" or not _false(frame.node.value)
    if frame.kind in ("class", "function") and "TYPE_CHECKING" in frame.names:
        return True
    return any(name == "TYPE_CHECKING" and not source.endswith(":TYPE_CHECKING") for name, source in frame.binds)


def _false(value: ast.expr | None) -> bool:
    """True for nothing, `False`, `0`, and another `TYPE_CHECKING`."""
    if isinstance(value, ast.Attribute):
        return value.attr == "TYPE_CHECKING"
    return value is None or (isinstance(value, ast.Constant) and value.value in (False, 0))
