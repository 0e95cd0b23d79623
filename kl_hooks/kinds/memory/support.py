"""What supports a memory: the receipts it was seen in, weighed as any evidence is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kl_hooks.evidence.headers import headers
from kl_hooks.evidence.weight import observation
from kl_hooks.kinds.memory.kind import KIND
from kl_hooks.kinds.memory.tally import Tally
from kl_hooks.model.receipt import Evidence, Receipt
from kl_hooks.model.tier import Observation, Tier, tier

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace

MOST: Final = 20
"""Receipts of one memory that are weighed: the newest."""


@dataclass(frozen=True, slots=True)
class Supported:
    """One memory's tier and what is behind it."""

    tier: Tier
    lines: tuple[str, ...]
    """`ExitCode  receipt 3f9a1c2b5d6e of 2026-11-21, seen by kl run`, one for each receipt."""


def supported(ws: Workspace, weight: Mapping[str, Tally], approved: frozenset[str] | set[str]) -> dict[str, Supported]:
    """Id → what stands behind it. One that was approved counts as RepositoryMemory besides."""
    wanted = {receipt for tally in weight.values() for receipt, _ in tally.receipts[-MOST:]}
    with ws.store.reading() as db:
        known = headers(db, sorted(wanted)) if db is not None else {}
    rule = ws.settings.verified_requires
    found: dict[str, Supported] = {}
    for one, tally in weight.items():
        seen = [_observed(receipt, proof, known) for receipt, proof in tally.receipts[-MOST:]]
        own = [Observation(KIND.proof, "records", "", "", hard=False)] if one in approved else []
        found[one] = Supported(tier([*own, *(o for o, _ in seen)], rule), tuple(line for _, line in seen))
    return found


def _observed(receipt: str, proof: str, known: Mapping[str, tuple[Receipt, str]]) -> tuple[Observation, str]:
    """A receipt as the tier rule sees it, and as a line. One that is not here is somebody's word."""
    if receipt not in known:
        here = "" if ":" in receipt else ", which is not in this store"
        name = receipt if ":" in receipt else f"receipt {receipt[:12]}"
        return Observation("AgentAssertion", receipt, "", receipt, hard=False), f"{proof}  {name}{here}"
    header, origin = known[receipt]
    line = f"{proof}  receipt {receipt[:12]} of {header.ended[:10]}, seen by {header.observer}"
    return observation(header, Evidence(proof, "", "passed"), origin), line
