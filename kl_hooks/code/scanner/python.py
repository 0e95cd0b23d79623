"""The scanner for Python: one file's bytes in, facts out, with the standard library's `ast`.

Facts are plain JSON:
    {"error": "" or "line:column: reason",
     "symbols": [[id, line, end_line, signature, doc, content_hash], …], "words": [the identifiers
     in the code of each symbol that "text" has nothing of, one text per symbol], "imports":
     [[module, name, level, line, how, statement], …], "decorators": {position of a symbol: [its
     decorators as written, one line each]}, "uses", "outline": what the file uses, and what others
     need to know of it; see `scanner.references`, "names": every identifier in these, between
     spaces, "text": the words of the source by symbol and field; see `scanner.symbols.source_words`}
What CPython's own parser refuses is refused, with its words; nothing else is, save what is larger
than `LARGEST`. (More than 200 nested brackets are among it: the tokenizer stops there, before
anything could grow deep.)

CPython's parser was tried with nests and chains of every kind, up to 100,000 deep, on CPython 3.11,
3.12 and 3.13: it answers with an error and never ends the process, given a stack of 1 MiB or more.
It has one weakness: the memory that it takes for a dotted name in an import grows with the square
of the name's parts, so that 200 KB of source take 10 GB. No real name has more than `PARTS`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.code.scanner.expressions import decode
from kl_hooks.code.scanner.parser import (
    LARGEST,
    Facts,
    lines_of,
    parse_facts,
    too_large_facts,
    unreadable_facts,
)
from kl_hooks.model.definitions import lazy_pattern

if TYPE_CHECKING:
    from kl_hooks.code.scanner.visitor import Frame


PARTS: Final = 200
"""The most parts that a dotted name in an import may have."""
_SMALL: Final = 8_192
"""Bytes: a shorter file can't hold a name that hurts."""
_LFS: Final = b"version https://git-lfs.github.com/spec/"
_GAP: Final = rb"(?:[ \t\f]|\\\r?\n|\\\r)*"
_DOTS: Final = b"." * PARTS
_NAMES_AND_GAPS: Final = bytes(
    byte for byte in range(256) if byte > 127 or chr(byte).isalnum() or byte in b"_ \t\f\r\n\\"
)
_RUN: Final = lazy_pattern(
    rb"(?:\." + _GAP + rb"[^\s.,;:()\[\]{}'\"\\#=]+" + _GAP + rb"){%d}" % PARTS
)
_IMPORT: Final = lazy_pattern(rb"\b(?:import|from)\b[^;\r\n#]*$")
# PEP 695; 696; 750 (t-strings) and 758 (except without brackets); 810 (lazy imports)
_NEWER: Final = (
    ((3, 12), r"\s*type\s+\w+\s*(\[.*\])?\s*=|\s*(async\s+def|def|class)\s+\w+\s*\["),
    ((3, 13), r"\s*(type|(async\s+def|def|class))\s+\w+\s*\[[^\]]*="),
    ((3, 14), r"(?i).*\b(t|rt|tr)['\"]|\s*except\*?\s+[\w.]+\s*,[^:]*:"),
    ((3, 15), r"\s*lazy\s+(import|from)\b"),
)
"""(the first Python that has it, how a line looks that uses it)"""


def scan_guarded(content: bytes, path: str, module: str) -> Facts:
    """The facts of one Python file, as `scan_python` gives them; whatever happens there costs
    this file only.
    """

    return _guarded(content, lambda: scan_python(content, path, module))


def imports_guarded(content: bytes, path: str) -> Facts:
    """`error` and `imports` of these facts, in half the time; the rest may be missing."""
    from kl_hooks.code.scanner.imports import scan_imports

    return _guarded(content, lambda: scan_imports(content) or scan_python(content, path, "_"))


def _guarded(content: bytes, scan: Callable[[], Facts]) -> Facts:
    if content.startswith(_LFS):
        return unreadable_facts("0:0: it is a Git LFS pointer, its content is not here")
    if (
        len(content) > LARGEST
    ):  # first of all: looking for endless names in 32 MB of data takes seconds
        return too_large_facts()
    line = _endless_name(content)
    if line:
        return unreadable_facts(
            f"{line}:0: it imports a name of more than {PARTS} parts, so it was not read"
        )
    try:
        facts = scan()
    except (
        LookupError,
        ValueError,
        ArithmeticError,
        AttributeError,
        TypeError,
        RecursionError,
        MemoryError,
    ) as problem:
        return unreadable_facts(
            f"0:0: our reader could not cope with it ({type(problem).__name__}: {problem})"
        )
    if facts["error"]:
        facts["error"] += _maybe_newer(content, facts["error"])
    return facts


def _endless_name(content: bytes) -> int:
    """The line of an import of too long a dotted name, or 0."""
    # without names and gaps, which translate() removes in C, only such a name leaves that many dots
    # in a row
    if len(content) < _SMALL or _DOTS not in content.translate(None, _NAMES_AND_GAPS):
        return 0
    for run in _RUN.finditer(content):
        start = content.rfind(b"\n", 0, run.start()) + 1
        # a backslash at its end joins a line to the next one: `import` may be lines above
        while start > 1 and content[:start].rstrip(b"\r\n").endswith(b"\\"):
            start = content.rfind(b"\n", 0, start - 1) + 1
        if _IMPORT.search(
            content[start : run.start()].replace(b"\\\r\n", b" ").replace(b"\\\n", b" ")
        ):
            return content.count(b"\n", 0, run.start()) + 1
    return 0


def _maybe_newer(content: bytes, error: str) -> str:
    """What to add to an error if the line looks like syntax that this Python does not have yet."""
    number, _, reason = error.split(":", 2)
    lines = lines_of(content) if number != "0" else []
    if int(number) <= len(lines) and lines:
        line = lines[int(number) - 1].decode("utf-8", "replace")
    else:
        line = ""
    since = next(
        (
            first
            for first, looks in _NEWER
            if first > sys.version_info[:2] and re.match(looks, line)
        ),
        None,
    )
    # since PEP 701 (Python 3.12) an f-string may hold its own quotes, backslashes and comments
    if since is None and sys.version_info < (3, 12) and reason.strip().startswith("f-string:"):
        since = (3, 12)
    if not since:
        return ""
    return f"; it may be newer than Python {sys.version_info[0]}.{sys.version_info[1]}"


def scan_python(content: bytes, path: str, module: str) -> Facts:
    """The facts of one Python file. `module` is at the head of every Id. Never raises for bad
    source.
    """
    from kl_hooks.code.scanner.visitor import release, walk

    def facts(tree: ast.Module) -> Facts:
        frames = walk(tree)
        try:
            return _facts_of_frames(frames, lines_of(content), module)
        finally:
            release(frames)

    return parse_facts(content, facts)


def _facts_of_frames(frames: list[Frame], lines: list[bytes], module: str) -> Facts:
    from kl_hooks.code.scanner.imports import with_statements
    from kl_hooks.code.scanner.references import outline_of, uses_of, words_of
    from kl_hooks.code.scanner.symbols import decorators_of, set_digests, source_words, symbol_rows

    set_digests(frames)
    symbols, words = symbol_rows(frames, lines, module)
    places = {row[0]: place for place, row in enumerate(symbols)}
    uses = uses_of(frames, places)
    outline = outline_of(frames, places)
    imports = with_statements([row for frame in frames for row in frame.imports], lines)
    if any(row[4] == "type-checking import" for row in imports) and _checked_always(frames):
        imports = _as_runtime_imports(imports)
    return {
        "error": "",
        "symbols": symbols,
        "words": words,
        "imports": imports,
        "decorators": decorators_of(frames, lines, places),
        "uses": uses,
        "outline": outline,
        "names": words_of(imports, uses, outline),
        "text": source_words(frames, lines, places),
    }


def _as_runtime_imports(rows: list[list[Any]]) -> list[list[Any]]:
    """The rows of a file whose `TYPE_CHECKING` is its own and may be true: what is under it is
    imported then.
    """
    return [[*row[:4], row[4].replace("type-checking import", "import"), *row[5:]] for row in rows]


def _checked_always(frames: list[Frame]) -> bool:
    """True where a file makes a `TYPE_CHECKING` of its own that may be true: what is under it is
    imported then.
    """
    return any(_binds_it(frame) for frame in frames)


def _binds_it(frame: Frame) -> bool:
    if "TYPE_CHECKING" in frame.stores:
        return frame.kind != "field" or not _false(frame.node.value)
    if frame.kind in ("class", "function") and "TYPE_CHECKING" in frame.names:
        return True
    return any(
        name == "TYPE_CHECKING" and decode(source).path != "TYPE_CHECKING"
        for name, source in frame.binds
    )


def _false(value: ast.expr | None) -> bool:
    """True for nothing, `False`, `0`, and another `TYPE_CHECKING`."""
    if isinstance(value, ast.Attribute):
        return value.attr == "TYPE_CHECKING"
    return value is None or (isinstance(value, ast.Constant) and value.value in (False, 0))
