"""The detector: which features a text names, which files specify them, and which features belong together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

_FOLDERS: Final = ("docs/features", ".kl/knowledge/features", "features", ".guardkit/features")
"""Where specifications are looked for, the first that has one wins."""
_AREA: Final = r"[0-9]{0,40}[A-Z][A-Z0-9]{0,40}-"
_ID: Final = re.compile(
    rf"(?<![A-Za-z0-9_-])FEAT-(?:(?:{_AREA}){{1,3}}?[0-9]{{1,9}}|[0-9]{{1,9}}(?:-[0-9]{{1,9}})?)(?![A-Za-z0-9_])",
    re.IGNORECASE | re.ASCII,
)
_SPECS: Final = (".md", ".markdown", ".rst", ".txt", ".yaml", ".yml", ".json")
_MOST: Final = 20_000
"""Files that are looked at; a folder of specifications is never that large."""


def feature_ids(text: str) -> tuple[str, ...]:
    """The ids of features in a text, in capitals, in its order, each once: `FEAT-AUTH-12`, `FEAT-0003`."""
    return tuple(dict.fromkeys(found[0].upper() for found in _ID.finditer(text)))


def related_features(feature: str, known: Iterable[str]) -> tuple[str, ...]:
    """Those of `known` with the same prefix (`FEAT-AUTH-`), without the feature itself; none where it has no prefix."""
    prefix = _prefix(feature)
    if not prefix:
        return ()
    found = {one.upper() for one in known if _prefix(one) == prefix} - {feature.upper()}
    return tuple(sorted(found, key=lambda one: (int(one.rpartition("-")[2]), one)))


def _prefix(feature: str) -> str:
    """`FEAT-AUTH-` of `feat-auth-12`; empty for `FEAT-0003`, which stands alone."""
    found = _ID.fullmatch(feature)
    prefix = feature.upper().rpartition("-")[0] + "-" if found else ""
    return "" if prefix == "FEAT-" else prefix


def specification_files(root: Path) -> dict[str, str]:
    """Feature id → the path of its specification from `root`: a file whose name begins with it. No link is followed."""
    found: dict[str, str] = {}
    for path in _files(root):
        name = path.rpartition("/")[2]
        begins = _ID.match(name) if name.lower().endswith(_SPECS) else None
        if begins:
            found.setdefault(begins[0].upper(), path)
    return found


def _files(root: Path) -> Iterator[str]:
    """Paths of the files below the folders, folder by folder, sorted; at most `_MOST`."""
    left = _MOST
    for folder in _FOLDERS:
        top = root / folder
        if top.is_symlink() or not top.is_dir():
            continue
        todo = [top]
        while todo and left > 0:
            place = todo.pop(0)
            try:
                entries = sorted(place.iterdir())
            except OSError:
                continue
            for entry in entries[:left]:
                left -= 1
                if entry.is_dir() and not entry.is_symlink():
                    todo.append(entry)
                elif entry.is_file() and not entry.is_symlink():
                    yield entry.relative_to(root).as_posix()
