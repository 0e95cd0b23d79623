"""Reading all evidence at one moment, for a verdict: the store, the captures that wait in the
spool, the runs that could not be recorded, and what others recorded, by the port for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final

from kl_hooks.evidence import ledger
from kl_hooks.evidence.capture import MissingRun, missing_runs
from kl_hooks.evidence.executed import CachedExecuted, Executed, cached_executed, read_pending
from kl_hooks.evidence.foreign import (
    ForeignEvidence,
    foreign_evidence,
    has_signatures,
    with_origins,
)
from kl_hooks.evidence.high_water import Rollback, read_marks, rollbacks
from kl_hooks.evidence.ingestion import SyncResult, sync_evidence
from kl_hooks.evidence.journal import unimported_captures
from kl_hooks.evidence.ledger import Entry, parents_of, selection_limits
from kl_hooks.evidence.shared_names import without_partial_passes
from kl_hooks.evidence.spool_places import SpoolPlace, spool_places
from kl_hooks.evidence.trust import ATTESTED, NOTES, ran_no_test
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import Receipt
from kl_hooks.store.database import Database
from kl_hooks.workspace import Workspace, require_setup


class Snapshot(NamedTuple):
    """The evidence of a repository at one moment."""

    db: Database | None
    """None where nothing is stored yet."""
    taken: SyncResult
    """What was imported first, and why no more."""
    waiting: tuple[Entry, ...] = ()
    """Captures that are not in the store, newest first; numbered after its receipts."""
    unread: tuple[str, ...] = ()
    """Captures that can't be read, a sentence each."""
    lost: tuple[Rollback, ...] = ()
    """Receipts that the store had and does not have any more."""
    places: Sequence[SpoolPlace] = ()
    """Where captures wait."""
    ask_others: Callable[[], ForeignEvidence] | None = None
    """The port for evidence of others; most stores hold none, and never ask."""
    trust_ref: str = ""
    """The commit whose `.kl/trust` names a team's keys; empty: that of the user's configuration."""
    cache: CachedExecuted | None = None
    """What stored runs executed, once it was read; None: it is read each time."""
    executed_by_id: dict[str, Executed | None] | None = None
    """The same by the ID of an entry, of runs that are not stored."""

    def executed(self, entry: Entry) -> Executed | None:
        """What the tests of a run executed, stored or waiting in the spool; None where nothing is
        known of it.

        Of a run of others: out of git, and only where a trusted key signed its receipt, which names
        it by its digest.
        """
        if self.executed_by_id is not None and entry.id in self.executed_by_id:
            return self.executed_by_id[entry.id]
        if self.db and not entry.origin.startswith(ATTESTED):
            cache = self.cache or CachedExecuted()
            stored = cache.of_run(self.db, entry.receipt.run)
            if stored:
                return stored
        executed = self._read_executed(entry)
        if self.executed_by_id is not None:
            self.executed_by_id[entry.id] = executed
        return executed

    def _read_executed(self, entry: Entry) -> Executed | None:
        """Of a run that is not stored."""
        if not entry.origin.startswith(ATTESTED):
            return read_pending(self.places, entry.receipt.run, entry.receipt.environment)
        if not self.ask_others:
            return None
        return self.ask_others().executed(entry.receipt)

    @property
    def lost_until(self) -> int:
        """The number of the last receipt that was there when a loss was noticed; -1 where none is.

        Runs with higher numbers followed it, whatever was lost.
        """
        return max((rollback.noticed_at for rollback in self.lost), default=-1)

    @property
    def gaps(self) -> tuple[str, ...]:
        """Why no content can be assessed; empty where the evidence is whole."""
        return (*self.unread, *map(str, self.lost))

    def of_tree(self, trees: Sequence[str]) -> list[Entry]:
        """The receipts of a content (its tree IDs) that count here, newest first; without runs that
        only listed tests.

        Of others those that a trusted key signed, in the order in which the runs ended, and what a
        person imported.
        """
        stored = self._with_origins(ledger.entries_of_tree(self.db, trees) if self.db else [])
        stored += [one for one in self._of_notes(trees) if not one.origin.startswith(NOTES)]
        stored = newest_first(_once(stored))
        here = [
            one for one in self.waiting if {one.receipt.tree, one.receipt.tree_all} & set(trees)
        ]
        tested = (
            one
            for one in (*here, *stored)
            if not ran_no_test(one.receipt.selection, one.receipt.result)
        )
        return without_partial_passes(tested)

    def untrusted(self, trees: Sequence[str]) -> list[Entry]:
        """The receipts of a content that arrived by notes, and that no trusted key signed: they
        count for nothing.
        """
        return [one for one in self._of_notes(trees) if one.origin.startswith(NOTES)]

    def _of_notes(self, trees: Sequence[str]) -> list[Entry]:
        return self._with_origins(
            ledger.entries_of_tree(self.db, trees, notes=True) if self.db else []
        )

    def recent(self, limit: int) -> list[Entry]:
        """The newest receipts, newest first; without runs that only listed tests."""
        stored = self._with_origins(ledger.list_receipts(self.db, limit)[0] if self.db else [])
        tested = (
            one
            for one in self.waiting
            if not ran_no_test(one.receipt.selection, one.receipt.result)
        )
        return [*tested, *stored][:limit]

    def runs(self, limit: int) -> list[Entry]:
        """The newest runs of tests, newest first: of this store, and those that a trusted key
        signed.
        """
        waiting = [one for one in self.waiting if one.receipt.source == "pytest"]
        if self.db:
            stored = self._with_origins(ledger.recent(self.db, limit, "pytest"))
        else:
            stored = []
        runs = newest_first(_once([*waiting, *stored, *self._trusted_runs(limit)]))[:limit]
        # what an older run showed, a lost one may have refuted
        return without_partial_passes(run for run in runs if run.seq > self.lost_until)

    def _trusted_runs(self, limit: int) -> list[Entry]:
        """The newest runs of tests in notes that a trusted key signed: whoever can push may write
        any number more.
        """
        if self.db is None or self.ask_others is None or not has_signatures(self.db):
            return []
        keys = self.ask_others().trusted_signers(self.trust_ref)
        if keys:
            signed = ledger.recent(self.db, limit, "pytest", signers=keys)
        else:
            signed = []
        return [entry for entry in self._with_origins(signed) if entry.origin.startswith(ATTESTED)]

    def parents(self, entries: Iterable[Entry]) -> dict[str, Entry]:
        """The receipts of the commands that started these runs, by run."""
        children = list(entries)
        wanted = {entry.receipt.parent for entry in children}
        waiting_parents = {
            entry.receipt.run: entry for entry in self.waiting if entry.receipt.run in wanted
        }
        if self.db:
            stored = parents_of(self.db, children)
        else:
            stored = {}
        return waiting_parents | dict(
            zip(stored, self._with_origins(list(stored.values())), strict=True)
        )

    def _with_origins(self, entries: list[Entry]) -> list[Entry]:
        if self.ask_others is None:
            return entries
        return with_origins(self.ask_others, self.db, entries, self.trust_ref)


def _once(entries: Iterable[Entry]) -> list[Entry]:
    """Entries, of those that one key signed the first of each run: a bundle has a run whole, and a
    note its facts.
    """
    first_of: dict[tuple[str, str], Entry] = {}
    for entry in entries:
        if entry.origin.startswith(ATTESTED):
            key = (entry.receipt.run, entry.origin)
        else:
            key = (entry.id, "")
        first_of.setdefault(key, entry)
    return list(first_of.values())


def newest_first(entries: Iterable[Entry]) -> list[Entry]:
    """Entries in the order of this store, the newest first; where a trusted key signed one, as the
    runs ended.

    The number of a receipt is the order of import, and a newer run of our own settles an older one
    of theirs.
    """
    unordered = list(entries)
    foreign = any(entry.origin.startswith(ATTESTED) for entry in unordered)
    return sorted(
        unordered,
        key=lambda entry: (entry.receipt.ended if foreign else "", entry.seq),
        reverse=True,
    )


@contextmanager
def snapshot(
    ws: Workspace, head: str | None = None, trust_ref: str = "", *, imports: bool = True
) -> Iterator[Snapshot]:
    """Read all evidence, after an import where that is possible. `head`: the commit, if known.

    `imports`: False where the store must stay as it is. `trust_ref`: see `Snapshot`.
    EnvironmentProblem where kl was never used, or the store can't be read.
    """
    require_setup(ws)
    if imports:
        taken = sync_evidence(ws, head)
    else:
        taken = SyncResult()
    # spool, marks, store: in another order, an import by another process in between would be missed
    # or look like a loss
    places = spool_places(ws)
    captures, unread = unimported_captures(places)
    marks = read_marks(ws)
    with ws.store.reading() as db:
        newer = ws.store.newer(db) if db else None
        if newer:
            unread.insert(0, f"{newer.place} {newer.reason.rstrip('.')}")
        unread += map(str, _unsettled_missing_runs(ws, db, [receipt for receipt, _ in captures]))
        head_seq = ledger.chain_head(db)[0] if db else 0
        new = [
            one
            for one in captures
            if not (db and db.row("SELECT 1 FROM receipt WHERE id = ?", (one[0].id,)))
        ]
        entries = [
            Entry(head_seq + n, "", origin, receipt.id, receipt)
            for n, (receipt, origin) in enumerate(new, 1)
        ]
        yield Snapshot(
            db,
            taken,
            tuple(reversed(entries)),
            tuple(unread),
            tuple(rollbacks(db, marks)),
            places,
            partial(foreign_evidence, ws),
            trust_ref,
            cache=cached_executed(),
            executed_by_id={},
        )


_RUNS_AFTER: Final = 20
"""The newest runs among which one is looked for that settles a missing run."""


def _unsettled_missing_runs(
    ws: Workspace, db: Database | None, waiting: Sequence[Receipt]
) -> list[MissingRun]:
    """The runs that could not be recorded and that no complete run follows: such a one ran all that
    they may have seen fail. The marks of the others are removed.
    """
    marks = missing_runs(ws)
    if not marks:
        return []
    newest = max((run.started for run in waiting if _is_whole_run(run)), default="")
    sql = "SELECT header FROM receipt WHERE source = 'pytest' ORDER BY seq DESC LIMIT ?"
    for (text,) in db.rows(sql, (_RUNS_AFTER,)) if db else ():
        with suppress(ValueError, KeyError, TypeError):
            header = json.loads(text)
            whole = header["result"].get("complete") and not selection_limits(header["selection"])
            newest = max(newest, header["started"] if whole else "")
    for mark in marks:
        if mark.started < newest:
            with suppress(OSError):
                mark.path.unlink(missing_ok=True)
    return [mark for mark in marks if mark.started >= newest]


def _is_whole_run(receipt: Receipt) -> bool:
    complete = receipt.source == "pytest" and receipt.result.get("complete")
    return bool(complete) and not selection_limits(receipt.selection)
