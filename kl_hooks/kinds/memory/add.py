"""Add and change memories: what a person or an agent states, unless it exists, was rejected or was deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso
from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.provenance import agent, producer, session
from kl_hooks.kinds.memory.kind import KIND, REJECTED
from kl_hooks.kinds.memory.patterns import Sighting, day_session, id_of, identity, title_of
from kl_hooks.kinds.memory.review import (
    REINFORCED,
    Decision,
    Reviewer,
    apply_decision,
    read_rejections,
    reinforcements,
    sync_rejections,
)
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

_DAY: Final = 86_400_000_000


def add_memory(
    ws: Workspace,
    text: str,
    *,
    authority: str = "",
    ttl_days: int | None = None,
    tags: Sequence[str] = (),
    more: Mapping[str, Any] | None = None,
) -> tuple[Record, str]:
    """Return the memory of a text and what was done: `new`, `approved`, `reinforced` or `known`.

    A person's memory is approved at once; an agent's (whatever authority it asks for) is a candidate, and quarantined
    where it reads like an instruction. `ttl_days`: None as the authority has it, 0 for ever. UsageProblem for a text
    without words, for one that was rejected, and for an agent's that a person deleted.
    """
    require_setup(ws)
    if not text.strip():
        raise UsageProblem(
            "there is no text.", place="kl memory add", hint='Example: kl memory add "Tests need Redis."'
        )
    authority = _max_authority(ws, authority)
    identifier = id_of(text)
    visible, former = find_existing(ws, [identifier])
    if identifier in visible:
        return _confirm(ws, visible[identifier], authority)
    values = {
        **(more or {}), "pattern": text, "authority": authority, "tags": list(tags),
        "status": "approved" if authority == "human" else "candidate", **_expiry(ws, ttl_days),
    }  # fmt: skip
    values["title"] = values.get("title") or title_of(text)
    values["source"] = values.get("source") or _session(ws)
    if reasons := injection_reasons(text) if authority != "human" else ():
        values["quarantine"] = "; ".join(reasons)
    if identifier in former:
        if authority != "human" and _was_deleted_by_person(ws, identifier):
            hint = "If it is to come back, a person adds it: kl memory add …"
            raise UsageProblem("a person deleted this.", place=identifier, hint=hint)
        values.setdefault("expires", _until(ws, KIND.ttl.get(authority, 0)))
        return revive(ws, identifier, values, _by(ws)), "new"
    record = create_record(ws, KIND, values, by=_by(ws))
    if authority != "human":
        _reinforce(ws, record)
    return record, "new"


def revise(ws: Workspace, record: Record, values: Mapping[str, Any], ttl_days: int | None, by: str = "") -> Record:
    """Return the memory with some fields changed. An agent's change of an approved one is a proposal.

    `by`: the agent that calls; empty: as the environment names it. UsageProblem for fields that no agent may set.
    """
    by = by or _by(ws)
    changed: dict[str, Any] = {**values, **_expiry(ws, ttl_days)}
    if "pattern" in changed and "title" not in changed:
        changed["title"] = title_of(str(changed["pattern"]))
    if not changed:
        raise UsageProblem("nothing is to be changed.", place=record.id, hint="Give --text, --title, --tag, …")
    if by.startswith("agent:") and record.status == KIND.proposal and record.authority != "human":
        text = "\n".join(str(changed.get(name) or record.text(name)) for name in ("title", "pattern"))
        changed["quarantine"] = "; ".join(injection_reasons(text)) or None
    return change_record(ws, record, changed, by=by)


def promote(ws: Workspace, record: Record, who: Reviewer) -> Record:
    """Raise the authority, auto → agent → human, a step at a time, with the expiry of the new one. For people only."""
    if not who.person:
        raise UsageProblem("promote is for people.", place=record.id)
    if record.authority == "human":
        return record
    # AUTHORITIES begins with the weightiest: one step up is the one before
    authority = AUTHORITIES[AUTHORITIES.index(record.authority) - 1]
    values: dict[str, Any] = {"authority": authority, "expires": _until(ws, KIND.ttl.get(authority, 0))}
    if authority == "human":
        values["quarantine"] = None
    return change_record(ws, record, values, how="promote", by=who.name)


def find_existing(ws: Workspace, ids: Sequence[str]) -> tuple[dict[str, Record], dict[str, Record]]:
    """Return (visible memories, former ones: deleted, or with a file that is not on this branch), by ID."""
    sync(ws, (KIND.name,))
    sync_rejections(ws)
    visible = {one.id: one for one in get_records(ws, list(ids)) if one.kind == KIND.name}
    for one, reason in read_rejections(ws).items():
        if one in set(ids) - visible.keys():  # rejected in another clone: only its ID is here
            values = {"status": "rejected", **({"reason": reason} if reason else {})}
            visible[one] = Record(KIND.name, one, values, path=REJECTED)
    former = {one: row.record for one, row in stored_records(ws, ids).items() if one not in visible}
    return visible, former


def pruned_ids(ws: Workspace, former: Mapping[str, Record]) -> list[str]:
    """Return the former memories that upkeep pruned. What a person deleted does not return by itself."""
    last = events_by_record(ws, list(former), ("deleted", "purged"))
    return [i for i, events in last.items() if events and events[-1].name == "purged"]


def revive(ws: Workspace, identifier: str, values: Mapping[str, Any], by: str) -> Record:
    """Create a former memory again."""
    values = {"status": KIND.statuses[0], "date": iso(ws.clock.now()), **values}
    return change_record(ws, Record(KIND.name, identifier, {}), values, how=REVIVE, by=by)


def is_same_pattern(record: Record, pattern: str) -> bool:
    """Return True where the record has these words: an ID is 32 bits of a digest, which two texts could share."""
    return identity(record.text("pattern")) == identity(redact(pattern)) or record.status == "approved"


def _confirm(ws: Workspace, record: Record, authority: str) -> tuple[Record, str]:
    """Approve or reinforce a memory that exists."""
    if record.status == "rejected":
        why = f": {record.text('reason')}" if record.text("reason") else "."
        hint = f"To bring it back: kl memory approve {record.id}"
        if record.path == REJECTED:
            hint = f"It was rejected in another clone. To bring it back, take its line out of {REJECTED}"
        raise UsageProblem(f"this was rejected{why}", place=record.id, hint=hint)
    if authority == "human" and record.status == "candidate":
        person = Reviewer(producer(ws.environ), True)
        return apply_decision(ws, record, Decision(record.id, "approve"), person), "approved"
    return record, "reinforced" if _reinforce(ws, record) else "known"


def _reinforce(ws: Workspace, record: Record) -> bool:
    """Record that this session states it; return False where it did before."""
    name = _session(ws)
    seen = Sighting(name, "told:" + name, "AgentAssertion", iso(ws.clock.now()))
    sessions = {one.session for one in events_by_record(ws, [record.id], (REINFORCED,))[record.id]}
    events = reinforcements(record.id, [seen], sessions)
    append_events(ws, events)
    return bool(events)


def _was_deleted_by_person(ws: Workspace, identifier: str) -> bool:
    last = events_by_record(ws, [identifier], ("deleted", "purged"))[identifier][-1:]
    return any(event.name == "deleted" and not event.session.startswith("agent:") for event in last)


def _max_authority(ws: Workspace, asked: str) -> str:
    """Return the authority that whoever runs this may claim: an agent is never a person."""
    own = "agent" if agent(ws.environ) else "human"
    # AUTHORITIES begins with the weightiest, so this is the weaker of the two
    return max(asked or own, own, key=AUTHORITIES.index)


def _expiry(ws: Workspace, ttl_days: int | None) -> dict[str, Any]:
    """Return `expires`, where it differs from that of the authority."""
    return {} if ttl_days is None else {"expires": _until(ws, ttl_days)}


def _until(ws: Workspace, days: int) -> str | None:
    return iso(ws.clock.now() + days * _DAY) if days else None


def _session(ws: Workspace) -> str:
    """Return the agent's session, or the day of whoever runs this."""
    named = session(ws.environ)
    return f"agent:{named}" if named else day_session(iso(ws.clock.now()), producer(ws.environ))


def _by(ws: Workspace) -> str:
    name = agent(ws.environ)
    return f"agent:{name}" if name else producer(ws.environ)
