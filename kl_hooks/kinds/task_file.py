"""A task's own Markdown file, read as an outcome."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kl_hooks.model.problem import Problem, Problems
from kl_hooks.records.document import (
    fields_by_heading,
    leading_title,
    read_front_matter,
    split_lines,
)

_KEYS: Final[Mapping[str, str]] = {
    "id": "task_id",
    "task_id": "task_id",
    "title": "title",
    "feature_id": "feature_id",
    "feature": "feature_id",
    "started": "started_at",
    "started_at": "started_at",
    "completed": "completed_at",
    "completed_at": "completed_at",
    "coverage": "test_coverage",
    "test_coverage": "test_coverage",
    "review_cycles": "review_cycles",
    "duration_minutes": "duration_minutes",
}
_TEXTS: Final[Mapping[str, str]] = {
    "requirements": "task_requirements",
    "description": "task_requirements",
    "task": "task_requirements",
    "overview": "task_requirements",
    "acceptance criteria": "task_requirements",
    "summary": "summary",
    "implementation summary": "summary",
    "outcome": "summary",
    "result": "summary",
    "approach": "approach_used",
    "implementation": "approach_used",
    "implementation notes": "approach_used",
}
_LISTS: Final[Mapping[str, str]] = {
    "problems": "problems_encountered",
    "problems encountered": "problems_encountered",
    "issues": "problems_encountered",
    "lessons": "lessons_learned",
    "lessons learned": "lessons_learned",
    "patterns": "patterns_used",
    "patterns used": "patterns_used",
}
_OUTCOMES: Final[Mapping[str, tuple[str, bool]]] = {
    "completed": ("task_completed", True),
    "complete": ("task_completed", True),
    "done": ("task_completed", True),
    "blocked": ("task_blocked", False),
    "cancelled": ("task_cancelled", False),
    "canceled": ("task_cancelled", False),
    "failed": ("task_failed", False),
    "in_review": ("phase_completed", True),
}
"""Status of a task → how it ended, and whether it succeeded."""


def read_task_file(path: str, data: bytes) -> dict[str, Any]:
    """Return the raw fields of an outcome that a task's Markdown file states. Problems where it
    can't be read.
    """
    try:
        lines = split_lines(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise Problems(
            [Problem(path, line, 0, "this line is not UTF-8.", "Save the file as UTF-8.")]
        ) from None
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
