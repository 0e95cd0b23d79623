"""Seals: whether authored files are as they were when somebody last vouched for them, in this clone.

A seal is the SHA-256 of the whole file, front matter included, in an Event. Writing a file through kl as a person seals
it; `kl knowledge verify --seal` seals what a person has read. Events are append-only, so every seal that ever was is
known. Whoever can write the database can write a seal: this finds edits, not attackers (SECURITY.md).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from kl_hooks.errors import UsageProblem
from kl_hooks.model.actors import agent
from kl_hooks.records.events import CONTENT, Event, append_events, events_by_record
from kl_hooks.records.query import RecordFilter, list_records
from kl_hooks.records.sync import sync
from kl_hooks.store.files import read_small

if TYPE_CHECKING:
    from kl_hooks.model.record import Record
    from kl_hooks.workspace import Workspace

STATES = _VALID, _TAMPERED, _UNSEALED = "valid", "tampered", "unsealed"
_SEALED: Final = "sealed"


class Seal(NamedTuple):
    """An authored file, and its seal."""

    id: str
    path: str
    state: str
    """valid, tampered (changed, or removed, since it was sealed) or unsealed."""
    at: str = ""
    """When it was sealed; ISO 8601."""
    by: str = ""


def verify_seals(ws: Workspace, ids: Sequence[str] = ()) -> list[Seal]:
    """Return the state of each authored file, archived ones too; of those with these IDs if any are given."""
    sync(ws)
    records = [one for one in list_records(ws, RecordFilter(archived=True, expired=True)) if one.path]
    chosen = [one for one in records if not ids or one.id in ids]
    if missing := set(ids) - {one.id for one in chosen}:
        raise UsageProblem("no authored file has this ID.", place=min(missing), hint="See: kl knowledge list")
    events = events_by_record(ws, [one.id for one in chosen])
    return [_seal(ws, one, events[one.id]) for one in chosen]


def seal_records(ws: Workspace, ids: Sequence[str] = ()) -> list[Seal]:
    """Seal the authored files that are not valid; return them as they are now. UsageProblem for an agent."""
    if agent(ws.environ):
        raise UsageProblem("a seal is a person's word.", place="--seal", hint="Ask a person to read the files.")
    # what is valid is not sealed again: the moment of the first reading is the one that counts
    found = [one for one in verify_seals(ws, ids) if one.state != _VALID]
    events = list[Event]()
    for one in found:
        if digest := _digest(ws, one.path):
            events.append(Event(_SEALED, one.id, "human", {CONTENT: digest}))
    append_events(ws, events)
    return verify_seals(ws, [one.id for one in found]) if found else []


def _seal(ws: Workspace, record: Record, events: Sequence[Event]) -> Seal:
    # the last one that has a digest: later events (opened, injected) are not about the file
    last = next((one for one in reversed(events) if CONTENT in one.body), None)
    if last is None:
        return Seal(record.id, record.path, _UNSEALED)
    state = _VALID if _digest(ws, record.path) == last.body[CONTENT] else _TAMPERED
    return Seal(record.id, record.path, state, last.at, last.session)


def _digest(ws: Workspace, path: str) -> str:
    """SHA-256 of a file as it is; empty where it can't be read."""
    with suppress(UsageProblem):
        content = read_small(ws.root / path, within=ws.root)
        return hashlib.sha256(content).hexdigest() if content is not None else ""
    return ""
