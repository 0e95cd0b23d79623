"""`kl agents`: hooks and MCP server of coding agents, registered for this clone and removed without
a trace.
"""

from __future__ import annotations

from typing import Any

import click

from kl_hooks.cli.output import echo_line, echo_lines, warn
from kl_hooks.cli.request_options import operation_command
from kl_hooks.errors import CLEAN, FINDINGS
from kl_hooks.model.text import counted
from kl_hooks.operations import agents as operations


@click.group()
def agents() -> None:
    """Hooks and MCP server for coding agents, in this clone: install, uninstall, status.

    An agent is given what binds work here when a session starts, what is relevant and new with each
    prompt, and what crosses a layer before it edits. Nothing happens in a clone where `kl agents
    install` was not run.
    """


def _code(installation: operations.Installation, _request: Any) -> int:
    if installation.is_complete:
        return CLEAN
    return FINDINGS


@operation_command(operations.INSTALL, group=agents, exit_code=_code)
def install(installation: operations.Installation, _request: operations.InstallRequest) -> None:
    """Print what was done with each file; of a dry run what would change in it."""
    _print_files(installation)


@operation_command(operations.UNINSTALL, group=agents, exit_code=_code)
def uninstall(installation: operations.Installation, _request: operations.UninstallRequest) -> None:
    """Print what was done with each file; of a dry run what would change in it."""
    _print_files(installation)


def _print_files(installation: operations.Installation) -> None:
    if installation.is_dry_run:
        for edit in installation.files:
            for line in edit.diff:
                echo_line(line)
        return
    echo_lines(f"{edit.action:<10} {edit.path}" for edit in installation.files)
    ignored = (edit.path for edit in installation.files if edit.is_ignored)
    echo_lines(f"{'ignored':<10} {path}, in this clone" for path in ignored)
    if installation.graph_files is not None:
        number = counted(installation.graph_files, "source file")
        echo_line(f"{'graph':<10} {number}, for notes after an edit")
    if installation.has_prompts is not None:
        if installation.has_prompts:
            context = "a brief"
        else:
            context = "no context (a brief with --prompts)"
        echo_line(f"{'prompts':<10} get {context}")


@operation_command(operations.STATUS, group=agents)
def status(states: operations.AgentStates, _request: operations.StatusRequest) -> None:
    """Print each agent, and the files in which kl is registered with it."""
    for state in states.agents:
        if state.is_enabled and not state.asks:
            brief = "; a prompt brings a brief"
        else:
            brief = ""
        if state.is_enabled:
            enabled = "enabled"
        else:
            enabled = "not enabled in this clone"
        echo_line(f"{state.agent:<8} {enabled}{brief}")
        echo_lines(f"         {file.path}: {file.content}" for file in state.files)
    if any(state.is_enabled for state in states.agents) and not states.has_python:
        is_missing = f"{states.python} is not there"
        if states.python:
            reason = is_missing
        else:
            reason = "git config kl.python is not set"
        warn(
            f"hooks in shared files and MCP servers don't start: {reason}."
            " hint: kl agents install AGENT"
        )


@agents.command(
    hidden=True, epilog="Example: kl agents hook SessionStart --agent claude < payload.json"
)
@click.argument("event")
@click.option("--agent", required=True, help="The agent that calls it.")
def hook(event: str, agent: str) -> int:
    """Answer one EVENT of an agent: its JSON on stdin, its JSON or nothing on stdout. Ends with 0
    whatever happens.
    """
    from kl_hooks.tools.agent_hooks import main

    return main([event, "--agent", agent])
