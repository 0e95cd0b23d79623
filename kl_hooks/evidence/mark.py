"""Adding to the ledger, and the high-water marks that show when the store has gone back.

Two marks remember how many receipts the store had, and its chain there. The first is the file `high-water` beside
`kl.db`. The second is in the user's state folder, keyed by the git directory, so that it survives when the whole
state directory is replaced or deleted. Both are written under the store lock, after the commit: a mark is never ahead
of the store, and whoever reads the marks before the store sees no false alarm.

A mark only moves on from a store that still has what the mark remembers. Otherwise the loss stays in the mark as a
break, however much is added later, until a person accepts it (`kl evidence accept`). This finds accidents (an older
copy put back, a deleted file). It does not stop somebody with the user's rights, who can edit the marks too.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from kl_hooks.clock import iso
from kl_hooks.evidence.chain import START
from kl_hooks.evidence.ledger import chain_at, head
from kl_hooks.store import state
from kl_hooks.store.database import Database
from kl_hooks.store.state import user_state_directory
from kl_hooks.workspace import Workspace

MOST_BREAKS: Final = 20
Mark = dict[str, Any]
"""`seq`, `chain`, and where known `at` (ISO 8601) and `breaks`."""


class Marks(NamedTuple):
    """Both marks of a store; None where there is none that can be read."""

    first: Mark | None
    second: Mark | None
    path: str = "high-water"
    """Of the first."""


@dataclass(frozen=True, slots=True)
class Rollback:
    """Receipts that a mark remembers and the store does not have any more."""

    had: int
    """Receipts of the store when the mark was written; 0: the mark itself is missing."""
    on: str
    """When (ISO 8601); empty: unknown."""
    found: int
    """Receipts of the store now."""
    path: str = ""
    """Of the first mark."""

    def __str__(self) -> str:
        if not self.had:
            return f"the high-water mark {self.path} is missing: receipts lost from this store would not be noticed"
        on = f" on {self.on[:10]}" if self.on else ""
        if self.found < self.had:
            return f"this store had {self.had} receipts{on}, now {self.found}"
        return f"this store had {self.had} receipts{on}; not all of them are among its {self.found} now"

    def to_dict(self) -> dict[str, Any]:
        """As in JSON answers and in the Event that accepts it."""
        return {"had": self.had, "on": self.on or None, "found": self.found}


def read_marks(ws: Workspace) -> Marks:
    """Read both marks. Before the store is opened: afterwards another process may have moved them on."""
    second = _second_path(ws)
    return Marks(_read(ws.state.high_water), _read(second) if second else None, str(ws.state.high_water))


def rollbacks(db: Database | None, marks: Marks) -> list[Rollback]:
    """Return what the marks remember and the store does not have, and the breaks that nobody has accepted."""
    found = head(db)[0] if db else 0
    lost = {
        (one["had"], one["had_chain"]): Rollback(one["had"], one["on"], found, marks.path)
        for mark in marks[:2]
        for one in (*breaks_of(mark), *_broken_now(db, mark, found, ""))
    }
    if found and not marks.first and not marks.second and (0, None) not in lost:
        lost[0, None] = Rollback(0, "", found, marks.path)
    return list(lost.values())


@contextmanager
def ledger_for_adding(ws: Workspace, *, accept: bool = False) -> Iterator[Database]:
    """The ledger, in a transaction that ends with the block. Raises as `Store.writing`, and OSError.

    `accept`: from here on the marks remember the store as it is, without breaks.
    """
    path = ws.state.high_water
    with ws.store.writing(what="adding evidence") as db:
        marks = read_marks(ws)
        start = head(db)
        if marks.first is None and start == (0, START):
            # written before anything is added, so that a mark that is missing always says something
            state.write_high_water(path, {"seq": 0, "chain": START})
        now = iso(ws.clock.now())
        breaks = [] if accept else _breaks(db, marks, start[0], now)
        with db.transaction():
            yield db
            seq, chain = head(db)
        mark = {"seq": seq, "chain": chain, "at": now} | ({"breaks": breaks} if breaks else {})
        state.write_high_water(path, mark)
        _write_second(ws, mark)


def breaks_of(mark: Mark | None) -> list[dict[str, Any]]:
    """The breaks that a mark remembers: `had` and `found` (numbers of receipts), `on` and `at` (ISO 8601)."""
    noted = (mark or {}).get("breaks")
    some = [one for one in noted if isinstance(one, dict)] if isinstance(noted, list) else []
    numbers = (one for one in some if isinstance(one.get("had"), int) and isinstance(one.get("found"), int))
    return [{"had_chain": None, **one, "on": str(one.get("on") or "")} for one in numbers]


def _breaks(db: Database, marks: Marks, found: int, now: str) -> list[dict[str, Any]]:
    """The breaks to remember from now on: known ones, and those seen now, each once."""
    every = [one for mark in marks[:2] for one in (*breaks_of(mark), *_broken_now(db, mark, found, now))]
    if found and not marks.first and not marks.second:
        every.append({"had": 0, "had_chain": None, "found": found, "on": "", "at": now})
    return list({(one["had"], one["had_chain"]): one for one in reversed(every)}.values())[::-1][-MOST_BREAKS:]


def _broken_now(db: Database | None, mark: Mark | None, found: int, now: str) -> list[dict[str, Any]]:
    """The break between this mark and the store; none where the store still has what the mark remembers."""
    if mark is None:
        return []
    now_there = chain_at(db, mark["seq"]) if db else None if mark["seq"] else START
    if now_there == mark["chain"]:
        return []
    on = str(mark.get("at") or "")
    return [{"had": mark["seq"], "had_chain": mark["chain"], "found": found, "on": on, "at": now}]


def _read(path: Path) -> Mark | None:
    """A mark of ours. Without a date of its own (kl before 0.1) it has that of its file."""
    mark = state.read_high_water(path)
    if mark is None:
        return None
    try:
        info = path.stat()
    except OSError:
        return mark
    return {"at": iso(info.st_mtime_ns // 1000)} | mark if os.geteuid() in (0, info.st_uid) or not info.st_uid else None


def _second_path(ws: Workspace) -> Path | None:
    """Where the second mark is; None without git: then the state directory is in the user's folder already.

    The key is the identity of the git directory (device, inode, path): a copy of the repository has another. A file
    system may give the inode of a deleted repository to the next one at the same path (ext4 does), so the time at
    which `description` came there, which nothing rewrites, is part of it: its ctime, which no copy brings along.
    """
    if ws.repo is None or not any(ws.environ.get(name, "").startswith("/") for name in ("HOME", "XDG_STATE_HOME")):
        return None
    common = ws.repo.common_dir
    try:
        info = common.stat()
        made = (common / "description").stat().st_ctime_ns if (common / "description").exists() else 0
    except OSError:
        return None
    paths = (os.path.realpath(common), os.path.realpath(ws.state.directory))
    key = "\0".join([str(info.st_dev), str(info.st_ino), str(made), *paths])
    return user_state_directory(ws.environ) / "marks" / hashlib.sha256(os.fsencode(key)).hexdigest()[:24]


def _write_second(ws: Workspace, mark: Mark) -> None:
    """Replace the second mark. Where the user's folder can't be written there is none."""
    path = _second_path(ws)
    if path is None:
        return
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        state.write_high_water(path, mark, sync=False)
