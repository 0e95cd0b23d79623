"""Ids: stable addresses of things, `namespace:` and the name of the thing there. Never a line number."""

from __future__ import annotations

import re
from typing import Final

PREFIXES: Final = (
    "file", "namespace", "type", "interface", "method", "function", "property", "field", "test",
    "commit", "tree", "layer", "adr", "command", "check", "violation",
)  # fmt: skip
"""What can stand before the colon. `command:` is a command line, `check:` a validator of ours."""

RECORD_ID: Final = re.compile(
    r"[A-Z][A-Z0-9]{1,9}-(?:[0-9]{4,9}(?![0-9])|[0-9a-f]{8,16}(?![0-9a-z])"
    r"|[A-Za-z][A-Za-z0-9]{0,39}(?:-[A-Za-z0-9]{1,40}){0,3}?-[0-9]{1,9})"
)
"""`ADR-0007`, `MEM-3f9a1c2b`, `FEAT-AUTH-12`, `TURN-FEAT-AUTH-12-3`."""
_HEX: Final = re.compile(r"[0-9a-f]{4,64}")


def make(prefix: str, name: str) -> str:
    """`make("test", "tests/test_a.py::test_b")` → `test:tests/test_a.py::test_b`. ValueError for an unknown prefix."""
    if prefix not in PREFIXES:
        raise ValueError(f"no such sort of id: {prefix!r}")
    return f"{prefix}:{name}"


def split(identifier: str) -> tuple[str, str]:
    """The prefix and the name; the prefix of a record id (`ADR-0007`) or of plain text is empty."""
    prefix, colon, name = identifier.partition(":")
    return (prefix, name) if colon and prefix in PREFIXES else ("", identifier)


def is_hex(text: str) -> bool:
    """True for 4 to 64 lower-case hexadecimal ASCII digits: a hash or the beginning of one."""
    return _HEX.fullmatch(text) is not None
