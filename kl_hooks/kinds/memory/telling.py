"""Telling: a person or an agent says what it learned, or changes what a memory says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso
from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.who import agent, producer, session
from kl_hooks.kinds.memory.deciding import Decision
from kl_hooks.kinds.memory.events import reinforcements
from kl_hooks.kinds.memory.kind import KIND
from kl_hooks.kinds.memory.known import id_of, known, revived, taken_away, title_of
from kl_hooks.kinds.memory.rejections import FILE
from kl_hooks.kinds.memory.reviewing import decide
from kl_hooks.kinds.memory.seen import Sighting
from kl_hooks.kinds.memory.sessions import of_day
from kl_hooks.kinds.memory.tally import REINFORCED
from kl_hooks.kinds.memory.who import Reviewer
from kl_hooks.model.kind import AUTHORITIES
from kl_hooks.model.record import Record
from kl_hooks.records.events import append_events, events_by_record
from kl_hooks.records.prompt_injection import injection_reasons
from kl_hooks.records.write import change_record, create_record, require_setup

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace

DAY: Final = 86_400_000_000
MOST_DAYS: Final = 36_500


def tell(
    ws: Workspace,
    text: str,
    *,
    authority: str = "",
    ttl_days: int | None = None,
    tags: Sequence[str] = (),
    more: Mapping[str, Any] | None = None,
) -> tuple[Record, str]:
    """The memory of this text and what was done: `new`, `approved`, `reinforced` or `known`.

    What a person tells is approved at once; what an agent tells (whoever it says it is) is a candidate, and held back
    where it reads like an order. `ttl_days`: None as the authority has it, 0 for ever. UsageProblem for a text without
    words, for one that was rejected, and for one that a person deleted and an agent tells again.
    """
    require_setup(ws)
    if not text.strip():
        raise UsageProblem(
            "there is no text.", place="kl memory add", hint='Example: kl memory add "Tests need Redis."'
        )
    authority = entitled(ws, authority)
    identifier = id_of(text)
    seen, gone = known(ws, [identifier])
    if identifier in seen:
        return _again(ws, seen[identifier], authority)
    raw = {
        **(more or {}), "pattern": text, "authority": authority, "tags": list(tags),
        "status": "approved" if authority == "human" else "candidate",
    }  # fmt: skip
    raw["title"] = raw.get("title") or title_of(text)
    raw["source"] = raw.get("source") or _session(ws)
    raw |= expiry(ws, authority, ttl_days)
    if why := injection_reasons(text) if authority != "human" else ():
        raw["quarantine"] = "; ".join(why)
    if identifier in gone:
        if authority != "human" and taken_away(ws, identifier):
            hint = "If it is to come back, a person tells it: kl memory add …"
            raise UsageProblem("a person deleted this.", place=identifier, hint=hint)
        ends = raw if "expires" in raw else raw | {"expires": _until(ws, KIND.ttl.get(authority, 0))}
        return revived(ws, identifier, ends, _by(ws)), "new"
    record = create_record(ws, KIND, raw, by=_by(ws))
    if authority != "human":
        _reinforce(ws, record)
    return record, "new"


def entitled(ws: Workspace, asked: str) -> str:
    """The authority that whoever runs this may claim: an agent is never a person."""
    own = "agent" if agent(ws.environ) else "human"
    return max(asked or own, own, key=AUTHORITIES.index)


def expiry(ws: Workspace, authority: str, ttl_days: int | None) -> dict[str, Any]:
    """`expires`, where it differs from what the authority has."""
    return {} if ttl_days is None else {"expires": _until(ws, ttl_days)}


def _until(ws: Workspace, days: int) -> str | None:
    return iso(ws.clock.now() + days * DAY) if days else None


def _again(ws: Workspace, record: Record, authority: str) -> tuple[Record, str]:
    if record.status == "rejected":
        why = f": {record.text('reason')}" if record.text("reason") else "."
        hint = f"To bring it back: kl memory approve {record.id}"
        if record.path == FILE:
            hint = f"It was rejected in another clone. To bring it back, take its line out of {FILE}"
        raise UsageProblem(f"this was rejected{why}", place=record.id, hint=hint)
    if authority == "human" and record.status == "candidate":
        return decide(ws, record, Decision(record.id, "approve"), Reviewer(producer(ws.environ), True)), "approved"
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
    return f"agent:{named}" if named else of_day(iso(ws.clock.now()), producer(ws.environ))


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
    values: dict[str, Any] = {**raw, **expiry(ws, authority, ttl_days)}
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
