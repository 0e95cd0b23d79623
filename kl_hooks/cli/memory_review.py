"""`kl memory review`: candidates shown, decisions taken."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kl_hooks.cli.common import format_option, note, say, say_json, workspace

if TYPE_CHECKING:
    from kl_hooks.kinds.memory.deciding import Decision


@click.command(epilog="Example: kl memory review --format json | my-reviewer | kl memory review --answers -")
@click.option("--all", "everything", is_flag=True, help="Those that were approved or rejected too.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 10_000), help="Most shown.")
@click.option(
    "--answers", type=click.Path(allow_dash=True, path_type=str), metavar="FILE",
    help='Take decisions from this JSON file, or - for stdin: {"answers": [{"id": …, "do": "approve"}]}.',
)  # fmt: skip
@format_option()
def review(everything: bool, limit: int, answers: str | None, shape: str) -> None:
    """Go through the candidates, those that most sessions saw first: approve, reject, edit, skip, undo, quit.

    One key and Enter each; `r` takes a reason after it. Nothing is done before the last question is answered, so undo
    always works; Ctrl-C drops it all. `--format json` lists the candidates for a program, `--answers` takes its
    decisions.
    """
    from kl_hooks.cli.memory_after import listed
    from kl_hooks.kinds.memory.reviewing import shown, to_review
    from kl_hooks.kinds.memory.taking_in import take_in

    ws = workspace()
    if answers is not None:
        _answered(answers, shape)
        return
    trouble = take_in(ws).trouble if ws.settings.memory_auto_extract else ""
    records, total = to_review(ws, limit, everything=everything)
    if trouble:  # said once: what keeps everybody from reading is raised above
        note(trouble)
    listed()
    if shape == "json":
        found = [one.plain() for one in shown(ws, records)]
        say_json({"schema": "kl.memory.review/1", "memories": found, "total": total})
        return
    if not records:
        say("nothing waits for a review.")
        return
    if total > len(records):
        note(f"these are the first {len(records)} of {total}; more with --limit.")
    from kl_hooks.cli.memory_asking import asked

    _carry_out(asked(ws, shown(ws, records)), "text")


def _answered(answers: str, shape: str) -> None:
    """Carries out the decisions in a file. Problems with everything wrong, and then nothing is done."""
    import json

    from kl_hooks.config.problems import Problems
    from kl_hooks.errors import UsageProblem
    from kl_hooks.kinds.memory.deciding import answers as read

    name = "stdin" if answers == "-" else answers
    try:
        text = sys.stdin.read() if answers == "-" else Path(answers).read_text("utf-8")
        decisions, problems = read(json.loads(text), name)
    except OSError as problem:
        raise UsageProblem(f"can't be read: {problem.strerror}.", place=name) from problem
    except (ValueError, RecursionError) as problem:
        raise UsageProblem(f"is no JSON: {problem}", place=name, hint="See: kl memory review --format json") from None
    if problems:
        raise Problems(problems)
    _carry_out([one for one in decisions if one.do != "skip" or one.text], shape)


def _carry_out(decisions: list[Decision], shape: str) -> None:
    from kl_hooks.cli.memory_after import listed
    from kl_hooks.kinds.memory.reviewing import carry_out, shown
    from kl_hooks.kinds.memory.who import reviewer

    ws = workspace()
    done = carry_out(ws, decisions, reviewer(ws, "kl memory review")) if decisions else []
    listed()
    if shape == "json":
        say_json({"schema": "kl.memory.review/1", "memories": [one.plain() for one in shown(ws, done)]})
        return
    for record in done:
        say(f"{record.id}  {record.status}  {record.title}" + (f"\n    {record.path}" if record.path else ""))
    say(f"{len(done)} {'memory' if len(done) == 1 else 'memories'} changed.")
