"""`kl outcome`: how tasks ended."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from kl_hooks.cli.kind_commands import sign_record
from kl_hooks.cli.options import Option, format_option, given, top_option
from kl_hooks.cli.output import initialized_workspace, print_answer, print_list, warn, workspace
from kl_hooks.cli.record_output import print_record
from kl_hooks.errors import UsageProblem
from kl_hooks.kinds.outcome import record_outcome as record
from kl_hooks.kinds.outcome import record_queued
from kl_hooks.model.problem import Problem, Problems
from kl_hooks.model.text import one_line
from kl_hooks.records.document import fields_by_heading, leading_title, read_front_matter, split_lines
from kl_hooks.records.query import NO_LIMIT, RecordFilter, get_record, record_to_dict, search_records
from kl_hooks.records.write import validate_or_raise
from kl_hooks.store.files import read_small

if TYPE_CHECKING:
    from kl_hooks.model.record import Record
    from kl_hooks.workspace import Workspace

_KEYS: Final[Mapping[str, str]] = {
    "id": "task_id", "task_id": "task_id", "title": "title", "feature_id": "feature_id", "feature": "feature_id",
    "started": "started_at", "started_at": "started_at", "completed": "completed_at", "completed_at": "completed_at",
    "coverage": "test_coverage", "test_coverage": "test_coverage", "review_cycles": "review_cycles",
    "duration_minutes": "duration_minutes",
}  # fmt: skip
_TEXTS: Final[Mapping[str, str]] = {
    "requirements": "task_requirements", "description": "task_requirements", "task": "task_requirements",
    "overview": "task_requirements", "acceptance criteria": "task_requirements", "summary": "summary",
    "implementation summary": "summary", "outcome": "summary", "result": "summary", "approach": "approach_used",
    "implementation": "approach_used", "implementation notes": "approach_used",
}  # fmt: skip
_LISTS: Final[Mapping[str, str]] = {
    "problems": "problems_encountered", "problems encountered": "problems_encountered",
    "issues": "problems_encountered", "lessons": "lessons_learned", "lessons learned": "lessons_learned",
    "patterns": "patterns_used", "patterns used": "patterns_used",
}  # fmt: skip
_OUTCOMES: Final[Mapping[str, tuple[str, bool]]] = {
    "completed": ("task_completed", True), "complete": ("task_completed", True), "done": ("task_completed", True),
    "blocked": ("task_blocked", False), "cancelled": ("task_cancelled", False), "canceled": ("task_cancelled", False),
    "failed": ("task_failed", False), "in_review": ("phase_completed", True),
}  # fmt: skip
"""Status of a task → how it ended, and whether it succeeded."""


@click.command(
    epilog='Example: kl outcome capture "Sign-in" --success --approach "OAuth" --lesson "Pin the clock in tests"'
)
@click.argument("title", required=False)
@click.option("--title", "title_option", help="What the task was, in one line.")
@click.option("--type", "outcome_type", help="How it ended: task_completed, task_failed, task_blocked, review_passed …")
@click.option("--success/--failure", default=None, help="Whether it reached what it was for.")
@click.option("--task", "task_id", cls=Option, old=("--task-id",), metavar="ID", help="The task that ended.")
@click.option("--requirements", "task_requirements", help="What was asked for; similar tasks are found by it.")
@click.option("--summary", help="What was done, in a few sentences.")
@click.option("--approach", "approach_used", help="How it was done.")
@click.option("--pattern", "patterns_used", multiple=True, help="A pattern that was applied. May be repeated.")
@click.option("--problem", "problems_encountered", multiple=True, help="A problem on the way. May be repeated.")
@click.option("--lesson", "lessons_learned", multiple=True, help="What to do otherwise next time. May be repeated.")
@click.option("--tests-written/--no-tests-written", default=None, help="Whether tests were written for it.")
@click.option("--coverage", "test_coverage", type=click.IntRange(0, 100), help="Coverage of what it changed, percent.")
@click.option("--review-cycles", type=click.IntRange(0, 1000), help="Rounds of review.")
@click.option("--started", "started_at", metavar="MOMENT", help="When it was begun (ISO 8601).")
@click.option("--completed", "completed_at", metavar="MOMENT", help="When it ended.")
@click.option("--minutes", "duration_minutes", type=click.IntRange(0, 1_000_000), help="How long it took.")
@click.option("--feature", "feature_id", metavar="ID", help="The feature it belongs to.")
@click.option("--decision", "related_adr_ids", multiple=True, metavar="ID", help="A decision it followed or met.")
@click.option(
    "--from-task-file", "path", metavar="FILE", type=click.Path(), help="Take what is not given from this file."
)
@click.option("--dry-run", is_flag=True, help="Show what would be recorded; record nothing.")
@click.option("--strict", is_flag=True, help="Refuse an outcome without requirements, summary and approach.")
@format_option()
def capture(
    title: str | None,
    title_option: str | None,
    path: str | None,
    dry_run: bool,
    strict: bool,
    shape: str,
    **options: Any,
) -> None:
    """Record how a task ended. The next task like it starts from there: kl outcome similar."""
    ws = initialized_workspace()
    raw = {**(_read_task_file(path) if path else {}), **given(options)}
    if title or title_option:
        raw["title"] = title or title_option
    raw.setdefault("success", True if raw.get("outcome_type") in (None, "task_completed", "review_passed") else None)
    raw.setdefault("outcome_type", "task_failed" if raw["success"] is False else "task_completed")
    raw = {name: value for name, value in raw.items() if value is not None}
    missing = [name for name in ("task_requirements", "summary", "approach_used") if not raw.get(name)]
    if strict and missing:
        raise UsageProblem(f"--strict: {', '.join(missing)} missing.", place="kl outcome capture")
    by = sign_record(ws, raw)
    if dry_run:
        _print_dry_run(validate_or_raise(ws.kinds["outcome"], raw, "kl outcome capture"), shape)
        return
    _record_outcome(ws, raw, by, shape)


def _record_outcome(ws: Workspace, raw: dict[str, Any], by: str, shape: str) -> None:
    """Records it, and what was put aside before; where that can't be done now it is put aside, id and all."""
    identifier, aside = record(ws, raw, by)
    if not aside:
        record_queued(ws)
        print_record(ws, get_record(ws, identifier, "outcome"), shape)
        return
    warn(f"{aside} It is put aside, and recorded with the next outcome.")
    print_answer(
        shape, {"schema": "kl.outcome.capture/1", "dry_run": False, "id": identifier, "put_aside": True}, [identifier]
    )


def _read_task_file(path: str) -> dict[str, Any]:
    data = read_small(Path(path))
    if data is None:
        raise UsageProblem("there is no such file.", place=path)
    return read_task_file(path, data)


def _print_dry_run(values: Any, shape: str) -> None:
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    rows = (f"{name:<20} {'; '.join(v) if isinstance(v, list) else v}" for name, v in plain.items())
    print_answer(shape, {"schema": "kl.outcome.capture/1", "dry_run": True, "fields": plain}, rows)


@click.command(epilog='Example: kl outcome similar "sign-in with a second factor"')
@click.argument("requirements", nargs=-1, required=True, metavar="TEXT")
@top_option(5, 1000)
@format_option()
def similar(requirements: tuple[str, ...], limit: int, shape: str) -> None:
    """Outcomes of tasks whose requirements share words with TEXT, the nearest first: what worked, what was learned."""
    ws = workspace()
    record_queued(ws)
    all_ = search_records(ws, list(requirements), RecordFilter(("outcome",)), NO_LIMIT)
    rows = [record_to_dict(ws, one) for one in all_[:limit]]
    none = "no outcome shares a word with it. Record one at the end of a task: kl outcome capture"
    plain = {"schema": "kl.outcome.similar/1", "outcomes": rows, "total": len(all_)}
    print_list(shape, plain, map(_similar_text, all_[:limit]), len(all_), none)


def _similar_text(one: Record) -> str:
    """How a task ended, its approach, problems and lessons, a line each."""
    ended = "succeeded" if one.values.get("success") else one.text("outcome_type").replace("_", " ")
    lines = [f"{one.id}  {ended}  {one_line(one.title, 120)}"]
    parts = [("approach", one.text("approach_used"))] if one.text("approach_used") else []
    parts += [("problem", text) for text in one.many("problems_encountered")[:3]]
    parts += [("lesson", text) for text in one.many("lessons_learned")[:3]]
    return "\n".join(lines + [f"    {name:<8}  {one_line(text, 160)}" for name, text in parts])


def read_task_file(path: str, data: bytes) -> dict[str, Any]:
    """Return the raw fields of an outcome that a task's Markdown file states. Problems where it can't be read."""
    try:
        lines = split_lines(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise Problems([Problem(path, line, 0, "this line is not UTF-8.", "Save the file as UTF-8.")]) from None
    raw: dict[str, Any] = {}
    if lines and lines[0].rstrip() == "---":
        front, problems = read_front_matter(path, lines)
        if front is None:
            raise Problems(problems)
        raw, lines = _fields_of_keys(front.raw), lines[front.end + 1 :]
    raw = fields_by_heading(lines, _TEXTS, _LISTS) | raw
    if "title" not in raw and (title := leading_title(lines)):
        raw["title"] = title
    return raw


def _fields_of_keys(keys: Mapping[str, Any]) -> dict[str, Any]:
    raw: dict[str, Any] = {}
    for key, value in keys.items():
        name = _KEYS.get(key.strip().lower())
        if name and value not in (None, "", "null", [], {}):
            raw.setdefault(name, value)
    status = str(keys.get("status") or "").strip().lower().replace("-", "_").replace(" ", "_")
    if status in _OUTCOMES:
        raw["outcome_type"], raw["success"] = _OUTCOMES[status]
    return raw
