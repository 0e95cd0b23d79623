"""`kl task new`: something to be done, with what it needs and gives."""

from __future__ import annotations

from typing import Any

import click

from kl_hooks.cli.common import format_option, workspace


@click.command(epilog='Example: kl task new "Write the lexer" --requires artifact:grammar --produces file:src/lexer.py')
@click.argument("title", required=False)
@click.option("--title", "title_option", help="What it is, in one line.")
@click.option(
    "--requires", multiple=True, metavar="TOKEN", help="artifact:NAME, file:PATH or symbol:NAME. May be repeated."
)
@click.option("--produces", multiple=True, metavar="TOKEN", help="What is there once it is done. May be repeated.")
@click.option("--type", "--task-type", "task_type", help="The type of work, which says its gate: feature, docs …")
@click.option("--complexity", type=click.IntRange(1, 10), help="How much there is to it, 1 to 10.")
@click.option("--assignee", help="Who does it.")
@click.option("--objective", metavar="ID", help="The objective it serves.")
@click.option("--feature", "feature_id", metavar="ID", help="The feature it belongs to.")
@click.option("--about", multiple=True, metavar="ID|PATH", help="The files and symbols it is about. May be repeated.")
@click.option("--description", help="What to do.")
@click.option("--agent", is_flag=True, help="An agent makes it.")
@format_option()
def new(title: str | None, title_option: str | None, agent: bool, shape: str, **said: Any) -> None:
    """Make a task. What tasks require and produce gives their order: kl task plan."""
    from kl_hooks.cli.kind_new import make
    from kl_hooks.config.problems import Problems
    from kl_hooks.kinds.task import valid_tokens
    from kl_hooks.model.problem import Problem

    raw = {name: list(value) if isinstance(value, tuple) else value for name, value in said.items() if value}
    wrong = valid_tokens([*said["requires"], *said["produces"]])[1]
    if wrong:
        raise Problems([Problem("kl task new", 0, 0, f"{one}.") for one in wrong])
    make(workspace().kinds["task"], raw | {"title": title or title_option or ""}, {"agent": agent, "shape": shape})
