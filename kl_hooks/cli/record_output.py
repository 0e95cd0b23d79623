"""How records are shown: a row, a page, JSON; and which records could not be shown."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.cli.output import (
    counted,
    print_rows,
    warn,
    workspace,
)
from kl_hooks.model.kind import VERIFICATION, Field
from kl_hooks.model.record import Record
from kl_hooks.model.text import name_list, one_line
from kl_hooks.records.query import format_value
from kl_hooks.workspace import Workspace

if TYPE_CHECKING:
    from kl_hooks.operations.records import RecordList, ShownRecord
    from kl_hooks.operations.seeding import Seeding

_CITING: Final = 10
"""What cites a record that ended, at most."""
_HEAD = ("title", "status", "supersedes", "superseded_by")


def listed_records(ws: Workspace, records: Sequence[Record]) -> list[Record]:
    """Return the records of a list: of quarantined ones an agent is shown no text, a person is,
    who reviews them.
    """
    from kl_hooks.model.actors import agent
    from kl_hooks.records.liveness import with_stale_status, withhold_quarantined

    if agent(ws.environ) is not None:
        records = withhold_quarantined(ws, records)
    return with_stale_status(ws, records)


def print_record_list(record_list: RecordList, none: str, *, of_kind: bool = False) -> None:
    """Print the records of a list in columns; where there are none, how many have ended, or `none`.

    `of_kind`: with their kinds.
    """
    counts = {"archived": record_list.archived, "expired": record_list.expired}
    if ended := ", ".join(f"{number} {name}" for name, number in counts.items() if number):
        none = f"none in use: {ended}. hint: --all lists them"
    rows = record_rows(workspace(), record_list.records.shown, of_kind=of_kind)
    print_rows(rows, record_list.total, none)


def record_rows(
    ws: Workspace, records: Sequence[Record], *, of_kind: bool = False
) -> Iterator[str]:
    """`ADR-0001  accepted    Two scanners, one contract`, in columns. `of_kind`: with its kind
    before it.
    """
    statuses = (
        status for kind in {one.kind for one in records} for status in ws.kinds[kind].statuses
    )
    widths = (
        max((len(one.kind) for one in records), default=0) if of_kind else 0,
        max((len(one.id) for one in records), default=0),
        max((len(status) for status in statuses), default=0),
    )
    return (_record_row(ws, one, *widths) for one in records)


_OVERTURNED: Final = ("disproven", "deprecated", "superseded")


def _record_row(ws: Workspace, record: Record, kind: int, identifier: int, status: int) -> str:
    from kl_hooks.records.repository import is_expired

    beside = ((name, record.values.get(name)) for name in ws.kinds[record.kind].list_fields)
    marks = [
        f"{name.replace('_', ' ')}: {one_line(format_value(value), 40)}"
        for name, value in beside
        if value is not None
    ]
    # what was verified or disproven keeps its status: approved is what a person made of it
    if record.text(VERIFICATION.name) in _OVERTURNED:
        marks.append(record.text(VERIFICATION.name))
    marks += ["archived"] * record.archived + ["expired"] * is_expired(ws, record)
    marks += ["can't be read today"] * bool(record.broken)
    end = f"   ({', '.join(marks)})" if marks else ""
    start = f"{record.kind:<{kind}}  " if kind else ""
    return (
        f"{start}{record.id:<{identifier}}  {record.status:<{status}} "
        f" {one_line(record.title, 120)}{end}"
    )


def record_lines(ws: Workspace, shown: ShownRecord) -> Iterator[str]:
    """A record as a page."""
    from kl_hooks.records.repository import is_expired

    record = shown.record
    chain = shown.chain
    kind = ws.kinds[record.kind]
    named = (f for f in kind.all_fields if not f.internal and record.values.get(f.name) is not None)
    wide = max([13, *(len(f.name) for f in named if _is_short(f))])
    yield f"{record.id}  {one_line(record.title, 200)}"
    state = [
        record.status,
        *(["archived"] if record.archived else []),
        *(["expired"] if is_expired(ws, record) else []),
    ]
    yield f"{'status':<{wide}} {', '.join(state)}"
    if record.path:
        yield f"{'file':<{wide}} {record.path}"
    if record.broken:
        yield (
            f"{'attention':<{wide}} the file can't be read today ({record.broken}); this is its"
            " last valid content."
        )
    if shown.quarantine:
        reasons = "; ".join(shown.quarantine)
        yield f"{'attention':<{wide}} quarantined until a person has read it: {reasons}"
    if len(chain) > 1:
        yield f"{'chain':<{wide}} {' ← '.join(f'{one.id} ({one.status})' for one in chain)}"
    for change in shown.proposals:
        yield f"{'proposed':<{wide}} {change}. hint: kl knowledge accept {record.id}"
    late = []
    for field in kind.all_fields:
        value = record.values.get(field.name)
        if value is None or field.internal or field.name in _HEAD or value == record.title:
            continue
        if not _is_short(field):
            late.append((field.section or field.name.replace("_", " "), value))
        else:
            yield f"{field.name.replace('_', ' '):<{wide}} {format_value(value)}"
    for heading, value in late:
        yield from ("", heading)
        items = [f"{k}: {v}" for k, v in value.items()] if isinstance(value, Mapping) else value
        for item in items if isinstance(items, list | tuple) else [str(items)]:
            if isinstance(items, list | tuple):
                bullet = "- "
            else:
                bullet = ""
            yield textwrap.indent(bullet + str(item).replace("\n", "\n" + " " * len(bullet)), "  ")


def _is_short(field: Field) -> bool:
    """True for a field whose value fits on one line with its name."""
    return field.name not in _HEAD and field.type not in ("text", "lines", "map")


def waiting_lines(ws: Workspace, numbers: Mapping[str, int]) -> Iterator[str]:
    """What `waiting_for_a_person` found, a line each, with the command that lists them."""
    for name, number in numbers.items():
        if name not in ws.kinds:
            yield f"{counted(number, name)}. See: kl knowledge proposals"
            continue
        status = ws.kinds[name].proposal
        yield f"{counted(number, name)} {status}. See: kl {name} list --status {status}"


def warn_of_omitted(number: int) -> None:
    """Report how many matches a search omitted because they are not in force."""
    if number:
        warn(f"omitted: {number} not in force. hint: --all shows them")


def warn_of_index_problems() -> None:
    """Report what is wrong in authored files, and why results may be outdated."""
    from kl_hooks.records.sync import sync_notes

    for note in sync_notes(workspace()):
        warn(note)


def warn_of_citations(ws: Workspace, ids: Sequence[str]) -> None:
    """Report what cites records that have just ended, a line each."""
    from kl_hooks.records.citations import ended_ids
    from kl_hooks.records.sync import sync
    from kl_hooks.upkeep.cited_by import cited_by

    sync(ws)
    for ended, words in ended_ids(ws, ids).items():
        if citing := cited_by(ws, ended):
            verb = "cites" if len(citing) == 1 else "cite"
            names = name_list(citing, _CITING)
            warn(f"{len(citing)} {verb} {ended}, which is {words} now: {names}")


def warn_of_proposals(record: Record) -> None:
    """Report that a change was not made but waits for a person, or which changes of the record wait
    still.
    """
    from kl_hooks.records.write import proposals_for_reader

    if record.proposal:
        warn(
            f"{record.id}: noted as a proposal, for a person to accept with: kl knowledge accept"
            f" {record.id}"
        )
        return
    pending = proposals_for_reader(workspace(), record.id)
    for one in pending:
        warn(f"{record.id}: still proposed: {one.line()}")
    if pending:
        warn(f"hint: kl knowledge accept {record.id}, or kl knowledge reject {record.id}")


def record_line(record: Record) -> str:
    """A record that was made or changed:

    ID, status and title, and its file on a line of its own.
    """
    return f"{record.id}  {record.status}  {record.title}" + (
        f"\n    {record.path}" if record.path else ""
    )


def seeding_lines(seeding: Seeding) -> Iterator[str]:
    """What was, or would be, done with each seed, a line each; then how many."""
    if not seeding.steps:
        yield "no document here has anything that can be seeded."
        return
    for step in seeding.steps:
        if step.what != "skipped":
            if step.records:
                record = f"{step.records[0].record.id}  "
            else:
                record = ""
            if step.reason:
                reason = f"   ({step.reason})"
            else:
                reason = ""
            yield f"{step.what:<8}  {record}{step.title or step.key}{reason}"
    counts = Counter(step.what for step in seeding.steps)
    states = ("created", "updated", "outdated", "skipped", "kept")
    summary = ", ".join(f"{counts[what]} {what}" for what in states if counts[what])
    number = counted(len(seeding.steps), "seed")
    yield f"{number}: {'would be: ' if seeding.is_dry_run else ''}{summary}"


def stale_line(reason: str) -> str:
    """State that a record is stale, and why."""
    return f"\nIt is stale: {reason.removeprefix('stale ')}."
