"""Claim: a sentence about a subject, the evidence for it, and what follows from that evidence today."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kl_hooks.model.canonical import digest
from kl_hooks.model.tier import Observation, Tier, tier

OLDER_TREE: Final = "older tree"
"""The freshness of what was observed on another content than today's."""


def standing(tier: str, freshness: str) -> list[str]:
    """Tier and freshness as they are printed. The tier of an older content is never the first word."""
    return [f"stale: {tier} on an older tree"] if freshness == OLDER_TREE else [tier, freshness]


@dataclass(frozen=True, slots=True)
class Support:
    """One line of why a claim is believed or doubted: a receipt's observation and what it counts for."""

    observation: Observation
    receipt: str
    outcome: str
    tree: str | None
    at: str
    """ISO time the observation ended."""
    speaks: str
    """`for`, `against` or `nothing`."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence with its support; its tier is computed, never stored."""

    text: str
    about: str
    """The Id it is about."""
    author: str
    """`auto` where kl made it from evidence; else who asserted it."""
    made_at: str
    expires: str | None = None
    support: tuple[Support, ...] = ()
    freshness: str = "not assessed"
    """`current` (this tree), `older tree`, `expired`, `not assessed`; with `reasons` saying why."""
    reasons: tuple[str, ...] = ()
    rule: str = "independent"
    """What two hard observations must be for `verified`, see `tier`."""
    most: Tier = Tier.VERIFIED
    """The highest tier that its age allows, see `evidence.decay`."""
    cites: tuple[str, ...] = ()
    """What its author cites for it: IDs of records, hashes of commits."""

    @property
    def id(self) -> str:
        """16 hexadecimal digits over sentence and subject: the same claim made twice is one claim."""
        return digest("claim/1", [self.text, self.about])[:16]

    @property
    def tier(self) -> Tier:
        """Of what speaks for it, as far as its age allows."""
        return min(self.most, tier((s.observation for s in self.support if s.speaks == "for"), self.rule))
