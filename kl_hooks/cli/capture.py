"""`kl run -- CMD`, and `kl commits`, which git hooks call: what records evidence and never fails
because of kl.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click

from kl_hooks.cli.groups import LazyGroup
from kl_hooks.cli.output import warn, workspace
from kl_hooks.errors import KlError
from kl_hooks.workspace import require_plugins


@click.command(
    # else click takes options of COMMAND for its own: `kl run make -k`
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="Example: kl run -- make build",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(command: tuple[str, ...]) -> int:
    """Run COMMAND and record its exit code as evidence.

    Its input, output, signals and exit code pass through. If it fails, the end of its output is
    recorded, redacted.
    """
    from kl_hooks.evidence.sources.command import run_command, run_unrecorded

    try:
        ws = workspace()
        require_plugins(ws)
    except KlError as problem:  # broken settings must not keep a command from running
        ran = run_unrecorded(command, os.environ, str(problem))
    else:
        ran = run_command(ws, command)
    if ran.trouble:
        warn(ran.trouble)
    return ran.exit


_COMMITS: Final = {
    "record": "Note that a commit was made; it is read from git when evidence is next asked for.",
    "trailer": "The trailers that name the context packages made since the last commit.",
}
"""Command → its line in the help."""


# a git hook calls `record` after each commit: it imports no operation
@click.group(
    cls=LazyGroup,
    module="kl_hooks.cli.{}",
    lines=_COMMITS,
    places={"record": "capture", "trailer": "trailer"},
)
def commits() -> None:
    """Record commits, and name context packages in them."""


@click.command(epilog="Example: kl commits record")
@click.pass_context
def record(context: click.Context) -> None:
    """Note that a commit was made; it is read from git when evidence is next asked for.

    Always ends with 0: a commit that has been made is not called back.
    """
    from kl_hooks.evidence.capture import record_new_commit

    record_new_commit(Path(context.find_root().params.get("root") or os.getcwd()), os.environ)  # noqa: PTH109
