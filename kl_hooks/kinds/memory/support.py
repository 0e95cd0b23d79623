"""What supports a memory: the receipts it was seen in, weighed as any evidence is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kl_hooks.errors import KlError
from kl_hooks.kinds.memory.kind import KIND
from kl_hooks.kinds.memory.tally import Tally
from kl_hooks.model.tier import Observation, Tier, tier

if TYPE_CHECKING:
    from kl_hooks.store.database import Database
    from kl_hooks.workspace.open import Workspace

MOST: int = 20
"""Receipts of one memory that are weighed."""


@dataclass(frozen=True, slots=True)
class Supported:
    """One memory's tier and the observations behind it."""

    tier: Tier
    lines: tuple[str, ...]
    """`ExitCode  receipt 3f9a1c2b5d6e of 2026-11-21 by kl run`, one for each receipt."""


def supported(ws: Workspace, tally: Tally, status: str) -> Supported:
    """What stands behind a memory. One that was approved counts as RepositoryMemory besides."""
    own = [Observation(KIND.proof, "records", "", "", hard=False)] if status == "approved" else []
    with ws.store.reading() as db:
        found = [_observed(db, receipt, proof) for receipt, proof in tally.receipts[-MOST:]]
    rule = ws.settings.verified_requires
    return Supported(tier([*own, *(seen for seen, _ in found)], rule), tuple(line for _, line in found))


def _observed(db: Database | None, receipt: str, proof: str) -> tuple[Observation, str]:
    """A receipt as the tier rule sees it, and as a line. One that is not here is somebody's word."""
    from kl_hooks.evidence.ledger import find
    from kl_hooks.evidence.weight import observation

    assumed = Observation("AgentAssertion", receipt, "", receipt, hard=False)
    if receipt.startswith("transcript:"):
        return assumed, f"{proof}  {receipt}"
    try:
        entry = find(db, receipt) if db is not None else None
    except KlError:
        entry = None
    if entry is None:
        return assumed, f"{proof}  receipt {receipt[:12]}, which is not in this store"
    line = f"{proof}  receipt {entry.id[:12]} of {entry.receipt.ended[:10]}, seen by {entry.receipt.observer}"
    same: Sequence[Observation] = [
        observation(entry.receipt, one, entry.origin) for one in entry.receipt.evidence[:50] if one.kind == proof
    ]
    best = next((one for one in same if one.hard), same[0] if same else None)
    soft = Observation("EvidenceGraph", entry.receipt.observer, entry.receipt.producer, entry.receipt.run, hard=False)
    return best or soft, line
