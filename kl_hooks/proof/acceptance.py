"""Accepting a store that lost receipts as it is, with the reason, and who accepted one before."""

from __future__ import annotations

from typing import Final

from kl_hooks.clock import iso
from kl_hooks.evidence.high_water import Rollback, ledger_writer, read_marks, rollbacks
from kl_hooks.evidence.provenance import agent, producer
from kl_hooks.model.text import counted, one_line
from kl_hooks.records.events import Event, insert_events, list_events
from kl_hooks.store.redaction import redact
from kl_hooks.workspace import Workspace, require_setup

STORE: Final = "store"
ACCEPTED: Final = "accepted"
"""An Event of this name, about `STORE`, accepts a store that lost receipts as it is."""


def accept(ws: Workspace, reason: str) -> list[Rollback]:
    """Take the store as it is from now on, with an Event that has the reason. Raises as
    `Store.writing`.
    """
    require_setup(ws)
    with ledger_writer(ws, accept=True) as db:
        lost = rollbacks(db, read_marks(ws))
        if name := agent(ws.environ):
            author = f"agent:{name}"
        else:
            author = producer(ws.environ)
        body = {
            "reason": redact(reason),
            "by": redact(author),
            "lost": [rollback.to_dict() for rollback in lost],
        }
        if lost:
            insert_events(db, [Event(ACCEPTED, STORE, author, body)], iso(ws.clock.now()))
    return lost


def accepted(ws: Workspace) -> list[Event]:
    """The Events that accepted a store after it lost receipts, oldest first."""
    return list_events(ws, STORE, ACCEPTED)


def accepted_line(event: Event) -> str:
    """`2026-11-22: this store had 41 receipts, then 17: kl.db restored (local:ada@host)`."""
    lost = event.body.get("lost") or [{}]
    numbers = f"had {counted(int(lost[0].get('had') or 0), 'receipt')}, then {lost[0].get('found')}"
    return (
        f"{event.at[:10]}: this store {numbers}: {one_line(str(event.body.get('reason')), 200)}"
        f" ({event.body.get('by')})"
    )
