"""Authored files on disk: which there are, whether one may have changed, and its content. Nothing is followed out."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kl_hooks.model.kind import Kind
from kl_hooks.model.slug import slug

KNOWLEDGE: Final = ".kl/knowledge/"
_GENERATED: Final = ("README.md", "MEMORY.md")
_RACY: Final = 2_000_000_000
"""Nanoseconds in which a file can change again without a new time: one as young as that is read again."""


def folder(kind: Kind) -> str:
    """`.kl/knowledge/decisions/`."""
    return f"{KNOWLEDGE}{kind.plural}/"


def path_of(kind: Kind, identifier: str, title: str) -> str:
    """Where a new file of a record goes: `.kl/knowledge/decisions/ADR-0007-two-scanners.md`."""
    end = slug(title)
    return f"{folder(kind)}{identifier}{'-' if end else ''}{end}.md"


def authored(root: Path, kinds: Mapping[str, Kind], now_ns: int) -> dict[str, str]:
    """Path → stamp of every Markdown file in the folders of these kinds and in their `archive/`. No links.

    Equal stamps: the same content. The stamp is empty where that is not sure yet.
    """
    found: dict[str, str] = {}
    for kind in kinds.values():
        if kind.home == "file" or kind.filed:
            for place in (folder(kind), folder(kind) + "archive/"):
                _list(root, place, now_ns, found)
    return found


def _list(root: Path, place: str, now_ns: int, found: dict[str, str]) -> None:
    try:
        entries = os.scandir(root / place)
    except (FileNotFoundError, NotADirectoryError):
        return
    old, regular = now_ns - _RACY, stat.S_ISREG
    with entries:
        for entry in entries:
            name = entry.name
            if name.endswith(".md") and name not in _GENERATED:
                state = entry.stat(follow_symlinks=False)
                if regular(state.st_mode):
                    path = place + (name if name.isascii() else os.fsencode(name).decode("utf-8", "replace"))
                    made, changed = state.st_mtime_ns, state.st_ctime_ns
                    sure = made < old and changed < old
                    found[path] = f"{state.st_size}:{made}:{changed}:{state.st_ino}" if sure else ""


def is_on_disk(root: Path, kind: Kind, identifier: str) -> bool:
    """True if a file of this ID, whatever its slug, is in the folder of the kind or in its archive."""
    for place in (folder(kind), folder(kind) + "archive/"):
        try:
            names = [path.name for path in (root / place).iterdir() if not path.is_dir()]
        except (FileNotFoundError, NotADirectoryError):
            continue
        if any(name.startswith((f"{identifier}.", f"{identifier}-")) and name.endswith(".md") for name in names):
            return True
    return False


def kind_of(path: str, kinds: Mapping[str, Kind]) -> Kind | None:
    """The kind whose folder, or archive, the file lies in; None for every other file."""
    place = path.rpartition("/")[0] + "/"
    return next((kind for kind in kinds.values() if place in (folder(kind), folder(kind) + "archive/")), None)
