"""`kl decision renumber`: a new id for a file whose id another file has too."""

from __future__ import annotations

import click

from kl_hooks.cli.common import format_option, note, say, say_json, workspace


@click.command(epilog="Example: kl decision renumber .kl/knowledge/decisions/ADR-0007-from-my-branch.md")
@click.argument("file")
@format_option()
def renumber(file: str, shape: str) -> None:
    """Give the decision in FILE (or of an id that only one file has) a new id, and mend what names it.

    Where two files had the id, a line is taken to mean the one that was there when the line was written; lines of which
    nobody can tell are left, and listed.
    """
    from kl_hooks.kinds.decision.renumber import renumber as run

    done = run(workspace(), file)
    if shape == "json":
        places = {"changed": [str(one) for one in done.changed], "unsure": [str(one) for one in done.unsure]}
        say_json({"schema": "kl.decision.renumber/1", "old": done.old, "new": done.new, "path": done.path, **places})
        return
    say(f"{done.old} is now {done.new}\n    {done.path}")
    for place in done.changed:
        say(f"    changed: {place}")
    for place in done.unsure:
        note(f"{place}: names {done.old}; change it by hand if {done.new} is meant.")
