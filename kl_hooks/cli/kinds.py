"""The command group of a kind, made from its description: `new · list · show · search · edit · delete · history`."""

from __future__ import annotations

import keyword
from typing import Any

import click

from kl_hooks.cli.kind_verbs import EXTRA, STANDARD
from kl_hooks.cli.lazy import LazyGroup


class KindGroup(LazyGroup):
    """`kl decision`: what every kind has, its changes of status, and what only it has."""

    def __init__(self, kind_name: str, line: str) -> None:
        super().__init__(kind_name, help=line, prefix="kl_hooks.cli.", lines={})
        self._kind_name = kind_name

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._all())

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        name = {"create": "new"}.get(name, name)
        if name in EXTRA.get(self._kind_name, {}):
            from importlib import import_module

            module = import_module(f"kl_hooks.cli.{self._kind_name}_{name}")
            command: click.Command = getattr(module, name + "_" * keyword.iskeyword(name))
            return command
        if name not in self._all():
            return None
        from kl_hooks.cli.kind_commands import command_of

        return command_of(self._kind(), name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] == "create":
            args = ["new", *args[1:]]
        self._lines = self._all()
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self._lines = self._all()
        super().format_commands(ctx, formatter)

    def _kind(self) -> Any:
        from kl_hooks.cli.kind_commands import kind_of

        return kind_of(self._kind_name)

    def _all(self) -> dict[str, str]:
        """Command → its line: the standard ones, its verbs, its own."""
        verbs = {verb.name: verb.says for verb in self._kind().verbs}
        return {**STANDARD, **verbs, **EXTRA.get(self._kind_name, {})}


def group_of(name: str, line: str) -> KindGroup:
    """The command group of a kind."""
    return KindGroup(name, line)
