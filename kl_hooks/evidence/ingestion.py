"""Bringing the ledger up to date: captures from the spool, commits that git has made since, and
imported files.

Under the store lock, in one transaction, idempotently; a spool file is removed only after the
commit. Where the store can't be written the spool stays as it is, and a gate reads the captures
from there (`snapshot`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from kl_hooks.errors import EnvironmentProblem, StoreReadOnly
from kl_hooks.evidence import ledger
from kl_hooks.evidence.capture import MissingRun, missing_runs
from kl_hooks.evidence.commits import add_commits, unlogged_commits
from kl_hooks.evidence.executed import (
    Executed,
    executed_of_run,
    import_executed,
    pending_executed,
    read_pending,
    settle,
)
from kl_hooks.evidence.foreign import foreign_evidence, has_signatures, with_origins
from kl_hooks.evidence.high_water import Rollback, ledger_writer, read_marks, rollbacks
from kl_hooks.evidence.journal import (
    pending_captures,
    remove_or_quarantine,
    unimported_captures,
)
from kl_hooks.evidence.ledger import (
    Entry,
    append,
    has_receipt,
    parents_of,
    selection_limits,
)
from kl_hooks.evidence.spool_places import spool_places
from kl_hooks.evidence.trust import ATTESTED, NOTES, ran_no_test
from kl_hooks.git.run import GitFailed
from kl_hooks.model.receipt import Receipt
from kl_hooks.store.database import Database
from kl_hooks.workspace import Workspace, is_set_up, require_setup


@dataclass(frozen=True, slots=True)
class SyncResult:
    """What one synchronization did."""

    receipts: int = 0
    """New receipts."""
    incomplete: tuple[str, ...] = ()
    """Runs that ended without an end record."""
    bad: int = 0
    """Spool records that were torn or altered, and omitted."""
    aside: tuple[str, ...] = ()
    """Spool files that could not be understood, under their new names."""
    waiting: int = 0
    """Spool files that are still being written, or could not be imported."""
    trouble: str = ""
    """Why the store could not be written; empty: it could."""
    read_only: bool = False
    """Whether the reason is that whoever asks may only read: it holds until an administrator allows
    more.
    """
    blind: str = ""
    """Why git's commits could not be read; empty: they could."""


def sync_evidence(ws: Workspace, head_now: str | None = None) -> SyncResult:
    """Import every finished spool file and every new commit. Never raises for a store that can't be
    written.

    `head_now` saves a question to git where the caller knows the commit already.
    """
    if not is_set_up(ws):
        return SyncResult()
    fetched = _import_fetched(ws)
    done = _import_captured(ws, head_now)
    return replace(done, blind=done.blind or fetched) if fetched else done


def _import_fetched(ws: Workspace) -> str:
    """Import the notes that `git fetch` brought, where `kl hooks install --sync` asked for it; the
    error.
    """
    if ws.git_settings is None or ws.git_settings.kl.get("sync", "").lower() not in (
        "true",
        "yes",
        "on",
        "1",
    ):
        return ""
    return foreign_evidence(ws).import_fetched()


def _import_captured(ws: Workspace, head_now: str | None) -> SyncResult:
    # before the captures: a file that is written meanwhile finds its receipt the next time
    places, now = spool_places(ws), ws.clock.now()
    sets = pending_executed(places, now)
    found, left = pending_captures(places, now)
    new, blind = None, ""
    try:
        with ws.store.reading() as db:
            try:
                new = unlogged_commits(ws, db, head_now)
            except GitFailed as problem:
                blind = str(problem)
            runs = {one.receipt.run for one in found if one.receipt}
            sets = [
                one
                for one in sets
                if one.orphaned or one.run in runs or (db and has_receipt(db, one.run))
            ]
        if not found and new is None and not sets:
            return SyncResult(waiting=left, blind=blind)
        with ledger_writer(ws) as db:
            receipts = sum(append(db, [one.receipt], one.origin) for one in found if one.receipt)
            receipts += add_commits(db, new) if new is not None else 0
            settled = import_executed(db, sets)
    except (EnvironmentProblem, OSError) as problem:
        read_only = isinstance(problem, StoreReadOnly)
        return SyncResult(waiting=left + len(found), trouble=str(problem), read_only=read_only)
    try:
        aside = tuple(str(path) for one in found if (path := remove_or_quarantine(one))) + settle(
            settled
        )
        # only the note of the git hook that there are new commits: what they are was read from git
        (ws.state.spool / "commits").unlink(missing_ok=True)
    except OSError as problem:
        trouble = f"imported, but it can't be removed from the spool: {problem}"
        return SyncResult(receipts, waiting=left, trouble=trouble)
    killed = tuple(
        one.receipt.run
        for one in found
        if one.receipt and one.receipt.result.get("how") == "killed"
    )
    return SyncResult(receipts, killed, sum(one.bad for one in found), aside, left, blind=blind)


@dataclass(frozen=True, slots=True)
class Snapshot:
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
    ws: Workspace | None = None
    trust_ref: str = ""
    """The commit whose `.kl/trust` names a team's keys; empty: that of the user's configuration."""

    def executed(self, entry: Entry) -> Executed | None:
        """What the tests of a run executed, stored or waiting in the spool; None where nothing is
        known of it.

        Of a run of others: out of git, and only where a trusted key signed its receipt, which names
        it by its digest.
        """
        if entry.origin.startswith(ATTESTED):
            return foreign_evidence(self.ws).executed(entry.receipt) if self.ws else None
        found = executed_of_run(self.db, entry.receipt.run) if self.db else None
        if found is None and self.ws is not None:
            found = read_pending(self.ws, entry.receipt.run, entry.receipt.environment)
        return found

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

    def to_dict(self) -> dict[str, Any]:
        """As in JSON answers: what was read from the spool, and what is missing."""
        lost = [one.to_dict() | {"message": str(one)} for one in self.lost]
        return {"waiting": len(self.waiting), "unread": list(self.unread), "lost": lost}

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
        return [
            one
            for one in (*here, *stored)
            if not ran_no_test(one.receipt.selection, one.receipt.result)
        ]

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
        stored = self._with_origins(ledger.recent(self.db, limit, "pytest")) if self.db else []
        runs = newest_first(_once([*waiting, *stored, *self._trusted_runs(limit)]))[:limit]
        # what an older run showed, a lost one may have refuted
        return [run for run in runs if run.seq > self.lost_until]

    def _trusted_runs(self, limit: int) -> list[Entry]:
        """The newest runs of tests in notes that a trusted key signed: whoever can push may write
        any number more.
        """
        if self.db is None or self.ws is None:
            return []
        if not has_signatures(self.db):
            return []
        keys = foreign_evidence(self.ws).trusted_signers(self.trust_ref)
        signed = ledger.recent(self.db, limit, "pytest", signers=keys) if keys else []
        return [entry for entry in self._with_origins(signed) if entry.origin.startswith(ATTESTED)]

    def parents(self, entries: Iterable[Entry]) -> dict[str, Entry]:
        """The receipts of the commands that started these runs, by run."""
        some = list(entries)
        wanted = {one.receipt.parent for one in some}
        found = {one.receipt.run: one for one in self.waiting if one.receipt.run in wanted}
        stored = parents_of(self.db, some) if self.db else {}
        return found | dict(zip(stored, self._with_origins(list(stored.values())), strict=True))

    def _with_origins(self, entries: list[Entry]) -> list[Entry]:
        return with_origins(self.ws, self.db, entries, self.trust_ref) if self.ws else entries


def _once(entries: Iterable[Entry]) -> list[Entry]:
    """Entries, of those that one key signed the first of each run: a bundle has a run whole, and a
    note its facts.
    """
    found: dict[tuple[str, str], Entry] = {}
    for one in entries:
        key = (one.receipt.run, one.origin) if one.origin.startswith(ATTESTED) else (one.id, "")
        found.setdefault(key, one)
    return list(found.values())


def newest_first(entries: Iterable[Entry]) -> list[Entry]:
    """Entries in the order of this store, the newest first; where a trusted key signed one, as the
    runs ended.

    The number of a receipt is the order of import, and a newer run of our own settles an older one
    of theirs.
    """
    some = list(entries)
    foreign = any(one.origin.startswith(ATTESTED) for one in some)
    return sorted(
        some, key=lambda one: (one.receipt.ended if foreign else "", one.seq), reverse=True
    )


@contextmanager
def snapshot(ws: Workspace, head: str | None = None, trust_ref: str = "") -> Iterator[Snapshot]:
    """Read all evidence, after an import where that is possible. `head`: the commit, if known.

    `trust_ref`: see `Snapshot`. EnvironmentProblem where kl was never used, or the store can't be
    read.
    """
    require_setup(ws)
    taken = sync_evidence(ws, head)
    # spool, marks, store: in another order, an import by another process in between would be missed
    # or look like a loss
    captures, unread = unimported_captures(spool_places(ws))
    marks = read_marks(ws)
    with ws.store.reading() as db:
        newer = ws.store.newer(db) if db else None
        if newer:
            unread.insert(0, f"{newer.place} {newer.reason.rstrip('.')}")
        unread += map(str, _unsettled_missing_runs(ws, db, [receipt for receipt, _ in captures]))
        at = ledger.chain_head(db)[0] if db else 0
        new = [
            one
            for one in captures
            if not (db and db.row("SELECT 1 FROM receipt WHERE id = ?", (one[0].id,)))
        ]
        entries = [
            Entry(at + n, "", origin, receipt.id, receipt)
            for n, (receipt, origin) in enumerate(new, 1)
        ]
        yield Snapshot(
            db,
            taken,
            tuple(reversed(entries)),
            tuple(unread),
            tuple(rollbacks(db, marks)),
            ws,
            trust_ref,
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
