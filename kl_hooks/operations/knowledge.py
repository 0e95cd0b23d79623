"""Operations on records of every kind: find them, with claims and pages; list them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.claims import claim_to_dict
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import Parameter
from kl_hooks.model.record import Record
from kl_hooks.model.text import counted, one_line, suggest_spelling
from kl_hooks.operations.operation import TOP, Listing, Operation
from kl_hooks.operations.parts import Kinds
from kl_hooks.operations.records import (
    RecordList,
    ended_counts,
    ended_records,
    now,
    records_of_today,
)
from kl_hooks.records.page_search import DocSection, search_all, section_to_dict
from kl_hooks.records.pages import PAGE_KIND
from kl_hooks.records.query import (
    NO_LIMIT,
    RecordFilter,
    Selection,
    list_and_count,
    record_now,
    unreadable_records,
)
from kl_hooks.records.sync import sync_notes

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.workspace import Workspace

_KINDS: Final = Parameter("Only of this kind. Repeatable.", name="kind", metavar="KIND")
_TOPIC: Final = Parameter(
    "Only of this topic (stack, workflow …), or of this group of older layouts"
    " (failure_patterns …).",
    metavar="NAME",
    aliases=("group",),
    is_personal=True,
)


class ListRequest(NamedTuple):
    """Which records."""

    kinds: Annotated[tuple[str, ...], _KINDS] = ()
    statuses: Annotated[
        tuple[str, ...],
        Parameter("Only in this status. Repeatable.", name="status", metavar="STATUS"),
    ] = ()
    tag: Annotated[str, Parameter("Only those with this tag.")] = ""
    about: Annotated[
        str,
        Parameter("Only those about this file, folder, symbol or record.", metavar="PATH_OR_ID"),
    ] = ""
    topic: Annotated[str, _TOPIC] = ""
    everything: Annotated[bool, Parameter("Archived and expired ones too.", name="all")] = False
    limit: Annotated[int, TOP] = 50


class KnowledgeList(NamedTuple):
    """Records of several kinds."""

    found: RecordList
    kinds: Kinds

    @property
    def notes(self) -> tuple[str, ...]:
        """What is wrong in files, or omitted."""
        return self.found.notes


def require_kinds(ws: Workspace, names: Sequence[str]) -> None:
    """UsageProblem for an unknown kind."""
    for name in names:
        if name not in ws.kinds:
            hint = suggest_spelling(name, ws.kinds) or f"There are: {', '.join(ws.kinds)}."
            place = f"--kind {one_line(name, 60)}"
            raise UsageProblem("there is no kind of this name.", place=place, hint=hint)


def unread_notes(ws: Workspace) -> tuple[str, ...]:
    """Return a line for each kind, or folder, whose records nobody can read today."""
    return tuple(
        f"{counted(number, 'record')} {place} {'is' if number == 1 else 'are'} omitted: {reason}"
        for number, place, reason in unreadable_records(ws)
    )


def record_notes(ws: Workspace) -> tuple[str, ...]:
    """Return what is wrong in authored files, and what nobody can read today."""
    return (*sync_notes(ws), *unread_notes(ws))


def _list(ws: Workspace, request: ListRequest, access: Access) -> KnowledgeList:
    from kl_hooks.records.liveness import with_stale_status

    require_kinds(ws, request.kinds)
    if request.topic:
        selection = Selection(ws.kinds, request.topic)
    else:
        selection = None
    is_whole = selection is not None or not access.shows_all
    wanted = RecordFilter(
        request.kinds or (selection.kinds if selection else ()),
        request.statuses,
        request.tag,
        request.about,
        "",
        request.everything,
        request.everything,
    )
    if is_whole or request.statuses:
        records = [
            record
            for record in records_of_today(ws, wanted)
            if selection is None or selection.holds(record)
        ]
        total = len(records)
    else:
        records, total = list_and_count(ws, wanted, request.limit)
    ended: Sequence[Record] = ()
    if not total and not request.everything:
        ended = [
            record
            for record in ended_records(ws, wanted, access)
            if selection is None or selection.holds(record)
        ]
    listing = Listing(tuple(with_stale_status(ws, records)), request.limit)
    record_list = RecordList(
        listing, total - len(records), 0, now(ws), record_notes(ws), *ended_counts(ended)
    )
    return KnowledgeList(record_list, Kinds(ws.kinds))


def _row(kinds: Kinds, record: Record, moment: str) -> dict[str, Any]:
    return record_now(kinds.by_name[record.kind], record, moment, whole=False)


def _list_to_dict(listed: KnowledgeList) -> dict[str, Any]:
    record_list = listed.found
    rows = [_row(listed.kinds, record, record_list.now) for record in record_list.records.shown]
    return {"records": rows, "total": record_list.total}


LIST: Final = Operation(
    "knowledge list",
    "List records of every kind.",
    ListRequest,
    _list,
    _list_to_dict,
    "kl.knowledge.list/1",
    "kl knowledge list --about src/names.py",
    is_tool=False,
    progress="Reading records and pages",
)


class SearchRequest(NamedTuple):
    """What to find."""

    query: Annotated[str, Parameter("Words; any text will do.", argument="WORDS...")]
    kinds: Annotated[
        tuple[str, ...], _KINDS._replace(help="Only of this kind, or `page`. Repeatable.")
    ] = ()
    topic: Annotated[str, _TOPIC] = ""
    everything: Annotated[
        bool,
        Parameter(
            "Also what is not in force: proposed, expired, archived …",
            name="all",
        ),
    ] = False
    limit: Annotated[int, TOP._replace(bounds=(1, 1000))] = 20


class Matches(NamedTuple):
    """Records, sections of pages and claims that were found."""

    words: tuple[str, ...]
    hits: Listing
    """Of `Record` and `DocSection`, best first."""
    unread: int
    """Matches beyond the list, which were counted alone."""
    omitted: int
    """Records that match and are not in force."""
    claims: Listing
    unread_claims: int
    kinds: Kinds
    now: str
    sync_notes: tuple[str, ...]

    @property
    def total(self) -> int:
        """How many records and sections there are."""
        return self.hits.total + self.unread

    @property
    def claims_total(self) -> int:
        """How many claims there are."""
        return self.claims.total + self.unread_claims

    @property
    def notes(self) -> tuple[str, ...]:
        """What is wrong in files, or omitted."""
        if not self.omitted:
            return self.sync_notes
        return (f"omitted: {self.omitted} not in force. hint: --all shows them", *self.sync_notes)


def _search(ws: Workspace, request: SearchRequest, access: Access) -> Matches:
    from kl_hooks.proof.claims import search_claims
    from kl_hooks.records.liveness import with_stale_status

    words = request.query.split()
    require_kinds(ws, [kind for kind in request.kinds if kind != PAGE_KIND])
    if request.topic:
        selection = Selection(ws.kinds, request.topic)
    else:
        selection = None
    wanted = RecordFilter(
        request.kinds or (selection.kinds if selection else ()),
        archived=True,
        expired=request.everything,
    )
    # what is hidden is not counted, and the topic is looked at after the search: a limit before it
    # would drop matches
    is_whole = selection is not None or not access.shows_all
    most = NO_LIMIT if is_whole else request.limit
    hits, total, omitted = search_all(ws, words, wanted, most, access.without_denied)
    if selection is not None:
        hits = [hit for hit in hits if isinstance(hit, Record) and selection.holds(hit)]
        total = len(hits)
    records = with_stale_status(ws, [hit for hit in hits if isinstance(hit, Record)])
    current = {record.id: record for record in records}
    items = tuple(current[hit.id] if isinstance(hit, Record) else hit for hit in hits)
    # a claim is of no kind and has no topic
    has_claims = not request.kinds and selection is None
    claims, matching = search_claims(ws, words, most) if has_claims else ([], 0)
    return Matches(
        tuple(words),
        Listing(items, request.limit),
        total - len(items),
        omitted,
        Listing(tuple(claims), request.limit),
        matching - len(claims),
        Kinds(ws.kinds),
        now(ws),
        record_notes(ws),
    )


def _matches_to_dict(matches: Matches) -> dict[str, Any]:
    hits = matches.hits.shown
    sections = [hit for hit in hits if isinstance(hit, DocSection)]
    return {
        "records": [
            _row(matches.kinds, hit, matches.now) for hit in hits if isinstance(hit, Record)
        ],
        "pages": [section_to_dict(section, matches.words) for section in sections],
        "order": [hit.id if isinstance(hit, Record) else hit.hit.id for hit in hits],
        "total": matches.total,
        "not_in_force": matches.omitted,
        "claims": [claim_to_dict(claim) for claim in matches.claims.shown],
        "claims_total": matches.claims_total,
    }


SEARCH: Final = Operation(
    "knowledge search",
    """Search records in force, claims, and the pages of the docs folder for any of the WORDS, best
    first.

    A page is found by its sections: each hit names the heading and its line. With --topic only
    records are searched.

    With an option of `kl search`, such as --mode or --explain, it is `kl search`: the same list of
    documents, records and code, and --kind as it has it.
    """,
    SearchRequest,
    _search,
    _matches_to_dict,
    "kl.knowledge.search/1",
    "kl knowledge search utf-8 names",
    progress="Reading records and pages",
)

OPERATIONS: Final = (LIST, SEARCH)
