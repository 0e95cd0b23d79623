"""How much is known kind by kind, and what of it waits for a person: for `kl status` and `kl knowledge status`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from kl_hooks.cli.common import counted

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace

Counts = Mapping[str, Mapping[str, int]]
"""Kind → status → records of it; `archived` and `stale` are among the statuses."""


def by_status(ws: Workspace) -> dict[str, dict[str, int]]:
    """The records of every kind as they stand now, counted. Takes in what was edited since."""
    from kl_hooks.records.liveness import with_stale_status
    from kl_hooks.records.query import RecordFilter, list_records

    counts: dict[str, dict[str, int]] = {}
    for record in with_stale_status(ws, list_records(ws, RecordFilter(archived=True))):
        name = "archived" if record.archived else record.status
        some = counts.setdefault(record.kind, {})
        some[name] = some.get(name, 0) + 1
    return counts


def waiting(ws: Workspace, counts: Counts) -> dict[str, int]:
    """Kind → how many wait for a person, for kinds of which any do: they stand where only a person takes them on."""
    from kl_hooks.records.permissions import pending_proposals

    begun = {name: counts.get(name, {}).get(kind.proposal, 0) for name, kind in ws.kinds.items() if kind.proposal}
    changes = {"proposed change": len(pending_proposals(ws))}
    return {name: number for name, number in (begun | changes).items() if number}


def asked(ws: Workspace, numbers: Mapping[str, int]) -> Iterator[str]:
    """What `waiting` found, a line each, with the command that lists them."""
    for name, number in numbers.items():
        if name not in ws.kinds:
            yield f"{counted(number, name)}. See: kl knowledge proposals"
            continue
        status = ws.kinds[name].proposal
        yield f"{counted(number, name)} {status}. See: kl {name} list --status {status}"
