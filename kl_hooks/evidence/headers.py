"""Headers of receipts: who ran what, when and where, without taking the evidence itself out of its columns."""

from __future__ import annotations

import json
from collections.abc import Sequence

from kl_hooks.evidence.ledger import UNREADABLE
from kl_hooks.model.receipt import Receipt, receipt_from_header
from kl_hooks.store.database import Database, chunks, placeholders


def headers(db: Database, ids: Sequence[str]) -> dict[str, tuple[Receipt, str]]:
    """Id → (the receipt without its evidence, its origin), for those that are here and can be read."""
    found: dict[str, tuple[Receipt, str]] = {}
    for some in chunks(ids):
        for id, header, origin in db.rows(
            f"SELECT id, header, origin FROM receipt WHERE id IN ({placeholders(some)})", some
        ):
            try:
                found[str(id)] = (receipt_from_header(json.loads(header), ()), str(origin))
            except UNREADABLE:
                continue
    return found
