"""What becomes of an answer: a fact, written at once; and what it says is put where it takes effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.kinds.fact.kind import KIND
from kl_hooks.model.record import Record
from kl_hooks.model.text import one_line
from kl_hooks.records.ask import Wanted, every
from kl_hooks.records.interview.question import Place, Question, answered
from kl_hooks.records.interview.sentences import facts, sentences
from kl_hooks.records.liveness import is_live
from kl_hooks.records.write import change, create

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace

SURE, HURRIED = 100, 80
"""How sure an answer is, percent: of the whole interview, of its short form."""
SOURCE: Final = "interview"


def answered_here(ws: Workspace, questions: Sequence[Question]) -> set[str]:
    """The keys of the questions that need not be asked any more."""
    kinds = tuple({place.kind for question in questions for place in question.filled_by} & set(ws.kinds))
    records = [one for one in every(ws, Wanted((KIND.name, *kinds))) if is_live(ws, one)]
    others: dict[str, list[Record]] = {}
    for one in records:
        others.setdefault(one.kind, []).append(one)
    return answered(questions, others.get(KIND.name, ()), others)


def keep(
    ws: Workspace,
    question: Question,
    answer: str,
    *,
    sure: int = SURE,
    task: str = "",
    raw: Mapping[str, Any] = {},
    by: str = "",
) -> tuple[Record, Record | None]:
    """Writes the answer: (its fact, the other record that it changed, if any). An answer to the same question, and of
    the same task, takes the place of the one before. `raw`: who says it. Problems and EnvironmentProblem as `create`.
    """
    found = facts(answer, question.category)
    values: dict[str, Any] = {
        "title": one_line(found[0] if found else answer, 100), "category": question.category, "answers": question.key,
        "question": question.asks, "answer": answer.strip(), "facts": list(found), "confidence": sure,
        "source": SOURCE, "task_id": task or None, **raw,
    }  # fmt: skip
    before = next(
        (one for one in every(ws, Wanted((KIND.name,), ("current",))) if _same(one, question.key, task)), None
    )
    if before is not None:
        made = change(ws, before, {name: value for name, value in values.items() if name != "authority"}, by=by)
    else:
        made = create(ws, KIND, {name: value for name, value in values.items() if value is not None}, by=by)
    return made, _put(ws, question.adds_to, answer, by) if question.adds_to else None


def _same(record: Record, key: str, task: str) -> bool:
    return record.text("answers") == key and record.text("task_id") == task and record.text("source") == SOURCE


def _put(ws: Workspace, place: Place, answer: str, by: str) -> Record | None:
    """Adds the answer's sentences to a list of another record, each once; None where there is no such record."""
    found = [one for one in every(ws, Wanted((place.kind,))) if one.text(place.kind).casefold() == place.value]
    record = next((one for one in found if is_live(ws, one)), None)
    if record is None:
        return None
    said = sentences(answer) or (one_line(answer, 200),)
    there = record.many(place.field)
    fresh = [one for one in said if one not in there]
    return change(ws, record, {place.field: [*there, *fresh]}, by=by) if fresh else None
