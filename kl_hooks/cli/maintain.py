"""`kl maintain`: periodic maintenance, from cron, CI, or once a day in the background of another command."""

from __future__ import annotations

import click

from kl_hooks.cli.options import format_option
from kl_hooks.cli.output import echo, echo_json, warn, workspace
from kl_hooks.errors import CLEAN, ENVIRONMENT_ERROR


@click.command(epilog="Example: kl maintain --due")
@click.option("--due", "only_due", is_flag=True, help="Only what was not done lately.")
@format_option()
def maintain(only_due: bool, shape: str) -> int:
    """Run periodic maintenance: import captures, mine receipts, tidy the state, check the chain.

    Nothing in the working tree is touched. To have it run by itself, at most once a day, after another command and
    never in CI or a git hook: git config kl.maintain daily
    """
    from kl_hooks.upkeep.schedule import run_maintenance as run
    from kl_hooks.upkeep.schedule import to_dict

    done = run(workspace(), only_due=only_due)
    for one in done:
        if one.trouble:
            warn(f"{one.name}: {one.trouble}")
    if shape == "json":
        echo_json(to_dict(done))
        return ENVIRONMENT_ERROR if any(one.trouble for one in done) else CLEAN
    for one in done:
        if not one.trouble:
            echo(f"{one.name:<8} {one.result}")
    if not done:
        echo("Nothing is due.")
    return ENVIRONMENT_ERROR if any(one.trouble for one in done) else CLEAN
