"""What a failed report says, in one line: message, path and line; redacted, harmless, short."""

from __future__ import annotations

from typing import Any

from kl_hooks.model.text import one_line
from kl_hooks.store.redaction import redact

LIMIT = 300
"""Characters of a message that are kept."""
LOOKED_AT = 8000
"""Characters of it that are looked at: redaction comes before cutting, lest half a secret pass as none."""


def detail_of(longrepr: object, root: str) -> dict[str, Any]:
    """`{"message", "path", "line"}` of what pytest calls longrepr; without path and line where it has none.

    Paths below `root` (which ends in `/`) are given from there. Never raises: the text comes from the tests, and a
    `__repr__` of theirs that fails is theirs to mend.
    """
    try:
        return _detail(longrepr, root)
    except Exception as problem:
        return {"message": f"the failure has no readable text ({type(problem).__name__})"}


def _detail(longrepr: object, root: str) -> dict[str, Any]:
    crash = getattr(longrepr, "reprcrash", None)
    if crash is None:
        return {"message": short(_text(longrepr))}
    path = str(crash.path).replace("\\", "/").removeprefix(root)
    found: dict[str, Any] = {"message": short(str(crash.message)), "path": redact(path)}
    if isinstance(crash.lineno, int):
        found["line"] = crash.lineno
    return found


def _text(longrepr: object) -> str:
    """The text of a collection error, of a fixture that was not found, or of a plain string; the end of a long one."""
    text = getattr(longrepr, "longrepr", None) or getattr(longrepr, "errorstring", None) or longrepr
    lines = [line for line in str(text or "").strip().splitlines() if line.strip()]
    errors = [line[1:] for line in lines if line.startswith("E ")]
    return "\n".join(errors or lines[-3:])


def short(text: str) -> str:
    """The redacted text on one line, at most 300 characters."""
    return one_line(redact(text[:LOOKED_AT]), LIMIT)
