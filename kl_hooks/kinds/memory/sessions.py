"""Which session a receipt belongs to: the agent's own where it is known, else the day of one producer. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from kl_hooks.model.canonical import digest
from kl_hooks.model.receipt import Receipt


def session_of(receipt: Receipt, by_run: Mapping[str, Receipt]) -> str:
    """`agent:<its id>`, or `2026-11-22/3f9a1c` (a day, and a short hash of who made it run: it names nobody).

    A run that another one started belongs to the session of that one.
    """
    root = _root(receipt, by_run)
    told = root.environment.get("session") or receipt.environment.get("session")
    if isinstance(told, str) and told:
        return f"agent:{told}"
    return of_day(root.started, root.producer)


def of_day(at: str, who: str) -> str:
    """The session of somebody's day."""
    return f"{at[:10]}/{digest('who/1', who)[:6]}"


def _root(receipt: Receipt, by_run: Mapping[str, Receipt]) -> Receipt:
    seen = {receipt.run}
    while receipt.parent and receipt.parent not in seen and receipt.parent in by_run:
        receipt = by_run[receipt.parent]
        seen.add(receipt.run)
    return receipt
