"""The high-water marks that show a store that lost receipts, and adding to the ledger under them.

Two marks remember how many receipts the store had, and its chain there. The first is the file
`high-water` beside `kl.db`. The second is in the user's state folder, keyed by the git directory,
so that it survives when the whole state directory is replaced or deleted. Both are written under
the store lock, after the commit: a mark is never ahead of the store, and whoever reads the marks
before the store sees no false alarm.

A mark only moves on from a store that still has what the mark remembers. Otherwise the loss stays
in the mark as a break, however much is added later, until a person accepts it (`kl evidence
accept`). This finds accidents (an older copy put back, a deleted file). It does not stop somebody
with the user's rights, who can edit the marks too.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from kl_hooks.clock import iso
from kl_hooks.evidence.ledger import CHAIN_START, chain_head
from kl_hooks.hookspecs import Removal
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.text import counted
from kl_hooks.store.database import Database
from kl_hooks.store.files import write_atomic
from kl_hooks.store.state import remove_empty, user_state_directory
from kl_hooks.workspace import Workspace

_MOST_BREAKS: Final = 20
Mark = dict[str, Any]
"""`seq`, `chain`, and where known `at` (ISO 8601) and `breaks`."""


class Marks(NamedTuple):
    """Both marks of a store; None where there is none that can be read."""

    first: Mark | None
    second: Mark | None
    path: str = "high-water"
    """Of the first."""


class Rollback(NamedTuple):
    """Receipts that a mark remembers and the store does not have any more."""

    had: int
    """Receipts of the store when the mark was written; 0: the mark itself is missing."""
    on: str
    """When (ISO 8601); empty: unknown."""
    found: int
    """Receipts of the store now."""
    path: str = ""
    """Of the first mark."""
    noticed_at: int = 0
    """Receipts of the store when the loss was noticed: those with higher numbers followed it."""

    def __str__(self) -> str:
        if not self.had:
            return (
                f"the high-water mark {self.path} is missing: receipts lost from this store would"
                " not be noticed"
            )
        on = f" on {self.on[:10]}" if self.on else ""
        if self.found < self.had:
            return f"this store had {counted(self.had, 'receipt')}{on}, now {self.found}"
        return (
            f"this store had {counted(self.had, 'receipt')}{on}; not all of them are among its"
            f" {self.found} now"
        )

    def to_dict(self) -> dict[str, Any]:
        """As in JSON answers and in the Event that accepts it."""
        return {"had": self.had, "on": self.on or None, "found": self.found}


def read_marks(ws: Workspace) -> Marks:
    """Read both marks. Before the store is opened: afterwards another process may have moved them
    on.
    """
    second = _second_mark_path(ws)
    return Marks(
        _read_mark(ws.state.high_water),
        _read_mark(second) if second else None,
        str(ws.state.high_water),
    )


def rollbacks(db: Database | None, marks: Marks) -> list[Rollback]:
    """Return what the marks remember and the store does not have, and the breaks that nobody has
    accepted.
    """
    receipts = chain_head(db)[0] if db else 0
    lost = {
        (loss["had"], loss["had_chain"]): Rollback(
            loss["had"], loss["on"], receipts, marks.path, loss["found"]
        )
        for mark in marks[:2]
        for loss in (*_breaks_of(mark), *_broken_now(db, mark, receipts, ""))
    }
    # only where both are missing: there is no second one where the user's folder can't be written
    if receipts and _lacks_mark(db, marks) and (0, None) not in lost:
        lost[0, None] = Rollback(0, "", receipts, marks.path, receipts)
    return list(lost.values())


@contextmanager
def ledger_writer(ws: Workspace, *, accept: bool = False) -> Iterator[Database]:
    """The ledger, in a transaction that ends with the block. Raises as `Store.writing`, and
    OSError.

    `accept`: from here on the marks remember the store as it is, without breaks.
    """
    path = ws.state.high_water
    with ws.store.writing(what="adding evidence") as db:
        marks = read_marks(ws)
        start = chain_head(db)
        if marks.first is None and start == (0, CHAIN_START):
            # before anything is added, so that a missing mark always means something
            write_high_water(path, {"seq": 0, "chain": CHAIN_START})
        now = iso(ws.clock.now())
        if accept:
            breaks = []
        else:
            breaks = _breaks_to_remember(db, marks, start[0], now)
        with db.transaction():
            yield db
            seq, chain = chain_head(db)
        mark = {"seq": seq, "chain": chain, "at": now} | ({"breaks": breaks} if breaks else {})
        write_high_water(path, mark)
        # where the user's folder can't be written there is no second mark
        if second := _second_mark_path(ws):
            with suppress(OSError):
                second.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                # one that is missing raises no alarm while the first, which is synced, is there
                write_high_water(second, mark, sync=False)


def _lacks_mark(db: Database | None, marks: Marks) -> bool:
    """Whether there is no mark where one was written: a clone meets a team's database with receipts
    of others in it.
    """
    return not (marks.first or marks.second) and db is not None and db.dialect == "sqlite"


def _breaks_of(mark: Mark | None) -> list[dict[str, Any]]:
    """The breaks that a mark remembers: `had` and `found` (numbers of receipts), `on` and `at` (ISO
    8601).
    """
    noted = (mark or {}).get("breaks")
    if isinstance(noted, list):
        entries = [entry for entry in noted if isinstance(entry, dict)]
    else:
        entries = []
    numbers = (
        entry
        for entry in entries
        if isinstance(entry.get("had"), int) and isinstance(entry.get("found"), int)
    )
    return [{"had_chain": None, **entry, "on": str(entry.get("on") or "")} for entry in numbers]


def _breaks_to_remember(
    db: Database, marks: Marks, receipts: int, now: str
) -> list[dict[str, Any]]:
    """The breaks to remember from now on: known ones, and those seen now, each once."""
    losses = [
        loss
        for mark in marks[:2]
        for loss in (*_breaks_of(mark), *_broken_now(db, mark, receipts, now))
    ]
    if receipts and _lacks_mark(db, marks):
        losses.append({"had": 0, "had_chain": None, "found": receipts, "on": "", "at": now})
    # reversed: of equal breaks a dictionary keeps the last one, and the first has the day on which
    # it was noticed
    return list({(loss["had"], loss["had_chain"]): loss for loss in reversed(losses)}.values())[
        ::-1
    ][-_MOST_BREAKS:]


def _broken_now(
    db: Database | None, mark: Mark | None, receipts: int, now: str
) -> list[dict[str, Any]]:
    """The break between this mark and the store; none where the store still has what the mark
    remembers.
    """
    if mark is None:
        return []
    if db:
        now_there = chain_at(db, mark["seq"])
    elif mark["seq"]:
        now_there = None
    else:
        now_there = CHAIN_START
    if now_there == mark["chain"]:
        return []
    on = str(mark.get("at") or "")
    return [
        {"had": mark["seq"], "had_chain": mark["chain"], "found": receipts, "on": on, "at": now}
    ]


def chain_at(db: Database, seq: int) -> str | None:
    """The chain's value after the receipt of this number; None where there is no such receipt."""
    if seq:
        row = db.row("SELECT chain FROM receipt WHERE seq = ?", (seq,))
    else:
        row = (CHAIN_START,)
    if not row:
        return None
    return str(row[0])


def _read_mark(path: Path) -> Mark | None:
    """A mark of ours. Without a date of its own (kl before 0.1) it has that of its file."""
    mark = read_high_water(path)
    try:
        info = path.stat()
    except OSError:
        return mark
    if mark is None:
        return None
    # ours or root's: under sudo, or in a container, root writes it
    if os.geteuid() in (0, info.st_uid) or not info.st_uid:
        return {"at": iso(info.st_mtime_ns // 1000)} | mark
    return None


def read_high_water(path: Path) -> dict[str, Any] | None:
    """The mark: `seq` and `chain`; None where there is none that can be read."""
    try:
        mark = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    good = (
        isinstance(mark, dict)
        and isinstance(mark.get("seq"), int)
        and isinstance(mark.get("chain"), str)
    )
    return mark if good else None


def write_high_water(path: Path, mark: dict[str, Any], *, sync: bool = True) -> None:
    """Replace the mark. Raises OSError. Without `sync` a power loss may destroy it.

    Root (in a container, under sudo) leaves it to the owner of the folder, who could not read it
    otherwise.
    """
    write_atomic(path, json.dumps(mark, sort_keys=True).encode() + b"\n", mode=0o600, sync=sync)
    if os.geteuid() == 0:
        folder = path.parent.stat()
        if folder.st_uid:
            os.chown(path, folder.st_uid, folder.st_gid)


def remove_second_mark(ws: Workspace, is_dry_run: bool) -> list[Removal]:
    """Remove the mark in the user's folder: without it a new store raises no alarm."""
    path = _second_mark_path(ws)
    if path is None or not path.exists():
        return []
    if not is_dry_run:
        path.unlink()
        remove_empty(path.parent, path.parent.parent)
    return [Removal(str(path), "mark of receipts")]


def _second_mark_path(ws: Workspace) -> Path | None:
    """Where the second mark is; None without git: then the state directory is in the user's folder
    already.

    The key is the identity of the git directory (device, inode, path): a copy of the repository has
    another. A file system may give the inode of a deleted repository to the next one at the same
    path (ext4 does), so the ctime of `description` is part of it: git never rewrites that file, and
    no copy preserves a ctime.
    """
    if ws.repo is None or not any(
        ws.environ.get(name, "").startswith("/") for name in ("HOME", "XDG_STATE_HOME")
    ):
        return None
    common = ws.repo.common_dir
    try:
        info = common.stat()
        if (common / "description").exists():
            created = (common / "description").stat().st_ctime_ns
        else:
            created = 0
    except OSError:
        return None
    paths = [os.path.realpath(common), os.path.realpath(ws.state.directory)]
    if ws.store.address:
        paths += [ws.state.high_water.name]
    key = "\0".join([str(info.st_dev), str(info.st_ino), str(created), *paths])
    return (
        user_state_directory(ws.environ)
        / "marks"
        / hashlib.sha256(os.fsencode(key)).hexdigest()[:24]
    )
