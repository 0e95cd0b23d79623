"""The operation of the status: what is recorded here and what is proven for this content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import KlError
from kl_hooks.evidence.assertions import known_assertions
from kl_hooks.evidence.commits import commits_without_check
from kl_hooks.evidence.ledger import count_tests, recent
from kl_hooks.evidence.provenance import worktree_state
from kl_hooks.git.run import one_moment
from kl_hooks.git.worktree import FileListing
from kl_hooks.kinds.catalog import MEMORY
from kl_hooks.model.claim import DOUBTFUL, Claim, Tier
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.manifest import MANIFEST
from kl_hooks.model.symbol import TestName
from kl_hooks.model.text import counted
from kl_hooks.operations.evidence_reading import IMPORTING, EvidenceState, all_evidence
from kl_hooks.operations.operation import Operation
from kl_hooks.proof.content_runs import had_untracked_files
from kl_hooks.proof.difference import edits_since_green
from kl_hooks.proof.failing import failing_tests
from kl_hooks.proof.freshness import assess
from kl_hooks.proof.gate import judge
from kl_hooks.proof.verdict_text import failure_text
from kl_hooks.records.events import count_records
from kl_hooks.records.repository import authored_files
from kl_hooks.records.status_counts import records_by_status, waiting_for_a_person

if TYPE_CHECKING:
    from kl_hooks.code.languages import Unread
    from kl_hooks.context.access import Access
    from kl_hooks.evidence.ledger import Entry
    from kl_hooks.evidence.snapshot import Snapshot
    from kl_hooks.git.worktree import WorktreeState
    from kl_hooks.proof.content_proof import Proof
    from kl_hooks.proof.nearest import Nearest
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

_AUDITED: Final = 20
"""Newest runs that are compared with earlier results."""
_NEWEST: Final = 5
_WORTH_A_LINE: Final = 10
"""One file in so many must be in a language that is not read."""
COUNTED: Final = ("commits", "tests", "asserted claims")


class StatusRequest(NamedTuple):
    """Nothing is asked but for all of it."""


class FailingNow(NamedTuple):
    """A test that fails now, or failed before what it rests on changed."""

    test: TestName
    run: str
    outcome: str
    state: str
    reason: str


class ContentStatus(NamedTuple):
    """What is proven for the files as they are now."""

    proof: Proof
    evidence: EvidenceState
    is_untracked: bool
    """Whether untracked files were there in the runs that prove it."""
    failure: str
    """What failed, in words; empty: nothing did."""
    nearest: Nearest | None
    edits: str
    """What was edited since the tests passed; empty: unknown, or they pass."""
    failing: tuple[FailingNow, ...]
    wrong: int
    """Results that were called valid and are not."""


class Status(NamedTuple):
    """What is recorded here, and what is proven."""

    root: str
    folder: str
    """Of the state."""
    shared: str | None
    """The team's database; None: there is none."""
    place: WorktreeState
    has_manifest: bool
    has_manifest_mistakes: bool
    counts: Mapping[str, int]
    """Of receipts by source, commits, tests and claims."""
    content: ContentStatus
    newest: tuple[Entry, ...]
    drift: Entry | None
    """The last check of the layers."""
    unchecked_commits: tuple[str, ...]
    stale_claims: tuple[Claim, ...]
    memories: Mapping[str, int]
    records: Mapping[str, Mapping[str, int]]
    """Kind → status → number of records."""
    waiting: Mapping[str, int]
    """Kind → how many wait for a person."""
    unread: Unread
    """Language → number of files that no scanner reads, where these are a tenth or more."""
    notes: tuple[str, ...]


@one_moment()
def _status(ws: Workspace, _request: StatusRequest, access: Access) -> Status:
    notes: list[str] = []
    place = worktree_state(ws.repo)
    has_manifest = (ws.root / MANIFEST).is_file()
    with all_evidence(ws, notes, place.head) as evidence:
        db = evidence.db
        content = _content(ws, evidence, place)
        if db:
            drift = next(iter(recent(db, 1, "arch")), None)
        else:
            drift = None
        if db and drift and has_manifest:
            unchecked = commits_without_check(ws, db)
        else:
            unchecked = []
        stale = stale_claims(ws, db) if db else []
        counts = _counts(db) if db else {}
        newest = evidence.recent(_NEWEST)
    _update_memories(ws)
    memories = _memory_counts(ws)
    counted_records = list if access.shows_all else access.without_denied
    if ws.initialized:
        records = records_by_status(ws, counted_records)
    else:
        records = {}
    if not access.shows_all:
        of_memories = records.get(MEMORY.name, {})
        memories = {
            "approved": of_memories.get("approved", 0),
            "candidates": of_memories.get("candidate", 0),
        }
    waiting = waiting_for_a_person(ws, records, counted_records)
    notes += _record_notes(ws)
    return Status(
        root=str(ws.root),
        folder=str(ws.state.directory),
        shared=ws.store.address.place if ws.store.address else None,
        # which files there are is not asked
        place=place._replace(listing=FileListing(), differences={}),
        has_manifest=has_manifest,
        has_manifest_mistakes=_manifest_has_mistakes(ws),
        counts=counts,
        content=content,
        newest=tuple(newest),
        drift=drift,
        unchecked_commits=tuple(unchecked),
        stale_claims=tuple(stale),
        memories=memories,
        records=records,
        waiting=waiting,
        unread=_unread(ws, place.listing),
        notes=tuple(notes),
    )


def _unread(ws: Workspace, listing: FileListing) -> Unread:
    """The files that no scanner reads, where these are a tenth of all source files: a script of
    the documentation is not worth a line.
    """
    from kl_hooks.code.languages import SUFFIXES, scanners_of, unread

    files = [path for path in listing.paths(SUFFIXES) if not path.endswith("/")]
    numbers = unread(files, scanners_of(ws))
    if sum(numbers.values()) * _WORTH_A_LINE < len(files):
        return {}
    return numbers


def _content(ws: Workspace, evidence: Snapshot, place: WorktreeState) -> ContentStatus:
    from kl_hooks.proof.audit import audit
    from kl_hooks.proof.nearest import nearest

    entries, proof = judge(ws, evidence, place.trees)
    is_guessed = proof.tier is Tier.GUESSED
    has_edits = is_guessed and not proof.gaps
    failing = [
        FailingNow(
            TestName(test.test),
            test.run,
            test.failure.outcome,
            test.verdict.state,
            test.verdict.reason,
        )
        for test in failing_tests(ws, evidence)
    ]
    return ContentStatus(
        proof=proof,
        evidence=EvidenceState.of(evidence),
        is_untracked=had_untracked_files(entries, proof.cited_runs, place.tree),
        failure=failure_text(proof, entries),
        nearest=nearest(ws, evidence, place.trees, None) if place.trees and is_guessed else None,
        edits=edits_since_green(ws, evidence.db, place) if has_edits else "",
        failing=tuple(failing),
        # only where runs failed: others show no disagreement
        wrong=audit(ws, evidence, _AUDITED, failed_only=True).wrong,
    )


def stale_claims(ws: Workspace, db: Database) -> list[Claim]:
    """Return the asserted claims that are stale, oldest first."""
    live = [claim for claim in known_assertions(ws, db) if claim.freshness != "expired"]
    return [claim for claim in assess(ws, live) if claim.freshness in DOUBTFUL]


def _update_memories(ws: Workspace) -> None:
    from kl_hooks.kinds.memory.status import is_outdated

    if is_outdated(ws):
        # only where something is new: the modules that mine and review add 60 ms
        # (kinds/memory/status.py)
        from kl_hooks.kinds.memory.add import update_memories

        update_memories(ws)


def _record_notes(ws: Workspace) -> Iterator[str]:
    """What is wrong in authored files, and which records nobody can read today."""
    from kl_hooks.records.query import unreadable_records
    from kl_hooks.records.sync import sync_notes

    yield from sync_notes(ws)
    for number, where, reason in unreadable_records(ws):
        verb = "is" if number == 1 else "are"
        yield f"{counted(number, 'record')} {where} {verb} omitted: {reason}"


def _memory_counts(ws: Workspace) -> dict[str, int]:
    """Return `{"approved": 3, "candidates": 2}`; empty where kl was not set up.

    Approved memories are counted by their files, unread: a status must not cost more than it shows.
    """
    if not ws.initialized:
        return {}
    files = authored_files(ws.root, {MEMORY.name: MEMORY}, 0)
    approved = sum("/archive/" not in path for path in files)
    return {"approved": approved, "candidates": count_records(ws, MEMORY.name, "candidate")}


def _counts(db: Database) -> dict[str, int]:
    by_source = db.rows("SELECT source, COUNT(*) FROM receipt GROUP BY source")
    row = db.row("SELECT (SELECT COUNT(*) FROM commit_log), (SELECT COUNT(*) FROM claim)")
    assert row is not None  # a SELECT without FROM gives one row
    totals = dict(zip(COUNTED, (row[0], count_tests(db), row[1]), strict=True))
    return {f"receipts {source}": n for source, n in by_source} | totals


def _manifest_has_mistakes(ws: Workspace) -> bool:
    """True for a manifest that `kl arch check` would refuse. One that was read before is not read
    as YAML again.
    """
    from kl_hooks.arch.manifest import load_manifest
    from kl_hooks.store.files import read_small

    try:
        text = read_small(ws.root / MANIFEST, within=ws.root)
        if text is not None:
            load_manifest(ws.state.cache, MANIFEST, text)
    except KlError:
        return True
    return False


def _to_dict(status: Status) -> dict[str, Any]:
    place = status.place
    content = status.content
    return {
        "root": status.root,
        "state": status.folder,
        "shared": status.shared,
        "tree": place.tree,
        "head": place.head,
        "branch": place.branch,
        "changed": place.changed,
        "manifest": status.has_manifest,
        "manifest_mistakes": status.has_manifest_mistakes,
        "counts": dict(status.counts),
        "proof": _content_to_dict(content),
        "wrong": content.wrong,
        "failing": [test._asdict() for test in content.failing],
        "unchecked_commits": list(status.unchecked_commits),
        "stale_claims": [
            {"id": claim.id, "reason": claim.reasons[-1]} for claim in status.stale_claims
        ],
        "drift": status.drift.receipt.result.get("verdict") if status.drift else None,
        "memories": dict(status.memories),
        "records": {kind: dict(numbers) for kind, numbers in status.records.items()},
        "waiting": dict(status.waiting),
        "unread": dict(status.unread),
    }


def _content_to_dict(content: ContentStatus) -> dict[str, Any]:
    proof = content.proof
    return {
        "tier": proof.tier.word,
        "run": proof.run,
        "reasons": list(proof.notes if proof.run else proof.reasons),
        "untracked": content.is_untracked,
        "assessed": not proof.gaps,
        **content.evidence.to_dict(),
        "nearest": content.nearest.to_dict() if content.nearest else None,
        "tests": proof.tests.to_dict(),
    }


STATUS: Final = Operation(
    "status",
    "Show what is recorded here, and what is proven for this content.",
    StatusRequest,
    _status,
    _to_dict,
    "kl.status/4",
    "kl status --format json",
    is_tool=False,
    progress=IMPORTING,
)
