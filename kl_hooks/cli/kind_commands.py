"""The commands that every kind has, made from its fields: new, list, show, search, edit, delete,
history, and its changes of status.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import click

from kl_hooks.cli.output import (
    confirm,
    echo,
    echo_lines,
    initialized_workspace,
    warn,
    workspace,
)
from kl_hooks.cli.record_output import (
    listed_records,
    print_record_list,
    record_line,
    record_lines,
    stale_line,
    warn_of_citations,
    warn_of_index_problems,
    warn_of_omitted,
    warn_of_proposals,
)
from kl_hooks.cli.request_options import operation_command
from kl_hooks.errors import ForPeople, UsageProblem
from kl_hooks.evidence.provenance import agent as agent_of
from kl_hooks.model.kind import Kind, Verb
from kl_hooks.model.parameter import Parameter, RequestField
from kl_hooks.model.problem import MissingField, Problems
from kl_hooks.model.record import Record
from kl_hooks.model.text import OwnText, one_line
from kl_hooks.operations import record_changes as changes
from kl_hooks.operations import records
from kl_hooks.operations.written import Written
from kl_hooks.records.permissions import sign_record as sign_record
from kl_hooks.records.query import get_record
from kl_hooks.workspace import Workspace


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


def _new(kind: Kind) -> click.Command:
    create = changes.create(kind)

    def request(
        title: str = "", title_option: str | None = None, in_editor: bool = False, **values: Any
    ) -> changes.CreateRequest:
        asked = changes.CreateRequest.of(title=title or title_option or "", **values)
        if not in_editor:
            return asked
        return _with_fields_from_editor(kind, asked)

    operation = create._replace(
        request=request, own_fields=(*_TITLE, *_options(create.own_fields), _EDITOR)
    )
    return name_options(operation_command(operation)(print_written), has_editor=True)


def name_options(command: click.Command, *, has_editor: bool = False) -> click.Command:
    """Let each problem about a missing field name the option of the command that sets it; return
    the command. `has_editor`: it has `--edit` too.
    """
    call = command.callback

    def callback(**values: Any) -> Any:
        assert call is not None
        with _naming_options(has_editor=has_editor):
            return call(**values)

    command.callback = callback
    return command


_TITLE: Final = (
    RequestField("title", str, "", Parameter("", argument="[TITLE]")),
    RequestField(
        "title_option",
        str,
        None,
        Parameter("What it is, in one line; or give it as TITLE.", name="title"),
    ),
)
_EDITOR: Final = RequestField(
    "in_editor", bool, False, Parameter("Write it in your editor.", name="edit")
)


def _options(fields: Iterable[RequestField]) -> Iterator[RequestField]:
    """Yield fields as options of a command: none is required, for what is missing is reported with
    all that is wrong. The title has options of its own.
    """
    for field in fields:
        parameter = field.parameter._replace(aliases=())
        if field.is_required:
            default = None
        else:
            default = field.default
        if field.name != "title":
            yield field._replace(default=default, parameter=parameter)


def _edit(kind: Kind) -> click.Command:
    update = changes.update(kind)
    identifier, *fields = update.own_fields

    def request(id: str, **values: Any) -> changes.UpdateRequest:
        asked = changes.UpdateRequest.of(id, **values)
        if not asked.values:
            _edit_file(kind, id)
            click.get_current_context().exit()
        return asked

    titles = [field for field in fields if field.name == "title"]
    own_fields = (identifier, *titles, *_options(fields))
    return operation_command(update._replace(request=request, own_fields=own_fields))(print_written)


def _verb(kind: Kind, verb: Verb) -> click.Command:
    operation = changes.verb(kind, verb)
    identifier, *needs = operation.own_fields

    def print_changed(change: Written, request: changes.UpdateRequest) -> None:
        print_written(change, request)
        record = change.record
        if record.status == verb.to and not record.proposal:
            warn_of_citations(workspace(), [record.id, *record.many("supersedes")])

    own_fields = (identifier, *_options(needs))
    return operation_command(operation._replace(own_fields=own_fields))(print_changed)


def _delete(kind: Kind) -> click.Command:
    """`kl KIND delete`. What a person decided is not an agent's to take away."""
    from kl_hooks.records.permissions import agent_author, refuse_delete

    def confirmed(request: changes.DeleteRequest) -> changes.DeleteRequest:
        ws = workspace()
        record = get_record(ws, request.id, kind.name)
        # before the question: nobody is asked about what is refused
        refuse_delete(kind, record, agent_author(ws, ""))
        if not request.is_confirmed:
            (listed,) = listed_records(ws, [record])
            confirm(f"delete {record.id} {listed.title}?")
        return request

    def print_line(deleted: changes.Deleted, request: changes.DeleteRequest) -> None:
        record = deleted.former.record
        echo(f"deleted {record.id}" + (f"  {record.path}" if record.path else ""))

    return operation_command(changes.delete(kind), confirmed)(print_line)


def print_written(change: Written, request: Any) -> None:
    """Print a record that was made or changed: where it is, and what is to be known of it."""
    ws = workspace()
    record = change.record
    echo(record_line(record))
    warn_of_proposals(record)
    fields = ws.kinds[record.kind].all_fields
    if any(field.type == "ids" and record.many(field.name) for field in fields):
        from kl_hooks.records.citations import doubtful_citations

        for line in doubtful_citations(ws, record):
            warn(f"{record.id} {line}")


@contextmanager
def _naming_options(*, has_editor: bool) -> Iterator[None]:
    """Name the option of the command that is running in each problem about a missing field.

    `has_editor`: the command has `--edit` too.
    """
    try:
        yield
    except Problems as found:
        parameters = click.get_current_context().command.params
        names = {
            one.name: max(one.opts, key=len) if isinstance(one, click.Option) else one.name.upper()
            for one in parameters
            if one.name
        }
        problems = []
        for problem in found.problems:
            missing = problem.message
            if not isinstance(missing, MissingField) or missing.field not in names:
                problems.append(problem)
                continue
            give = f"Give {names[missing.field]}{', or --edit' if has_editor else ''}."
            hint = f"{problem.hint} {give}".strip()
            if isinstance(problem.hint, OwnText):  # the description of the field
                hint = OwnText(hint)
            problems.append(problem._replace(hint=hint))
        raise Problems(problems) from None


def _edit_file(kind: Kind, identifier: str) -> None:
    """Open the file of a record in the editor. UsageProblem for an agent."""
    ws = workspace()
    record = get_record(ws, identifier, kind.name)
    if name := agent_of(ws.environ):
        hint = f"Give fields: see kl {kind.name} edit --help"
        raise ForPeople(f"an agent ({name}) can't open an editor.", place=record.id, hint=hint)
    _open_in_editor(ws, record)


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


def _with_fields_from_editor(kind: Kind, request: changes.CreateRequest) -> changes.CreateRequest:
    """Return a request with what a person wrote into the form of the kind. UsageProblem where the
    editor was closed as it was opened.
    """
    from kl_hooks.records.document import read_document, template

    initialized_workspace()
    _require_editor(f"kl {kind.name} new")
    text = click.edit(template(kind, request.values), extension=".md")
    if text is None:
        raise UsageProblem(
            "nothing was changed in the editor, so nothing was made.", place=f"kl {kind.name} new"
        )
    while True:
        form = read_document(kind, f"{kind.prefix}-0000.md", text.encode("utf-8", "replace"))
        if form.record is not None:
            has_sections = any(field.section for field in kind.fields)
            body = "" if has_sections else form.record.body
            return request._replace(values=dict(form.record.values), markdown=body)
        for problem in form.problems:
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


def _list(kind: Kind) -> click.Command:
    first = f"no {kind.plural} yet. Make one: kl {kind.name}"
    first += f" {_FIRST_CALLS.get(kind.name, 'new --edit')}"

    def print_list(record_list: records.RecordList, request: records.ListRequest) -> None:
        is_whole = request._replace(limit=0) == records.ListRequest(limit=0)
        if is_whole:
            none = first
        else:
            none = f"no {kind.name} fits."
        ws = workspace()
        if not ws.initialized:  # what it advises would be refused with this
            none = f"{ws.root}: kl is not set up here. Set it up with: kl init"
        _print_records(record_list, none)

    return operation_command(records.list_(kind))(print_list)


def _search(kind: Kind) -> click.Command:
    def print_matches(record_list: records.RecordList, request: records.SearchRequest) -> None:
        _print_records(record_list, f"no matches in {kind.plural} for: {one_line(request.query)}")

    return operation_command(records.search(kind))(print_matches)


def _print_records(record_list: records.RecordList, none: str) -> None:
    print_record_list(record_list, none)
    warn_of_omitted(record_list.omitted)


def _show(kind: Kind) -> click.Command:
    return operation_command(records.show(kind))(print_shown)


def print_shown(shown: records.ShownRecord, _request: records.RecordRequest | None = None) -> None:
    """Print a record, whole, with what is to be known of it today."""
    echo_lines(record_lines(workspace(), shown))
    for later in shown.successors:
        accept = f"kl {later.kind} accept {later.id}"
        echo(f"\n{later.id} ({later.status}) would take its place: {accept}")
    if shown.stale:
        echo(stale_line(shown.stale))
    for citation in shown.ended_citations:
        echo(f"\nIt {citation}.")


def _history(kind: Kind) -> click.Command:
    def print_versions(past: records.History, request: records.RecordRequest) -> None:
        echo_lines(f"{one.name:<10}  {one.at[:19]}  {one.how}" for one in past.versions)
        if not past.versions:
            echo("nothing to show: it was never changed, and is not committed yet.")

    return operation_command(records.history(kind))(print_versions)
