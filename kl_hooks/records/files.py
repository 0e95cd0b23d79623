"""Authored files on disk: which there are, whether one may have changed, and its content. Nothing is followed out."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kl_hooks.model.kind import Kind
from kl_hooks.model.slug import slug

KNOWLEDGE: Final = ".kl/knowledge/"
_RACY: Final = 2_000_000_000
"""Nanoseconds in which a file can change again without a new time: one as young as that is read again."""


@dataclass(frozen=True, slots=True)
class File:
    """An authored file as the folder lists it."""

    path: str
    kind: str
    archived: bool
    stamp: str
    """Equal stamps: the same content; it ends with `?` where that is not sure."""


def folder(kind: Kind) -> str:
    """`.kl/knowledge/decisions/`."""
    return f"{KNOWLEDGE}{kind.plural}/"


def path_of(kind: Kind, identifier: str, title: str) -> str:
    """Where a new file of a record goes: `.kl/knowledge/decisions/ADR-0007-two-scanners.md`."""
    end = slug(title)
    return f"{folder(kind)}{identifier}{'-' if end else ''}{end}.md"


def authored(root: Path, kinds: Mapping[str, Kind], now_ns: int) -> Iterator[File]:
    """Every Markdown file in the folders of these kinds and in their `archive/`, by kind and name. No links."""
    for kind in kinds.values():
        if kind.home == "file" or kind.filed:
            for place, archived in ((folder(kind), False), (folder(kind) + "archive/", True)):
                yield from sorted(_listed(root, place, kind.name, archived, now_ns), key=lambda file: file.path)


def _listed(root: Path, place: str, kind: str, archived: bool, now_ns: int) -> Iterable[File]:
    try:
        with os.scandir(root / place) as entries:
            for entry in entries:
                if entry.name.endswith(".md") and entry.name not in ("README.md", "MEMORY.md"):
                    state = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(state.st_mode):
                        yield File(f"{place}{os.fsencode(entry.name).decode('utf-8', 'replace')}", kind, archived,
                                   _stamp(state, now_ns))  # fmt: skip
    except (FileNotFoundError, NotADirectoryError):
        return


def _stamp(state: os.stat_result, now_ns: int) -> str:
    newest = max(state.st_mtime_ns, state.st_ctime_ns)
    sure = "" if newest + _RACY < now_ns else "?"
    return f"{state.st_size}:{state.st_mtime_ns}:{state.st_ctime_ns}:{state.st_ino}{sure}"


def kind_of(path: str, kinds: Mapping[str, Kind]) -> Kind | None:
    """The kind whose folder, or archive, the file lies in; None for every other file."""
    place = path.rpartition("/")[0] + "/"
    return next((kind for kind in kinds.values() if place in (folder(kind), folder(kind) + "archive/")), None)
