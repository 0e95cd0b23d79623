"""Decay: what age does to the tier of a claim. A pure function of its evidence and the time: nothing is stored."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kl_hooks.clock import micros
from kl_hooks.model.claim import Claim, Tier
from kl_hooks.model.lifecycle import Lifecycle

DAY: Final = 86_400_000_000
"""Microseconds."""


def aged(claim: Claim, now: int, days: int) -> Claim:
    """The claim as it counts at `now`: a verified one whose newest observation is older than `days` is inferred.

    A claim that says itself when it ends does not decay, and with 0 days none does. Applied again it changes nothing.
    """
    if not days or claim.expires or claim.tier is not Tier.VERIFIED:
        return claim
    newest = max((micros(one.at) for one in claim.support if one.speaks == "for" and one.observation.hard), default=now)
    if not Lifecycle.old(now, newest, days):
        return claim
    reason = f"last observed {(now - newest) // DAY} days ago; after {days} days it counts as inferred"
    return replace(claim, most=Tier.INFERRED, reasons=(*claim.reasons, reason))
