"""`kl context`: a small, ranked, cited package for a task; and what became of a package or of one thing in it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from kl_hooks.cli.common import format_option, note, say, workspace
from kl_hooks.cli.context_critical import critical_
from kl_hooks.cli.exact import say_exactly
from kl_hooks.cli.task_first import TASK, TaskCommand, TaskFirst
from kl_hooks.clock import FixedClock, micros
from kl_hooks.context.deliver import Delivered, Request, deliver, find
from kl_hooks.context.document import as_json, trace_id
from kl_hooks.context.explain import explain, why
from kl_hooks.errors import UsageProblem
from kl_hooks.workspace.open import Workspace


@click.group(
    cls=TaskFirst, options_metavar="[OPTIONS]", subcommand_metavar="TASK",
    epilog='Example: kl context "fix rounding in checkout totals" --budget 1500tok',
)  # fmt: skip
def context() -> None:
    """A small, ranked, cited package of what is known here for a TASK in plain words.

    It is never larger than its budget. The same task on the same tree gives the same bytes.
    """


@context.command(TASK, cls=TaskCommand, hidden=True)
@click.argument("words", nargs=-1, metavar="TASK")
@click.option("--budget", envvar="KL_CONTEXT_BUDGET", help="Characters (6000, the default) or tokens (1500tok).")
@format_option("markdown")
@click.option("--explain", "explained", is_flag=True, help="Then every item's score, its parts and reasons.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file instead.")
@click.option("--now", metavar="ISO", help="Answer as of this time, such as 2027-01-31T12:00:00Z.")
def task(
    words: tuple[str, ...], budget: str | None, shape: str, explained: bool, output: Path | None, now: str | None
) -> None:
    """A package for a task in plain words."""
    ws = _at(workspace(), now)
    style = "markdown" if shape == "markdown" else "text"
    made = deliver(ws, Request(" ".join(words), budget or str(ws.settings.budget), style, trace_id(ws.environ)))
    _remarks(made)
    text = as_json(made.document) + "\n" if shape == "json" else made.text
    if explained and shape != "json":
        text += "\n" + "".join(f"{line}\n" for line in explain(made.document))
    if output is None:
        say_exactly(text, ws.environ)
        return
    from kl_hooks.store.atomic import write_atomic

    write_atomic(output, text.encode("utf-8", "replace"))
    note(f"{made.document['package_id']} written to {output}")


@context.command(
    short_help="A package that was made here.", epilog="Example: kl context show cp-3f9a1c20b7de --format json"
)
@click.argument("words", nargs=-1, metavar="PACKAGE")
@format_option()
def show(words: tuple[str, ...], shape: str) -> None:
    """A package made here, by its id or the beginning of it; after half an hour built again from its request."""
    _require(len(words) == 1 and _is_package(words[-1]), "show", "PACKAGE", words)
    ws = workspace()
    made = find(ws, words[0])
    _remarks(made)
    say_exactly(as_json(made.document) + "\n" if shape == "json" else made.text, ws.environ)


@context.command(
    "why",
    short_help="What became of one thing.",
    epilog="Example: kl context why function:shop.price.total cp-3f9a1c20b7de",
)
@click.argument("words", nargs=-1, metavar="ID PACKAGE")
def why_(words: tuple[str, ...]) -> None:
    """What became of one thing in a package: its score and reasons, or why it was left out."""
    _require(len(words) == 2 and _is_package(words[-1]), "why", "ID PACKAGE", words)
    made = find(workspace(), words[1])
    _remarks(made)
    for line in why(made.document, words[0]):
        say(line)


context.add_command(critical_)


def _at(ws: Workspace, now: str | None) -> Workspace:
    if now is None:
        return ws
    try:
        return replace(ws, clock=FixedClock(micros(now)))
    except ValueError:
        raise UsageProblem(f"{now!r} is not a time.", place="--now", hint="Try: 2027-01-31T12:00:00Z") from None


def _is_package(word: str) -> bool:
    return re.fullmatch(r"cp-[0-9a-f]{4,12}", word) is not None


def _require(fine: bool, command: str, needs: str, words: tuple[str, ...]) -> None:
    if not fine:
        said = " ".join([command, *words])
        raise UsageProblem(
            f"needs {needs}, where PACKAGE is an id such as cp-3f9a1c20b7de.",
            place=f"kl context {command}",
            hint=f"If {said!r} is a task: kl context -- {said}",
        )


def _remarks(made: Delivered) -> None:
    if made.remark:
        note(made.remark)
    coverage: dict[str, Any] = made.document["coverage"]
    for name, how in coverage.items():
        if how.startswith("failed"):
            note(f"{name} {how}. The package goes on without it.")
