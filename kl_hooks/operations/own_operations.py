"""Operations that one kind has: supersede a decision, count a failure, find the features of a text
and the gates of a piece of work.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from kl_hooks.errors import UsageProblem
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.kind import Kind
from kl_hooks.model.parameter import Parameter
from kl_hooks.model.symbol import FilePath, NodeId
from kl_hooks.operations.operation import Operation
from kl_hooks.operations.record_changes import written, written_to_dict
from kl_hooks.operations.records import (
    RecordRequest,
    ShownRecord,
    now,
    shown_record,
    shown_to_dict,
)
from kl_hooks.operations.written import Written
from kl_hooks.records.query import RecordFilter, get_record, list_records, record_now
from kl_hooks.records.sync import sync, sync_notes
from kl_hooks.workspace import require_initialized

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.model.record import Record
    from kl_hooks.records.events import OccurrenceCount
    from kl_hooks.workspace import Workspace


class SupersedeRequest(NamedTuple):
    """Which record takes whose place."""

    old: Annotated[str, Parameter("The one that is superseded.", argument="OLD", aliases=("id",))]
    new: Annotated[
        str, Parameter("The one that takes its place.", argument="NEW", aliases=("new_id",))
    ]
    author: str = ""
    """As events name it; empty: whoever runs this."""


class Succession(NamedTuple):
    """A record and its successor."""

    old: Written
    new: Written
    chain: tuple[Record, ...]
    """The newest first."""
    waits: bool
    """Whether the old one stays in force until the new one is accepted."""


def _supersede(kind: Kind, ws: Workspace, request: SupersedeRequest, access: Access) -> Succession:
    from kl_hooks.records.permissions import agent_author
    from kl_hooks.records.query import supersession_chain
    from kl_hooks.records.write import supersede

    require_initialized(ws)
    old, new = (get_record(ws, name, kind.name) for name in (request.old, request.new))
    author = agent_author(ws, request.author)
    # else an agent could replace what a person accepted by what nobody did (ADR-0018)
    if author and old.status in kind.live and new.status not in kind.live:
        raise UsageProblem(
            f"is {new.status}: it can't take the place of one that is in force.",
            place=new.id,
            hint=f"A person accepts it with: kl {kind.name} accept {new.id}",
        )
    first, second = supersede(ws, old.id, new.id, by=author)
    sync(ws)
    waits = kind.is_pending(second.status) and not first.proposal
    if waits:
        chain = [second, first]
    else:
        chain = supersession_chain(ws, first)
    return Succession(written(ws, first, access), written(ws, second, access), tuple(chain), waits)


def _succession_to_dict(kind: Kind, succession: Succession) -> dict[str, Any]:
    return {
        "chain": [{"id": record.id, "status": record.status} for record in succession.chain],
        "old": written_to_dict(kind, succession.old),
        "new": written_to_dict(kind, succession.new),
    }


def supersede(kind: Kind) -> Operation:
    """Return the operation that lets one record take the place of another."""
    return Operation(
        f"{kind.name} supersede",
        f"""Let one {kind.name} take the place of another; both name each other.

        Cycles and unknown IDs are refused. While NEW is only proposed, OLD stays in force; accepting
        NEW supersedes it.
        """,
        SupersedeRequest,
        partial(_supersede, kind),
        partial(_succession_to_dict, kind),
        "kl.record.chain/1",
        "kl decision supersede ADR-0002 ADR-0009",
        writes=True,
    )


class FailureRequest(NamedTuple):
    """What failed."""

    approach: Annotated[str, Parameter("What was tried, in one sentence.", argument="APPROACH")]
    symptom: Annotated[str, Parameter("What was seen.")] = ""
    root_cause: Annotated[str, Parameter("Why it failed.", aliases=("cause",))] = ""
    prevention: Annotated[str, Parameter("What to do instead.")] = ""
    fix_applied: Annotated[str, Parameter("How it was put right.", name="fix")] = ""
    severity: Annotated[
        str,
        Parameter("How bad it was.", choices=("low", "medium", "high", "critical"), is_free=True),
    ] = ""
    file_path: Annotated[
        tuple[str, ...],
        Parameter(
            "Files where it happened. Repeatable.", name="about", metavar="PATH", aliases=("file",)
        ),
    ] = ()
    related_adrs: Annotated[
        tuple[str, ...],
        Parameter(
            "Decisions that state how it should be done. Repeatable.", name="decision", metavar="ID"
        ),
    ] = ()
    task_id: Annotated[str, Parameter("The task it happened in.", name="task")] = ""
    feature_id: Annotated[
        str, Parameter("The feature it happened in.", name="feature", metavar="ID")
    ] = ""
    context: Annotated[str, Parameter("Where and when it happened.")] = ""
    time_to_fix_minutes: Annotated[
        int, Parameter("Minutes it took to put right.", name="fixed_in", bounds=(0, 1_000_000))
    ] = 0
    author: str = ""


class CountedFailure(NamedTuple):
    """A failure that happened again, or for the first time."""

    failure: Written
    occurrences: OccurrenceCount


def _record_failure(ws: Workspace, request: FailureRequest, access: Access) -> CountedFailure:
    from kl_hooks.kinds.failure import record_failure
    from kl_hooks.records.permissions import agent_author

    require_initialized(ws)
    values: dict[str, Any] = request._asdict()
    del values["author"]
    values["approach"] = " ".join(request.approach.split())
    fields = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if value
    }
    record, occurrences = record_failure(ws, fields, agent_author(ws, request.author))
    return CountedFailure(written(ws, record, access), occurrences)


def _counts(occurrences: OccurrenceCount) -> dict[str, Any]:
    return {
        "occurrence_count": occurrences.total,
        "first_occurred": occurrences.first,
        "last_occurred": occurrences.last,
    }


def _counted_to_dict(kind: Kind, counted: CountedFailure) -> dict[str, Any]:
    return written_to_dict(kind, counted.failure) | _counts(counted.occurrences)


def record_failure(kind: Kind) -> Operation:
    """Return the operation that counts a failure."""
    return Operation(
        f"{kind.name} record",
        """Record an approach that failed. The same approach again is counted, and packages warn of
        it.

        New information is filled in.
        """,
        FailureRequest,
        _record_failure,
        partial(_counted_to_dict, kind),
        "kl.record/1",
        'kl failure record "Mock the database" --symptom "red build" --prevention "Use a real one"',
        writes=True,
    )


def _show_failure(ws: Workspace, request: RecordRequest, _access: Access) -> ShownRecord:
    from kl_hooks.kinds.failure import occurrences

    record = get_record(ws, request.id, "failure")
    return shown_record(ws, record, occurrences(ws, record))


def _failure_to_dict(kind: Kind, shown: ShownRecord) -> dict[str, Any]:
    assert shown.occurrences is not None
    return shown_to_dict(kind, shown) | _counts(shown.occurrences)


def show_failure(kind: Kind) -> Operation:
    """Return the operation that shows a failure."""
    return Operation(
        f"{kind.name} show",
        f"One {kind.name}, whole, with how often it happened here.",
        RecordRequest,
        _show_failure,
        partial(_failure_to_dict, kind),
        "kl.record/1",
        "kl failure show FAIL-3f9a1c2b",
        tool=f"{kind.name}_read",
    )


class TextRequest(NamedTuple):
    """What names features."""

    text: Annotated[str, Parameter("Any text.", argument="TEXT...")]


class NamedFeature(NamedTuple):
    """A feature that a text names."""

    id: NodeId
    record: Record | None
    spec: FilePath | None
    """The file that specifies it."""
    related: tuple[NodeId, ...]
    """Features of the same prefix."""


class FeatureList(NamedTuple):
    """The features that a text names."""

    features: tuple[NamedFeature, ...]


def _detect(ws: Workspace, request: TextRequest, _access: Access) -> FeatureList:
    from kl_hooks.kinds.feature import feature_ids, related_features, specification_files

    ids = feature_ids(request.text)
    files = specification_files(ws.root) if ids else {}
    if ids:
        records = list_records(ws, RecordFilter(("feature",)))
    else:
        records = []
    by_id = {record.id.upper(): record for record in records}
    features = []
    for name in ids:
        record = by_id.get(name)
        path = (record.text("spec") if record else "") or files.get(name, "")
        related = map(NodeId, related_features(name, [*files, *by_id]))
        spec = FilePath(path) if path else None
        features.append(NamedFeature(NodeId(name), record, spec, tuple(related)))
    return FeatureList(tuple(features))


def _features_to_dict(feature_list: FeatureList) -> dict[str, Any]:
    rows = [
        {
            "id": str(feature.id),
            "title": feature.record.title if feature.record else "",
            "record": feature.record is not None,
            "spec": str(feature.spec) if feature.spec else None,
            "related": list(map(str, feature.related)),
        }
        for feature in feature_list.features
    ]
    return {"features": rows}


def detect(kind: Kind) -> Operation:
    """Return the operation that finds the features of a text."""
    return Operation(
        f"{kind.name} detect",
        "Which features a text names (FEAT-AUTH-12), the file that specifies each, and "
        "features of the same prefix.",
        TextRequest,
        _detect,
        _features_to_dict,
        "kl.feature.detect/1",
        'kl feature detect "continue FEAT-AUTH-12"',
    )


class GateRequest(NamedTuple):
    """For what work."""

    task_type: Annotated[
        str, Parameter("The type of work: feature, scaffolding, testing, docs …", name="type")
    ] = ""
    complexity: Annotated[
        int, Parameter("From 1 to 10.", bounds=(1, 10), is_default_shown=True)
    ] = 5


class GateList(NamedTuple):
    """The gates of a piece of work."""

    request: GateRequest
    gates: tuple[Record, ...]
    """The narrowest first."""
    now: str
    notes: tuple[str, ...]


def _gates(ws: Workspace, request: GateRequest, _access: Access) -> GateList:
    from kl_hooks.kinds.gate import fitting_gates

    gates = fitting_gates(ws, request.task_type, request.complexity)
    return GateList(request, tuple(gates), now(ws), sync_notes(ws))


def _gates_to_dict(kind: Kind, gate_list: GateList) -> dict[str, Any]:
    from kl_hooks.kinds.gate import DO_NOT_ADJUST

    return {
        "type": gate_list.request.task_type,
        "complexity": gate_list.request.complexity,
        "gates": [record_now(kind, gate, gate_list.now) for gate in gate_list.gates],
        "note": DO_NOT_ADJUST,
    }


def gates(kind: Kind) -> Operation:
    """Return the operation that finds the gates of a piece of work."""
    return Operation(
        f"{kind.name} for",
        "The gates for work of a type and complexity, at most four, the narrowest first.",
        GateRequest,
        _gates,
        partial(_gates_to_dict, kind),
        "kl.gate.for/1",
        "kl gate for --type feature --complexity 5",
    )
