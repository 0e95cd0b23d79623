"""Whether records still hold for the content as it is now: asked of whoever knows, whenever records are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kl_hooks.model.record import Record

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace


def stale(ws: Workspace, records: Sequence[Record]) -> dict[str, str]:
    """Id of each of these records that no longer holds → why, in one line."""
    if not records:
        return {}
    found: dict[str, str] = {}
    kinds = {record.kind for record in records}
    for answer in ws.plugins.hook.kl_stale():
        for one in answer:
            if one.kind in kinds:
                found |= one.look(ws, [record for record in records if record.kind == one.kind])
    return found


def shown(ws: Workspace, records: Sequence[Record]) -> list[Record]:
    """The same records; those that no longer hold say `stale` for their status where their kind has that word."""
    reasons = stale(ws, records)
    return [
        record.with_values(status="stale")
        if record.id in reasons and "stale" in ws.kinds[record.kind].statuses
        else record
        for record in records
    ]
