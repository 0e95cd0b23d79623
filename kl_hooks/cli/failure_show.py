"""`kl failure show`: a failure, and how often it happened."""

from __future__ import annotations

import click

from kl_hooks.cli.common import format_option, say, say_json, workspace


@click.command(epilog="Example: kl failure show FAIL-3f9a1c2b")
@click.argument("id")
@format_option()
def show(id: str, shape: str) -> None:
    """One failure, whole, with how often it happened here."""
    from kl_hooks.cli.kind_read import told
    from kl_hooks.cli.record_text import lines_of
    from kl_hooks.kinds.failure import occurrences, times_phrase
    from kl_hooks.records.query import get_record, record_to_dict, supersession_chain

    ws = workspace()
    record = get_record(ws, id, "failure")
    how_often = occurrences(ws, record)
    told()
    if shape == "json":
        plain = {
            "occurrence_count": how_often.total,
            "first_occurred": how_often.first,
            "last_occurred": how_often.last,
        }
        say_json(record_to_dict(ws, record) | plain)
        return
    head, *rest = lines_of(ws, record, supersession_chain(ws, record))
    say(head)
    say(f"{'happened':<13} {times_phrase(how_often.total)}, first {how_often.first[:10]}, last {how_often.last[:10]}")
    for line in rest:
        say(line)
