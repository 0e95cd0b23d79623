"""The interview: questions about a project that no record answers yet, one at a time.

Nothing here asks a person or writes anything: questions are data, a session is a value, and both go to the caller.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kl_hooks.model.record import Record

IMPORTANCES: Final = ("high", "medium", "low")
SYSTEM_SOURCE: Final = "seed:system"
"""The source of records that came with kl: they say nothing of this project, so they answer nothing."""


@dataclass(frozen=True, slots=True)
class AnswerField:
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
    filled_by: tuple[AnswerField, ...] = ()
    """Other records that make the question needless."""
    adds_to: AnswerField | None = None
    """A list that the answer is put into as well; `value`: the name of the record, as in role `player`."""


def open_questions(
    questions: Sequence[Question], answered: Collection[str], focus: str = "", most: int = 10
) -> list[Question]:
    """The questions not yet answered, of the category `focus` if one is given, the most important first.

    At most `most`; none for zero and less.
    """
    found = [one for one in questions if one.key not in answered and focus in ("", one.category)]
    return sorted(found, key=lambda one: IMPORTANCES.index(one.importance))[: max(most, 0)]


def answered_keys(
    questions: Iterable[Question], facts: Iterable[Record], others: Mapping[str, Sequence[Record]]
) -> set[str]:
    """Keys of the questions that records answer. `facts`: live ones; `others`: kind → its live records."""
    found = {one.text("answers") for one in facts if one.text("source") != SYSTEM_SOURCE}
    for question in questions:
        if any(_is_filled_by(record, place) for place in question.filled_by for record in others.get(place.kind, ())):
            found.add(question.key)
    return found - {""}


def _is_filled_by(record: Record, place: AnswerField) -> bool:
    if record.text("source") == SYSTEM_SOURCE:
        return False
    said = record.values.get(place.field)
    return said not in (None, "", ()) and place.value in ("", said)


_SHORTEST_SENTENCE: Final = 10
"""Characters; what is shorter is no sentence."""
_END: Final = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=\S)|\n+")
_BULLET: Final = re.compile(r"^\s*(?:[-*+•]|[0-9]{1,3}[.)])\s+")
_ABBREVIATIONS: Final = ("e.g.", "i.e.", "etc.", "vs.", "cf.", "approx.", "resp.", "dr.", "mr.", "ms.")


def split_sentences(text: str) -> tuple[str, ...]:
    """The sentences and points of a text, each once, without the marks of lists; short ones are left out."""
    parts: list[str] = []
    for part in _split_text(text):
        if parts and parts[-1].lower().split()[-1] in _ABBREVIATIONS:
            parts[-1] = f"{parts[-1]} {part}"
        else:
            parts.append(part)
    found = (" ".join(_BULLET.sub("", part).split()) for part in parts)
    return tuple(dict.fromkeys(one for one in found if len(one) >= _SHORTEST_SENTENCE))


def _split_text(text: str) -> list[str]:
    return [piece.strip() for piece in _END.split(text) if piece and piece.strip()]


def facts_of_answer(answer: str, category: str) -> tuple[str, ...]:
    """`Architecture: It has two rooms.` for each sentence; an answer too short for one is a fact as a whole."""
    label = category.replace("_", " ").strip().capitalize()
    whole = " ".join(answer.split())
    return tuple(f"{label}: {one}" for one in split_sentences(answer) or ((whole,) if whole else ()))


SKIP: Final = ("", "skip", "s")
QUIT: Final = ("quit", "q", "exit")
BACK: Final = ("back", "b")


@dataclass(frozen=True, slots=True)
class SessionEvent:
    """What happened: `intro`, `question`, `captured`, `skipped`, `info`, `summary`."""

    name: str
    text: str = ""
    number: int = 0
    total: int = 0
    question: Question | None = None
    facts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Session:
    """How far an interview is."""

    questions: tuple[Question, ...]
    at: int = 0
    """Place of the question that waits for its answer."""
    answers: tuple[tuple[str, str], ...] = ()
    """(key, answer), as they were given."""
    skipped: tuple[str, ...] = ()
    ended: str = ""
    """`done`, `quit`, or empty while it goes on."""

    @property
    def waiting(self) -> Question | None:
        """The question that waits for its answer; None once it is over."""
        return self.questions[self.at] if not self.ended and self.at < len(self.questions) else None


def begin_session(questions: Sequence[Question]) -> tuple[Session, list[SessionEvent]]:
    """A session over these questions, and its first events. Without questions it is over at once."""
    session = Session(tuple(questions))
    if not questions:
        return replace(session, ended="done"), [SessionEvent("info", "Nothing is left to ask.")]
    text = (
        "An empty line or `skip` goes on to the next question, `back` to the one before, `quit` ends. Nothing is lost."
    )
    return session, [SessionEvent("intro", text, total=len(questions)), _question_event(session)]


def take_line(session: Session, line: str) -> tuple[Session, list[SessionEvent]]:
    """The session after one line of a person, and what happened. What comes after its end changes nothing."""
    question = session.waiting
    if question is None:
        return session, []
    word = line.strip()
    if word.casefold() in QUIT:
        return _end(replace(session, ended="quit"), [])
    if word.casefold() in BACK:
        return _go_back(session)
    if word.casefold() in SKIP:
        said_before = any(key == question.key for key, _ in session.answers)
        skipped = session.skipped if said_before else tuple(dict.fromkeys((*session.skipped, question.key)))
        return _go_on(replace(session, skipped=skipped), [SessionEvent("skipped", question=question)])
    said = facts_of_answer(word, question.category)
    kept = tuple(pair for pair in session.answers if pair[0] != question.key)
    skipped = tuple(key for key in session.skipped if key != question.key)
    after = replace(session, answers=(*kept, (question.key, word)), skipped=skipped)
    return _go_on(after, [SessionEvent("captured", word, question=question, facts=said)])


def _go_back(session: Session) -> tuple[Session, list[SessionEvent]]:
    if session.at == 0:
        return session, [SessionEvent("info", "This is the first question."), _question_event(session)]
    before = replace(session, at=session.at - 1)
    return before, [_question_event(before)]


def _go_on(session: Session, events: list[SessionEvent]) -> tuple[Session, list[SessionEvent]]:
    after = replace(session, at=session.at + 1)
    if after.at >= len(after.questions):
        return _end(replace(after, ended="done"), events)
    return after, [*events, _question_event(after)]


def _end(session: Session, events: list[SessionEvent]) -> tuple[Session, list[SessionEvent]]:
    return session, [*events, SessionEvent("summary", session.ended, len(session.answers), len(session.questions))]


def _question_event(session: Session) -> SessionEvent:
    question = session.questions[session.at]
    return SessionEvent("question", question.asks, session.at + 1, len(session.questions), question)
