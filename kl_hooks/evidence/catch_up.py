"""Taking in what observers left in the spool, and the commits that git has made since.

Under the store lock, in one transaction, idempotently; a spool file is removed only after the commit. Where the store
can't be written the spool stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.evidence.commits import Unread, keep, not_logged, receipt_for, unread
from kl_hooks.evidence.home import has_home
from kl_hooks.evidence.ledger import append
from kl_hooks.evidence.mark import ledger_for_adding
from kl_hooks.evidence.waiting import Waiting, done_with, waiting
from kl_hooks.git.run import GitFailed
from kl_hooks.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Taken:
    """What one catching up did."""

    receipts: int = 0
    """New receipts."""
    incomplete: tuple[str, ...] = ()
    """Runs that ended without an end record."""
    bad: int = 0
    """Spool records that were torn or altered, and left out."""
    aside: tuple[str, ...] = ()
    """Spool files that could not be understood, under the name they were given."""
    waiting: int = 0
    """Spool files that are still being written, or could not be taken in."""
    trouble: str = ""
    """Why the store could not be written; empty: it could."""
    blind: str = ""
    """Why git's commits could not be read; empty: they could."""


def catch_up(ws: Workspace, head_now: str | None = None) -> Taken:
    """Takes in every finished spool file and every new commit. Never raises for a store that can't be written.

    `head_now` saves a question to git where the caller knows the commit already.
    """
    if not has_home(ws):
        return Taken()
    found, left = waiting(ws)
    try:
        new, blind = _new_commits(ws, head_now)
        if not found and new is None:
            return Taken(waiting=left, blind=blind)
        receipts = _add(ws, found, new)
    except (EnvironmentProblem, OSError) as problem:
        return Taken(waiting=left + len(found), trouble=str(problem))
    try:
        aside = tuple(str(path) for one in found if (path := done_with(one)))
        (ws.state.spool / "commits").unlink(missing_ok=True)
    except OSError as problem:
        return Taken(receipts, waiting=left, trouble=f"taken in, but it can't be removed from the spool: {problem}")
    gone = tuple(one.receipt.run for one in found if one.receipt and one.receipt.result.get("how") == "killed")
    return Taken(receipts, gone, sum(one.bad for one in found), aside, left, blind=blind)


def _new_commits(ws: Workspace, head_now: str | None) -> tuple[Unread | None, str]:
    """The commits that git has and the log has not, and why they can't be told."""
    with ws.store.reading() as db:
        try:
            return unread(ws, db, head_now), ""
        except GitFailed as problem:
            return None, str(problem)


def _add(ws: Workspace, found: list[Waiting], new: Unread | None) -> int:
    with ledger_for_adding(ws) as db:
        count = sum(append(db, [one.receipt], one.origin) for one in found if one.receipt)
        if new is not None:
            new = not_logged(db, new)  # asked again: another process may have read them while we waited for the lock
            receipt = receipt_for(ws, new) if new.commits else None
            count += append(db, [receipt]) if receipt else 0
            keep(db, new, receipt)
        return count
