"""`kl knowledge proposals`: everything that agents proposed and no person has decided about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kl_hooks.cli.common import format_option, say, say_json, workspace
from kl_hooks.model.text import one_line
from kl_hooks.records.query import record_to_dict

if TYPE_CHECKING:
    from kl_hooks.model.kind import Kind, Verb
    from kl_hooks.model.record import Record
    from kl_hooks.workspace.open import Workspace


@click.command(epilog="Example: kl knowledge proposals")
@format_option()
def proposals(shape: str) -> None:
    """List what waits for a person: records that were proposed, and changes that agents ask for."""
    from kl_hooks.cli.kind_read import told
    from kl_hooks.records.permissions import pending_proposals

    ws = workspace()
    records, changes = proposed_records(ws), pending_proposals(ws)
    told()
    if shape == "json":
        said = {"records": [record_to_dict(ws, one, whole=False) for one in records]}
        say_json({"schema": "kl.knowledge.proposals/1", **said, "changes": [one.plain() for one in changes]})
        return
    for record in records:
        say(f"{record.id}  {record.status} {record.kind}  {one_line(record.title, 120)}")
    for change in changes:
        say(f"{change.record}  {change.line()}")
    if records or changes:
        say("\nhint: kl knowledge show ID, then kl knowledge accept ID or kl knowledge reject ID")
    else:
        say("nothing waits for a person.")


def proposed_records(ws: Workspace) -> list[Record]:
    """Return the records in the status that waits for a person, but memories, which have a review of their own."""
    from kl_hooks.records.query import RecordFilter, list_records

    some = [kind for kind in ws.kinds.values() if kind.proposal and kind.name != "memory"]
    return [one for kind in some for one in list_records(ws, RecordFilter((kind.name,), (kind.proposal,)))]


def decide_proposal(identifier: str, word: str, shape: str) -> None:
    """Accept or reject what is proposed under an ID: a record of any kind, or changes of one. For people."""
    from kl_hooks.cli.kind_new import settle, transit
    from kl_hooks.errors import UsageProblem
    from kl_hooks.records.permissions import agent_author
    from kl_hooks.records.query import get_record

    ws = workspace()
    record = get_record(ws, identifier)
    kind = ws.kinds[record.kind]
    if who := agent_author(ws, ""):
        hint = f"Ask a person to run: kl knowledge {word} {record.id}"
        raise UsageProblem(
            f"{word} is for people, and this is {who.removeprefix('agent:')}.", place=record.id, hint=hint
        )
    verb = next((v for v in kind.verbs if v.person and _decides(kind, v, word)), None)
    if record.status != kind.proposal or not kind.proposal or verb is None:
        settle(ws, record, shape, accepted=word == "accept")
    elif kind.name == "memory":
        from kl_hooks.cli.memory_decide import decided

        decided(record.id, verb.name, shape=shape)
    else:
        transit(kind, verb, record.id, {}, shape)


def _decides(kind: Kind, verb: Verb, word: str) -> bool:
    """True for the verb that takes a proposal of this kind on, or refuses it."""
    return kind.proposal in verb.of and (verb.to in kind.live) == (word == "accept")
