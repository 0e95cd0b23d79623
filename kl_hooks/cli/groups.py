"""Command groups whose commands are imported only when they are called, and the commands that each kind has.

`kl GROUP VERB` is the function VERB in `kl_hooks/cli/GROUP.py`, with `_` after it where Python has that name.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from kl_hooks.model.kind import Kind

STANDARD_COMMANDS: Final[Mapping[str, str]] = {
    "new": "Make one.",
    "list": "All of them, or those of one status, tag or place.",
    "show": "One, whole.",
    "search": "Those that match some words.",
    "edit": "Change fields of one.",
    "delete": "Take one away.",
    "history": "Earlier versions of one.",
}
"""Command → its line; each works on any kind."""

OWN_COMMANDS: Final[Mapping[str, Mapping[str, str]]] = {
    "decision": {
        "supersede": "Let one take the place of another.",
        "renumber": "Give one a new id where two files have the same.",
        "record": "Keep an answered question, if it decides enough.",
        "discover": "Propose decisions that the code has taken already.",
        "import": "Import those of other tools.",
        "export": "Write them in the form of another tool.",
    },
    "memory": {
        "add": "Record what was learned.",
        "review": "Go through the candidates: approve, reject, edit.",
        "inject": "What an agent is given before it starts.",
        "mine": "Mine receipts and transcripts for candidates.",
        "show": "One, whole, with what supports it.",
        "edit": "Change the text or fields of one.",
        "delete": "Take one away.",
        "approve": "Accept it: it becomes a file, and agents are shown it. --checked: it was checked too.",
        "reject": "Refuse it: the same pattern never comes back.",
        "demote": "Take it back to the candidates.",
        "disprove": "It was checked, and does not hold.",
        "feedback": "It helped, or it did not.",
        "import": "Import memories of fuseraft or agor, as JSON.",
        "export": "All of them as JSON, as fuseraft keeps them.",
        "configure": "How much is given, and whether patterns are mined unasked.",
    },
    "objective": {
        "new": "Make one, with its tasks.",
        "status": "How far one is, or all that are active.",
        "link": "Put a task on its list, or mark it done.",
    },
    "task": {
        "new": "Make one, with what it requires and produces.",
        "plan": "What can be done side by side, in which order.",
        "eligible": "What can be begun now.",
        "fulfil": "A task is done, or something is there.",
    },
    "outcome": {"capture": "Record how a task ended.", "similar": "How tasks like this one ended."},
    "failure": {
        "record": "What failed, and what prevents it; again: it is counted.",
        "show": "One, whole, and how often it happened.",
    },
    "feature": {"detect": "Which features a text names, with their files."},
    "role": {"show": "A role as a page, by its name or id."},
    "gate": {"for": "What work of a type and complexity must pass."},
    "turn": {"add": "Record a round of work and review.", "continue": "What the next round starts from."},
    "finding": {
        "add": "Record what an agent's tool found out or changed.",
        "import": "Import the findings of an agent's transcript.",
    },
}
"""Kind → command → its line."""

_OLD: Final[Mapping[tuple[str, str], str]] = {
    ("memory", "new"): "add",
    ("memory", "verify"): "approve --checked",
    ("memory", "promote"): "approve",
}
"""Command of a kind that is read for one more release → what to write instead."""


def command_in(module: str, name: str) -> click.Command:
    """Return the command of this name in a module: the object `name`, or `name_` where Python has that name already."""
    found = vars(import_module(module))
    command: click.Command = found.get(f"{name}_") or found[name]
    return command


def commands_of(kind: Kind) -> dict[str, str]:
    """Return command → its line: those of every kind, the changes of status of this one, those that only it has."""
    verbs = {verb.name: verb.description for verb in kind.verbs}
    every = {**STANDARD_COMMANDS, **verbs, **OWN_COMMANDS.get(kind.name, {})}
    return {name: line for name, line in every.items() if (kind.name, name) not in _OLD}


class LazyGroup(click.Group):
    """A group that knows its commands by name and line; the module of one is imported when that one is needed."""

    def __init__(self, *args: Any, module: str, lines: Mapping[str, str] | None = None, **more: Any) -> None:
        """`lines`: command → its line in the help. `module`: where they are; `{}` in it is the command's name."""
        super().__init__(*args, **more)
        self._module = module
        self._lines = dict(lines or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._lines)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return command_in(self._module.format(name), name) if name in self._lines else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        # click suggests a near name by itself only since 8.5, and only of commands that are loaded
        if args and args[0] not in self._lines and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], self._lines, 1)
            hint = f"Did you mean {near[0]!r}?" if near else f"See: {ctx.command_path} --help"
            raise click.UsageError(f"No such command {args[0]!r}. {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._lines[name]) for name in self.list_commands(ctx)])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        # click's own way loads every command for its help: half a second for `kl <TAB>`
        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        items = [CompletionItem(name, help=self._lines[name]) for name in names]
        return items + super(click.Group, self).shell_complete(ctx, incomplete)


class KindGroup(LazyGroup):
    """`kl decision`: what every kind has, its changes of status, and what only it has."""

    def __init__(self, name: str, line: str) -> None:
        super().__init__(name, help=line, module=f"kl_hooks.cli.{name}")
        self._kind_name = name

    def list_commands(self, ctx: click.Context) -> list[str]:
        if not self._lines:
            with ctx.scope(cleanup=False):  # a shell completion pushes no context
                self._lines = commands_of(self._kind())
        return list(self._lines)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        name = "new" if name == "create" else name
        if instead := _OLD.get((self._kind_name, name)):
            from kl_hooks.cli.output import warn

            warn(f"kl {self._kind_name} {name} will be removed. Use: kl {self._kind_name} {instead}")
            return command_in(self._module, name)
        if name in OWN_COMMANDS.get(self._kind_name, {}):
            return command_in(self._module, name)
        if name not in self.list_commands(ctx):
            return None
        from kl_hooks.cli.kind_commands import command_of

        return command_of(self._kind(), name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        # `create` is a spelling of other tools; it needs no line in the help
        if args and (args[0] == "create" or (self._kind_name, args[0]) in _OLD):
            return args[0], self.get_command(ctx, args[0]), args[1:]
        self.list_commands(ctx)
        return super().resolve_command(ctx, args)

    def _kind(self) -> Kind:
        from kl_hooks.cli.kind_commands import kind_of

        return kind_of(self._kind_name)
