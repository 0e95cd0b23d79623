"""Add memories: stated by people and agents, or mined from receipts and transcripts; and change
them.

Mining is pulled, never pushed: whoever looks at memories mines what is new first. Nothing new costs
two short queries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import DAY, iso
from kl_hooks.errors import EnvironmentProblem, ForPeople, UsageProblem
from kl_hooks.evidence.provenance import agent, producer, session
from kl_hooks.kinds.catalog import MEMORY, REJECTED_MEMORIES
from kl_hooks.kinds.memory.patterns import Pattern, Sighting, day_session, id_of, identity, title_of
from kl_hooks.kinds.memory.review import (
    Decision,
    Reviewer,
    apply_decision,
    record_basis,
    reinforce,
    sync_rejections,
)
from kl_hooks.kinds.memory.status import CURSOR, captured_state
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.kind import AUTHORITIES
from kl_hooks.model.record import Record
from kl_hooks.records.events import Event, events_by_record, stored_records
from kl_hooks.records.prompt_injection import injection_reasons
from kl_hooks.records.query import get_records
from kl_hooks.records.sync import sync
from kl_hooks.records.write import REVIVE, change_record, create_record, create_records
from kl_hooks.store.redaction import redact
from kl_hooks.workspace import require_initialized

if TYPE_CHECKING:
    from pathlib import Path

    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace


def add_memory(
    ws: Workspace,
    text: str,
    *,
    authority: str = "",
    ttl_days: int | None = None,
    tags: Sequence[str] = (),
    further_values: Mapping[str, Any] | None = None,
) -> tuple[Record, str]:
    """Return the memory of a text and what was done: `new`, `approved`, `reinforced` or `known`.

    A person's memory is approved at once; an agent's (whatever authority it asks for) is a
    candidate, and quarantined where it reads like an instruction. `ttl_days`: None as the authority
    has it, 0 for ever. UsageProblem for a text without words, for one that was rejected, and for an
    agent's that a person deleted.
    """
    require_initialized(ws)
    if not text.strip():
        hint = 'Example: kl memory add "Tests need Redis."'
        raise UsageProblem("there is no text.", place="kl memory add", hint=hint)
    own = "agent" if agent(ws.environ) else "human"
    # AUTHORITIES begins with the weightiest, so this is the weaker of the two: an agent is never a
    # person
    authority = max(authority or own, own, key=AUTHORITIES.index)
    identifier = id_of(text)
    visible, former = _find_existing(ws, [identifier])
    if identifier in visible:
        return _confirm(ws, visible[identifier], authority)
    values = {
        **(further_values or {}),
        "pattern": text,
        "authority": authority,
        "tags": list(tags),
        "status": "approved" if authority == "human" else "candidate",
        **_expiry(ws, ttl_days),
    }
    values["title"] = values.get("title") or title_of(text)
    values["source"] = values.get("source") or _session(ws)
    if reasons := injection_reasons(text) if authority != "human" else ():
        values["quarantine"] = "; ".join(reasons)
    if identifier in former:
        removal = _last_removals(ws, [identifier]).get(identifier)
        if (
            authority != "human"
            and removal
            and removal.name == "deleted"
            and not removal.session.startswith("agent:")
        ):
            hint = "If it is to come back, a person adds it: kl memory add …"
            raise UsageProblem("a person deleted this.", place=identifier, hint=hint)
        values.setdefault("expires", _until(ws, MEMORY.ttl.get(authority, 0)))
        return _revive(ws, identifier, values, _by(ws)), "new"
    record = create_record(ws, MEMORY, values, by=_by(ws))
    if authority != "human":
        _reinforce(ws, record)
    else:
        record_basis(ws, record, _by(ws))
    return record, "new"


def revise(
    ws: Workspace, record: Record, values: Mapping[str, Any], ttl_days: int | None, by: str = ""
) -> Record:
    """Return the memory with some fields changed. An agent's change of an approved one is a
    proposal.

    `by`: the agent that calls; empty: as the environment names it. UsageProblem for fields that no
    agent may set.
    """
    by = by or _by(ws)
    changed: dict[str, Any] = {**values, **_expiry(ws, ttl_days)}
    if "pattern" in changed and "title" not in changed:
        changed["title"] = title_of(str(changed["pattern"]))
    if not changed:
        raise UsageProblem(
            "nothing is to be changed.", place=record.id, hint="Give --text, --title, --tag, …"
        )
    if by.startswith("agent:") and record.status == MEMORY.proposal and record.authority != "human":
        text = "\n".join(
            str(changed.get(name) or record.text(name)) for name in ("title", "pattern")
        )
        changed["quarantine"] = "; ".join(injection_reasons(text)) or None
    return change_record(ws, record, changed, by=by)


def promote(ws: Workspace, record: Record, reviewer: Reviewer) -> Record:
    """Raise the authority, auto → agent → human, a step at a time, with the expiry of the new one.
    For people only.
    """
    if not reviewer.person:
        raise ForPeople("promote is for people.", place=record.id)
    if record.authority == "human":
        return record
    # AUTHORITIES begins with the weightiest: one step up is the one before
    authority = AUTHORITIES[AUTHORITIES.index(record.authority) - 1]
    values: dict[str, Any] = {
        "authority": authority,
        "expires": _until(ws, MEMORY.ttl.get(authority, 0)),
    }
    if authority == "human":
        values["quarantine"] = None
    return change_record(ws, record, values, how="promote", by=reviewer.name)


def _find_existing(
    ws: Workspace, ids: Sequence[str]
) -> tuple[dict[str, Record], dict[str, Record]]:
    """Return (visible memories, former ones: deleted, or with a file that is not on this branch),
    by ID.
    """
    sync(ws, (MEMORY.name,))
    rejections = sync_rejections(ws)
    visible = {one.id: one for one in get_records(ws, list(ids)) if one.kind == MEMORY.name}
    for memory_id, reason in rejections.items():
        if memory_id in set(ids) - visible.keys():  # rejected in another clone: only its ID is here
            values = {"status": "rejected", **({"reason": reason} if reason else {})}
            visible[memory_id] = Record(MEMORY.name, memory_id, values, path=REJECTED_MEMORIES)
    former = {one: row.record for one, row in stored_records(ws, ids).items() if one not in visible}
    return visible, former


def _last_removals(ws: Workspace, ids: Sequence[str]) -> dict[str, Event]:
    """Return ID → the last Event that removed it: `deleted` by somebody, or `purged` by upkeep."""
    removals = events_by_record(ws, ids, ("deleted", "purged"))
    return {memory_id: events[-1] for memory_id, events in removals.items() if events}


def _revive(ws: Workspace, identifier: str, values: Mapping[str, Any], author: str) -> Record:
    """Create a former memory again."""
    values = {"status": MEMORY.statuses[0], "date": iso(ws.clock.now()), **values}
    return change_record(ws, Record(MEMORY.name, identifier, {}), values, how=REVIVE, by=author)


def _confirm(ws: Workspace, record: Record, authority: str) -> tuple[Record, str]:
    """Approve or reinforce a memory that exists."""
    if record.status == "rejected":
        if record.text("reason"):
            why = f": {record.text('reason')}"
        else:
            why = "."
        hint = f"To bring it back: kl memory approve {record.id}"
        if record.path == REJECTED_MEMORIES:
            hint = (
                "It was rejected in another clone. To bring it back, take its line out of"
                f" {REJECTED_MEMORIES}"
            )
        raise UsageProblem(f"this was rejected{why}", place=record.id, hint=hint)
    if authority == "human" and record.status == "candidate":
        person = Reviewer(producer(ws.environ), True)
        return apply_decision(ws, record, Decision(record.id, "approve"), person), "approved"
    return record, "reinforced" if _reinforce(ws, record) else "known"


def _reinforce(ws: Workspace, record: Record) -> bool:
    """Record that this session states it; return False where it did before."""
    name = _session(ws)
    sighting = Sighting(name, "told:" + name, "AgentAssertion", iso(ws.clock.now()))
    return bool(reinforce(ws, {record.id: [sighting]}))


def _expiry(ws: Workspace, ttl_days: int | None) -> dict[str, Any]:
    """Return `expires`, where it differs from that of the authority."""
    if ttl_days is None:
        return {}
    return {"expires": _until(ws, ttl_days)}


def _until(ws: Workspace, days: int) -> str | None:
    if not days:
        return None
    return iso(ws.clock.now() + days * DAY)


def _session(ws: Workspace) -> str:
    """Return the agent's session, or the day of whoever runs this."""
    named = session(ws.environ)
    if named:
        return f"agent:{named}"
    return day_session(iso(ws.clock.now()), producer(ws.environ))


def _by(ws: Workspace) -> str:
    name = agent(ws.environ)
    if name:
        return f"agent:{name}"
    return producer(ws.environ)


MOST_NEW: Final = 20
"""Candidates made at once, lest a review grow beyond what a person reads; the others wait for the
next receipts.
"""
_MOST_COMMANDS = 500
_MOST_RUNS = 80
_MOST_COMMITS = 500
"""The newest receipts and commits that are read."""


class MiningResult(NamedTuple):
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
    """Mine what is new, write MEMORY.md where that changed anything, and apply the rejections of
    other clones.
    """
    from kl_hooks.kinds.memory.inject import write_page

    if ws.settings.memory_auto_extract:
        result = mine_receipts(ws)
        if result.new or result.reinforced:
            write_page(ws)
    sync_rejections(ws)


def mine_receipts(ws: Workspace, *, again: bool = False) -> MiningResult:
    """Mine the receipts and commits since the last time; with `again` although nothing is new.

    Never raises for a store that can't be read or written: whoever looks at memories sees what is
    there.
    """
    from kl_hooks.evidence.commits import read_cursor, write_cursor
    from kl_hooks.evidence.ingestion import sync_evidence

    if not ws.initialized:
        return MiningResult()
    sync_evidence(ws)
    try:
        with ws.store.reading() as db:
            if db is not None:
                now = captured_state(db)
            else:
                now = ""
            if db is None or (now == read_cursor(db, CURSOR) and not again):
                return MiningResult()
            patterns = _receipt_patterns(db)
        result = store_patterns(ws, patterns)
        # The cursor moves last: a run that was killed mines again, and a session reinforces only
        # once.
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
    return receipt_patterns(
        [*recent(db, _MOST_COMMANDS, "command"), *tests], newest_commits(db, _MOST_COMMITS)
    )


def mine_transcripts(ws: Workspace, paths: Sequence[Path]) -> MiningResult:
    """Mine transcripts of agents. UsageProblem for a file that is none; then nothing is changed."""
    from kl_hooks.evidence.sources.transcript import read_transcript
    from kl_hooks.kinds.memory.miners import transcript_patterns

    return store_patterns(ws, transcript_patterns([read_transcript(path) for path in paths]))


def store_patterns(
    ws: Workspace,
    patterns: Sequence[Pattern],
    extra: Mapping[str, Mapping[str, Any]] | None = None,
    most: int = MOST_NEW,
) -> MiningResult:
    """Make candidates of the patterns that were seen often enough, and reinforce the memories that
    exist.

    What was rejected or deleted does not return; what upkeep pruned may. At most `most` candidates
    are made. `extra`: ID → fields of its candidate besides those that follow from the pattern.
    """
    by_id: dict[str, Pattern] = {}
    for pattern in patterns:
        by_id.setdefault(id_of(pattern.text), pattern)
    visible, former = _find_existing(ws, list(by_id))
    # what a person deleted does not return by itself
    pruned = {i for i, event in _last_removals(ws, list(former)).items() if event.name == "purged"}
    new = [
        i
        for i, pattern in by_id.items()
        if pattern.enough and i not in visible and (i not in former or i in pruned)
    ]
    alive = [
        i
        for i, record in visible.items()
        # an ID is 32 bits of a digest, which two texts could share
        if record.status == "approved"
        or (
            record.status != "rejected"
            and identity(record.text("pattern")) == identity(redact(by_id[i].text))
        )
    ]
    new_values = {
        i: {**_candidate_values(by_id[i]), **(extra or {}).get(i, {})} for i in new[:most]
    }
    created = [values for i, values in new_values.items() if i not in pruned]
    try:
        create_records(ws, MEMORY, created, by="mine")
    except UsageProblem:
        for values in created:
            # one by one: what another process has made in the meantime must not cost the others
            with suppress(UsageProblem):
                create_record(ws, MEMORY, values, by="mine")
    for i in pruned & new_values.keys():
        _revive(ws, i, new_values[i], "mine")
    reinforced = reinforce(ws, {i: by_id[i].sightings for i in (*alive, *new_values)})
    return MiningResult(
        tuple(new_values), tuple(i for i in reinforced if i in visible), len(new) - len(new_values)
    )


def _candidate_values(pattern: Pattern) -> dict[str, Any]:
    """Return the fields of a new candidate. One mined from receipts does not expire: it is pruned
    when it is idle.
    """
    values: dict[str, Any] = {
        "title": title_of(pattern.text),
        "pattern": pattern.text,
        "category": pattern.category,
        "importance": pattern.importance,
        "authority": "auto",
        "source": pattern.source,
        "session": pattern.sessions[0] if pattern.sessions else "",
    }
    if pattern.source == "receipts":
        values["expires"] = None
    if reasons := injection_reasons(pattern.text) if pattern.untrusted else ():
        values["quarantine"] = "; ".join(reasons)
    return values
