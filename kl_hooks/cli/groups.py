"""Command groups whose commands are imported only when they are called.

`kl GROUP VERB` is the function VERB in `kl_hooks/cli/GROUP.py`, with `_` after it where Python has
that name; it is GROUP_VERB where groups that share a module have the same VERB.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class LazyGroup(click.Group):
    """A group that knows its commands by name and line; the module of one is imported when that one
    is needed.
    """

    def __init__(
        self,
        *args: Any,
        module: str,
        lines: Mapping[str, str] | None = None,
        places: Mapping[str, str] | None = None,
        former: Collection[str] = (),
        **more: Any,
    ) -> None:
        """`lines`: command → its line in the help. `module`: where they are; `{}` in it is the
        command's name, or what `places` has for it. `former`: commands that another one replaces,
        which run as before and are in no help.
        """
        super().__init__(*args, **more)
        self._module = module
        self._places = places or {}
        self._lines = dict(lines or {})
        self._former = frozenset(former)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._lines)

    def former_commands(self) -> list[str]:
        """Names that are read and listed nowhere."""
        return []

    def _shown(self, ctx: click.Context) -> list[str]:
        return [name for name in self.list_commands(ctx) if name not in self._former]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self._lines:
            return None
        return self.load(name)

    def load(self, name: str) -> click.Command:
        """Return the object `name` of the module: `GROUP_name` if groups share it, `name_` if
        Python has that name.
        """
        found = vars(import_module(self._module.format(self._places.get(name, name))))
        # a function that is no command may have such a name
        named = (found.get(one) for one in (f"{self.name}_{name}", f"{name}_", name))
        return next(one for one in named if isinstance(one, click.Command))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        # click suggests a near name by itself only since 8.5, and only of commands that are loaded
        if args and args[0] not in self._lines and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], self._lines, 1)
            if near:
                hint = f"Did you mean {near[0]!r}?"
            else:
                hint = f"See: {ctx.command_path} --help"
            raise click.UsageError(f"No such command {args[0]!r}. {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._lines[name]) for name in self._shown(ctx)])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        # click's own way loads every command for its help: half a second for `kl <TAB>`
        names = [name for name in self._shown(ctx) if name.startswith(incomplete)]
        items = [CompletionItem(name, help=self._lines[name]) for name in names]
        return items + super(click.Group, self).shell_complete(ctx, incomplete)
