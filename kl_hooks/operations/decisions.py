"""Operations that decisions have: record an answer, discover, renumber, import, export."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.errors import UsageProblem
from kl_hooks.kinds.catalog import DECISION
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import InputFile, Parameter
from kl_hooks.model.record import Record
from kl_hooks.model.symbol import FilePath, NodeId
from kl_hooks.operations.file_access import require_shown_files
from kl_hooks.operations.interchange import (
    ExportedRecords,
    exportable,
    exported_to_dict,
)
from kl_hooks.operations.operation import Operation
from kl_hooks.operations.parts import Kinds
from kl_hooks.operations.records import now
from kl_hooks.operations.written import Written
from kl_hooks.records.query import RecordFilter, get_record, get_records, list_records
from kl_hooks.workspace import require_initialized

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.kinds.decision.discovery import Proposal
    from kl_hooks.model.claim import Claim
    from kl_hooks.workspace import Workspace

_PERCENT: Final = (0, 100)


class AnswerRequest(NamedTuple):
    """An answered question."""

    question: Annotated[str, Parameter("What was asked.", is_option=True)]
    answer: Annotated[str, Parameter("What was answered.", is_option=True)]
    trigger: Annotated[
        str,
        Parameter(
            "What brought it up.",
            choices=DECISION.by_name["trigger"].choices,
            is_default_shown=True,
        ),
    ] = "clarifying_question"
    source_task_id: Annotated[
        str, Parameter("The task in which it was asked.", name="task", metavar="ID")
    ] = ""
    source_feature_id: Annotated[
        str, Parameter("The feature in which it was asked.", name="feature", metavar="ID")
    ] = ""
    source_command: Annotated[
        str, Parameter("The command in which it was asked.", name="command", metavar="NAME")
    ] = ""
    threshold: Annotated[
        int | None,
        Parameter("Percent from which it is recorded (setting: significance).", bounds=_PERCENT),
    ] = None
    is_dry_run: Annotated[bool, Parameter("Only show its significance.", name="dry_run")] = False


class AssessedDecision(NamedTuple):
    """How much an answer decides."""

    title: str
    is_significant: bool
    percent: int
    threshold: int
    reasons: tuple[tuple[int, str], ...]
    """(points, what for)."""
    records: tuple[Written, ...]
    """The decision that was recorded; none, or one."""


def _record(ws: Workspace, request: AnswerRequest, _access: Access) -> AssessedDecision:
    from kl_hooks.kinds.decision.significance import assess_answer
    from kl_hooks.records.permissions import agent_author
    from kl_hooks.records.write import create_record

    if request.threshold is None:
        threshold = ws.settings.significance
    else:
        threshold = request.threshold
    assessed = assess_answer(
        request.question,
        request.answer,
        request.trigger,
        threshold=threshold,
        source_task_id=request.source_task_id,
        source_feature_id=request.source_feature_id,
        source_command=request.source_command,
    )
    records: tuple[Written, ...] = ()
    if assessed.worth and not request.is_dry_run:
        require_initialized(ws)
        author = agent_author(ws, "")
        values = {**assessed.values, "authority": "agent" if author else "human"}
        records = (Written(create_record(ws, DECISION, values, by=author), now(ws)),)
    return AssessedDecision(
        str(assessed.values["title"]),
        assessed.worth,
        assessed.significance.percent,
        threshold,
        assessed.significance.reasons,
        records,
    )


def _assessed_to_dict(assessed: AssessedDecision) -> dict[str, Any]:
    return {
        "significant": assessed.is_significant,
        "significance": assessed.percent,
        "threshold": assessed.threshold,
        "reasons": [{"points": points, "for": reason} for points, reason in assessed.reasons],
        "id": assessed.records[0].record.id if assessed.records else "",
        "title": assessed.title,
    }


RECORD: Final = Operation(
    "decision record",
    """Record an answered question as a proposed decision if it is significant enough; else show why
    it is not.

    Exit 0 either way: an answer that decides little is nothing wrong.
    """,
    AnswerRequest,
    _record,
    _assessed_to_dict,
    "kl.decision.judged/1",
    'kl decision record --question "Which database?" --answer "PostgreSQL, because …"',
    is_tool=False,
)


class DiscoverRequest(NamedTuple):
    """Which proposals, and whether they are written."""

    is_written: Annotated[
        bool,
        Parameter(
            "Write them as proposed records; a person accepts or rejects each.", name="write"
        ),
    ] = False
    threshold: Annotated[
        int,
        Parameter("Percent from which one is shown.", bounds=_PERCENT, is_default_shown=True),
    ] = 70


class DiscoveredDecision(NamedTuple):
    """A decision that the code seems to follow."""

    proposal: Proposal
    """Whose files are typed."""
    records: tuple[Written, ...]
    """Its record, where it was written."""


class Discovery(NamedTuple):
    """Decisions that the code has taken, the surest first."""

    decisions: tuple[DiscoveredDecision, ...]
    proposed_before: int
    is_written: bool


def _discover(ws: Workspace, request: DiscoverRequest, access: Access) -> Discovery:

    from kl_hooks.kinds.decision.discovery import discover_decisions, record_proposals

    if request.is_written:
        require_initialized(ws)

    def is_shown(path: str) -> bool:
        return access.shows_all or access.shows_node(f"file:{path}", "page", path)

    proposals, proposed_before = discover_decisions(ws, request.threshold, is_shown)
    if request.is_written:
        records = record_proposals(ws, proposals)
    else:
        records = []
    moment = now(ws)
    decisions = []
    for number, proposal in enumerate(proposals):
        typed = proposal._replace(governs=tuple(map(FilePath, proposal.governs)))
        written = (Written(record, moment) for record in records[number : number + 1])
        decisions.append(DiscoveredDecision(typed, tuple(written)))
    return Discovery(tuple(decisions), proposed_before, request.is_written)


def _discovery_to_dict(discovery: Discovery) -> dict[str, Any]:

    rows = [
        {
            **decision.proposal._asdict(),
            "id": decision.records[0].record.id if decision.records else "",
        }
        for decision in discovery.decisions
    ]
    return {
        "proposals": rows,
        "known": discovery.proposed_before,
        "wrote": discovery.is_written,
    }


DISCOVER: Final = Operation(
    "decision discover",
    """Propose decisions from the folders, the declared dependencies and the patterns of the code.

    What was proposed before is not proposed again, accepted or not. Nothing is written without
    --write.
    """,
    DiscoverRequest,
    _discover,
    _discovery_to_dict,
    "kl.decision.discover/1",
    "kl decision discover --write",
    is_tool=False,
    progress="Reading code for decisions",
)


class RenumberRequest(NamedTuple):
    """Which decision."""

    file: Annotated[str, Parameter("Its file, or its ID.", argument="FILE")]


class Reference(NamedTuple):
    """A line that names a decision."""

    path: FilePath
    line: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


class ProposedChange(NamedTuple):
    """A change that waits for a person, without its text."""

    record: NodeId
    how: str
    by: str
    at: str


class Renumbered(NamedTuple):
    """A decision with a new ID."""

    former_id: str
    decisions: tuple[Written, ...]
    """The one, under its new ID; where it is hidden, the references are not."""
    changed: tuple[Reference, ...]
    unsure: tuple[Reference, ...]
    """Which may mean either file."""
    left: tuple[ProposedChange, ...]
    """Which may mean either decision."""
    records: tuple[NodeId, ...]
    """Records of the database that name the new ID now."""
    unsure_records: tuple[NodeId, ...]
    """Those that may mean either decision."""
    texts: tuple[NodeId, ...]
    """Records of the database with texts that name the former ID, which stay as they are."""
    claims: tuple[Claim, ...]
    """Claims that are about the former ID or name it, which stay as they are."""

    @property
    def decision(self) -> Record:
        """The decision under its new ID."""
        return self.decisions[0].record


def _renumber(ws: Workspace, request: RenumberRequest, _access: Access) -> Renumbered:
    from kl_hooks.kinds.decision.renumber import renumber

    renumbering = renumber(ws, request.file)
    # a file that can't be read is no record yet
    unread = Record(DECISION.name, renumbering.new, {}, path=renumbering.path)
    record = next(iter(get_records(ws, [renumbering.new])), unread)
    return Renumbered(
        renumbering.old,
        (Written(record, now(ws)),),
        tuple(map(_reference, renumbering.changed)),
        tuple(map(_reference, renumbering.unsure)),
        tuple(
            ProposedChange(NodeId(change.record), change.how, change.by, change.at)
            for change in renumbering.left
        ),
        tuple(NodeId(record.id) for record in renumbering.records),
        tuple(NodeId(record.id) for record in renumbering.unsure_records),
        tuple(NodeId(record.id) for record in renumbering.texts),
        renumbering.claims,
    )


def _reference(place: str) -> Reference:
    path, _, line = place.rpartition(":")
    return Reference(FilePath(path), line)


def _renumbered_to_dict(renumbered: Renumbered) -> dict[str, Any]:
    return {
        "old": renumbered.former_id,
        "new": renumbered.decision.id,
        "path": renumbered.decision.path,
        "changed": list(map(str, renumbered.changed)),
        "unsure": list(map(str, renumbered.unsure)),
        "unsure_proposals": [change._asdict() for change in renumbered.left],
        "records": list(renumbered.records),
        "unsure_records": list(renumbered.unsure_records),
        "texts": list(renumbered.texts),
        "claims": [claim.id for claim in renumbered.claims],
    }


RENUMBER: Final = Operation(
    "decision renumber",
    """Give the decision in FILE (or of an id that only one file has) a new id, and fix what names
    it.

    Where two files had the id, a line is taken to mean the one that was there when the line was
    written, and a proposed change or a record of the database the one that was checked out when it
    was written; those of which that is unknown are listed instead. Claims are evidence, and keep
    what they state; those that name the former id are listed, as are records of the database whose
    texts do.

    If it is killed, run it again: it does the rest.
    """,
    RenumberRequest,
    _renumber,
    _renumbered_to_dict,
    "kl.decision.renumber/3",
    "kl decision renumber .kl/knowledge/decisions/ADR-0007-from-my-branch.md",
    is_tool=False,
)


class ImportRequest(NamedTuple):
    """Which files, and their format."""

    paths: Annotated[tuple[InputFile, ...], Parameter("Files and folders.", argument="PATHS...")]
    form: Annotated[
        str,
        Parameter(
            "The format of the files.",
            name="format",
            choices=("auto", "madr", "nygard", "log4brains", "json"),
            is_default_shown=True,
        ),
    ] = "auto"
    is_dry_run: Annotated[
        bool, Parameter("Show what would be made; write nothing.", name="dry_run")
    ] = False


class ImportedDecision(NamedTuple):
    """A decision of a file that was imported, would be, or was before."""

    id: str
    title: str
    """Empty where it was imported before."""
    path: FilePath


class ImportedDecisions(NamedTuple):
    """What an import of decisions did."""

    is_dry_run: bool
    made: tuple[ImportedDecision, ...]
    existing: tuple[ImportedDecision, ...]
    skipped: tuple[FilePath, ...]
    """Files of a folder that are no decisions."""
    remarks: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What is stored in another form than it was written, and which files are no decisions."""
        return (*self.remarks, *(f"{path}: no decision, omitted." for path in self.skipped))


def _import(ws: Workspace, request: ImportRequest, access: Access) -> ImportedDecisions:
    from kl_hooks.kinds.decision.importer import import_decisions
    from kl_hooks.model.actors import agent

    require_initialized(ws)
    places = tuple(map(Path, request.paths))
    for place in places:
        if not place.exists():
            raise UsageProblem("is not there.", place=str(place))
        require_shown_files(ws, access, (place, *place.rglob("*")))
    author = agent(ws.environ) or ""
    result = import_decisions(ws, places, request.form, dry_run=request.is_dry_run, agent=author)
    existing = ((identifier, "", path) for identifier, path in result.existing)
    return ImportedDecisions(
        request.is_dry_run,
        tuple(_imported(result.made)),
        tuple(_imported(existing)),
        tuple(map(FilePath, result.skipped)),
        result.remarks,
    )


def _imported(rows: Iterable[tuple[str, str, str]]) -> Iterator[ImportedDecision]:
    return (ImportedDecision(name, title, FilePath(path)) for name, title, path in rows)


def _imported_to_dict(imported: ImportedDecisions) -> dict[str, Any]:
    return {
        "dry_run": imported.is_dry_run,
        "made": [decision._asdict() for decision in imported.made],
        "known": [{"id": decision.id, "path": decision.path} for decision in imported.existing],
        "left": list(imported.skipped),
    }


IMPORT: Final = Operation(
    "decision import",
    """Make a record of every decision in these files and folders: MADR, adr-tools (Nygard),
    log4brains, JSON.

    A number that is free here stays; references to each other become ids; what has no field of ours
    stays in the text. All of them are imported, or none. A file that was imported before is not
    imported again.
    """,
    ImportRequest,
    _import,
    _imported_to_dict,
    "kl.decision.import/1",
    "kl decision import docs/adr --dry-run",
    is_tool=False,
    progress="Importing records",
)


class ExportRequest(NamedTuple):
    """Which decisions, in which form."""

    ids: Annotated[tuple[str, ...], Parameter("Their IDs.", argument="[IDS]...")] = ()
    form: Annotated[
        str,
        Parameter(
            "What to write.",
            name="format",
            choices=("madr", "nygard", "log4brains", "json"),
            is_default_shown=True,
        ),
    ] = "madr"


class ExportedDecisions(NamedTuple):
    """Decisions, whole, and those that they may refer to."""

    decisions: tuple[Record, ...]
    others: tuple[Record, ...]
    """All that may be shown."""
    kinds: Kinds
    now: str
    notes: tuple[str, ...]


def _export(ws: Workspace, request: ExportRequest, access: Access) -> ExportedDecisions:
    wanted = RecordFilter((DECISION.name,), archived=True, expired=True)
    others, notes = exportable(access, list_records(ws, wanted))
    named = [access.record(get_record(ws, name, DECISION.name)) for name in request.ids]
    named, _ = exportable(access, named)
    decisions = named if request.ids else others
    broken = next((record for record in decisions if record.broken), None)
    if broken:
        raise UsageProblem(
            f"can't be read today: {broken.broken}", place=broken.path, hint="Fix the file first."
        )
    kinds = Kinds({DECISION.name: DECISION})
    return ExportedDecisions(tuple(decisions), tuple(others), kinds, now(ws), tuple(notes))


def _decisions_to_dict(exported: ExportedDecisions) -> dict[str, Any]:
    whole = ExportedRecords(exported.decisions, exported.kinds, exported.now, exported.notes)
    return exported_to_dict(whole)


EXPORT: Final = Operation(
    "decision export",
    """Write decisions (those of IDS, or all, the archive too) in the form of another tool.

    Nothing is lost on the way: what a form has no words for is written next to it, and `import`
    reads it back.
    """,
    ExportRequest,
    _export,
    _decisions_to_dict,
    "kl.decision.export/1",
    "kl decision export --format madr -o docs/adr",
    is_tool=False,
)

OPERATIONS: Final = (RECORD, DISCOVER, RENUMBER, IMPORT, EXPORT)
