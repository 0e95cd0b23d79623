"""How much an answer decides, in percent, with the reason for every point. Pure; nothing but the words counts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from kl_hooks.kinds.decision.asked.terms import BARE, HIGH, LOW, MEDIUM, PHRASES, REASON, words

THRESHOLD: Final = 40
"""Percent from which an answer is worth a record, unless the settings say otherwise (`significance`)."""
_CHOOSING: Final = re.compile(r"\b(?:should|which)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Significance:
    """The weight of an answer."""

    percent: int
    reasons: tuple[tuple[int, str], ...]
    """(points, what for), as they were added; the sum is held between 0 and 100."""


def significance(question: str, answer: str) -> Significance:
    """Weighs a question and its answer."""
    said = [word.lower() for word in words(f"{question} {answer}")]
    spoken = words(answer)
    parts = [
        _counted("decides much", _seen(said, HIGH) + _phrases(said, 20), 20, 60),
        _counted("decides something", _seen(said, MEDIUM) + _phrases(said, 10), 10, 30),
        _counted("decides little", _seen(said, LOW), -15, -150),
    ]
    if len(spoken) <= 2:
        parts.append((-30, "an answer of two words or fewer"))
    elif len(spoken) >= 10:
        parts.append((15, "an answer of ten words or more"))
    if REASON.search(answer):
        parts.append((25, "gives a reason"))
    if _CHOOSING.search(question):
        parts.append((15, "the question asks for a choice"))
    if spoken and all(word.lower() in BARE for word in spoken):
        parts.append((-50, "yes or no"))
    reasons = tuple(part for part in parts if part[0])
    return Significance(max(0, min(100, sum(points for points, _ in reasons))), reasons)


def _seen(said: list[str], known: frozenset[str]) -> list[str]:
    return [word for word in dict.fromkeys(said) if word in known]


def _phrases(said: list[str], points: int) -> list[str]:
    text = f" {' '.join(said)} "
    return [phrase for phrase, worth in PHRASES.items() if worth == points and f" {phrase} " in text]


def _counted(what: str, found: list[str], each: int, most: int) -> tuple[int, str]:
    points = each * len(found)
    return (max(points, most) if each < 0 else min(points, most)), f"{what}: {', '.join(found)}"
