"""Events that clones have in common: claims, rejections, counts of failures, and what speaks for or
against a memory.

A clone's are lines of `refs/notes/kl/events/<writer>`: each line is a batch of events with
signatures over it. Lines are only added, and merged as a set; an event has a key, so one that is in
two batches is one.

They count as receipts do (ADR-0037): where a key that the reader trusts signed the batch, asked
when they are read. Batches of other keys are not stored, so a push alone can neither claim nor
reject anything here.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Collection
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso, micros
from kl_hooks.hookspecs import CommonEvent
from kl_hooks.model.canonical import canonical, digest, replace_surrogates
from kl_hooks.model.text import one_line
from kl_hooks.store.database import Database
from kl_hooks.store.redaction import redact_value
from kl_hooks.store.store import steps_taken
from kl_hooks.workspace import Workspace

if TYPE_CHECKING:
    from kl_hooks.git.repository import Repository
    from kl_hooks.sharing.note_reading import Limits

# `attestation` and `git.notes` are imported in functions: most stores have nothing of others, and
# reading that is all that most commands do

_SORT: Final = "events"
"""Of the refs."""
_SCHEMA: Final = "kl.events/1"
_FILE: Final = sha256(b"kl/events").hexdigest()
"""The one file of a ref."""
_SIGNED: Final = b"kl/events/1\0"
"""Before what is signed: a signature over a receipt (DSSE) is none over events."""
_MOST_EVENTS: Final = 5000
"""Of one batch, and of one clone: the newest."""
_LONGEST: Final = 8000
"""Bytes of the body of an event."""


def _key(event: CommonEvent) -> str:
    return digest("common-event/1", _row(event))


def _row(event: CommonEvent) -> list[Any]:
    return [event.name, event.record, event.author, event.at, event.body]


def _own_events(ws: Workspace) -> dict[str, CommonEvent]:
    """The events of this clone that others should know, by key, oldest first."""
    events = (
        event for answer in ws.plugins.hook.kl_common_events(workspace=ws) for event in answer
    )
    sound = [event for event in events if not _flaw(event)]
    newest = sorted(sound, key=lambda event: event.at)[-_MOST_EVENTS:]
    return {_key(event): event for event in newest}


def share_events(
    ws: Workspace, repo: Repository, writer: str, key: Path | None, *, dry_run: bool
) -> list[CommonEvent]:
    """Add what the ref of this clone does not have, with a key also what it has unsigned; what was
    added.
    """
    from kl_hooks.git.notes import change_lines, own_ref, read_lines, with_lines
    from kl_hooks.sharing.attestation import sign

    ref = own_ref(_SORT, writer)
    shared = {
        _key(event)
        for lines in read_lines(repo, ref).values()
        for line in lines
        for batch in [_read(line)]
        if not isinstance(batch, str) and (batch[1] or key is None)
        for event in batch[0]
    }
    new = [event for name, event in _own_events(ws).items() if name not in shared]
    if new and not dry_run:
        rows = [_row(event) for event in new]
        if key:
            signatures = [sign(_SIGNED + canonical(rows), key)[1]]
        else:
            signatures = []
        plain = {
            "schema": _SCHEMA,
            "events": rows,
            "signatures": [b64encode(signature).decode() for signature in signatures],
        }
        line = canonical(plain).decode()
        change_lines(repo, ref, lambda files: with_lines(files, [(_FILE, line)]))
    return new


def import_events(ws: Workspace, repo: Repository, limits: Limits) -> tuple[int, list[str], str]:
    """Import what trusted keys signed, of the refs that moved, up to the limits; (how many are new,
    what was refused and why, what was not read to its end).
    """
    from kl_hooks.evidence.high_water import ledger_writer
    from kl_hooks.git.notes import refs_of
    from kl_hooks.sharing.attestation import trusted_keys
    from kl_hooks.sharing.note_reading import NoteReading

    trusted = trusted_keys(ws).keys
    now = iso(ws.clock.now())
    with ws.store.reading() as db:
        if db is not None and _has_table(db):
            there = db
        else:
            there = None
        sql = "SELECT name, value FROM evidence_cursor WHERE name LIKE 'events:%'"
        rows_of_cursors = there.rows(sql) if there else []
        cursors = {str(name).removeprefix("events:"): str(at) for name, at in rows_of_cursors}
        if there:
            batches = {str(one) for (one,) in there.rows("SELECT DISTINCT batch FROM common_event")}
        else:
            batches = set()
    # with the keys: a batch counts from the moment on that its key is trusted
    state = digest("trusted/1", sorted(trusted))[:16]
    reading = NoteReading(refs_of(repo, _SORT), _SORT, cursors, limits, state)
    if not reading:
        return 0, [], ""
    rows = []
    refused = []
    own = _own_events(ws)
    for writer, _, line in reading.lines(repo, []):
        batch = sha256(line).hexdigest()
        if batch in batches or not reading.allows(line):
            continue
        batches.add(batch)
        checked = _checked(line, trusted)
        if isinstance(checked, str):
            refused.append(f"{writer}: events: {checked}")
            continue
        rows += [
            (_key(event), key, batch, *_row(event)[:4], _body(event), now)
            for event, key in checked
            if _key(event) not in own
        ]
    with ledger_writer(ws) as db:
        before = _count(db)
        columns = "event, fingerprint, batch, name, record, author, at, body, added"
        db.many(
            f"INSERT INTO common_event ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            rows,
        )
        reading.store_cursors(db, "events")
        return _count(db) - before, refused, reading.remark()


def _body(event: CommonEvent) -> str:
    return canonical(dict(event.body)).decode()


def common_events(ws: Workspace, db: Database | None, names: Collection[str]) -> list[CommonEvent]:
    """The events of others, of these names, that count: a trusted key signed them. Oldest first."""
    if db is None or not _has_table(db) or not db.row("SELECT 1 FROM common_event LIMIT 1"):
        return []
    from kl_hooks.sharing.attestation import trusted_keys

    trusted = trusted_keys(ws).keys
    event_by_key: dict[str, CommonEvent] = {}
    sql = (
        "SELECT event, fingerprint, name, record, author, at, body, added FROM common_event ORDER"
        " BY at, event"
    )
    for key, signer, name, record, author, moment, body, added in db.rows(sql):
        trusted_key = trusted.get(signer)
        if trusted_key is None or name not in names or trusted_key.why_not(moment, added):
            continue
        event = CommonEvent(
            name,
            record,
            author,
            moment,
            json.loads(body),
            trusted_key.name,
            trusted_key.role == "person",
        )
        # who signed it as a person vouches that a person did it
        if key not in event_by_key or event.by_person:
            event_by_key[key] = event
    return list(event_by_key.values())


def _read(line: bytes) -> tuple[list[CommonEvent], list[bytes]] | str:
    """The events of a line, and its signatures; or why it is none, in a few words."""
    try:
        plain = replace_surrogates(json.loads(line))
        if plain["schema"] != _SCHEMA:
            return f"schema {one_line(repr(plain['schema']), 60)} is not {_SCHEMA!r}"
        if len(plain["events"]) > _MOST_EVENTS:
            return f"more than {_MOST_EVENTS:,} events"
        events = [
            CommonEvent(name, record, author, at, body)
            for name, record, author, at, body in plain["events"]
        ]
        blobs = [b64decode(one, validate=True) for one in plain["signatures"]]
        return next(filter(None, map(_flaw, events)), "") or (events, blobs)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return "not a batch of events"


def _flaw(event: CommonEvent) -> str:
    """Why an event is not exchanged, in a few words; empty: it is."""
    texts: tuple[object, ...] = (event.name, event.record, event.author, event.at)
    if not all(isinstance(one, str) and len(one) <= 300 for one in texts) or not isinstance(
        event.body, dict
    ):
        return "an event of another form"
    try:
        micros(event.at)
        if len(canonical(event.body)) > _LONGEST:
            return "an event of another form"
    except (TypeError, ValueError, RecursionError):
        return "an event of another form"
    if redact_value(_row(event)) != _row(event):
        return "it holds what looks like a secret"
    return ""


def _checked(line: bytes, trusted: Collection[str]) -> list[tuple[CommonEvent, str]] | str:
    """The events of a line, each with the fingerprint of each trusted key that signed them; or why
    it is refused.
    """
    from kl_hooks.sharing.attestation import check_blobs, fingerprint

    batch = _read(line)
    if isinstance(batch, str):
        return batch
    events, blobs = batch
    data = _SIGNED + canonical([_row(one) for one in events])
    try:
        keys = {fingerprint(key) for key, _ in check_blobs(data, blobs, "these events", trusted)}
    except ValueError as problem:
        return one_line(str(problem), 120)
    return [(one, key) for one in events for key in sorted(keys)]


def _has_table(db: Database) -> bool:
    """An older store that could not be brought up to date has none."""
    return steps_taken(db).get("common_events", 0) > 0


def _count(db: Database) -> int:
    row = db.row("SELECT COUNT(*) FROM common_event")
    if not row:
        return 0
    return int(row[0])
