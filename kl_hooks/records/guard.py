"""Guard: what an agent may write, asked in one place for every command and every tool.

Directives (a decision, a memory, a role …) tell their readers what to do: what an agent creates or changes of them
waits as a proposal until a person accepts it. Observations (an outcome, a finding …) report what happened: they are
recorded at once, in the agent's name. Never does an agent speak with a person's authority. See ADR-0018.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kl_hooks.errors import UsageProblem
from kl_hooks.model.actors import agent
from kl_hooks.model.kind import AUTHORITIES, REJECTED, Kind, Verb
from kl_hooks.model.record import Record
from kl_hooks.records.check import checked

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace

PROGRAMS: Final = ("seed", "mine", "upkeep", "kl decision discover")
"""Programs of ours that write what people's documents or receipts say, whoever starts them."""
_LOCKED: Final = ("status", "authority", "supersedes", "superseded_by")
"""Fields that an agent neither sets nor takes out."""


class Ruling(NamedTuple):
    """What becomes of the fields that somebody wants to write."""

    made: dict[str, Any]
    """Written now."""
    proposed: dict[str, Any] | None
    """Noted as a proposal; None: nothing is."""


def agent_of(ws: Workspace, by: str) -> str:
    """Return `agent:NAME` where an agent writes; empty for a person, or for a program of ours."""
    if by.startswith("agent:") or by in PROGRAMS:
        return by if by not in PROGRAMS else ""
    name = agent(ws.environ)
    return f"agent:{name}" if name else ""


def admit(kind: Kind, raw: Mapping[str, Any], who: str) -> Ruling:
    """Rule on a new record. `who`: as `agent_of`. UsageProblem for an agent that says a person stands behind it."""
    said = str(raw.get("authority") or "").strip().lower()
    if who and said == "human":
        reason = f"human is for people, and this is {who.removeprefix('agent:')}."
        raise UsageProblem(reason, place="--authority", hint="Leave it out.")
    made = dict(raw)
    if who and said not in AUTHORITIES:
        made["authority"] = "agent"
    if kind.proposal and (who or (made.get("authority") == "agent" and not made.get("status"))):
        made["status"] = kind.proposal
    held = {f.name for f in kind.all_fields if f.directive} if who else set()
    proposed = {name: made.pop(name) for name in list(made) if name in held and made[name] not in (None, "", [], ())}
    return Ruling(made, proposed or None)


def rule(ws: Workspace, kind: Kind, record: Record, raw: Mapping[str, Any], how: str, who: str) -> Ruling:
    """Rule on a change. `how`: `edit` or the name of a verb; `raw`: fields, None for one that is taken out.

    UsageProblem for what is no agent's at all: a person's verb, a status or an authority by a field.
    """
    values = dict(raw)
    if not who or (is_reviewer(ws, who) and how in _reviewing(kind)):
        return Ruling(values, None)
    verb = next((one for one in kind.verbs if one.name == how), None)
    if verb is not None and verb.person:
        raise _for_people(kind, record, how, who)
    given = {name: value for name, value in values.items() if verb is None or name not in _set_by(verb)}
    if kind.nature == "observation":
        if how == "edit":
            refuse_words(kind, record, given)
        return _observed(kind, record, values, how, verb)
    if record.status == REJECTED:
        hint = f"Make a new {kind.name}, and let a person decide."
        raise UsageProblem(f"a person decided about it, so {how} is for people.", place=record.id, hint=hint)
    refuse_words(kind, record, given)
    own = record.status == kind.proposal and record.authority != "human"
    if own and verb is None:
        return Ruling(values, None)
    if own and verb is not None and verb.to in kind.live:
        raise _for_people(kind, record, how, who)
    return Ruling(values, None) if own else Ruling({}, given)


def refuse_delete(kind: Kind, record: Record, who: str) -> None:
    """UsageProblem where an agent deletes what a person made, or decided about."""
    if not who:
        return
    hint = f"Ask a person to run: kl {kind.name} delete {record.id}"
    if kind.proposal and record.status != kind.proposal and kind.proposal == kind.statuses[0]:
        raise UsageProblem("a person decided about it, so delete is for people.", place=record.id, hint=hint)
    if record.authority == "human" or (kind.proposal and record.status != kind.proposal):
        raise UsageProblem("a person made it, so it is not an agent's to delete.", place=record.id, hint=hint)


def is_reviewer(ws: Workspace, who: str) -> bool:
    """True for an agent that the user's configuration names as a reviewer."""
    return who.removeprefix("agent:") in ws.settings.reviewers


def refuse_words(kind: Kind, record: Record, raw: Mapping[str, Any]) -> None:
    """UsageProblem where an agent changes a status by a field, or says or takes back what only people say."""
    given = {name: value for name, value in raw.items() if value is not None}
    values, _ = checked(kind, given, lambda name: (record.id, 0, 0), whole=False)
    cleared = {kind.by_name[name].name for name, value in raw.items() if value is None and name in kind.by_name}
    for name in _LOCKED:
        if (name in values or name in cleared) and record.values.get(name) != values.get(name):
            if name == "authority" and values.get(name) == "human":
                raise UsageProblem("human is for people.", place=record.id, hint="Leave it out.")
            raise UsageProblem(f"{name} is not an agent's to change.", place=record.id, hint=f"See: kl {kind.name} -h")
    for field in kind.all_fields:
        before, after = record.text(field.name), str(values.get(field.name, ""))
        for word in (after, before):
            if word in field.persons and before != after and (field.name in values or field.name in cleared):
                hint = f"Ask a person to run: kl {kind.name} {field.persons[word]} {record.id}"
                raise UsageProblem(f"{word} is for people to say or to take back.", place=record.id, hint=hint)


def _observed(kind: Kind, record: Record, values: dict[str, Any], how: str, verb: Verb | None) -> Ruling:
    """Of an observation: its directive fields wait, and so does a change of what a person reported."""
    held = {kind.by_name[name].name for name in values if name in kind.by_name and kind.by_name[name].directive}
    if verb is not None and verb.needs and held & set(verb.needs):
        return Ruling({}, {name: value for name, value in values.items() if name not in ("status", verb.stamps)})
    if how == "edit" and record.authority == "human":
        return Ruling({}, values)
    made = {name: value for name, value in values.items() if name not in held}
    return Ruling(made, {name: value for name, value in values.items() if name in held} or None)


def _set_by(verb: Verb) -> tuple[str, ...]:
    return ("status", verb.stamps) if verb.stamps else ("status",)


def _reviewing(kind: Kind) -> set[str]:
    words = {command for field in kind.all_fields for command in field.persons.values()}
    return words | {verb.name for verb in kind.verbs if verb.reviewer}


def _for_people(kind: Kind, record: Record, how: str, who: str) -> UsageProblem:
    hint = f"Ask a person to run: kl {kind.name} {how} {record.id}"
    return UsageProblem(f"{how} is for people, and this is {who.removeprefix('agent:')}.", place=record.id, hint=hint)
