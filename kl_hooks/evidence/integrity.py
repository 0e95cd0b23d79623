"""Adding to the ledger, the high-water marks that show a store that lost receipts, and the audit of
its chain.

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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from kl_hooks.clock import iso
from kl_hooks.errors import StoreDamaged
from kl_hooks.evidence.commits import log_digest
from kl_hooks.evidence.executed import altered_parts
from kl_hooks.evidence.ledger import (
    CHAIN_START,
    COMPACTABLE,
    RETAINED,
    UNREADABLE,
    assertions,
    chain_head,
    chain_link,
    list_digest,
    read_entry,
    test_names,
)
from kl_hooks.model.receipt import Receipt, receipt_id
from kl_hooks.model.text import counted
from kl_hooks.store.database import Database
from kl_hooks.store.files import write_atomic
from kl_hooks.store.state import user_state_directory
from kl_hooks.workspace import Workspace

MOST_BREAKS: Final = 20
Mark = dict[str, Any]
"""`seq`, `chain`, and where known `at` (ISO 8601) and `breaks`."""
_DAMAGED = (*UNREADABLE, StoreDamaged)
_ROWS = (
    "SELECT seq, chain, origin, id, header, test_list, outcomes, folded, run, source, tree,"
    " tree_all, ended, parent FROM receipt ORDER BY seq"
)


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
    found = chain_head(db)[0] if db else 0
    lost = {
        (one["had"], one["had_chain"]): Rollback(one["had"], one["on"], found, marks.path)
        for mark in marks[:2]
        for one in (*_breaks_of(mark), *_broken_now(db, mark, found, ""))
    }
    # only where both are missing: there is no second one where the user's folder can't be written
    if found and _lacks_mark(db, marks) and (0, None) not in lost:
        lost[0, None] = Rollback(0, "", found, marks.path)
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
        breaks = [] if accept else _breaks_to_remember(db, marks, start[0], now)
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
    some = [one for one in noted if isinstance(one, dict)] if isinstance(noted, list) else []
    numbers = (
        one for one in some if isinstance(one.get("had"), int) and isinstance(one.get("found"), int)
    )
    return [{"had_chain": None, **one, "on": str(one.get("on") or "")} for one in numbers]


def _breaks_to_remember(db: Database, marks: Marks, found: int, now: str) -> list[dict[str, Any]]:
    """The breaks to remember from now on: known ones, and those seen now, each once."""
    every = [
        one for mark in marks[:2] for one in (*_breaks_of(mark), *_broken_now(db, mark, found, now))
    ]
    if found and _lacks_mark(db, marks):
        every.append({"had": 0, "had_chain": None, "found": found, "on": "", "at": now})
    # reversed: of equal breaks a dictionary keeps the last one, and the first has the day on which
    # it was noticed
    return list({(one["had"], one["had_chain"]): one for one in reversed(every)}.values())[::-1][
        -MOST_BREAKS:
    ]


def _broken_now(
    db: Database | None, mark: Mark | None, found: int, now: str
) -> list[dict[str, Any]]:
    """The break between this mark and the store; none where the store still has what the mark
    remembers.
    """
    if mark is None:
        return []
    now_there = chain_at(db, mark["seq"]) if db else None if mark["seq"] else CHAIN_START
    if now_there == mark["chain"]:
        return []
    on = str(mark.get("at") or "")
    return [{"had": mark["seq"], "had_chain": mark["chain"], "found": found, "on": on, "at": now}]


def chain_at(db: Database, seq: int) -> str | None:
    """The chain's value after the receipt of this number; None where there is no such receipt."""
    row = db.row("SELECT chain FROM receipt WHERE seq = ?", (seq,)) if seq else (CHAIN_START,)
    return str(row[0]) if row else None


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
    return (
        {"at": iso(info.st_mtime_ns // 1000)} | mark
        if os.geteuid() in (0, info.st_uid) or not info.st_uid
        else None
    )


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
        made = (
            (common / "description").stat().st_ctime_ns if (common / "description").exists() else 0
        )
    except OSError:
        return None
    paths = [os.path.realpath(common), os.path.realpath(ws.state.directory)]
    paths += [ws.state.high_water.name] if ws.store.address else []
    key = "\0".join([str(info.st_dev), str(info.st_ino), str(made), *paths])
    return (
        user_state_directory(ws.environ)
        / "marks"
        / hashlib.sha256(os.fsencode(key)).hexdigest()[:24]
    )


@dataclass(frozen=True, slots=True)
class Audit:
    """What was checked and found."""

    receipts: int
    head: str
    problems: tuple[str, ...]
    anchors: tuple[str, ...]
    """Which remembered heads could be checked, and what each proves."""
    folded: int = 0
    """Receipts that were compacted: of these the header and the chain were checked."""


def audit(db: Database | None, marks: Marks) -> Audit:
    """Recompute everything. `db` is None where there is none; `marks` are read before it was
    opened.
    """
    mark = marks.first
    problems: list[str] = []
    folds: list[int] = []
    chain, at, marked = CHAIN_START, 0, CHAIN_START if mark and not mark["seq"] else None
    for row in db.rows(_ROWS) if db else ():
        seq = row[0]
        if not isinstance(seq, int):
            problems.append(f"the receipt after {at} has no number")
            continue
        if seq != at + 1:
            problems.append(f"receipts {at + 1} to {seq - 1} are missing")
        chain, at = chain_link(chain, str(row[3]), str(row[2])), seq
        if chain != row[1]:
            problems.append(
                f"receipt {seq}: the chain is broken here (a receipt was edited, removed or"
                " reordered)"
            )
            # go on from the stored value: one edited row is one problem, not one for every receipt
            # after it
            chain = str(row[1])
        problems += _row_problems(db, row) if db else []
        folds += [seq] if row[7] is not None else []
        if mark and mark["seq"] == seq:
            marked = chain
    if db:
        problems += [
            *_damaged_pages(db),
            *_strays(db),
            *_altered_lists(db),
            *_altered_assertions(db),
        ]
        problems += altered_parts(db)
    problems += [
        f"receipt {n}: it is folded, and one of the newest {RETAINED} never is"
        for n in folds
        if n > at - RETAINED
    ]
    problems += _mark_problems(db, marks, at, marked)
    return Audit(at, chain, tuple(problems), _anchors(mark), len(folds))


def _damaged_pages(db: Database) -> list[str]:
    """An index that does not fit its table gives wrong answers to some questions, and right ones to
    those above.
    """
    found = db.row("PRAGMA integrity_check(1)") if db.dialect == "sqlite" else None
    return [f"the database is damaged: {found[0]}"] if found and found[0] != "ok" else []


def edited_headers(db: Database) -> list[str]:
    """The receipts whose ID is not the hash of their header, or that can't be read: each header is
    looked at.
    """
    found = []
    for seq, stored, header in db.rows("SELECT seq, id, header FROM receipt ORDER BY seq"):
        try:
            same = receipt_id(json.loads(header)) == stored
        except _DAMAGED:
            same = False
        if not same:
            found.append(f"receipt {seq}")
    return found


def _row_problems(db: Database, row: Any) -> list[str]:
    seq, _, origin, stored, header = row[:5]
    try:
        plain = json.loads(header)
        receipt = read_entry(db, row[:8]).receipt
        found = list(_header_problems(plain, receipt, stored, tuple(row[8:14])))
        found += _fold_problems(db, row)
        # an import brings its receipts along, not the rows of the log
        own = receipt.source == "commits" and not str(origin).startswith("imported")
        noted = receipt.result.get("log") if own else None
        if noted and noted != log_digest(db, stored):
            found.append("its commits were edited in the log")
        return [f"receipt {seq}: {what}" for what in found]
    except _DAMAGED as problem:
        return [f"receipt {seq}: can't be read ({type(problem).__name__}: {problem})"]


def _header_problems(
    plain: Any, receipt: Receipt, stored: str, columns: tuple[Any, ...]
) -> Iterator[str]:
    if receipt_id(plain) != stored:
        yield f"the header was edited (its hash is not its id {str(stored)[:12]})"
    if receipt.evidence_digest != plain["evidence_digest"]:
        yield "its evidence was edited (digest differs)"
    # the columns repeat the header for queries: with an edited one they would miss the receipt
    if columns != (
        receipt.run,
        receipt.source,
        receipt.tree,
        receipt.tree_all,
        receipt.ended,
        receipt.parent,
    ):
        yield "a column differs from the header"


def _fold_problems(db: Database, row: Any) -> Iterator[str]:
    """Compaction removes all of the evidence, and only of runs of tests."""
    if row[7] is None:
        return
    if row[9] not in COMPACTABLE:
        yield f"it is marked as folded, and receipts of {row[9]} never are"
    if (
        row[5] is not None
        or row[6] is not None
        or db.row("SELECT 1 FROM evidence WHERE receipt = ?", (row[0],))
    ):
        yield "it is marked as folded, and part of its evidence is there"


def _strays(db: Database) -> Iterator[str]:
    """Rows that belong to no receipt, and evidence that is filed under another subject than its
    own.
    """
    for seq, count in db.rows(
        "SELECT receipt, COUNT(*) FROM evidence WHERE receipt NOT IN (SELECT seq FROM receipt)"
        " GROUP BY receipt"
    ):
        belong = "piece of evidence belongs" if count == 1 else "pieces of evidence belong"
        yield f"{count} {belong} to a receipt {seq} that is not there"
    for (sha,) in db.rows(
        "SELECT sha FROM commit_log WHERE receipt NOT IN (SELECT id FROM receipt)"
    ):
        yield f"commit {str(sha)[:12]} is in the log, and no receipt names it"
    for seq, place, subject, body in db.rows(
        "SELECT receipt, position, subject, body FROM evidence"
    ):
        try:
            same = json.loads(body)["subject"] == subject
        except _DAMAGED:
            same = False
        if not same:
            yield f"receipt {seq}: evidence {place} is filed under another subject"


def _altered_lists(db: Database) -> Iterator[str]:
    for key, recorded in db.rows("SELECT id, digest FROM test_list"):
        try:
            same = list_digest(test_names(db, key)) == recorded
        except _DAMAGED:
            same = False
        if not same:
            yield f"the list of tests {key} was edited (its digest differs)"


def _mark_problems(db: Database | None, marks: Marks, at: int, marked: str | None) -> Iterator[str]:
    mark = marks.first
    if mark is None and at and db and db.dialect == "sqlite":
        yield "the high-water mark is missing, although there are receipts"
    for one in rollbacks(db, marks):
        if one.had:
            cause = "an older copy was put in its place, or its newest part was cut off"
            yield (
                f"{one} ({cause}). hint: put the newer copy back, or: kl evidence accept --reason"
                " TEXT"
            )
    if mark and mark["seq"] <= at and marked != mark["chain"]:
        yield (
            f"the chain differs from the high-water mark at receipt {mark['seq']}: history was"
            " rewritten"
        )


def _anchors(mark: dict[str, Any] | None) -> tuple[str, ...]:
    state = f"checked at receipt {mark['seq']}" if mark else "missing"
    return (
        f"high-water mark beside the store: {state}; it shows accidents and careless edits",
        "commit trailers: none read by this version; they would show a rewrite by one person",
        "CI attestation: none read by this version; it would show a rewrite by the owner too",
    )


def _altered_assertions(db: Database) -> Iterator[str]:
    """The claims that differ from their receipts."""
    # of a claim that was made again the newest assertion counts
    asserted = {
        key: (one.text, one.about, one.author, one.made_at, one.expires)
        for key, one in assertions(db)
    }
    rows = {
        row[0]: tuple(row[1:])
        # the archive first: a claim that was made again is in both, and its newer row counts
        for table in ("claim_archive", "claim")
        for row in db.rows(
            f"SELECT id, text, about, author, made_at, expires FROM {table} ORDER BY made_at, id"
        )
    }
    for key in sorted(asserted.keys() | rows.keys()):
        if key not in rows:
            yield f"claim {key}: it was asserted, and is not there any more"
        elif asserted.get(key) != rows[key]:
            yield f"claim {key}: it is not what was asserted"
