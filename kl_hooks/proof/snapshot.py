"""All the evidence that a gate judges: the store and the spools together, and what of it is missing.

A gate never answers from a part. Captures that could not be imported (the store is locked, read-only, or the disk is
full) are read from their spool files and judged with the rest. What can't be read, and receipts that the store had
once and lost, make the answer *not assessed*.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso
from kl_hooks.evidence import ledger
from kl_hooks.evidence.catch_up import Taken, catch_up
from kl_hooks.evidence.claims import parents_of
from kl_hooks.evidence.home import require_home
from kl_hooks.evidence.ledger import Entry
from kl_hooks.evidence.mark import Rollback, ledger_for_adding, read_marks, rollbacks
from kl_hooks.evidence.waiting import unimported
from kl_hooks.evidence.weight import ran_no_test
from kl_hooks.evidence.who import agent, producer
from kl_hooks.store.database import Database
from kl_hooks.workspace import Workspace

if TYPE_CHECKING:
    from kl_hooks.records.events import Event

STORE: Final = "store"
ACCEPTED: Final = "accepted"
"""An Event of this name, about `STORE`, says that a store which had gone back was accepted as it is."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The evidence of a repository at one moment."""

    db: Database | None
    """None where nothing is stored yet."""
    taken: Taken
    """What was imported on the way, and why no more."""
    waiting: tuple[Entry, ...] = ()
    """Captures that are not in the store, newest first; numbered after its receipts."""
    unread: tuple[str, ...] = ()
    """What waits and can't be read, a sentence each."""
    lost: tuple[Rollback, ...] = ()
    """Receipts that the store had, and has not any more."""

    @property
    def gaps(self) -> tuple[str, ...]:
        """Why nothing can be said about any content; empty where the evidence is whole."""
        return (*self.unread, *map(str, self.lost))

    def to_dict(self) -> dict[str, Any]:
        """As in JSON answers: what was read from the spool, and what is missing."""
        lost = [one.to_dict() | {"message": str(one)} for one in self.lost]
        return {"waiting": len(self.waiting), "unread": list(self.unread), "lost": lost}

    def of_tree(self, trees: Sequence[str]) -> list[Entry]:
        """The receipts of a content (its tree IDs), newest first; without runs that only listed tests."""
        stored = ledger.of_tree(self.db, trees) if self.db else []
        here = [one for one in self.waiting if {one.receipt.tree, one.receipt.tree_all} & set(trees)]
        return [one for one in (*here, *stored) if not ran_no_test(one.receipt)]

    def recent(self, limit: int) -> list[Entry]:
        """The newest receipts, newest first; without runs that only listed tests."""
        stored = ledger.listing(self.db, limit)[0] if self.db else []
        return [*(one for one in self.waiting if not ran_no_test(one.receipt)), *stored][:limit]

    def parents(self, entries: Iterable[Entry]) -> dict[str, Entry]:
        """The receipts of the commands that started these runs, by run."""
        some = list(entries)
        wanted = {one.receipt.parent for one in some}
        found = {one.receipt.run: one for one in self.waiting if one.receipt.run in wanted}
        return found | (parents_of(self.db, some) if self.db else {})


@contextmanager
def snapshot(ws: Workspace, head: str | None = None) -> Iterator[Snapshot]:
    """Read all evidence; what waits is imported first, where that can be done. `head`: the commit, if known.

    EnvironmentProblem where kl was never used, or the store can't be read.
    """
    require_home(ws)
    taken = catch_up(ws, head)
    # in this order, or what another process imports meanwhile would be missed, or taken for a loss
    captures, unread = unimported(ws)
    marks = read_marks(ws)
    with ws.store.reading() as db:
        newer = ws.store.newer(db) if db else None
        if newer:
            unread.insert(0, f"{newer.place} {newer.reason.rstrip('.')}")
        at = ledger.head(db)[0] if db else 0
        new = [one for one in captures if not (db and db.row("SELECT 1 FROM receipt WHERE id = ?", (one[0].id,)))]
        entries = [Entry(at + n, "", origin, receipt.id, receipt) for n, (receipt, origin) in enumerate(new, 1)]
        yield Snapshot(db, taken, tuple(reversed(entries)), tuple(unread), tuple(rollbacks(db, marks)))


def accept(ws: Workspace, reason: str) -> list[Rollback]:
    """Take the store as it is from now on, with an Event that says why; what was missing. Raises as `Store.writing`."""
    from kl_hooks.records.events import Event, insert_events
    from kl_hooks.store.redaction import redact

    require_home(ws)
    with ledger_for_adding(ws, accept=True) as db:
        lost = rollbacks(db, read_marks(ws))
        by = f"agent:{name}" if (name := agent(ws.environ)) else producer(ws.environ)
        body = {"reason": redact(reason), "by": redact(by), "lost": [one.to_dict() for one in lost]}
        if lost:
            insert_events(db, [Event(ACCEPTED, STORE, by, body)], iso(ws.clock.now()))
    return lost


def accepted(ws: Workspace) -> list[Event]:
    """The Events that accepted a store which had gone back, oldest first."""
    from kl_hooks.records.events import list_events

    return list_events(ws, STORE, ACCEPTED)
