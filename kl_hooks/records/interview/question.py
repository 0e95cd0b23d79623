"""Questions, and the gaps: a gap is a question without an answer on record, so it ends when it is answered."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kl_hooks.model.record import Record

IMPORTANCES: Final = ("high", "medium", "low")
SYSTEM: Final = "seed:system"
"""The source of records that came with kl: they say nothing of this project, so they answer nothing."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record of another kind would answer a question: a field that says something, or this very word."""

    kind: str
    field: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """Something a project should know of itself."""

    key: str
    """Its name: what the answer's record says it answers."""
    category: str
    importance: str
    """One of `IMPORTANCES`."""
    asks: str
    context: str
    """Why it is asked: what is done with the answer."""
    example: str = ""
    filled_by: tuple[Place, ...] = ()
    """Other records that make the question needless."""
    adds_to: Place | None = None
    """A list that the answer is put into as well; `value`: the name of the record, as in role `player`."""


def gaps(questions: Sequence[Question], answered: Collection[str], focus: str = "", most: int = 10) -> list[Question]:
    """The questions not yet answered, of the category `focus` if one is given, the most important first.

    At most `most`; none for zero and less.
    """
    found = [one for one in questions if one.key not in answered and focus in ("", one.category)]
    return sorted(found, key=lambda one: IMPORTANCES.index(one.importance))[: max(most, 0)]


def answered(
    questions: Iterable[Question], facts: Iterable[Record], others: Mapping[str, Sequence[Record]]
) -> set[str]:
    """Keys of the questions that records answer. `facts`: live ones; `others`: kind → its live records."""
    found = {one.text("answers") for one in facts if one.text("source") != SYSTEM}
    for question in questions:
        if any(_fills(record, place) for place in question.filled_by for record in others.get(place.kind, ())):
            found.add(question.key)
    return found - {""}


def _fills(record: Record, place: Place) -> bool:
    if record.text("source") == SYSTEM:
        return False
    said = record.values.get(place.field)
    return said not in (None, "", ()) and place.value in ("", said)
