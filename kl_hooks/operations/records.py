"""Operations that every kind of records has, made from it: find, list, show, earlier versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.clock import iso
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.kind import AUTHORITIES, SUPERSEDED, Kind
from kl_hooks.model.parameter import Parameter, RequestField, fields_of
from kl_hooks.operations.operation import TOP, Listing, Operation
from kl_hooks.records.query import (
    NO_LIMIT,
    RecordFilter,
    Selection,
    get_record,
    list_and_count,
    list_records,
    past_versions,
    record_now,
    supersession_chain,
    topic_field,
)
from kl_hooks.records.sync import sync_notes

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.model.record import Record
    from kl_hooks.records.events import OccurrenceCount
    from kl_hooks.records.query import Version
    from kl_hooks.workspace import Workspace

_STATUS: Final = Parameter("Only these. Repeatable.", name="status")
_TAG: Final = Parameter("Only with this tag.")
_ABOUT: Final = Parameter("Only about this path, symbol or record.", metavar="PATH_OR_ID")
_TOPIC: Final = Parameter(
    "Only of this topic.", metavar="NAME", aliases=("group",), is_personal=True
)


class SearchRequest(NamedTuple):
    """Which records of a kind."""

    query: Annotated[str, Parameter("Words; any text will do.", argument="WORDS...")]
    statuses: Annotated[tuple[str, ...], _STATUS] = ()
    tag: Annotated[str, _TAG] = ""
    about: Annotated[str, _ABOUT] = ""
    everything: Annotated[
        bool,
        Parameter(
            "Also what is not in force.",
            name="all",
        ),
    ] = False
    limit: Annotated[int, TOP._replace(bounds=(1, 1000))] = 20
    topic: Annotated[str, _TOPIC] = ""


class ListRequest(NamedTuple):
    """Which records of a kind."""

    statuses: Annotated[tuple[str, ...], _STATUS] = ()
    tag: Annotated[str, _TAG] = ""
    about: Annotated[str, _ABOUT] = ""
    authority: Annotated[str, Parameter("Only of this authority.", choices=AUTHORITIES)] = ""
    everything: Annotated[bool, Parameter("Archived and expired ones too.", name="all")] = False
    limit: Annotated[int, TOP] = 50
    topic: Annotated[str, _TOPIC] = ""


class RecordList(NamedTuple):
    """Records, and what an answer may lack."""

    records: Listing
    unread: int
    """Matches beyond the list, which were counted alone."""
    omitted: int
    """Matches of a search that are not in force."""
    now: str
    """By which records may be expired."""
    notes: tuple[str, ...]
    archived: int = 0
    """Archived records that the request selects, where it selects no others."""
    expired: int = 0
    """Expired ones, likewise."""

    @property
    def total(self) -> int:
        """How many there are."""
        return self.records.total + self.unread


class RecordRequest(NamedTuple):
    """One record."""

    id: Annotated[str, Parameter("Its id.", argument="ID")]


class ShownRecord(NamedTuple):
    """A record, whole, and what is to be known of it today."""

    record: Record
    chain: tuple[Record, ...]
    """All that superseded it or that it superseded, and itself, the newest first."""
    successors: tuple[Record, ...]
    """Proposed records that would supersede it."""
    proposals: tuple[str, ...]
    """Changes that wait for a person, a line each."""
    stale: str
    """Why it is out of date; empty: it is not."""
    quarantine: tuple[str, ...]
    """Why it is quarantined."""
    ended_citations: tuple[str, ...]
    """What it cites that is not in force any more."""
    occurrences: OccurrenceCount | None
    """How often it happened, where that is counted."""
    now: str
    notes: tuple[str, ...]


class History(NamedTuple):
    """What a record was before."""

    record: Record
    versions: tuple[Version, ...]


def _search(kind: Kind, ws: Workspace, request: SearchRequest, access: Access) -> RecordList:
    from kl_hooks.records.liveness import with_stale_status
    from kl_hooks.records.retrieval import search_live

    wanted = RecordFilter(
        (kind.name,),
        request.statuses,
        request.tag,
        request.about,
        archived=True,
        expired=request.everything,
    )
    matches = search_live(ws, request.query.split(), wanted, NO_LIMIT, access.without_denied)
    records = _of_topic(kind, matches.records, request.topic)
    first = _first(records, request.limit, access)
    listing = Listing(tuple(with_stale_status(ws, first)), request.limit)
    return RecordList(listing, len(records) - len(first), matches.omitted, now(ws), sync_notes(ws))


def records_of_today(ws: Workspace, wanted: RecordFilter) -> list[Record]:
    """Return the records that a filter selects by the status that they have today: *stale* is
    computed, of all of them.
    """
    from kl_hooks.records.liveness import with_stale_status

    records = with_stale_status(ws, list_records(ws, wanted._replace(statuses=())))
    return [record for record in records if not wanted.statuses or record.status in wanted.statuses]


def _list(kind: Kind, ws: Workspace, request: ListRequest, access: Access) -> RecordList:

    statuses = request.statuses
    wanted = RecordFilter(
        (kind.name,),
        statuses,
        request.tag,
        request.about,
        request.authority,
        request.everything,
        request.everything,
    )
    if "stale" in kind.statuses:
        records = records_of_today(ws, wanted)
        total = len(records)
    else:
        is_whole = request.topic or not access.shows_all
        records, total = list_and_count(ws, wanted, NO_LIMIT if is_whole else request.limit)
    if request.topic:
        records = _of_topic(kind, records, request.topic)
        total = len(records)
    first = _first(records, request.limit, access)
    listing = Listing(tuple(first), request.limit)
    ended: Sequence[Record] = ()
    if not total and not request.everything:
        ended = _of_topic(kind, ended_records(ws, wanted, access), request.topic)
    return RecordList(listing, total - len(first), 0, now(ws), sync_notes(ws), *ended_counts(ended))


def ended_records(ws: Workspace, wanted: RecordFilter, access: Access) -> list[Record]:
    """Return the archived and expired records that a filter would select, but for denied ones."""
    whole = wanted._replace(archived=True, expired=True)
    return access.without_denied(records_of_today(ws, whole))


def ended_counts(records: Sequence[Record]) -> tuple[int, int]:
    """Return how many of these, which have ended, are archived, and how many are only expired."""
    archived = sum(record.archived for record in records)
    return archived, len(records) - archived


def _first(records: list[Record], limit: int, access: Access) -> list[Record]:
    """Return the records that a list needs: under a policy all, for those that are hidden are not
    counted.
    """
    if not access.shows_all:
        return records
    return records[:limit]


def _of_topic(kind: Kind, records: list[Record], topic: str) -> list[Record]:
    """Return those of a topic; empty: all. UsageProblem for a word that is none of the kind's."""
    if not topic:
        return records
    selection = Selection({kind.name: kind}, topic)
    return [record for record in records if selection.holds(record)]


def _show(kind: Kind, ws: Workspace, request: RecordRequest, _access: Access) -> ShownRecord:
    return shown_record(ws, get_record(ws, request.id, kind.name))


def shown_record(
    ws: Workspace, record: Record, occurrences: OccurrenceCount | None = None
) -> ShownRecord:
    """Return a record with what is to be known of it today."""
    from kl_hooks.records.citations import ended_citations
    from kl_hooks.records.liveness import quarantine_reasons, stale_reasons, with_stale_status
    from kl_hooks.records.write import proposals_for_reader

    (current,) = with_stale_status(ws, [record])
    return ShownRecord(
        current,
        tuple(supersession_chain(ws, current)),
        tuple(_proposed_successors(ws, current)),
        tuple(change.line() for change in proposals_for_reader(ws, record.id)),
        stale_reasons(ws, [record]).get(record.id, ""),
        quarantine_reasons(ws, record),
        ended_citations(ws, [record]).get(record.id, ()),
        occurrences,
        now(ws),
        sync_notes(ws),
    )


def _proposed_successors(ws: Workspace, record: Record) -> Iterator[Record]:
    """Yield the proposed records that will supersede this one once they are accepted."""
    kind = ws.kinds[record.kind]
    if SUPERSEDED in kind.statuses and record.status != SUPERSEDED:
        proposed = list_records(ws, RecordFilter((kind.name,), kind.statuses[:1]))
        yield from (other for other in proposed if record.id in other.many("supersedes"))


def _history(kind: Kind, ws: Workspace, request: RecordRequest, _access: Access) -> History:
    record = get_record(ws, request.id, kind.name)
    return History(record, tuple(past_versions(ws, record)))


def now(ws: Workspace) -> str:
    """Return the moment, in ISO 8601."""
    return iso(ws.clock.now())


def _list_to_dict(kind: Kind, record_list: RecordList) -> dict[str, Any]:
    rows = [
        record_now(kind, record, record_list.now, whole=False)
        for record in record_list.records.shown
    ]
    return {"kind": kind.name, "records": rows, "total": record_list.total}


def _search_to_dict(kind: Kind, record_list: RecordList) -> dict[str, Any]:
    return _list_to_dict(kind, record_list) | {"not_in_force": record_list.omitted}


def shown_to_dict(kind: Kind, shown: ShownRecord) -> dict[str, Any]:
    """Return a record as JSON, with what is to be known of it today."""
    plain = record_now(kind, shown.record, shown.now) | {
        "chain": [record.id for record in shown.chain] or [shown.record.id],
        "stale": shown.stale,
        "ended_citations": list(shown.ended_citations),
    }
    return plain | ({"quarantined": list(shown.quarantine)} if shown.quarantine else {})


def _history_to_dict(history: History) -> dict[str, Any]:
    versions = [
        {"version": version.name, "at": version.at, "how": version.how, "values": version.values}
        for version in history.versions
    ]
    return {"id": history.record.id, "versions": versions}


def _fields(kind: Kind, request_type: type) -> Iterator[RequestField]:
    """Yield the fields of a request about a kind, in its words."""
    topic = topic_field(kind)
    for field in fields_of(request_type):
        parameter = field.parameter
        if field.name == "statuses":
            parameter = parameter._replace(choices=kind.statuses)
        elif field.name == "id":
            parameter = parameter._replace(help=f"Its id, such as {kind.prefix}-0001.")
        elif field.name == "topic":
            if topic is None:
                continue
            words = f"Only of this {topic.name}: {', '.join(topic.choices)}."
            parameter = parameter._replace(help=words)
        yield field._replace(parameter=parameter)


def search(kind: Kind) -> Operation:
    """Return the operation that finds records of a kind."""
    return Operation(
        f"{kind.name} search",
        f"Find {kind.plural} in force that match any of the WORDS, best first.",
        SearchRequest,
        partial(_search, kind),
        partial(_search_to_dict, kind),
        "kl.record.list/1",
        f"kl {kind.name} search parser --top 5",
        own_fields=tuple(_fields(kind, SearchRequest)),
    )


def list_(kind: Kind) -> Operation:
    """Return the operation that lists records of a kind."""
    return Operation(
        f"{kind.name} list",
        f"The {kind.plural}: {kind.purpose[:1].lower()}{kind.purpose[1:]}",
        ListRequest,
        partial(_list, kind),
        partial(_list_to_dict, kind),
        "kl.record.list/1",
        f"kl {kind.name} list --status {kind.statuses[0]}",
        own_fields=tuple(_fields(kind, ListRequest)),
    )


def show(kind: Kind) -> Operation:
    """Return the operation that shows a record of a kind."""
    return Operation(
        f"{kind.name} show",
        f"One {kind.name}, whole: its text, its status, what took its place.",
        RecordRequest,
        partial(_show, kind),
        partial(shown_to_dict, kind),
        "kl.record/1",
        f"kl {kind.name} show {kind.prefix}-0001",
        tool=f"{kind.name}_read",
        own_fields=tuple(_fields(kind, RecordRequest)),
    )


def history(kind: Kind) -> Operation:
    """Return the operation that shows what a record of a kind was before."""
    return Operation(
        f"{kind.name} history",
        f"Earlier versions of {with_article(kind.name)}: commits of its file, and before it "
        "was one.",
        RecordRequest,
        partial(_history, kind),
        _history_to_dict,
        "kl.record.history/2",
        f"kl {kind.name} history {kind.prefix}-0001",
        is_tool=False,
        own_fields=tuple(_fields(kind, RecordRequest)),
    )


def with_article(noun: str) -> str:
    """`a decision`, `an objective`."""
    return f"{'an' if noun[:1] in 'aeio' else 'a'} {noun}"
