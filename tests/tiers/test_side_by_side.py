"""Two agents and a person side by side: nobody sees what is not theirs, nothing is lost, counts are
folds of Events.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from kl_hooks.errors import KlError
from kl_hooks.tiers.contexts import (
    context_page,
    grant_context,
    list_entries,
    take_snapshot,
    write_entry,
)
from kl_hooks.tiers.entries import Caller, reading
from kl_hooks.tiers.pools import (
    PoolOptions,
    create_pool,
    list_pools,
    pool_statistics,
    read_pool,
    set_access,
    write_pool,
)
from kl_hooks.tiers.router import Memory
from kl_hooks.tools.call import call, catalogue
from tests.support import Checkout

ACTORS = ("agent:a", "agent:b", "human")
STEPS = 200


class Side:
    """One actor, what it stored, and every way to look."""

    def __init__(self, repo: Checkout, actor: str) -> None:
        self.repo, self.caller = repo, Caller(actor, "s")
        self.memory = Memory(repo.workspace(), self.caller)
        self.private: dict[tuple[str, str], Any] = {}
        self.reads: Counter[str] = Counter()

    def seen(self) -> str:
        """Everything that this actor can be shown by the functions, as one text."""
        ws = self.repo.workspace()
        found: list[Any] = [
            self.memory.entries(all_sessions=True),
            self.memory.search("secret", 500),
            self.memory.statistics(),
        ]
        pages: list[Callable[[], Any]] = [
            *(lambda name=name: context_page(ws, self.caller, name) for name in ACTORS),
            *(lambda name=name: read_pool(ws, self.caller, name) for name in POOLS),
            *(lambda name=name: pool_statistics(ws, self.caller, name) for name in POOLS),
            *(lambda key=key: self.memory.read(key) for key in KEYS),
        ]
        for page in pages:
            try:
                found.append(page())
            except KlError as problem:
                found.append(str(problem))
        return repr(found)


POOLS = ("default", *(f"{kind}-{number}" for kind in ("private", "team") for number in range(3)))
KEYS = tuple(f"k{number}" for number in range(4))


def mark(actor: str, text: str) -> str:
    return f"secret {actor.removeprefix('agent:')}zz{text}"


@pytest.mark.slow
@pytest.mark.requirement("D9", "D13")
@pytest.mark.parametrize("seed", range(2))
def test_two_agents_and_a_person_for_200_steps(repo: Checkout, seed: int) -> None:
    chance, ws = random.Random(seed), repo.workspace()
    sides = {actor: Side(repo, actor) for actor in ACTORS}
    for number, actor in enumerate(ACTORS):
        create_pool(ws, sides[actor].caller, f"private-{number}", PoolOptions(type="agent_private"))
        create_pool(ws, sides[actor].caller, f"team-{number}", PoolOptions(type="team_shared"))
    granted: set[tuple[str, str]] = set()
    shared: dict[str, dict[str, Any]] = {name: {} for name in POOLS}
    changes: Counter[str] = Counter()
    for step in range(STEPS):
        actor = chance.choice(ACTORS)
        side, key, pool = sides[actor], chance.choice(KEYS), chance.choice(POOLS)
        value = mark(actor, str(step))
        match chance.randrange(8):
            case 0 | 1:
                tier = chance.choice(("working", "short", "long"))
                side.memory.write(key, value, tier)
                side.private[tier, key] = value
            case 2:
                expected = [
                    side.private[one, key]
                    for one in ("working", "short", "long")
                    if (one, key) in side.private
                ]
                found = side.memory.read(key)
                if expected:
                    assert found is not None and found.value == expected[0]
                else:
                    assert found is None or found.tier == "shared"
                side.reads[found.tier if found else ""] += 1
            case 3:
                tier = chance.choice(("working", "short", "long"))
                assert side.memory.forget(key, tier) == (
                    [tier] if side.private.pop((tier, key), None) else []
                )
            case 4 | 5:
                before = changes[pool]
                try:
                    made = write_pool(
                        ws, side.caller, pool, key, f"common {step}", if_version=before
                    )
                    changes[pool] += 1
                    assert made.version == before + 1
                    shared[pool][key] = f"common {step}"
                except KlError:
                    assert pool != "default" and not pool.endswith(str(ACTORS.index(actor)))
                    assert (actor, pool) not in granted
            case 6:
                number, other = ACTORS.index(actor), chance.choice(ACTORS)
                level = chance.choice(("write", ""))
                set_access(ws, side.caller, f"team-{number}", other, level)
                (granted.add if level else granted.discard)((other, f"team-{number}"))
            case 7:
                with reading(ws, counted=True) as db:
                    assert db is not None
    for actor, side in sides.items():
        others = [one for one in ACTORS if one != actor]
        text = side.seen()
        # nothing of what is private to another, not even as a number
        assert not any(f"{one.removeprefix('agent:')}zz" in text for one in others)
        assert all(mark(actor, "") in text for _ in list(side.private)[:1])
        number = ACTORS.index(actor)
        visible = {
            "default",
            f"private-{number}",
            f"team-{number}",
            *(name for who, name in granted if who == actor),
        }
        assert {one.name for one in list_pools(ws, side.caller)} - {"default"} == visible - {
            "default"
        }
        rows = side.memory.statistics()["tiers"]
        for tier in ("working", "short", "long"):
            assert rows[tier]["entries"] == sum(one == tier for one, _ in side.private), tier
        for (tier, key), value in side.private.items():
            found = side.memory.read(key, tier)
            assert found is not None and found.value == value
    for number, actor in enumerate(ACTORS):
        for name in (f"private-{number}", f"team-{number}"):
            pool, entry = read_pool(ws, sides[actor].caller, name)
            assert entry.value == shared[name]
            stats = pool_statistics(ws, sides[actor].caller, name)
            assert pool.version == changes[name] == stats["changes"]
    with reading(ws, counted=True) as db:
        assert db is not None
        for actor, side in sides.items():
            entries = (
                list_entries(db, side.caller, actor)
                if any(tier == "long" for tier, _ in side.private)
                else []
            )
            for one in entries:
                sql = (
                    "SELECT COUNT(*) FROM tier_event WHERE name = 'read' AND tier = 'long' AND"
                    " subject = ?"
                )
                assert db.rows(sql, [f"{actor}\n{one.key}"]) == [(one.accesses,)]
            version = db.row("SELECT version FROM context WHERE name = ?", [actor])
            names = "('written', 'merged', 'restored', 'archived')"
            sql = (
                "SELECT COUNT(*) FROM tier_event WHERE tier = 'long' AND subject = ? AND name IN"
                f" {names}"
            )
            assert version is None or db.row(sql, [actor]) == version


@pytest.mark.requirement("D9")
def test_no_tool_and_no_command_shows_what_is_private_to_another(repo: Checkout) -> None:
    ws = repo.workspace()
    owner = Caller("agent:owner", "default")
    memory = Memory(ws, owner)
    for tier in ("working", "short", "long"):
        memory.write("hidden", f"zzsecret of {tier}", tier)
    for _ in range(4):
        memory.read("hidden", "short")
        memory.read("hidden", "long")
    create_pool(ws, owner, "hidden", PoolOptions(type="agent_private"))
    write_pool(ws, owner, "hidden", "hidden", "zzsecret of a pool")
    write_entry(ws, owner, "", "other", "zzsecret too")
    shot = take_snapshot(ws, owner, "")["id"]
    reached = 0
    for name, tool in catalogue(ws).items():
        # every argument that could name it, so that each tool looks for it
        words = {
            "hidden": ("key", "query", "pool", "path", "text", "name", "id"),
            "agent:owner": ("context", "from_agent"),
            shot: ("snapshot",),
        }
        given = {one: word for word, names in words.items() for one in names if one in tool.takes}
        given |= {
            one: "1"
            for one in tool.needs
            if one not in given and tool.takes[one]["type"] == "string"
        }
        if tool.writes and name not in (
            "forget",
            "session_close",
            "pool_close",
            "persistent_context_restore",
        ):
            continue
        answer, _ = call(ws, name, json.dumps(given).encode(), allow_write=True)
        assert "zzsecret" not in json.dumps(answer), name
        reached += 1
    assert reached > 30
    for args in (
        ("recall", "hidden"),
        ("recall", "zzsecret", "--search"),
        ("keys", "--all-sessions"),
        ("memory", "stats"),
        ("pool", "list"),
        ("pool", "show", "hidden"),
        ("pool", "read", "hidden"),
        ("pool", "stats", "hidden"),
        ("memory", "context", "list"),
        ("memory", "context", "show", "agent:owner"),
        ("context", "zzsecret hidden"),
        ("knowledge", "search", "zzsecret"),
        ("memory", "review", "--format", "json"),
        ("memory", "list"),
        ("status",),
        ("session", "close"),
        ("stats",),
    ):
        done = repo.kl(*args, env={"KL_AGENT": "other"} if reached % 2 else {})
        # what was asked for may be repeated; what is stored has more words
        assert "zzsecret of" not in done.stdout + done.stderr, args
        assert "zzsecret too" not in done.stdout + done.stderr, args
        reached += 1
    assert "zzsecret of working" in repo.kl("recall", "hidden", env={"KL_AGENT": "owner"}).stdout
    assert [one.accesses for one in memory.entries("short")] == [4]
    stats = json.loads(repo.kl("memory", "stats", "--format", "json").stdout)
    assert {row["entries"] for row in stats["tiers"].values()} == {0}
    grant_context(ws, owner, "", "human", "read")
    assert "zzsecret too" in repo.kl("recall", "other").stdout
