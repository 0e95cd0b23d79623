"""Records of kinds that nothing describes today: no question gives them, and they are counted so that this is said."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from kl_hooks.records.files import KNOWLEDGE, folder

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace

_RECORD: Final = re.compile(r"[A-Z][A-Z0-9]{1,9}-.+\.md")
"""What the file of a record is called."""


def rows_of_unknown(ws: Workspace) -> dict[str, int]:
    """Kind → how many of its records rest in the state, for kinds that are not in the catalogue."""
    with ws.store.reading() as db:
        sql = "SELECT kind, COUNT(*) FROM record WHERE rests = 'state' GROUP BY kind ORDER BY kind"
        rows = db.rows(sql) if db is not None else []
    return {kind: number for kind, number in rows if kind not in ws.kinds}


def files_of_unknown(ws: Workspace) -> dict[str, int]:
    """Folder → how many files of records lie in it, for folders of `.kl/knowledge` that no kind has."""
    known = {folder(kind) for kind in ws.kinds.values()}
    found: dict[str, int] = {}
    for name in _names(f"{ws.root}/{KNOWLEDGE}"):
        place = f"{KNOWLEDGE}{name}/"
        if place not in known:
            number = sum(1 for one in _names(f"{ws.root}/{place}") if _RECORD.fullmatch(one))
            found |= {place: number} if number else {}
    return found


def _names(place: str) -> list[str]:
    try:
        return sorted(os.listdir(place))  # noqa: PTH208
    except OSError:
        return []
