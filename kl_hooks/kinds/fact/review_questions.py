"""The short form of the interview, after a review: three to five questions for each sort of review, as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kl_hooks.records.interview.question import Question

_ASKED: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "architectural": (
        ("architecture", "Which part of the architecture should the next change leave as it is, and why?"),
        ("architecture", "Which coupling that you saw should be undone first?"),
        ("decisions", "Which choice that came up in this review is now settled?"),
        ("constraints", "Which limit did this change meet that was written down nowhere?"),
    ),
    "code-quality": (
        ("constraints", "Which pattern that you saw should not be copied?"),
        ("quality_gates", "Which check would have found this before the review?"),
        ("domain", "Which name or rule was hard to understand, and what does it mean?"),
    ),
    "decision": (
        ("decisions", "What was decided?"),
        ("decisions", "Why, and what spoke against it?"),
        ("decisions", "What would make you decide otherwise?"),
        ("constraints", "What must nobody do any more now?"),
        ("architecture", "Which parts does it touch?"),
    ),
    "technical-debt": (
        ("architecture", "Which debt did you find, and where?"),
        ("constraints", "What does it cost, and whom?"),
        ("goals", "When should it be paid back, and in which order?"),
        ("decisions", "Why was it taken on?"),
    ),
    "security": (
        ("constraints", "Which input must never be trusted here?"),
        ("architecture", "Where does untrusted data come in, and where is it checked?"),
        ("constraints", "What must never be logged or stored?"),
        ("role_customization", "Which change should no agent make without a person?"),
        ("quality_gates", "Which check guards against what you found?"),
    ),
}

MODES: Final = tuple(_ASKED)


def review_questions(mode: str) -> tuple[Question, ...]:
    """The questions for a sort of review, one of `MODES`."""
    return tuple(
        Question(f"review_{mode.replace('-', '_')}_{number}", category, "high", asks, f"After a review: {mode}.")
        for number, (category, asks) in enumerate(_ASKED[mode], 1)
    )
