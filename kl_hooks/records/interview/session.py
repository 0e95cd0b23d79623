"""The session: a value that takes one line after another and says what happened. It asks nobody and writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from kl_hooks.records.interview.question import Question
from kl_hooks.records.interview.sentences import facts

SKIP: Final = ("", "skip", "s")
QUIT: Final = ("quit", "q", "exit")
BACK: Final = ("back", "b")


@dataclass(frozen=True, slots=True)
class Event:
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


def begin(questions: Sequence[Question]) -> tuple[Session, list[Event]]:
    """A session over these questions, and its first events. Without questions it is over at once."""
    session = Session(tuple(questions))
    if not questions:
        return replace(session, ended="done"), [Event("info", "Nothing is left to ask.")]
    text = (
        "An empty line or `skip` goes on to the next question, `back` to the one before, `quit` ends. Nothing is lost."
    )
    return session, [Event("intro", text, total=len(questions)), _asked(session)]


def take(session: Session, line: str) -> tuple[Session, list[Event]]:
    """The session after one line of a person, and what happened. What comes after its end changes nothing."""
    question = session.waiting
    if question is None:
        return session, []
    word = line.strip()
    if word.casefold() in QUIT:
        return _over(replace(session, ended="quit"), [])
    if word.casefold() in BACK:
        return _back(session)
    if word.casefold() in SKIP:
        said_before = any(key == question.key for key, _ in session.answers)
        skipped = session.skipped if said_before else tuple(dict.fromkeys((*session.skipped, question.key)))
        return _onward(replace(session, skipped=skipped), [Event("skipped", question=question)])
    said = facts(word, question.category)
    kept = tuple(pair for pair in session.answers if pair[0] != question.key)
    skipped = tuple(key for key in session.skipped if key != question.key)
    after = replace(session, answers=(*kept, (question.key, word)), skipped=skipped)
    return _onward(after, [Event("captured", word, question=question, facts=said)])


def _back(session: Session) -> tuple[Session, list[Event]]:
    if session.at == 0:
        return session, [Event("info", "This is the first question."), _asked(session)]
    before = replace(session, at=session.at - 1)
    return before, [_asked(before)]


def _onward(session: Session, events: list[Event]) -> tuple[Session, list[Event]]:
    after = replace(session, at=session.at + 1)
    if after.at >= len(after.questions):
        return _over(replace(after, ended="done"), events)
    return after, [*events, _asked(after)]


def _over(session: Session, events: list[Event]) -> tuple[Session, list[Event]]:
    return session, [*events, Event("summary", session.ended, len(session.answers), len(session.questions))]


def _asked(session: Session) -> Event:
    question = session.questions[session.at]
    return Event("question", question.asks, session.at + 1, len(session.questions), question)
