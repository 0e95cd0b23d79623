"""Adding to the ledger: one transaction under the store lock, and the high-water mark beside the store moved on.

The mark only ever moves on from a store that still has what the mark remembers. Where it has not (an older copy was put
in its place, its newest part was cut off), that stays written in the mark as a break, however much is added later.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from kl_hooks.clock import iso
from kl_hooks.evidence.chain import START
from kl_hooks.evidence.ledger import chain_at, head
from kl_hooks.store import high_water
from kl_hooks.store.database import Database
from kl_hooks.workspace.open import Workspace

MOST_BREAKS: Final = 20


@contextmanager
def ledger_for_adding(ws: Workspace) -> Iterator[Database]:
    """The ledger, in a transaction that ends with the block. Raises as `Store.writing`, and OSError."""
    path = ws.state.high_water
    with ws.store.writing(what="adding evidence") as db:
        mark = high_water.read(path)
        if mark is None and head(db) == (0, START):
            mark = {"seq": 0, "chain": START}  # written first, so that a mark that is missing always says something
            high_water.write(path, mark)
        breaks = [*breaks_of(mark), *_broken_now(db, mark, ws.clock.now())][-MOST_BREAKS:]
        with db.transaction():
            yield db
            seq, chain = head(db)
        high_water.write(path, {"seq": seq, "chain": chain} | ({"breaks": breaks} if breaks else {}))


def breaks_of(mark: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The breaks that a mark remembers: `had`, `found` (numbers of receipts) and `at` (ISO 8601)."""
    noted = (mark or {}).get("breaks")
    return [one for one in noted if isinstance(one, dict)] if isinstance(noted, list) else []


def _broken_now(db: Database, mark: dict[str, Any] | None, now: int) -> list[dict[str, Any]]:
    if mark is None or mark["chain"] == chain_at(db, mark["seq"]):
        return []
    return [{"had": mark["seq"], "had_chain": mark["chain"], "found": head(db)[0], "at": iso(now)}]
