"""Options that many commands share, each spelled in one way everywhere; older spellings are read and not shown."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
ABOUT = "PATH_OR_ID"
"""What `--about` takes, in the help."""


class Option(click.Option):
    """An option that is also read under `old` spellings. These are in no help and in no message."""

    def __init__(self, *args: Any, old: Sequence[str] = (), **more: Any) -> None:
        super().__init__(*args, **more)
        self._old = list(old)

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        # click has no hidden spellings (8.1 to 8.5): the parser alone is given all of them
        shown, self.opts = self.opts, [*self.opts, *self._old]
        super().add_to_parser(parser, ctx)
        self.opts = shown


class _FormatOption(click.Option):
    """`--format`, with the variable KL_…_FORMAT although the parameter has another name: `format` is a builtin."""

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        return os.environ.get(f"{ctx.auto_envvar_prefix}_FORMAT") or None


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given, by name; an option that may be repeated as a list."""
    return {name: list(v) if isinstance(v, tuple) else v for name, v in options.items() if v not in (None, "", ())}


def format_option(*more: str) -> Callable[[F], F]:
    """`--format text|json` and whatever else fits; the parameter is `shape`."""
    choices = click.Choice(["text", "json", *more])
    return click.option(
        "--format", "shape", cls=_FormatOption, type=choices, default="text", show_default=True, help="Output format."
    )


def top_option(default: int, most: int = 100_000, text: str = "Most results shown.") -> Callable[[F], F]:
    """`--top N`; the parameter is `limit`, so that KL_…_LIMIT still sets it."""
    return click.option(
        "--top", "limit", cls=Option, old=("--limit",), type=click.IntRange(1, most), default=default,
        show_default=True, help=text,
    )  # fmt: skip


def about_option(text: str = "Only those about this file, folder, symbol or record.") -> Callable[[F], F]:
    """`--about PATH_OR_ID`, once, to narrow a list."""
    return click.option("--about", default="", metavar=ABOUT, help=text)


def topic_option(text: str) -> Callable[[F], F]:
    """`--topic NAME`, also by the name of a group of older layouts."""
    return click.option("--topic", cls=Option, old=("--group",), default="", metavar="NAME", help=text)


def not_in_force_option() -> Callable[[F], F]:
    """`--all` of a search, as the parameter `everything`."""
    text = "Also what is proposed, rejected, superseded, disproven, expired or archived."
    return click.option("--all", "everything", is_flag=True, help=text)
