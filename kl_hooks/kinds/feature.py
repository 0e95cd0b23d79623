"""Features: the ones that a text names, the files that specify them, and the ones that belong
together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kl_hooks.model.definitions import lazy_pattern

if TYPE_CHECKING:
    pass

_FOLDERS: Final = ("docs/features", ".kl/knowledge/features", "features", ".guardkit/features")
"""Of specifications; the first that has one wins."""
# repetitions are bounded: hostile text costs its length times the bound, not the square of its
# length
_AREA: Final = r"[0-9]{0,40}[A-Z][A-Z0-9]{0,40}-"
_ID: Final = lazy_pattern(
    rf"(?<![A-Za-z0-9_-])FEAT-(?:(?:{_AREA}){{1,3}}?[0-9]{{1,9}}|[0-9]{{1,9}}(?:-[0-9]{{1,9}})?)(?![A-Za-z0-9_])",
    re.IGNORECASE | re.ASCII,
)
_SUFFIXES: Final = (".md", ".markdown", ".rst", ".txt", ".yaml", ".yml", ".json")
_MAX_FILES: Final = 20_000
"""A folder of specifications is never that large."""


def feature_ids(text: str) -> tuple[str, ...]:
    """Return the IDs of features in a text, in capitals, in its order, each once: `FEAT-AUTH-12`,
    `FEAT-0003`.
    """
    return tuple(dict.fromkeys(found[0].upper() for found in _ID.finditer(text)))


def related_features(feature: str, features: Iterable[str]) -> tuple[str, ...]:
    """Return those of `features` with the same prefix (`FEAT-AUTH-`), without the feature
    itself.
    """
    prefix = _prefix(feature)
    related = {other.upper() for other in features if prefix and _prefix(other) == prefix} - {
        feature.upper()
    }
    # by number: FEAT-A-9 before FEAT-A-10
    return tuple(sorted(related, key=lambda other: (int(other.rpartition("-")[2]), other)))


def _prefix(feature: str) -> str:
    """`FEAT-AUTH-` of `feat-auth-12`; empty for `FEAT-0003`."""
    # FEAT-0003 and FEAT-0004 share nothing but the counter
    if _ID.fullmatch(feature):
        prefix = feature.upper().rpartition("-")[0] + "-"
    else:
        prefix = ""
    if prefix == "FEAT-":
        return ""
    return prefix


def specification_files(root: Path) -> dict[str, str]:
    """Return feature ID → the path from `root` of its specification: a file whose name begins with
    it.
    """
    path_of_feature: dict[str, str] = {}
    for path in _files(root):
        name = path.rpartition("/")[2]
        if name.lower().endswith(_SUFFIXES):
            identifier = _ID.match(name)
        else:
            identifier = None
        if identifier:
            path_of_feature.setdefault(identifier[0].upper(), path)
    return path_of_feature


def _files(root: Path) -> Iterator[str]:
    """Paths of the files in the folders and their subfolders, folder by folder, sorted; no link is
    followed.
    """
    left = _MAX_FILES
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
