"""Mining: patterns of receipts and transcripts become candidates, or reinforce memories.

Pulled, never pushed: whoever looks at memories mines what is new first. Nothing new costs two short queries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.kinds.memory.add import find_existing, is_same_pattern, pruned_ids, revive
from kl_hooks.kinds.memory.kind import KIND
from kl_hooks.kinds.memory.patterns import (
    COMMANDS_LOOKED_AT,
    COMMITS_LOOKED_AT,
    MOST_NEW,
    RUNS_LOOKED_AT,
    Pattern,
    id_of,
    title_of,
)
from kl_hooks.kinds.memory.receipt_mining import TESTS, receipt_patterns
from kl_hooks.kinds.memory.score import REINFORCED, reinforcements
from kl_hooks.kinds.memory.status import CURSOR, captured_state
from kl_hooks.records.events import Event, append_events, events_by_record
from kl_hooks.records.prompt_injection import injection_reasons
from kl_hooks.records.write import create_record, create_records

if TYPE_CHECKING:
    from pathlib import Path

    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace


@dataclass(frozen=True, slots=True)
class MiningResult:
    """What one taking in did."""

    new: tuple[str, ...] = ()
    """Ids of new candidates."""
    reinforced: tuple[str, ...] = ()
    """Ids of memories that another session showed again."""
    waiting: int = 0
    """Patterns that wait for the next receipts, lest a review grow beyond what a person reads."""
    trouble: str = ""
    """Why nothing could be written; empty: it could."""


def mine_receipts(ws: Workspace, *, again: bool = False) -> MiningResult:
    """Mines what receipts and commits have shown since the last time; with `again` although nothing is new.

    Never raises for a store that can't be read or written: whoever looks at memories sees what is there.
    """
    from kl_hooks.evidence.commits import newest_commits, read_cursor, write_cursor
    from kl_hooks.evidence.ingestion import sync_evidence

    if not ws.initialized:
        return MiningResult()
    sync_evidence(ws)
    try:
        with ws.store.reading() as db:
            now = captured_state(db) if db is not None else ""
            if db is None or (now == read_cursor(db, CURSOR) and not again):
                return MiningResult()
            found = receipt_patterns(_entries(db), newest_commits(db, COMMITS_LOOKED_AT))
        taken = store_patterns(ws, found)
        with ws.store.writing(what="noting what memories were mined from") as db, db.transaction():
            write_cursor(db, CURSOR, now)
    except (EnvironmentProblem, OSError) as problem:
        return MiningResult(trouble=str(problem))
    return taken


def update_memories(ws: Workspace) -> None:
    """Mine what is new, write MEMORY.md where that changed anything, and apply the rejections of other clones."""
    from kl_hooks.kinds.memory.memory_page import write_page
    from kl_hooks.kinds.memory.review import sync_rejections

    if ws.settings.memory_auto_extract:
        result = mine_receipts(ws)
        if result.new or result.reinforced:
            write_page(ws)
    sync_rejections(ws)


def mine_transcripts(ws: Workspace, paths: Sequence[Path]) -> MiningResult:
    """Mines transcripts of agents. UsageProblem for a file that is none; then nothing was taken in."""
    from kl_hooks.evidence.sources.transcript import read_transcript
    from kl_hooks.kinds.memory.transcript_mining import transcript_patterns

    return store_patterns(ws, transcript_patterns([read_transcript(path) for path in paths]))


def _entries(db: Database) -> list[Any]:
    from kl_hooks.evidence.ledger import failing_runs, recent

    found = recent(db, COMMANDS_LOOKED_AT, "command")
    for source in TESTS:
        found += failing_runs(db, RUNS_LOOKED_AT, source)
    return found


def store_patterns(
    ws: Workspace, found: Sequence[Pattern], made_of: Callable[[str, Pattern], dict[str, Any]] | None = None,
    most: int = MOST_NEW,
) -> MiningResult:  # fmt: skip
    """Makes candidates of the patterns that were seen often enough, and reinforces those that are known.

    What was rejected or deleted stays away; what upkeep took out may return. At most `most` are made at once.
    `made_of`: (id, pattern) → the fields of its candidate, where it is not `candidate_values`.
    """
    by_id: dict[str, Pattern] = {}
    for one in found:
        by_id.setdefault(id_of(one.pattern), one)
    seen, gone = find_existing(ws, list(by_id))
    back = set(pruned_ids(ws, gone))
    fresh = [(i, one) for i, one in by_id.items() if i not in seen and (i not in gone or i in back) and one.enough]
    alive = [
        i for i, record in seen.items() if record.status != "rejected" and is_same_pattern(record, by_id[i].pattern)
    ]
    sessions = {i: {e.session for e in some} for i, some in events_by_record(ws, alive, (REINFORCED,)).items()}
    again = [event for i in alive for event in reinforcements(i, by_id[i].sightings, sessions[i])]
    now = fresh[:most]
    raws = {i: made_of(i, one) if made_of else candidate_values(one) for i, one in now}
    _create_candidates(ws, [raw for i, raw in raws.items() if i not in back])
    for i in raws:
        if i in back:
            revive(ws, i, raws[i], "mine")
    append_events(ws, [*again, *(event for i, one in now for event in reinforcements(i, one.sightings))])
    return MiningResult(tuple(i for i, _ in now), tuple(dict.fromkeys(_ids(again))), len(fresh) - len(now))


def _create_candidates(ws: Workspace, raws: Sequence[Mapping[str, Any]]) -> None:
    """Makes all of them at once; where somebody else was faster with one of them, the others."""
    try:
        create_records(ws, KIND, raws, by="mine")
    except UsageProblem:
        for raw in raws:
            with suppress(UsageProblem):
                create_record(ws, KIND, raw, by="mine")


def candidate_values(found: Pattern) -> dict[str, Any]:
    """The fields of a new candidate. What receipts show has no end of its own: it is pruned when nothing shows it."""
    raw: dict[str, Any] = {
        "title": title_of(found.pattern), "pattern": found.pattern, "category": found.category,
        "importance": found.importance, "authority": "auto", "source": found.source,
        "session": found.sessions[0] if found.sessions else "",
    }  # fmt: skip
    if found.source == "receipts":
        raw["expires"] = None
    if why := injection_reasons(found.pattern) if found.untrusted else ():
        raw["quarantine"] = "; ".join(why)
    return raw


def _ids(events: Sequence[Event]) -> list[str]:
    return [one.record for one in events]
