"""Reads what a task's own Markdown file says of how it ended: front matter, and sections by their headings. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kl_hooks.config.problems import Problems
from kl_hooks.model.problem import Problem
from kl_hooks.records.front import read_front
from kl_hooks.records.sections import content, items, lines_of, sections, title_of

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
ENDED: Final[Mapping[str, tuple[str, bool]]] = {
    "completed": ("task_completed", True), "complete": ("task_completed", True), "done": ("task_completed", True),
    "blocked": ("task_blocked", False), "cancelled": ("task_cancelled", False), "canceled": ("task_cancelled", False),
    "failed": ("task_failed", False), "in_review": ("phase_completed", True),
}  # fmt: skip
"""Status of a task → how it ended, and whether it succeeded."""


def read_task_file(path: str, data: bytes) -> dict[str, Any]:
    """Raw fields of an outcome; what the file does not say is left out. Raises Problems where it can't be read."""
    try:
        lines = lines_of(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise Problems([Problem(path, line, 0, "this line is not UTF-8.", "Save the file as UTF-8.")]) from None
    raw: dict[str, Any] = {}
    body: Sequence[str] = lines
    if lines and lines[0].rstrip() == "---":
        front, problems = read_front(path, lines)
        if front is None:
            raise Problems(problems)
        raw, body = _front(front.raw), lines[front.end + 1 :]
    for name, value in _sections(body).items():
        raw.setdefault(name, value)
    if "title" not in raw and title_of(body):
        raw["title"] = title_of(body)
    return raw


def _front(said: Mapping[str, Any]) -> dict[str, Any]:
    raw: dict[str, Any] = {}
    for key, value in said.items():
        name = _KEYS.get(key.strip().lower())
        if name and value not in (None, "", "null", [], {}):
            raw.setdefault(name, value)
    status = str(said.get("status") or "").strip().lower().replace("-", "_").replace(" ", "_")
    if status in ENDED:
        raw["outcome_type"], raw["success"] = ENDED[status]
    return raw


def _sections(body: Sequence[str]) -> dict[str, Any]:
    """Field → what stands under its headings, several of them joined in their order."""
    found: dict[str, Any] = {}
    for section in sections(body)[1:]:
        heading, text = section.heading.strip().lower().rstrip(":"), content(body, section)
        if not text:
            continue
        if heading in _LISTS:
            found[_LISTS[heading]] = [*found.get(_LISTS[heading], []), *items(text)]
        elif heading in _TEXTS:
            name = _TEXTS[heading]
            found[name] = f"{found[name]}\n\n{text}" if name in found else text
    return found
