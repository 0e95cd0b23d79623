"""Permissions: what an agent may write, in one place for every command and tool; the rest waits as
a proposal.

Directives (a decision, a memory, a role …) instruct their readers: what an agent creates or changes
of them waits until a person accepts it. Observations (an outcome, a finding …) report what
happened: they are recorded at once, in the agent's name. An agent never writes with a person's
authority. See ADR-0018.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import ForPeople
from kl_hooks.model.actors import agent
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.kind import AUTHORITIES, REJECTED, VERIFICATION, Kind, Verb
from kl_hooks.model.record import Record
from kl_hooks.records.events import list_events
from kl_hooks.records.validate import validate

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace

# Parts of kl that copy what people's documents or receipts state, whoever starts them.
RENUMBERING: Final = "kl decision renumber"
PROGRAMS: Final = ("seed", "mine", "upkeep", "kl decision discover", RENUMBERING)
# Fields that an agent neither sets nor removes.
_PERSONS_FIELDS: Final = ("status", "authority", "supersedes", "superseded_by")
VERIFICATION_COMMANDS: Final[Mapping[str, str]] = {"verified": "verify", "disproven": "disprove"}
"""Verification status that only a person may set or withdraw → the command that does so."""


class Ruling(NamedTuple):
    """The decision on fields that somebody wants to write."""

    allowed: dict[str, Any]
    """Written now."""
    proposed: dict[str, Any] | None
    """Stored as a proposal; None: there is none."""


def agent_author(ws: Workspace, author: str) -> str:
    """Return `agent:NAME` where an agent writes; empty for a person, or for a part of kl."""
    if author.startswith("agent:"):
        return author
    name = "" if author in PROGRAMS else agent(ws.environ)
    if not name:
        return ""
    return f"agent:{name}"


def sign_record(ws: Workspace, values: dict[str, Any]) -> str:
    """Mark what an agent makes as an agent's; return who it is, for the record's history: empty for
    a person.
    """
    name = agent(ws.environ)
    _refuse_human_authority(name, values)
    if name and "authority" not in values:
        values["authority"] = "agent"
    if not name:
        return ""
    return f"agent:{name}"


def _refuse_human_authority(name: str | None, values: dict[str, Any]) -> None:
    """ForPeople for an agent that claims a person's authority."""
    if name and str(values.get("authority", "")).strip().lower() == "human":
        raise ForPeople(
            f"human is for people, and this is {name}.", place="--authority", hint="Leave it out."
        )


def rule_on_new(kind: Kind, raw: Mapping[str, Any], agent_writer: str) -> Ruling:
    """Rule on a new record. `agent_writer`: as `agent_author`. ForPeople for an agent that claims a
    person's authority.
    """
    authority = str(raw.get("authority") or "").strip().lower()
    if agent_writer and kind.folders:
        # an agent that starts reads these files as instructions, and asks nobody whether they were
        # reviewed
        hint = "Propose it: kl skill propose"
        raise ForPeople(
            f"files of {kind.plural} are for people to make.", place=kind.name, hint=hint
        )
    if agent_writer and authority == "human":
        reason = f"human is for people, and this is {agent_writer.removeprefix('agent:')}."
        raise ForPeople(reason, place="--authority", hint="Leave it out.")
    values = dict(raw)
    if agent_writer and authority not in AUTHORITIES:
        values["authority"] = "agent"
    if kind.proposal and (
        agent_writer or (values.get("authority") == "agent" and not values.get("status"))
    ):
        values["status"] = kind.proposal
    proposed: dict[str, Any] = {}
    for field in kind.all_fields:
        if agent_writer and field.directive and values.get(field.name) not in (None, "", [], ()):
            proposed[field.name] = values.pop(field.name)
    return Ruling(values, proposed or None)


def rule_on_change(
    ws: Workspace,
    kind: Kind,
    record: Record,
    raw: Mapping[str, Any],
    verb_name: str,
    agent_writer: str,
) -> Ruling:
    """Rule on a change. `verb_name`: `edit` or the name of a verb; `raw`: fields, None for one that
    is taken out.

    ForPeople for what an agent may not even propose: a person's verb, a status or an authority
    by a field.
    """
    values = dict(raw)
    for_reviewers = {verb.name for verb in kind.verbs if "reviewer" in verb.agents}
    if VERIFICATION in kind.fields:
        for_reviewers.update(VERIFICATION_COMMANDS.values())
    if not agent_writer or (
        agent_writer.removeprefix("agent:") in ws.settings.reviewers and verb_name in for_reviewers
    ):
        return Ruling(values, None)
    verb = next((one for one in kind.verbs if one.name == verb_name), None)
    if (
        verb is not None
        and "author" in verb.agents
        and _is_trusted_author(ws, record, agent_writer)
    ):
        return Ruling(values, None)
    if verb is not None and verb.person:
        raise _for_people_only(kind, record, verb_name, agent_writer)
    by_verb = ("status", kind.date_field(verb.to)) if verb else ()
    own_values = {name: value for name, value in values.items() if name not in by_verb}
    if kind.nature == "observation":
        if verb_name == "edit":
            _refuse_persons_values(kind, record, own_values)
        return _rule_on_observation(kind, record, values, verb_name, verb)
    if record.status == REJECTED:
        hint = f"Make a new {kind.name}, and let a person decide."
        raise ForPeople(
            f"a person decided about it, so {verb_name} is for people.", place=record.id, hint=hint
        )
    _refuse_persons_values(kind, record, own_values)
    if record.status != kind.proposal or record.authority == "human":
        return Ruling({}, own_values)
    if verb is not None and verb.to in kind.live:
        raise _for_people_only(kind, record, verb_name, agent_writer)
    return Ruling(values, None)  # an agent's own proposal, which nobody has accepted yet


def _is_trusted_author(ws: Workspace, record: Record, agent_writer: str) -> bool:
    """Return whether the user's configuration trusts an agent, and it made this record."""
    if agent_writer.removeprefix("agent:") not in ws.settings.trusted_agents:
        return False
    # by its Event: the fields of a record state whatever its author wrote
    return any(one.session == agent_writer for one in list_events(ws, record.id, "created"))


def refuse_delete(kind: Kind, record: Record, agent_writer: str) -> None:
    """ForPeople where an agent deletes what a person made, or decided about."""
    if not agent_writer:
        return
    hint = f"Ask a person to run: kl {kind.name} delete {record.id}"
    if kind.proposal and record.status != kind.proposal and kind.proposal == kind.statuses[0]:
        raise ForPeople(
            "a person decided about it, so delete is for people.", place=record.id, hint=hint
        )
    if record.authority == "human" or (kind.proposal and record.status != kind.proposal):
        raise ForPeople(
            "a person made it, so it is not an agent's to delete.", place=record.id, hint=hint
        )


def _refuse_persons_values(kind: Kind, record: Record, raw: Mapping[str, Any]) -> None:
    """ForPeople where an agent sets or clears a status by a field, or a value that only people
    may set.
    """
    stated = {name: value for name, value in raw.items() if value is not None}
    values, _ = validate(kind, stated, lambda name: (record.id, 0, 0), whole=False)
    cleared = {
        kind.by_name[name].name
        for name, value in raw.items()
        if value is None and name in kind.by_name
    }
    for name in _PERSONS_FIELDS:
        if (name in values or name in cleared) and record.values.get(name) != values.get(name):
            if name == "authority" and values.get(name) == "human":
                raise ForPeople("human is for people.", place=record.id, hint="Leave it out.")
            raise ForPeople(
                f"{name} is not an agent's to change.",
                place=record.id,
                hint=f"See: kl {kind.name} -h",
            )
    if VERIFICATION in kind.fields and VERIFICATION.name in {*values, *cleared}:
        before = record.text(VERIFICATION.name)
        after = str(values.get(VERIFICATION.name, ""))
        for word in (after, before):
            if word in VERIFICATION_COMMANDS and before != after:
                hint = (
                    f"Ask a person to run: kl {kind.name} {VERIFICATION_COMMANDS[word]} {record.id}"
                )
                raise ForPeople(
                    f"{word} is for people to set or clear.", place=record.id, hint=hint
                )


def _rule_on_observation(
    kind: Kind, record: Record, values: dict[str, Any], verb_name: str, verb: Verb | None
) -> Ruling:
    """Allow a change of an observation, except of its directive fields and of what a person
    reported.
    """
    directive = {
        kind.by_name[name].name
        for name in values
        if name in kind.by_name and kind.by_name[name].directive
    }
    if verb is not None and directive & set(verb.needs):
        by_verb = ("status", kind.date_field(verb.to))
        return Ruling({}, {name: value for name, value in values.items() if name not in by_verb})
    if verb_name == "edit" and record.authority == "human":
        return Ruling({}, values)
    allowed = {name: value for name, value in values.items() if name not in directive}
    return Ruling(
        allowed, {name: value for name, value in values.items() if name in directive} or None
    )


def _for_people_only(kind: Kind, record: Record, verb_name: str, agent_writer: str) -> ForPeople:
    hint = f"Ask a person to run: kl {kind.name} {verb_name} {record.id}"
    return ForPeople(
        f"{verb_name} is for people, and this is {agent_writer.removeprefix('agent:')}.",
        place=record.id,
        hint=hint,
    )
