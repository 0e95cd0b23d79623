"""Outcomes of tasks: recorded, queued while the store cannot be written, or read from a task's own file."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import EnvironmentProblem, KlError
from kl_hooks.kinds.catalog import OUTCOME
from kl_hooks.model.problem import Problem, Problems
from kl_hooks.records.front_matter import read_front_matter
from kl_hooks.records.markdown import leading_title, list_items, section_text, split_lines, split_sections
from kl_hooks.records.write import create_record, redact_values, validate_or_raise
from kl_hooks.store.files import read_small, write_atomic
from kl_hooks.store.state import spool_directories

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


_FOLDER: Final = "outcomes"
_NAME: Final = re.compile(r"OUT-[0-9a-f]{8}\.json")


def record_outcome(ws: Workspace, raw: Mapping[str, Any], by: str = "") -> tuple[str, str]:
    """(the id, why it was put aside: empty where it was recorded). Problems for values that do not fit.

    EnvironmentProblem only where it can't be put aside either.
    """
    validate_or_raise(OUTCOME, redact_values(raw), "kl outcome capture")
    identifier = f"{OUTCOME.prefix}-{secrets.token_hex(4)}"
    try:
        create_record(ws, OUTCOME, raw, asked=identifier, by=by)
    except EnvironmentProblem as problem:
        _queue(ws, identifier, {"raw": redact_values(raw), "by": by, "at": ws.clock.now()}, problem)
        return identifier, str(problem)
    return identifier, ""


def record_queued(ws: Workspace) -> list[str]:
    """Records what was put aside, now that the store can be written; the ids. What can't be taken in stays."""
    taken: list[str] = []
    for path in list(_queued(ws)):
        try:
            found = json.loads(read_small(path) or b"")
            create_record(ws, OUTCOME, found["raw"], asked=path.stem, by=str(found.get("by", "")))
        except EnvironmentProblem:
            return taken  # not yet
        except (KlError, ValueError, KeyError, TypeError) as problem:
            if "is there already" not in str(problem):
                continue
        path.unlink(missing_ok=True)
        taken.append(path.stem)
    return taken


def _places(ws: Workspace) -> list[Path]:
    """Beside the places of spools, outside of the work tree: what lies in it may have come by cloning."""
    found = [place.parent / _FOLDER for place, word in spool_directories(ws.state, ws.root, ws.environ)]
    return [place for place in found if not place.is_relative_to(ws.root / ".kl")]


def _queued(ws: Workspace) -> Iterator[Path]:
    for place in _places(ws):
        try:
            yield from sorted(path for path in place.iterdir() if _NAME.fullmatch(path.name) and not path.is_symlink())
        except OSError:
            continue


def _queue(ws: Workspace, identifier: str, plain: Mapping[str, Any], problem: EnvironmentProblem) -> None:
    data = json.dumps(plain, ensure_ascii=True).encode()
    for place in _places(ws):
        try:
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomic(place / f"{identifier}.json", data, mode=0o600)
            return
        except OSError:
            continue
    raise problem


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
_ENDED: Final[Mapping[str, tuple[str, bool]]] = {
    "completed": ("task_completed", True), "complete": ("task_completed", True), "done": ("task_completed", True),
    "blocked": ("task_blocked", False), "cancelled": ("task_cancelled", False), "canceled": ("task_cancelled", False),
    "failed": ("task_failed", False), "in_review": ("phase_completed", True),
}  # fmt: skip
"""Status of a task → how it ended, and whether it succeeded."""


def read_task_file(path: str, data: bytes) -> dict[str, Any]:
    """Raw fields of an outcome; what the file does not say is left out. Raises Problems where it can't be read."""
    try:
        lines = split_lines(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise Problems([Problem(path, line, 0, "this line is not UTF-8.", "Save the file as UTF-8.")]) from None
    raw: dict[str, Any] = {}
    body: Sequence[str] = lines
    if lines and lines[0].rstrip() == "---":
        front, problems = read_front_matter(path, lines)
        if front is None:
            raise Problems(problems)
        raw, body = _front(front.raw), lines[front.end + 1 :]
    for name, value in _sections(body).items():
        raw.setdefault(name, value)
    if "title" not in raw and leading_title(body):
        raw["title"] = leading_title(body)
    return raw


def _front(said: Mapping[str, Any]) -> dict[str, Any]:
    raw: dict[str, Any] = {}
    for key, value in said.items():
        name = _KEYS.get(key.strip().lower())
        if name and value not in (None, "", "null", [], {}):
            raw.setdefault(name, value)
    status = str(said.get("status") or "").strip().lower().replace("-", "_").replace(" ", "_")
    if status in _ENDED:
        raw["outcome_type"], raw["success"] = _ENDED[status]
    return raw


def _sections(body: Sequence[str]) -> dict[str, Any]:
    """Field → what stands under its headings, several of them joined in their order."""
    found: dict[str, Any] = {}
    for section in split_sections(body)[1:]:
        heading, text = section.heading.strip().lower().rstrip(":"), section_text(body, section)
        if not text:
            continue
        if heading in _LISTS:
            found[_LISTS[heading]] = [*found.get(_LISTS[heading], []), *list_items(text)]
        elif heading in _TEXTS:
            name = _TEXTS[heading]
            found[name] = f"{found[name]}\n\n{text}" if name in found else text
    return found
