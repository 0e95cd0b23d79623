"""`kl run -- CMD`."""

from __future__ import annotations

import os

import click

from kl_hooks.cli.output import warn, workspace
from kl_hooks.errors import KlError


@click.command(
    # else click takes options of COMMAND for its own: `kl run make -k`
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="Example: kl run -- make build",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(command: tuple[str, ...]) -> int:
    """Run COMMAND and record its exit code as evidence.

    Its input, output, signals and exit code pass through. If it fails, the end of its output is recorded, redacted.
    """
    from kl_hooks.evidence.sources.command import run_command, run_unrecorded

    try:
        ws = workspace()
    except KlError as problem:  # broken settings must not keep a command from running
        ran = run_unrecorded(command, os.environ, str(problem))
    else:
        ran = run_command(ws, command)
    if ran.trouble:
        warn(ran.trouble)
    return ran.exit
