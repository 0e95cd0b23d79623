"""`kl task plan`: waves, what is missing, and cycles as errors."""

from __future__ import annotations

import click

from kl_hooks.cli.common import format_option, say, say_json, workspace
from kl_hooks.cli.task_works import there_of, works_of


@click.command(epilog="Example: kl task plan --from agents.yaml")
@click.option("--from", "path", metavar="FILE", type=click.Path(), help="Plan the agents of this YAML file instead.")
@format_option()
def plan(path: str | None, shape: str) -> int:
    """What can be done side by side, in which order: from what each task requires and produces.

    Exit 1 where tasks wait for each other in a circle; each circle is named whole. What nobody produces and is not
    there orders nothing and is listed.
    """
    from kl_hooks.kinds.task import plan_waves as planned

    ws = workspace()
    works, titles, done = works_of(ws, path)
    todo = [work for work in works if work.name not in done]
    made = planned(todo, there_of(ws, works, done), outside=path is not None)
    if shape == "json":
        say_json({
            "schema": "kl.task.plan/1", "active": made.active, "waves": [list(wave) for wave in made.waves],
            "unmet": [{"name": name, "token": one} for name, one in made.unmet],
            "circles": [list(way) for way in made.circles], "blocked": list(made.blocked),
        })  # fmt: skip
        return 1 if made.circles else 0
    for way in made.circles:
        what = f"{way[0]} needs what it produces itself" if len(way) == 2 else f"a circle: {' needs '.join(way)}"
        say(f"{what}. Take one of its requirements out.")
    for number, wave in enumerate(made.waves, 1):
        for name in wave:
            say(f"{number:>3}  {name}" + (f"  {titles[name]}" if name in titles else ""))
    unmet = {name for name, _ in made.unmet}
    for name in (one for one in made.blocked if one not in unmet):
        say(f"  -  {name}" + (f"  {titles[name]}" if name in titles else "") + "   (waits for what can't be begun)")
    for name, one in made.unmet:
        say(f"  ?  {name} requires {one}: nobody produces it, and it is not there")
    if not todo:
        say('nothing is to be done. Make a task: kl task new "…"' if not works else "everything is done.")
    return 1 if made.circles else 0
