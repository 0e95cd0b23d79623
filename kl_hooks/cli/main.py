"""The entry of the command line: a list of commands, each imported only when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from kl_hooks.cli.failure import run_safely
from kl_hooks.cli.lazy import LazyGroup

COMMANDS = {
    "init": "Look at the repository and propose `.kl/`.",
    "status": "What is known here, and what is proven for this tree.",
    "doctor": "What is wrong with the set-up, and the exact fix.",
    "run": "Run a command and record its exit code as evidence.",
    "evidence": "Receipts: list, show, import, export, verify.",
    "claim": "Claims, their tier and the reasons.",
    "verify": "The gate: is there complete, passing evidence for this tree?",
    "arch": "Layers: who may depend on whom.",
    "graph": "The code graph: what is defined where, and what hangs on what.",
    "knowledge": "Everything that is known, across kinds, and its upkeep.",
    "context": "A small, ranked, cited package for a task.",
    "hooks": "Native git hooks: install, uninstall, status.",
    "commits": "Take note of new commits (git hooks call this).",
}
"""Command → its line in `kl --help`; it stands in the module of the same name, under the same name."""


@click.command(
    cls=LazyGroup, prefix="kl_hooks.cli.", lines=COMMANDS,
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
    context.color = _colour(os.environ)


def _colour(environ: os._Environ[str]) -> bool | None:
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
