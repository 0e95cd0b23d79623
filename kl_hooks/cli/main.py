"""The entry of the command line: a list of commands, each imported only when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from kl_hooks.cli.errors import run_safely
from kl_hooks.cli.groups import KindGroup, LazyGroup

COMMANDS = {
    "init": "Look at the repository and propose `.kl/`.",
    "doctor": "Check the set-up, and show the exact fix for what is wrong.",
    "status": "What is recorded here, and what is proven for this content.",
    "context": "A small, ranked, cited context package for a task.",
    "arch": "Layers: check imports against them, show, explain, fix.",
    "graph": "The code graph: definitions, references, dependents.",
    "verify": "The gate: is there complete, passing evidence for this content?",
    "run": "Run a command and record its exit code as evidence.",
    "evidence": "Receipts: list, show, import, export, verify, accept a loss.",
    "claim": "Claims, their tier and the reasons.",
    "knowledge": "Records of every kind: search, proposals, upkeep.",
    "seed": "Make guides and facts from README, AGENTS.md, pyproject.toml.",
    "interview": "Answer open questions; each answer becomes a record.",
    "tool": "The agents' tools: JSON in, JSON out.",
    "config": "The effective settings, and where each comes from.",
    "maintain": "Run periodic maintenance.",
    "hooks": "Native git hooks: install, uninstall, status.",
    "commits": "Record new commits (git hooks call this).",
    "help": "Help on a command; `kl help all` lists all of them.",
}
"""Command → its line in the help; it is the object of the same name in the module of the same name."""

KINDS = {
    "decision": "What was decided, why, and what it governs.",
    "memory": "What was learned here, reviewed before anybody is shown it.",
    "objective": "Goals, and how far each is.",
    "task": "Pieces of work: what each requires and produces.",
    "outcome": "How pieces of work ended.",
    "failure": "What was tried and failed, and how to prevent it.",
    "feature": "What the product can do, or will.",
    "role": "What a role must do, and must not.",
    "gate": "What work of a type must pass.",
    "mode": "Ways of working.",
    "turn": "What each turn of a piece of work achieved.",
    "fact": "What is true of this project, as people stated it.",
    "guide": "How work is done here.",
    "finding": "What agents' tools found out or changed, while it is true.",
}
"""The kinds that kl brings → their line; their commands are made from what describes them. Others are found on need."""

_SECTIONS = {
    "Start": ("init", "doctor"),
    "Daily": ("status", "context", "arch", "graph", "verify"),
    "Knowledge": ("decision", "memory", "knowledge"),
    "Maintenance": ("config", "maintain", "help"),
}
"""Heading → commands of a person's first days: those that `kl --help` shows."""


class Commands(LazyGroup):
    """All commands: those with a module, and those that are made from a kind."""

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name == "help":
            return help_
        if name in COMMANDS:
            return super().get_command(ctx, name)
        line = KINDS.get(name) or self._described(ctx).get(name)
        return KindGroup(name, line) if line else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self._lines:
            # only for a word that is no command of ours: those need no workspace, and no process of git, to be found
            self._lines |= self._described(ctx, asked=args[0])
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        lines = COMMANDS | KINDS
        for heading, names in _SECTIONS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, lines[name]) for name in names], col_max=12)

    def format_all_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As `format_commands`, with every command, and with the kinds of the repository."""
        from kl_hooks.errors import KlError

        try:
            own = self._described(ctx) if _may_describe_kinds(ctx.params.get("root")) else {}
        except KlError:  # the help shows what it can
            own = {}
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))
        with formatter.section("Knowledge, each with new, list, show, search, edit"):
            formatter.write_dl(list((KINDS | own).items()))

    def _described(self, ctx: click.Context, asked: str = "") -> dict[str, str]:
        """Return the kinds of plugins and of the repository at hand; none where there is no repository.

        `asked`: a name that must be among them where a file of `.kl/kinds/` is wrong: it may be missing only because of
        that. Raises Problems.
        """
        from kl_hooks.cli.output import broken_kinds_are_shown, workspace
        from kl_hooks.errors import KlError
        from kl_hooks.model.problem import Problems

        try:
            with ctx.scope(cleanup=False):
                opened = workspace()
        except KlError:
            return {}
        kinds, problems = opened.catalog
        if asked and asked not in kinds and problems:
            with ctx.scope(cleanup=False):
                broken_kinds_are_shown()
            raise Problems(problems)
        return {name: kind.purpose for name, kind in kinds.items() if name not in KINDS}


def _may_describe_kinds(root: str | None) -> bool:
    """True if the folder, or one above it, has kinds of its own: only then is a workspace opened for the help."""
    here = Path(root or ".").absolute()
    return any((place / ".kl" / "kinds").is_dir() for place in (here, *here.parents))


@click.command(
    cls=Commands, module="kl_hooks.cli.{}", lines={**COMMANDS, **KINDS},
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "KL"},
)  # fmt: skip
@click.option("--root", type=click.Path(file_okay=False, exists=True), help="Work on the repository of this folder.")
@click.version_option(package_name="kl-hooks", prog_name="kl")
@click.pass_context
def kl(context: click.Context, root: str | None) -> None:
    """A knowledge layer for coding agents and the people who work with them.

    Evidence of test runs, commands and commits; layers that block drift; a small, cited context package.

    All commands: kl help all. One of them: kl help COMMAND.
    """
    context.ensure_object(dict)["root"] = root
    context.color = _color(os.environ)


@click.command("help", epilog="Example: kl help graph dependents")
@click.argument("words", nargs=-1, metavar="[all | COMMAND...]")
@click.pass_context
def help_(context: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of kl, of one COMMAND, or (all) a list of every command."""
    above, command = context.find_root(), context.find_root().command
    if words == ("all",):
        formatter = above.make_formatter()
        kl.format_usage(above, formatter)
        kl.format_all_commands(above, formatter)
        click.echo(formatter.getvalue(), nl=False)
        return
    for word in words:
        if not isinstance(command, click.Group):
            raise click.UsageError(f"{above.command_path} has no commands.", above)
        # not get_command(): this one suggests a near name, and reads the spellings that are no longer listed
        _, found, _ = command.resolve_command(above, [word])
        assert found is not None  # else resolve_command raised
        command, above = found, click.Context(found, info_name=word, parent=above)
    with above.scope(cleanup=False):
        click.echo(command.get_help(above))


def _color(environ: os._Environ[str]) -> bool | None:
    """click ignores NO_COLOR and FORCE_COLOR; None lets it look at the terminal."""
    if environ.get("NO_COLOR") or environ.get("TERM") == "dumb":
        return False
    return True if environ.get("FORCE_COLOR") else None


def run(argv: Sequence[str]) -> int:
    """Runs `kl` with these arguments and returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # file names need not be UTF-8; a test may have put in a stream without `reconfigure`
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    return run_safely(kl, list(argv), os.environ)
