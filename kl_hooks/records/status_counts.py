"""How many records there are of each kind and status, and how many wait for a person."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from kl_hooks.records.query import RecordFilter, get_records, list_records

if TYPE_CHECKING:
    from kl_hooks.model.record import Record
    from kl_hooks.workspace import Workspace


_Select = Callable[[Sequence["Record"]], Sequence["Record"]]
"""Returns those of some records that are counted."""


def records_by_status(ws: Workspace, select: _Select = list) -> dict[str, dict[str, int]]:
    """Return kind → status → records of it; `archived` and `stale` are among the statuses."""
    from kl_hooks.records.liveness import with_stale_status

    counts: dict[str, dict[str, int]] = {}
    records = select(list_records(ws, RecordFilter(archived=True)))
    for record in with_stale_status(ws, records):
        if record.archived:
            name = "archived"
        else:
            name = record.status
        by_status = counts.setdefault(record.kind, {})
        by_status[name] = by_status.get(name, 0) + 1
    return counts


def waiting_for_a_person(
    ws: Workspace, counts: Mapping[str, Mapping[str, int]], select: _Select = list
) -> dict[str, int]:
    """Kind → how many wait for a person, for kinds of which any do: their status is one that only a
    person changes.
    """
    from kl_hooks.records.write import pending_proposals

    begun = {
        name: counts.get(name, {}).get(kind.proposal, 0)
        for name, kind in ws.kinds.items()
        if kind.proposal
    }
    proposals = pending_proposals(ws)
    records = get_records(ws, sorted({change.record for change in proposals}))
    counted_ids = {record.id for record in select(records)}
    changes = {"proposed change": sum(change.record in counted_ids for change in proposals)}
    return {name: number for name, number in (begun | changes).items() if number}
