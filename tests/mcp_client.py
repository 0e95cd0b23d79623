"""The official client of `kl mcp`, over stdio."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.support import HERE, Checkout


def with_client(
    repo: Checkout,
    work: Callable[[ClientSession], Awaitable[None]],
    *args: str,
    seconds: float = 60,
) -> None:
    """Start `kl mcp` as a client does, and do `work` with it, in at most so many seconds."""
    environ = {**os.environ, "PYTHONPATH": str(HERE)}
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "kl_hooks", "mcp", *args],
        env=environ,
        cwd=str(repo.root),
    )

    async def run() -> None:
        with anyio.fail_after(seconds):
            async with (
                stdio_client(server) as (incoming, outgoing),
                ClientSession(incoming, outgoing) as session,
            ):
                await session.initialize()
                await work(session)

    anyio.run(run)
