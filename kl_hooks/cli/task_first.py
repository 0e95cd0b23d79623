"""A command group whose first word is a task in plain words, unless it names one of its commands."""

from __future__ import annotations

from typing import Any

import click

TASK = "TASK"


class _TaskContext(click.Context):
    """Of a command that nobody types: usage, hints and variables name its group."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        if self.parent:
            self.auto_envvar_prefix = self.parent.auto_envvar_prefix

    @property
    def command_path(self) -> str:
        return self.parent.command_path if self.parent else super().command_path


class TaskCommand(click.Command):
    """What a group does with a task."""

    context_class = _TaskContext


class TaskFirst(click.Group):
    """A group whose first word is a task unless it is one of its commands; `--` before it makes any word a task."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = args[: args.index("--")] if "--" in args else args
        if not args or args[0] not in self.commands:
            args = ["--help"] if {"-h", "--help"} & set(words) else [TASK, *args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [p for p in self.commands[TASK].params if isinstance(p, click.Option)]
        records = [record for option in options if (record := option.get_help_record(ctx))]
        with formatter.section("Options"):
            formatter.write_dl(records)
        self.format_commands(ctx, formatter)
