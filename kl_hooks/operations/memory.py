"""Operations that memories alone have: record what was learned, mine and import it, review it, use
it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.config.settings import POLICY_FILE
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.kinds.catalog import MEMORY
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.kind import VERIFICATION
from kl_hooks.model.parameter import InputFile, Parameter
from kl_hooks.model.problem import Problems
from kl_hooks.model.symbol import NodeId
from kl_hooks.model.text import counted
from kl_hooks.operations.memory_review import notes_of, page_trouble
from kl_hooks.operations.operation import Operation
from kl_hooks.operations.record_changes import decide, written, written_to_dict
from kl_hooks.operations.records import ShownRecord, shown_record, shown_to_dict
from kl_hooks.operations.symbol_names import with_symbol_ids
from kl_hooks.operations.written import Written
from kl_hooks.records.query import RecordFilter, get_record, list_records
from kl_hooks.workspace import require_initialized

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.kinds.memory.add import MiningResult
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
            choices=VERIFICATION.choices,
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
    reasons = record.text("quarantine")
    quarantined = f"{record.id} is quarantined until a person has read it: {reasons}."
    notes = notes_of(quarantined if reasons else "", *notes, page_trouble(ws))
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
    from kl_hooks.upkeep.named_ids import absence_note_of

    if request.by_agent or access.is_agent:
        authority = "agent"
    else:
        authority = ""
    described = _given(request, (*_DESCRIBED, "source"))
    record, done = add_memory(
        ws,
        request.text,
        authority="auto" if request.by_program else authority,
        ttl_days=_days(request.ttl_days),
        tags=request.tags,
        further_values=with_symbol_ids(ws, MEMORY, described, access),
    )
    if done == "known":
        remarks = ["this session added it before; nothing was changed."]
    else:
        remarks = []
    return _changed(ws, record, access, done, *remarks, absence_note_of(ws, record))


def _days(ttl_days: int) -> int | None:
    if ttl_days != _UNSET:
        return ttl_days
    return None


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
    from kl_hooks.upkeep.named_ids import absence_note_of

    values = _given(request, (*_DESCRIBED, "pattern", "tags"))
    if request.verification:
        values |= {"standing": request.verification}
    values = with_symbol_ids(ws, MEMORY, values, access) | dict.fromkeys(request.clear)
    record = revise(ws, _memory(ws, request.id), values, _days(request.ttl_days))
    return _changed(ws, record, access, "", absence_note_of(ws, record))


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
    record = apply_decision(ws, record, Decision(record.id, do, "", reason, is_checked), reviewer)
    if is_checked:
        record = reviewer.record_check(ws, record, "verified")
    if is_confirmed:
        done = "approved, confirmed today"
    else:
        done = record.status
    return _changed(ws, record, access, f"{done}, verified" if is_checked else done)


def _demote(ws: Workspace, request: ReasonRequest, access: Access) -> Changed:
    from kl_hooks.records.write import apply_verb

    record = _memory(ws, request.id)
    if request.reason:
        values = {"reason": request.reason}
    else:
        values = {}
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
    from kl_hooks.kinds.memory.review import record_use, review_items

    record = _memory(ws, request.id)
    access.record(record)
    (item,) = review_items(ws, [record])
    quality = round(100 * item.quality(ws.clock.now()))
    shown = shown_record(ws, record)
    notes = list[str]()
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
        if not trouble:
            return ()
        return (f"not counted: {trouble}",)


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


class MineRequest(NamedTuple):
    """What is mined."""

    transcripts: Annotated[
        tuple[InputFile, ...],
        Parameter(
            "A session of an agent, as JSON lines (Claude Code, Codex). May be repeated.",
            name="transcript",
            metavar="FILE",
        ),
    ] = ()
    is_unasked: Annotated[
        bool,
        Parameter(
            "Read an agent hook's JSON from stdin and mine the session it names.",
            name="agent_event",
        ),
    ] = False


class NewMemories(NamedTuple):
    """Candidates that were mined or imported."""

    new: tuple[NodeId, ...]
    reinforced: tuple[NodeId, ...]
    """Those that are seen again."""
    waiting: int
    """Patterns that will follow."""
    notes: tuple[str, ...]

    @classmethod
    def of(cls, mined: MiningResult, *notes: str) -> NewMemories:
        """What mining, or an import, changed."""
        waiting = mined.waiting
        more = f"{counted(waiting, 'more pattern')} will follow with the next receipts."
        return cls(
            tuple(map(NodeId, mined.new)),
            tuple(map(NodeId, mined.reinforced)),
            waiting,
            notes_of(*notes, more if waiting else "", mined.trouble),
        )

    def to_dict(self) -> dict[str, Any]:
        """The IDs, as JSON."""
        return {"new": list(self.new), "reinforced": list(self.reinforced)}


def _mine(ws: Workspace, request: MineRequest, _access: Access) -> NewMemories:
    from kl_hooks.kinds.memory.add import MiningResult, mine_receipts, mine_transcripts

    require_initialized(ws)
    note = ""
    if request.is_unasked and not ws.settings.memory_auto_extract:
        # an agent hook calls this unasked, so the setting decides; no error, since nobody called
        mined = MiningResult()
        note = "nothing is mined unasked here: kl memory configure --auto-extract yes"
    elif request.transcripts:
        mined = mine_transcripts(ws, list(map(Path, request.transcripts)))
    else:
        mined = mine_receipts(ws, again=True)
    return NewMemories.of(mined, note, page_trouble(ws))


MINE: Final = Operation(
    "memory mine",
    """Mine receipts, commits and transcripts for candidates, which wait for a review.

    Receipts and commits are mined by `kl status` and `kl memory review` too. No model is asked; the
    same input gives the same patterns. What was rejected does not come back.
    """,
    MineRequest,
    _mine,
    lambda mined: {**mined.to_dict(), "waiting": mined.waiting},
    "kl.memory.mine/1",
    "kl memory mine --transcript ~/.claude/projects/shop/3f9a1c2b.jsonl",
    is_tool=False,
)


class ImportRequest(NamedTuple):
    """What is imported."""

    files: Annotated[tuple[InputFile, ...], Parameter("Memories as JSON.", argument="FILE...")]


_LARGEST_FILE: Final = 64 * 1024 * 1024


def _import(ws: Workspace, request: ImportRequest, _access: Access) -> NewMemories:
    from kl_hooks.kinds.memory.interchange import import_memories, read_memories

    require_initialized(ws)
    read = [read_memories(_read_json(Path(name)), name) for name in request.files]
    if problems := [problem for _, wrong in read for problem in wrong]:
        raise Problems(problems)
    memories = [memory for foreign, _ in read for memory in foreign]
    mined = import_memories(ws, memories, Path(request.files[0]).name)
    if mined.new:
        step = "review them with: kl memory review"
    else:
        step = ""
    return NewMemories.of(mined, step, page_trouble(ws))


def _read_json(path: Path) -> Any:
    """What a file holds. UsageProblem for one that can't be read, or is no JSON."""
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise UsageProblem(f"is larger than {_LARGEST_FILE >> 20} MB.", place=str(path))
        return json.loads(path.read_bytes())
    except OSError as problem:
        raise UsageProblem(f"can't be read: {problem.strerror}.", place=str(path)) from problem
    except (ValueError, RecursionError) as problem:
        raise UsageProblem(f"is no JSON: {problem}", place=str(path)) from None


IMPORT: Final = Operation(
    "memory import",
    """Import memories that fuseraft or agor wrote as JSON: an entry, or a list of them, in each
    file.

    They come in as candidates, also what was approved elsewhere; what was rejected is rejected
    here. If anything is wrong in one of the files, nothing is imported.
    """,
    ImportRequest,
    _import,
    NewMemories.to_dict,
    "kl.memory.import/1",
    "kl memory import .fuseraft/knowledge/repository/*.json",
    is_tool=False,
)


class ExportRequest(NamedTuple):
    """Which memories are exported."""

    statuses: Annotated[
        tuple[str, ...], Parameter("Only these.", name="status", choices=MEMORY.statuses)
    ] = ()


class Export(NamedTuple):
    """Memories of which everything may be shown."""

    items: tuple[ReviewItem, ...]
    notes: tuple[str, ...]
    """How many are omitted, and why."""

    @property
    def entries(self) -> list[dict[str, Any]]:
        """As fuseraft stores them."""
        from kl_hooks.kinds.memory.interchange import to_fuseraft

        return to_fuseraft(self.items)


def _export(ws: Workspace, request: ExportRequest, access: Access) -> Export:
    from kl_hooks.kinds.memory.review import review_items
    from kl_hooks.records.liveness import quarantines

    wanted = RecordFilter((MEMORY.name,), request.statuses, expired=True)
    every = list_records(ws, wanted)
    # of one of which only a part may be shown, nothing is read back as it was
    shown = access.shown(every)
    if access.is_agent:
        quarantined = quarantines(ws, shown)
    else:
        quarantined = {}
    records = [record for record in shown if record.id not in quarantined]
    hidden = counted(len(every) - len(shown), "record")
    unread = counted(len(quarantined), "quarantined memory")
    return Export(
        tuple(review_items(ws, records)),
        notes_of(
            f"{hidden} omitted: hidden from you by {POLICY_FILE}." * (len(every) > len(shown)),
            f"omitted: {unread}, which no person has read" * bool(quarantined),
        ),
    )


EXPORT: Final = Operation(
    "memory export",
    """Every memory as JSON on stdout, in the fields that fuseraft keeps. `kl memory import` reads
    it.
    """,
    ExportRequest,
    _export,
    lambda export: {"memories": export.entries},
    "kl.memory.export/1",
    "kl memory export > memories.json",
    is_tool=False,
)


class ConfigureRequest(NamedTuple):
    """How memories are used in this clone."""

    top_k: Annotated[
        int | None,
        Parameter(
            "Memories shown to an agent at once.",
            bounds=(1, 100),
            name="top",
            aliases=("top_k",),
        ),
    ] = None
    auto_extract: Annotated[
        bool | None,
        Parameter("Whether patterns are mined without being asked for: yes or no.", is_free=True),
    ] = None


class Configuration(NamedTuple):
    """How memories are used in this clone."""

    top_k: int
    auto_extract: bool
    is_changed: bool


def _configure(ws: Workspace, request: ConfigureRequest, _access: Access) -> Configuration:
    from kl_hooks.git.repository import git_in

    top_k, auto_extract = request
    values = {
        "memory-top-k": top_k,
        "memory-auto-extract": None if auto_extract is None else str(auto_extract).lower(),
    }
    chosen = {key: value for key, value in values.items() if value is not None}
    for key, value in chosen.items():
        if ws.repo is None:
            hint = "Set memory_top_k and memory_auto_extract in your own kl/config.yaml."
            raise EnvironmentProblem("not a git repository.", place=str(ws.root), hint=hint)
        git_in(ws.repo, "config", "--local", f"kl.{key}", str(value))
    if auto_extract is None:
        is_automatic = ws.settings.memory_auto_extract
    else:
        is_automatic = auto_extract
    return Configuration(top_k or ws.settings.memory_top_k, is_automatic, bool(chosen))


CONFIGURE: Final = Operation(
    "memory configure",
    """Configure memories in this clone. Stored in git's configuration of the clone: it is yours,
    and no checkout's.
    """,
    ConfigureRequest,
    _configure,
    lambda chosen: {"top_k": chosen.top_k, "auto_extract": chosen.auto_extract},
    "kl.memory.settings/1",
    "kl memory configure --top 3 --auto-extract no",
    is_tool=False,
)

OPERATIONS: Final = (ADD, INJECT)
"""Those that agents have as tools."""
