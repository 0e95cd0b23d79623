"""`kl interview`: records from answers to what no record states yet."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kl_hooks.cli.kind_commands import sign_record
from kl_hooks.cli.output import (
    Option,
    command_access,
    counted,
    echo,
    echo_json,
    format_option,
    initialized_workspace,
    warn,
    write,
)
from kl_hooks.cli.record_output import warn_of_proposals
from kl_hooks.config.yaml import MapNode, NodeReader, TextNode, load_yaml
from kl_hooks.errors import INTERRUPTED, KlError, UsageProblem
from kl_hooks.kinds.catalog import FACT
from kl_hooks.kinds.decision.significance import assess_answer
from kl_hooks.kinds.interview import (
    INTERVIEWS,
    answered_questions,
    begin_session,
    is_applicable,
    open_questions,
    record_answer,
)
from kl_hooks.model.problem import Problems
from kl_hooks.model.text import safe_text
from kl_hooks.operations.file_access import require_shown_files
from kl_hooks.records.query import RecordFilter, list_records
from kl_hooks.records.write import create_record
from kl_hooks.store.files import read_small

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kl_hooks.kinds.interview import Question, SessionEvent
    from kl_hooks.model.record import Record
    from kl_hooks.workspace import Workspace


@click.command(epilog="Example: kl interview --focus architecture --top 4")
@click.option(
    "--focus",
    type=click.Choice(FACT.by_name["category"].choices),
    help="Only questions of this category.",
)
@click.option(
    "--top",
    "most",
    cls=Option,
    old=("--max-questions",),
    type=click.IntRange(0),
    default=10,
    show_default=True,
    help="Most questions.",
)
@click.option(
    "--answers",
    metavar="FILE",
    type=click.Path(),
    help="Take answers from this YAML file (key: answer).",
)
@click.option(
    "--abbreviated",
    "mode",
    type=click.Choice([mode for mode in INTERVIEWS if mode]),
    help="The short form after a review of this sort.",
)
@click.option("--task", default="", help="The task that was reviewed, with --abbreviated.")
@format_option()
def interview(
    focus: str | None, most: int, answers: str | None, mode: str | None, task: str, shape: str
) -> None:
    """Ask what no record states yet, the most important first. A question that a record answers is
    not asked again.

    Without a terminal and without --answers the open questions are listed.
    """
    ws = initialized_workspace()
    collected = _Answers(ws, mode or "", task)
    asked = collected.questions(focus or "", most)
    if answers:
        _answers_from_file(collected, answers)
        for _, record in collected.shown() if shape == "text" else ():
            echo(f"{record.id}  {record.title}")
    elif shape == "json" or not (sys.stdin is not None and sys.stdin.isatty()):
        _list_questions(asked, collected, shape)
        return
    else:
        _run_session(collected, asked)
    if shape == "json":
        echo_json(collected.plain())


def _list_questions(asked: Sequence[Question], collected: _Answers, shape: str) -> None:
    if shape == "json":
        rows: list[dict[str, Any]] = [
            {
                "key": q.key,
                "category": q.category,
                "importance": q.importance,
                "question": q.asks,
                "context": q.context,
                "example": q.example,
            }
            for q in asked
        ]
        echo_json({"schema": "kl.interview.gaps/1", "questions": rows, "open": collected.open})
        return
    for one in asked:
        echo(f"{one.key}  ({one.importance}, {one.category})\n    {one.asks}")
        if one.example:
            echo(f"    such as: {one.example}")
    if len(asked) < collected.open:
        echo(f"… and {collected.open - len(asked)} more: --top {collected.open}")
    if collected.open:
        echo(
            f"{collected.open} open. Answer in a terminal (kl interview), or from a file: kl"
            " interview --answers FILE"
        )
    else:
        echo("nothing is left to ask.")


def _run_session(collected: _Answers, asked: Sequence[Question]) -> None:
    """The session in a terminal. Whatever ends it, what was answered has been written."""
    session, events = begin_session(asked)
    try:
        for event in events:
            _print_event(event)
        while session.waiting is not None:
            line = click.prompt("", default="", show_default=False, prompt_suffix="> ", err=True)
            question = session.waiting
            after, events = session.take_line(line)
            try:
                for answer in [event.text for event in events if event.name == "captured"]:
                    collected.keep(question, answer)
            except KlError as problem:  # it is not lost on us: the same question waits
                warn(f"not recorded: {problem} Answer again, or skip.")
                continue
            session = after
            for event in events:
                _print_event(event)
    except (click.Abort, EOFError):
        write("\n", err=True)
        warn(
            f"interrupted; {counted(len(collected.answered), 'answer')} recorded. Go on with: kl"
            " interview"
        )
        raise click.exceptions.Exit(INTERRUPTED) from None


@dataclass
class _Answers:
    """One interview: what is asked, and what became of the answers."""

    ws: Workspace
    mode: str = ""
    """The sort of review, for the short form."""
    task: str = ""
    answered: list[tuple[str, Record]] = field(default_factory=list)
    asked: int = 0
    open: int = 0
    """Questions that nothing answers, of all."""

    def all(self) -> tuple[Question, ...]:
        """Every question of this form."""
        return INTERVIEWS[self.mode]

    def questions(self, focus: str, most: int) -> list[Question]:
        """The gaps, the most important first."""
        # after each review the same questions have new answers
        if self.mode:
            done = set()
        else:
            done = answered_questions(self.ws, self.all())
        self.open = len(open_questions(self.all(), done, focus, 1_000))
        found = open_questions(self.all(), done, focus, most)
        self.asked = len(found)
        return found

    def keep(self, question: Question, answer: str) -> None:
        """Writes one answer, now."""
        raw: dict[str, Any] = {}
        by = sign_record(self.ws, raw)
        made, others = record_answer(
            self.ws, question, answer, short=bool(self.mode), task=self.task, raw=raw, author=by
        )
        self.answered = [pair for pair in self.answered if pair[0] != question.key] + [
            (question.key, made)
        ]
        warn_of_proposals(made)
        for other in others:
            if other.proposal:
                warn_of_proposals(other)
                continue
            warn(f"{other.id} ({command_access().written(other).title}) states it from now on.")
        if not others and not is_applicable(self.ws, question.key, answer):
            warn(
                f"{question.key}: the answer names no number or mode, so gates and modes stay as"
                " they are."
            )
        if question.category == "decisions":
            self._propose(question, answer, raw, by)

    def _propose(self, question: Question, answer: str, raw: dict[str, Any], by: str) -> None:
        """An answer that is weighty enough is proposed as a decision; a person accepts it, or
        not.
        """
        judged = assess_answer(
            question.asks, answer, "clarifying_question", source_command="kl interview"
        )
        if judged.worth and not self._decided(answer):
            made = create_record(
                self.ws,
                self.ws.kinds["decision"],
                {**judged.values, **raw, "status": "proposed"},
                by=by,
            )
            title = command_access().written(made).title
            warn(f"{made.id} proposes it as a decision: {title}")

    def _decided(self, answer: str) -> bool:
        """True if a decision states it already, in whatever status: it is not proposed again."""
        there = list_records(self.ws, RecordFilter(("decision",), archived=True))
        return any(one.text("decision").strip() == answer.strip() for one in there)

    def shown(self) -> list[tuple[str, Record]]:
        """What became of the answers, as far as whoever answers may read it."""
        access = command_access()
        return [(key, access.written(record)) for key, record in self.answered]

    def plain(self) -> dict[str, Any]:
        """What was captured, as a program reads it."""
        items = [
            {
                "id": record.id,
                "answers": key,
                "category": record.text("category"),
                "answer": record.text("answer"),
                "extracted_facts": list(record.many("facts")),
                "confidence": record.number("confidence"),
            }
            for key, record in self.shown()
        ]
        return {
            "schema": "kl.interview/1",
            "captured_items": items,
            "task_id": self.task,
            "review_mode": self.mode,
            "questions_asked": self.asked,
            "answers_captured": len(items),
        }


def _answers_from_file(collected: _Answers, path: str) -> None:
    """Record the answers in a YAML file: question → answer. Every mistake is reported before
    anything is written.
    """
    require_shown_files(collected.ws, command_access(), [Path(path)])
    data = read_small(Path(path))
    if data is None:
        raise UsageProblem("there is no such file.", place=path)
    root, problems = load_yaml(path, data)
    reader = NodeReader(path, problems)
    known = {one.key: one for one in collected.all()}
    if root is None and not problems:
        raise UsageProblem(
            "holds no answers.",
            place=path,
            hint="Write a line for each: purpose: It converts maps.",
        )
    if root is not None and not problems:
        found = reader.keys(root, tuple(known))
    else:
        found = {}
    answers = {
        key: reader.text(node, f'"{key}"')
        for key, (_, node) in found.items()
        if not isinstance(node, TextNode)
        or node.value.strip()  # an empty answer is a question skipped
    }
    if problems or not isinstance(root, MapNode):
        raise Problems(problems)
    collected.asked = len(found)
    for key, answer in answers.items():
        collected.keep(known[key], answer)


def _print_event(event: SessionEvent) -> None:
    """What happened, as the person hears it: the conversation on stderr, the summary on stdout."""
    if event.name == "question" and event.question is not None:
        question = event.question
        write("\n", err=True)
        _print_to_person(f"{event.number}/{event.total}  {question.category.replace('_', ' ')}")
        _print_to_person(f"{question.asks}\n  ({question.context})")
        if question.example:
            _print_to_person(f"  such as: {question.example}")
    elif event.name == "captured":
        for fact in event.facts:
            _print_to_person(f"  recorded: {fact}")
    elif event.name == "summary":
        echo(f"{event.number} of {counted(event.total, 'question')} answered.")
    elif event.name in ("intro", "info"):
        _print_to_person(event.text)


def _print_to_person(text: str) -> None:
    """Part of the conversation: on stderr, safe for a terminal."""
    write(f"{safe_text(text)}\n", err=True)
