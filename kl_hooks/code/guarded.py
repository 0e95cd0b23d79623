"""The scanner for Python as the program uses it: `scan`, with everything kept away from it that could do harm.

CPython's parser was tried with nests and chains of every kind, up to 100,000 deep, on CPython 3.11, 3.12 and 3.13: it
answers with an error and never ends the process, given a stack of 1 MiB or more. One thing it can't stand: the memory
that it takes for a dotted name in an import grows with the square of the name's parts, so that 200 KB of source take
10 GB. No real name has more than `PARTS`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Final

from kl_hooks.code import parse
from kl_hooks.code.parse import LARGEST, Facts, too_large, unread

VERSION: Final = f"{parse.VERSION}+3"
"""Part of the key of remembered facts, as `parse.VERSION`: raised when this file would give other facts, or their
links would differ."""
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
_RUN: Final = rb"(?:\." + _GAP + rb"[^\s.,;:()\[\]{}'\"\\#=]+" + _GAP + rb"){%d}" % PARTS
_IMPORT: Final = rb"\b(?:import|from)\b[^;\r\n#]*$"
_NEWER: Final = (
    ((3, 12), r"\s*type\s+\w+\s*(\[.*\])?\s*=|\s*(async\s+def|def|class)\s+\w+\s*\["),
    ((3, 13), r"\s*(type|(async\s+def|def|class))\s+\w+\s*\[[^\]]*="),
    ((3, 14), r"(?i).*\b(t|rt|tr)['\"]|\s*except\*?\s+[\w.]+\s*,[^:]*:"),
    ((3, 15), r"\s*lazy\s+(import|from)\b"),
)
"""(the first Python that has it, how a line looks that uses it)"""


def scan_guarded(content: bytes, path: str, module: str) -> Facts:
    """The facts of one Python file, as `scan.scan_python` gives them; whatever happens there costs this file only."""
    from kl_hooks.code.scan import scan_python

    return _guarded(content, lambda: scan_python(content, path, module))


def imports_guarded(content: bytes, path: str) -> Facts:
    """`error` and `imports` of these facts, in half the time; the rest may be missing."""
    from kl_hooks.code.imports_only import scan_imports

    return _guarded(content, lambda: scan_imports(content, path))


def _guarded(content: bytes, scan: Callable[[], Facts]) -> Facts:
    if content.startswith(_LFS):
        return unread("0:0: it is a Git LFS pointer, its content is not here")
    if len(content) > LARGEST:  # first of all: looking for endless names in 32 MB of data takes seconds
        return too_large()
    line = _endless_name(content)
    if line:
        return unread(f"{line}:0: it imports a name of more than {PARTS} parts, so it was not read")
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
        return unread(f"0:0: our reader could not cope with it ({type(problem).__name__}: {problem})")
    if facts["error"]:
        facts["error"] += _maybe_newer(content, facts["error"])
    return facts


def _endless_name(content: bytes) -> int:
    """The line of an import of too long a dotted name, or 0."""
    if len(content) < _SMALL or _DOTS not in content.translate(None, _NAMES_AND_GAPS):
        return 0
    for run in re.finditer(_RUN, content):
        start = content.rfind(b"\n", 0, run.start()) + 1
        while start > 1 and content[:start].rstrip(b"\r\n").endswith(b"\\"):
            start = content.rfind(b"\n", 0, start - 1) + 1
        if re.search(_IMPORT, content[start : run.start()].replace(b"\\\r\n", b" ").replace(b"\\\n", b" ")):
            return content.count(b"\n", 0, run.start()) + 1
    return 0


def _maybe_newer(content: bytes, error: str) -> str:
    """What to add to an error if the line looks like syntax that this Python does not have yet."""
    number, _, reason = error.split(":", 2)
    lines = content.decode("utf-8", "replace").splitlines() if number != "0" else []
    line = lines[int(number) - 1] if int(number) <= len(lines) and lines else ""
    since = next((first for first, looks in _NEWER if first > sys.version_info[:2] and re.match(looks, line)), None)
    if since is None and sys.version_info < (3, 12) and reason.strip().startswith("f-string:"):
        since = (3, 12)
    return f"; it may be newer than Python {sys.version_info[0]}.{sys.version_info[1]}" if since else ""
