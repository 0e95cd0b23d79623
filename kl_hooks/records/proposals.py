"""Proposals: changes that an agent wants in a record that people answer for. They wait as Events; nothing is written.

What waits is a fold: every `proposed` without an `accepted` or `rejected` that names it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso
from kl_hooks.model.text import one_line
from kl_hooks.records.events import Event, append, events

if TYPE_CHECKING:
    from kl_hooks.model.record import Record
    from kl_hooks.store.database import Database
    from kl_hooks.workspace.open import Workspace

PROPOSED: Final = "proposed"
SETTLED: Final = ("proposal accepted", "proposal rejected")
_LONGEST: Final = 160


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change that waits for a person."""

    number: int
    """Of its Event."""
    record: str
    how: str
    """`edit`, a verb of the kind, or `supersede`."""
    changes: Mapping[str, Any]
    """Field → value; None takes the field out. For `supersede`: `by`, the ID of the successor."""
    by: str
    at: str

    def plain(self) -> dict[str, Any]:
        """As in JSON."""
        return {
            "number": self.number, "record": self.record, "how": self.how, "changes": dict(self.changes),
            "by": self.by, "at": self.at,
        }  # fmt: skip

    def line(self) -> str:
        """`edit: title → Ship it (agent:bot, 2026-11-22)`."""
        parts = [
            f"{name} removed" if value is None else f"{name.replace('_', ' ')} → {_spoken(value)}"
            for name, value in self.changes.items()
        ]
        said = f"{self.how}: {'; '.join(parts)}" if parts else self.how
        return f"{one_line(said, _LONGEST)} ({one_line(self.by, 80)}, {self.at[:10]})"


def propose(db: Database, record: Record, how: str, changes: Mapping[str, Any], by: str, now: int) -> int:
    """Note a proposal, inside a transaction that the caller holds; return its number. The same one twice is one."""
    for one in _fold(_stored(db, record.id)):
        if (one.how, dict(one.changes), one.by) == (how, dict(changes), by):
            return one.number
    append(db, [Event(PROPOSED, record.id, by, {"how": how, "changes": dict(changes)})], iso(now))
    row = db.row("SELECT MAX(seq) FROM record_event WHERE record = ? AND name = ?", (record.id, PROPOSED))
    return int(row[0]) if row else 0


def pending(ws: Workspace, record: str = "") -> list[Proposal]:
    """Return the proposals that wait, oldest first: all, or those for one record."""
    return _fold(event for name in (PROPOSED, *SETTLED) for event in events(ws, record, name))


def _stored(db: Database, record: str) -> Sequence[Event]:
    import json

    sql = "SELECT name, record, session, body, at, seq FROM record_event WHERE record = ? AND name IN (?, ?, ?)"
    found = db.rows(f"{sql} ORDER BY seq", (record, PROPOSED, *SETTLED))
    return [Event(n, r, s, json.loads(body), at, seq) for n, r, s, body, at, seq in found]


def _fold(some: Any) -> list[Proposal]:
    all_ = list(some)
    settled = {event.body.get("proposal") for event in all_ if event.name in SETTLED}
    waiting = [event for event in all_ if event.name == PROPOSED and event.seq not in settled]
    return [
        Proposal(e.seq, e.record, str(e.body.get("how", "edit")), e.body.get("changes") or {}, e.session, e.at)
        for e in sorted(waiting, key=lambda event: event.seq)
    ]


def _spoken(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
