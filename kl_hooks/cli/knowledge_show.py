"""`kl knowledge show`: a record, whatever its kind."""

from __future__ import annotations

import click

from kl_hooks.cli.common import format_option, say, say_json, workspace


@click.command(epilog="Example: kl knowledge show FEAT-AUTH-12")
@click.argument("id")
@format_option()
def show(id: str, shape: str) -> None:
    """One record of any kind, whole: its id says what it is."""
    from kl_hooks.cli.kind_read import told
    from kl_hooks.cli.record_text import lines_of
    from kl_hooks.records.query import get_record, record_to_dict, supersession_chain

    ws = workspace()
    record = get_record(ws, id)
    line = supersession_chain(ws, record)
    told()
    if shape == "json":
        say_json(record_to_dict(ws, record) | {"chain": [one.id for one in line]})
        return
    for text in lines_of(ws, record, line):
        say(text)
