"""Citations of what has ended: records that name a superseded, rejected or archived one.

One rule for every page, check and package that shows who cites what.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.symbol import RECORD_ID, full_record_id
from kl_hooks.records.liveness import verification_status
from kl_hooks.records.query import get_records

if TYPE_CHECKING:
    from kl_hooks.model.kind import Kind
    from kl_hooks.model.record import Record
    from kl_hooks.workspace import Workspace

_ENDED: Final = frozenset(
    ("superseded", "deprecated", "rejected", "abandoned", "retired", "archived", "disproven")
)
"""Statuses of what counts no more; what waits, is paused or was completed is none of them."""
_SUCCESSION: Final = ("supersedes", "superseded_by")


class Citation(NamedTuple):
    """A field of a record that names another record."""

    field: str
    id: str


def ended_words(kind: Kind, record: Record) -> str:
    """In words how a record has ended: `superseded by ADR-0007`; empty: it has not."""
    values = [
        record.status,
        verification_status(kind, record),
        *["archived"][: record.archived],
    ]
    word = next((value for value in values if value in _ENDED), "")
    later = ", ".join(record.many("superseded_by"))
    if word == "superseded" and later:
        return f"{word} by {later}"
    return word


def cited_records(kind: Kind, record: Record) -> Iterator[Citation]:
    """The records that a record names, but for those whose place it takes."""
    for field in kind.all_fields:
        if field.type != "ids" or field.name in _SUCCESSION:
            continue
        for text in record.many(field.name):
            if name := cited_id(text):
                yield Citation(field.name, name)


def cited_id(text: str) -> str:
    """The ID of the record that a text names, `ADR-7` or `adr:ADR-0007`; empty for none."""
    name = full_record_id(text.rpartition(":")[2].strip())
    if RECORD_ID.fullmatch(name):
        return name
    return ""


def ended_ids(ws: Workspace, ids: Iterable[str]) -> dict[str, str]:
    """Those of these IDs whose records have ended → how, in words."""
    wanted = sorted({name for name in ids if RECORD_ID.fullmatch(name)})
    records = get_records(ws, wanted) if wanted else []
    words = ((record.id, ended_words(ws.kinds[record.kind], record)) for record in records)
    return {name: word for name, word in words if word}


def ended_citations(ws: Workspace, records: Sequence[Record]) -> dict[str, tuple[str, ...]]:
    """ID of each record that cites what has ended → a line for each such citation.

    A record that has ended itself is omitted: nobody follows it.
    """
    live = [one for one in records if not ended_words(ws.kinds[one.kind], one)]
    cited = {one.id: list(cited_records(ws.kinds[one.kind], one)) for one in live}
    ended = ended_ids(ws, (citation.id for some in cited.values() for citation in some))
    lines = {
        name: tuple(citation_line(citation.id, ended) for citation in some if citation.id in ended)
        for name, some in cited.items()
    }
    return {name: some for name, some in lines.items() if some}


def doubtful_citations(ws: Workspace, record: Record) -> list[str]:
    """A line for each record that this one cites and that has ended or is not there."""
    names = list(dict.fromkeys(one.id for one in cited_records(ws.kinds[record.kind], record)))
    if names:
        present = {one.id for one in get_records(ws, names)}
    else:
        present = set()
    states = ended_ids(ws, names) | {
        name: "not in this repository" for name in names if name not in present
    }
    return [citation_line(name, states) for name in names if name in states]


def citation_line(cited: str, ended: Mapping[str, str]) -> str:
    """`cites ADR-0004, which is superseded by ADR-0007`."""
    return f"cites {cited}, which is {ended[cited]}"
