"""The official client of `kl mcp`, over stdio."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Awaitable, Callable
from typing import TextIO

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.support import HERE, Checkout


def with_client(
    repo: Checkout,
    work: Callable[[ClientSession], Awaitable[None]],
    *args: str,
    seconds: float = 60,
) -> str:
    """Start `kl mcp` as a client does, do `work` with it in at most so many seconds, and return
    what the server printed on stderr.
    """
    environ = {**os.environ, "PYTHONPATH": str(HERE)}
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "kl_hooks", "mcp", *args],
        env=environ,
        cwd=str(repo.root),
    )

    async def run(stderr: TextIO) -> None:
        with anyio.fail_after(seconds):
            async with (
                stdio_client(server, errlog=stderr) as (incoming, outgoing),
                ClientSession(incoming, outgoing) as session,
            ):
                await session.initialize()
                await work(session)

    with tempfile.TemporaryFile("w+", encoding="utf-8") as stderr:
        anyio.run(run, stderr)
        stderr.seek(0)
        return stderr.read()
