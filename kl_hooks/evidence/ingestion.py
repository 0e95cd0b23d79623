"""Bringing the ledger up to date: captures from the spool, commits that git has made since, and
imported files.

Under the store lock, in one transaction, idempotently; a spool file is removed only after the
commit. Where the store can't be written the spool stays as it is, and a gate reads the captures
from there (`evidence.snapshot`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kl_hooks.errors import EnvironmentProblem, StoreReadOnly
from kl_hooks.evidence.commits import add_commits, unlogged_commits
from kl_hooks.evidence.executed import import_executed, pending_executed, settle
from kl_hooks.evidence.foreign import foreign_evidence
from kl_hooks.evidence.high_water import ledger_writer
from kl_hooks.evidence.journal import pending_captures, remove_or_quarantine
from kl_hooks.evidence.ledger import append, has_receipt
from kl_hooks.evidence.spool_places import spool_places
from kl_hooks.git.run import GitFailed
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import Receipt
from kl_hooks.workspace import Workspace, is_set_up


class SyncResult(NamedTuple):
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
    return _Intake(ws).run(head_now)


class _Intake:
    """One import: what is found in the spool and in git, and then added in one transaction."""

    def __init__(self, ws: Workspace) -> None:
        self._ws = ws
        self._places, self._now = spool_places(ws), ws.clock.now()

    def run(self, head_now: str | None) -> SyncResult:
        """Import all of it. `head_now`: the commit, if known."""
        fetched = self._import_fetched()
        done = self._import_captured(head_now)
        if not fetched:
            return done
        return done._replace(blind=done.blind or fetched)

    def _import_fetched(self) -> str:
        """Import the notes that `git fetch` brought, where `kl hooks install --sync` asked for it;
        the error.
        """
        settings = self._ws.git_settings
        if settings is None or settings.kl.get("sync", "").lower() not in _TRUE:
            return ""
        return foreign_evidence(self._ws).import_fetched()

    def _import_captured(self, head_now: str | None) -> SyncResult:
        # before the captures: a file that is written meanwhile finds its receipt the next time
        sets = pending_executed(self._places, self._now)
        captures, left = pending_captures(self._places, self._now)
        receipts = [capture.receipt for capture in captures if capture.receipt]
        commits, blind = None, ""
        try:
            with self._ws.store.reading() as db:
                try:
                    commits = unlogged_commits(self._ws, db, head_now)
                except GitFailed as problem:
                    blind = str(problem)
                runs = {receipt.run for receipt in receipts}
                sets = [
                    file
                    for file in sets
                    if file.orphaned or file.run in runs or (db and has_receipt(db, file.run))
                ]
            if not captures and commits is None and not sets:
                return SyncResult(waiting=left, blind=blind)
            with ledger_writer(self._ws) as db:
                added = sum(
                    append(db, [capture.receipt], capture.origin)
                    for capture in captures
                    if capture.receipt
                )
                if commits is not None:
                    added += add_commits(db, commits)
                settled = import_executed(db, sets)
        except (EnvironmentProblem, OSError) as problem:
            return SyncResult(
                waiting=left + len(captures),
                trouble=str(problem),
                read_only=isinstance(problem, StoreReadOnly),
            )
        try:
            aside = tuple(str(path) for one in captures if (path := remove_or_quarantine(one)))
            aside += settle(settled)
            # only the note of the git hook that there are new commits: what they are was read from
            # git
            (self._ws.state.spool / "commits").unlink(missing_ok=True)
        except OSError as problem:
            trouble = f"imported, but it can't be removed from the spool: {problem}"
            return SyncResult(added, waiting=left, trouble=trouble)
        bad = sum(capture.bad for capture in captures)
        return SyncResult(added, _killed_runs(receipts), bad, aside, left, blind=blind)


_TRUE: Final = ("true", "yes", "on", "1")


def _killed_runs(receipts: Iterable[Receipt]) -> tuple[str, ...]:
    """The runs among these that ended without an end record."""
    return tuple(receipt.run for receipt in receipts if receipt.result.get("how") == "killed")
