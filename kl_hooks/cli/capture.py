"""`kl run -- CMD`, and `kl commits`, which git hooks call: what records evidence and never fails
because of kl.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from kl_hooks.cli.output import echo_lines, warn, workspace
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


@click.group()
def commits() -> None:
    """Record commits, and name context packages in them."""


@commits.command(epilog="Example: kl commits record")
@click.pass_context
def record(context: click.Context) -> None:
    """Note that a commit was made; it is read from git when evidence is next asked for.

    Always ends with 0: a commit that has been made is not called back.
    """
    from kl_hooks.evidence.capture import record_new_commit

    record_new_commit(Path(context.find_root().params.get("root") or os.getcwd()), os.environ)  # noqa: PTH109


@commits.command(epilog="Example: git commit -m 'Round totals' --trailer \"$(kl commits trailer)\"")
@click.option(
    "--write",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Add them to the message in this file, as a commit-msg git hook does.",
)
def trailer(write: Path | None) -> None:
    """The trailers that name the context packages made since the last commit: `Kl-Package:
    cp-3f9a1c20b7de`.

    Commits with them are compared with what the packages contained: kl stats recall. At most five,
    the newest.
    """
    from kl_hooks.context.recall import TRAILER, packages_since_commit

    ws = workspace()
    found = [f"{TRAILER}: {one}" for one in packages_since_commit(ws)]
    if write is None:
        echo_lines(found)
        if not found and sys.stderr.isatty():
            warn("no package was made since the last commit.")
    elif ws.repo is not None:
        from kl_hooks.git.commits import add_trailers

        add_trailers(ws.repo, write, found)
