"""Upkeep policies that look at more than one package: each proposes changes, and makes them when
asked to.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from kl_hooks.clock import DAY, is_older, micros
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.evidence.claims import all_claims
from kl_hooks.evidence.compaction import compact, compactable_runs
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.provenance import worktree_state
from kl_hooks.git.files import files_matching
from kl_hooks.git.repository import ref_trees
from kl_hooks.hookspecs import Policy
from kl_hooks.kinds.memory.review import tally_of
from kl_hooks.model.claim import Tier
from kl_hooks.model.definitions import lazy_pattern
from kl_hooks.model.lifecycle import Change, Lifecycle
from kl_hooks.model.record import Record
from kl_hooks.model.text import counted
from kl_hooks.records.events import Event, list_events
from kl_hooks.records.query import RecordFilter, get_records, list_records
from kl_hooks.records.retention import purge_records
from kl_hooks.records.write import apply_verb, pending_proposals
from kl_hooks.store.files import read_small
from kl_hooks.store.state import locate_state, state_of_server

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace

_DECISIONS = "superseded decisions"
_RUNS = "old runs"
_GRAPHS = "orphaned graphs"
_FILES = "ephemeral files"
_CACHE = "cache"
_DECAY: Final = "claim decay"
_AGED, _IDLE = "aged memory", "idle candidates"
_WAITING = "waiting proposals"
_GOALS = "idle objectives"
_HABITS = "review habits"
_ESCALATED_AFTER: Final = 7
"""Days that a proposal may wait for a person."""
_IDLE_GOAL: Final = 90
"""Days without a change of an active objective."""
_FEWEST_REVIEWS: Final = 10
_HABIT: Final = 0.9
"""Share of equal answers from which they are a habit."""
_ARCHIVE: Final = "archive"
_CANDIDATE: Final = "candidate"
# a receipt can confirm these again; what a person added it can't
_MINED: Final = ("receipts", "transcript")
# every word that could be the beginning of an ID of a receipt or a run
_HASH: Final = lazy_pattern(r"(?<![0-9a-f])[0-9a-f]{8,64}(?![0-9a-f])")
_IGNORE_FILE: Final = ".kl/.klignore"
# microseconds, as all times of upkeep
_DATABASE_FILES: Final = ("", "-journal", "-wal", "-shm")
"""SQLite's own files beside a database (sqlite.org/tempfiles.html)."""
_PROTECTED: Final = (
    "kl.db*",
    "high-water*",
    "migration.*",
    "store.lock",
    "spool/*",
    "backup/*",
    "*archive*",
    "README",
    ".gitignore",
    "init*",
    "maintain*",
    "events*",
    "accesses*",
    "seeded.json",
    "*.lock",
)
"""Paths in the state directory that hold evidence, records, captures, copies, archives or events.
"""


def superseded_decisions(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Return the decisions to archive."""
    if "decision" not in ws.kinds:
        return []
    records = list_records(ws, RecordFilter(("decision",), ("superseded",), expired=True))
    names = {name for one in records for name in one.many("superseded_by")}
    return archivable(
        records, numbers, now, {one.id: one for one in get_records(ws, sorted(names))}
    )


def archivable(
    records: Iterable[Record],
    numbers: Lifecycle,
    now: int,
    successors: Mapping[str, Record] | None = None,
) -> list[Change]:
    """Return the superseded decisions whose time is over. Pure.

    `successors`: ID → record. Retention counts from the day the newest successor was decided,
    because an imported decision has only the day of its import; without one from its own last
    change.
    """
    changes = []
    days = numbers.adr_retention_days
    later = successors or {}
    for decision in records:
        if (
            decision.status != "superseded"
            or decision.archived
            or decision.broken
            or not decision.path
        ):
            continue
        newer = [later[i] for i in decision.many("superseded_by") if i in later]
        since = max((new.text("decided_at") or new.text("date") for new in newer), default="")
        since = since or decision.text("updated") or decision.text("date")
        if days and since and not is_older(now, micros(since), days):
            continue
        path = PurePosixPath(decision.path)
        superseding = ", ".join(decision.many("superseded_by"))
        reason = f"superseded{f' by {superseding}' if superseding else ''}"
        reason += f"{f' since {since[:10]}' if since else ''}; adr_retention_days: {days}"
        changes.append(
            Change(
                "archive",
                decision.id,
                _DECISIONS,
                reason,
                decision.path,
                str(path.parent / _ARCHIVE / path.name),
            )
        )
    return changes


def archive_decisions(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Move each file that is still there. EnvironmentProblem where the archive has a file of its
    name, or is a link.
    """
    for change in changes:
        source = ws.root / change.old
        target = ws.root / change.new
        if not source.is_file() or source.is_symlink():  # moved by another run, or not ours to move
            continue
        folder = target.parent
        folder.mkdir(exist_ok=True)
        if not folder.resolve().is_relative_to(ws.root.resolve()) or folder.is_symlink():
            raise EnvironmentProblem(
                "is a link.", place=str(folder), hint="Put the folder itself here."
            )
        # rename(2) replaces a file without a word; lexists() sees a link that leads nowhere too
        if os.path.lexists(target):
            raise EnvironmentProblem(
                "is there already.", place=change.new, hint=f"Give {change.old} another name."
            )
        source.rename(target)


def aged_memories(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Return the approved memories that become candidates again."""
    return demotions(*_memories_and_events(ws), now, numbers)


def idle_candidates(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Return the candidates to prune."""
    return prunings(*_memories_and_events(ws), now, numbers)


def demotions(
    records: Iterable[Record], events: Mapping[str, Sequence[Event]], now: int, numbers: Lifecycle
) -> list[Change]:
    """Return the mined, approved memories that nothing confirmed within the window. Pure.

    A session that shows it confirms a memory, and so does approving or editing it; injecting it
    does not. What a person added stays: no receipt could ever confirm it.
    """
    days = numbers.memory_reinforce_window_days
    why = f"nothing confirmed it for {{}} (window: {days})"
    return [
        Change("demote", one.id, _AGED, why.format(counted(age, "day")), one.status, _CANDIDATE)
        for one, age in _too_old(records, events, "approved", now, days)
        if one.text("source") in _MINED
    ]


def prunings(
    records: Iterable[Record], events: Mapping[str, Sequence[Event]], now: int, numbers: Lifecycle
) -> list[Change]:
    """Return the candidates that nobody opened and nothing confirmed for so long. Pure."""
    days = numbers.memory_candidate_pruning_days
    return [
        Change(
            "prune", one.id, _IDLE, f"idle for {counted(age, 'day')} (limit: {days})", one.status
        )
        for one, age in _too_old(records, events, _CANDIDATE, now, days)
    ]


def _too_old(
    records: Iterable[Record],
    events: Mapping[str, Sequence[Event]],
    status: str,
    now: int,
    days: int,
) -> Iterator[tuple[Record, int]]:
    """Yield each record of a status that nothing confirmed for more than `days` (0: none), and for
    how many days.
    """
    for record in records if days else ():
        if record.status == status and not record.archived and not record.broken:
            tally = tally_of(events.get(record.id, ()))
            moments = [
                record.text("date"),
                record.text("updated"),
                tally.reinforced_at,
                tally.reviewed_at,
            ]
            if status == _CANDIDATE:
                moments += [tally.opened_at]
            last = max((micros(moment) for moment in moments if moment), default=0)
            if is_older(now, last, days):
                yield record, (now - last) // DAY


def _memories_and_events(ws: Workspace) -> tuple[list[Record], dict[str, list[Event]]]:
    events: dict[str, list[Event]] = {}
    for event in list_events(ws):
        events.setdefault(event.record, []).append(event)
    return list_records(ws, RecordFilter(("memory",), expired=True)), events


def demote_memories(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Make candidates of them again. Their files are deleted; git has them."""
    for change in changes:
        if any(record.status == change.old for record in get_records(ws, [change.id])):
            apply_verb(ws, change.id, "demote", {"reason": change.reason}, by="upkeep")


def prune_candidates(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Remove them from the state, all or none, without those that were approved or rejected
    meanwhile.
    """
    still = {
        record.id
        for record in get_records(ws, [one.id for one in changes])
        if record.status == _CANDIDATE
    }
    purge_records(ws, [one for one in changes if one.id in still], now)


def old_runs(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Return the test runs whose rows nothing needs; none where git can't list the content trees
    that have a name.
    """
    days = numbers.run_rows_days
    if not days:
        return []
    sync_evidence(ws)
    try:
        named = {*worktree_state(ws.repo).trees, *(ref_trees(ws.repo) if ws.repo else ())}
    except EnvironmentProblem:
        return []
    why = f"run_rows_days: {days}; newer runs have a result of each of its tests"
    # archived and expired records too: what they cite must stay readable
    records = list_records(ws, RecordFilter(archived=True, expired=True))
    cited = {
        word
        for record in records
        for value in record.values.values()
        for word in _HASH.findall(str(value))
    }
    with ws.store.reading() as db:
        if db:
            runs = compactable_runs(db, now, days, named, cited)
        else:
            runs = []
    return [
        Change(
            "fold",
            one.id,
            _RUNS,
            f"{one.source} run of {one.ended[:10]}; {why}",
            counted(len(one.tests), "test"),
            "folded",
        )
        for one in runs
    ]


def compact_runs(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Drop their rows, all or none."""
    with ws.store.writing(what="upkeep") as db, db.transaction():
        compact(db, [one.id for one in changes], now)


def orphaned_graphs(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Return graph databases that belong to no worktree and were not written within the days of
    grace.

    They are deleted as a whole. Inside a graph nothing is left over: it is derived from files.
    """
    days = numbers.orphaned_node_grace_period_days
    graphs_in_use = _graphs_of_worktrees(ws)
    folder = ws.state.graph.parent
    locks = [path for path in folder.glob("*.lock") if not path.with_suffix(".db").exists()]
    reason = f"its worktree was removed; orphaned_node_grace_period_days: {days}"
    return [
        Change("prune", f"graph/{path.name}", _GRAPHS, reason, "kept")
        # a lock without a database too: a writer that was stopped before it made one leaves it
        # behind
        for path in sorted([*folder.glob("*.db"), *locks])
        if path.with_suffix(".db").name not in graphs_in_use
        and is_older(now, path.lstat().st_mtime_ns // 1000, days)
    ]


def _graphs_of_worktrees(ws: Workspace) -> set[str]:
    """Return the names of the graphs of all worktrees that git lists."""
    if ws.repo is None:
        return {ws.state.graph.name}
    # gitrepository-layout(5): a folder here for each linked worktree, and none for the main one
    common = ws.repo.common_dir
    inside = ws.repo.common_dir / "worktrees"
    folders = [common, *(inside.iterdir() if inside.is_dir() else ())]
    states = [
        locate_state(ws.root, common, one, str(ws.state.directory), ws.environ) for one in folders
    ]
    if address := ws.store.address:  # with a team's database, graphs have its key in their names
        states += [state_of_server(one, address.key) for one in states]
    return {one.graph.name for one in states}


def delete_graphs(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Delete these databases, unless there is a worktree of that name again."""
    for change in changes:
        path = ws.state.graph.parent / Path(change.id).with_suffix(".db").name
        # asked again: a worktree may have been added since the changes were listed
        if path.name not in _graphs_of_worktrees(ws):
            for end in _DATABASE_FILES:
                path.with_name(path.name + end).unlink(missing_ok=True)
            path.with_suffix(".lock").unlink(missing_ok=True)
            with suppress(OSError):  # none was needed, or somebody waits
                path.with_suffix(".queue").rmdir()


def ephemeral_files(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Return the files of the state directory that `.kl/.klignore` names, without the protected
    ones.

    git itself reads the patterns, from the state directory: the last one that matches counts, and
    `!` re-includes.
    """
    patterns = read_small(ws.root / _IGNORE_FILE, within=ws.root)
    if not patterns or not ws.state.directory.is_dir():
        return []
    with tempfile.TemporaryDirectory(prefix="kl-ignored-") as folder:
        matching = files_matching(ws.state.directory, patterns, Path(folder))
    return [
        Change("remove", path, _FILES, f"named in {_IGNORE_FILE}", "kept")
        for path in matching
        if not _is_protected(path)
    ]


def _is_protected(path: str) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in _PROTECTED)


def delete_files(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Delete these files; of a link the link, not its target."""
    root = ws.state.directory
    for change in changes:
        path = root / change.id
        # A link in the state directory may lead out of it: the parent is resolved, the file itself
        # never followed.
        if not _is_protected(change.id) and path.parent.resolve().is_relative_to(root.resolve()):
            path.unlink(missing_ok=True)


def expired_values(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Return one change where the cache has expired values."""
    count = ws.cache.expired(now / 1_000_000)
    if not count:
        return []
    return [Change("remove", "cache", _CACHE, "expired", counted(count, "value"))]


def drop_expired_values(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Drop the expired values of the cache."""
    ws.cache.drop_expired(now / 1_000_000)


def waiting_proposals(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Return the proposals of agents that nobody has settled for a week: only reported, for a
    person decides.
    """
    why = "waits for a person for {} (limit: {}). See: kl knowledge proposals"
    return [
        Change(
            "escalate",
            one.record,
            _WAITING,
            why.format(counted((now - micros(one.at)) // DAY, "day"), _ESCALATED_AFTER),
        )
        for one in pending_proposals(ws)
        if is_older(now, micros(one.at), _ESCALATED_AFTER)
    ]


def idle_objectives(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Return the active objectives that nobody changed for long: only reported, since giving one up
    is a person's.
    """
    changes = []
    for objective in list_records(ws, RecordFilter(("objective",), ("active",))):
        since = objective.text("updated") or objective.text("date")
        if not objective.broken and since and is_older(now, micros(since), _IDLE_GOAL):
            reason = (
                f"unchanged since {since[:10]} (limit: {_IDLE_GOAL} days): kl objective abandon, or"
                " edit it"
            )
            changes.append(Change("abandon", objective.id, _GOALS, reason, objective.status))
    return changes


def decayed_claims(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Verified claims that count as inferred by now. Tiers are computed at every reading: this only
    reports them.
    """
    sync_evidence(ws)
    aged = [claim for claim in all_claims(ws) if claim.max_tier < Tier.VERIFIED]
    return [
        Change("decay", claim.about, _DECAY, claim.reasons[-1], Tier.VERIFIED.word, claim.tier.word)
        for claim in aged
    ]


def review_habits(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Return sorts of memories that reviews nearly always answer alike: only reported, for a
    setting may help.
    """
    # the last answer alone: what was approved, demoted and rejected was rejected
    answers: dict[str, list[str]] = {}
    records, events = _memories_and_events(ws)
    for record in records:
        done = [
            str(event.body.get("do"))
            for event in events.get(record.id, ())
            if event.name == "reviewed"
        ]
        sort = f"{record.text('category') or 'pattern'} from {record.text('source') or 'people'}"
        answers.setdefault(sort, []).extend(do for do in done[-1:] if do in ("approve", "reject"))
    changes = []
    for sort, decisions in sorted(answers.items()):
        for do, hint in (
            ("approve", "git config kl.reviewers"),
            ("reject", "kl memory configure --auto-extract no"),
        ):
            if len(decisions) >= _FEWEST_REVIEWS and decisions.count(do) >= _HABIT * len(decisions):
                reason = (
                    f"{decisions.count(do)} of {len(decisions)} reviews: {do}. A setting may "
                    f"save them: {hint}"
                )
                changes.append(Change("suggest", sort, _HABITS, reason))
    return changes


POLICIES: Final = (
    Policy(
        _DECISIONS,
        "Superseded decisions go to the archive.",
        superseded_decisions,
        archive_decisions,
    ),
    Policy(
        _AGED,
        "Memories that nothing confirmed are candidates again.",
        aged_memories,
        demote_memories,
    ),
    Policy(_IDLE, "Candidates that nobody opened are pruned.", idle_candidates, prune_candidates),
    Policy(_RUNS, "Test rows of old runs are compacted.", old_runs, compact_runs),
    Policy(_DECAY, "Verified claims that nobody observed again count as inferred.", decayed_claims),
    Policy(_GRAPHS, "Graphs of removed worktrees are deleted.", orphaned_graphs, delete_graphs),
    Policy(
        _FILES,
        f"Files of the state that {_IGNORE_FILE} names are deleted.",
        ephemeral_files,
        delete_files,
    ),
    Policy(_CACHE, "Expired values of the cache are dropped.", expired_values, drop_expired_values),
    Policy(
        _WAITING, "Proposals that wait for a person for a week are reported.", waiting_proposals
    ),
    Policy(_GOALS, "Active objectives that nobody changed for long are reported.", idle_objectives),
    Policy(_HABITS, "Reviews that nearly always end alike are reported.", review_habits),
)
