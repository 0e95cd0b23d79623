"""The entry of the command line: a list of commands, each imported only when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from kl_hooks.cli.errors import run_safely
from kl_hooks.cli.groups import LazyGroup

COMMANDS = {
    "init": "Look at the repository and propose `.kl/`.",
    "status": "What is known here, and what is proven for this tree.",
    "doctor": "What is wrong with the set-up, and the exact fix.",
    "run": "Run a command and record its exit code as evidence.",
    "evidence": "Receipts: list, show, import, export, verify, accept a loss.",
    "claim": "Claims, their tier and the reasons.",
    "verify": "The gate: is there complete, passing evidence for this tree?",
    "arch": "Layers: who may depend on whom.",
    "graph": "The code graph: what is defined where, and what hangs on what.",
    "knowledge": "Everything that is known, across kinds, and its upkeep.",
    "seed": "Make guides and facts from README, AGENTS.md, pyproject.toml.",
    "interview": "Questions that nobody has answered yet; each answer is kept.",
    "tool": "The agents' tools: JSON in, JSON out.",
    "maintain": "Do what is to be done regularly.",
    "context": "A small, ranked, cited package for a task.",
    "hooks": "Native git hooks: install, uninstall, status.",
    "commits": "Take note of new commits (git hooks call this).",
}
"""Command → its line in `kl --help`; it stands in the module of the same name, under the same name."""

KINDS = {
    "decision": "What was decided, why, and what it rules.",
    "memory": "What was learned here, reviewed before anybody is told.",
    "objective": "What we are after, and how far it is.",
    "task": "Pieces of work: what each needs and makes.",
    "outcome": "How pieces of work went.",
    "failure": "What was tried and failed, and how to prevent it.",
    "feature": "What the product can do, or is to do.",
    "role": "What a role must do, and must not.",
    "gate": "What work of a sort must pass.",
    "mode": "Ways of working.",
    "turn": "What each turn of a piece of work came to.",
    "fact": "What is so, as people told it.",
    "guide": "How things are done here.",
    "finding": "What agents' tools found out or changed, while it holds.",
}
"""The kinds that kl brings → their line; their commands are made from what describes them. Others are found on need."""


class Commands(LazyGroup):
    """All commands: those that stand in a module, and those that are made from a kind."""

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in COMMANDS:
            return super().get_command(ctx, name)
        from kl_hooks.cli.groups import kind_group

        line = KINDS.get(name) or self._described(ctx).get(name)
        return kind_group(name, line) if line else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self._lines:
            self._lines |= self._described(ctx, asked=args[0])
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))
        with formatter.section("Knowledge, each with new, list, show, search, edit"):
            formatter.write_dl(list((KINDS | self._own(ctx)).items()))

    def _own(self, ctx: click.Context) -> dict[str, str]:
        """As `_described`, for the help, which says what it can."""
        from kl_hooks.errors import KlError

        try:
            return self._described(ctx) if _may_describe_kinds(ctx.params.get("root")) else {}
        except KlError:
            return {}

    def _described(self, ctx: click.Context, asked: str = "") -> dict[str, str]:
        """The kinds of plugins and of the repository at hand; none where there is no repository.

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
        kinds, problems = opened.catalogue
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

    Evidence of test runs, commands and commits; layers that block drift; a small, cited package of context.
    """
    context.ensure_object(dict)["root"] = root
    context.color = _color(os.environ)


def _color(environ: os._Environ[str]) -> bool | None:
    """click ignores NO_COLOR and FORCE_COLOR; None lets it look at the terminal."""
    if environ.get("NO_COLOR") or environ.get("TERM") == "dumb":
        return False
    return True if environ.get("FORCE_COLOR") else None


def run(argv: Sequence[str]) -> int:
    """Runs `kl` with these arguments and returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    return run_safely(kl, list(argv), os.environ)
