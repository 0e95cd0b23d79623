"""How much an answer decides, in percent, with the reason for every point; and the decision record
it makes. Pure.

Whole words count, never parts of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.text import one_line


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_HIGH: Final = _set(
    """api apis architecture architectural asynchronous authentication authorization availability
    backend broker cache caching ci cloud concurrency consistency container containers database
    databases dependency deployment encryption event-driven framework frontend grpc graphql
    infrastructure integration kafka kubernetes latency library migration migrations microservice
    microservices monolith multi-tenant oauth orm performance persistence postgres postgresql
    protocol queue redis replication scalability schema security serverless service-oriented
    sharding sql storage tenancy transaction transactions versioning webhook websocket"""
)
"""Much is decided with them: 20 points each, 60 at most."""
_MEDIUM: Final = _set(
    """configuration errors exceptions interface logging metrics monitoring module observability
    pagination plugin retry retries session sessions testing timeout timeouts tracing validation"""
)
"""Something is: 10 points each, 30 at most."""
_LOW: Final = _set(
    """capitalisation capitalization color colour comment comments docstring emoji font format
    formatting icon indent indentation label name naming rename renamed spelling typo typos
    whitespace wording"""
)
"""Little is: 15 points off each."""
_PHRASES: Final = {
    "error handling": 10,
    "message broker": 20,
    "rest api": 20,
    "source of truth": 20,
}
"""Words that count together."""
_BARE: Final = _set("yes no ok okay sure yep nope maybe fine agreed correct right true false")
"""An answer of these alone has no content for a record."""
_REASON: Final = lazy_pattern(
    r"\b(?:because|since|due to|owing to|thanks to|given that|so that|in order to|as"
    r" (?:it|we|they|this|that|there|our)"
    r"|for (?:its|their|better|the sake of|reasons? of|the reason))\b",
    re.IGNORECASE,
)
"""What begins a reason; a bare `as` or `for` does not."""
_INSTEAD: Final = lazy_pattern(r"\b(?:instead of|rather than|over|versus|vs\.?)\s+", re.IGNORECASE)
"""What comes before an alternative."""
_NO_ALTERNATIVE: Final = _set(
    "time all http https tcp udp ssh tls network networks it them this that the a an and here there"
    " 0 1 2 3"
)
"""After `over` these are no alternatives: over time, over HTTP."""
_WORD: Final = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9+#.-]*[A-Za-z0-9+#]|[A-Za-z0-9]")
"""`C++`, `event-driven` and `Node.js` are one word each."""
_SMALL: Final = _set(
    """a an and any are as at be by can could do does for from have how i in is it its let let's
    need of on or our shall should so that the their there these they this those to us use used
    using want we what when where which who why will with would you your go choose pick take adopt
    prefer"""
)
"""Words that name no subject."""
_OPENING: Final = lazy_pattern(
    r"(?:(?:yes|ok|okay|well|i think|let's|we(?:'ll| will| should| would)?|please|go with|going"
    r" with|use|using|choose"
    r"|pick|adopt|prefer|take)\b[\s,:]*)+",
    re.IGNORECASE,
)
_STOPS: Final = lazy_pattern(r"[.;:,!?()\n]|\s[\u2013\u2014-]\s")
_END: Final = lazy_pattern(r"[.;:!?()\n]")
_CHOICE: Final = lazy_pattern(r"\b(?:should|which)\b", re.IGNORECASE)
_THRESHOLD: Final = 40
"""Percent from which an answer is worth a record, unless the settings differ (`significance`)."""


class Significance(NamedTuple):
    """The weight of an answer."""

    percent: int
    reasons: tuple[tuple[int, str], ...]
    """(points, what for), as they were added; the sum is limited to 0 to 100."""


class AssessedAnswer(NamedTuple):
    """Whether an answer is worth a record, and the fields of that record."""

    worth: bool
    significance: Significance
    threshold: int
    values: Mapping[str, Any]


def assess_answer(
    question: str, answer: str, trigger: str = "manual", *, threshold: int = _THRESHOLD, **ids: str
) -> AssessedAnswer:
    """Return the decision in an answer.

    `ids`: source_task_id, source_feature_id, source_command.
    """
    assessed = significance(question, answer)
    values: dict[str, Any] = {
        "title": title(question, answer),
        "context": question.strip(),
        "decision": answer.strip(),
        "rationale": _reason(answer),
        "alternatives": list(alternatives(answer)),
        "trigger": trigger,
        "confidence": assessed.percent,
        **ids,
    }
    filled = {name: value for name, value in values.items() if value not in ("", [])}
    return AssessedAnswer(assessed.percent >= threshold, assessed, threshold, filled)


def significance(question: str, answer: str) -> Significance:
    """Return how much a question and its answer decide, with a reason for every point."""
    words = [word.lower() for word in _WORD.findall(f"{question} {answer}")]
    in_answer = _WORD.findall(answer)
    parts = [
        _points("decides much", _matches(words, _HIGH, 20), 20, 60),
        _points("decides something", _matches(words, _MEDIUM, 10), 10, 30),
        _points("decides little", _matches(words, _LOW), -15, -150),
    ]
    if len(in_answer) <= 2:
        parts.append((-30, "an answer of two words or fewer"))
    elif len(in_answer) >= 10:
        parts.append((15, "an answer of ten words or more"))
    if _REASON.search(answer):
        parts.append((25, "gives a reason"))
    if _CHOICE.search(question):
        parts.append((15, "the question asks for a choice"))
    if in_answer and all(word.lower() in _BARE for word in in_answer):
        parts.append((-50, "yes or no"))
    reasons = tuple(part for part in parts if part[0])
    return Significance(max(0, min(100, sum(points for points, _ in reasons))), reasons)


def _matches(words: list[str], lexicon: frozenset[str], points: int = 0) -> list[str]:
    """The words that are known, and the phrases that are worth so many points."""
    text = f" {' '.join(words)} "
    phrases = [
        phrase for phrase, worth in _PHRASES.items() if worth == points and f" {phrase} " in text
    ]
    return [word for word in dict.fromkeys(words) if word in lexicon] + phrases


def _points(label: str, words: list[str], per_word: int, most: int) -> tuple[int, str]:
    points = per_word * len(words)
    return (
        max(points, most) if per_word < 0 else min(points, most)
    ), f"{label}: {', '.join(words)}"


def title(question: str, answer: str) -> str:
    """Return `Use PostgreSQL for orders`: the first words of the answer, and what the question is
    about.
    """
    if _OPENING.match(answer.strip()):
        text = _OPENING.sub("", answer.strip(), count=1)
    else:
        text = answer.strip()
    chosen = _WORD.findall(_until(text, _STOPS))[:3] or _WORD.findall(text)[:3]
    while chosen and chosen[-1].lower() in _SMALL:
        chosen.pop()
    subject = _subject(question, {word.lower() for word in chosen})
    name = " ".join(chosen) or one_line(answer, 40)
    return one_line(f"Use {name} for {subject}" if subject else f"Use {name}", 160)


def _until(text: str, stop: re.Pattern[str]) -> str:
    """The text before a stop, a reason or an alternative."""
    ends = [
        found.start()
        for found in (stop.search(text), _REASON.search(text), _INSTEAD.search(text))
        if found
    ]
    return text[: min(ends, default=len(text))]


def _subject(question: str, chosen: Collection[str]) -> str:
    """What a question is about: the words after `for`, else its first words with a meaning; at most
    four.
    """
    text = question.strip().rstrip("?.! ")
    after = re.search(r"\bfor\s+(.+)$", text, re.IGNORECASE)
    for part in ([after[1]] if after else []) + [text]:
        words = [
            word
            for word in _WORD.findall(part)
            if word.lower() not in _SMALL and word.lower() not in chosen
        ]
        if words:
            return " ".join(words[:4])
    return ""


def _reason(answer: str) -> str:
    """The sentence that gives the reason; empty where there is none."""
    sentences = re.split(r"(?<=[.!?])\s+", answer.strip())
    return next((one.strip() for one in sentences if _REASON.search(one)), "")


def alternatives(answer: str) -> tuple[str, ...]:
    """Return what it was chosen over: `over MySQL and SQLite because …` → MySQL, SQLite."""
    names: list[str] = []
    for mark in _INSTEAD.finditer(answer):
        part = _until(answer[mark.end() :], _END)
        for alternative in re.split(r"\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or)\s+", part):
            words = _WORD.findall(alternative)[:5]
            if words and words[0].lower() not in _NO_ALTERNATIVE:
                names.append(" ".join(words))
            elif mark[0].lower().startswith("over"):
                break
    return tuple(dict.fromkeys(names))
