"""`kl memory feedback`: how a task ended that it was given to."""

from __future__ import annotations

import click

from kl_hooks.cli.common import say, workspace


@click.command(epilog="Example: kl memory feedback MEM-3f9a1c2b positive")
@click.argument("id")
@click.argument("result", type=click.Choice(["positive", "negative"]))
def feedback(id: str, result: str) -> None:
    """Note how a task ended that a memory was given to. From five on, it weighs what it was worth."""
    from kl_hooks.cli.memory_after import meant
    from kl_hooks.kinds.memory.judging import outcome

    ws = workspace()
    record = meant(id)
    tally, today = outcome(ws, record, result)
    say(f"{record.id}  given {tally.injected}, helped {tally.positive}, did not {tally.negative}; weighs {today} %")
