"""Tests that failed once and have passed since: what they hold is worth knowing. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kl_hooks.kinds.memory.seen import Found, Sighting
from kl_hooks.kinds.memory.sessions import session_of
from kl_hooks.kinds.memory.thresholds import TEST_PASSES_IN_SESSIONS
from kl_hooks.kinds.memory.timeline import Step
from kl_hooks.model.receipt import Receipt
from kl_hooks.model.text import one_line


def passing_tests(steps: Mapping[str, Sequence[Step]], by_run: Mapping[str, Receipt]) -> list[Found]:
    """`Test passes: …` for tests that failed and then passed, a sighting for each pass after the first failure."""
    found = []
    for subject, history in steps.items():
        first = next((at for at, step in enumerate(history) if step.bad), len(history))
        seen = tuple(
            Sighting(session_of(step.entry.receipt, by_run), step.entry.id, "TestResult", step.entry.receipt.ended)
            for step in history[first:]
            if not step.bad
        )
        if seen:
            enough = not history[-1].bad and len({one.session for one in seen}) >= TEST_PASSES_IN_SESSIONS
            text = f"Test passes: {one_line(subject.removeprefix('test:'), 300)}"
            found.append(Found(text, "fact", seen, enough))
    return found
