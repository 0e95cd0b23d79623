"""`kl objective new` (also `create`): an objective with its tasks."""

from __future__ import annotations

from typing import Any

import click

from kl_hooks.cli.common import format_option, workspace


@click.command(epilog='Example: kl objective create --title "A parser" --tasks "Lexer,Grammar"')
@click.argument("title", required=False)
@click.option("--title", "title_option", help="What it is, in one line.")
@click.option("--tasks", default="", help="What has to be done, with commas between.")
@click.option("--task", "more", multiple=True, help="One thing that has to be done, as it is. May be repeated.")
@click.option("--description", help="Why it matters, and when it is reached.")
@click.option("--about", multiple=True, metavar="ID|PATH", help="The files and symbols it is about. May be repeated.")
@click.option("--tag", "tags", multiple=True, help="Short words to find it by. May be repeated.")
@click.option("--agent", is_flag=True, help="An agent makes it.")
@format_option()
def new(
    title: str | None, title_option: str | None, tasks: str, more: tuple[str, ...], agent: bool, shape: str, **said: Any
) -> None:
    """Make an objective: what is being worked towards, and the tasks that remain."""
    from kl_hooks.cli.kind_new import make

    remaining = [*(one.strip() for one in tasks.split(",") if one.strip()), *more]
    raw = {name: list(value) if isinstance(value, tuple) else value for name, value in said.items() if value}
    raw |= {"title": title or title_option or "", "remaining": remaining}
    make(workspace().kinds["objective"], raw, {"agent": agent, "shape": shape})
