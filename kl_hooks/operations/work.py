"""Operations of work: what the next turn starts from, how far objectives are, how tasks like one ended,
what a role must do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

from kl_hooks.clock import iso
from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.provenance import session
from kl_hooks.kinds.catalog import OBJECTIVE, OUTCOME, ROLE, TURN
from kl_hooks.kinds.gate import find_role
from kl_hooks.kinds.objective import (
    Progress,
    is_rejected,
    last_turns,
    link_task,
    next_number,
    reported_progress,
)
from kl_hooks.model.parameter import Parameter
from kl_hooks.model.record import Record
from kl_hooks.model.text import suggest_spelling
from kl_hooks.operations.operation import TOP, Listing, Operation
from kl_hooks.records.query import (
    NO_LIMIT,
    RecordFilter,
    get_record,
    list_records,
    record_now,
    search_records,
)
from kl_hooks.records.sync import sync_notes
from kl_hooks.workspace import require_initialized

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.workspace import Workspace


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

OPERATIONS: Final = (CONTINUE, STATUS, LINK, SIMILAR, ROLE_SHOW)
