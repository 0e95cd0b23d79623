"""`kl memory review`: candidates, one by one, or the decisions of a program."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from kl_hooks.cli.output import counted, echo, echo_lines, warn, workspace, write
from kl_hooks.cli.request_options import answer, field_options, operation_command
from kl_hooks.errors import UsageProblem
from kl_hooks.kinds.memory.review import Decision, Review, Reviewer, ReviewItem
from kl_hooks.model.parameter import STDIN, InputFile
from kl_hooks.model.text import brief, one_line, safe_text
from kl_hooks.operations import memory_review as operations
from kl_hooks.workspace import Workspace


@operation_command(operations.REVIEW)
@field_options(operations.DECIDE.fields)
def review(
    reviewed: operations.ReviewList, _request: operations.ReviewRequest, file: str | None
) -> None:
    """Ask about each candidate, and carry out what was decided."""
    items = reviewed.items.shown
    if not items:
        echo("nothing waits for a review.")
        return
    if reviewed.total > len(items):
        warn(f"these are the first {len(items)} of {reviewed.total}; more with --top.")
    request = operations.DecideRequest(tuple(_ask_for_decisions(workspace(), items)))
    answer(operations.DECIDE, request, "text", _print_reviewed)


_list_or_ask = review.callback


def _review(file: str | None, shape: str, **options: Any) -> Any:
    if file is None:
        assert _list_or_ask is not None
        return _list_or_ask(file=file, shape=shape, **options)
    text = sys.stdin.read() if file == STDIN else ""
    request = operations.DecideRequest(file=InputFile(file or "."), stdin=text)
    answer(operations.DECIDE, request, shape, _print_reviewed)
    return None


review.callback = _review


def _print_reviewed(reviewed: operations.Reviewed, _request: operations.DecideRequest) -> None:
    from kl_hooks.cli.record_output import record_line

    echo_lines(record_line(item.record) for item in reviewed.items)
    echo(f"{counted(reviewed.total, 'memory')} changed.")


_PROMPT = "approve (a), reject (r), edit (e), skip (s or Enter), undo (u), quit (q): "
_LAST_PROMPT = "that was all: carry out {} of them (Enter), undo (u), drop all (n or q): "
_YES = ("", "y", "yes")
_NO = ("n", "no", "q", "quit")


def _ask_for_decisions(ws: Workspace, memories: Sequence[ReviewItem]) -> list[Decision]:
    """What was decided, and confirmed at the end. Shows one, reads a line, and so on; `quit` goes
    to the last question.

    UsageProblem where the input ends before that is answered: a person who left has confirmed
    nothing.
    """
    # first: nobody should answer fifty questions and be refused at the end
    Reviewer.current(ws, "kl memory review")
    by_id = {one.record.id: one for one in memories}
    review = Review(tuple(by_id))
    shown = ("", "")
    while review.at or review.decided:
        if review.at and shown != (review.at, review.text):
            echo_lines(_candidate_lines(by_id[review.at], review))
        shown = (review.at, review.text)
        word = _read_line(_PROMPT if review.at else _LAST_PROMPT.format(len(review.decided)))
        if word is None and not review.at:
            break
        if word is None:  # at a terminal there may be an answer to the last question yet
            review = review._replace(ended=True)
            continue
        if not review.at and word.strip().lower() in _YES + _NO:
            if word.strip().lower() not in _YES:
                return []
            return list(review.decided)
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
    if one.cost:
        yield f"  {one.cost}"
    if one.ready:
        yield f"  ready for the project: weighs {one.importance} %, asked for {tally.opened} times"
    for reason in one.quarantine:
        yield f"  quarantined: {reason}"


def _read_line(prompt: str) -> str | None:
    """One line from stdin; None at its end."""
    write(safe_text(prompt), err=True)
    # click.prompt ends with Abort at the end of a pipe; here that is an answer too
    line = sys.stdin.readline()
    if not line:
        return None
    return line.rstrip("\n")
