"""Actors: which coding agent runs this process, and for which trace, by its environment. No proof
(SECURITY.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kl_hooks.model.definitions import lazy_pattern

AGENTS: Final = (
    ("CLAUDECODE", "claude-code"),
    ("CODEX_SANDBOX", "codex"),
    ("GEMINI_CLI", "gemini-cli"),
    ("CURSOR_AGENT", "cursor"),
    ("AIDER_MODEL", "aider"),
)
"""Environment variable that an agent sets → its name."""
INSTRUCTION_PAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "claude-code": ("CLAUDE.md",),
    "codex": ("AGENTS.md",),
    "gemini-cli": ("GEMINI.md",),
    "cursor": ("AGENTS.md",),
}
"""Agent → the documents that it reads by itself: records seeded from them would be there twice.
"""


def agent(environ: Mapping[str, str]) -> str | None:
    """Return the coding agent whose environment this is, `KL_AGENT` first; None: none that is
    known.
    """
    if named := environ.get("KL_AGENT"):
        return named[:80]
    return next((name for variable, name in AGENTS if environ.get(variable)), None)


_TRACEPARENT: Final = lazy_pattern(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


def trace_id(environ: Mapping[str, str]) -> str:
    """Return the caller's trace ID (W3C `TRACEPARENT`), if there is one."""
    match = _TRACEPARENT.fullmatch(environ.get("TRACEPARENT", ""))
    if not match:
        return ""
    return match[1]
