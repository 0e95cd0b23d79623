"""Checks the chain of this store: every receipt, every link, and the marks that were remembered outside it."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from typing import Any

from kl_hooks.evidence.chain import START, link
from kl_hooks.evidence.ledger import entry
from kl_hooks.model.receipt import receipt_id
from kl_hooks.store.database import Database


@dataclass(frozen=True, slots=True)
class Audit:
    """What was checked and found."""

    receipts: int
    head: str
    problems: tuple[str, ...]
    anchors: tuple[str, ...]
    """Which remembered heads could be checked, and what each proves."""


_ROWS = "SELECT seq, chain, origin, id, header, test_list, outcomes, run, source, tree, tree_all, ended FROM receipt"


def audit(db: Database, mark: dict[str, Any] | None) -> Audit:
    """Recomputes everything. `mark` is the high-water mark beside the database, None where there is none."""
    problems: list[str] = []
    chain, at, marked = START, 0, None
    for row in db.rows(f"{_ROWS} ORDER BY seq"):
        seq = int(row[0])
        if seq != at + 1:
            problems.append(
                f"receipts {at + 1} to {seq - 1} are missing" if seq > at else f"receipt {seq} is out of order"
            )
        chain, at = link(chain, str(row[3])), seq
        if chain != row[1]:
            problems.append(f"receipt {seq}: the chain is broken here (a receipt was edited, removed or reordered)")
            chain = str(row[1])
        problems += _row_problems(db, row)
        if mark and mark.get("seq") == seq:
            marked = chain
    return Audit(at, chain, tuple(problems + _mark_problems(mark, at, marked)), _anchors(mark))


def _row_problems(db: Database, row: Any) -> list[str]:
    seq, _, _, stored, header = row[:5]
    try:
        plain = json.loads(header)
        receipt = entry(db, row[:7]).receipt
        columns = (receipt.run, receipt.source, receipt.tree, receipt.tree_all, receipt.ended)
        found = []
        if receipt_id(plain) != stored:
            found.append(f"receipt {seq}: the header was edited (its hash is not its id {stored[:12]})")
        if receipt.evidence_digest != plain["evidence_digest"]:
            found.append(f"receipt {seq}: its evidence was edited (digest differs)")
        if columns != tuple(row[7:12]):
            found.append(f"receipt {seq}: a column differs from the header")
        return found
    except (ValueError, KeyError, IndexError, TypeError, AssertionError, zlib.error) as problem:
        return [f"receipt {seq}: can't be read ({type(problem).__name__}: {problem})"]


def _mark_problems(mark: dict[str, Any] | None, at: int, marked: str | None) -> list[str]:
    if not mark:
        return ["the high-water mark is missing, although there are receipts"] if at else []
    if mark["seq"] > at:
        return [
            f"the store went back: it had {mark['seq']} receipts, now {at} "
            "(an older copy was put in its place, or its newest part was cut off)"
        ]
    if mark["seq"] and marked != mark["chain"]:
        return [f"the chain differs from the high-water mark at receipt {mark['seq']}: history was rewritten"]
    return []


def _anchors(mark: dict[str, Any] | None) -> tuple[str, ...]:
    held = f"checked at receipt {mark['seq']}" if mark else "missing"
    return (
        f"high-water mark beside the store: {held}; it shows accidents and careless edits",
        "commit trailers: none read by this version; they would show a rewrite by one person",
        "CI attestation: none read by this version; it would show a rewrite by the owner too",
    )
