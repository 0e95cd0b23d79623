"""Clearing: what seeding made is taken away again; what a person has edited stays unless forced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.model.record import Record
from kl_hooks.records.ask import Wanted, every
from kl_hooks.records.interview.question import SYSTEM
from kl_hooks.records.seed.seed import said
from kl_hooks.records.seed.sow import forget
from kl_hooks.records.write import delete

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace

SCOPES: Final = ("project", "system")


def seeded(ws: Workspace, scopes: Sequence[str] = SCOPES) -> list[tuple[Record, bool]]:
    """(record, whether a person has edited it since) for all that seeding made in these scopes."""
    found = []
    for record in every(ws, Wanted(archived=True, expired=True)):
        scope = "system" if record.text("source") == SYSTEM else "project"
        if record.text("entity_id") and scope in scopes and not record.broken:
            edited = record.text("seeded_hash") != said(ws.kinds[record.kind], record.values)
            found.append((record, edited))
    return found


def clear(ws: Workspace, records: Sequence[Record]) -> None:
    """Deletes these records; they may be sown again. Files stay in git's history, ids are never used again."""
    for record in records:
        delete(ws, record, by="seed")
    forget(ws, [record.text("entity_id") for record in records])
