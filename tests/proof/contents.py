"""What runs prove of a content, from facts that a test makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kl_hooks.evidence.ledger import Entry
from kl_hooks.proof.content_proof import Proof, prove
from kl_hooks.proof.content_runs import ContentFacts


def proof(
    entries: Sequence[Entry],
    parents: Mapping[str, Entry],
    strength: str = "independent",
    **facts: Any,
) -> Proof:
    """What receipts (newest first) prove. `facts`: the other fields of `ContentFacts`."""
    return prove(ContentFacts(entries, parents, **facts), strength)
