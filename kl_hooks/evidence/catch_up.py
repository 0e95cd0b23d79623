"""Taking in what observers left in the spool, and the commits that git has made since.

Under the store lock, in one transaction, idempotently; a spool file is removed only after the commit. Where the store
can't be written the spool stays as it is.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.evidence.commits import Unread, keep, receipt_for, unread
from kl_hooks.evidence.intake import receipt_of
from kl_hooks.evidence.ledger import append, head
from kl_hooks.git.repository import is_tracked
from kl_hooks.model.receipt import Receipt
from kl_hooks.store import high_water
from kl_hooks.store.spool_read import pending, read
from kl_hooks.store.state import spool_places
from kl_hooks.workspace.open import Workspace


@dataclass(frozen=True, slots=True)
class Taken:
    """What one catching up did."""

    receipts: int = 0
    """New receipts."""
    incomplete: tuple[str, ...] = ()
    """Runs that ended without an end record."""
    bad: int = 0
    """Spool records that were torn or altered, and left out."""
    waiting: int = 0
    """Spool files that are still being written, or could not be taken in."""
    trouble: str = ""
    """Why the store could not be written; empty: it could."""


@dataclass(frozen=True, slots=True)
class _Found:
    path: Path
    origin: str
    receipt: Receipt | None
    bad: int


def has_home(ws: Workspace) -> bool:
    """True where kl was set up, or has recorded something: elsewhere nothing is created by looking."""
    return ws.initialised or ws.state.directory.exists()


def require_home(ws: Workspace) -> None:
    """EnvironmentProblem with the next step where kl has no home."""
    if has_home(ws):
        return
    if ws.repo is None:
        hint = "kl keeps its evidence per repository; run it inside one, or give --root."
        raise EnvironmentProblem("not a git repository.", place=str(ws.root), hint=hint)
    raise EnvironmentProblem("kl is not set up here.", place=str(ws.root), hint="Set it up with: kl init")


def catch_up(ws: Workspace, head_now: str | None = None) -> Taken:
    """Takes in every finished spool file and every new commit. Never raises for a store that can't be written.

    `head_now` saves a question to git where the caller knows the commit already.
    """
    if not has_home(ws):
        return Taken()
    found, busy = _spooled(ws)
    try:
        with ws.store.reading() as db:
            new = unread(ws, db, head_now)
        if not found and new is None:
            return Taken(waiting=busy)
        receipts = _write(ws, found, new)
    except (EnvironmentProblem, OSError) as problem:
        return Taken(waiting=busy + len(found), trouble=str(problem))
    for one in found:
        one.path.unlink(missing_ok=True)
    (ws.state.spool / "commits").unlink(missing_ok=True)
    gone = tuple(f.receipt.run for f in found if f.receipt and f.receipt.result.get("how") == "killed")
    return Taken(receipts, gone, sum(f.bad for f in found), busy)


def _write(ws: Workspace, found: list[_Found], new: Unread | None) -> int:
    with ws.store.writing() as db:
        with db.transaction():
            count = 0
            for one in found:
                count += append(db, [one.receipt], one.origin) if one.receipt else 0
            if new is not None:
                receipt = receipt_for(ws, new) if new.commits else None
                count += append(db, [receipt]) if receipt else 0
                keep(db, new, receipt)
            seq, chain = head(db)
        high_water.write(ws.state.high_water, {"seq": seq, "chain": chain})
    return count


def _spooled(ws: Workspace) -> tuple[list[_Found], int]:
    """The spool files whose writers are gone, oldest first, and how many are still being written."""
    found, busy = [], 0
    for path, origin in _files(ws):
        try:
            spool = read(path)
        except OSError:
            busy += 1
            continue
        if spool.busy:
            busy += 1
            continue
        found.append(_Found(path, origin, receipt_of(spool.records), spool.bad))
    return found, busy


def _files(ws: Workspace) -> Iterator[tuple[Path, str]]:
    for directory, origin in spool_places(ws.state, ws.root, ws.environ):
        inside = directory.is_relative_to(ws.root) and not directory.is_relative_to(ws.state.directory)
        for path in pending(directory):
            if not inside or _ours(ws, path):
                yield path, origin


def _ours(ws: Workspace, path: Path) -> bool:
    """A spool file in the work tree may have come with the checkout: only untracked files of this user count."""
    status = path.lstat()
    mine = stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid()
    return mine and not (ws.repo and is_tracked(ws.repo, path))
