"""Tier: how well something is supported, a pure function of the evidence. Nobody grades his own claims."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from kl_hooks.model.receipt import HARD


class Tier(IntEnum):
    """Ordered: `Tier.VERIFIED > Tier.GUESSED`."""

    GUESSED = 0
    ASSUMED = 1
    INFERRED = 2
    VERIFIED = 3

    @property
    def word(self) -> str:
        """`verified`, `inferred`, `assumed` or `guessed`."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Observation:
    """One piece of evidence as the tier rule sees it."""

    kind: str
    """Class of evidence."""
    observer: str
    producer: str
    run: str
    hard: bool
    """False where it can't count as hard: flaky, incomplete, moved or unknown tree, JUnit without `--tree`."""
    why_not: str = ""
    """The reason where `hard` is False although the class is a hard one."""


def independent(a: Observation, b: Observation) -> bool:
    """Different observers; or the same observer in a different run by a different producer.

    A report file is what the process that ran the tests says of itself: no other observer than pytest in it.
    """
    return _seat(a) != _seat(b) or (a.run != b.run and a.producer != b.producer)


def _seat(one: Observation) -> str:
    return "pytest" if one.observer == "junit" else one.observer


def _two_classes(a: Observation, b: Observation) -> bool:
    return a.kind != b.kind


def tier(observations: Iterable[Observation], rule: str = "independent") -> Tier:
    """verified: two independent hard ones; inferred: one, or a soft one; assumed: only assertions; else guessed.

    `rule` is the setting `verified_requires`: with `classes` two hard ones of different classes are enough.
    """
    seen = list(observations)
    hard = [o for o in seen if o.hard and o.kind in HARD]
    agree = independent if rule == "independent" else _two_classes
    if any(agree(a, b) for i, a in enumerate(hard) for b in hard[i + 1 :]):
        return Tier.VERIFIED
    if hard or any(o.kind in ("ADR", "RepositoryMemory", "EvidenceGraph") for o in seen):
        return Tier.INFERRED
    return Tier.ASSUMED if any(o.kind == "AgentAssertion" for o in seen) else Tier.GUESSED
