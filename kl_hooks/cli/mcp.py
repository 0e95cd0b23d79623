"""`kl mcp`: the agents' tools over MCP, for clients that start a server as a process."""

from __future__ import annotations

import importlib.util

import click

from kl_hooks.cli.output import workspace
from kl_hooks.errors import EnvironmentProblem


@click.command(epilog="Example: claude mcp add kl -- kl mcp")
@click.option(
    "--tools", "wanted", multiple=True, metavar="SET",
    help="Sets or names of tools, separated by commas: core (the default), knowledge, graph, tasks, claims, all.",
)  # fmt: skip
@click.option("--allow-write", is_flag=True, help="List the tools that write too; else an agent only reads.")
def mcp(wanted: tuple[str, ...], allow_write: bool) -> None:
    """Serve the agents' tools over MCP on stdin and stdout, until the client closes them.

    Ten tools that read by default: context, verify, memory_search, those of decisions, graph and objectives; with
    --allow-write five more that write. Resources: kl://adr/ID, kl://package/ID. Needs the extra kl-hooks[mcp].
    """
    if importlib.util.find_spec("mcp_types") is None:
        raise EnvironmentProblem(
            "the library mcp (2.0 or newer) is not installed.", place="kl mcp", hint='pip install "kl-hooks[mcp]"'
        )
    from kl_hooks.tools.mcp_server import serve
    from kl_hooks.workspace import open_workspace

    opened = workspace()
    names = [name for one in wanted for name in one.replace(",", " ").split()]
    serve(lambda: open_workspace(opened.root, failing_sources=opened.failing_sources), names, allow_write=allow_write)
