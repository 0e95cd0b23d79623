"""`kl tool`, `mcp` and `serve`: the agents' tools from a shell, over MCP, and over HTTP on this
machine.
"""

from __future__ import annotations

import importlib.util
import secrets
import sys
from contextlib import suppress

import click

from kl_hooks.cli.output import echo, echo_json, workspace
from kl_hooks.errors import CLEAN, EnvironmentProblem, KlError
from kl_hooks.workspace import opener, require_setup


@click.command(epilog="""Example: kl tool decision_search '{"query": "store"}'""")
@click.argument("name", required=False, default="")
@click.argument("arguments", required=False, default="{}", metavar="JSON")
@click.option(
    "--list", "listed", is_flag=True, help="Every tool, with the schema of what it takes."
)
@click.option("--schema", "described", is_flag=True, help="The schema of what NAME takes.")
@click.option(
    "--allow-write", is_flag=True, help="Let it write; else tools that write are refused."
)
def tool(name: str, arguments: str, listed: bool, described: bool, allow_write: bool) -> int:
    """Call the tool NAME with JSON (`-` reads it from stdin); the answer is JSON, whatever happens.

    A call that fails answers {"ok": false, "error": {place, reason, hint}}, and ends with the exit
    code of its problem.
    """
    from kl_hooks.tools.call import call, catalogue, failed, tool_of
    from kl_hooks.tools.tool import LARGEST_INPUT, SCHEMA

    if not name and not listed:
        raise click.UsageError("name a tool. See: kl tool --list")
    try:
        ws = workspace()
        if listed or described:
            if name:
                found = [tool_of(ws, name)]
            else:
                found = list(catalogue(ws).values())
            echo_json({"schema": SCHEMA, "ok": True, "tools": [one.plain() for one in found]})
            return CLEAN
        # one byte more than allowed, so that what is too long is refused and not cut
        if arguments == "-":
            payload = sys.stdin.buffer.read(LARGEST_INPUT + 1)
        else:
            payload = arguments.encode("utf-8", "replace")
        answer, code = call(ws, name, payload, allow_write=allow_write)
    except KlError as problem:
        answer = failed(name, problem)
        code = problem.exit_code
    except Exception as fault:  # an agent always gets JSON; the report and exit code 4 follow
        echo_json(
            failed(
                name, KlError(f"internal error ({type(fault).__name__}).", hint="Please report it.")
            )
        )
        raise
    echo_json(answer)
    return code


@click.command(epilog="Example: claude mcp add kl -- kl mcp")
@click.option(
    "--tools",
    "wanted",
    multiple=True,
    metavar="SET",
    help=(
        "Sets or names of tools, separated by commas: core (the default), knowledge, graph, tasks,"
        " claims, all."
    ),
)
@click.option(
    "--allow-write", is_flag=True, help="List the tools that write too; else an agent only reads."
)
def mcp(wanted: tuple[str, ...], allow_write: bool) -> None:
    """Serve the agents' tools over MCP on stdin and stdout, until the client closes them.

    Ten tools that read by default: context, verify, memory_search, those of decisions, graph and
    objectives; with --allow-write five more that write. Resources: kl://adr/ID, kl://package/ID.
    Needs the extra kl-hooks[mcp].
    """
    if importlib.util.find_spec("mcp_types") is None:
        raise EnvironmentProblem(
            "the library mcp (2.0 or newer) is not installed.",
            place="kl mcp",
            hint='pip install "kl-hooks[mcp]"',
        )
    from kl_hooks.tools.mcp_server import serve

    opened = workspace()
    names = [name for one in wanted for name in one.replace(",", " ").split()]
    serve(opener(opened), names, allow_write=allow_write)


@click.command(epilog="Example: kl serve --port 8750")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=0,
    help="The port; 0, the default: one that is free.",
)
@click.option(
    "--allow-write", is_flag=True, help="Answer the tools that write too; else programs only read."
)
def serve(port: int, allow_write: bool) -> None:
    """Serve the agents' tools over HTTP on 127.0.0.1, until it is interrupted: JSON in, JSON out.

    It prints its address and a token, new at each start, that every request must have:
    Authorization: Bearer TOKEN.
    """
    from kl_hooks.tools.http_server import KnowledgeServer

    opened = workspace()
    require_setup(opened)
    token = secrets.token_urlsafe(32)

    with KnowledgeServer(opener(opened), token, port=port, allow_write=allow_write) as server:
        echo(
            f"http://127.0.0.1:{server.server_port} "
            f" {'reads and writes' if allow_write else 'reads only'}"
        )
        echo(f"token {token}")
        sys.stdout.flush()
        with suppress(KeyboardInterrupt):
            server.serve_forever()
