"""`kl KIND list · show · search · history · delete`, for any kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click

from kl_hooks.cli.common import F, an, confirm, format_option, note, say, say_json, workspace
from kl_hooks.cli.record_text import lines_of, rows, say_deleted
from kl_hooks.model.kind import Kind
from kl_hooks.model.record import Record
from kl_hooks.model.text import one_line
from kl_hooks.records.query import record_to_dict

if TYPE_CHECKING:
    from kl_hooks.records.query import RecordFilter
    from kl_hooks.workspace.open import Workspace

FIRST: Final[Mapping[str, str]] = {
    "memory": 'add "…"', "outcome": 'capture "…" --success', "failure": 'record "…"',
    "turn": 'add --feature FEAT-0001 --summary "…"', "objective": 'create --title "…" --tasks "A,B"', "task": 'new "…"',
}  # fmt: skip
"""Kind → the call that most people begin with, as it can be typed, where it is not `new --edit`."""


def topic_of(kind: Kind) -> Callable[[F], F]:
    """The option `--topic`, where records of this kind have a topic or a category."""
    from kl_hooks.kinds.topics import topic_field

    field = topic_field(kind)
    if field is None:
        return lambda command: command
    says = f"Only of this {field.name}: {', '.join(field.choices)}."
    return click.option("--topic", "--group", "topic", default="", metavar="NAME", help=says)


def of_topic(kind: Kind, records: Sequence[Record], topic: str) -> list[Record]:
    """Those of this topic. UsageProblem for a word that is none of the kind's."""
    from kl_hooks.kinds.topics import Selection

    meant = Selection({kind.name: kind}, topic)
    return [one for one in records if meant.holds(one)]


def list_of(kind: Kind) -> click.Command:
    """`kl KIND list`."""
    from kl_hooks.records.query import RecordFilter, list_and_count, list_records

    @click.command("list", epilog=f"Example: kl {kind.name} list --status {kind.statuses[0]}")
    @click.option(
        "--status", "statuses", multiple=True, type=click.Choice(kind.statuses), help="Only these; may be repeated."
    )
    @click.option("--tag", default="", help="Only those with this tag.")
    @click.option(
        "--about", default="", metavar="ID|PATH", help="Only those about this file, folder, symbol or record."
    )
    @click.option("--authority", type=click.Choice(["human", "agent", "auto"]), help="Only those of this authority.")
    @click.option("--all", "everything", is_flag=True, help="Archived and expired ones too.")
    @click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 100_000), help="Most shown.")
    @format_option()
    @topic_of(kind)
    def list_(
        statuses: tuple[str, ...], tag: str, about: str, authority: str | None, everything: bool, limit: int,
        shape: str, topic: str = "",
    ) -> None:  # fmt: skip
        ws = workspace()
        wanted = RecordFilter((kind.name,), statuses, tag, about, authority or "", everything, everything)
        if topic:
            some = of_topic(kind, list_records(ws, wanted), topic)
            found, total = some[:limit], len(some)
        else:
            found, total = (
                _fresh(ws, kind, wanted, limit) if "stale" in kind.statuses else list_and_count(ws, wanted, limit)
            )
        told()
        _say(kind, found, total, shape)
        if not found and shape == "text":
            say(
                f"no {kind.plural} yet. Make one: kl {kind.name} {FIRST.get(kind.name, 'new --edit')}"
                if wanted == RecordFilter((kind.name,))
                else f"no {kind.name} fits."
            )

    list_.help = f"The {kind.plural}: {kind.purpose[:1].lower()}{kind.purpose[1:]}"
    return list_


def search_of(kind: Kind) -> click.Command:
    """`kl KIND search`."""
    from kl_hooks.records.liveness import with_stale_status
    from kl_hooks.records.query import NO_LIMIT, RecordFilter
    from kl_hooks.records.retrieval import search_live

    @click.command("search", epilog=f"Example: kl {kind.name} search parser --limit 5")
    @click.argument("words", nargs=-1, required=True)
    @click.option(
        "--status", "statuses", multiple=True, type=click.Choice(kind.statuses), help="Only these; may be repeated."
    )
    @click.option("--tag", default="", help="Only those with this tag.")
    @click.option(
        "--about", default="", metavar="ID|PATH", help="Only those about this file, folder, symbol or record."
    )
    @click.option("--all", "everything", is_flag=True, help=NOT_IN_FORCE)
    @click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1000), help="Most shown.")
    @format_option()
    @topic_of(kind)
    def search_(
        words: tuple[str, ...], statuses: tuple[str, ...], tag: str, about: str, everything: bool, limit: int,
        shape: str, topic: str = "",
    ) -> None:  # fmt: skip
        ws = workspace()
        wanted = RecordFilter((kind.name,), statuses, tag, about, archived=True, expired=everything)
        found = search_live(ws, list(words), wanted, NO_LIMIT if topic else limit)
        if topic:
            some = of_topic(kind, found.records, topic)
            found = found._replace(records=some[:limit], total=len(some))
        told()
        _say(kind, with_stale_status(ws, found.records), found.total, shape)
        if not found.records and shape == "text":
            say(f"no matches in {kind.plural} for: {one_line(' '.join(words))}")
        note_omitted(found.omitted)

    search_.help = f"Find {kind.plural} in force that match any of the WORDS, best first."
    return search_


def show_of(kind: Kind) -> click.Command:
    """`kl KIND show`."""
    from kl_hooks.records.liveness import stale_reasons, with_stale_status
    from kl_hooks.records.query import get_record, supersession_chain
    from kl_hooks.records.write import proposed_successors

    @click.command("show", epilog=f"Example: kl {kind.name} show {kind.prefix}-0001")
    @click.argument("id")
    @format_option()
    def show(id: str, shape: str) -> None:
        ws = workspace()
        (record,) = with_stale_status(ws, [get_record(ws, id, kind.name)])
        line, why = supersession_chain(ws, record), stale_reasons(ws, [record]).get(record.id, "")
        told()
        if shape == "json":
            say_json(record_to_dict(ws, record) | {"chain": [one.id for one in line], "stale": why})
            return
        for text in lines_of(ws, record, line):
            say(text)
        for one in proposed_successors(ws, record):
            say(f"\n{one.id} ({one.status}) would take its place: kl {kind.name} accept {one.id}")
        if why:
            say(f"\nIt does not hold any more: {why}.")

    show.help = f"One {kind.name}, whole: what it says, where it stands, what took its place."
    return show


def history_of(kind: Kind) -> click.Command:
    """`kl KIND history`."""
    from kl_hooks.records.query import get_record, past_versions

    @click.command("history", epilog=f"Example: kl {kind.name} history {kind.prefix}-0001")
    @click.argument("id")
    @format_option()
    def history(id: str, shape: str) -> None:
        ws = workspace()
        found = past_versions(ws, get_record(ws, id, kind.name))
        if shape == "json":
            rows: list[dict[str, Any]] = [{"version": v.name, "at": v.at, "how": v.how, "said": v.said} for v in found]
            say_json({"schema": "kl.record.history/1", "id": id, "versions": rows})
            return
        for one in found:
            say(f"{one.name:<10}  {one.at[:19]}  {one.how}")
        if not found:
            say("nothing to show: it was never changed, and is not committed yet.")

    history.help = f"What {an(kind.name)} said before: commits of its file, and versions from before it was one."
    return history


def delete_of(kind: Kind) -> click.Command:
    """`kl KIND delete`. What a person decided is not an agent's to take away."""
    from kl_hooks.records.permissions import agent_author, refuse_delete
    from kl_hooks.records.query import get_record
    from kl_hooks.records.write import delete_record

    @click.command("delete", epilog=f"Example: kl {kind.name} delete {kind.prefix}-0001 --yes")
    @click.argument("id")
    @click.option("--yes", is_flag=True, help="Do not ask.")
    @format_option()
    def delete_(id: str, yes: bool, shape: str) -> None:
        ws = workspace()
        record = get_record(ws, id, kind.name)
        refuse_delete(kind, record, agent_author(ws, ""))
        if not yes:
            confirm(f"delete {record.id} {record.title}?")
        delete_record(ws, record)
        say_deleted(record, shape)

    delete_.help = f"Take {an(kind.name)} away. Its id is never used again; a file stays in git's history."
    return delete_


NOT_IN_FORCE = "Also what is proposed, rejected, superseded, disproven, expired or archived."


def note_omitted(number: int) -> None:
    """Report, on stderr, how many matches a search left out because they are not in force."""
    if number:
        note(f"omitted: {number} not in force. hint: --all shows them")


def told() -> None:
    """Says, on stderr, what is wrong in authored files and why what was found may be old."""
    from kl_hooks.records.sync import last_sync

    found = last_sync(workspace())
    for problem in found.problems[:9]:
        note(str(problem))
    if len(found.problems) > 9:
        note(f"and {len(found.problems) - 9} more. See: kl knowledge check")
    if found.trouble:
        note(f"what is found may be old: {found.trouble}")


def _fresh(ws: Workspace, kind: Kind, wanted: RecordFilter, limit: int) -> tuple[list[Record], int]:
    """As `list_and_count`, of a kind whose records may be stale by now: that is computed, so all are looked at."""
    from kl_hooks.records.liveness import with_stale_status
    from kl_hooks.records.query import list_records

    all_ = with_stale_status(ws, list_records(ws, replace(wanted, statuses=())))
    found = [record for record in all_ if not wanted.statuses or record.status in wanted.statuses]
    return found[:limit], len(found)


def _say(kind: Kind, found: list[Record], total: int, shape: str) -> None:
    ws = workspace()
    if shape == "json":
        plain = [record_to_dict(ws, record, whole=False) for record in found]
        say_json({"schema": "kl.record.list/1", "kind": kind.name, "records": plain, "total": total})
        return
    for line in rows(ws, found):
        say(line)
    if total > len(found):
        note(f"these are the first {len(found)} of {f'{total} {kind.plural}'}; more with --limit.")
