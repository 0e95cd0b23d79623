"""`kl maintain`: what is to be done regularly, from cron, CI, or by itself once a day."""

from __future__ import annotations

import click

from kl_hooks.cli.common import format_option, note, say, say_json, workspace
from kl_hooks.errors import CLEAN, ENVIRONMENT


@click.command(epilog="Example: kl maintain --due")
@click.option("--due", "only_due", is_flag=True, help="Only what was not done lately.")
@format_option()
def maintain(only_due: bool, shape: str) -> int:
    """Do what is to be done regularly: take in captures, mine receipts, tidy the state, check the chain.

    Nothing in the work tree is touched. To have it done by itself, at most once a day, behind another command and never
    in CI or a git hook: git config kl.maintain daily
    """
    from kl_hooks.upkeep.schedule import maintain as run
    from kl_hooks.upkeep.schedule import plain

    done = run(workspace(), only_due=only_due)
    for one in done:
        if one.trouble:
            note(f"{one.name}: {one.trouble}")
    if shape == "json":
        say_json(plain(done))
        return ENVIRONMENT if any(one.trouble for one in done) else CLEAN
    for one in done:
        if not one.trouble:
            say(f"{one.name:<8} {one.result}")
    if not done:
        say("Nothing is due.")
    return ENVIRONMENT if any(one.trouble for one in done) else CLEAN
