"""The commands that every kind has, made from its fields: new, list, show, search, edit, delete,
history, and its changes of status.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click

from kl_hooks.cli.output import (
    F,
    about_option,
    confirm,
    counted,
    format_option,
    initialized_workspace,
    not_in_force_option,
    print_answer,
    print_list,
    top_option,
    topic_option,
    warn,
    workspace,
)
from kl_hooks.cli.record_output import (
    agent_access,
    listed_records,
    print_deleted,
    print_record,
    record_lines,
    record_rows,
    warn_of_citations,
    warn_of_index_problems,
    warn_of_omitted,
)
from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.provenance import agent as agent_of
from kl_hooks.model.kind import REJECTED, SUPERSEDED, Field, Kind, Verb
from kl_hooks.model.problem import Problems
from kl_hooks.model.record import Record
from kl_hooks.model.text import one_line
from kl_hooks.records.query import (
    NO_LIMIT,
    RecordFilter,
    get_record,
    list_and_count,
    list_records,
    past_versions,
    record_to_dict,
    supersession_chain,
)
from kl_hooks.workspace import Workspace

if TYPE_CHECKING:
    from kl_hooks.records.query import RecordFilter


_TYPES = {"number": click.INT, "flag": click.BOOL}
_SET_BY_VERBS = ("status", "updated", "supersedes", "superseded_by")
"""Fields that verbs set, not options."""


def command_of(kind: Kind, name: str) -> click.Command:
    """The command `name` of a kind: a standard one, or one of its verbs."""
    verb = next((one for one in kind.verbs if one.name == name), None)
    if verb:
        return _verb(kind, verb)

    standard = {
        "new": _new,
        "edit": _edit,
        "list": _list,
        "show": _show,
        "search": _search,
        "history": _history,
        "delete": _delete,
    }
    return standard[name](kind)


def _option(field: Field) -> Callable[..., Any]:
    """`--violation-symptoms`; a field of several values may be given several times."""
    name = "--tag" if field.name == "tags" else f"--{field.name.replace('_', '-')}"
    help_text = field.description + (
        f" One of: {', '.join(field.choices)}." if field.choices else ""
    )
    if field.type in ("map", "lines", "words", "ids"):
        shape = "KEY=TEXT" if field.type == "map" else "TEXT"
        return click.option(
            name, field.name, multiple=True, metavar=shape, help=f"{help_text} May be repeated."
        )
    # no click.Choice: it refuses other spellings, which `records.validate` reads
    if field.type == "choice" and len(field.choices) < 5:
        return click.option(
            name, field.name, help=field.description, metavar=f"[{'|'.join(field.choices)}]"
        )
    return click.option(name, field.name, help=help_text, type=_TYPES.get(field.type))


def _options(kind: Kind, command: Callable[..., Any]) -> Callable[..., Any]:
    # reversed: decorators apply from the inside out, and click lists the option that was applied
    # last first
    for field in reversed(kind.all_fields):
        if field.name not in (*_SET_BY_VERBS, "title") and not field.internal:
            command = _option(field)(command)
    return command


def _given_fields(kind: Kind, options: dict[str, Any]) -> dict[str, Any]:
    """Return field → value, of the options that were given."""
    raw: dict[str, Any] = {}
    for field in kind.all_fields:
        value = options.get(field.name)
        if value is None or value == ():
            continue
        if field.type == "map":
            pairs = [one.partition("=") for one in value]
            if any(not sign for _, sign, _ in pairs):
                raise click.UsageError(f"--{field.name.replace('_', '-')}: write KEY=TEXT.")
            value = {key: text for key, _, text in pairs}
        raw[field.name] = list(value) if isinstance(value, tuple) else value
    return raw


def _new(kind: Kind) -> click.Command:

    @click.argument("title", required=False)
    @click.option(
        "--id",
        "asked",
        help=f"Its id, such as {kind.prefix}-0001; else one is given.",
        hidden=kind.numbering != "given",
    )
    @click.option("--body", default="", help="Markdown that belongs in no field.", hidden=True)
    @click.option("--edit", is_flag=True, help="Write it in your editor.")
    @click.option(
        "--format", "shape", type=click.Choice(["text", "json"]), default="text", show_default=True
    )
    def new(title: str | None, title_option: str | None, **options: Any) -> None:
        make_record(kind, _given_fields(kind, {**options, "title": title or title_option}), options)

    made = click.option(
        "--title", "title_option", help="What it is, in one line; or give it as TITLE."
    )(_options(kind, new))
    if "superseded" in kind.statuses:
        help_text = f"The {kind.name} whose place it takes, once it is accepted. May be repeated."
        made = click.option("--supersedes", multiple=True, metavar="ID", help=help_text)(made)
    if (
        "agent" not in kind.by_name
    ):  # else it is a field, and whoever names an agent there is taken at his word
        flag = click.option(
            "--agent", is_flag=True, help="An agent makes it: it waits for a person."
        )
        made = flag(made)
    # click's help is the docstring, and an f-string in its place is none
    made.__doc__ = f"Make {_with_article(kind.name)}: {kind.purpose[:1].lower()}{kind.purpose[1:]}"
    more = (
        " --edit"
        if any(field.required and field.name != "title" for field in kind.all_fields)
        else ""
    )
    return click.command("new", epilog=f'Example: kl {kind.name} new "{_example(kind)}"{more}')(
        made
    )


def _edit(kind: Kind) -> click.Command:

    @click.argument("id")
    @click.option("--title", "title", help="What it is, in one line.")
    @click.option(
        "--clear", multiple=True, metavar="FIELD", help="Take a field out. May be repeated."
    )
    @format_option()
    def edit(id: str, clear: tuple[str, ...], shape: str, **options: Any) -> None:
        _edit_record(kind, id, _given_fields(kind, options), clear, shape)

    made = _options(kind, edit)
    made.__doc__ = (
        f"Change fields of {_with_article(kind.name)}; without any, its file opens in your editor."
    )
    return click.command(
        "edit", epilog=f"Example: kl {kind.name} edit {kind.prefix}-0001 --tag speed"
    )(made)


def _verb(kind: Kind, verb: Verb) -> click.Command:

    @click.argument("id")
    @format_option()
    def command(id: str, shape: str, **options: Any) -> None:
        _change_status(kind, verb, id, _given_fields(kind, options), shape)

    made: Callable[..., Any] = command
    for name in reversed(verb.needs):
        made = _option(kind.by_name[name])(made)
    made.__doc__ = verb.description
    return click.command(
        verb.name, epilog=f"Example: kl {kind.name} {verb.name} {kind.prefix}-0001"
    )(made)


def _example(kind: Kind) -> str:
    return next(
        (field.example for field in kind.all_fields if field.name == "title" and field.example),
        "In one line",
    )


def _with_options(found: Problems, *, editor: bool) -> Problems:
    """The same problems; one about a missing field names the option of the command that is running.

    `editor`: the command has `--edit` too.
    """
    command = click.get_current_context().command
    named = {
        one.name: max(one.opts, key=len) for one in command.params if isinstance(one, click.Option)
    }
    named |= {
        one.name: one.human_readable_name
        for one in command.params
        if isinstance(one, click.Argument)
    }
    problems = []
    for one in found.problems:
        missing = re.fullmatch(r'"(\w+)" is missing\.', one.message)
        option = named.get(missing[1]) if missing else None
        more = f"Give {option}{', or --edit' if editor else ''}."
        problems.append(one._replace(hint=f"{one.hint} {more}".strip()) if option else one)
    return Problems(problems)


def make_record(kind: Kind, raw: dict[str, Any], options: dict[str, Any]) -> None:
    """Make a record of the given options, in the editor if asked for, and print where it is."""
    from kl_hooks.records.write import create_record, superseded_ids

    ws = initialized_workspace()
    by = sign_record(ws, raw, agent=bool(options.get("agent")))
    if raw.get("supersedes"):
        raw["supersedes"] = superseded_ids(ws, kind, raw["supersedes"])
    if options.get("edit"):
        raw, options["body"] = _fields_from_editor(kind, raw)
    try:
        record = create_record(
            ws, kind, raw, asked=options.get("asked") or "", body=options.get("body") or "", by=by
        )
    except Problems as found:
        raise _with_options(found, editor="edit" in options) from None
    print_record(ws, record, options.get("shape") or "text")
    if record.many("supersedes"):
        olds = ", ".join(record.many("supersedes"))
        warn(f"{olds} stays in force until a person accepts it: kl {kind.name} accept {record.id}")


def sign_record(ws: Workspace, raw: dict[str, Any], *, agent: bool = False) -> str:
    """Marks what an agent makes as an agent's; returns who it is, for the record's history: empty
    for a person.
    """
    name = agent_of(ws.environ)
    _refuse_human_authority(name, raw)
    if (agent or name) and "authority" not in raw:
        raw["authority"] = "agent"
    return f"agent:{name}" if name else ""


def _refuse_human_authority(name: str | None, raw: dict[str, Any]) -> None:
    """UsageProblem for an agent that claims a person's authority."""
    if name and str(raw.get("authority", "")).strip().lower() == "human":
        raise UsageProblem(
            f"human is for people, and this is {name}.", place="--authority", hint="Leave it out."
        )


def _edit_record(
    kind: Kind, identifier: str, raw: dict[str, Any], clear: Sequence[str], shape: str = "text"
) -> None:
    """Changes fields; without any opens the file in the editor. What an agent changes of a
    directive waits.
    """
    from kl_hooks.evidence.provenance import agent
    from kl_hooks.records.write import change_record

    ws = workspace()
    record = get_record(ws, identifier, kind.name)
    name = agent(ws.environ)
    _refuse_human_authority(name, raw)
    internal = [one for one in clear if one in kind.by_name and kind.by_name[one].internal]
    if internal:
        raise UsageProblem(f"{internal[0]} is written by kl alone.", place="--clear")
    changes = {**raw, **dict.fromkeys(clear)}
    if not changes:
        if name:
            hint = f"Give fields: see kl {kind.name} edit --help"
            raise UsageProblem(
                f"an agent ({name}) can't open an editor.", place=record.id, hint=hint
            )
        _open_in_editor(ws, record)
        return
    record = change_record(ws, record, changes)
    print_record(ws, record, shape)


def _change_status(
    kind: Kind, verb: Verb, identifier: str, raw: dict[str, Any], shape: str = "text"
) -> None:
    """Takes a record through a verb. UsageProblem where only a person may, and an agent asks.

    `accept` and `reject` are for changes that are proposed, too.
    """
    from kl_hooks.records.permissions import agent_author
    from kl_hooks.records.write import apply_verb, pending_proposals

    ws = workspace()
    record = get_record(ws, identifier, kind.name)
    # a verb that changes this record's status decides about the record, not about a change that
    # somebody proposed
    is_idle = record.status == verb.to or bool(verb.of and record.status not in verb.of)
    decides = verb.to == REJECTED or (verb.to in kind.live and is_idle)
    decides = decides and verb.person and record.status != kind.proposal
    if decides and not agent_author(ws, "") and pending_proposals(ws, record.id):
        decide_changes(ws, record, shape, accepted=verb.to in kind.live)
        return
    changed = apply_verb(ws, record.id, verb.name, raw)
    print_record(ws, changed, shape)
    if changed.status == verb.to and changed.proposal is None:
        warn_of_citations(ws, [changed.id, *changed.many("supersedes")])


def decide_changes(ws: Workspace, record: Record, shape: str, *, accepted: bool) -> None:
    """Make, or drop, the changes that are proposed for a record. For people."""
    from kl_hooks.records.write import accept_proposals, reject_proposals

    if accepted:
        print_record(ws, accept_proposals(ws, record), shape)
        return
    number = reject_proposals(ws, record)
    print_record(ws, record, shape)
    warn(f"{record.id}: rejected {counted(number, 'proposed change')}")


def _open_in_editor(ws: Workspace, record: Record) -> None:
    if not record.path:
        hint = f"Give fields: kl {record.kind} edit {record.id} --title …"
        raise UsageProblem("rests in the state, not in a file.", place=record.id, hint=hint)
    _require_editor(f"kl {record.kind} edit {record.id}")
    click.edit(filename=str(ws.root / record.path))

    warn_of_index_problems()


def _require_editor(command: str) -> None:
    """UsageProblem where nobody would see the editor: no terminal, and none named for this call."""
    environ = workspace().environ
    # where click.edit() looks; without either it starts an editor of its own choice, which waits
    # for nobody
    named = environ.get("VISUAL") or environ.get("EDITOR")
    if not named and not (sys.stdin is not None and sys.stdin.isatty()):
        raise UsageProblem(
            "there is no terminal for an editor.", place=command, hint="Give fields: see --help"
        )


def _fields_from_editor(kind: Kind, raw: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """What a person wrote into the form of the kind. UsageProblem where the editor was closed as it
    was opened.
    """
    from kl_hooks.records.document import read_document, template

    _require_editor(f"kl {kind.name} new")
    text = click.edit(template(kind, raw), extension=".md")
    if text is None:
        raise UsageProblem(
            "nothing was changed in the editor, so nothing was made.", place=f"kl {kind.name} new"
        )
    while True:
        found = read_document(kind, f"{kind.prefix}-0000.md", text.encode("utf-8", "replace"))
        if found.record is not None:
            return dict(found.record.values), (
                found.record.body if not any(f.section for f in kind.fields) else ""
            )
        for problem in found.problems:
            warn(str(problem))
        if not click.confirm("edit it again?", default=True, err=True):
            raise click.Abort
        # None where the editor was closed without saving
        text = click.edit(text, extension=".md") or text


_FIRST_CALLS: Final[Mapping[str, str]] = {
    "memory": 'add "…"',
    "outcome": 'capture "…" --success',
    "failure": 'record "…"',
    "turn": 'add --feature FEAT-0001 --summary "…"',
    "objective": 'create --title "…" --tasks "A,B"',
    "task": 'new "…"',
}
"""Kind → the call that most people begin with, as it can be typed, where it is not `new --edit`."""


def _topic_option(kind: Kind) -> Callable[[F], F]:
    """The option `--topic`, where records of this kind have a topic or a category."""
    from kl_hooks.records.query import topic_field

    field = topic_field(kind)
    if field is None:
        return lambda command: command
    help_text = f"Only of this {field.name}: {', '.join(field.choices)}."
    return topic_option(help_text)


def _with_topic(kind: Kind, records: Sequence[Record], topic: str) -> list[Record]:
    """Those of this topic. UsageProblem for a word that is none of the kind's."""
    from kl_hooks.records.query import Selection

    meant = Selection({kind.name: kind}, topic)
    return [one for one in records if meant.holds(one)]


def _list(kind: Kind) -> click.Command:

    @click.command("list", epilog=f"Example: kl {kind.name} list --status {kind.statuses[0]}")
    @click.option(
        "--status",
        "statuses",
        multiple=True,
        type=click.Choice(kind.statuses),
        help="Only these; may be repeated.",
    )
    @click.option("--tag", default="", help="Only those with this tag.")
    @about_option()
    @click.option(
        "--authority",
        type=click.Choice(["human", "agent", "auto"]),
        help="Only those of this authority.",
    )
    @click.option("--all", "everything", is_flag=True, help="Archived and expired ones too.")
    @top_option(50)
    @format_option()
    @_topic_option(kind)
    def list_(
        statuses: tuple[str, ...],
        tag: str,
        about: str,
        authority: str | None,
        everything: bool,
        limit: int,
        shape: str,
        topic: str = "",
    ) -> None:
        ws = workspace()
        wanted = RecordFilter(
            (kind.name,), statuses, tag, about, authority or "", everything, everything
        )
        if topic:
            some = _with_topic(kind, list_records(ws, wanted), topic)
            found, total = some[:limit], len(some)
        else:
            found, total = (
                _current_records(ws, kind, wanted, limit)
                if "stale" in kind.statuses
                else list_and_count(ws, wanted, limit)
            )
        warn_of_index_problems()
        first = (
            f"no {kind.plural} yet. Make one: kl {kind.name}"
            f" {_FIRST_CALLS.get(kind.name, 'new --edit')}"
        )
        none = first if wanted == RecordFilter((kind.name,)) else f"no {kind.name} fits."
        if not ws.initialized:  # what it advises would be refused with this
            none = f"{ws.root}: kl is not set up here. Set it up with: kl init"
        _print_list(kind, found, total, none, shape)

    list_.help = f"The {kind.plural}: {kind.purpose[:1].lower()}{kind.purpose[1:]}"
    return list_


def _search(kind: Kind) -> click.Command:
    from kl_hooks.records.retrieval import search_live

    @click.command("search", epilog=f"Example: kl {kind.name} search parser --top 5")
    @click.argument("words", nargs=-1, required=True)
    @click.option(
        "--status",
        "statuses",
        multiple=True,
        type=click.Choice(kind.statuses),
        help="Only these; may be repeated.",
    )
    @click.option("--tag", default="", help="Only those with this tag.")
    @about_option()
    @not_in_force_option()
    @top_option(20, 1000)
    @format_option()
    @_topic_option(kind)
    def search_(
        words: tuple[str, ...],
        statuses: tuple[str, ...],
        tag: str,
        about: str,
        everything: bool,
        limit: int,
        shape: str,
        topic: str = "",
    ) -> None:
        ws = workspace()
        wanted = RecordFilter((kind.name,), statuses, tag, about, archived=True, expired=everything)
        # the topic is looked at after the search, so a limit before it would drop matches
        found = search_live(ws, list(words), wanted, NO_LIMIT if topic else limit)
        if topic:
            some = _with_topic(kind, found.records, topic)
            found = found._replace(records=some[:limit], total=len(some))
        warn_of_index_problems()
        none = f"no matches in {kind.plural} for: {one_line(' '.join(words))}"
        _print_list(kind, found.records, found.total, none, shape)
        warn_of_omitted(found.omitted)

    search_.help = f"Find {kind.plural} in force that match any of the WORDS, best first."
    return search_


def _show(kind: Kind) -> click.Command:
    from kl_hooks.records.citations import ended_citations
    from kl_hooks.records.liveness import stale_reasons, with_stale_status

    @click.command("show", epilog=f"Example: kl {kind.name} show {kind.prefix}-0001")
    @click.argument("id")
    @format_option()
    def show(id: str, shape: str) -> None:
        ws = workspace()
        (record,) = with_stale_status(ws, [get_record(ws, id, kind.name)])
        with agent_access(ws) as may:
            record = may.record(record)
        line, why = supersession_chain(ws, record), stale_reasons(ws, [record]).get(record.id, "")
        warn_of_index_problems()
        lines = [*record_lines(ws, record, line)]
        for one in _proposed_successors(ws, record):
            lines.append(
                f"\n{one.id} ({one.status}) would take its place: kl {kind.name} accept {one.id}"
            )
        lines += [f"\nIt is outdated: {why}."] if why else []
        ended = ended_citations(ws, [record]).get(record.id, ())
        lines += [f"\nIt {citation}." for citation in ended]
        print_answer(
            shape,
            record_to_dict(ws, record)
            | {"chain": [one.id for one in line], "stale": why, "ended_citations": list(ended)},
            lines,
        )

    show.help = f"One {kind.name}, whole: its text, its status, what took its place."
    return show


def _history(kind: Kind) -> click.Command:

    @click.command("history", epilog=f"Example: kl {kind.name} history {kind.prefix}-0001")
    @click.argument("id")
    @format_option()
    def history(id: str, shape: str) -> None:
        ws = workspace()
        record = get_record(ws, id, kind.name)
        with agent_access(ws) as may:
            # of a redacted record there are no earlier texts either
            found = past_versions(ws, record) if may.record(record) is record else []
        plain = [{"version": v.name, "at": v.at, "how": v.how, "values": v.values} for v in found]
        rows = [f"{one.name:<10}  {one.at[:19]}  {one.how}" for one in found]
        none = "nothing to show: it was never changed, and is not committed yet."
        print_list(
            shape,
            {"schema": "kl.record.history/2", "id": id, "versions": plain},
            rows,
            len(rows),
            none,
        )

    history.help = (
        f"Earlier versions of {_with_article(kind.name)}: commits of its file, and before it was"
        " one."
    )
    return history


def _delete(kind: Kind) -> click.Command:
    """`kl KIND delete`. What a person decided is not an agent's to take away."""
    from kl_hooks.records.permissions import agent_author, refuse_delete
    from kl_hooks.records.write import delete_record

    @click.command("delete", epilog=f"Example: kl {kind.name} delete {kind.prefix}-0001 --yes")
    @click.argument("id")
    @click.option("--yes", is_flag=True, help="Do not ask.")
    @format_option()
    def delete_(id: str, yes: bool, shape: str) -> None:
        ws = workspace()
        record = get_record(ws, id, kind.name)
        # before the question: nobody is asked about what is refused
        refuse_delete(kind, record, agent_author(ws, ""))
        if not yes:
            (listed,) = listed_records(ws, [record])
            confirm(f"delete {record.id} {listed.title}?")
        delete_record(ws, record)
        print_deleted(record, shape)

    delete_.help = (
        f"Take {_with_article(kind.name)} away. Its id is never used again; a file stays in git's"
        " history."
    )
    return delete_


def _current_records(
    ws: Workspace, kind: Kind, wanted: RecordFilter, limit: int
) -> tuple[list[Record], int]:
    """As `list_and_count`, of a kind whose records may be stale by now: that is computed, so all
    are looked at.
    """
    from kl_hooks.records.liveness import with_stale_status

    all_ = with_stale_status(ws, list_records(ws, replace(wanted, statuses=())))
    found = [record for record in all_ if not wanted.statuses or record.status in wanted.statuses]
    return found[:limit], len(found)


def _print_list(kind: Kind, found: list[Record], total: int, none: str, shape: str) -> None:
    ws = workspace()
    with agent_access(ws) as may:
        seen = may.records(listed_records(ws, found))
    found, total = seen, total - len(found) + len(seen)
    plain = [record_to_dict(ws, record, whole=False) for record in found]
    whole = {"schema": "kl.record.list/1", "kind": kind.name, "records": plain, "total": total}
    print_list(shape, whole, record_rows(ws, found), total, none)


def _with_article(noun: str) -> str:
    """`a decision`, `an objective`."""
    return f"{'an' if noun[:1] in 'aeio' else 'a'} {noun}"


def _proposed_successors(ws: Workspace, record: Record) -> list[Record]:
    """Return the proposed records that will supersede this one once they are accepted."""
    kind = ws.kinds[record.kind]
    if SUPERSEDED not in kind.statuses or record.status == SUPERSEDED:
        return []
    proposed = list_records(ws, RecordFilter((kind.name,), kind.statuses[:1]))
    return [one for one in proposed if record.id in one.many("supersedes")]
