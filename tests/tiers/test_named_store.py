"""Contexts and pools are stores under a name: one rule of who may find, write, grant and end
them.
"""

from __future__ import annotations

import pytest

from kl_hooks.errors import UsageProblem
from kl_hooks.tiers.contexts import Context, archive_context, create_context
from kl_hooks.tiers.entries import Caller, reading, writing
from kl_hooks.tiers.named_store import NamedStore
from kl_hooks.tiers.pools import Pool, PoolOptions, close_pool, create_pool
from kl_hooks.workspace import Workspace
from tests.support import NOW, Checkout

ME, OTHER = Caller("agent:me", "s"), Caller("agent:other", "s")
SORTS = pytest.mark.parametrize("sort", [Context, Pool], ids=["context", "pool"])


def create(sort: type[NamedStore], ws: Workspace, name: str) -> NamedStore:
    """A store that nobody but its owner may read."""
    if sort is Context:
        return create_context(ws, ME, name)
    return create_pool(ws, ME, name, PoolOptions(type="team_shared"))


@pytest.fixture
def ws(repo: Checkout) -> Workspace:
    """A repository at a fixed moment."""
    return repo.workspace(now=NOW)


def refusal(sort: type[NamedStore], ws: Workspace, name: str, level: str = "read") -> str:
    with reading(ws) as db, pytest.raises(UsageProblem) as refused:
        sort.find(db, OTHER, name, level, NOW)
    return refused.value.reason


@SORTS
def test_a_store_of_somebody_else_is_refused_in_the_words_for_one_that_is_not_there(
    ws: Workspace, sort: type[NamedStore]
) -> None:
    create(sort, ws, "mine")
    assert refusal(sort, ws, "mine") == refusal(sort, ws, "absent")
    with reading(ws) as db:
        assert sort.readable(db, OTHER, "", NOW) == []
        assert [store.name for store in sort.readable(db, ME, "", NOW)] == ["mine"]


@SORTS
def test_a_level_includes_lower_ones_and_is_taken_back(
    ws: Workspace, sort: type[NamedStore]
) -> None:
    create(sort, ws, "mine")
    assert sort.grant(ws, ME, "mine", "other", "read").level(OTHER.actor) == "read"
    assert refusal(sort, ws, "mine", "write") == "you may read it; write is needed."
    sort.grant(ws, ME, "mine", "other", "write")
    with reading(ws) as db:
        assert sort.find(db, OTHER, "mine", "write", NOW).level(OTHER.actor) == "write"
    with pytest.raises(UsageProblem):
        sort.grant(ws, OTHER, "mine", "third", "read")
    assert sort.grant(ws, ME, "mine", "other", "").level(OTHER.actor) == ""
    assert refusal(sort, ws, "mine") == refusal(sort, ws, "absent")


@SORTS
def test_the_name_of_a_store_that_ended_is_not_used_again(
    ws: Workspace, sort: type[NamedStore]
) -> None:
    create(sort, ws, "mine")
    (archive_context if sort is Context else close_pool)(ws, ME, "mine")
    with pytest.raises(UsageProblem, match="not available"):
        create(sort, ws, "mine")
    with reading(ws) as db, pytest.raises(UsageProblem, match="of this name for you"):
        sort.find(db, ME, "mine", now=NOW)


def test_rows_that_an_earlier_release_wrote_are_read(ws: Workspace) -> None:
    with writing(ws, "rows") as db:
        context = (
            "old",
            "agent_memory",
            "agent",
            "agent:me",
            "active",
            3,
            '{"agent:other": "write"}',
            5,
            7,
            9,
        )
        db.execute("INSERT INTO context VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", context)
        access = '{"read": ["agent:other"], "write": [], "public": false}'
        pool = (
            *("old", "Old", "team_shared", "account", "agent:me", "s1", "open", 1, 0, 60, 1000),
            *("oldest", access, 4, 9),
        )
        db.execute(f"INSERT INTO pool VALUES ({', '.join('?' * len(pool))})", pool)
    with reading(ws) as db:
        stored_context = Context.find(db, OTHER, "old", "write")
        stored_pool = Pool.find(db, OTHER, "old", now=NOW)
    assert (stored_context.version, stored_context.max_entries, stored_context.max_age_days) == (
        3,
        5,
        7,
    )
    assert (stored_pool.version, stored_pool.persist, stored_pool.eviction) == (4, True, "oldest")
    assert (stored_pool.level(OTHER.actor), stored_pool.title, stored_pool.ttl) == (
        "read",
        "Old",
        60,
    )
