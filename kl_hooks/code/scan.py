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
import warnings
from typing import Any, Final

from kl_hooks.code.decoded import lines_of
from kl_hooks.code.digests import seal
from kl_hooks.code.frames import Frame
from kl_hooks.code.signature import statement
from kl_hooks.code.symbols import decorators_of, symbol_rows
from kl_hooks.code.uses import outline_of, uses_of, words_of
from kl_hooks.code.walk import walk

VERSION: Final = "python-ast/8"
"""Part of the key of remembered facts: raised whenever the same bytes would give other facts."""
LARGEST: Final = 1_000_000
"""Bytes. What is larger was made by a machine, for a machine."""

Facts = dict[str, Any]


def scan_python(content: bytes, path: str, module: str) -> Facts:
    """The facts of one Python file. `module` stands at the head of every Id. Never raises for bad source."""
    if len(content) > LARGEST:
        return unread(f"0:0: larger than {LARGEST:,} bytes, so it was not read")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in somebody's string is not our reader's business
            tree = ast.parse(content)
        return _facts(tree, lines_of(content), module)
    except SyntaxError as problem:
        return unread(f"{problem.lineno or 0}:{max(problem.offset or 0, 0)}: {problem.msg}")
    except RecursionError:
        return unread("0:0: nested too deeply for Python's parser")
    except MemoryError:
        return unread("0:0: nested too deeply, or too large, for Python's parser")
    except ValueError as problem:  # NUL bytes on some Pythons, numbers with thousands of digits
        return unread(f"0:0: {problem}")


def unread(error: str) -> Facts:
    """The facts of a file that could not be read: `error` is "line:column: reason", 0:0 for the file as a whole."""
    none: dict[str, Any] = {"defs": {}, "names": {}, "bases": {}, "types": {}, "stars": [], "all": None}
    empty: Facts = {
        "symbols": [],
        "words": [],
        "imports": [],
        "decorators": {},
        "uses": {},
        "outline": none,
        "names": "",
    }
    return {"error": " ".join(error.split()), **empty}


def _facts(tree: ast.Module, lines: list[bytes], module: str) -> Facts:
    frames = walk(tree)
    seal(frames)
    symbols, words = symbol_rows(frames, lines, module)
    places = {row[0]: place for place, row in enumerate(symbols)}
    uses, outline = uses_of(frames, places), outline_of(frames, places)
    imports = _imports(frames, lines)
    if any(row[4] == "type-checking import" for row in imports) and _checked_always(frames):
        imports = [[*row[:4], row[4].replace("type-checking import", "import"), row[5]] for row in imports]
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


def _imports(frames: list[Frame], lines: list[bytes]) -> list[list[Any]]:
    rows = [row for frame in frames for row in frame.imports]
    rows.sort(key=lambda row: (row[3], row[5], row[0], row[1]))
    for row in rows:
        column, end_line, end_column = row[5]
        row[5] = _statement(row, lines, column, end_line, end_column)
    return rows


def _statement(row: list[Any], lines: list[bytes], column: int, end_line: int, end_column: int) -> str:
    """The import as written where it stands on one line; of a longer one only what concerns this name."""
    module, name, level, line, how, _ = row
    if line == end_line or how == "dynamic import":
        return statement(lines, line, column, end_line, end_column)
    source = "." * level + module
    return f"from {source} import {name}" if name else f"import {source}"
