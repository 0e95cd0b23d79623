"""Which claims are archived: those that expired, and those that are too old where somebody wants
that.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.clock import DAY, iso
from kl_hooks.evidence.compaction import expired_claims, inspect_spool
from kl_hooks.model.claim import Claim
from kl_hooks.model.lifecycle import Lifecycle
from tests.support import NOW, Checkout


def claim(days: int, *, expired: bool = False) -> Claim:
    freshness = "expired" if expired else "not assessed"
    return Claim(f"c{days}", "file:a.py", "ada", iso(NOW - days * DAY), None, (), freshness)


@pytest.mark.requirement("A38", "A68")
@given(st.lists(st.tuples(st.integers(0, 300), st.booleans())), st.integers(0, 200))
def test_expired_ones_always_and_old_ones_where_asked(
    rows: list[tuple[int, bool]], days: int
) -> None:
    claims = [claim(age, expired=expired) for age, expired in rows]
    removed = {
        one.id for one in expired_claims(claims, Lifecycle(max_provenance_age_days=days), NOW)
    }
    for (age, expired), one in zip(rows, claims, strict=True):
        same = [e for a, e in rows if a == age]
        if expired or (days and age > days):
            assert one.id in removed
        elif not any(same):
            assert one.id not in removed


def test_what_was_set_aside_is_reported_and_stays(repo: Checkout) -> None:
    ws = repo.workspace()
    (repo.state / "spool").mkdir(parents=True)
    (repo.state / "spool" / "x.jsonl.aside").write_text("?")
    (change,) = inspect_spool(ws, Lifecycle(), NOW)
    assert change.what == "keep"
    assert change.id.endswith("x.jsonl.aside")
    assert repo.kl("knowledge", "gc", "--apply").returncode == 0
    assert (repo.state / "spool" / "x.jsonl.aside").exists()
