"""`kl serve`: the agents' tools over HTTP, for programs on this machine."""

from __future__ import annotations

import secrets
import sys
from contextlib import suppress

import click

from kl_hooks.cli.output import echo, workspace
from kl_hooks.workspace import Workspace, open_workspace, require_setup


@click.command(epilog="Example: kl serve --port 8750")
@click.option("--port", type=click.IntRange(0, 65_535), default=0, help="The port; 0, the default: one that is free.")
@click.option("--allow-write", is_flag=True, help="Answer the tools that write too; else programs only read.")
def serve(port: int, allow_write: bool) -> None:
    """Serve the agents' tools over HTTP on 127.0.0.1, until it is interrupted: JSON in, JSON out.

    It prints its address and a token, new at each start, that every request must have: Authorization: Bearer TOKEN.
    """
    from kl_hooks.tools.http_server import KnowledgeServer

    opened = workspace()
    require_setup(opened)
    token = secrets.token_urlsafe(32)

    def open_again() -> Workspace:
        return open_workspace(opened.root, failing_sources=opened.failing_sources)

    with KnowledgeServer(open_again, token, port=port, allow_write=allow_write) as server:
        echo(f"http://127.0.0.1:{server.server_port}  {'reads and writes' if allow_write else 'reads only'}")
        echo(f"token {token}")
        sys.stdout.flush()
        with suppress(KeyboardInterrupt):
            server.serve_forever()
