"""`kl memory inject`: what an agent is given before it starts."""

from __future__ import annotations

import os

import click

from kl_hooks.cli.common import format_option, note, say_json, workspace


@click.command(epilog="Example: kl memory inject parser utf-8 --top 3")
@click.argument("hints", nargs=-1, metavar="[HINT]...")
@click.option("--top", type=click.IntRange(1, 100), help="Most memories given; else as configured.")
@click.option("--budget", default=8000, show_default=True, type=click.IntRange(200, 1_000_000), help="Characters.")
@format_option()
def inject(hints: tuple[str, ...], top: int | None, budget: int, shape: str) -> None:
    """The section `Project Knowledge` for an agent that is about to start.

    Approved memories only. With HINTS: those that fit, by authority, then by who asked for them last, then by how well
    they fit. Without, at the start of a session: 20 of them, by tier, then by how many sessions confirmed them. Each
    memory given is counted; that never raises its rank.
    """
    from kl_hooks.kinds.memory.giving import give, most_of

    ws = workspace()
    given = give(ws, list(hints), top or most_of(ws, hints), budget, folder=os.getcwd())  # noqa: PTH109
    if given.trouble:
        note(f"not counted: {given.trouble}")
    if shape == "json":
        say_json(
            {
                "schema": "kl.memory.inject/1", "text": given.text, "ids": list(given.ids), "brief": list(given.brief),
                "budget": {"unit": "characters", "total": budget, "used": len(given.text)},
            }
        )  # fmt: skip
        return
    click.echo(given.text, nl=False)
    if not given.ids:
        note("no approved memory fits. See: kl memory review")
