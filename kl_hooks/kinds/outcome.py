"""Outcomes of tasks: recorded, queued while the store cannot be written, or read from a task's own file."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import EnvironmentProblem, KlError
from kl_hooks.kinds.catalog import OUTCOME
from kl_hooks.model.problem import Problem, Problems
from kl_hooks.records.document import fields_by_heading, leading_title, read_front_matter, split_lines
from kl_hooks.records.repository import IdTaken
from kl_hooks.records.write import create_record, redact_values, validate_or_raise
from kl_hooks.store.files import read_small, write_atomic
from kl_hooks.store.state import spool_directories

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace

_FOLDER: Final = "outcomes"
_NAME: Final = re.compile(r"OUT-[0-9a-f]{8}\.json")


def record_outcome(ws: Workspace, raw: Mapping[str, Any], by: str = "") -> tuple[str, str]:
    """Record an outcome; return (its ID, why it was queued: empty where it was recorded).

    Problems for invalid values; EnvironmentProblem only where it can't be queued either.
    """
    values = redact_values(raw)
    validate_or_raise(OUTCOME, values, "kl outcome capture")
    identifier = f"{OUTCOME.prefix}-{secrets.token_hex(4)}"
    try:
        create_record(ws, OUTCOME, raw, asked=identifier, by=by)
    except EnvironmentProblem as problem:
        # ASCII: JSON has an escape for lone surrogates (undecodable bytes of an argument, PEP 383), UTF-8 has none
        data = json.dumps({"raw": values, "by": by, "at": ws.clock.now()}, ensure_ascii=True).encode()
        for folder in _queue_folders(ws):
            with suppress(OSError):
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                # 0600: what was tried may quote source that others must not read
                write_atomic(folder / f"{identifier}.json", data, mode=0o600)
                return identifier, str(problem)
        raise
    return identifier, ""


def record_queued(ws: Workspace) -> list[str]:
    """Record what was queued, now that the store can be written; return the IDs. Invalid files stay where they are."""
    recorded: list[str] = []
    for path in list(_queued(ws)):
        try:
            queued = json.loads(read_small(path) or b"")
            with suppress(IdTaken):  # recorded by another process, or before a kill
                create_record(ws, OUTCOME, queued["raw"], asked=path.stem, by=str(queued.get("by", "")))
        except EnvironmentProblem:
            return recorded  # the store is still not writable
        except (KlError, ValueError, KeyError, TypeError):
            continue
        # missing_ok: another process may have recorded it and removed the file
        path.unlink(missing_ok=True)
        recorded.append(path.stem)
    return recorded


def _queue_folders(ws: Workspace) -> list[Path]:
    """Next to the spools, outside of the working tree, whose files can be part of a clone."""
    folders = [place.parent / _FOLDER for place, _ in spool_directories(ws.state, ws.root, ws.environ)]
    return [folder for folder in folders if not folder.is_relative_to(ws.root / ".kl")]


def _queued(ws: Workspace) -> Iterator[Path]:
    for folder in _queue_folders(ws):
        with suppress(OSError):
            yield from sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name) and not path.is_symlink())


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
