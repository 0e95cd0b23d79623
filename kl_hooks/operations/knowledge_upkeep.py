"""Operations of the upkeep of records: check, health, what upkeep changes, proposals,
statistics.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.errors import CLEAN, FINDINGS, USAGE_ERROR
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import Parameter
from kl_hooks.model.record import Record
from kl_hooks.model.symbol import FilePath, NodeId, split_id
from kl_hooks.operations.knowledge import record_notes, unread_notes
from kl_hooks.operations.operation import TOP, Listing, Operation
from kl_hooks.operations.parts import Kinds
from kl_hooks.operations.records import now
from kl_hooks.records.query import RecordFilter, get_records, list_records, record_now
from kl_hooks.workspace import require_initialized, require_setup

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.model.lifecycle import Change
    from kl_hooks.model.problem import Problem
    from kl_hooks.records.knowledge_check import CheckResult, Seal
    from kl_hooks.records.write import Proposal
    from kl_hooks.upkeep.run import PolicyResult
    from kl_hooks.workspace import Workspace

_EVERYTHING: Final = RecordFilter(archived=True, expired=True)


def without_denied(access: Access) -> Callable[[Sequence[Record]], Sequence[Record]]:
    """Return the function that selects, of records, those that are counted for whoever asks."""
    if access.shows_all:
        return list
    return access.without_denied


class CheckRequest(NamedTuple):
    """Which files."""

    files: Annotated[tuple[str, ...], Parameter("Paths from the root.", argument="[FILES]...")] = ()
    is_staged: Annotated[
        bool, Parameter("Judge what is staged, not what is on disk.", name="staged")
    ] = False


class KnowledgeCheck(NamedTuple):
    """What is wrong in authored files."""

    result: CheckResult
    is_staged: bool

    @property
    def exit_code(self) -> int:
        """Of a command that checks."""
        if self.result.unread:
            return USAGE_ERROR
        if self.result.findings:
            return FINDINGS
        return CLEAN


def _check(ws: Workspace, request: CheckRequest, access: Access) -> KnowledgeCheck:
    from kl_hooks.records.knowledge_check import check_knowledge

    result = check_knowledge(ws, request.files, staged=request.is_staged)
    # the graph is of the working tree; with a policy, it would reveal which hidden symbols exist
    if not request.is_staged and access.shows_all:
        remarks = [
            problem
            for problem in _absent_symbols(ws, result)
            if not request.files or problem.path in request.files
        ]
        result.remarks[:] = sorted({*result.remarks, *remarks})
    return KnowledgeCheck(result, request.is_staged)


def _absent_symbols(ws: Workspace, result: CheckResult) -> list[Problem]:
    """Return a problem for each symbol that a decision governs and the graph does not have; none
    where the graph can't be read.
    """
    from kl_hooks.code.query.session import SYMBOL_KINDS
    from kl_hooks.records.knowledge_check import governed_names
    from kl_hooks.records.redaction import redact_problem
    from kl_hooks.upkeep.named_ids import existing_ids

    governed_symbols = [
        governed
        for governed in governed_names(ws.kinds, result.files)
        if split_id(governed.node)[0] in SYMBOL_KINDS
    ]
    names = {str(governed.node) for governed in governed_symbols}
    existing, why_not = existing_ids(ws, names)
    if why_not:
        return []
    return [
        redact_problem(governed.problem(f"there is no {split_id(governed.node)[1]} yet."))
        for governed in governed_symbols
        if governed.node not in existing
    ]


def _check_to_dict(check: KnowledgeCheck) -> dict[str, Any]:
    result = check.result
    problems = {"findings": result.findings, "unread": result.unread, "remarks": result.remarks}
    return {
        "files": len(result.files),
        "links": result.links,
        "staged": check.is_staged,
        **{name: [problem._asdict() for problem in part] for name, part in problems.items()},
    }


CHECK: Final = Operation(
    "knowledge check",
    """Check that authored files are valid, IDs belong to one file each, and links, chains and the
    paths that decisions govern lead somewhere.

    All files are read; findings are shown for FILES alone, if any are named. Exit 1: findings; 2: a
    file that can't be read.
    """,
    CheckRequest,
    _check,
    _check_to_dict,
    "kl.knowledge.check/1",
    "kl knowledge check --staged",
    is_tool=False,
    progress="Reading records and pages",
)


class SealsRequest(NamedTuple):
    """Which files, and whether they are sealed."""

    ids: Annotated[tuple[str, ...], Parameter("IDs of records.", argument="[ID]...")] = ()
    is_sealing: Annotated[
        bool,
        Parameter("Seal what is not valid: you have read it, and it is right.", name="seal"),
    ] = False


class Seals(NamedTuple):
    """Authored files, and their seals."""

    seals: tuple[Seal, ...]
    """Whose IDs are typed."""
    has_tampered: bool
    """Whether any file was changed since, a hidden one too."""

    @property
    def counts(self) -> dict[str, int]:
        """State → how many files."""
        from kl_hooks.records.knowledge_check import STATES

        counts = Counter(seal.state for seal in self.seals)
        return {state: counts[state] for state in STATES}


def _verify(ws: Workspace, request: SealsRequest, access: Access) -> Seals:
    from kl_hooks.records.knowledge_check import seal_records, verify_seals
    from kl_hooks.records.liveness import LiveRecords

    if request.is_sealing:
        require_initialized(ws)
    if not access.shows_all:
        for record in get_records(ws, request.ids):
            access.record(record)
    seals = (seal_records if request.is_sealing else verify_seals)(ws, request.ids)
    records = LiveRecords(ws)
    typed = (
        seal._replace(id=NodeId(seal.id), path=records.path(seal.id, seal.path)) for seal in seals
    )
    return Seals(tuple(typed), any(seal.state == "tampered" for seal in seals))


VERIFY: Final = Operation(
    "knowledge verify",
    """Check authored files against their seals: valid, tampered (edited since, other than through
    kl) or unsealed.

    Writing a record with kl as a person seals its file, in this clone. Exit code 1 where one was
    tampered with.
    """,
    SealsRequest,
    _verify,
    lambda seals: {
        "records": [seal._asdict() for seal in seals.seals],
        "counts": seals.counts,
    },
    "kl.knowledge.seals/1",
    "kl knowledge verify --seal ADR-0007",
    is_tool=False,
    progress="Reading records and pages",
)


class ClearRequest(NamedTuple):
    """What is taken away."""

    scope: Annotated[
        str,
        Parameter(
            "Only of this source.",
            choices=("system-only", "project-only"),
            flags=(
                "Only what `kl seed --system` made.",
                "Only what was made of this project's documents.",
            ),
        ),
    ] = ""
    is_forced: Annotated[bool, Parameter("What was edited by hand since, too.", name="force")] = (
        False
    )
    is_dry_run: Annotated[
        bool, Parameter("Show what would be taken away; change nothing.", name="dry_run")
    ] = False
    is_confirmed: Annotated[bool, Parameter("Do not ask.", name="yes", aliases=("confirm",))] = (
        False
    )


class Cleared(NamedTuple):
    """What seeding made, and is taken away, or stays."""

    is_dry_run: bool
    removed: tuple[Record, ...]
    edited: tuple[Record, ...]
    """By hand since: they stay."""


def _clear(ws: Workspace, request: ClearRequest, _access: Access) -> Cleared:
    from kl_hooks.records.seeding import SEED_SCOPES, clear_seeded, seeded_records

    scope = request.scope.removesuffix("-only")
    seeded = seeded_records(ws, (scope,) if scope else SEED_SCOPES)
    removed = [record for record, is_edited in seeded if request.is_forced or not is_edited]
    edited = [record for record, is_edited in seeded if is_edited and not request.is_forced]
    if removed and not request.is_dry_run:
        clear_seeded(ws, removed)
    return Cleared(request.is_dry_run, tuple(removed), tuple(edited))


def _cleared_to_dict(cleared: Cleared) -> dict[str, Any]:
    return {
        "dry_run": cleared.is_dry_run,
        "removed": [record.id for record in cleared.removed],
        "edited": [record.id for record in cleared.edited],
    }


CLEAR: Final = Operation(
    "knowledge clear",
    """Delete what `kl seed` and `kl knowledge add` made. What people wrote is never touched.

    Committed files stay in git's history; seeding makes the records again.
    """,
    ClearRequest,
    _clear,
    _cleared_to_dict,
    "kl.knowledge.clear/2",
    "kl knowledge clear --system-only --dry-run",
    is_tool=False,
)


class HealthRequest(NamedTuple):
    """How much of it."""

    least_score: Annotated[
        int | None,
        Parameter(
            "Exit 1 if fewer records are healthy.",
            name="fail_under",
            bounds=(0, 100),
            metavar="PERCENT",
        ),
    ] = None
    limit: Annotated[int, TOP._replace(help="Most lines of each sort.")] = 20


class ShownIssue(NamedTuple):
    """One finding about one record."""

    id: NodeId
    path: FilePath
    record: Record | None
    """None: there is only a file, which was never readable."""
    kind: str
    reason: str


class KnowledgeHealth(NamedTuple):
    """Which records are not healthy."""

    records: int
    """Live records."""
    healthy: int
    score: int
    """The percentage of healthy records."""
    issues: Mapping[str, Listing]
    """Sort → issues, worst sort first."""
    problems: tuple[Problem, ...]
    """What is wrong in authored files."""
    not_assessed: tuple[str, ...]
    """Questions that could not be answered, with the reason."""
    record_notes: tuple[str, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Sort → how many records."""
        return {
            sort: len({issue.id for issue in listing.items})
            for sort, listing in self.issues.items()
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be read or assessed."""
        return (*self.record_notes, *(f"not assessed: {line}" for line in self.not_assessed))


def _health(ws: Workspace, request: HealthRequest, access: Access) -> KnowledgeHealth:
    from kl_hooks.upkeep.health import SORTS, check_health

    require_setup(ws)

    def is_counted(path: str) -> bool:
        return access.shows_all or access.effect_on_place("", path, "page")[0] != "deny"

    health = check_health(ws, without_denied(access), is_counted)
    records = {record.id: record for record in get_records(ws, [one.id for one in health.found])}
    issues: dict[str, list[ShownIssue]] = {sort: [] for sort in SORTS}
    for issue in health.found:
        record = records.get(issue.id)
        path = FilePath(record.path if record else issue.id)
        node = NodeId(issue.id)
        issues[issue.sort].append(ShownIssue(node, path, record, issue.kind, issue.reason))
    return KnowledgeHealth(
        health.records,
        health.healthy,
        health.score,
        {sort: Listing(tuple(rows), request.limit) for sort, rows in issues.items()},
        health.problems,
        health.not_assessed,
        unread_notes(ws),
    )


def _health_to_dict(health: KnowledgeHealth) -> dict[str, Any]:
    rows = [
        {
            "id": issue.id,
            "kind": issue.record.kind if issue.record else issue.kind,
            "sort": sort,
            "reason": issue.reason,
        }
        for sort, listing in health.issues.items()
        for issue in listing.shown
    ]
    return {
        "records": health.records,
        "healthy": health.healthy,
        "score": health.score,
        "counts": health.counts,
        "not_assessed": list(health.not_assessed),
        "found": rows,
        "total": sum(listing.total for listing in health.issues.values()),
        "problems": [str(problem) for problem in health.problems],
    }


HEALTH: Final = Operation(
    "knowledge health",
    """Find unhealthy records: broken, stale, contradicted, unanchored, over-long or unused ones.

    Contradicted are two accepted decisions that supersede the same one without naming each other,
    and memories that ask for an import which the manifest forbids. How alike two texts are never
    counts.
    """,
    HealthRequest,
    _health,
    _health_to_dict,
    "kl.knowledge.health/2",
    "kl knowledge health --fail-under 90",
    is_tool=False,
    progress="Reading records and pages",
)


class GcRequest(NamedTuple):
    """Whether it is done, and which policies."""

    is_applied: Annotated[
        bool, Parameter("Make the changes; without it they are only shown.", name="apply")
    ] = False
    policies: Annotated[
        tuple[str, ...],
        Parameter("Only this policy; may be repeated.", name="policy", metavar="NAME"),
    ] = ()


class PolicyChanges(NamedTuple):
    """What one policy would change, or changed."""

    policy: str
    description: str
    is_reported_only: bool
    """Whether it makes no changes."""
    is_applied: bool
    trouble: str
    """Why it could not find its changes, or not make them."""
    changes: tuple[Change, ...]
    """Whose IDs are typed."""


class Upkeep(NamedTuple):
    """What all policies would change, or changed."""

    policies: tuple[PolicyChanges, ...]
    notes: tuple[str, ...]

    @property
    def total(self) -> int:
        """Changes of all policies that make some."""
        return sum(len(part.changes) for part in self.policies if not part.is_reported_only)


def _gc(ws: Workspace, request: GcRequest, _access: Access) -> Upkeep:
    from kl_hooks.upkeep.run import apply_policies, preview

    report = (apply_policies if request.is_applied else preview)(ws, request.policies)
    wrong = (
        f"{problem} The default applies; --apply waits until this is right."
        for problem in report.problems
    )
    return Upkeep(tuple(map(_policy_changes, report.results)), (*wrong, *report.failures))


def _policy_changes(result: PolicyResult) -> PolicyChanges:
    changes = (change._replace(id=NodeId(change.id)) for change in result.changes)
    return PolicyChanges(
        result.policy.name,
        result.policy.description,
        result.reported_only,
        result.applied,
        result.trouble,
        tuple(changes),
    )


def _gc_to_dict(upkeep: Upkeep) -> dict[str, Any]:
    rows = [
        {
            "policy": part.policy,
            "description": part.description,
            "reported_only": part.is_reported_only,
            "applied": part.is_applied,
            "trouble": part.trouble,
            "changes": [change.to_dict() for change in part.changes],
        }
        for part in upkeep.policies
    ]
    return {"policies": rows, "total": upkeep.total}


GC: Final = Operation(
    "knowledge gc",
    """Show what upkeep would change, policy by policy: archive, demote, prune, fold, delete.

    Its numbers are in .kl/knowledge/lifecycle.yaml. Nothing is changed without --apply, and a
    second --apply finds nothing to do.
    """,
    GcRequest,
    _gc,
    _gc_to_dict,
    "kl.knowledge.gc/2",
    "kl knowledge gc --apply",
    is_tool=False,
    progress="Reading records and pages",
)


class WholeRequest(NamedTuple):
    """Nothing is asked but for all of it."""


class Proposals(NamedTuple):
    """What waits for a person."""

    records: Listing
    """Of `Record`: all of them."""
    changes: tuple[Proposal, ...]
    """That are proposed for records of which everything may be shown."""
    kinds: Kinds
    now: str
    notes: tuple[str, ...]


def _proposals(ws: Workspace, _request: WholeRequest, access: Access) -> Proposals:
    from kl_hooks.records.liveness import with_stale_status
    from kl_hooks.records.sync import sync_notes
    from kl_hooks.records.write import proposals_for_reader

    # memories have a review of their own
    kinds = [kind for kind in ws.kinds.values() if kind.proposal and kind.name != "memory"]
    records = [
        record
        for kind in kinds
        for record in list_records(ws, RecordFilter((kind.name,), (kind.proposal,)))
    ]
    changes = proposals_for_reader(ws)
    # what is proposed for a record that is no longer there can be neither decided nor judged
    shown = access.shown(get_records(ws, sorted({change.record for change in changes})))
    shown_ids = {record.id for record in shown}
    changes = [change for change in changes if change.record in shown_ids]
    listing = Listing(tuple(with_stale_status(ws, records)), len(records))
    return Proposals(listing, tuple(changes), Kinds(ws.kinds), now(ws), sync_notes(ws))


def _proposals_to_dict(proposals: Proposals) -> dict[str, Any]:
    kinds = proposals.kinds.by_name
    rows = [
        record_now(kinds[record.kind], record, proposals.now, whole=False)
        for record in proposals.records.shown
    ]
    return {"records": rows, "changes": [change.to_dict() for change in proposals.changes]}


PROPOSALS: Final = Operation(
    "knowledge proposals",
    "List what waits for a person: records that were proposed, and changes that agents ask for.",
    WholeRequest,
    _proposals,
    _proposals_to_dict,
    "kl.knowledge.proposals/1",
    "kl knowledge proposals",
    is_tool=False,
)


class StatusCounts(NamedTuple):
    """How many records there are of each status, and what waits for a person."""

    counts: Mapping[str, Mapping[str, int]]
    """Kind → status → records."""
    waiting: Mapping[str, int]
    """Kind → how many wait for a person."""
    notes: tuple[str, ...]


def _status(ws: Workspace, _request: WholeRequest, access: Access) -> StatusCounts:
    from kl_hooks.records.status_counts import records_by_status, waiting_for_a_person

    require_setup(ws)
    selected = without_denied(access)
    counts = records_by_status(ws, selected)
    return StatusCounts(counts, waiting_for_a_person(ws, counts, selected), record_notes(ws))


STATUS: Final = Operation(
    "knowledge status",
    "Count records by kind and status, and what waits for a person.",
    WholeRequest,
    _status,
    lambda status: {"kinds": status.counts, "waiting": status.waiting},
    "kl.knowledge.status/1",
    "kl knowledge status --format json",
    is_tool=False,
    progress="Reading records and pages",
)

_USES: Final = ("injected", "opened", "reinforced", "outcome")
"""Events that are counted as uses."""


class KindCounts(NamedTuple):
    """How many records there are of a kind."""

    records: int
    files: int
    archived: int
    expired: int
    seeded: int
    statuses: Mapping[str, int]
    authorities: Mapping[str, int]
    topics: Mapping[str, int]


class KnowledgeStats(NamedTuple):
    """How much is known, and how often it was used."""

    records: int
    kinds: Mapping[str, KindCounts]
    uses: Mapping[str, int]
    notes: tuple[str, ...]


def _stats(ws: Workspace, _request: WholeRequest, access: Access) -> KnowledgeStats:
    from kl_hooks.records.events import list_events

    require_setup(ws)
    every = list_records(ws, _EVERYTHING)
    counted = without_denied(access)(every)
    hidden_ids = {record.id for record in every} - {record.id for record in counted}
    # the topic and the authority of what is redacted are its text
    shown_ids = {record.id for record in access.shown(counted)}
    uses = Counter(event.name for event in list_events(ws) if event.record not in hidden_ids)
    kinds = {
        name: _kind_counts(ws, [record for record in counted if record.kind == name], shown_ids)
        for name in dict.fromkeys(record.kind for record in counted)
    }
    in_order = {name: kinds[name] for name in ws.kinds if name in kinds}
    return KnowledgeStats(
        len(counted), in_order, {name: uses[name] for name in _USES}, record_notes(ws)
    )


def _kind_counts(
    ws: Workspace, records: Sequence[Record], shown_ids: Collection[str]
) -> KindCounts:
    """Count records of one kind; topic and authority of those that are shown."""
    from kl_hooks.records.query import topic_field
    from kl_hooks.records.repository import is_expired

    field = topic_field(ws.kinds[records[0].kind])
    shown = [record for record in records if record.id in shown_ids]
    if field:
        topics = [record.text(field.name) or "none" for record in shown]
    else:
        topics = []
    return KindCounts(
        len(records),
        sum(bool(record.path) for record in records),
        sum(record.archived for record in records),
        sum(is_expired(ws, record) for record in records),
        sum(bool(record.text("entity_id")) for record in records),
        *(
            dict(sorted(Counter(words).items()))
            for words in (
                (record.status for record in records),
                (record.authority for record in shown),
                topics,
            )
        ),
    )


def _stats_to_dict(stats: KnowledgeStats) -> dict[str, Any]:
    kinds = {name: counts._asdict() for name, counts in stats.kinds.items()}
    return {"records": stats.records, "kinds": kinds, "uses": stats.uses}


STATS: Final = Operation(
    "knowledge stats",
    """Show how much is known: records by kind, status, topic and authority, seeded ones, and how
    often they were used.

    Expired and archived records are counted apart.
    """,
    WholeRequest,
    _stats,
    _stats_to_dict,
    "kl.knowledge.stats/1",
    "kl knowledge stats --format json",
    is_tool=False,
    progress="Reading records and pages",
)

OPERATIONS: Final = (CHECK, VERIFY, CLEAR, HEALTH, GC, PROPOSALS, STATUS, STATS)
