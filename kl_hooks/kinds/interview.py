"""The interview: questions that no record answers yet, answers as facts, and the records that
answers change.

An answer takes effect when it is given, and again on records that are made later (`kl seed
--system` after the interview). Only a person's answer does: what an agent answers is a fact with an
agent's name, and changes nothing. A session is a value: nothing here asks a person.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.kinds.catalog import FACT
from kl_hooks.kinds.gate import Gate
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.record import Record
from kl_hooks.model.text import one_line
from kl_hooks.records.liveness import live_records
from kl_hooks.records.query import RecordFilter, get_records, list_records
from kl_hooks.records.seeding import SYSTEM_SOURCE
from kl_hooks.records.write import change_record, create_record

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


IMPORTANCES: Final = ("high", "medium", "low")
_SKIP: Final = ("", "skip", "s")
_QUIT: Final = ("quit", "q", "exit")
_BACK: Final = ("back", "b")
# Characters.
_SHORTEST_SENTENCE: Final = 10
_END: Final = lazy_pattern(r"(?<=[.!?])[\"')\]]*\s+(?=\S)|\n+")
_BULLET: Final = lazy_pattern(r"^\s*(?:[-*+•]|[0-9]{1,3}[.)])\s+")
_ABBREVIATIONS: Final = (
    "e.g.",
    "i.e.",
    "etc.",
    "vs.",
    "cf.",
    "approx.",
    "resp.",
    "dr.",
    "mr.",
    "ms.",
)


class AnswerField(NamedTuple):
    """A field of another kind whose value answers a question: any value, or this very one."""

    kind: str
    field: str
    value: str = ""


class Question(NamedTuple):
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
    """A list that the answer is put into as well; `value`: the name of the record, as in role
    `player`.
    """


def open_questions(
    questions: Sequence[Question], answered: Collection[str], focus: str = "", most: int = 10
) -> list[Question]:
    """Return at most `most` questions without an answer, of the category `focus` if given, most
    important first.
    """
    unanswered = [
        question
        for question in questions
        if question.key not in answered and focus in ("", question.category)
    ]
    return sorted(unanswered, key=lambda question: IMPORTANCES.index(question.importance))[
        : max(most, 0)
    ]


def answered_keys(
    questions: Iterable[Question], facts: Iterable[Record], others: Mapping[str, Sequence[Record]]
) -> set[str]:
    """Return the keys of the questions that records answer. `facts`: live ones; `others`: kind →
    its live records.
    """
    keys = {fact.text("answers") for fact in facts if fact.text("source") != SYSTEM_SOURCE}
    for question in questions:
        if any(
            _answers(record, place)
            for place in question.filled_by
            for record in others.get(place.kind, ())
        ):
            keys.add(question.key)
    return keys - {""}


def _answers(record: Record, place: AnswerField) -> bool:
    value = record.values.get(place.field)
    if record.text("source") == SYSTEM_SOURCE or value in (None, "", ()):
        return False
    return place.value in ("", value)


def split_sentences(text: str) -> tuple[str, ...]:
    """Return the sentences and list items of a text, each once, without list marks; short ones are
    omitted.
    """
    parts: list[str] = []
    for part in filter(None, map(str.strip, _END.split(text))):
        if parts and parts[-1].lower().split()[-1] in _ABBREVIATIONS:
            parts[-1] = f"{parts[-1]} {part}"
        else:
            parts.append(part)
    parts_on_one_line = (" ".join(_BULLET.sub("", part).split()) for part in parts)
    return tuple(
        dict.fromkeys(
            sentence for sentence in parts_on_one_line if len(sentence) >= _SHORTEST_SENTENCE
        )
    )


def facts_of_answer(answer: str, category: str) -> tuple[str, ...]:
    """Return `Architecture: It has two packages.` for each sentence; an answer too short for one is
    one fact.
    """
    label = category.replace("_", " ").strip().capitalize()
    whole = " ".join(answer.split())
    return tuple(
        f"{label}: {one}" for one in split_sentences(answer) or ((whole,) if whole else ())
    )


class SessionEvent(NamedTuple):
    """What happened: `intro`, `question`, `captured`, `skipped`, `info`, `summary`."""

    name: str
    text: str = ""
    number: int = 0
    total: int = 0
    question: Question | None = None
    facts: tuple[str, ...] = ()


class Session(NamedTuple):
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
        if not self.ended and self.at < len(self.questions):
            return self.questions[self.at]
        return None

    def take_line(self, line: str) -> tuple[Session, list[SessionEvent]]:
        """Return the session after one line of a person, and what happened. A line after its end
        changes nothing.
        """
        question = self.waiting
        if question is None:
            return self, []
        word = line.strip()
        if word.casefold() in _QUIT:
            return _end(self._replace(ended="quit"), [])
        if word.casefold() in _BACK:
            if self.at == 0:
                return self, [SessionEvent("info", "This is the first question."), _ask(self)]
            before = self._replace(at=self.at - 1)
            return before, [_ask(before)]
        if word.casefold() in _SKIP:
            answered = any(key == question.key for key, _ in self.answers)
            if answered:
                skipped = self.skipped
            else:
                skipped = tuple(dict.fromkeys((*self.skipped, question.key)))
            return _go_on(
                self._replace(skipped=skipped), SessionEvent("skipped", question=question)
            )
        others = tuple(pair for pair in self.answers if pair[0] != question.key)
        skipped = tuple(key for key in self.skipped if key != question.key)
        after = self._replace(answers=(*others, (question.key, word)), skipped=skipped)
        facts = facts_of_answer(word, question.category)
        return _go_on(after, SessionEvent("captured", word, question=question, facts=facts))


def begin_session(questions: Sequence[Question]) -> tuple[Session, list[SessionEvent]]:
    """Return a session over these questions, and its first events. Without questions it is over at
    once.
    """
    session = Session(tuple(questions))
    if not questions:
        return session._replace(ended="done"), [SessionEvent("info", "Nothing is left to ask.")]
    keys = (
        "An empty line or `skip` goes on to the next question, `back` to the one before, `quit`"
        " ends."
    )
    return session, [
        SessionEvent("intro", f"{keys} Nothing is lost.", total=len(questions)),
        _ask(session),
    ]


def _go_on(session: Session, event: SessionEvent) -> tuple[Session, list[SessionEvent]]:
    after = session._replace(at=session.at + 1)
    if after.at >= len(after.questions):
        return _end(after._replace(ended="done"), [event])
    return after, [event, _ask(after)]


def _end(session: Session, events: list[SessionEvent]) -> tuple[Session, list[SessionEvent]]:
    return session, [
        *events,
        SessionEvent("summary", session.ended, len(session.answers), len(session.questions)),
    ]


def _ask(session: Session) -> SessionEvent:
    question = session.questions[session.at]
    return SessionEvent("question", question.asks, session.at + 1, len(session.questions), question)


_AIM = "Every task is read in the light of it."
_PARTS = "Changes are put where they belong."
_LIMITS = "Proposals that break one of them are not made."

QUESTIONS: Final = (
    Question(
        "purpose",
        "project_overview",
        "high",
        "What is this project for, in one or two sentences?",
        _AIM,
        "A command line tool that converts map data between formats, offline.",
        (AnswerField("guide", "topic", "product"),),
    ),
    Question(
        "target_users",
        "project_overview",
        "medium",
        "Who uses it, and what do they know already?",
        "Messages, defaults and documents are written for them.",
        "Surveyors who know GIS but not programming.",
    ),
    Question(
        "goals",
        "project_overview",
        "high",
        "What should it be able to do that it can't do yet?",
        _AIM,
        "Read files of 10 GB without holding them in memory.",
        (AnswerField("objective", "status", "active"),),
    ),
    Question(
        "problem_statement",
        "project_overview",
        "high",
        "Which problem does it solve, and how was that done before?",
        "What solves another problem is out of scope.",
        "Conversions were done by hand in three programs, with mistakes.",
    ),
    Question(
        "architecture_summary",
        "architecture",
        "high",
        "How is it built, in a few sentences?",
        _PARTS,
        "Readers give features to a pipeline of filters; writers take them. No state between runs.",
        (AnswerField("guide", "topic", "architecture"),),
    ),
    Question(
        "key_components",
        "architecture",
        "high",
        "What are its main parts, and what is each responsible for?",
        _PARTS,
        "reader/: formats in. filter/: pure changes. writer/: formats out. cli/: nothing but"
        " options.",
        (AnswerField("guide", "topic", "component"), AnswerField("guide", "topic", "structure")),
    ),
    Question(
        "external_dependencies",
        "architecture",
        "medium",
        "Which outside systems and services does it talk to?",
        "What can fail outside is tested and reported as such.",
        "PostgreSQL 15, a tile server, nothing else.",
        (AnswerField("guide", "topic", "integration"),),
    ),
    Question(
        "data_flow",
        "architecture",
        "medium",
        "How does data move through it, from where to where?",
        _PARTS,
        "File -> reader -> features -> filters -> writer -> file; never back.",
    ),
    Question(
        "domain_terminology",
        "domain",
        "medium",
        "Which words mean something special here?",
        "Names in code and documents follow them.",
        "Feature: a shape with attributes. Layer: features of one schema.",
    ),
    Question(
        "business_rules",
        "domain",
        "medium",
        "Which rules of the domain must always be true?",
        "They become tests, and are not broken for convenience.",
        "A parcel never overlaps another one.",
    ),
    Question(
        "technical_constraints",
        "constraints",
        "high",
        "Which technical limits must be respected?",
        _LIMITS,
        "Python 3.11 and newer, no network at run time, under 200 MB of memory.",
    ),
    Question(
        "business_constraints",
        "constraints",
        "medium",
        "Which limits come from law, money, time or customers?",
        _LIMITS,
        "Output must stay byte for byte the same for the land registry until 2028.",
    ),
    Question(
        "avoid_list",
        "constraints",
        "high",
        "What should never be done or used here, and why?",
        _LIMITS,
        "No pickle: files come from strangers. No new dependency without asking.",
    ),
    Question(
        "tech_decisions",
        "decisions",
        "high",
        "Which technical choices are settled?",
        "Settled choices are not opened again by the way.",
        "SQLite rather than a server, because it runs on laptops.",
        (AnswerField("decision", "decision"),),
    ),
    Question(
        "decision_rationale",
        "decisions",
        "medium",
        "Why were the most important choices made as they were?",
        "Whoever meets the reason knows when it is no longer true.",
        "Surveyors have no administrator rights.",
        (AnswerField("decision", "rationale"),),
    ),
    Question(
        "success_measures",
        "goals",
        "high",
        "How will you see that it does what it should?",
        "Work is judged by it.",
        "The nightly run of 400 real files has no difference.",
    ),
    Question(
        "player_ask_before",
        "role_customization",
        "high",
        "What should whoever implements ask a person about first?",
        "It is put into the role `player`.",
        "Adding a dependency; changing a file format.",
        adds_to=AnswerField("role", "ask_before", "player"),
    ),
    Question(
        "coach_escalate_when",
        "role_customization",
        "high",
        "When should whoever reviews bring in a person?",
        "It is put into the role `coach`.",
        "Three rejected turns in a row; any doubt about personal data.",
        adds_to=AnswerField("role", "ask_before", "coach"),
    ),
    Question(
        "no_auto_zones",
        "role_customization",
        "high",
        "Which files may no agent change by itself?",
        "It is put into the role `player`.",
        "migrations/, anything under legal/.",
        adds_to=AnswerField("role", "must_not_do", "player"),
    ),
    Question(
        "coverage_threshold",
        "quality_gates",
        "medium",
        "Which test coverage must new code have?",
        "Gates are set to it.",
        "80 % of changed lines.",
        (AnswerField("gate", "coverage_threshold"),),
    ),
    Question(
        "arch_review_threshold",
        "quality_gates",
        "medium",
        "From which size on is a change's architecture reviewed?",
        "Gates are set to it.",
        "Complexity 4 and more; at least 60 of 100.",
        (AnswerField("gate", "arch_review_threshold"),),
    ),
    Question(
        "implementation_mode_preference",
        "workflow_preferences",
        "medium",
        "How should work be done by default?",
        "The mode is chosen by it.",
        "Test first for everything but scaffolding.",
        (AnswerField("mode", "mode"),),
    ),
    Question(
        "max_auto_turns",
        "workflow_preferences",
        "low",
        "After how many turns without success should work stop?",
        "Work that makes no progress is handed to a person.",
        "Five.",
    ),
)
"""In the order in which they are asked within one importance."""

_REVIEW_QUESTIONS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "architectural": (
        (
            "architecture",
            "Which part of the architecture should the next change leave as it is, and why?",
        ),
        ("architecture", "Which coupling that you saw should be undone first?"),
        ("decisions", "Which choice that this review raised is now settled?"),
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

INTERVIEWS: Final[Mapping[str, tuple[Question, ...]]] = {
    "": QUESTIONS,
    **{
        mode: tuple(
            Question(
                f"review_{mode.replace('-', '_')}_{number}",
                category,
                "high",
                asks,
                f"After a review: {mode}.",
            )
            for number, (category, asks) in enumerate(rows, 1)
        )
        for mode, rows in _REVIEW_QUESTIONS.items()
    },
}
"""What was reviewed → the questions of its short form; the empty text has the whole interview."""
_SOURCE: Final = "interview"


def answered_questions(ws: Workspace, questions: Sequence[Question]) -> set[str]:
    """Return the keys of the questions that records answer already."""
    kinds = tuple(
        {field.kind for question in questions for field in question.filled_by} & set(ws.kinds)
    )
    by_kind: dict[str, list[Record]] = {}
    for record in live_records(ws, list_records(ws, RecordFilter((FACT.name, *kinds)))):
        by_kind.setdefault(record.kind, []).append(record)
    return answered_keys(questions, by_kind.get(FACT.name, ()), by_kind)


def record_answer(
    ws: Workspace,
    question: Question,
    answer: str,
    *,
    short: bool = False,
    task: str = "",
    raw: Mapping[str, Any] = {},
    author: str = "",
) -> tuple[Record, list[Record]]:
    """Record an answer at once; return its fact, and the gates, modes and roles that it changed.

    It replaces an earlier answer of the same authority to the same question in the same task: an
    agent's answer never replaces a person's. `short`: in the short form, after a review. `raw`:
    fields such as the authority. Raises as `create_record`.
    """
    facts = facts_of_answer(answer, question.category)
    values: dict[str, Any] = {
        "title": one_line(facts[0] if facts else answer, 100),
        "category": question.category,
        "answers": question.key,
        "question": question.asks,
        "answer": answer.strip(),
        "facts": list(facts),
        "confidence": 80 if short else 100,
        "source": _SOURCE,
        "task_id": task or None,
        **raw,
    }
    authority = str(raw.get("authority") or "human")
    identity = (question.key, task, _SOURCE)
    earlier = (
        one
        for one in list_records(ws, RecordFilter((FACT.name,), ("current",)))
        if tuple(map(one.text, ("answers", "task_id", "source"))) == identity
        and one.authority == authority
    )
    before = next(earlier, None)
    if before is not None:
        fact = change_record(
            ws,
            before,
            {name: value for name, value in values.items() if name != "authority"},
            by=author,
        )
    else:
        fact = create_record(
            ws,
            FACT,
            {name: value for name, value in values.items() if value is not None},
            by=author,
        )
    effect = _effect_of(question, before.text("answer") if before else "")
    if fact.authority != "human" or effect is None:
        return fact, []
    return fact, _apply_changes(ws, effect.changes(answer, _live_records(ws, effect.kind)), author)


def is_applicable(ws: Workspace, key: str, answer: str) -> bool:
    """Return False for an answer that should change gates or modes, and names no number or mode of
    theirs.
    """
    effect = _EFFECTS.get(key)
    if effect:
        records = _live_records(ws, effect.kind)
    else:
        records = []
    return effect is None or not records or bool(effect.changes(answer, records))


def apply_answers_to(ws: Workspace, made: Iterable[Record]) -> list[Record]:
    """Apply earlier answers to records that were made after they were given; return those that
    changed.
    """
    new = {one.id for one in made}
    answers = {
        one.text("answers"): one.text("answer")
        for one in live_records(ws, list_records(ws, RecordFilter((FACT.name,), ("current",))))
        if one.authority == "human"
    }
    changed: dict[str, Record] = {}
    for question in QUESTIONS:
        if question.key in answers:
            effect = _effect_of(question)
        else:
            effect = None
        if effect is not None:
            # read again for each answer: the one before may have changed the same records
            changes = effect.changes(answers[question.key], _live_records(ws, effect.kind))
            changes = {key: values for key, values in changes.items() if key in new}
            changed |= {one.id: one for one in _apply_changes(ws, changes, "interview")}
    return list(changed.values())


_Changes = Mapping[str, Mapping[str, Any]]
"""Record ID → fields that change."""


class _Effect(NamedTuple):
    """The kind whose records an answer changes, and how: from the answer and the live records of
    that kind.
    """

    kind: str
    changes: Callable[[str, Sequence[Record]], _Changes]


def _effect_of(question: Question, before: str = "") -> _Effect | None:
    """`before`: the answer that is replaced."""
    field = question.adds_to
    if field is None:
        return _EFFECTS.get(question.key)
    return _Effect(
        field.kind, lambda answer, records: _list_changes(field, before, answer, records)
    )


def _live_records(ws: Workspace, kind: str) -> list[Record]:
    if kind not in ws.kinds:
        return []
    return live_records(ws, list_records(ws, RecordFilter((kind,))))


def _apply_changes(ws: Workspace, changes: _Changes, author: str) -> list[Record]:
    changed = []
    for record in get_records(ws, list(changes)):
        # records hold tuples where answers give lists
        values = {
            name: value
            for name, value in changes[record.id].items()
            if record.values.get(name) != (tuple(value) if isinstance(value, list) else value)
        }
        if values:
            changed.append(change_record(ws, record, values, how="interview", by=author))
    return changed


def _list_changes(
    field: AnswerField, before: str, answer: str, records: Sequence[Record]
) -> _Changes:
    """The sentences of an answer in a list of the record of this name, in place of those of the
    answer before.
    """
    record = next((one for one in records if one.text(field.kind).casefold() == field.value), None)
    if record is None:
        return {}
    new, old = (split_sentences(text) or (one_line(text, 200),) for text in (answer, before))
    items = [one for one in record.many(field.field) if one not in old or one in new]
    return {record.id: {field.field: [*items, *(one for one in new if one not in items)]}}


def _coverage_changes(answer: str, gates: Sequence[Record]) -> _Changes:
    """Every gate that demands coverage demands this much."""
    least = _percent(answer)
    if least is None:
        return {}
    demanding = [one for one in gates if Gate(one).demands("coverage")]
    return {one.id: {"coverage_required": True, "coverage_threshold": least} for one in demanding}


def _review_changes(answer: str, gates: Sequence[Record]) -> _Changes:
    """From this complexity on a review of at least this score; of the types of work that are
    reviewed at all.
    """
    size = next((int(a or b) for a, b in _SIZE.findall(answer)), None)
    # without its size: the 4 of `complexity 4 and more` is no score
    least = _percent(_SIZE.sub("", answer))
    if size is None and least is None:
        return {}
    types = {
        gate_record.text("task_type")
        for gate_record in gates
        if Gate(gate_record).demands("arch_review")
    }
    changes: dict[str, dict[str, Any]] = {}
    for gate_record in (gate for gate in gates if gate.text("task_type") in types):
        if size is None:
            wanted = Gate(gate_record).demands("arch_review")
        else:
            wanted = gate_record.number("complexity_to", 10) >= size
        if least is not None:
            score = least
        else:
            score = gate_record.number("arch_review_threshold")
        changes[gate_record.id] = {"arch_review_required": wanted}
        if wanted and score:
            changes[gate_record.id]["arch_review_threshold"] = score
    return changes


def _mode_changes(answer: str, modes: Sequence[Record]) -> _Changes:
    """The mode that the answer names first is the default, and the answer is added to when to use
    it.
    """
    words = _plain_words(answer)
    places: dict[str, int] = {}
    for mode in modes:
        names = (_plain_words(name) for name in (mode.text("mode"), mode.title))
        starts = [
            match.start()
            for name in names
            if name and (match := re.search(rf"\b{re.escape(name)}\b", words))
        ]
        if starts:
            places[mode.id] = min(starts)
    if not places:
        return {}
    chosen = min(places, key=lambda name: (places[name], name))
    changes: dict[str, dict[str, Any]] = {}
    for mode in modes:
        if mode.id == chosen:
            uses = [use for use in mode.many("when_to_use") if not use.startswith("By default: ")]
            changes[mode.id] = {
                "default": True,
                "when_to_use": [*uses, f"By default: {one_line(answer, 200)}"],
            }
        elif mode.values.get("default"):
            changes[mode.id] = {"default": None}
    return changes


def _plain_words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _turns_changes(answer: str, modes: Sequence[Record]) -> _Changes:
    """Modes that work in turns stop after so many."""
    most = _number(answer)
    turning = [
        one
        for one in modes
        if one.number("max_turns") or "turn" in f"{one.text('mode')} {one.title}".casefold()
    ]
    if not most:
        return {}
    return {one.id: {"max_turns": most} for one in turning}


_WORDS: Final = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
)
_NUMBER: Final = lazy_pattern(rf"\b(?:(\d{{1,3}})|({'|'.join(_WORDS)}))\b", re.IGNORECASE)
_SIZE: Final = lazy_pattern(
    r"(?:complexity|size)\D{0,20}(\d{1,2})|(?<![\d.])(\d{1,2})\s*(?:and|or)\s+(?:more|above|up|higher)",
    re.IGNORECASE,
)
"""From which complexity on: `complexity 4`, `4 and more`."""
_LEAST: Final = lazy_pattern(
    r"(?:at least|minimum|not below|score\D{0,12})\s*(\d{1,3})|(\d{1,3})\s*(?:%|percent|of"
    r" 100|points)",
    re.IGNORECASE,
)
"""At least how much: `at least 60`, `80 %`."""


def _percent(text: str) -> int | None:
    percentage = next((int(a or b) for a, b in _LEAST.findall(text)), None)
    number = percentage if percentage is not None else _number(text)
    if number is not None and 0 <= number <= 100:
        return number
    return None


def _number(text: str) -> int | None:
    match = _NUMBER.search(text)
    if match is None:
        return None
    if match[1]:
        return int(match[1])
    return _WORDS.index(match[2].lower())


_EFFECTS: Final[Mapping[str, _Effect]] = {
    "coverage_threshold": _Effect("gate", _coverage_changes),
    "arch_review_threshold": _Effect("gate", _review_changes),
    "implementation_mode_preference": _Effect("mode", _mode_changes),
    "max_auto_turns": _Effect("mode", _turns_changes),
}
"""By the key of the question."""
