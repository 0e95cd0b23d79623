"""Operations of search: one ranked list over documents, records and code; documents alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.documents.rounds import MOST_ROUNDS
from kl_hooks.documents.search import FUSIONS, KINDS, MODES, MOST, Options
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import Parameter
from kl_hooks.model.text import without_role_markup
from kl_hooks.operations.operation import TOP, Operation
from kl_hooks.records.sync import sync_notes

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.documents.rounds import Answer
    from kl_hooks.documents.search import SearchAnswer
    from kl_hooks.workspace import Workspace

_USUAL: Final = Options()
_QUERY: Final = Parameter("Words, or a question.", argument="QUERY...")
_MODE: Final = Parameter("How to search.", choices=MODES, is_default_shown=True)
_COLLECTIONS: Final = Parameter(
    "Only documents of this collection. Repeatable.",
    name="collection",
    metavar="NAME",
    aliases=("knowledge_base_ids",),
)
_TOP: Final = TOP._replace(bounds=(1, MOST), aliases=("limit", "top_k"))


class SearchRequest(NamedTuple):
    """What to find, and how."""

    query: Annotated[str, _QUERY]
    mode: Annotated[str, _MODE] = MODES[0]
    kinds: Annotated[
        tuple[str, ...],
        Parameter("Only matches of this kind. Repeatable.", name="kind", choices=KINDS),
    ] = ()
    collections: Annotated[tuple[str, ...], _COLLECTIONS] = ()
    top_k: Annotated[int, _TOP] = 10
    fusion: Annotated[
        str,
        Parameter(
            "How a hybrid search makes one list of two.",
            choices=FUSIONS,
            is_default_shown=True,
            is_personal=True,
        ),
    ] = _USUAL.fusion
    rerank: Annotated[
        bool,
        Parameter("Rank the best 50 again by how many words of QUERY each has.", is_personal=True),
    ] = False
    freshness: Annotated[
        bool, Parameter("Mark passages that name code which changed after they were written.")
    ] = False
    rounds: Annotated[
        int,
        Parameter(
            "Search again for what is missing, at most so often, and quote the best passages.",
            bounds=(0, MOST_ROUNDS),
        ),
    ] = 0
    hops: Annotated[
        int,
        Parameter(
            "Of --mode graph: most links from a match to what is shown with it.",
            bounds=(1, 3),
            is_default_shown=True,
            is_personal=True,
        ),
    ] = _USUAL.hops
    budget: Annotated[
        int,
        Parameter(
            "Of --mode graph: most tokens of summaries and snippets.",
            bounds=(50, 100_000),
            is_default_shown=True,
            is_personal=True,
        ),
    ] = _USUAL.budget
    explain: Annotated[bool, Parameter("Show what each score is made of.", is_personal=True)] = (
        False
    )
    progress: Callable[[int, int], object] | None = None
    """(texts embedded, of how many), while those that have no vector yet get one."""

    @property
    def options(self) -> Options:
        """How the search ranks."""
        return Options(
            self.fusion, self.rerank, self.progress, self.freshness, self.hops, self.budget
        )


class DocumentsRequest(NamedTuple):
    """Which passages to find."""

    query: Annotated[str, _QUERY]
    mode: Annotated[str, _MODE] = MODES[0]
    collections: Annotated[tuple[str, ...], _COLLECTIONS] = ()
    top_k: Annotated[int, _TOP] = 10


class Matches(NamedTuple):
    """What a search found."""

    found: SearchAnswer
    """The search omits what is hidden from whoever asks, so that it is not counted either."""
    answer: Answer | None
    """Of a search in rounds."""
    is_explained: bool
    sync_notes: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not take part, or may be old."""
        return (*self.sync_notes, *self.found.notes)


def _search(ws: Workspace, request: SearchRequest, access: Access) -> Matches:
    from kl_hooks.context.package_log import record_search
    from kl_hooks.documents.rounds import search_in_rounds
    from kl_hooks.documents.search import search

    began = time.perf_counter()
    answer = None
    asked = (ws, request.query, request.mode, request.collections, request.top_k)
    limits: dict[str, Any] = {"kinds": request.kinds, "may": access, "options": request.options}
    if request.rounds:
        answer = search_in_rounds(*asked, rounds=request.rounds, **limits)
    if answer:
        results = answer.found
    else:
        results = search(*asked, **limits)
    record_search(ws, results, 1000 * (time.perf_counter() - began))
    return Matches(results, answer, request.explain, sync_notes(ws))


def _search_documents(ws: Workspace, request: DocumentsRequest, access: Access) -> Matches:
    whole = SearchRequest(
        request.query,
        request.mode,
        kinds=KINDS[:1],
        collections=request.collections,
        top_k=request.top_k,
    )
    return _search(ws, whole, access)


def _matches_to_dict(matches: Matches) -> dict[str, Any]:
    from kl_hooks.documents.rounds import answer_to_dict
    from kl_hooks.documents.search import communities_to_dict, result_to_dict

    search_answer = matches.found
    explain = matches.is_explained
    plain: dict[str, Any] = {
        "query": search_answer.query,
        "mode": search_answer.mode,
        "took_part": list(search_answer.took_part),
        "total": search_answer.total,
        "counts": dict(search_answer.counts),
        "notes": list(search_answer.notes),
        "results": [result_to_dict(result, explain=explain) for result in search_answer.results],
    }
    if search_answer.mode == "graph":
        plain["communities"] = communities_to_dict(search_answer)
    if matches.answer is not None:
        plain |= answer_to_dict(matches.answer, explain=explain)
    whole: dict[str, Any] = without_role_markup(plain)
    return whole


SEARCH: Final = Operation(
    "search",
    """Search documents, records in force and code for the words of QUERY, best first.

    `--mode vector` finds passages and records of the same meaning in other words, `hybrid` both in
    one list; they need the extra kl-hooks[embeddings], and search by words without it. `graph`
    finds what is linked with the best five matches of both: passages that name the same code,
    records about it, code that it uses; with a summary of each group.

    Documents are README files, the docs folder, other Markdown and reStructuredText files, and what
    `kl document add` added. Each match states its file, its line, its headings, and the lines with
    the words.
    """,
    SearchRequest,
    _search,
    _matches_to_dict,
    "kl.search/2",
    'kl search "how are secrets removed" --top 5',
    tool="query_knowledge_base",
    progress="Reading code, records and documents",
)
DOCUMENTS: Final = Operation(
    "search --kind document",
    "Find passages of documents, best first, each with its file, line and headings.",
    DocumentsRequest,
    _search_documents,
    _matches_to_dict,
    "kl.search/2",
    "kl search --kind document lag",
    tool="search_documents",
    progress="Reading documents",
)

OPERATIONS: Final = (SEARCH, DOCUMENTS)
