"""Taking in: patterns that receipts and transcripts show become candidates, or reinforce what is known.

Pulled, never pushed: whoever looks at memories takes in what receipts have shown since. Nothing new, nothing is done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.kinds.memory.events import reinforcements
from kl_hooks.kinds.memory.kind import KIND
from kl_hooks.kinds.memory.known import id_of, known, returning, revived, same, title_of
from kl_hooks.kinds.memory.mine import TESTS, mine
from kl_hooks.kinds.memory.seen import Found
from kl_hooks.kinds.memory.standing import CURSOR, stand
from kl_hooks.kinds.memory.tally import REINFORCED
from kl_hooks.kinds.memory.thresholds import COMMANDS_LOOKED_AT, COMMITS_LOOKED_AT, MOST_NEW, RUNS_LOOKED_AT
from kl_hooks.records.events import Event, append_events, events_by_record
from kl_hooks.records.prompt_injection import injection_reasons
from kl_hooks.records.write import create_record, create_records

if TYPE_CHECKING:
    from pathlib import Path

    from kl_hooks.store.database import Database
    from kl_hooks.workspace.open import Workspace


@dataclass(frozen=True, slots=True)
class Taken:
    """What one taking in did."""

    new: tuple[str, ...] = ()
    """Ids of new candidates."""
    reinforced: tuple[str, ...] = ()
    """Ids of memories that another session showed again."""
    waiting: int = 0
    """Patterns that wait for the next receipts, lest a review grow beyond what a person reads."""
    trouble: str = ""
    """Why nothing could be written; empty: it could."""


def take_in(ws: Workspace, *, again: bool = False) -> Taken:
    """Mines what receipts and commits have shown since the last time; with `again` although nothing is new.

    Never raises for a store that can't be read or written: whoever looks at memories sees what is there.
    """
    from kl_hooks.evidence.catch_up import catch_up
    from kl_hooks.evidence.commits import commit_log
    from kl_hooks.evidence.cursors import cursor_of, move_cursor

    if not ws.initialised:
        return Taken()
    catch_up(ws)
    try:
        with ws.store.reading() as db:
            now = stand(db) if db is not None else ""
            if db is None or (now == cursor_of(db, CURSOR) and not again):
                return Taken()
            found = mine(_entries(db), commit_log(db, COMMITS_LOOKED_AT))
        taken = keep(ws, found)
        with ws.store.writing(what="noting what memories were mined from") as db, db.transaction():
            move_cursor(db, CURSOR, now)
    except (EnvironmentProblem, OSError) as problem:
        return Taken(trouble=str(problem))
    return taken


def take_in_sessions(ws: Workspace, paths: Sequence[Path]) -> Taken:
    """Mines transcripts of agents. UsageProblem for a file that is none; then nothing was taken in."""
    from kl_hooks.evidence.sources.transcript import read_transcript
    from kl_hooks.kinds.memory.mine_sessions import mine_sessions

    return keep(ws, mine_sessions([read_transcript(path) for path in paths]))


def _entries(db: Database) -> list[Any]:
    from kl_hooks.evidence.failing import failing
    from kl_hooks.evidence.ledger import recent

    found = recent(db, COMMANDS_LOOKED_AT, "command")
    for source in TESTS:
        found += failing(db, RUNS_LOOKED_AT, source)
    return found


def keep(
    ws: Workspace, found: Sequence[Found], made_of: Callable[[str, Found], dict[str, Any]] | None = None,
    most: int = MOST_NEW,
) -> Taken:  # fmt: skip
    """Makes candidates of the patterns that were seen often enough, and reinforces those that are known.

    What was rejected or deleted stays away; what upkeep took out may return. At most `most` are made at once.
    `made_of`: (id, pattern) → the fields of its candidate, where it is not `raw_of`.
    """
    by_id: dict[str, Found] = {}
    for one in found:
        by_id.setdefault(id_of(one.pattern), one)
    seen, gone = known(ws, list(by_id))
    back = set(returning(ws, gone))
    fresh = [(i, one) for i, one in by_id.items() if i not in seen and (i not in gone or i in back) and one.enough]
    alive = [i for i, record in seen.items() if record.status != "rejected" and same(record, by_id[i].pattern)]
    sessions = {i: {e.session for e in some} for i, some in events_by_record(ws, alive, (REINFORCED,)).items()}
    again = [event for i in alive for event in reinforcements(i, by_id[i].sightings, sessions[i])]
    now = fresh[:most]
    raws = {i: made_of(i, one) if made_of else raw_of(one) for i, one in now}
    _make(ws, [raw for i, raw in raws.items() if i not in back])
    for i in raws:
        if i in back:
            revived(ws, i, raws[i], "mine")
    append_events(ws, [*again, *(event for i, one in now for event in reinforcements(i, one.sightings))])
    return Taken(tuple(i for i, _ in now), tuple(dict.fromkeys(_ids(again))), len(fresh) - len(now))


def _make(ws: Workspace, raws: Sequence[Mapping[str, Any]]) -> None:
    """Makes all of them at once; where somebody else was faster with one of them, the others."""
    try:
        create_records(ws, KIND, raws, by="mine")
    except UsageProblem:
        for raw in raws:
            with suppress(UsageProblem):
                create_record(ws, KIND, raw, by="mine")


def raw_of(found: Found) -> dict[str, Any]:
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
