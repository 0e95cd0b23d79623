"""What becomes of an answer: a fact, written at once; and what it says is put where it takes effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.kinds.fact.effects import take_effect
from kl_hooks.kinds.fact.kind import KIND
from kl_hooks.model.record import Record
from kl_hooks.model.text import one_line
from kl_hooks.records.ask import Wanted, every
from kl_hooks.records.interview.question import Question, answered
from kl_hooks.records.interview.sentences import facts
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
) -> tuple[Record, list[Record]]:
    """Writes the answer: (its fact, the gates, modes and roles that it changed). An answer to the same question, and of
    the same task, takes the place of the one before. `raw`: who says it; what an agent says changes nothing else.
    Problems and EnvironmentProblem as `create`.
    """
    found = facts(answer, question.category)
    values: dict[str, Any] = {
        "title": one_line(found[0] if found else answer, 100), "category": question.category, "answers": question.key,
        "question": question.asks, "answer": answer.strip(), "facts": list(found), "confidence": sure,
        "source": SOURCE, "task_id": task or None, **raw,
    }  # fmt: skip
    whose = str(raw.get("authority") or "human")  # what an agent answers takes the place of no person's answer
    before = next(
        (
            one
            for one in every(ws, Wanted((KIND.name,), ("current",)))
            if _same(one, question.key, task) and one.authority == whose
        ),
        None,
    )
    if before is not None:
        made = change(ws, before, {name: value for name, value in values.items() if name != "authority"}, by=by)
    else:
        made = create(ws, KIND, {name: value for name, value in values.items() if value is not None}, by=by)
    if made.authority != "human":
        return made, []
    return made, take_effect(ws, question.key, answer, question.adds_to, before.text("answer") if before else "", by)


def _same(record: Record, key: str, task: str) -> bool:
    return record.text("answers") == key and record.text("task_id") == task and record.text("source") == SOURCE
