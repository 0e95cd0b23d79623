"""Mining: patterns of receipts and transcripts become candidates, or reinforce memories.

Pulled, never pushed: whoever looks at memories mines what is new first. Nothing new costs two short queries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.kinds.memory.add import find_existing, is_same_pattern, pruned_ids, revive
from kl_hooks.kinds.memory.kind import KIND
from kl_hooks.kinds.memory.patterns import Pattern, id_of, title_of
from kl_hooks.kinds.memory.review import REINFORCED, reinforcements
from kl_hooks.kinds.memory.status import CURSOR, captured_state
from kl_hooks.records.events import append_events, events_by_record
from kl_hooks.records.prompt_injection import injection_reasons
from kl_hooks.records.write import create_record, create_records

if TYPE_CHECKING:
    from pathlib import Path

    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

MOST_NEW: Final = 20
"""Candidates made at once, lest a review grow beyond what a person reads; the others wait for the next receipts."""
_MOST_COMMANDS, _MOST_RUNS, _MOST_COMMITS = 500, 80, 500
"""The newest receipts and commits that are read."""


@dataclass(frozen=True, slots=True)
class MiningResult:
    """What mining changed."""

    new: tuple[str, ...] = ()
    """IDs of new candidates."""
    reinforced: tuple[str, ...] = ()
    """IDs of memories that another session showed again."""
    waiting: int = 0
    """Patterns beyond `MOST_NEW`."""
    trouble: str = ""
    """Why nothing could be written; empty: it could."""


def update_memories(ws: Workspace) -> None:
    """Mine what is new, write MEMORY.md where that changed anything, and apply the rejections of other clones."""
    from kl_hooks.kinds.memory.memory_page import write_page
    from kl_hooks.kinds.memory.review import sync_rejections

    if ws.settings.memory_auto_extract:
        result = mine_receipts(ws)
        if result.new or result.reinforced:
            write_page(ws)
    sync_rejections(ws)


def mine_receipts(ws: Workspace, *, again: bool = False) -> MiningResult:
    """Mine the receipts and commits since the last time; with `again` although nothing is new.

    Never raises for a store that can't be read or written: whoever looks at memories sees what is there.
    """
    from kl_hooks.evidence.commits import read_cursor, write_cursor
    from kl_hooks.evidence.ingestion import sync_evidence

    if not ws.initialized:
        return MiningResult()
    sync_evidence(ws)
    try:
        with ws.store.reading() as db:
            now = captured_state(db) if db is not None else ""
            if db is None or (now == read_cursor(db, CURSOR) and not again):
                return MiningResult()
            found = _receipt_patterns(db)
        result = store_patterns(ws, found)
        # The cursor moves last: a run that was killed mines again, and a session reinforces only once.
        with ws.store.writing(what="noting what memories were mined from") as db, db.transaction():
            write_cursor(db, CURSOR, now)
    except (EnvironmentProblem, OSError) as problem:
        return MiningResult(trouble=str(problem))
    return result


def _receipt_patterns(db: Database) -> list[Pattern]:
    from kl_hooks.evidence.commits import newest_commits
    from kl_hooks.evidence.ledger import failing_runs, recent
    from kl_hooks.kinds.memory.miners import TEST_SOURCES, receipt_patterns

    tests = [one for source in TEST_SOURCES for one in failing_runs(db, _MOST_RUNS, source)]
    return receipt_patterns([*recent(db, _MOST_COMMANDS, "command"), *tests], newest_commits(db, _MOST_COMMITS))


def mine_transcripts(ws: Workspace, paths: Sequence[Path]) -> MiningResult:
    """Mine transcripts of agents. UsageProblem for a file that is none; then nothing is changed."""
    from kl_hooks.evidence.sources.transcript import read_transcript
    from kl_hooks.kinds.memory.miners import transcript_patterns

    return store_patterns(ws, transcript_patterns([read_transcript(path) for path in paths]))


def store_patterns(
    ws: Workspace, found: Sequence[Pattern], extra: Mapping[str, Mapping[str, Any]] | None = None, most: int = MOST_NEW
) -> MiningResult:
    """Make candidates of the patterns that were seen often enough, and reinforce the memories that exist.

    What was rejected or deleted does not return; what upkeep pruned may. At most `most` candidates are made.
    `extra`: ID → fields of its candidate besides those that follow from the pattern.
    """
    by_id: dict[str, Pattern] = {}
    for one in found:
        by_id.setdefault(id_of(one.text), one)
    visible, former = find_existing(ws, list(by_id))
    pruned = set(pruned_ids(ws, former))
    new = [i for i, one in by_id.items() if one.enough and i not in visible and (i not in former or i in pruned)]
    alive = [
        i for i, record in visible.items() if record.status != "rejected" and is_same_pattern(record, by_id[i].text)
    ]
    sessions = {i: {e.session for e in some} for i, some in events_by_record(ws, alive, (REINFORCED,)).items()}
    events = [event for i in alive for event in reinforcements(i, by_id[i].sightings, sessions[i])]
    made = {i: {**_candidate_values(by_id[i]), **(extra or {}).get(i, {})} for i in new[:most]}
    _create_candidates(ws, [values for i, values in made.items() if i not in pruned])
    for i in (i for i in made if i in pruned):
        revive(ws, i, made[i], "mine")
    append_events(ws, [*events, *(event for i in made for event in reinforcements(i, by_id[i].sightings))])
    return MiningResult(tuple(made), tuple(dict.fromkeys(one.record for one in events)), len(new) - len(made))


def _create_candidates(ws: Workspace, values: Sequence[Mapping[str, Any]]) -> None:
    """Create all of them at once; where another process was faster with one of them, the others."""
    try:
        create_records(ws, KIND, values, by="mine")
    except UsageProblem:
        for one in values:
            # one by one: the one that is there already must not cost the others
            with suppress(UsageProblem):
                create_record(ws, KIND, one, by="mine")


def _candidate_values(found: Pattern) -> dict[str, Any]:
    """Return the fields of a new candidate. One mined from receipts does not expire: it is pruned when it is idle."""
    values: dict[str, Any] = {
        "title": title_of(found.text), "pattern": found.text, "category": found.category,
        "importance": found.importance, "authority": "auto", "source": found.source,
        "session": found.sessions[0] if found.sessions else "",
    }  # fmt: skip
    if found.source == "receipts":
        values["expires"] = None
    if reasons := injection_reasons(found.text) if found.untrusted else ():
        values["quarantine"] = "; ".join(reasons)
    return values
