"""Roles: found by name and context, given as a page."""

from __future__ import annotations

import pytest

from kl_hooks.kinds.gate import find_role, render_role
from kl_hooks.model.record import Record

PLAYER = Record(
    "role",
    "ROLE-0001",
    {
        "status": "active",
        "role": "player",
        "context": "feature-build",
        "primary_responsibility": "Build it.",
        "must_do": ("Run the tests",),
        "must_not_do": ("Approve your own work",),
        "ask_before": ("Adding a dependency",),
    },
)
OTHER = Record("role", "ROLE-0002", {"status": "active", "role": "Player", "context": "review"})
REMOVED = Record("role", "ROLE-0003", {"status": "retired", "role": "coach"})


def test_a_role_is_found_by_name_or_id_and_context() -> None:
    roles = [PLAYER, OTHER, REMOVED]
    assert find_role(roles, "PLAYER") is PLAYER
    assert find_role(roles, "player", "Review") is OTHER
    assert find_role(roles, "player", "nowhere") is PLAYER
    assert find_role(roles, "role-0002") is OTHER
    assert find_role(roles, "coach") is None


@pytest.mark.requirement("B17", "B33")
def test_the_page_states_what_must_and_must_not_be_done() -> None:
    assert (
        render_role(PLAYER)
        == """\
# player (feature-build)

**Primary responsibility:** Build it.

## MUST DO

- Run the tests

## MUST NOT DO

- Approve your own work

## ASK BEFORE

- Adding a dependency
"""
    )
