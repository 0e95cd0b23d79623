"""A group of commands, each imported only when it is called, or when its own help is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """Knows its commands by name and line; the module of one is imported when that one is asked for."""

    def __init__(self, *args: Any, prefix: str = "", lines: Mapping[str, str] | None = None, **more: Any) -> None:
        """`lines`: command → its line in the help. It stands in the module `prefix` + name, under its own name;
        where Python has that name already, with `_` after it.
        """
        super().__init__(*args, **more)
        self._prefix = prefix
        self._lines = dict(lines or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._lines)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self._lines:
            return None
        module = import_module(self._prefix + name)
        command: click.Command = getattr(module, name, None) or getattr(module, f"{name}_")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self._lines and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], self._lines, 1)
            hint = f"Did you mean {near[0]!r}?" if near else f"See: {ctx.command_path} --help"
            raise click.UsageError(f"No such command {args[0]!r}. {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self._lines.items()))
