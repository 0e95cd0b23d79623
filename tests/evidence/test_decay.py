"""How age weakens a claim: computed, and the same however often it is computed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.clock import DAY, iso
from kl_hooks.evidence.claims import aged
from kl_hooks.model.claim import Claim, Observation, Support, Tier
from kl_hooks.model.lifecycle import LIFECYCLE_FILE
from tests.support import NOW, Checkout


def seen(way: str, at: int) -> Support:
    observed = Observation("TestResult", "pytest", "me", way, True, way=way)
    return Support(observed, "r", "passed", "t", iso(at), "for")


def verified(at: int, expires: str | None = None) -> Claim:
    support = (seen("serial", at - DAY), seen("distributed", at))
    return Claim("Test passes: a", "test:a", "auto", iso(at), expires, support)


@pytest.mark.requirement("A39")
def test_a_verified_claim_is_inferred_after_thirty_days_and_states_why() -> None:
    claim = verified(NOW - 30 * DAY)
    assert aged(claim, NOW, 30).tier is Tier.VERIFIED
    old = aged(claim, NOW + 1, 30)
    assert old.tier is Tier.INFERRED
    assert old.reasons[-1] == "last observed 30 days ago; after 30 days it counts as inferred"
    assert aged(claim, NOW + 1, 0).tier is Tier.VERIFIED, "0 switches it off"


@pytest.mark.requirement("A39")
def test_a_claim_that_states_when_it_ends_does_not_decay() -> None:
    assert aged(verified(NOW - 99 * DAY, iso(NOW + DAY)), NOW, 30).tier is Tier.VERIFIED


def test_a_lower_tier_stays_what_it_is() -> None:
    claim = verified(NOW - 99 * DAY)._replace(support=(seen("serial", NOW - 99 * DAY),))
    assert aged(claim, NOW, 30) == claim


@pytest.mark.requirement("D48")
@given(st.integers(0, 10**16), st.integers(0, 10**16), st.integers(0, 400))
def test_decay_applied_twice_is_decay_applied_once(at: int, now: int, days: int) -> None:
    once = aged(verified(at), now, days)
    assert aged(once, now, days) == once
    assert once.tier <= verified(at).tier


@pytest.mark.requirement("A39")
def test_the_command_shows_the_lower_tier(repo: Checkout) -> None:
    repo.write("tests/test_a.py", "def test_a():\n    assert 1\n")
    repo.commit()
    assert repo.pytest("-q").returncode == 0
    assert repo.pytest("-q", "-p", "xdist", "-n", "2").returncode == 0
    assert "verified  current" in repo.kl("claim", "list").stdout
    repo.write(LIFECYCLE_FILE, "confidence_decay_days: 0\n")
    repo.commit()
    from kl_hooks.evidence.claims import all_claims

    later = repo.workspace(now=repo.workspace().clock.now() + 10**17)
    (claim,) = [one for one in all_claims(later) if one.about.startswith("test:")]
    assert claim.tier is Tier.VERIFIED
    repo.write(LIFECYCLE_FILE, "ConfidenceDecayDays: 1\n")
    (claim,) = [one for one in all_claims(later) if one.about.startswith("test:")]
    assert claim.tier is Tier.INFERRED
