"""From a question and its answer to the fields of a decision: a title, the reason, what it was chosen over."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kl_hooks.kinds.decision.asked.significance import THRESHOLD, Significance, significance
from kl_hooks.kinds.decision.asked.terms import INSTEAD, NO_ALTERNATIVE, REASON, words
from kl_hooks.model.text import one_line

_WORDS: Final = """
a an and any are as at be by can could do does for from have how i in is it its let let's need of on or our shall
should so that the their there these they this those to us use used using want we what when where which who why will
with would you your go choose pick take adopt prefer"""
_SMALL: Final = frozenset(_WORDS.split())
"""Words that name no subject."""
_BEGINS: Final = re.compile(
    r"(?:(?:yes|ok|okay|well|i think|let's|we(?:'ll| will| should| would)?|please|go with|going with|use|using|choose"
    r"|pick|adopt|prefer|take)\b[\s,:]*)+",
    re.IGNORECASE,
)
_STOPS: Final = re.compile(r"[.;:,!?()\n]|\s[\u2013\u2014-]\s")


@dataclass(frozen=True, slots=True)
class Judged:
    """Whether an answer is worth a record, and the fields of that record."""

    worth: bool
    significance: Significance
    threshold: int
    values: Mapping[str, Any]


def record_decision(
    question: str, answer: str, trigger: str = "manual", *, threshold: int = THRESHOLD, **ids: str
) -> Judged:
    """The decision that an answer to a question is. `ids`: source_task_id, source_feature_id, source_command."""
    found = significance(question, answer)
    values: dict[str, Any] = {
        "title": title(question, answer),
        "context": question.strip(),
        "decision": answer.strip(),
        "rationale": reason(answer),
        "alternatives": list(alternatives(answer)),
        "trigger": trigger,
        "confidence": found.percent,
        **ids,
    }
    filled = {name: value for name, value in values.items() if value not in ("", [])}
    return Judged(found.percent >= threshold, found, threshold, filled)


def title(question: str, answer: str) -> str:
    """`Use PostgreSQL for orders`: the first three words of the answer, and what the question is about."""
    spoken = _BEGINS.sub("", answer.strip(), count=1) if _BEGINS.match(answer.strip()) else answer.strip()
    ends = [found.start() for found in (_STOPS.search(spoken), REASON.search(spoken), INSTEAD.search(spoken)) if found]
    chosen = words(spoken[: min(ends, default=len(spoken))])[:3] or words(spoken)[:3]
    while chosen and chosen[-1].lower() in _SMALL:
        chosen.pop()
    about = subject(question, {word.lower() for word in chosen})
    name = " ".join(chosen) or one_line(answer, 40)
    return one_line(f"Use {name} for {about}" if about else f"Use {name}", 160)


def subject(question: str, chosen: Collection[str] = ()) -> str:
    """What a question is about: the words after `for`, else its first telling words; at most four."""
    text = question.strip().rstrip("?.! ")
    after = re.search(r"\bfor\s+(.+)$", text, re.IGNORECASE)
    for part in ([after[1]] if after else []) + [text]:
        told = [word for word in words(part) if word.lower() not in _SMALL and word.lower() not in chosen]
        if told:
            return " ".join(told[:4])
    return ""


def reason(answer: str) -> str:
    """The sentence that gives the reason; empty where there is none."""
    sentences = re.split(r"(?<=[.!?])\s+", answer.strip())
    return next((one.strip() for one in sentences if REASON.search(one)), "")


def alternatives(answer: str) -> tuple[str, ...]:
    """What it was chosen over: `over MySQL and SQLite because …` → MySQL, SQLite."""
    found: list[str] = []
    for mark in INSTEAD.finditer(answer):
        rest = answer[mark.end() :]
        ends = [
            one.start() for one in (re.search(r"[.;:!?()\n]", rest), REASON.search(rest), INSTEAD.search(rest)) if one
        ]
        part = rest[: min(ends, default=len(rest))]
        for one in re.split(r"\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or)\s+", part):
            told = words(one)[:5]
            if told and told[0].lower() not in NO_ALTERNATIVE:
                found.append(" ".join(told))
            elif mark[0].lower().startswith("over"):
                break
    return tuple(dict.fromkeys(found))
