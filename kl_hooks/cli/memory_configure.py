"""`kl memory configure`: how memories work in this clone."""

from __future__ import annotations

import click

from kl_hooks.cli.common import format_option, note, say, say_json, workspace


@click.command(epilog="Example: kl memory configure --top-k 3 --auto-extract no")
@click.option("--top-k", type=click.IntRange(1, 100), help="Memories that an agent is given at once.")
@click.option("--auto-extract", type=click.BOOL, help="Whether patterns are mined without being asked for: yes or no.")
@format_option()
def configure(top_k: int | None, auto_extract: bool | None, shape: str) -> None:
    """How memories work in this clone. Kept in git's configuration of the clone: it is yours, and no checkout's."""
    from kl_hooks.errors import EnvironmentProblem
    from kl_hooks.git.repository import ask

    ws = workspace()
    chosen = {"memory-top-k": top_k, "memory-auto-extract": None if auto_extract is None else str(auto_extract).lower()}
    for key, value in chosen.items():
        if value is None:
            continue
        if ws.repo is None:
            hint = "Set memory_top_k and memory_auto_extract in your own kl/config.yaml."
            raise EnvironmentProblem("not a git repository.", place=str(ws.root), hint=hint)
        ask(ws.repo, "config", "--local", f"kl.{key}", str(value))
    top = top_k or ws.settings.memory_top_k
    extract = ws.settings.memory_auto_extract if auto_extract is None else auto_extract
    if shape == "json":
        say_json({"schema": "kl.memory.settings/1", "top_k": top, "auto_extract": extract})
        return
    say(f"top-k         {top}\nauto-extract  {'yes' if extract else 'no'}")
    if top_k or auto_extract is not None:
        note("kept in this clone's git configuration (kl.memory-top-k, kl.memory-auto-extract).")
