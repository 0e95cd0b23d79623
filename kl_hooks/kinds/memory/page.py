"""MEMORY.md: written again after every change of a memory. It is generated, and git ignores it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kl_hooks.errors import KlError
from kl_hooks.kinds.memory.events import tallies
from kl_hooks.kinds.memory.kind import KIND
from kl_hooks.kinds.memory.listing import MOST, Line, render
from kl_hooks.kinds.memory.reviewing import to_review
from kl_hooks.kinds.memory.support import supported
from kl_hooks.model.record import Record
from kl_hooks.records.liveness import not_live_reason, quarantine_reasons
from kl_hooks.records.query import RecordFilter, list_records
from kl_hooks.records.repository import kind_folder
from kl_hooks.store.atomic import write_atomic

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace

PAGE: Final = f"{kind_folder(KIND)}MEMORY.md"
IGNORE: Final = ".kl/.gitignore"
_RULE: Final = PAGE.removeprefix(".kl/")


def write_page(ws: Workspace) -> str:
    """Writes MEMORY.md where it is not right already; why it could not be written, or empty."""
    if not ws.initialised:
        return ""
    try:
        text = page(ws)
        place = ws.root / PAGE
        if _read(ws, PAGE) == text:
            return ""
        _ignored(ws)
        place.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(place, text.encode("utf-8", "replace"), within=ws.root)
    except (KlError, OSError) as problem:
        return f"{PAGE}: can't be written: {problem}"
    return ""


def page(ws: Workspace) -> str:
    """What MEMORY.md should say now."""
    found = list_records(ws, RecordFilter((KIND.name,), ("approved",)))
    approved = [one for one in found if not_live_reason(ws, one) in ("", "quarantined")]
    candidates, total = to_review(ws, MOST)
    return render(_lines(ws, approved), _lines(ws, candidates), total - len(candidates))


def _lines(ws: Workspace, records: list[Record]) -> list[Line]:
    weight = tallies(ws, [one.id for one in records])
    behind = supported(ws, weight, {one.id for one in records if one.status == "approved"})
    return [
        Line(
            one.id, one.title, behind[one.id].tier.word, weight[one.id].reinforcement,
            one.path.removeprefix(kind_folder(KIND)), bool(quarantine_reasons(ws, one)),
        )
        for one in records
    ]  # fmt: skip


def _ignored(ws: Workspace) -> None:
    """Sees to it that git ignores the page: else it would be in every tree."""
    text = _read(ws, IGNORE)
    if _RULE not in text.splitlines():
        whole = text + ("" if text.endswith("\n") or not text else "\n") + f"# Generated.\n{_RULE}\n"
        write_atomic(ws.root / IGNORE, whole.encode("utf-8", "replace"), within=ws.root)


def _read(ws: Workspace, path: str) -> str:
    from kl_hooks.config.files import read_small

    return (read_small(ws.root / path, within=ws.root) or b"").decode("utf-8", "replace")
