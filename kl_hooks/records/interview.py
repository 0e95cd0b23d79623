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
"""The source of records that kl ships: they are not about this project, so they answer nothing."""
_SKIP: Final = ("", "skip", "s")
_QUIT: Final = ("quit", "q", "exit")
_BACK: Final = ("back", "b")
# Characters.
_SHORTEST_SENTENCE: Final = 10
_END: Final = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=\S)|\n+")
_BULLET: Final = re.compile(r"^\s*(?:[-*+•]|[0-9]{1,3}[.)])\s+")
_ABBREVIATIONS: Final = ("e.g.", "i.e.", "etc.", "vs.", "cf.", "approx.", "resp.", "dr.", "mr.", "ms.")


@dataclass(frozen=True, slots=True)
class AnswerField:
    """A field of another kind whose value answers a question: any value, or this very one."""

    kind: str
    field: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """Something a project should know about itself."""

    key: str
    """Its name: the record of an answer has it in `answers`."""
    category: str
    importance: str
    """One of `IMPORTANCES`."""
    asks: str
    context: str
    """Why it is asked: what is done with the answer."""
    example: str = ""
    filled_by: tuple[AnswerField, ...] = ()
    """Other records that answer it too."""
    adds_to: AnswerField | None = None
    """A list that the answer is put into as well; `value`: the name of the record, as in role `player`."""


def open_questions(
    questions: Sequence[Question], answered: Collection[str], focus: str = "", most: int = 10
) -> list[Question]:
    """Return at most `most` questions without an answer, of the category `focus` if given, most important first."""
    found = [one for one in questions if one.key not in answered and focus in ("", one.category)]
    return sorted(found, key=lambda one: IMPORTANCES.index(one.importance))[: max(most, 0)]


def answered_keys(
    questions: Iterable[Question], facts: Iterable[Record], others: Mapping[str, Sequence[Record]]
) -> set[str]:
    """Return the keys of the questions that records answer. `facts`: live ones; `others`: kind → its live records."""
    found = {one.text("answers") for one in facts if one.text("source") != SYSTEM_SOURCE}
    for question in questions:
        if any(_answers(record, place) for place in question.filled_by for record in others.get(place.kind, ())):
            found.add(question.key)
    return found - {""}


def _answers(record: Record, place: AnswerField) -> bool:
    value = record.values.get(place.field)
    if record.text("source") == SYSTEM_SOURCE or value in (None, "", ()):
        return False
    return place.value in ("", value)


def split_sentences(text: str) -> tuple[str, ...]:
    """Return the sentences and list items of a text, each once, without list marks; short ones are omitted."""
    parts: list[str] = []
    for part in filter(None, map(str.strip, _END.split(text))):
        if parts and parts[-1].lower().split()[-1] in _ABBREVIATIONS:
            parts[-1] = f"{parts[-1]} {part}"
        else:
            parts.append(part)
    found = (" ".join(_BULLET.sub("", part).split()) for part in parts)
    return tuple(dict.fromkeys(one for one in found if len(one) >= _SHORTEST_SENTENCE))


def facts_of_answer(answer: str, category: str) -> tuple[str, ...]:
    """Return `Architecture: It has two packages.` for each sentence; an answer too short for one is one fact."""
    label = category.replace("_", " ").strip().capitalize()
    whole = " ".join(answer.split())
    return tuple(f"{label}: {one}" for one in split_sentences(answer) or ((whole,) if whole else ()))


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
    """The progress of an interview."""

    questions: tuple[Question, ...]
    at: int = 0
    """Index of the current question."""
    answers: tuple[tuple[str, str], ...] = ()
    """(key, answer), as they were given."""
    skipped: tuple[str, ...] = ()
    ended: str = ""
    """`done`, `quit`, or empty while it goes on."""

    @property
    def waiting(self) -> Question | None:
        """The current question; None once it is over."""
        return self.questions[self.at] if not self.ended and self.at < len(self.questions) else None


def begin_session(questions: Sequence[Question]) -> tuple[Session, list[SessionEvent]]:
    """Return a session over these questions, and its first events. Without questions it is over at once."""
    session = Session(tuple(questions))
    if not questions:
        return replace(session, ended="done"), [SessionEvent("info", "Nothing is left to ask.")]
    keys = "An empty line or `skip` goes on to the next question, `back` to the one before, `quit` ends."
    return session, [SessionEvent("intro", f"{keys} Nothing is lost.", total=len(questions)), _ask(session)]


def take_line(session: Session, line: str) -> tuple[Session, list[SessionEvent]]:
    """Return the session after one line of a person, and what happened. A line after its end changes nothing."""
    question = session.waiting
    if question is None:
        return session, []
    word = line.strip()
    if word.casefold() in _QUIT:
        return _end(replace(session, ended="quit"), [])
    if word.casefold() in _BACK:
        if session.at == 0:
            return session, [SessionEvent("info", "This is the first question."), _ask(session)]
        before = replace(session, at=session.at - 1)
        return before, [_ask(before)]
    if word.casefold() in _SKIP:
        answered = any(key == question.key for key, _ in session.answers)
        skipped = session.skipped if answered else tuple(dict.fromkeys((*session.skipped, question.key)))
        return _go_on(replace(session, skipped=skipped), SessionEvent("skipped", question=question))
    others = tuple(pair for pair in session.answers if pair[0] != question.key)
    skipped = tuple(key for key in session.skipped if key != question.key)
    after = replace(session, answers=(*others, (question.key, word)), skipped=skipped)
    facts = facts_of_answer(word, question.category)
    return _go_on(after, SessionEvent("captured", word, question=question, facts=facts))


def _go_on(session: Session, event: SessionEvent) -> tuple[Session, list[SessionEvent]]:
    after = replace(session, at=session.at + 1)
    if after.at >= len(after.questions):
        return _end(replace(after, ended="done"), [event])
    return after, [event, _ask(after)]


def _end(session: Session, events: list[SessionEvent]) -> tuple[Session, list[SessionEvent]]:
    return session, [*events, SessionEvent("summary", session.ended, len(session.answers), len(session.questions))]


def _ask(session: Session) -> SessionEvent:
    question = session.questions[session.at]
    return SessionEvent("question", question.asks, session.at + 1, len(session.questions), question)
