"""The fast scanner for Python: one file's bytes in, facts out, with the standard library's `ast`.

Facts are plain JSON:
    {"error": "" or "line:column: reason",
     "symbols": [[id, line, end_line, signature, doc, content_hash], …],
     "words": [the identifiers in the code of each symbol, one text per symbol],
     "imports": [[module, name, level, line, how, statement], …]}
What CPython's own parser refuses is refused, with its words; nothing else is, save what is larger than `LARGEST`.
(More than 200 nested brackets are among it: the tokenizer stops there, before anything could grow deep.)
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any, Final

from kl_hooks.code.digests import seal
from kl_hooks.code.frames import Frame
from kl_hooks.code.signature import statement
from kl_hooks.code.symbols import symbol_rows
from kl_hooks.code.walk import walk

VERSION: Final = "python-ast/2"
"""Part of the key of remembered facts: raised whenever the same bytes would give other facts."""
LARGEST: Final = 1_000_000
"""Bytes. What is larger was made by a machine, for a machine."""
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII)
_BOM: Final = b"\xef\xbb\xbf"

Facts = dict[str, Any]


def scan_python(content: bytes, path: str, module: str) -> Facts:
    """The facts of one Python file. `module` stands at the head of every Id. Never raises for bad source."""
    if len(content) > LARGEST:
        return unread(f"0:0: larger than {LARGEST:,} bytes, so it was not read")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in somebody's string is not our reader's business
            tree = ast.parse(content)
        return _facts(tree, _lines(content), module)
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
    return {"error": " ".join(error.split()), "symbols": [], "words": [], "imports": []}


def _lines(content: bytes) -> list[bytes]:
    """The lines as the parser counts them, in UTF-8, so that its columns (bytes of UTF-8) fit."""
    if content.startswith(_BOM):
        return content[len(_BOM) :].splitlines()
    for line in content[:1000].splitlines()[:2]:
        cookie = _COOKIE.match(line)
        if cookie is not None:
            name = cookie[1].decode("ascii", "replace").lower().replace("_", "-")
            if name not in ("utf-8", "utf8") and not name.startswith("utf-8-"):
                return content.decode(name, "replace").encode("utf-8", "replace").splitlines()
            break
        if line.strip() and not line.lstrip().startswith(b"#"):
            break
    return content.splitlines()


def _facts(tree: ast.Module, lines: list[bytes], module: str) -> Facts:
    frames = walk(tree)
    seal(frames)
    symbols, words = symbol_rows(frames, lines, module)
    return {"error": "", "symbols": symbols, "words": words, "imports": _imports(frames, lines)}


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
