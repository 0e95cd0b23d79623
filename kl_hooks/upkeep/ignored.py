"""Ephemeral files of the state directory: those that `.kl/.klignore` names, in the words of a .gitignore.

git itself reads the patterns, so the last one that fits counts and `!` takes back. They are matched from the state
directory. What holds evidence, records or archives is never deleted, whatever the file says.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kl_hooks.config.files import read_small
from kl_hooks.git.ignored import ignored
from kl_hooks.model.change import Change

if TYPE_CHECKING:
    from kl_hooks.model.lifecycle import Lifecycle
    from kl_hooks.workspace.open import Workspace

POLICY: Final = "ephemeral files"
FILE: Final = ".kl/.klignore"
PROTECTED: Final = (
    "kl.db*", "high-water", "store.lock", "spool/*", "backup/*", "*archive*", "README", ".gitignore", "init*",
    "maintain*", "events*", "seeded.json", "*.lock",
)  # fmt: skip
"""Paths from the state directory that stay: evidence, records, what waits to be taken in, copies, archives, events."""


def look(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Files in the state directory that are named there and hold nothing but what can be had again."""
    text = read_small(ws.root / FILE, within=ws.root)
    if not text or not ws.state.directory.is_dir():
        return []
    return [Change("remove", path, POLICY, f"named in {FILE}", "kept") for path in _named(ws, text)]


def _named(ws: Workspace, text: bytes) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="kl-ignored-") as folder:
        return [path for path in ignored(ws.state.directory, text, Path(folder)) if not protected(path)]


def protected(path: str) -> bool:
    """True for a path, from the state directory, that upkeep never deletes by name. Pure."""
    return any(fnmatchcase(path, pattern) for pattern in PROTECTED)


def apply(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Deletes these files; a link is deleted, not what it leads to."""
    root = ws.state.directory
    for one in changes:
        path = root / one.id
        if not protected(one.id) and path.parent.resolve().is_relative_to(root.resolve()):
            path.unlink(missing_ok=True)
