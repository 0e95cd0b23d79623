"""`kl decision discover`: decisions that the code has taken already."""

from __future__ import annotations

from dataclasses import asdict

import click

from kl_hooks.cli.common import counted, format_option, note, say, say_json, workspace


@click.command(epilog="Example: kl decision discover --write")
@click.option("--write", is_flag=True, help="Write them as proposed records; a person accepts or rejects each.")
@click.option(
    "--threshold", type=click.IntRange(0, 100), default=70, show_default=True, help="Percent from which one is shown."
)
@format_option()
def discover(write: bool, threshold: int, shape: str) -> None:
    """Propose decisions from the folders, the declared dependencies and the patterns of the code.

    What was proposed before is not proposed again, accepted or not. Nothing is written without --write.
    """
    from kl_hooks.kinds.decision.discovery import discover_decisions as run
    from kl_hooks.kinds.decision.discovery import record_proposals
    from kl_hooks.records.write import require_setup

    ws = workspace()
    if write:
        require_setup(ws)
    found, known = run(ws, threshold)
    made = record_proposals(ws, found) if write else []
    if shape == "json":
        ids = [one.id for one in made] or [""] * len(found)
        rows = [{**asdict(one), "id": i} for one, i in zip(found, ids, strict=True)]
        say_json({"schema": "kl.decision.discover/1", "proposals": rows, "known": known, "wrote": write})
        return
    for number, one in enumerate(found):
        head = f"{made[number].id}  " if made else ""
        say(f"{head}{one.confidence:>3} %  {one.title}")
        for line in one.evidence:
            say(f"         {line}")
    if known:
        note(f"{counted(known, 'decision')} left out: proposed before.")
    if not found:
        say("nothing that no record says already.")
    elif not write:
        note("nothing was written. To keep them as proposals: kl decision discover --write")
