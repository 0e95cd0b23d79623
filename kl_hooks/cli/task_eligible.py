"""`kl task eligible`: what can be begun now."""

from __future__ import annotations

import click

from kl_hooks.cli.common import format_option, say, say_json, workspace
from kl_hooks.cli.task_works import there_of, works_of


@click.command(epilog="Example: kl task eligible --done planner")
@click.option("--from", "path", metavar="FILE", type=click.Path(), help="Of the agents of this YAML file instead.")
@click.option("--done", "finished", multiple=True, metavar="NAME", help="Count this one as done. May be repeated.")
@click.option("--with", "given", multiple=True, metavar="TOKEN", help="Count this token as there. May be repeated.")
@format_option()
def eligible(path: str | None, finished: tuple[str, ...], given: tuple[str, ...], shape: str) -> None:
    """The tasks whose requirements are all there, and what the others still wait for."""
    from kl_hooks.kinds.task import eligible_names as ready_of
    from kl_hooks.kinds.task import normalized_token, unmet_requirements

    ws = workspace()
    works, titles, done = works_of(ws, path)
    unknown = [name for name in finished if name not in {work.name for work in works}]
    if unknown:
        raise click.UsageError(f"--done {unknown[0]}: nothing is called so.")
    try:
        more = {normalized_token(one) for one in given}
    except ValueError as error:
        raise click.UsageError(f"--with: {error}.") from None
    done |= set(finished)
    there = there_of(ws, works, done) | more
    ready = ready_of(works, done, there)
    waiting = {work.name: unmet_requirements(work, there) for work in works if work.name not in (*done, *ready)}
    if shape == "json":
        rows = [{"name": name, "waits_for": list(tokens)} for name, tokens in waiting.items()]
        say_json({"schema": "kl.task.eligible/1", "eligible": list(ready), "waiting": rows})
        return
    for name in ready:
        say(f"now    {name}" + (f"  {titles[name]}" if name in titles else ""))
    for name, tokens in waiting.items():
        say(f"later  {name}  waits for {', '.join(tokens)}")
    if not ready and not waiting:
        say("nothing is to be done.")
