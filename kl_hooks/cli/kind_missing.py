"""What is missing for a new record, with the option that gives it."""

from __future__ import annotations

import re

import click

from kl_hooks.config.problems import Problems


def with_options(found: Problems, *, editor: bool) -> Problems:
    """The same problems; one about a missing field names the option of the command that is running.

    `editor`: the command has `--edit` too.
    """
    command = click.get_current_context().command
    named = {one.name: max(one.opts, key=len) for one in command.params if isinstance(one, click.Option)}
    named |= {one.name: one.human_readable_name for one in command.params if isinstance(one, click.Argument)}
    problems = []
    for one in found.problems:
        missing = re.fullmatch(r'"(\w+)" is missing\.', one.message)
        option = named.get(missing[1]) if missing else None
        more = f"Give {option}{', or --edit' if editor else ''}."
        problems.append(one._replace(hint=f"{one.hint} {more}".strip()) if option else one)
    return Problems(problems)
