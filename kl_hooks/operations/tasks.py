"""Operations of tasks: their order, what can be begun, and that one is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.provenance import agent, session
from kl_hooks.kinds.catalog import TASK
from kl_hooks.kinds.task import (
    Completed,
    Plan,
    Work,
    Works,
    complete_task,
    record_fulfilled,
    valid_tokens,
)
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import InputFile, Parameter
from kl_hooks.model.problem import Problem, Problems
from kl_hooks.operations.operation import Operation
from kl_hooks.operations.record_changes import CreateRequest, create
from kl_hooks.operations.written import Written
from kl_hooks.records.query import get_record
from kl_hooks.workspace import require_initialized

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.workspace import Workspace

_FILE: Final = Parameter(
    "Of the agents of this YAML file instead.", name="from", metavar="FILE", is_personal=True
)


_CREATE: Final = create(TASK)


class NewRequest(NamedTuple):
    """A task."""

    title: Annotated[str, Parameter("", argument="[TITLE]")] = ""
    title_option: Annotated[
        str, Parameter("What it is, in one line; or give it as TITLE.", name="title")
    ] = ""
    requires: Annotated[
        tuple[str, ...],
        Parameter("artifact:NAME, file:PATH or symbol:NAME. May be repeated.", metavar="TOKEN"),
    ] = ()
    produces: Annotated[
        tuple[str, ...],
        Parameter("What is there once it is done. May be repeated.", metavar="TOKEN"),
    ] = ()
    task_type: Annotated[
        str,
        Parameter(
            "The type of work, which selects its gate: feature, docs …",
            name="type",
            aliases=("task_type",),
        ),
    ] = ""
    complexity: Annotated[
        int | None, Parameter("How much there is to it, 1 to 10.", bounds=(1, 10))
    ] = None
    assignee: Annotated[str, Parameter("Who does it.")] = ""
    objective: Annotated[str, Parameter("The objective it serves.", metavar="ID")] = ""
    feature_id: Annotated[
        str, Parameter("The feature it belongs to.", name="feature", metavar="ID")
    ] = ""
    about: Annotated[
        tuple[str, ...],
        Parameter("The files and symbols it is about. May be repeated.", metavar="PATH_OR_ID"),
    ] = ()
    description: Annotated[str, Parameter("What to do.")] = ""
    is_by_agent: Annotated[bool, Parameter("An agent makes it.", name="agent")] = False


def _new(ws: Workspace, request: NewRequest, access: Access) -> Written:
    values = request._asdict()
    title = values.pop("title") or values.pop("title_option")
    is_by_agent = values.pop("is_by_agent")
    wrong = valid_tokens([*request.requires, *request.produces])[1]
    if wrong:
        raise Problems([Problem("kl task new", 0, 0, f"{error}.") for error in wrong])
    fields = {name: value for name, value in values.items() if value not in ("", None)}
    asked = CreateRequest.of(by_agent=is_by_agent, title=title, **fields)
    change: Written = _CREATE.run(ws, asked, access)
    return change


NEW: Final = Operation(
    "task new",
    "Make a task. What tasks require and produce gives their order: kl task plan.",
    NewRequest,
    _new,
    _CREATE.to_dict,
    _CREATE.schema,
    'kl task new "Write the lexer" --requires artifact:grammar --produces file:src/lexer.py',
    is_tool=False,
    writes=True,
)


class PlanRequest(NamedTuple):
    """Which tasks."""

    file: Annotated[InputFile, _FILE] = InputFile("")


class ShownPlan(NamedTuple):
    """The order of tasks."""

    plan: Plan
    titles: Mapping[str, str]
    """By name."""
    total: int
    """Tasks."""
    is_done: bool
    """Whether all are done."""
    notes: tuple[str, ...]


def _works(ws: Workspace, file: str, access: Access) -> Works:
    """The works of a file, or of the tasks on record that may be shown."""
    return Works.load(ws, file or None, access.records)


def _notes(works: Works) -> tuple[str, ...]:
    """A warning for each token that is none."""
    return tuple(
        f"{name}: {error}. It counts for nothing. See: kl task edit {name}"
        for name, error in works.errors
    )


def _plan(ws: Workspace, request: PlanRequest, access: Access) -> ShownPlan:
    works = _works(ws, request.file, access)
    plan = works.plan(ws, outside=bool(request.file))
    total = len(works.all)
    return ShownPlan(plan, works.titles, total, len(works.done) == total, _notes(works))


PLAN: Final = Operation(
    "task plan",
    """What can be done side by side, in which order: from what each task requires and produces.

    Exit 1 where tasks wait for each other in a cycle; each cycle is shown whole. What nobody
    produces and is not there orders nothing and is listed.
    """,
    PlanRequest,
    _plan,
    lambda shown: dict(shown.plan.to_dict()),
    "kl.task.plan/2",
    "kl task plan --from agents.yaml",
)


class EligibleRequest(NamedTuple):
    """Which tasks, and what counts as there."""

    file: Annotated[InputFile, _FILE] = InputFile("")
    done: Annotated[
        tuple[str, ...], Parameter("Count this one as done. May be repeated.", metavar="NAME")
    ] = ()
    tokens: Annotated[
        tuple[str, ...],
        Parameter("Count this token as there. May be repeated.", name="with", metavar="TOKEN"),
    ] = ()


class Eligible(NamedTuple):
    """What can be begun, and what the others wait for."""

    names: tuple[str, ...]
    waiting: Mapping[str, tuple[str, ...]]
    titles: Mapping[str, str]
    notes: tuple[str, ...]


def _eligible(ws: Workspace, request: EligibleRequest, access: Access) -> Eligible:
    works = _works(ws, request.file, access)
    names = {work.name for work in works.all}
    if unknown := [name for name in request.done if name not in names]:
        raise UsageProblem("there is no task of this name.", place=f"--done {unknown[0]}")
    tokens, wrong = valid_tokens(request.tokens)
    if wrong:
        raise UsageProblem(f"{wrong[0]}.", place="--with")
    works.done.update(request.done)
    available = works.fulfilled(ws, tokens)
    return Eligible(
        tuple(works.eligible(available)), works.waiting(available), works.titles, _notes(works)
    )


def _eligible_to_dict(shown: Eligible) -> dict[str, Any]:
    waiting = [{"name": name, "waits_for": list(tokens)} for name, tokens in shown.waiting.items()]
    return {"eligible": list(shown.names), "waiting": waiting}


ELIGIBLE: Final = Operation(
    "task eligible",
    "The tasks whose requirements are all there, and what the others still wait for.",
    EligibleRequest,
    _eligible,
    _eligible_to_dict,
    "kl.task.eligible/1",
    "kl task eligible --done planner",
)


class FulfilRequest(NamedTuple):
    """What is done, or there."""

    id: Annotated[
        str,
        Parameter(
            "The task, such as TSK-0001, or a token, such as artifact:design.",
            argument="ID|TOKEN",
            aliases=("token", "task"),
        ),
    ]
    force: Annotated[
        bool, Parameter("Also where something that the task requires is not there.")
    ] = False
    author: str = ""


class Fulfilled(NamedTuple):
    """A token that is there, or a task that is done."""

    token: str
    completed: Completed | None
    notes: tuple[str, ...] = ()


def _fulfil(ws: Workspace, request: FulfilRequest, access: Access) -> Fulfilled:
    author = request.author or session(ws.environ) or ""
    if ":" in request.id:
        require_initialized(ws)
        try:
            return Fulfilled(record_fulfilled(ws, request.id, author), None)
        except ValueError as error:
            raise UsageProblem(f"{error}.", place="kl task fulfil") from None
    # its outcome has the title of the task, and nothing that hides it
    access.require_shown(get_record(ws, request.id, "task"))
    if request.author or agent(ws.environ):
        authority = "agent"
    else:
        authority = ""
    works = Works.load(ws, None)
    completed = complete_task(
        ws, request.id, works, force=request.force, author=author, authority=authority
    )
    aside = f"{completed.aside} The outcome is put aside, and recorded with the next one."
    return Fulfilled("", completed, (aside,) if completed.aside else ())


def _fulfilled_to_dict(fulfilled: Fulfilled) -> dict[str, Any]:
    completed = fulfilled.completed
    if completed is None:
        return {"token": fulfilled.token}
    plain = {
        "id": completed.task.id,
        "produces": list(Work.of(completed.task).produces),
        "outcome": completed.outcome or None,
    }
    return plain | ({"note": fulfilled.notes[0]} if fulfilled.notes else {})


FULFIL: Final = Operation(
    "task fulfil",
    """Mark a task (TSK-0001) as done, and with it all it produces; or mark a token
    (artifact:design) as fulfilled.

    The first time a task is done, its outcome is recorded.
    """,
    FulfilRequest,
    _fulfil,
    _fulfilled_to_dict,
    "kl.task.fulfil/1",
    "kl task fulfil artifact:design",
    writes=True,
)

OPERATIONS: Final = (NEW, PLAN, ELIGIBLE, FULFIL)
