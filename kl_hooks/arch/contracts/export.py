"""Writes the judged content of some folders to a private folder of the cache, for tools that read files.

An export is named by what it holds, so the same content is written once; what did not change since the last one is
linked, not read. A few are kept, the ones used last.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from kl_hooks.arch.source import Content
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.git.files import Entry
from kl_hooks.model.canonical import digest

KEPT: Final = 4
"""Exports."""
_LIST: Final = "files.json"
_TREE: Final = "tree"


def name_of(entries: Sequence[Entry]) -> str:
    """The name of the export of these files."""
    return digest("export/1", sorted([one.path, one.blob] for one in entries))[:32]


def export(cache: Path, content: Content, entries: Sequence[Entry]) -> tuple[Path, list[str]]:
    """The folder with these files in it, and the paths of those whose content can't be had.

    EnvironmentProblem where it can't be written.
    """
    home = cache / "exports"
    place = home / name_of(entries)
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not (place / _LIST).is_file():
            _write(home, place, content, entries)
        os.utime(place)
        _tidy(home, place)
        held = json.loads((place / _LIST).read_bytes())
    except (OSError, ValueError) as error:
        raise EnvironmentProblem(f"can't hold a copy of the source: {error}.", place=str(home)) from error
    return place / _TREE, [one.path for one in entries if one.path not in held]


def _write(home: Path, place: Path, content: Content, entries: Sequence[Entry]) -> None:
    """Makes the export beside its place and moves it there; of two that do so at once one wins."""
    made = Path(tempfile.mkdtemp(prefix="new-", dir=home))
    try:
        held = _fill(made / _TREE, _older(home), content, [one for one in entries if _harmless(one.path)])
        (made / _LIST).write_text(json.dumps(held), encoding="utf-8")
        with contextlib.suppress(OSError):  # somebody else was faster
            made.rename(place)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _fill(tree: Path, older: tuple[Path, dict[str, str]], content: Content, entries: Sequence[Entry]) -> dict[str, str]:
    """Writes or links every file; path → blob id of those that are there now."""
    held: dict[str, str] = {}
    left = []
    tree.mkdir(mode=0o700)
    for entry in entries:
        target = tree / entry.path
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if older[1].get(entry.path) == entry.blob and _linked(older[0] / entry.path, target):
            held[entry.path] = entry.blob
        else:
            left.append(entry)
    for entry, text in content.read(left):
        (tree / entry.path).write_bytes(text)
        held[entry.path] = entry.blob
    return held


def _older(home: Path) -> tuple[Path, dict[str, str]]:
    """The export used last, with what it holds."""
    for place in _by_age(home):
        with contextlib.suppress(OSError, ValueError):
            held = json.loads((place / _LIST).read_bytes())
            if isinstance(held, dict):
                return place / _TREE, held
    return home, {}


def _linked(source: Path, target: Path) -> bool:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        return False
    return True


def _harmless(path: str) -> bool:
    """False for a path that leads elsewhere; git refuses to make such a tree, but not to list one."""
    return not path.startswith("/") and ".." not in PurePosixPath(path).parts and "\0" not in path


def _tidy(home: Path, current: Path) -> None:
    for place in _by_age(home)[KEPT:]:
        if place != current:
            shutil.rmtree(place, ignore_errors=True)


def _by_age(home: Path) -> list[Path]:
    """The exports, the one used last first."""
    found = []
    for place in home.iterdir():
        with contextlib.suppress(OSError):
            found.append((place.lstat().st_mtime_ns, place))
    return [place for _, place in sorted(found, reverse=True)]
