"""Where pages are: authored files, and the Markdown and reStructuredText of the repository's own docs folder."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kl_hooks.model.manifest import MANIFEST
from kl_hooks.records.files import authored

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace

DOCS: Final = "docs"
ENDINGS: Final = (".md", ".rst")
MOST: Final = 5_000
"""Pages of docs that are looked at."""
_RACY: Final = 2_000_000_000


def docs_folder(ws: Workspace) -> str:
    """The folder of pages, from the root, with `/` at its end; empty where there is none."""
    name = ws.settings.docs or DOCS
    place = ws.root / name
    here = place.is_dir() and place.resolve().is_relative_to(ws.root.resolve())
    return f"{name}/" if here else ""


def docs(ws: Workspace) -> dict[str, str]:
    """Path → stamp of every page of docs, by name; the stamp is empty where the file is too young to be sure."""
    place = docs_folder(ws)
    return dict(_listed(ws.root, place, ws.clock.now() * 1000 - _RACY)) if place else {}


def written(ws: Workspace) -> list[str]:
    """Every text that may name a record: authored files, pages of docs, the manifest."""
    found = [*authored(ws.root, ws.kinds, 0), *docs(ws)]
    return sorted({*found, *([MANIFEST] if (ws.root / MANIFEST).is_file() else [])})


def _listed(root: Path, place: str, old: int) -> Iterator[tuple[str, str]]:
    count = 0
    for below, folders, files in os.walk(root / place):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.endswith(ENDINGS) and count < MOST:
                try:
                    state = os.lstat(os.path.join(below, name))  # noqa: PTH118 (half the time of Path)
                except OSError:
                    continue
                if stat.S_ISREG(state.st_mode):
                    count += 1
                    path = Path(below).relative_to(root).as_posix() + "/" + name
                    sure = state.st_mtime_ns < old and state.st_ctime_ns < old
                    stamp = f"{state.st_size}:{state.st_mtime_ns}:{state.st_ctime_ns}:{state.st_ino}" if sure else ""
                    yield os.fsencode(path).decode("utf-8", "replace"), stamp
