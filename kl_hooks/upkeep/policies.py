"""Upkeep policies that look at more than one package: each proposes changes, and makes them when asked to.

Graph databases of removed worktrees go as a whole: inside a graph nothing is left over, because it is derived from
files. Decisions and violations are never pruned: they come from files and checks.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from kl_hooks.clock import micros
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.evidence.compaction import all_runs, compact, compactable_runs
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.provenance import worktree_state
from kl_hooks.git.files import files_matching
from kl_hooks.git.repository import ref_trees
from kl_hooks.kinds.memory.score import Tally, tally_of
from kl_hooks.model.lifecycle import Change, Lifecycle
from kl_hooks.model.record import Record
from kl_hooks.records import retention as records_upkeep
from kl_hooks.records.events import Event, list_events
from kl_hooks.records.query import RecordFilter, get_records, list_records
from kl_hooks.records.write import apply_verb as verb
from kl_hooks.store.files import read_small
from kl_hooks.store.state import locate_state

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


DECISIONS: Final = "superseded decisions"
_DECISION, _SUPERSEDED, _ARCHIVE = "decision", "superseded", "archive"


def archivable(
    records: Iterable[Record], numbers: Lifecycle, now: int, successors: Mapping[str, Record] | None = None
) -> list[Change]:
    """The superseded decisions that are to be archived. Pure.

    `successors`: ID → the record, of those that took their place. Retention counts from the day the newest of these was
    decided, which an imported decision can't say of itself; else from its own last change.
    """
    found, days = [], numbers.adr_retention_days
    for one in records:
        if one.status != _SUPERSEDED or one.archived or one.broken or not one.path:
            continue
        newer = [(successors or {})[i] for i in one.many("superseded_by") if i in (successors or {})]
        since = [new.text("decided_at") or new.text("date") for new in newer]
        changed = max([day for day in since if day], default="") or one.text("updated") or one.text("date")
        if days and changed and not numbers.old(now, micros(changed), days):
            continue
        place = PurePosixPath(one.path)
        by = ", ".join(one.many("superseded_by"))
        reason = f"superseded{f' by {by}' if by else ''}{f' since {changed[:10]}' if changed else ''}"
        target = place.parent / _ARCHIVE / place.name
        found.append(
            Change("archive", one.id, DECISIONS, f"{reason}; adr_retention_days: {days}", one.path, str(target))
        )
    return found


def superseded_decisions(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Superseded decisions that still stand among the others."""
    if _DECISION not in ws.kinds:
        return []
    records = list_records(ws, RecordFilter((_DECISION,), (_SUPERSEDED,), expired=True))
    names = {name for one in records for name in one.many("superseded_by")}
    return archivable(records, numbers, now, {one.id: one for one in get_records(ws, sorted(names))})


def archive_decisions(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Moves each file; one that is gone is passed over. EnvironmentProblem where the archive has a file of its name."""
    for one in changes:
        source, target = ws.root / one.old, ws.root / one.new
        if not source.is_file() or source.is_symlink():
            continue
        _make_folder(ws.root, target.parent)
        if os.path.lexists(target):
            raise EnvironmentProblem("is there already.", place=one.new, hint=f"Give {one.old} another name.")
        source.rename(target)


def _make_folder(root: Path, folder: Path) -> None:
    """Makes the folder of the archive; EnvironmentProblem where a link would lead it elsewhere."""
    folder.mkdir(exist_ok=True)
    if not folder.resolve().is_relative_to(root.resolve()) or folder.is_symlink():
        raise EnvironmentProblem("is a link.", place=str(folder), hint="Put the folder itself here.")


_MINED: Final = ("receipts", "transcript")
_EventsById = Mapping[str, Sequence[Event]]
"""Id → its Events, in any order."""


def demotions(records: Sequence[Record], events: _EventsById, now: int, numbers: Lifecycle) -> list[Change]:
    """Approved memories that were mined, and that nothing confirmed within the window, go back to the candidates.

    A session that shows it confirms, and so does approving or editing it; being given does not. What a person told
    stays: no receipt could ever confirm it. 0 days: none goes back.
    """
    days = numbers.memory_reinforce_window_days
    return [
        Change(
            "demote", one.id, "aged memory", f"nothing confirmed it for {_age(last, now)} days (window: {days})",
            "approved", "candidate",
        )
        for one, last in _last_confirmed(records, events, "approved")
        if days and one.text("source") in _MINED and numbers.old(now, last, days)
    ]  # fmt: skip


def prunings(records: Sequence[Record], events: _EventsById, now: int, numbers: Lifecycle) -> list[Change]:
    """Candidates that nobody looked at and nothing confirmed for so long. 0 days: none is taken out."""
    days = numbers.memory_candidate_pruning_days
    return [
        Change("prune", one.id, "idle candidates", f"idle for {_age(last, now)} days (limit: {days})", "candidate")
        for one, last in _last_confirmed(records, events, "candidate")
        if days and numbers.old(now, last, days)
    ]


def _last_confirmed(records: Sequence[Record], events: _EventsById, status: str) -> Iterator[tuple[Record, int]]:
    """Each record of this status with the last moment at which something confirmed it."""
    for one in records:
        if one.status == status and not one.archived and not one.broken:
            tally = tally_of(events.get(one.id, ()))
            yield one, _confirmed(one, tally)


def _confirmed(record: Record, tally: Tally) -> int:
    looked_at = tally.opened_at if record.status == "candidate" else ""
    said = (record.text("date"), record.text("updated"), tally.reinforced_at, tally.reviewed_at, looked_at)
    return max((moment for one in said if (moment := _moment(one)) is not None), default=0)


def _moment(text: str) -> int | None:
    return micros(text) if text else None


def _age(last: int, now: int) -> int:
    return (now - last) // 86_400_000_000


AGED_MEMORY: Final = "aged memory"
IDLE_CANDIDATES: Final = "idle candidates"
_MEMORY: Final = "memory"


def aged_memories(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Approved memories that are to be candidates again."""
    return demotions(*_memories_and_events(ws), now, numbers)


def idle_candidates(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Candidates that are to go."""
    return prunings(*_memories_and_events(ws), now, numbers)


def _memories_and_events(ws: Workspace) -> tuple[list[Record], Mapping[str, Sequence[Event]]]:
    """All memories, and the Events of each."""
    happened: dict[str, list[Event]] = {}
    for one in list_events(ws):
        happened.setdefault(one.record, []).append(one)
    return list_records(ws, RecordFilter((_MEMORY,), expired=True)), happened


def demote_memories(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Takes each back to the candidates: its file goes, git keeps it."""
    for one in changes:
        if any(record.status == one.old for record in get_records(ws, [one.id])):
            verb(ws, one.id, "demote", {"reason": one.reason}, by="upkeep")


def prune_candidates(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Takes them out of the state, all or none; one that was approved or refused meanwhile stays."""
    still = {record.id for record in get_records(ws, [one.id for one in changes]) if record.status == "candidate"}
    records_upkeep.purge_records(ws, [one for one in changes if one.id in still], now)


RUNS: Final = "old runs"
_HASH: Final = re.compile(r"(?<![0-9a-f])[0-9a-f]{8,64}(?![0-9a-f])")


def old_runs(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Old runs of tests whose rows nothing needs any more. None where git can't say which trees have a name."""
    days = numbers.run_rows_days
    if not days:
        return []
    sync_evidence(ws)
    try:
        kept = {*worktree_state(ws.repo).trees, *(ref_trees(ws.repo) if ws.repo else ())}
    except EnvironmentProblem:
        return []
    with ws.store.reading() as db:
        runs = all_runs(db) if db else []
    why = f"run_rows_days: {days}; newer runs have a word on each of its tests"
    return [
        Change(
            "fold", one.id, RUNS, f"{one.source} run of {one.ended[:10]}; {why}", f"{len(one.tests)} tests", "folded"
        )
        for one in compactable_runs(runs, now, days, kept, _cited(ws))
    ]


def _cited(ws: Workspace) -> set[str]:
    """Whatever in the records could be the beginning of a receipt or of a run."""
    records = list_records(ws, RecordFilter(archived=True, expired=True))
    return {word for record in records for value in record.values.values() for word in hashes(str(value))}


def hashes(text: str) -> set[str]:
    """The words of a text that could be the beginning of an id of a receipt or a run. Pure."""
    return set(_HASH.findall(text))


def compact_runs(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Folds them, all or none."""
    with ws.store.writing(what="upkeep") as db, db.transaction():
        compact(db, [one.id for one in changes], now)


GRAPHS: Final = "orphaned graphs"
_DATABASE_FILES: Final = ("", "-journal", "-wal", "-shm")


def orphaned_graphs(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Graph databases that belong to no worktree and were not written for the days of grace."""
    days, found = numbers.orphaned_node_grace_period_days, []
    wanted = _graphs_of_worktrees(ws)
    folder = ws.state.graph.parent
    locks = [path for path in folder.glob("*.lock") if not path.with_suffix(".db").exists()]
    for path in sorted([*folder.glob("*.db"), *locks]):
        written = path.lstat().st_mtime_ns // 1000
        if path.with_suffix(".db").name not in wanted and numbers.old(now, written, days):
            reason = f"its worktree is gone; orphaned_node_grace_period_days: {days}"
            found.append(Change("prune", f"graph/{path.name}", GRAPHS, reason, "kept"))
    return found


def _graphs_of_worktrees(ws: Workspace) -> set[str]:
    """The names of the graphs of all worktrees that git knows."""
    names = {ws.state.graph.name, "main.db"}
    if ws.repo is None:
        return names
    inside = ws.repo.common_dir / "worktrees"
    for git_dir in inside.iterdir() if inside.is_dir() else ():
        names.add(locate_state(ws.root, ws.repo.common_dir, git_dir, str(ws.state.directory), ws.environ).graph.name)
    return names


def delete_graphs(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Takes these databases out, unless a worktree of that name is there again."""
    for one in changes:
        path = ws.state.graph.parent / Path(one.id).name
        if path.with_suffix(".db").name in _graphs_of_worktrees(ws):
            continue
        for end in _DATABASE_FILES:
            path.with_name(path.with_suffix(".db").name + end).unlink(missing_ok=True)
        path.with_suffix(".lock").unlink(missing_ok=True)


FILES: Final = "ephemeral files"
IGNORE_FILE: Final = ".kl/.klignore"
_PROTECTED: Final = (
    "kl.db*", "high-water", "store.lock", "spool/*", "backup/*", "*archive*", "README", ".gitignore", "init*",
    "maintain*", "events*", "seeded.json", "*.lock",
)  # fmt: skip
"""Paths from the state directory that stay: evidence, records, what waits to be taken in, copies, archives, events."""


def ephemeral_files(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Files in the state directory that are named there and hold nothing but what can be had again."""
    text = read_small(ws.root / IGNORE_FILE, within=ws.root)
    if not text or not ws.state.directory.is_dir():
        return []
    return [Change("remove", path, FILES, f"named in {IGNORE_FILE}", "kept") for path in _ignored_files(ws, text)]


def _ignored_files(ws: Workspace, text: bytes) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="kl-ignored-") as folder:
        return [path for path in files_matching(ws.state.directory, text, Path(folder)) if not _is_protected(path)]


def _is_protected(path: str) -> bool:
    """True for a path, from the state directory, that upkeep never deletes by name. Pure."""
    return any(fnmatchcase(path, pattern) for pattern in _PROTECTED)


def delete_files(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Deletes these files; a link is deleted, not what it leads to."""
    root = ws.state.directory
    for one in changes:
        path = root / one.id
        if not _is_protected(one.id) and path.parent.resolve().is_relative_to(root.resolve()):
            path.unlink(missing_ok=True)


CACHE: Final = "cache"


def expired_values(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """One change where the cache holds values whose time is over."""
    count = ws.cache.expired(now / 1_000_000)
    return [Change("remove", "cache", CACHE, "their time is over", f"{count} values")] if count else []


def drop_expired_values(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Drops them."""
    ws.cache.drop_expired(now / 1_000_000)
