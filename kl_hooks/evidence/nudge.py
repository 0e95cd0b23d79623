"""Notes that a commit was made: one line in the spool, as the native post-commit git hook does without Python."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kl_hooks.workspace import open_workspace


def note_commit(start: Path, environ: Mapping[str, str]) -> bool:
    """Appends `commit` to the spool's list; True if there is a `.kl/` here and it could be written."""
    from kl_hooks.store.state import prepare_state

    ws = open_workspace(start, environ=environ)
    if not ws.initialised:
        return False
    prepare_state(ws.state)
    with (ws.state.spool / "commits").open("a", encoding="ascii") as file:
        file.write("commit\n")
    return True
