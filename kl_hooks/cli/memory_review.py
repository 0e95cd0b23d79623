"""`kl memory review`: candidates, one by one, or the decisions of a program."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click

from kl_hooks.cli.output import (
    counted,
    echo,
    echo_json,
    echo_lines,
    format_option,
    print_answer,
    top_option,
    warn,
    workspace,
    write,
)
from kl_hooks.cli.record_output import record_line
from kl_hooks.errors import UsageProblem
from kl_hooks.kinds.memory.review import (
    Decision,
    Review,
    Reviewer,
    ReviewItem,
    review_items,
    review_queue,
)
from kl_hooks.model.problem import Problems
from kl_hooks.model.text import brief, one_line, safe_text
from kl_hooks.workspace import Workspace


def update_page() -> None:
    """Write the page of memories again."""
    from kl_hooks.kinds.memory.inject import write_page

    if trouble := write_page(workspace()):
        warn(trouble)


@click.command(
    epilog="Example: kl memory review --format json | my-reviewer | kl memory review --answers -"
)
@click.option("--all", "everything", is_flag=True, help="Those that were approved or rejected too.")
@top_option(50, 10_000)
@click.option(
    "--answers",
    type=click.Path(allow_dash=True, path_type=str),
    metavar="FILE",
    help=(
        'Take decisions from this JSON file, or - for stdin: {"answers": [{"id": …, "do":'
        ' "approve"}]}.'
    ),
)
@format_option()
def review(everything: bool, limit: int, answers: str | None, shape: str) -> None:
    """Go through the candidates, those that most sessions saw first: approve, reject, edit, skip,
    undo, quit.

    One key and Enter each; `r` takes a reason after it. Nothing is done before the last question is
    answered, so undo always works; Ctrl-C drops it all. `--format json` lists the candidates for a
    program, `--answers` takes its decisions.
    """
    from kl_hooks.kinds.memory.add import mine_receipts

    ws = workspace()
    if answers is not None:
        _review_from_file(answers, shape)
        return
    trouble = mine_receipts(ws).trouble if ws.settings.memory_auto_extract else ""
    records, total = review_queue(ws, limit, everything=everything)
    if trouble:  # an error that prevents reading was raised above
        warn(trouble)
    update_page()
    if shape == "json":
        rows = [item.to_dict() for item in review_items(ws, records)]
        echo_json({"schema": "kl.memory.review/2", "memories": rows, "total": total})
        return
    if not records:
        echo("nothing waits for a review.")
        return
    if total > len(records):
        warn(f"these are the first {len(records)} of {total}; more with --top.")

    _apply_decisions(_ask_for_decisions(ws, review_items(ws, records)), "text")


def _review_from_file(answers: str, shape: str) -> None:
    """Carries out the decisions in a file. Problems with everything wrong, and then nothing is
    done.
    """
    name = "stdin" if answers == "-" else answers
    try:
        text = sys.stdin.read() if answers == "-" else Path(answers).read_text("utf-8")
        decisions, problems = Decision.read_all(json.loads(text), name)
    except OSError as problem:
        raise UsageProblem(f"can't be read: {problem.strerror}.", place=name) from problem
    except (ValueError, RecursionError) as problem:
        raise UsageProblem(
            f"is no JSON: {problem}", place=name, hint="See: kl memory review --format json"
        ) from None
    if problems:
        raise Problems(problems)
    _apply_decisions([one for one in decisions if one.do != "skip" or one.text], shape)


def _apply_decisions(decisions: list[Decision], shape: str) -> None:
    ws = workspace()
    done = Reviewer.current(ws, "kl memory review").apply(ws, decisions) if decisions else []
    update_page()
    plain = {
        "schema": "kl.memory.review/2",
        "memories": [one.to_dict() for one in review_items(ws, done)],
    }
    print_answer(
        shape, plain, [*map(record_line, done), f"{counted(len(done), 'memory')} changed."]
    )


_PROMPT = "approve (a), reject (r), edit (e), skip (s or Enter), undo (u), quit (q): "
_LAST_PROMPT = "that was all: carry out {} of them (Enter), undo (u), drop all (n or q): "
_YES, _NO = ("", "y", "yes"), ("n", "no", "q", "quit")


def _ask_for_decisions(ws: Workspace, memories: Sequence[ReviewItem]) -> list[Decision]:
    """What was decided, and confirmed at the end. Shows one, reads a line, and so on; `quit` goes
    to the last question.

    UsageProblem where the input ends before that is answered: a person who left has confirmed
    nothing.
    """
    # first: nobody should answer fifty questions and be refused at the end
    Reviewer.current(ws, "kl memory review")
    by_id = {one.record.id: one for one in memories}
    review, shown = Review(tuple(by_id)), ("", "")
    while review.at or review.decided:
        if review.at and shown != (review.at, review.text):
            echo_lines(_candidate_lines(by_id[review.at], review))
        shown = (review.at, review.text)
        word = _read_line(_PROMPT if review.at else _LAST_PROMPT.format(len(review.decided)))
        if word is None and not review.at:
            break
        if word is None:  # at a terminal there may be an answer to the last question yet
            review = replace(review, ended=True)
            continue
        if not review.at and word.strip().lower() in _YES + _NO:
            return list(review.decided) if word.strip().lower() in _YES else []
        review = _next_review(review, word.strip())
    if review.decided:
        hint = "Answer the last question too, or: kl memory review --answers FILE"
        raise UsageProblem(
            "the input ended before the last answer, so nothing was decided.", hint=hint
        )
    return []


def _next_review(review: Review, word: str) -> Review:
    key, _, rest = word.partition(" ")
    do = review.action(key)
    if not do:
        warn(f"unknown key: {one_line(word, 40)}")
        return review
    if do == "edit":
        rest = rest or _read_line("new text: ") or ""
    return review.after(do, rest)


def _candidate_lines(one: ReviewItem, review: Review) -> Iterator[str]:
    """A candidate for a reviewer: its text, its support, what speaks against it."""
    tally = one.tally
    yield ""
    yield (
        f"{len(review.made) + 1} of {len(review.ids)}   {one.record.id}   {one.record.status}   "
        f"[{one.support.tier.word}] (×{tally.reinforcement})   {one.record.authority}"
    )
    text = review.text or one.record.text("pattern")
    yield from (f"  {line}" for line in brief(text).splitlines()[:40])
    for line in one.support.lines[-5:]:
        yield f"    {one_line(line)}"
    if len(one.support.lines) > 5:
        yield f"    and {len(one.support.lines) - 5} more. See: kl memory show {one.record.id}"
    if one.ready:
        yield f"  ready for the project: weighs {one.importance} %, asked for {tally.opened} times"
    for reason in one.quarantine:
        yield f"  quarantined: {reason}"


def _read_line(prompt: str) -> str | None:
    """One line from stdin; None at its end."""
    write(safe_text(prompt), err=True)
    line = (
        sys.stdin.readline()
    )  # click.prompt ends with Abort at the end of a pipe; here that is an answer too
    return line.rstrip("\n") if line else None
