"""The audit of a store: its chain of receipts recomputed, and what the high-water marks
remember.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kl_hooks.errors import StoreDamaged
from kl_hooks.evidence.commits import log_digest
from kl_hooks.evidence.executed import altered_parts
from kl_hooks.evidence.high_water import Marks, rollbacks
from kl_hooks.evidence.ledger import (
    CHAIN_START,
    COMPACTABLE,
    RETAINED,
    UNREADABLE,
    assertions,
    chain_link,
    list_digest,
    read_entry,
    test_names,
)
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import Receipt, receipt_id
from kl_hooks.store.database import Database

_DAMAGED = (*UNREADABLE, StoreDamaged)
_ROWS = (
    "SELECT seq, chain, origin, id, header, test_list, outcomes, folded, run, source, tree,"
    " tree_all, ended, parent FROM receipt ORDER BY seq"
)


class Audit(NamedTuple):
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
    chain = CHAIN_START
    last_seq = 0
    marked = CHAIN_START if mark and not mark["seq"] else None
    for row in db.rows(_ROWS) if db else ():
        seq = row[0]
        if not isinstance(seq, int):
            problems.append(f"the receipt after {last_seq} has no number")
            continue
        if seq != last_seq + 1:
            problems.append(f"receipts {last_seq + 1} to {seq - 1} are missing")
        chain, last_seq = chain_link(chain, str(row[3]), str(row[2])), seq
        if chain != row[1]:
            problems.append(
                f"receipt {seq}: the chain is broken here (a receipt was edited, removed or"
                " reordered)"
            )
            # go on from the stored value: one edited row is one problem, not one for every receipt
            # after it
            chain = str(row[1])
        if db:
            problems += _row_problems(db, row)
        if row[7] is not None:
            folds += [seq]
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
        if n > last_seq - RETAINED
    ]
    problems += _mark_problems(db, marks, last_seq, marked)
    return Audit(last_seq, chain, tuple(problems), _anchors(mark), len(folds))


def _damaged_pages(db: Database) -> list[str]:
    """An index that does not fit its table gives wrong answers to some questions, and right ones to
    those above.
    """
    if db.dialect == "sqlite":
        check = db.row("PRAGMA integrity_check(1)")
    else:
        check = None
    if check and check[0] != "ok":
        return [f"the database is damaged: {check[0]}"]
    return []


def edited_headers(db: Database) -> list[str]:
    """The receipts whose ID is not the hash of their header, or that can't be read: each header is
    looked at.
    """
    edited = []
    for seq, stored, header in db.rows("SELECT seq, id, header FROM receipt ORDER BY seq"):
        try:
            same = receipt_id(json.loads(header)) == stored
        except _DAMAGED:
            same = False
        if not same:
            edited.append(f"receipt {seq}")
    return edited


def _row_problems(db: Database, row: Any) -> list[str]:
    seq, _, origin, stored, header = row[:5]
    try:
        plain = json.loads(header)
        receipt = read_entry(db, row[:8]).receipt
        problems = list(_header_problems(plain, receipt, stored, tuple(row[8:14])))
        problems += _fold_problems(db, row)
        # an import brings its receipts along, not the rows of the log
        own = receipt.source == "commits" and not str(origin).startswith("imported")
        noted = receipt.result.get("log") if own else None
        if noted and noted != log_digest(db, stored):
            problems.append("its commits were edited in the log")
        return [f"receipt {seq}: {what}" for what in problems]
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
        if count == 1:
            belong = "piece of evidence belongs"
        else:
            belong = "pieces of evidence belong"
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


def _mark_problems(
    db: Database | None, marks: Marks, last_seq: int, marked: str | None
) -> Iterator[str]:
    mark = marks.first
    if mark is None and last_seq and db and db.dialect == "sqlite":
        yield "the high-water mark is missing, although there are receipts"
    for rollback in rollbacks(db, marks):
        if rollback.had:
            cause = "an older copy was put in its place, or its newest part was cut off"
            yield (
                f"{rollback} ({cause}). hint: put the newer copy back, or: kl evidence "
                "accept --reason TEXT"
            )
    if mark and mark["seq"] <= last_seq and marked != mark["chain"]:
        yield (
            f"the chain differs from the high-water mark at receipt {mark['seq']}: history was"
            " rewritten"
        )


def _anchors(mark: dict[str, Any] | None) -> tuple[str, ...]:
    if mark:
        state = f"checked at receipt {mark['seq']}"
    else:
        state = "missing"
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
        if one.confirmed is None
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
