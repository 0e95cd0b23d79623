"""The claims of a workspace: evidence taken in, the tree looked at, claims made from both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from kl_hooks.config.settings import load_lifecycle
from kl_hooks.evidence.assertions import archived, assert_claim, asserted
from kl_hooks.evidence.catch_up import catch_up
from kl_hooks.evidence.claims import mechanical, parents_of
from kl_hooks.evidence.decay import aged
from kl_hooks.evidence.home import require_home
from kl_hooks.evidence.ledger import Entry, of_tree, recent
from kl_hooks.evidence.mark import ledger_for_adding
from kl_hooks.evidence.place import place_of
from kl_hooks.evidence.who import agent, producer
from kl_hooks.model.claim import Claim
from kl_hooks.store.database import Database
from kl_hooks.workspace import Workspace

LOOK_BACK: Final = 50
"""Receipts that are looked at for subjects that were not observed on today's tree."""


def entries_for(db: Database, trees: tuple[str, ...]) -> list[Entry]:
    """The receipts that matter for claims: those of today's trees and the newest others, newest first."""
    found = {entry.seq: entry for entry in [*of_tree(db, trees), *recent(db, LOOK_BACK)]}
    return [found[seq] for seq in sorted(found, reverse=True)]


def all_claims(ws: Workspace, warn: Callable[[str], None], about: str | None = None) -> list[Claim]:
    """Asserted claims, then those that follow from evidence. `warn` is told where the answer may be smaller."""
    require_home(ws)
    taken = catch_up(ws)
    trees = place_of(ws.repo).trees
    with ws.store.reading() as db:
        if taken.trouble:
            warn(taken.trouble)
        if db is None:
            return []
        entries = entries_for(db, trees)
        made = mechanical(
            entries, trees, parents_of(db, entries), {about} if about else None, ws.settings.verified_requires
        )
        now = ws.clock.now()
        said = [*asserted(db, now, about), *archived(db, now, about)]
    days = load_lifecycle(ws.root, ws.state.cache)[0].confidence_decay_days
    return [aged(claim, now, days) for claim in _joined(said, made)]


def _joined(said: list[Claim], made: list[Claim]) -> list[Claim]:
    """Who asserts what evidence says too makes no second claim: the assertion is one more reason for the first."""
    known = {claim.id: claim for claim in made}
    alone = [claim for claim in said if claim.id not in known]
    for claim in said:
        if claim.id in known and claim.freshness != "expired":
            known[claim.id] = replace(known[claim.id], support=known[claim.id].support + claim.support)
    return [*alone, *known.values()]


def add_claim(
    ws: Workspace, text: str, about: str, expires: int | None, cites: Sequence[str] = (), author: str = ""
) -> Claim:
    """Keeps an assertion of whoever runs this, or of `author`."""
    require_home(ws)
    name = agent(ws.environ)
    author = author or (f"agent:{name}" if name else producer(ws.environ))
    with ledger_for_adding(ws) as db:
        return assert_claim(db, text, about, author, ws.clock.now(), expires, cites)


def plain_claim(claim: Claim) -> dict[str, Any]:
    """`kl.claim/1`."""
    return {
        "schema": "kl.claim/1", "id": claim.id, "text": claim.text, "about": claim.about, "author": claim.author,
        "made_at": claim.made_at, "expires": claim.expires, "tier": claim.tier.word, "freshness": claim.freshness,
        "reasons": list(claim.reasons), "cites": list(claim.cites),
        "support": [
            {
                "class": s.observation.kind, "observer": s.observation.observer, "producer": s.observation.producer,
                "run": s.observation.run, "hard": s.observation.hard, "why_not": s.observation.why_not,
                "receipt": s.receipt, "outcome": s.outcome, "tree": s.tree, "at": s.at, "speaks": s.speaks,
            }
            for s in claim.support
        ],
    }  # fmt: skip
