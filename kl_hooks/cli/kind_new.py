"""`kl KIND new · edit` and the changes of status, for any kind."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from kl_hooks.cli.common import counted, note, say, say_json, workspace
from kl_hooks.model.kind import Kind, Verb
from kl_hooks.model.record import Record
from kl_hooks.records.query import record_to_dict
from kl_hooks.workspace.open import Workspace


def make(kind: Kind, raw: dict[str, Any], options: dict[str, Any]) -> None:
    """Makes a record of what the options gave, in the editor if asked for, and says where it is."""
    from kl_hooks.cli.kind_missing import with_options
    from kl_hooks.config.problems import Problems
    from kl_hooks.records.write import create_record, require_setup, superseded_ids

    ws = workspace()
    require_setup(ws)
    by = signed(ws, raw, agent=bool(options.get("agent")))
    if raw.get("supersedes"):
        raw["supersedes"] = superseded_ids(ws, kind, raw["supersedes"])
    if options.get("edit"):
        raw, options["body"] = _edited(kind, raw)
    try:
        record = create_record(ws, kind, raw, asked=options.get("asked") or "", body=options.get("body") or "", by=by)
    except Problems as found:
        raise with_options(found, editor="edit" in options) from None
    show_made(ws, record, options.get("shape") or "text")
    if record.many("supersedes"):
        olds = ", ".join(record.many("supersedes"))
        note(f"{olds} stays in force until a person accepts it: kl {kind.name} accept {record.id}")


def signed(ws: Workspace, raw: dict[str, Any], *, agent: bool = False) -> str:
    """Marks what an agent makes as an agent's; returns who it is, for the record's history: empty for a person."""
    from kl_hooks.evidence.who import agent as agent_of

    name = agent_of(ws.environ)
    _not_as_a_person(name, raw)
    if (agent or name) and "authority" not in raw:
        raw["authority"] = "agent"
    return f"agent:{name}" if name else ""


def _not_as_a_person(name: str | None, raw: dict[str, Any]) -> None:
    """UsageProblem for an agent that says a person stands behind it."""
    from kl_hooks.errors import UsageProblem

    if name and str(raw.get("authority", "")).strip().lower() == "human":
        raise UsageProblem(f"human is for people, and this is {name}.", place="--authority", hint="Leave it out.")


def show_made(ws: Workspace, record: Record, shape: str) -> None:
    """A record that was just made: where it is, or all of it as JSON."""
    if shape == "json":
        say_json(record_to_dict(ws, record))
    else:
        _told(record)


def edit(kind: Kind, identifier: str, raw: dict[str, Any], clear: Sequence[str], shape: str = "text") -> None:
    """Changes fields; without any opens the file in the editor. What an agent changes of a directive waits."""
    from kl_hooks.errors import UsageProblem
    from kl_hooks.evidence.who import agent
    from kl_hooks.records.query import get_record
    from kl_hooks.records.write import change_record

    ws = workspace()
    record = get_record(ws, identifier, kind.name)
    name = agent(ws.environ)
    _not_as_a_person(name, raw)
    internal = [one for one in clear if one in kind.by_name and kind.by_name[one].internal]
    if internal:
        raise UsageProblem(f"{internal[0]} is written by kl alone.", place="--clear")
    changes = {**raw, **dict.fromkeys(clear)}
    if not changes:
        if name:
            hint = f"Give fields: see kl {kind.name} edit --help"
            raise UsageProblem(f"an agent ({name}) can't open an editor.", place=record.id, hint=hint)
        _open(ws, record)
        return
    record = change_record(ws, record, changes)
    show_made(ws, record, shape)


def transit(kind: Kind, verb: Verb, identifier: str, raw: dict[str, Any], shape: str = "text") -> None:
    """Takes a record through a verb. UsageProblem where only a person may, and an agent asks.

    `accept` and `reject` are for changes that are proposed, too.
    """
    from kl_hooks.records import permissions
    from kl_hooks.records.permissions import agent_author
    from kl_hooks.records.query import get_record
    from kl_hooks.records.write import apply_verb

    ws = workspace()
    record = get_record(ws, identifier, kind.name)
    if (
        verb.person
        and record.status != kind.proposal
        and not agent_author(ws, "")
        and permissions.pending_proposals(ws, record.id)
    ):
        settle(ws, record, shape, accepted=verb.to in kind.live)
        return
    show_made(ws, apply_verb(ws, record.id, verb.name, raw), shape)


def settle(ws: Workspace, record: Record, shape: str, *, accepted: bool) -> None:
    """Make, or drop, the changes that are proposed for a record, and say so. For people."""
    from kl_hooks.records.write import accept_proposals, reject_proposals

    if accepted:
        show_made(ws, accept_proposals(ws, record), shape)
        return
    number = reject_proposals(ws, record)
    show_made(ws, record, shape)
    note(f"{record.id}: rejected {counted(number, 'proposed change')}")


def _told(record: Record) -> None:
    say(f"{record.id}  {record.status}  {record.title}" + (f"\n    {record.path}" if record.path else ""))
    note_proposal(record)


def note_proposal(record: Record) -> None:
    """Report that a change was not made but waits for a person."""
    if record.proposal:
        note(f"{record.id}: noted as a proposal, for a person to accept with: kl knowledge accept {record.id}")


def _open(ws: Workspace, record: Record) -> None:
    from kl_hooks.errors import UsageProblem

    if not record.path:
        hint = f"Give fields: kl {record.kind} edit {record.id} --title …"
        raise UsageProblem("rests in the state, not in a file.", place=record.id, hint=hint)
    _editor_is_there(f"kl {record.kind} edit {record.id}")
    click.edit(filename=str(ws.root / record.path))
    from kl_hooks.cli.kind_read import told

    told()


def _editor_is_there(command: str) -> None:
    """Wrong use where an editor would open that nobody sees: no terminal, and none named for this call."""
    from kl_hooks.errors import UsageProblem

    environ = workspace().environ
    named = environ.get("VISUAL") or environ.get("EDITOR")
    if not named and not (sys.stdin is not None and sys.stdin.isatty()):
        raise UsageProblem("there is no terminal for an editor.", place=command, hint="Give fields: see --help")


def _edited(kind: Kind, raw: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """What a person wrote into the form of the kind. UsageProblem where the editor was closed as it was opened."""
    from kl_hooks.errors import UsageProblem
    from kl_hooks.records.document import read_document, template

    _editor_is_there(f"kl {kind.name} new")
    text = click.edit(template(kind, raw), extension=".md")
    if text is None:
        raise UsageProblem("nothing was changed in the editor, so nothing was made.", place=f"kl {kind.name} new")
    while True:
        found = read_document(kind, f"{kind.prefix}-0000.md", text.encode("utf-8", "replace"))
        if found.record is not None:
            return dict(found.record.values), found.record.body if not any(f.section for f in kind.fields) else ""
        for problem in found.problems:
            note(str(problem))
        if not click.confirm("edit it again?", default=True, err=True):
            raise click.Abort
        text = click.edit(text, extension=".md") or text
