"""Two agents over `kl mcp` and a person in the shell, at the same time in one clone."""

from __future__ import annotations

import json
import os
import random
import sys
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.shares import by_steps
from tests.support import Checkout

STEPS = 200
TIERS = ("working", "short", "long")
KEYS = ("k0", "k1", "k2")


class Side:
    """One of the three, what it stored, and what it was answered."""

    def __init__(self, repo: Checkout, name: str, session: ClientSession | None = None) -> None:
        self.repo, self.name, self.session = repo, name, session
        self.private: dict[tuple[str, str], str] = {}
        self.reads: Counter[str] = Counter()
        self.seen = ""

    async def ask(self, tool: str, *shell: str, **given: Any) -> dict[str, Any]:
        """The answer of a tool; of a command where this is the person."""
        if self.session is None:
            done = self.repo.kl(*shell, "--format", "json")
            assert done.returncode in (0, 1), (shell, done.stderr)
            self.seen += done.stdout + done.stderr
            found: dict[str, Any] = json.loads(done.stdout or "{}")
            return found
        answer = await self.session.call_tool(tool, given)
        self.seen += answer.model_dump_json()
        made: dict[str, Any] = answer.structured_content or {}
        return made

    async def step(
        self, dice: random.Random, number: int, pool: dict[str, str], version: int
    ) -> int:
        """One random step; how many changes of the pool it made."""
        key, tier = dice.choice(KEYS), dice.choice(TIERS)
        value = f"secret{self.name}zz{number}"
        match dice.randrange(5):
            case 0 | 1:
                await self.ask(
                    "remember",
                    "remember",
                    key,
                    value,
                    "--tier",
                    tier,
                    key=key,
                    value=value,
                    tier=tier,
                )
                self.private[tier, key] = value
            case 2:
                expected = next(
                    ((t, self.private[t, key]) for t in TIERS if (t, key) in self.private), None
                )
                found = await self.ask("recall", "recall", key, key=key)
                if expected:
                    assert (found["tier"], found["value"]) == expected
                    self.reads[f"{expected[0]} {key}"] += 1
                else:
                    assert found.get("tier") in (None, "", "shared")
            case 3:
                text = f"common {self.name} {number}"
                shell = ("pool", "write", "default", key, text, "--if-version", str(version))
                made = await self.ask(
                    "write_shared_memory",
                    *shell,
                    pool="default",
                    path=key,
                    value=text,
                    if_version=version,
                )
                assert made["version"] == version + 1
                pool[key] = text
                return 1
            case 4:
                found = await self.ask(
                    "recall_search",
                    "recall",
                    "secret",
                    "--search",
                    query=f"secret{self.name}zz{number}",
                )
                assert all(self.name in str(one.get("value")) for one in found.get("entries", []))
        return 0

    async def check(self, pool: dict[str, str], version: int) -> None:
        """Nothing is lost, and counts are those of what was done."""
        found = await self.ask("read_shared_memory", "pool", "read", "default", pool="default")
        assert found["value"] == pool
        stats = await self.ask("pool_stats", "pool", "stats", "default", pool="default")
        assert stats["changes"] == version
        rows = (await self.ask("recall_keys", "keys", limit=100))["keys"]
        mine = {(one["tier"], one["key"]): one for one in rows if one["tier"] != "shared"}
        assert set(mine) == set(self.private)
        assert {key: one["accesses"] for (tier, key), one in mine.items() if tier == "short"} == {
            key: self.reads[f"short {key}"] for tier, key in self.private if tier == "short"
        }


@pytest.mark.slow
@pytest.mark.requirement("D9", "D13", "D16")
@by_steps(4)
def test_nobody_sees_what_is_not_theirs_and_nothing_is_lost(repo: Checkout, step: int) -> None:
    async def run() -> None:
        async with AsyncExitStack() as stack:
            sides = [Side(repo, "person")]
            for name in ("anna", "berta"):
                environ = {
                    **os.environ,
                    "PYTHONPATH": str(Path(__file__).parents[2]),
                    "KL_AGENT": name,
                    "KL_SESSION": f"s-{name}",
                }
                args = ["-P", "-m", "kl_hooks", "mcp", "--tools", "tiers", "--allow-write"]
                server = StdioServerParameters(
                    command=sys.executable, args=args, env=environ, cwd=str(repo.root)
                )
                session = await stack.enter_async_context(
                    ClientSession(*await stack.enter_async_context(stdio_client(server)))
                )
                await session.initialize()
                sides.append(Side(repo, name, session))
            dice, version = random.Random(7), 0
            pool: dict[str, str] = {}
            for number in range(0, STEPS, step):
                # a command costs more than a call: the person takes every sixth step
                side = dice.choices(sides, (1, 2.5, 2.5))[0]
                version += await side.step(dice, number, pool, version)
            for side in sides:
                await side.check(pool, version)
                # asking for a key of another's, or for words of one, finds nothing of it either
                assert not any(
                    f"secret{other.name}zz" in side.seen for other in sides if other is not side
                )
                assert f"secret{side.name}zz" in side.seen

    with_time_limit(run)


def with_time_limit(run: Any) -> None:
    async def limited() -> None:
        with anyio.fail_after(180):
            await run()

    anyio.run(limited)
