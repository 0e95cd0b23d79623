"""Add and change memories: what a person or an agent states, unless it is known, rejected or deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso
from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.provenance import agent, producer, session
from kl_hooks.kinds.memory.kind import KIND
from kl_hooks.kinds.memory.patterns import Sighting, day_session, id_of, title_of
from kl_hooks.kinds.memory.patterns import identity as folded
from kl_hooks.kinds.memory.review import (
    REJECTED_FILE,
    Decision,
    Reviewer,
    apply_decision,
    read_rejections,
    sync_rejections,
)
from kl_hooks.kinds.memory.score import REINFORCED, reinforcements
from kl_hooks.model.kind import AUTHORITIES
from kl_hooks.model.record import Record
from kl_hooks.records.events import append_events, events_by_record, stored_records
from kl_hooks.records.prompt_injection import injection_reasons
from kl_hooks.records.query import get_records
from kl_hooks.records.sync import sync
from kl_hooks.records.write import REVIVE, change_record, create_record, require_setup
from kl_hooks.store.redaction import redact

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


def find_existing(ws: Workspace, ids: Sequence[str]) -> tuple[dict[str, Record], dict[str, Record]]:
    """(records that can be seen, those that were here once: deleted, or a file that is not on this branch)."""
    sync(ws, (KIND.name,))
    sync_rejections(ws)
    seen = {one.id: one for one in get_records(ws, list(ids)) if one.kind == KIND.name}
    seen |= {i: _rejected(i, why) for i, why in read_rejections(ws).items() if i in set(ids) - seen.keys()}
    rows = stored_records(ws, ids)
    return seen, {i: one.record for i, one in rows.items() if i not in seen}


def _rejected(identifier: str, reason: str) -> Record:
    """A memory that was rejected in another clone: only its ID came here."""
    return Record(
        KIND.name, identifier, {"status": "rejected", **({"reason": reason} if reason else {})}, path=REJECTED_FILE
    )


def pruned_ids(ws: Workspace, gone: Mapping[str, Record]) -> list[str]:
    """Of those that were here once: the ones that upkeep took out, because nobody had looked at them for long.

    What a person deleted does not come back by itself.
    """
    last = events_by_record(ws, list(gone), ("deleted", "purged"))
    return [i for i, events in last.items() if events and events[-1].name == "purged"]


def _was_deleted_by_person(ws: Workspace, identifier: str) -> bool:
    """True where a person deleted it: an agent that tells it again does not bring it back."""
    last = events_by_record(ws, [identifier], ("deleted", "purged"))[identifier][-1:]
    return any(event.name == "deleted" and not event.session.startswith("agent:") for event in last)


def revive(ws: Workspace, identifier: str, raw: Mapping[str, Any], by: str) -> Record:
    """A record of an id that was here once, made anew of these values."""
    values = {"status": KIND.statuses[0], "date": iso(ws.clock.now()), **raw}
    return change_record(ws, Record(KIND.name, identifier, {}), values, how=REVIVE, by=by)


def is_same_pattern(record: Record, pattern: str) -> bool:
    """True where the record is of these words: two texts could share eight digits."""
    return folded(record.text("pattern")) == folded(redact(pattern)) or record.status == "approved"


_DAY: Final = 86_400_000_000
MOST_DAYS: Final = 36_500


def add_memory(
    ws: Workspace,
    text: str,
    *,
    authority: str = "",
    ttl_days: int | None = None,
    tags: Sequence[str] = (),
    more: Mapping[str, Any] | None = None,
) -> tuple[Record, str]:
    """The memory of this text and what was done: `new`, `approved`, `reinforced` or `find_existing`.

    What a person tells is approved at once; what an agent tells (whoever it says it is) is a candidate, and held back
    where it reads like an order. `ttl_days`: None as the authority has it, 0 for ever. UsageProblem for a text without
    words, for one that was rejected, and for one that a person deleted and an agent tells again.
    """
    require_setup(ws)
    if not text.strip():
        raise UsageProblem(
            "there is no text.", place="kl memory add", hint='Example: kl memory add "Tests need Redis."'
        )
    authority = _max_authority(ws, authority)
    identifier = id_of(text)
    seen, gone = find_existing(ws, [identifier])
    if identifier in seen:
        return _confirm(ws, seen[identifier], authority)
    raw = {
        **(more or {}), "pattern": text, "authority": authority, "tags": list(tags),
        "status": "approved" if authority == "human" else "candidate",
    }  # fmt: skip
    raw["title"] = raw.get("title") or title_of(text)
    raw["source"] = raw.get("source") or _session(ws)
    raw |= _expiry(ws, authority, ttl_days)
    if why := injection_reasons(text) if authority != "human" else ():
        raw["quarantine"] = "; ".join(why)
    if identifier in gone:
        if authority != "human" and _was_deleted_by_person(ws, identifier):
            hint = "If it is to come back, a person tells it: kl memory add …"
            raise UsageProblem("a person deleted this.", place=identifier, hint=hint)
        ends = raw if "expires" in raw else raw | {"expires": _until(ws, KIND.ttl.get(authority, 0))}
        return revive(ws, identifier, ends, _by(ws)), "new"
    record = create_record(ws, KIND, raw, by=_by(ws))
    if authority != "human":
        _reinforce(ws, record)
    return record, "new"


def _max_authority(ws: Workspace, asked: str) -> str:
    """The authority that whoever runs this may claim: an agent is never a person."""
    own = "agent" if agent(ws.environ) else "human"
    return max(asked or own, own, key=AUTHORITIES.index)


def _expiry(ws: Workspace, authority: str, ttl_days: int | None) -> dict[str, Any]:
    """`expires`, where it differs from what the authority has."""
    return {} if ttl_days is None else {"expires": _until(ws, ttl_days)}


def _until(ws: Workspace, days: int) -> str | None:
    return iso(ws.clock.now() + days * _DAY) if days else None


def _confirm(ws: Workspace, record: Record, authority: str) -> tuple[Record, str]:
    if record.status == "rejected":
        why = f": {record.text('reason')}" if record.text("reason") else "."
        hint = f"To bring it back: kl memory approve {record.id}"
        if record.path == REJECTED_FILE:
            hint = f"It was rejected in another clone. To bring it back, take its line out of {REJECTED_FILE}"
        raise UsageProblem(f"this was rejected{why}", place=record.id, hint=hint)
    if authority == "human" and record.status == "candidate":
        return apply_decision(
            ws, record, Decision(record.id, "approve"), Reviewer(producer(ws.environ), True)
        ), "approved"
    return record, "reinforced" if _reinforce(ws, record) else "known"


def _reinforce(ws: Workspace, record: Record) -> bool:
    """Notes that this session tells it; False where it did already."""
    name = _session(ws)
    seen = Sighting(name, f"told:{name}", "AgentAssertion", iso(ws.clock.now()))
    sessions = {one.session for one in events_by_record(ws, [record.id], (REINFORCED,))[record.id]}
    events = reinforcements(record.id, [seen], sessions)
    append_events(ws, events)
    return bool(events)


def _session(ws: Workspace) -> str:
    """The session that tells: the agent's own, or the day of whoever runs this."""
    named = session(ws.environ)
    return f"agent:{named}" if named else day_session(iso(ws.clock.now()), producer(ws.environ))


def _by(ws: Workspace) -> str:
    name = agent(ws.environ)
    return f"agent:{name}" if name else producer(ws.environ)


def revise(ws: Workspace, record: Record, raw: Mapping[str, Any], ttl_days: int | None, by: str = "") -> Record:
    """Change fields of a memory. What an agent changes of an approved one is proposed (`records.permissions`).

    `by`: the agent whose door this is; empty: as the environment tells. UsageProblem for what is not an agent's.
    """
    by = by or _by(ws)
    machine = by.startswith("agent:")
    authority = max(record.authority, "agent", key=AUTHORITIES.index) if machine else record.authority
    values: dict[str, Any] = {**raw, **_expiry(ws, authority, ttl_days)}
    if "pattern" in values and "title" not in values:
        values["title"] = title_of(str(values["pattern"]))
    if not values:
        raise UsageProblem("nothing is to be changed.", place=record.id, hint="Give --text, --title, --tag, …")
    if machine and record.status == KIND.proposal and record.authority != "human":
        told = "\n".join(str(values.get(name) or record.text(name)) for name in ("title", "pattern"))
        values["quarantine"] = "; ".join(injection_reasons(told)) or None
    return change_record(ws, record, values, by=by)


def promote(ws: Workspace, record: Record, who: Reviewer) -> Record:
    """auto → agent → human, a step at a time; with the end that the new authority has. For people only."""
    if not who.person:
        raise UsageProblem("promote is for people.", place=record.id)
    if record.authority == "human":
        return record
    new = AUTHORITIES[AUTHORITIES.index(record.authority) - 1]
    values: dict[str, Any] = {"authority": new, "expires": _until(ws, KIND.ttl.get(new, 0))}
    if new == "human":
        values["quarantine"] = None
    return change_record(ws, record, values, how="promote", by=who.name)
