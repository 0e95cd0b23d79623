"""Actors: which coding agent runs this process, by its environment. A name, not a proof (SECURITY.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

AGENTS: Final = (
    ("CLAUDECODE", "claude-code"),
    ("CODEX_SANDBOX", "codex"),
    ("GEMINI_CLI", "gemini-cli"),
    ("CURSOR_AGENT", "cursor"),
    ("AIDER_MODEL", "aider"),
)


def agent(environ: Mapping[str, str]) -> str | None:
    """Return the coding agent whose environment this is, `KL_AGENT` first; None: none that is known."""
    if named := environ.get("KL_AGENT"):
        return named[:80]
    return next((name for variable, name in AGENTS if environ.get(variable)), None)
