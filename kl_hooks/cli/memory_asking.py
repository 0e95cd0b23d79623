"""Asking a person about candidates, one after the other, in a plain terminal or over a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from kl_hooks.cli.common import note, say
from kl_hooks.model.text import brief, one_line, safe_text

if TYPE_CHECKING:
    from kl_hooks.kinds.memory.deciding import Decision, Review
    from kl_hooks.kinds.memory.reviewing import Shown
    from kl_hooks.workspace.open import Workspace

PROMPT = "approve (a), reject (r), edit (e), skip (s or Enter), undo (u), quit (q): "
LAST = "that was all: carry out {} of them (Enter), undo (u), drop all (n or q): "
YES, NO = ("", "y", "yes"), ("n", "no", "q", "quit")


def asked(ws: Workspace, memories: Sequence[Shown]) -> list[Decision]:
    """What was decided, and confirmed at the end. Shows one, reads a line, and so on; `quit` goes to the last question.

    UsageProblem where the input ends before that is answered: a person who is gone has confirmed nothing.
    """
    from kl_hooks.errors import UsageProblem
    from kl_hooks.kinds.memory.deciding import Review
    from kl_hooks.kinds.memory.who import reviewer

    reviewer(ws, "kl memory review")
    by_id = {one.record.id: one for one in memories}
    review, told = Review(tuple(by_id)), ("", "")
    while review.at or review.decided:
        if review.at and told != (review.at, review.text):
            for line in _lines(by_id[review.at], review):
                say(line)
        told = (review.at, review.text)
        word = _line(PROMPT if review.at else LAST.format(len(review.decided)))
        if word is None and not review.at:
            break
        if word is None:  # at a terminal there may be an answer to the last question yet
            review = replace(review, ended=True)
            continue
        if not review.at and word.strip().lower() in YES + NO:
            return list(review.decided) if word.strip().lower() in YES else []
        review = _answer(review, word.strip())
    if review.decided:
        hint = "Answer the last question too, or: kl memory review --answers FILE"
        raise UsageProblem("the input ended before the last answer, so nothing was decided.", hint=hint)
    return []


def _answer(review: Review, word: str) -> Review:
    from kl_hooks.kinds.memory.deciding import KEYS, step

    key, _, rest = word.partition(" ")
    do = KEYS.get(key.lower(), key.lower())
    if do not in (KEYS.values() if review.at else ("undo", "help")):
        note(f"unknown key: {one_line(word, 40)}")
        return review
    if do == "edit":
        rest = rest or _line("it shall say: ") or ""
    return step(review, key, rest)


def _lines(one: Shown, review: Review) -> Iterator[str]:
    """A candidate as a person needs it: what it says, what supports it, what stands against it."""
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
    for reason in one.held:
        yield f"  held back: {reason}"


def _line(prompt: str) -> str | None:
    """One line from stdin; None at its end."""
    click.echo(safe_text(prompt), nl=False, err=True)
    line = sys.stdin.readline()
    return line.rstrip("\n") if line else None
