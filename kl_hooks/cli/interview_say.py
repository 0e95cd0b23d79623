"""What `kl interview` says to the person it asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kl_hooks.cli.common import say

if TYPE_CHECKING:
    from kl_hooks.records.interview import SessionEvent


def show(event: SessionEvent) -> None:
    """What happened, as the person hears it: the conversation on stderr, the summary on stdout."""
    if event.name == "question" and event.question is not None:
        question = event.question
        click.echo(err=True)
        say_to_person(f"{event.number}/{event.total}  {question.category.replace('_', ' ')}")
        say_to_person(f"{question.asks}\n  ({question.context})")
        if question.example:
            say_to_person(f"  such as: {question.example}")
    elif event.name == "captured":
        for fact in event.facts:
            say_to_person(f"  kept: {fact}")
    elif event.name == "summary":
        say(f"{event.number} of {event.total} questions answered.")
    elif event.name in ("intro", "info"):
        say_to_person(event.text)


def say_to_person(text: str) -> None:
    """Part of the conversation: on stderr, safe for a terminal."""
    from kl_hooks.model.text import safe_text

    click.echo(safe_text(text), err=True)
