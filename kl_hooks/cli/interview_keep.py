"""What `kl interview` keeps: answers as they are given, from a terminal or a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kl_hooks.cli.common import note
from kl_hooks.errors import UsageProblem

if TYPE_CHECKING:
    from kl_hooks.model.record import Record
    from kl_hooks.records.interview import Question
    from kl_hooks.workspace.open import Workspace


@dataclass
class Keeper:
    """One interview: what is asked, and what became of the answers."""

    ws: Workspace
    mode: str = ""
    """The sort of review, for the short form."""
    task: str = ""
    kept: list[tuple[str, Record]] = field(default_factory=list)
    asked: int = 0
    open: int = 0
    """Questions that nothing answers, of all."""

    def all(self) -> tuple[Question, ...]:
        """Every question of this form."""
        from kl_hooks.kinds.interview import QUESTIONS, review_questions

        return review_questions(self.mode) if self.mode else QUESTIONS

    def questions(self, focus: str, most: int) -> list[Question]:
        """The gaps, the most important first."""
        from kl_hooks.kinds.interview import answered_questions
        from kl_hooks.records.interview import open_questions

        done = set() if self.mode else answered_questions(self.ws, self.all())
        self.open = len(open_questions(self.all(), done, focus, 1_000))
        found = open_questions(self.all(), done, focus, most)
        self.asked = len(found)
        return found

    def keep(self, question: Question, answer: str) -> None:
        """Writes one answer, now."""
        from kl_hooks.cli.kind_new import note_proposal, signed
        from kl_hooks.kinds.interview import FULL_CONFIDENCE, SHORT_CONFIDENCE, is_applicable, record_answer

        raw: dict[str, Any] = {}
        by = signed(self.ws, raw)
        sure = SHORT_CONFIDENCE if self.mode else FULL_CONFIDENCE
        made, others = record_answer(self.ws, question, answer, sure=sure, task=self.task, raw=raw, by=by)
        self.kept = [pair for pair in self.kept if pair[0] != question.key] + [(question.key, made)]
        note_proposal(made)
        for other in others:
            if other.proposal:
                note_proposal(other)
                continue
            note(f"{other.id} ({other.title}) says so from now on.")
        if not others and not is_applicable(self.ws, question.key, answer):
            note(f"{question.key}: the answer names no number or mode, so gates and modes stay as they are.")
        if question.category == "decisions":
            self._propose(question, answer, raw, by)

    def _propose(self, question: Question, answer: str, raw: dict[str, Any], by: str) -> None:
        """An answer that is weighty enough is proposed as a decision; a person accepts it, or not."""
        from kl_hooks.kinds.decision.significance import assess_answer
        from kl_hooks.records.write import create_record

        judged = assess_answer(question.asks, answer, "clarifying_question", source_command="kl interview")
        if judged.worth and not self._decided(answer):
            made = create_record(
                self.ws, self.ws.kinds["decision"], {**judged.values, **raw, "status": "proposed"}, by=by
            )
            note(f"{made.id} proposes it as a decision: {made.title}")

    def _decided(self, answer: str) -> bool:
        """True if a decision says so already, whatever became of it: it is not proposed again."""
        from kl_hooks.records.query import RecordFilter, list_records

        there = list_records(self.ws, RecordFilter(("decision",), archived=True))
        return any(one.text("decision").strip() == answer.strip() for one in there)

    def plain(self) -> dict[str, Any]:
        """What was captured, as a program reads it."""
        items = [
            {"id": record.id, "answers": key, "category": record.text("category"), "answer": record.text("answer"),
             "extracted_facts": list(record.many("facts")), "confidence": record.number("confidence")}
            for key, record in self.kept
        ]  # fmt: skip
        return {
            "schema": "kl.interview/1", "captured_items": items, "task_id": self.task, "review_mode": self.mode,
            "questions_asked": self.asked, "answers_captured": len(items),
        }  # fmt: skip


def from_file(keeper: Keeper, path: str) -> None:
    """Keeps the answers in a YAML file: question → answer. Every mistake is said before anything is written."""
    from kl_hooks.config.files import read_small
    from kl_hooks.config.nodes import Mapping, Text
    from kl_hooks.config.problems import Problems
    from kl_hooks.config.typed import Reader
    from kl_hooks.config.yaml import load

    data = read_small(Path(path))
    if data is None:
        raise UsageProblem("there is no such file.", place=path)
    root, problems = load(path, data)
    reader, known = Reader(path, problems), {one.key: one for one in keeper.all()}
    if root is None and not problems:
        raise UsageProblem("holds no answers.", place=path, hint="Write a line for each: purpose: It converts maps.")
    found = reader.keys(root, tuple(known)) if root is not None and not problems else {}
    answers = {
        key: reader.text(node, f'"{key}"')
        for key, (_, node) in found.items()
        if not isinstance(node, Text) or node.value.strip()  # an answer left out is a question skipped
    }
    if problems or not isinstance(root, Mapping):
        raise Problems(problems)
    keeper.asked = len(found)
    for key, answer in answers.items():
        keeper.keep(known[key], answer)
