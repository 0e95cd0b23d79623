"""The commands that every kind has, made from its fields: an option for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from kl_hooks.cli.common import an, format_option, workspace
from kl_hooks.model.kind import Field, Kind, Verb

_TYPES = {"number": click.INT, "flag": click.BOOL}
_KEPT = ("status", "updated", "supersedes", "superseded_by")
"""Fields that verbs set, not options."""


def kind_of(name: str) -> Kind:
    """The kind of this name, here."""
    return workspace().kinds[name]


def command_of(kind: Kind, name: str) -> click.Command:
    """The command `name` of a kind: a standard one, or one of its verbs."""
    verb = next((one for one in kind.verbs if one.name == name), None)
    if verb:
        return _verb(kind, verb)
    from kl_hooks.cli.kind_read import delete_of, history_of, list_of, search_of, show_of

    standard = {
        "new": _new, "edit": _edit, "list": list_of, "show": show_of, "search": search_of, "history": history_of,
        "delete": delete_of,
    }  # fmt: skip
    return standard[name](kind)


def _option(field: Field) -> Callable[..., Any]:
    """`--violation-symptoms`; a field of several values may be given several times."""
    name = "--tag" if field.name == "tags" else f"--{field.name.replace('_', '-')}"
    says = field.says + (f" One of: {', '.join(field.choices)}." if field.choices else "")
    if field.type in ("map", "lines", "words", "ids"):
        shape = "KEY=TEXT" if field.type == "map" else "TEXT"
        return click.option(name, field.name, multiple=True, metavar=shape, help=f"{says} May be repeated.")
    if field.type == "choice" and len(field.choices) < 5:
        return click.option(name, field.name, help=field.says, metavar=f"[{'|'.join(field.choices)}]")
    return click.option(name, field.name, help=says, type=_TYPES.get(field.type))


def _options(kind: Kind, command: Callable[..., Any]) -> Callable[..., Any]:
    for field in reversed(kind.all_fields):
        if field.name not in (*_KEPT, "title") and not field.internal:
            command = _option(field)(command)
    return command


def raw_of(kind: Kind, options: dict[str, Any]) -> dict[str, Any]:
    """Field → what the options gave; what was not given is left out."""
    raw: dict[str, Any] = {}
    for field in kind.all_fields:
        value = options.get(field.name)
        if value is None or value == ():
            continue
        if field.type == "map":
            pairs = [one.partition("=") for one in value]
            if any(not sign for _, sign, _ in pairs):
                raise click.UsageError(f"--{field.name.replace('_', '-')}: write KEY=TEXT.")
            value = {key: text for key, _, text in pairs}
        raw[field.name] = list(value) if isinstance(value, tuple) else value
    return raw


def _new(kind: Kind) -> click.Command:
    from kl_hooks.cli.kind_new import make

    @click.argument("title", required=False)
    @click.option(
        "--id",
        "asked",
        help=f"Its id, such as {kind.prefix}-0001; else one is given.",
        hidden=kind.numbering != "given",
    )
    @click.option("--body", default="", help="Markdown that belongs in no field.", hidden=True)
    @click.option("--edit", is_flag=True, help="Write it in your editor.")
    @click.option("--format", "shape", type=click.Choice(["text", "json"]), default="text", show_default=True)
    def new(title: str | None, title_option: str | None, **options: Any) -> None:
        make(kind, raw_of(kind, {**options, "title": title or title_option}), options)

    made = click.option("--title", "title_option", help="What it is, in one line; or give it as TITLE.")(
        _options(kind, new)
    )
    if "superseded" in kind.statuses:
        says = f"The {kind.name} whose place it takes, once it is accepted. May be repeated."
        made = click.option("--supersedes", multiple=True, metavar="ID", help=says)(made)
    if "agent" not in kind.by_name:  # else it is a field, and whoever names an agent there is taken at his word
        flag = click.option("--agent", is_flag=True, help="An agent makes it: it waits for a person.")
        made = flag(made)
    made.__doc__ = f"Make {an(kind.name)}: {kind.purpose[:1].lower()}{kind.purpose[1:]}"
    more = " --edit" if any(field.required and field.name != "title" for field in kind.all_fields) else ""
    return click.command("new", epilog=f'Example: kl {kind.name} new "{_example(kind)}"{more}')(made)


def _edit(kind: Kind) -> click.Command:
    from kl_hooks.cli.kind_new import edit as run

    @click.argument("id")
    @click.option("--title", "title", help="What it is, in one line.")
    @click.option("--clear", multiple=True, metavar="FIELD", help="Take a field out. May be repeated.")
    @format_option()
    def edit(id: str, clear: tuple[str, ...], shape: str, **options: Any) -> None:
        run(kind, id, raw_of(kind, options), clear, shape)

    made = _options(kind, edit)
    made.__doc__ = f"Change fields of {an(kind.name)}; without any, its file opens in your editor."
    return click.command("edit", epilog=f"Example: kl {kind.name} edit {kind.prefix}-0001 --tag speed")(made)


def _verb(kind: Kind, verb: Verb) -> click.Command:
    from kl_hooks.cli.kind_new import transit

    @click.argument("id")
    @format_option()
    def command(id: str, shape: str, **options: Any) -> None:
        transit(kind, verb, id, raw_of(kind, options), shape)

    made: Callable[..., Any] = command
    for name in reversed(verb.needs):
        made = _option(kind.by_name[name])(made)
    made.__doc__ = verb.says
    return click.command(verb.name, epilog=f"Example: kl {kind.name} {verb.name} {kind.prefix}-0001")(made)


def _example(kind: Kind) -> str:
    return next((field.example for field in kind.all_fields if field.name == "title" and field.example), "In one line")


