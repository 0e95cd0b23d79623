"""What a text is known by, and whether it is known here already: seen, approved, rejected, deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kl_hooks.clock import iso
from kl_hooks.kinds.memory.kind import KIND
from kl_hooks.kinds.memory.rejections import FILE, rejections, sync_rejections
from kl_hooks.kinds.memory.seen import identity as folded
from kl_hooks.model.record import Record
from kl_hooks.model.text import one_line
from kl_hooks.records.events import events_by_record, stored_records
from kl_hooks.records.query import get_records
from kl_hooks.records.repository import identity_digest
from kl_hooks.records.sync import sync
from kl_hooks.records.write import REVIVE, change_record
from kl_hooks.store.redact import redact

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace


def id_of(pattern: str) -> str:
    """`MEM-3f9a1c2b`: the same for the same words, whatever the case and the space around them, in every clone."""
    return f"{KIND.prefix}-{identity_digest(KIND, {'pattern': redact(pattern)})}"


def title_of(pattern: str) -> str:
    """The first line that says something, short."""
    return next((one_line(line, 120) for line in redact(pattern).splitlines() if line.strip()), "")


def known(ws: Workspace, ids: Sequence[str]) -> tuple[dict[str, Record], dict[str, Record]]:
    """(records that can be seen, those that were here once: deleted, or a file that is not on this branch)."""
    sync(ws, (KIND.name,))
    sync_rejections(ws)
    seen = {one.id: one for one in get_records(ws, list(ids)) if one.kind == KIND.name}
    seen |= {i: _rejected(i, why) for i, why in rejections(ws).items() if i in set(ids) - seen.keys()}
    rows = stored_records(ws, ids)
    return seen, {i: one.record for i, one in rows.items() if i not in seen}


def _rejected(identifier: str, reason: str) -> Record:
    """A memory that was rejected in another clone: only its ID came here."""
    return Record(KIND.name, identifier, {"status": "rejected", **({"reason": reason} if reason else {})}, path=FILE)


def returning(ws: Workspace, gone: Mapping[str, Record]) -> list[str]:
    """Of those that were here once: the ones that upkeep took out, because nobody had looked at them for long.

    What a person deleted does not come back by itself.
    """
    last = events_by_record(ws, list(gone), ("deleted", "purged"))
    return [i for i, events in last.items() if events and events[-1].name == "purged"]


def taken_away(ws: Workspace, identifier: str) -> bool:
    """True where a person deleted it: an agent that tells it again does not bring it back."""
    last = events_by_record(ws, [identifier], ("deleted", "purged"))[identifier][-1:]
    return any(event.name == "deleted" and not event.session.startswith("agent:") for event in last)


def revived(ws: Workspace, identifier: str, raw: Mapping[str, Any], by: str) -> Record:
    """A record of an id that was here once, made anew of these values."""
    values = {"status": KIND.statuses[0], "date": iso(ws.clock.now()), **raw}
    return change_record(ws, Record(KIND.name, identifier, {}), values, how=REVIVE, by=by)


def same(record: Record, pattern: str) -> bool:
    """True where the record is of these words: two texts could share eight digits."""
    return folded(record.text("pattern")) == folded(redact(pattern)) or record.status == "approved"
