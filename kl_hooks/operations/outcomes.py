"""Operations of outcomes: record how a task ended, find how tasks like one ended."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.clock import iso
from kl_hooks.errors import UsageProblem
from kl_hooks.kinds.catalog import OUTCOME
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import InputFile, Parameter
from kl_hooks.operations.operation import TOP, Listing, Operation
from kl_hooks.operations.record_changes import written, written_to_dict
from kl_hooks.operations.written import Written
from kl_hooks.records.query import NO_LIMIT, RecordFilter, get_record, record_now, search_records
from kl_hooks.workspace import require_initialized

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.workspace import Workspace

_COMMAND: Final = "kl outcome capture"
_SUCCESSFUL: Final = ("", "task_completed", "review_passed")
"""Types of outcomes that are a success where nothing else is stated."""


class CaptureRequest(NamedTuple):
    """How a task ended."""

    title: Annotated[str, Parameter("", argument="[TITLE]")] = ""
    title_option: Annotated[
        str, Parameter("What the task was, in one line; or give it as TITLE.", name="title")
    ] = ""
    outcome_type: Annotated[
        str,
        Parameter(
            "How it ended: task_completed, task_failed, task_blocked, review_passed …", name="type"
        ),
    ] = ""
    result: Annotated[
        str,
        Parameter(
            "Whether it reached its goal.",
            choices=("success", "failure"),
            flags=("It reached its goal.", "It did not reach its goal."),
        ),
    ] = ""
    task_id: Annotated[
        str, Parameter("The task that ended.", name="task", metavar="ID", aliases=("task_id",))
    ] = ""
    task_requirements: Annotated[
        str,
        Parameter("What was asked for; similar tasks are found by it.", name="requirements"),
    ] = ""
    summary: Annotated[str, Parameter("What was done, in a few sentences.")] = ""
    approach_used: Annotated[str, Parameter("How it was done.", name="approach")] = ""
    patterns_used: Annotated[
        tuple[str, ...],
        Parameter("A pattern that was applied. May be repeated.", name="pattern"),
    ] = ()
    problems_encountered: Annotated[
        tuple[str, ...], Parameter("A problem on the way. May be repeated.", name="problem")
    ] = ()
    lessons_learned: Annotated[
        tuple[str, ...],
        Parameter("What to do otherwise next time. May be repeated.", name="lesson"),
    ] = ()
    has_tests: Annotated[
        str,
        Parameter(
            "Whether tests were written for it.",
            choices=("tests-written", "no-tests-written"),
            flags=("Tests were written for it.", "No tests were written for it."),
        ),
    ] = ""
    test_coverage: Annotated[
        int | None,
        Parameter("Coverage of what it changed, percent.", name="coverage", bounds=(0, 100)),
    ] = None
    review_cycles: Annotated[int | None, Parameter("Rounds of review.", bounds=(0, 1000))] = None
    started_at: Annotated[
        str, Parameter("When it was begun (ISO 8601).", name="started", metavar="MOMENT")
    ] = ""
    completed_at: Annotated[
        str, Parameter("When it ended.", name="completed", metavar="MOMENT")
    ] = ""
    duration_minutes: Annotated[
        int | None, Parameter("How long it took.", name="minutes", bounds=(0, 1_000_000))
    ] = None
    feature_id: Annotated[
        str, Parameter("The feature it belongs to.", name="feature", metavar="ID")
    ] = ""
    related_adr_ids: Annotated[
        tuple[str, ...],
        Parameter("A decision it followed or met. May be repeated.", name="decision", metavar="ID"),
    ] = ()
    file: Annotated[
        InputFile,
        Parameter(
            "Take what is not given from this file.",
            name="from_task_file",
            metavar="FILE",
            is_personal=True,
        ),
    ] = InputFile("")
    is_dry_run: Annotated[
        bool, Parameter("Show what would be recorded; record nothing.", name="dry_run")
    ] = False
    is_strict: Annotated[
        bool,
        Parameter("Refuse an outcome without requirements, summary and approach.", name="strict"),
    ] = False


_NO_FIELDS: Final = (
    *("title_option", "result", "has_tests"),
    *("file", "is_dry_run", "is_strict"),
)
"""Of the request: what is no field of an outcome under that name."""


class Captured(NamedTuple):
    """An outcome that was recorded, put aside, or would be recorded."""

    id: str
    """Empty: nothing was recorded."""
    recorded: tuple[Written, ...]
    """The outcome; none where it was put aside."""
    fields: Mapping[str, Any]
    """What would be recorded."""
    notes: tuple[str, ...] = ()


def _capture(ws: Workspace, request: CaptureRequest, access: Access) -> Captured:
    from kl_hooks.kinds.task import record_outcome, record_queued
    from kl_hooks.records.permissions import sign_record
    from kl_hooks.records.write import validate_or_raise

    require_initialized(ws)
    raw = _with_success(_from_file(request.file) | _fields(request))
    missing = [
        name for name in ("task_requirements", "summary", "approach_used") if not raw.get(name)
    ]
    if request.is_strict and missing:
        raise UsageProblem(f"--strict: {', '.join(missing)} missing.", place=_COMMAND)
    author = sign_record(ws, raw)
    if request.is_dry_run:
        return Captured("", (), validate_or_raise(OUTCOME, raw, _COMMAND))
    identifier, obstacle = record_outcome(ws, raw, author)
    if obstacle:
        note = f"{obstacle} It is put aside, and recorded with the next outcome."
        return Captured(identifier, (), {}, (note,))
    record_queued(ws)
    outcome = written(ws, get_record(ws, identifier, OUTCOME.name), access)
    return Captured(identifier, (outcome,), {})


def _from_file(file: str) -> dict[str, Any]:
    """Return the fields that a task's file states; none where there is no file to read."""
    from kl_hooks.kinds.task_file import read_task_file
    from kl_hooks.store.files import read_small

    if not file:
        return {}
    content = read_small(Path(file))
    if content is None:
        raise UsageProblem("there is no such file.", place=file)
    return read_task_file(file, content)


def _fields(request: CaptureRequest) -> dict[str, Any]:
    """Return the fields of an outcome that were given."""
    values = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in request._asdict().items()
        if name not in _NO_FIELDS and value not in ("", None, ())
    }
    if title := request.title or request.title_option:
        values["title"] = title
    if request.result:
        values["success"] = request.result == "success"
    if request.has_tests:
        values["tests_written"] = request.has_tests == "tests-written"
    return values


def _with_success(values: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an outcome with how it ended, where one of the two fields states
    that.
    """
    if "success" not in values and values.get("outcome_type", "") in _SUCCESSFUL:
        values["success"] = True
    if "outcome_type" not in values:
        failed = values.get("success") is False
        values["outcome_type"] = "task_failed" if failed else "task_completed"
    return values


def _captured_to_dict(captured: Captured) -> dict[str, Any]:
    if captured.recorded:
        return written_to_dict(OUTCOME, captured.recorded[0])
    if captured.id:
        return {"dry_run": False, "id": captured.id, "put_aside": True}
    fields = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in captured.fields.items()
    }
    return {"dry_run": True, "fields": fields}


CAPTURE: Final = Operation(
    "outcome capture",
    "Record how a task ended. The next task like it starts from there: kl outcome similar.",
    CaptureRequest,
    _capture,
    _captured_to_dict,
    "kl.outcome.capture/1",
    'kl outcome capture "Sign-in" --success --approach "OAuth" --lesson "Pin the clock in tests"',
    is_tool=False,
    writes=True,
)


class SimilarRequest(NamedTuple):
    """Outcomes like what."""

    requirements: Annotated[str, Parameter("What was asked for.", argument="TEXT...")]
    limit: Annotated[int, TOP._replace(bounds=(1, 1000))] = 5


class Outcomes(NamedTuple):
    """Outcomes of tasks, the nearest first."""

    outcomes: Listing
    now: str


def _similar(ws: Workspace, request: SimilarRequest, _access: Access) -> Outcomes:
    from kl_hooks.kinds.task import record_queued

    record_queued(ws)
    records = search_records(
        ws, request.requirements.split(), RecordFilter((OUTCOME.name,)), NO_LIMIT
    )
    return Outcomes(Listing(tuple(records), request.limit), iso(ws.clock.now()))


def _outcomes_to_dict(outcomes: Outcomes) -> dict[str, Any]:
    rows = [record_now(OUTCOME, record, outcomes.now) for record in outcomes.outcomes.shown]
    return {"outcomes": rows, "total": outcomes.outcomes.total}


SIMILAR: Final = Operation(
    "outcome similar",
    """Outcomes of tasks whose requirements share words with TEXT, the nearest first: what worked,
    what was learned.
    """,
    SimilarRequest,
    _similar,
    _outcomes_to_dict,
    "kl.outcome.similar/1",
    'kl outcome similar "sign-in with a second factor"',
    is_tool=False,
)

OPERATIONS: Final = (CAPTURE, SIMILAR)
