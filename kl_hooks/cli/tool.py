"""`kl tool`: the agents' tools from a shell, JSON in and JSON out."""

from __future__ import annotations

import sys

import click

from kl_hooks.cli.output import echo_json, workspace
from kl_hooks.errors import CLEAN, KlError


@click.command(epilog="""Example: kl tool decision_search '{"query": "store"}'""")
@click.argument("name", required=False, default="")
@click.argument("arguments", required=False, default="{}", metavar="JSON")
@click.option("--list", "listed", is_flag=True, help="Every tool, with the schema of what it takes.")
@click.option("--schema", "described", is_flag=True, help="The schema of what NAME takes.")
@click.option("--allow-write", is_flag=True, help="Let it write; else tools that write are refused.")
def tool(name: str, arguments: str, listed: bool, described: bool, allow_write: bool) -> int:
    """Call the tool NAME with JSON (`-` reads it from stdin); the answer is JSON, whatever happens.

    A call that fails answers {"ok": false, "error": {place, reason, hint}}, and ends with the exit code of its problem.
    """
    from kl_hooks.tools.call import call, catalogue, failed, tool_of
    from kl_hooks.tools.tool import LARGEST_INPUT, SCHEMA

    if not name and not listed:
        raise click.UsageError("name a tool. See: kl tool --list")
    try:
        ws = workspace()
        if listed or described:
            found = [tool_of(ws, name)] if name else list(catalogue(ws).values())
            echo_json({"schema": SCHEMA, "ok": True, "tools": [one.plain() for one in found]})
            return CLEAN
        # one byte more than allowed, so that what is too long is refused and not cut
        given = sys.stdin.buffer.read(LARGEST_INPUT + 1) if arguments == "-" else arguments.encode("utf-8", "replace")
        answer, code = call(ws, name, given, allow_write=allow_write)
    except KlError as problem:
        answer, code = failed(name, problem), problem.exit_code
    except Exception as fault:  # an agent always gets JSON; the report and exit code 4 follow
        echo_json(failed(name, KlError(f"internal error ({type(fault).__name__}).", hint="Please report it.")))
        raise
    echo_json(answer)
    return code
