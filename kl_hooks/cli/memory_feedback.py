"""`kl memory feedback`: how a task ended that it was given to."""

from __future__ import annotations

import click

from kl_hooks.cli.common import format_option, say, say_json, workspace


@click.command(epilog="Example: kl memory feedback MEM-3f9a1c2b positive")
@click.argument("id")
@click.argument("result", type=click.Choice(["positive", "negative"]))
@format_option()
def feedback(id: str, result: str, shape: str) -> None:
    """Note how a task ended that a memory was given to. From five on, it weighs what it was worth."""
    from kl_hooks.cli.memory_after import meant
    from kl_hooks.kinds.memory.judging import outcome

    ws = workspace()
    record = meant(id)
    tally, today = outcome(ws, record, result)
    if shape == "json":
        counts = {"injected": tally.injected, "positive": tally.positive, "negative": tally.negative}
        say_json({"schema": "kl.memory.feedback/1", "id": record.id, **counts, "weighs": today})
        return
    say(f"{record.id}  given {tally.injected}, helped {tally.positive}, did not {tally.negative}; weighs {today} %")
