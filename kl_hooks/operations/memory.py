"""Operations that memories alone have: record what was learned, review it, use it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

from kl_hooks.kinds.catalog import MEMORY
from kl_hooks.model.parameter import Parameter
from kl_hooks.model.symbol import NodeId
from kl_hooks.operations.operation import Operation
from kl_hooks.operations.record_changes import decide, written, written_to_dict
from kl_hooks.operations.records import ShownRecord, shown_record, shown_to_dict
from kl_hooks.operations.written import Written
from kl_hooks.records.query import get_record

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.kinds.memory.inject import Injection
    from kl_hooks.kinds.memory.review import ReviewItem
    from kl_hooks.model.record import Record
    from kl_hooks.workspace import Workspace

_UNSET: Final = -1
"""Of a number that was not given."""
_ID: Final = Parameter("Its id, such as MEM-3f9a1c2b.", argument="ID")
_TITLE: Final = Parameter("What it is, in one line.", default="its first line", is_personal=True)
_CATEGORY: Final = Parameter(
    "What sort of learning it is.",
    choices=MEMORY.by_name["category"].choices,
    is_personal=True,
)
_IMPORTANCE: Final = Parameter(
    "How much it matters, in percent.", bounds=(0, 100), is_personal=True
)
_TAG: Final = Parameter("A short word to find it by. Repeatable.", name="tag")
_ABOUT: Final = Parameter("A file or symbol it is about. Repeatable.", metavar="PATH_OR_ID")
_TTL: Final = Parameter("Days until it ends; 0: never.", bounds=(0, 36_500), aliases=("ttlDays",))
_REASON: Final = Parameter("Why, in one line.")


class AddRequest(NamedTuple):
    """What was learned."""

    text: Annotated[
        str,
        Parameter(
            "What was learned, in a sentence or a few.",
            argument="TEXT",
            aliases=("content", "pattern"),
        ),
    ]
    by_agent: Annotated[
        bool,
        Parameter("An agent adds it: a candidate, for 90 days.", name="agent", is_personal=True),
    ] = False
    by_program: Annotated[
        bool,
        Parameter("A program found it: a candidate, for 30 days.", name="auto", is_personal=True),
    ] = False
    ttl_days: Annotated[int, _TTL._replace(default="by authority")] = _UNSET
    tags: Annotated[tuple[str, ...], _TAG] = ()
    title: Annotated[str, _TITLE] = ""
    category: Annotated[str, _CATEGORY] = ""
    importance: Annotated[int, _IMPORTANCE._replace(default="50")] = _UNSET
    about: Annotated[tuple[str, ...], _ABOUT] = ()
    source: Annotated[str, Parameter("Where it comes from.", default="the session")] = ""
    author: str = ""
    """As events name it; empty: whoever runs this."""


class EditRequest(NamedTuple):
    """What is changed of a memory."""

    id: Annotated[str, _ID]
    pattern: Annotated[str, Parameter("Its text.", name="text")] = ""
    title: Annotated[str, _TITLE._replace(default="")] = ""
    category: Annotated[str, _CATEGORY] = ""
    importance: Annotated[int, _IMPORTANCE] = _UNSET
    verification: Annotated[
        str,
        Parameter(
            "How it fared since.",
            name="standing",
            choices=MEMORY.by_name["standing"].choices,
        ),
    ] = ""
    tags: Annotated[
        tuple[str, ...],
        Parameter("Its tags, in place of those it has. Repeatable.", name="tag"),
    ] = ()
    about: Annotated[tuple[str, ...], _ABOUT] = ()
    ttl_days: Annotated[int, _TTL] = _UNSET
    clear: Annotated[
        tuple[str, ...], Parameter("Take a field out. Repeatable.", metavar="FIELD")
    ] = ()


class MemoryRequest(NamedTuple):
    """Which memory."""

    id: Annotated[str, _ID]


class ApproveRequest(NamedTuple):
    """Which memory is accepted."""

    id: Annotated[str, _ID]
    checked: Annotated[
        bool,
        Parameter("Also note that it was checked and is right: it ranks higher from now on."),
    ] = False


class ReasonRequest(NamedTuple):
    """Which memory is refused, and why."""

    id: Annotated[str, _ID]
    reason: Annotated[str, _REASON] = ""


class Changed(NamedTuple):
    """A memory that was added or changed."""

    memory: Written
    done: str
    """What was done with it: `new`, `reinforced`; else its status."""
    notes: tuple[str, ...]


def _memory(ws: Workspace, identifier: str) -> Record:
    return get_record(ws, identifier, MEMORY.name)


def _changed(ws: Workspace, record: Record, access: Access, done: str = "", *notes: str) -> Changed:
    """Return a memory that was changed, after the page of memories was written again."""
    from kl_hooks.kinds.memory.inject import write_page

    reasons = record.text("quarantine")
    quarantined = f"{record.id} is quarantined until a person has read it: {reasons}."
    trouble = write_page(ws)
    notes = (*([quarantined] if reasons else ()), *notes, *([trouble] if trouble else ()))
    return Changed(written(ws, record, access), done or record.status, notes)


def _changed_to_dict(change: Changed) -> dict[str, Any]:
    return written_to_dict(MEMORY, change.memory) | {"done": change.done}


def _given(request: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields of a request that were given, texts as lists."""
    values = {name: getattr(request, name) for name in names}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if value not in ("", (), _UNSET)
    }


_DESCRIBED: Final = ("title", "category", "importance", "about")


def _add(ws: Workspace, request: AddRequest, access: Access) -> Changed:
    from kl_hooks.kinds.memory.add import add_memory

    authority = "agent" if request.by_agent or access.is_agent else ""
    record, done = add_memory(
        ws,
        request.text,
        authority="auto" if request.by_program else authority,
        ttl_days=_days(request.ttl_days),
        tags=request.tags,
        more=_given(request, (*_DESCRIBED, "source")),
    )
    remarks = ["this session added it before; nothing was changed."] if done == "known" else []
    return _changed(ws, record, access, done, *remarks)


def _days(ttl_days: int) -> int | None:
    return ttl_days if ttl_days != _UNSET else None


ADD: Final = Operation(
    "memory add",
    """Record what was learned; `-` reads the TEXT from stdin.

    What a person adds is approved at once and becomes a file. What an agent adds waits for a
    review. The same text added again is the same memory: it is reinforced, or approved.
    """,
    AddRequest,
    _add,
    _changed_to_dict,
    "kl.record/1",
    'kl memory add "Tests of the importer need LC_ALL=C.UTF-8." --tag tests',
    tool="memory_create",
    writes=True,
)


def _edit(ws: Workspace, request: EditRequest, access: Access) -> Changed:
    from kl_hooks.kinds.memory.add import revise

    values = _given(request, (*_DESCRIBED, "pattern", "tags"))
    values |= {"standing": request.verification} if request.verification else {}
    values |= dict.fromkeys(request.clear)
    record = revise(ws, _memory(ws, request.id), values, _days(request.ttl_days))
    return _changed(ws, record, access)


def _approve(ws: Workspace, request: ApproveRequest, access: Access) -> Changed:
    return _decide(ws, request.id, "approve", "", access, is_checked=request.checked)


def _reject(ws: Workspace, request: ReasonRequest, access: Access) -> Changed:
    return _decide(ws, request.id, "reject", request.reason, access)


def _decide(
    ws: Workspace, identifier: str, do: str, reason: str, access: Access, is_checked: bool = False
) -> Changed:
    """Approve or reject a memory. UsageProblem for an agent that is no reviewer."""
    from kl_hooks.kinds.memory.review import Decision, Reviewer, apply_decision
    from kl_hooks.records.write import pending_proposals

    reviewer = Reviewer.current(ws, identifier)
    record = _memory(ws, identifier)
    if reviewer.person and record.status == "approved" and pending_proposals(ws, record.id):
        change = decide(ws, record, access, is_accepted=do == "approve")
        return _changed(ws, change.record, access, "", *change.notes)
    is_confirmed = do == "approve" and record.status == "approved"
    record = apply_decision(ws, record, Decision(record.id, do, "", reason), reviewer)
    if is_checked:
        record = reviewer.record_check(ws, record, "verified")
    done = "approved, confirmed today" if is_confirmed else record.status
    return _changed(ws, record, access, f"{done}, verified" if is_checked else done)


def _demote(ws: Workspace, request: ReasonRequest, access: Access) -> Changed:
    from kl_hooks.records.write import apply_verb

    record = _memory(ws, request.id)
    values = {"reason": request.reason} if request.reason else {}
    return _changed(ws, apply_verb(ws, record.id, "demote", values), access)


def _promote(ws: Workspace, request: MemoryRequest, access: Access) -> Changed:
    from kl_hooks.kinds.memory.add import promote
    from kl_hooks.kinds.memory.review import Reviewer

    reviewer = Reviewer.current(ws, request.id)
    record = promote(ws, _memory(ws, request.id), reviewer)
    return _changed(ws, record, access, f"{record.authority}, {record.status}")


def _verify(ws: Workspace, request: MemoryRequest, access: Access) -> Changed:
    return _check(ws, request.id, "verified", "", access)


def _disprove(ws: Workspace, request: ReasonRequest, access: Access) -> Changed:
    return _check(ws, request.id, "disproven", request.reason, access)


def _check(ws: Workspace, identifier: str, verdict: str, reason: str, access: Access) -> Changed:
    from kl_hooks.kinds.memory.review import Reviewer

    reviewer = Reviewer.current(ws, identifier)
    record = reviewer.record_check(ws, _memory(ws, identifier), verdict, reason)
    return _changed(ws, record, access, verdict)


def _change(
    name: str, help: str, request: type, run: Callable[..., Changed], example: str
) -> Operation:
    """Return an operation of people and reviewers that changes a memory."""
    return Operation(
        f"memory {name}",
        help,
        request,
        run,
        _changed_to_dict,
        "kl.record/1",
        f"kl memory {name} MEM-3f9a1c2b{example}",
        is_tool=False,
    )


EDIT: Final = _change(
    "edit",
    """Change the text or fields of a memory. What an agent changes of an approved one is a
    candidate again.
    """,
    EditRequest,
    _edit,
    ' --text "Tests need Redis 7." --ttl-days 0',
)
APPROVE: Final = _change(
    "approve",
    """Accept a memory: it becomes a file in .kl/knowledge/memories/, and agents are shown it.

    A person's approval gives it a person's authority. Approving one that is approved confirms it:
    upkeep leaves it alone for another window.

    For people, and for reviewers that your configuration names (git config kl.reviewers).
    """,
    ApproveRequest,
    _approve,
    "",
)
REJECT: Final = _change(
    "reject",
    """Refuse a memory: the same pattern never comes back by itself. `approve` takes it back.""",
    ReasonRequest,
    _reject,
    ' --reason "true only on my machine"',
)
DEMOTE: Final = _change(
    "demote",
    """Take an approved memory back to the candidates: agents are not shown it until it is reviewed
    again.
    """,
    ReasonRequest,
    _demote,
    "",
)
PROMOTE: Final = _change(
    "promote",
    """Raise the authority of a memory by one step: auto, agent, human. It expires by the new
    authority.

    For people only. It stays a candidate, or approved, as it was.
    """,
    MemoryRequest,
    _promote,
    "",
)
VERIFY: Final = _change(
    "verify",
    """Note that a memory was checked and is right: it ranks higher from now on. For people and
    named reviewers.
    """,
    MemoryRequest,
    _verify,
    "",
)
DISPROVE: Final = _change(
    "disprove",
    """Note that a memory was checked and is wrong: agents are not shown it any more. For people and
    reviewers.
    """,
    ReasonRequest,
    _disprove,
    ' --reason "Redis is not needed since 2.0"',
)


class ShownMemory(NamedTuple):
    """A memory, whole, with its support and its use."""

    memory: ShownRecord
    item: ReviewItem
    quality: int
    """Today, in percent: by structure, use, rating and age."""
    notes: tuple[str, ...]


def _show(ws: Workspace, request: MemoryRequest, access: Access) -> ShownMemory:
    from kl_hooks.errors import EnvironmentProblem
    from kl_hooks.kinds.memory.review import record_use, review_items

    record = _memory(ws, request.id)
    access.record(record)
    (item,) = review_items(ws, [record])
    quality = round(100 * item.quality(ws.clock.now()))
    shown, notes = shown_record(ws, record), list[str]()
    try:
        # last: a store that can't be written must not withhold the memory
        record_use(ws, record)
    except EnvironmentProblem as problem:
        notes.append(f"this access is not counted: {problem}")
    return ShownMemory(shown, item, quality, (*shown.notes, *notes))


def _shown_to_dict(shown: ShownMemory) -> dict[str, Any]:
    today = {"importance_today": shown.item.importance, "quality_today": shown.quality}
    return shown_to_dict(MEMORY, shown.memory) | {"memory": shown.item.to_dict() | today}


SHOW: Final = Operation(
    "memory show",
    "Show a memory: its text, its support, its use. Showing it counts as access.",
    MemoryRequest,
    _show,
    _shown_to_dict,
    "kl.record/1",
    "kl memory show MEM-3f9a1c2b",
    is_tool=False,
)


class FeedbackRequest(NamedTuple):
    """How a task ended that a memory was given to."""

    id: Annotated[str, _ID]
    result: Annotated[
        str, Parameter("How it ended.", argument="RESULT", choices=("positive", "negative"))
    ]


class Use(NamedTuple):
    """How a memory was used."""

    id: NodeId
    injected: int
    positive: int
    negative: int
    weighs: int
    """In percent, today."""


def _feedback(ws: Workspace, request: FeedbackRequest, access: Access) -> Use:
    from kl_hooks.kinds.memory.review import record_use, review_items

    record = _memory(ws, request.id)
    access.record(record)  # before it is counted: nobody rates what is denied to him
    record_use(ws, record, request.result)
    (item,) = review_items(ws, [record])
    tally = item.tally
    counts = (tally.injected, tally.positive, tally.negative)
    return Use(NodeId(record.id), *counts, item.importance)


FEEDBACK: Final = Operation(
    "memory feedback",
    """Note how a task ended that a memory was given to.

    From five on, it weighs what it was worth.
    """,
    FeedbackRequest,
    _feedback,
    lambda use: use._asdict(),
    "kl.memory.feedback/1",
    "kl memory feedback MEM-3f9a1c2b positive",
    is_tool=False,
)


class InjectRequest(NamedTuple):
    """For what memories are given."""

    hints: Annotated[
        tuple[str, ...],
        Parameter("Words of the task.", argument="[HINT]...", aliases=("contextHints",)),
    ] = ()
    top: Annotated[
        int,
        Parameter(
            "Most memories given.",
            bounds=(1, 100),
            default="as configured",
            aliases=("top_k", "topK"),
        ),
    ] = 0
    budget: Annotated[
        int,
        Parameter("Characters.", bounds=(200, 1_000_000), is_default_shown=True, is_personal=True),
    ] = 8000
    folder: str = ""
    """Where the work is."""


class Injected(NamedTuple):
    """The section for an agent."""

    section: Injection
    """Made of what the reader may be shown."""
    budget: int

    @property
    def notes(self) -> tuple[str, ...]:
        """Why it is not counted."""
        trouble = self.section.trouble
        return (f"not counted: {trouble}",) if trouble else ()


def _inject(ws: Workspace, request: InjectRequest, access: Access) -> Injected:
    from kl_hooks.kinds.memory.inject import inject, injection_limit

    hints = list(request.hints)
    limit = request.top or injection_limit(ws, hints)
    section = inject(ws, hints, limit, request.budget, folder=request.folder, shows=access.shows)
    return Injected(section, request.budget)


def _injected_to_dict(injected: Injected) -> dict[str, Any]:
    section = injected.section
    used: Mapping[str, Any] = {
        "unit": "characters",
        "total": injected.budget,
        "used": len(section.text),
    }
    return {
        "text": section.text,
        "ids": list(section.ids),
        "brief": list(section.brief),
        "budget": used,
    }


INJECT: Final = Operation(
    "memory inject",
    """The section `Project Knowledge` for an agent that is about to start.

    Approved memories only. With HINTS: those that fit, by authority, then by who asked for them
    last, then by how well they fit. Without, at the start of a session: 20 of them, by tier, then
    by how many sessions confirmed them. Each memory given is counted; that never raises its rank.
    """,
    InjectRequest,
    _inject,
    _injected_to_dict,
    "kl.memory.inject/1",
    "kl memory inject parser utf-8 --top 3",
)

OPERATIONS: Final = (ADD, INJECT)
"""Those that agents have as tools."""
