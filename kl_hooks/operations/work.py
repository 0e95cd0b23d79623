"""Operations of work: turns and what the next one starts from, objectives and how far they are,
what a role must do.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.clock import iso
from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.provenance import session
from kl_hooks.kinds.catalog import OBJECTIVE, ROLE, TURN
from kl_hooks.kinds.gate import find_role
from kl_hooks.kinds.objective import (
    Progress,
    add_turn,
    is_rejected,
    last_turns,
    link_task,
    next_number,
    reported_progress,
)
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import Parameter
from kl_hooks.model.record import Record
from kl_hooks.model.text import suggest_spelling
from kl_hooks.operations.operation import Operation
from kl_hooks.operations.record_changes import CreateRequest, create, written, written_to_dict
from kl_hooks.operations.written import Written
from kl_hooks.records.permissions import sign_record
from kl_hooks.records.query import RecordFilter, get_record, list_records, record_now
from kl_hooks.records.sync import sync_notes
from kl_hooks.workspace import require_initialized

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.workspace import Workspace


_AMOUNT: Final = (0, 1_000_000)
_PERCENT: Final = (0, 100)


class TurnRequest(NamedTuple):
    """What a turn achieved."""

    feature_id: Annotated[
        str,
        Parameter("The feature it worked on.", name="feature", metavar="ID", is_option=True),
    ]
    task_id: Annotated[str, Parameter("The task it worked on.", name="task")] = ""
    player_summary: Annotated[str, Parameter("What was done.", name="summary")] = ""
    player_decision: Annotated[
        str,
        Parameter("What the player ended with: implemented, blocked …", name="decision"),
    ] = ""
    coach_decision: Annotated[
        str,
        Parameter(
            "The result of the review.",
            name="review",
            choices=("approved", "rejected", "pending"),
        ),
    ] = ""
    coach_feedback: Annotated[str, Parameter("What the review asks for.", name="feedback")] = ""
    mode: Annotated[str, Parameter("How it was worked: fresh_start, continuing_work, tdd …")] = ""
    blockers_found: Annotated[
        tuple[str, ...], Parameter("An obstacle. May be repeated.", name="blocker")
    ] = ()
    criteria: Annotated[
        tuple[str, ...],
        Parameter(
            "An acceptance criterion. May be repeated.", name="criterion", metavar="TEXT=STATE"
        ),
    ] = ()
    files_modified: Annotated[
        tuple[str, ...],
        Parameter("A file it changed. May be repeated.", name="file", metavar="PATH"),
    ] = ()
    tests_passed: Annotated[
        int | None,
        Parameter("Tests that passed at its end.", bounds=_AMOUNT, aliases=("passed",)),
    ] = None
    tests_failed: Annotated[
        int | None,
        Parameter("Tests that failed at its end.", bounds=_AMOUNT, aliases=("failed",)),
    ] = None
    coverage: Annotated[int | None, Parameter("Coverage at its end, percent.", bounds=_PERCENT)] = (
        None
    )
    arch_score: Annotated[
        int | None, Parameter("Score of the architecture review.", bounds=_PERCENT)
    ] = None
    lessons_from_turn: Annotated[str, Parameter("What was learned.", name="lessons")] = ""
    what_to_try_next: Annotated[
        str, Parameter("Where the next round should start.", name="next")
    ] = ""
    progress_summary: Annotated[str, Parameter("How far the task is.", name="progress")] = ""
    started_at: Annotated[
        str, Parameter("When it was begun.", name="started", metavar="MOMENT")
    ] = ""
    duration_seconds: Annotated[
        int | None, Parameter("How long it took.", name="seconds", bounds=_AMOUNT)
    ] = None


def _add_turn(ws: Workspace, request: TurnRequest, access: Access) -> Written:
    require_initialized(ws)
    values = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in request._asdict().items()
        if value not in ("", None, ())
    }
    for name in ("feature_id", "task_id", "criteria"):
        values.pop(name, None)
    if request.criteria:
        values["acceptance_criteria_status"] = _states_of(request.criteria)
    author = sign_record(ws, values)
    turn = add_turn(ws, request.feature_id, request.task_id, values, author)
    return written(ws, turn, access)


def _states_of(criteria: Sequence[str]) -> dict[str, str]:
    """Return criterion → its state. UsageProblem for a text without one."""
    # from the right: a criterion may have `=` in it (`total = 0`), a state does not
    pairs = [criterion.rpartition("=") for criterion in criteria]
    if any(not sign or not name.strip() for name, sign, _ in pairs):
        raise UsageProblem("write TEXT=STATE.", place="--criterion")
    return {name.strip(): state.strip() for name, _, state in pairs}


ADD_TURN: Final = Operation(
    "turn add",
    "Record a turn. It gets the next number of its feature and task.",
    TurnRequest,
    _add_turn,
    partial(written_to_dict, TURN),
    "kl.record/1",
    'kl turn add --feature FEAT-AUTH-12 --task T-3 --summary "Sign-in works" --review approved',
    is_tool=False,
    writes=True,
)


class ContinueRequest(NamedTuple):
    """Which turns."""

    feature: Annotated[str, Parameter("The feature.", metavar="ID")] = ""
    task: Annotated[str, Parameter("The task.")] = ""


class Turns(NamedTuple):
    """The last turns of a feature and task."""

    turns: tuple[Record, ...]
    """The oldest first."""
    next_number: int
    now: str


def _continue(ws: Workspace, request: ContinueRequest, access: Access) -> Turns:
    if not request.feature:
        raise UsageProblem("is missing.", place="--feature", hint="Such as: FEAT-AUTH-12")
    # the next number follows from the turns that are shown alone
    turns = access.shown(list_records(ws, RecordFilter((TURN.name,))))
    last = last_turns(turns, request.feature, request.task)
    number = next_number(turns, request.feature, request.task)
    return Turns(tuple(last), number, iso(ws.clock.now()))


def _turns_to_dict(turns: Turns) -> dict[str, Any]:
    last = turns.turns[-1] if turns.turns else None
    return {
        "turns": [record_now(TURN, turn, turns.now) for turn in turns.turns],
        "must_address": last.text("coach_feedback") if last and is_rejected(last) else None,
        "next": turns.next_number,
    }


CONTINUE: Final = Operation(
    "turn continue",
    """The last five turns of a feature and task, the oldest first; what a rejected one asks for as
    MUST ADDRESS.
    """,
    ContinueRequest,
    _continue,
    _turns_to_dict,
    "kl.turn.continue/1",
    "kl turn continue --feature FEAT-AUTH-12 --task T-3",
    is_tool=False,
)


class NewObjectiveRequest(NamedTuple):
    """An objective."""

    title: Annotated[str, Parameter("", argument="[TITLE]")] = ""
    title_option: Annotated[
        str, Parameter("What it is, in one line; or give it as TITLE.", name="title")
    ] = ""
    tasks: Annotated[str, Parameter("The tasks that remain, separated by commas.")] = ""
    remaining: Annotated[
        tuple[str, ...],
        Parameter("One task that remains, verbatim. May be repeated.", name="task"),
    ] = ()
    description: Annotated[str, Parameter("Why it matters, and when it is reached.")] = ""
    about: Annotated[
        tuple[str, ...],
        Parameter("The files and symbols it is about. May be repeated.", metavar="PATH_OR_ID"),
    ] = ()
    tags: Annotated[
        tuple[str, ...], Parameter("Short words to find it by. May be repeated.", name="tag")
    ] = ()
    is_by_agent: Annotated[bool, Parameter("An agent makes it.", name="agent")] = False


_CREATE: Final = create(OBJECTIVE)


def _new_objective(ws: Workspace, request: NewObjectiveRequest, access: Access) -> Written:
    tasks = filter(None, map(str.strip, request.tasks.split(",")))
    asked = CreateRequest.of(
        by_agent=request.is_by_agent,
        title=request.title or request.title_option,
        remaining=(*tasks, *request.remaining),
        description=request.description or None,
        about=request.about,
        tags=request.tags,
    )
    change: Written = _CREATE.run(ws, asked, access)
    return change


NEW_OBJECTIVE: Final = Operation(
    "objective new",
    "Make an objective: what is being worked towards, and the tasks that remain.",
    NewObjectiveRequest,
    _new_objective,
    _CREATE.to_dict,
    _CREATE.schema,
    'kl objective create --title "A parser" --tasks "Lexer,Grammar"',
    is_tool=False,
    writes=True,
)


class StatusRequest(NamedTuple):
    """Which objective; else all that are active."""

    id: Annotated[str, Parameter("Its ID.", argument="[ID]")] = ""


class ObjectiveState(NamedTuple):
    """How far an objective is."""

    record: Record
    progress: Progress


class Objectives(NamedTuple):
    """How far objectives are."""

    objectives: tuple[ObjectiveState, ...]
    notes: tuple[str, ...]


def _status(ws: Workspace, request: StatusRequest, access: Access) -> Objectives:
    if request.id:
        records = [access.record(get_record(ws, request.id, OBJECTIVE.name))]
    else:
        records = list_records(ws, RecordFilter((OBJECTIVE.name,), ("active",)))
    progress = reported_progress(ws, records)
    states = (ObjectiveState(record, progress[record.id]) for record in records)
    return Objectives(tuple(states), sync_notes(ws))


def _objectives_to_dict(objectives: Objectives) -> dict[str, Any]:
    rows = [
        {
            "id": record.id,
            "title": record.title,
            "status": record.status,
            **_progress_to_dict(progress),
            "agents": dict(progress.agents),
        }
        for record, progress in objectives.objectives
    ]
    return {"objectives": rows}


def _progress_to_dict(progress: Progress) -> dict[str, Any]:
    lists = {"completed": list(progress.completed), "remaining": list(progress.remaining)}
    return {"percent": progress.percent, **lists}


STATUS: Final = Operation(
    "objective status",
    """How far an objective is; without an ID all that are active. At most five remaining tasks are
    shown.
    """,
    StatusRequest,
    _status,
    _objectives_to_dict,
    "kl.objective.status/1",
    "kl objective status OBJ-0001",
    is_tool=False,
)


class LinkRequest(NamedTuple):
    """Which task of which objective."""

    id: Annotated[str, Parameter("Such as OBJ-0001.", argument="ID")]
    task: Annotated[str, Parameter("The task, in its words.", argument="TASK")]
    done: Annotated[bool, Parameter("It is done.", aliases=("completed",))] = False
    session: Annotated[
        str,
        Parameter(
            "The session; else KL_SESSION.",
            metavar="NAME",
            aliases=("session_id",),
        ),
    ] = ""
    author: str = ""


class Linked(NamedTuple):
    """An objective that a task was linked with."""

    id: str
    """Shown to whoever linked it, also where the rest is hidden from him."""
    states: tuple[ObjectiveState, ...]
    """The objective; none where it is hidden."""
    now: str


def _link(ws: Workspace, request: LinkRequest, _access: Access) -> Linked:
    require_initialized(ws)
    name = request.session.strip() or ("" if request.author else session(ws.environ) or "")
    record = link_task(
        ws, request.id, request.task, done=request.done, session=name, author=request.author
    )
    state = ObjectiveState(record, reported_progress(ws, [record])[record.id])
    return Linked(record.id, (state,), iso(ws.clock.now()))


def _linked_to_dict(linked: Linked) -> dict[str, Any]:
    if not linked.states:
        return {"id": linked.id}
    record, progress = linked.states[0]
    return record_now(OBJECTIVE, record, linked.now) | _progress_to_dict(progress)


LINK: Final = Operation(
    "objective link",
    """Put TASK on the list of what remains, or of what is done.

    It leaves the other list; the session that did it (KL_SESSION) is noted.
    """,
    LinkRequest,
    _link,
    _linked_to_dict,
    "kl.record/1",
    'kl objective link OBJ-0001 "Write the lexer" --done',
    tool="objective_link_task",
    writes=True,
)


class RoleRequest(NamedTuple):
    """Which role, where."""

    name: Annotated[str, Parameter("Its name or ID.", argument="NAME|ID")]
    context: Annotated[
        str, Parameter("Where it is to hold; the role of this context goes first.")
    ] = ""


class ShownRole(NamedTuple):
    """A role."""

    record: Record
    now: str
    notes: tuple[str, ...]


def _role(ws: Workspace, request: RoleRequest, access: Access) -> ShownRole:
    name = request.name
    # what a hidden one is called decides nothing
    roles = access.shown(list_records(ws, RecordFilter((ROLE.name,))))
    record = find_role(roles, name, request.context)
    if record is None and name.upper().startswith(f"{ROLE.prefix}-"):
        record = get_record(ws, name, ROLE.name)
    if record is None:
        role_names = sorted({role.text("role") for role in roles if role.status == "active"})
        hint = suggest_spelling(name, role_names) or "Take those that kl brings: kl seed --system"
        if role_names and not suggest_spelling(name, role_names):
            hint = f"Roles: {', '.join(role_names)}."
        raise UsageProblem("there is no active role of this name.", place=name, hint=hint)
    return ShownRole(record, iso(ws.clock.now()), sync_notes(ws))


ROLE_SHOW: Final = Operation(
    "role show",
    "What an actor in this role must do, must not do, and asks about first.",
    RoleRequest,
    _role,
    lambda shown: record_now(ROLE, shown.record, shown.now),
    "kl.record/1",
    "kl role show player --context feature-build",
    is_tool=False,
)

OPERATIONS: Final = (ADD_TURN, CONTINUE, NEW_OBJECTIVE, STATUS, LINK, ROLE_SHOW)
