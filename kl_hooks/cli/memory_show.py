"""`kl memory show`: one memory, and what supports it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from kl_hooks.cli.common import counted, format_option, note, say, say_json, workspace

if TYPE_CHECKING:
    from kl_hooks.kinds.memory.reviewing import Shown


@click.command(epilog="Example: kl memory show MEM-3f9a1c2b")
@click.argument("id")
@format_option()
def show(id: str, shape: str) -> None:
    """A memory, whole: what it says, what supports it, how it fared. Asking for it counts as access."""
    from kl_hooks.cli.memory_after import meant
    from kl_hooks.cli.record_text import lines_of
    from kl_hooks.errors import EnvironmentProblem
    from kl_hooks.kinds.memory.giving import importance_today, opened
    from kl_hooks.kinds.memory.reviewing import shown
    from kl_hooks.records.query import record_to_dict

    ws = workspace()
    record = meant(id)
    (seen,) = shown(ws, [record])
    today = importance_today(ws, record, seen.tally) // 10_000
    if shape == "json":
        say_json(record_to_dict(ws, record) | {"memory": seen.plain() | {"importance_today": today}})
    else:
        for line in (*lines_of(ws, record, [record]), "", *_fared(seen, today)):
            say(line)
    try:
        opened(ws, record)
    except EnvironmentProblem as problem:
        note(f"this access is not counted: {problem}")


def _fared(seen: Shown, today: int) -> Iterator[str]:
    tally = seen.tally
    yield f"{'tier':<13} {seen.support.tier.word}"
    last = f", last on {tally.reinforced_at[:10]}" if tally.reinforced_at else ""
    yield f"{'seen':<13} in {counted(tally.reinforcement, 'session')}{last}"
    yield f"{'weighs':<13} {today} % today; given {tally.injected}, helped {tally.positive}, did not {tally.negative}"
    if seen.ready:
        yield f"{'ready':<13} for the project (asked for {tally.opened} times): kl memory approve {seen.record.id}"
    for reason in seen.held:
        yield f"{'held back':<13} {reason}"
    for line in seen.support.lines:
        yield f"{'evidence':<13} {line}"
