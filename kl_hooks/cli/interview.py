"""`kl interview`: asks what nobody has said yet; every answer is written as it is given."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from kl_hooks.cli.common import counted, format_option, note, say, say_json, workspace
from kl_hooks.errors import INTERRUPTED, KlError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kl_hooks.cli.interview_keep import Keeper
    from kl_hooks.records.interview import Question

CATEGORIES = (
    "project_overview", "architecture", "domain", "constraints", "decisions", "goals", "role_customization",
    "quality_gates", "workflow_preferences",
)  # fmt: skip
MODES = ("architectural", "code-quality", "decision", "technical-debt", "security")


@click.command(epilog="Example: kl interview --focus architecture --max-questions 4")
@click.option("--focus", type=click.Choice(CATEGORIES), help="Only questions of this category.")
@click.option("--max-questions", "most", type=int, default=10, show_default=True, help="Most questions.")
@click.option("--answers", metavar="FILE", type=click.Path(), help="Take answers from this YAML file (key: answer).")
@click.option("--abbreviated", "mode", type=click.Choice(MODES), help="The short form after a review of this sort.")
@click.option("--task", default="", help="The task that was reviewed, with --abbreviated.")
@format_option()
def interview(focus: str | None, most: int, answers: str | None, mode: str | None, task: str, shape: str) -> None:
    """Ask what nobody has said yet, the most important first. A question that a record answers is not asked again.

    Without a terminal and without --answers the open questions are listed.
    """
    from kl_hooks.cli.interview_keep import Keeper, from_file
    from kl_hooks.records.write import require_setup

    ws = workspace()
    require_setup(ws)
    keeper = Keeper(ws, mode or "", task)
    asked = keeper.questions(focus or "", most)
    if answers:
        from_file(keeper, answers)
        for _, record in keeper.kept if shape == "text" else ():
            say(f"{record.id}  {record.title}")
    elif shape == "json" or not (sys.stdin is not None and sys.stdin.isatty()):
        _list(asked, keeper, shape)
        return
    else:
        _ask(keeper, asked)
    if shape == "json":
        say_json(keeper.plain())


def _list(asked: Sequence[Question], keeper: Keeper, shape: str) -> None:
    if shape == "json":
        rows: list[dict[str, Any]] = [
            {"key": q.key, "category": q.category, "importance": q.importance, "question": q.asks, "context": q.context,
             "example": q.example} for q in asked
        ]  # fmt: skip
        say_json({"schema": "kl.interview.gaps/1", "questions": rows, "open": keeper.open})
        return
    for one in asked:
        say(f"{one.key}  ({one.importance}, {one.category})\n    {one.asks}")
        if one.example:
            say(f"    such as: {one.example}")
    if len(asked) < keeper.open:
        say(f"… and {keeper.open - len(asked)} more: --max-questions {keeper.open}")
    if asked:
        say(f"{keeper.open} open. Answer in a terminal (kl interview), or from a file: kl interview --answers FILE")
    else:
        say("nothing is left to ask.")


def _ask(keeper: Keeper, asked: Sequence[Question]) -> None:
    """The session in a terminal. Whatever ends it, what was answered has been written."""
    from kl_hooks.cli.interview_say import show
    from kl_hooks.records.interview import begin_session, take_line

    session, events = begin_session(asked)
    try:
        for event in events:
            show(event)
        while session.waiting is not None:
            line = click.prompt("", default="", show_default=False, prompt_suffix="> ", err=True)
            question = session.waiting
            after, events = take_line(session, line)
            try:
                for answer in [event.text for event in events if event.name == "captured"]:
                    keeper.keep(question, answer)
            except KlError as problem:  # it is not lost on us: the same question waits
                note(f"not kept: {problem} Answer again, or skip.")
                continue
            session = after
            for event in events:
                show(event)
    except (click.Abort, EOFError):
        click.echo(err=True)
        note(f"interrupted; {counted(len(keeper.kept), 'answer')} kept. Go on with: kl interview")
        raise click.exceptions.Exit(INTERRUPTED) from None
