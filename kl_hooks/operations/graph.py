"""Operations of the code graph: find, show, who uses it, what depends on it, how two hang together.

Each answers about the files as they are now, or as they were at a revision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

from kl_hooks.errors import KlError, UsageProblem
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import Parameter
from kl_hooks.model.symbol import FilePath, Link, NodeId, Symbol, is_test_path, split_id
from kl_hooks.model.text import one_line
from kl_hooks.operations.graph_json import (
    answer_to_dict,
    found_to_dict,
    link_to_dict,
    page_to_dict,
    path_to_dict,
    site_to_dict,
    symbol_to_dict,
)
from kl_hooks.operations.operation import TOP, Listing, Operation, visible_result
from kl_hooks.workspace import require_setup

if TYPE_CHECKING:
    from kl_hooks.code.languages import Progress, Unread
    from kl_hooks.code.precise.compare import Comparison
    from kl_hooks.code.query.dependents import DependencyPath, Dependent
    from kl_hooks.code.query.lookup import Answer
    from kl_hooks.code.query.references import References, SymbolPage
    from kl_hooks.code.query.search import Found
    from kl_hooks.code.query.session import Graph, GraphCounts, ScanSummary
    from kl_hooks.code.query.sites import Site
    from kl_hooks.context.access import Access
    from kl_hooks.proof.measured import Measured
    from kl_hooks.proof.symbol_tests import ExecutedBy
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

_Place = TypeVar("_Place", bound="Link | Site")

_ALL: Final = 100_000
_PROGRESS: Final = "Updating the code graph"
SEARCHED_KINDS: Final = (
    "namespace",
    "type",
    "interface",
    "function",
    "method",
    "property",
    "field",
    "test",
    "file",
    "violation",
    "page",
)
"""Beside the kinds of records."""

_NAME: Final = Parameter(
    "An Id, a name or its end (C.m), a file, or a place (a.py:12).",
    argument="NAME",
    aliases=("id",),
)
_REVISION: Final = Parameter("At this revision, not now.", name="at", metavar="REV")
_UNRESOLVED: Final = Parameter("Uses of its name whose meaning is unknown.")
_ALL_POSSIBLE: Final = Parameter(
    "All possible uses, of other meanings too.",
    name="all",
)
SHOWN_IN_SOURCE: Final = 15
SHOWN_IN_TESTS: Final = 5
"""Possible uses that are listed unless all are asked for."""
EVERYWHERE: Final = 40
"""Places in source with the name and an unknown receiver, from which on those are only counted."""


class SearchRequest(NamedTuple):
    """What to find."""

    query: Annotated[
        str, Parameter("A name, its beginning or words.", argument="NAME...", aliases=("name",))
    ]
    kinds: Annotated[
        tuple[str, ...],
        Parameter(
            "Only these kinds, such as function, type, test, page or decision. Repeatable.",
            name="kind",
            metavar="KIND",
            aliases=("type",),
        ),
    ] = ()
    file: Annotated[
        str,
        Parameter(
            "Only in this file, folder or pattern (src/*.py).",
            name="about",
            metavar="PATH",
            aliases=("file",),
        ),
    ] = ""
    limit: Annotated[int, TOP] = 20
    rev: Annotated[str, _REVISION] = ""


class Matches(NamedTuple):
    """What was found."""

    query: str
    hits: tuple[Found, ...]
    limit: int
    is_cut: bool
    """Whether there are more."""
    unread: Unread
    """Where nothing was found: language → number of files that no scanner reads."""


class NodeRequest(NamedTuple):
    """One node."""

    name: Annotated[str, _NAME]
    rev: Annotated[str, _REVISION] = ""


class RuntimeImport(NamedTuple):
    """An import that no statement shows and a recorded test run saw."""

    link: Link
    run: str


class Execution(NamedTuple):
    """A test that executed a symbol, and its file."""

    file: FilePath
    result: ExecutedBy


class ShownNode(NamedTuple):
    """All that is known of a symbol, a record or a page."""

    page: SymbolPage
    layer: str
    """That governs its file; empty: none, or the manifest can't be read."""
    executed_by: tuple[Execution, ...]
    measured: Measured | None
    """What imported coverage reports show of it, where they name no tests."""
    runtime_imports: tuple[RuntimeImport, ...]
    mentions: tuple[Link, ...]
    """By passages of documents."""
    mark: str
    """What a reader should know of it: that it is quarantined."""
    notes: tuple[str, ...]
    """What could not be read."""


class FileRequest(NamedTuple):
    """One file."""

    file: Annotated[
        str, Parameter("A file or its end, or a module.", argument="FILE", aliases=("path",))
    ]
    rev: Annotated[str, _REVISION] = ""


class Definition(NamedTuple):
    """A symbol in a file."""

    depth: int
    symbol: Symbol


class FileSymbols(NamedTuple):
    """What a file defines."""

    file: NodeId
    definitions: tuple[Definition, ...]
    """The outer before the inner."""
    problem: str
    """Why that is unknown; empty: it is known."""
    mark: str
    """What a reader should know of it, where it is a record: that it is quarantined."""

    @property
    def path(self) -> str:
        """The file, from the root of the repository."""
        return self.file.removeprefix("file:")


class UsesRequest(NamedTuple):
    """Whose uses."""

    name: Annotated[str, _NAME]
    unresolved: Annotated[bool, _UNRESOLVED] = False
    is_complete: Annotated[bool, _ALL_POSSIBLE] = False
    limit: Annotated[int, TOP] = 200
    rev: Annotated[str, _REVISION] = ""


class Uses(NamedTuple):
    """What uses a symbol."""

    symbol: Symbol
    links: Listing
    """Of them; where uses whose meaning is unknown were asked for, these."""
    is_unresolved: bool
    answer: Answer
    mark: str
    uncalled: tuple[Link, ...] = ()
    """Uses that call nothing, where it is asked what calls it and nothing does: `x: C`."""
    possible: tuple[Site, ...] = ()
    """Places that use its name and may mean it, the likeliest first."""
    elsewhere: tuple[Site, ...] = ()
    """Places that use its name and mean something else, as far as is known."""
    is_complete: bool = False
    """Whether all of these are to be shown."""

    @property
    def shown_possible(self) -> tuple[Site, ...]:
        """The possible uses to show: the first in source and the first in tests, unless all."""
        if self.is_complete:
            return self.possible
        unknown = sum(site.is_unknown and not site.is_test for site in self.possible)
        # of a name that is everywhere the places where nothing is known of the receiver are noise
        is_everywhere = unknown > EVERYWHERE
        shown = [site for site in self.possible if not is_everywhere or not site.is_unknown]
        return first_places(shown)

    @property
    def shown_uncalled(self) -> tuple[Link, ...]:
        """The same of uses that call nothing."""
        if self.is_complete:
            return self.uncalled
        return first_places(self.uncalled)


def first_places(places: Sequence[_Place]) -> tuple[_Place, ...]:
    """The first places in source, then the first in tests."""
    in_source = [place for place in places if not is_test_path(place.path)]
    in_tests = [place for place in places if is_test_path(place.path)]
    return (*in_source[:SHOWN_IN_SOURCE], *in_tests[:SHOWN_IN_TESTS])


class StateRequest(NamedTuple):
    """Whose reads and writes."""

    name: Annotated[
        str,
        _NAME._replace(
            help="An attribute (Slot.closing), a module variable or a constant; as in kl "
            "graph refs."
        ),
    ]
    is_complete: Annotated[bool, _ALL_POSSIBLE] = False
    rev: Annotated[str, _REVISION] = ""


class State(NamedTuple):
    """Who reads and writes something."""

    symbol: Symbol
    name: str
    answer: Answer
    writes: Places
    changes: Places
    reads: Places
    possible: Places
    elsewhere: Places
    mark: str
    """What a reader should know of it, where it is a record: that it is quarantined."""


class Places(NamedTuple):
    """Places that use a name, of which the first in source and in tests are shown."""

    sites: tuple[Site, ...]
    is_complete: bool

    @property
    def shown(self) -> tuple[Site, ...]:
        """The first of them, or all."""
        if self.is_complete:
            return self.sites
        return first_places(self.sites)


class DependentsRequest(NamedTuple):
    """Whose dependents."""

    name: Annotated[str, _NAME]
    depth: Annotated[
        int,
        Parameter(
            "Most links away.",
            bounds=(1, 10),
            is_clamped=True,
            is_default_shown=True,
        ),
    ] = 3
    unresolved: Annotated[
        bool, Parameter("Uses of its name, or a part's, whose meaning is unknown.")
    ] = False
    limit: Annotated[int, TOP] = 200
    rev: Annotated[str, _REVISION] = ""


class DependentList(NamedTuple):
    """What depends on a symbol."""

    symbol: Symbol
    depth: int
    dependents: Listing
    """Of `Dependent`."""
    unresolved: Listing | None
    """Uses that may or may not mean it; None: not asked for."""
    answer: Answer
    mark: str


class PathRequest(NamedTuple):
    """From where to where."""

    start: Annotated[
        str, Parameter("As in `kl graph refs`.", name="from", argument="FROM", aliases=("start",))
    ]
    end: Annotated[
        str, Parameter("As in `kl graph refs`.", name="to", argument="TO", aliases=("end",))
    ]
    rev: Annotated[str, _REVISION] = ""


class ShownPath(NamedTuple):
    """How one node depends on another."""

    path: DependencyPath
    start_mark: str
    end_mark: str


class NeighborsRequest(NamedTuple):
    """Whose neighbors."""

    name: Annotated[str, _NAME]
    depth: Annotated[int, Parameter("Most links away.", bounds=(1, 5), is_default_shown=True)] = 1
    relations: Annotated[
        tuple[str, ...],
        Parameter("Only this relation. Repeatable.", name="relation", metavar="NAME"),
    ] = ()
    limit: Annotated[int, TOP._replace(bounds=(1, 1000))] = 50


class Neighbor(NamedTuple):
    """A node beside another."""

    level: int
    """Links in between."""
    node: NodeId
    link: Link
    """That leads there."""


class NeighborList(NamedTuple):
    """What is linked with a node."""

    start: NodeId
    depth: int
    neighbors: Listing
    """Of `Neighbor`."""
    is_cut: bool
    """Whether there are more than are followed."""


@contextmanager
def opened_graph(
    ws: Workspace,
    rev: str,
    access: Access,
    *,
    records: bool = True,
    watch: Progress | None = None,
) -> Iterator[Graph]:
    """The graph, current. `records`: with records and pages, as their files are now; who asks about
    code alone need not wait for them.
    """
    from kl_hooks.code.languages import no_progress
    from kl_hooks.code.query.lookup import Ambiguous
    from kl_hooks.code.query.session import open_graph

    require_setup(ws)
    if records and not rev:
        from kl_hooks.records.sync import sync

        sync(ws)  # records and pages are nodes of the same graph
    try:
        with open_graph(ws, rev or None, watch or no_progress) as graph:
            yield graph
    except Ambiguous as problem:
        candidates = visible_result(access, problem.candidates)
        if len(candidates) < 2:  # of the others nothing may be shown
            hint = "Use an ID."
            raise UsageProblem("is ambiguous.", place=problem.place, hint=hint) from None
        ambiguous = Ambiguous(problem.place, candidates)
        ambiguous.answer = {
            "schema": "kl.graph.candidates/1",
            "asked": problem.place,
            "candidates": [symbol_to_dict(candidate) for candidate in candidates],
        }
        raise ambiguous from None


def _mark(ws: Workspace, node: str) -> str:
    """What a reader should know of a record that was asked for by its ID: that it is
    quarantined.
    """
    from kl_hooks.model.symbol import RECORD_ID

    if not RECORD_ID.fullmatch(node.rpartition(":")[2]):
        return ""
    from kl_hooks.records.liveness import LiveRecords

    return LiveRecords(ws).mark(node)


def _marked(node: dict[str, Any], mark: str) -> dict[str, Any]:
    return node | ({"mark": mark} if mark else {})


def _search(ws: Workspace, request: SearchRequest, access: Access) -> Matches:
    from kl_hooks.code.query.search import find_all
    from kl_hooks.records.liveness import LiveRecords

    kinds = (*SEARCHED_KINDS, *ws.kinds)
    if wrong := [kind for kind in request.kinds if kind not in kinds]:
        raise UsageProblem(
            f"no such kind: {one_line(wrong[0], 60)}.",
            place="kind",
            hint=f"Use: {', '.join(kinds)}",
        )
    words = request.query.split()
    with opened_graph(ws, request.rev, access) as graph:
        hits, is_cut = find_all(
            graph, words, request.kinds, request.file, request.limit, LiveRecords(ws)
        )
        unread = {} if hits else graph.count_unread()
    return Matches(request.query, tuple(hits), request.limit, bool(is_cut), unread)


def _matches_to_dict(matches: Matches) -> dict[str, Any]:
    return {
        "hits": [found_to_dict(hit) for hit in matches.hits],
        "more": matches.is_cut,
        "unread": dict(matches.unread),
    }


SEARCH: Final = Operation(
    "graph search",
    """Find symbols, records, pages and violations by name or words.

    Symbols of that name in any case, style or inflection (baskets finds Basket) come first, then
    records, pages and violations with the words, then symbols whose name begins so, then those
    whose code or docstring has the words.

    A dotted NAME is the end of an owner and the beginning of a name (Basket.add finds
    shop.core.Basket.add_line), or a name as it is imported (shop.Basket, where shop/__init__.py
    takes it from shop.core).

    --kind violation finds what the last `kl arch check` of the working tree found, with its
    receipt.
    """,
    SearchRequest,
    _search,
    _matches_to_dict,
    "kl.graph.search/2",
    "kl graph search parse_header --kind function",
    progress=_PROGRESS,
)


def _show(ws: Workspace, request: NodeRequest, access: Access) -> ShownNode:

    from kl_hooks.code.query.references import symbol_page
    from kl_hooks.documents.neighborhood import mentioning
    from kl_hooks.records.liveness import LiveRecords

    notes: list[str] = []
    with opened_graph(ws, request.rev, access) as graph:
        page = symbol_page(graph, request.name)
        page = page._replace(written=LiveRecords(ws).links(page.written))
        symbol = page.symbol
        tests = _tests_that_executed(ws, graph.db, symbol, notes)
        measured_by = _measured(ws, graph.db, symbol)
        if not request.rev:
            mentions = mentioning(ws, graph.db, symbol.id, access)
        else:
            mentions = []
        imports = _runtime_imports(ws, graph.db, symbol, notes)
        if not request.rev:
            mark = _mark(ws, symbol.id)
        else:
            mark = ""
    layer = _layer(ws, symbol.path)
    return ShownNode(page, layer, tests, measured_by, imports, tuple(mentions), mark, tuple(notes))


def _tests_that_executed(
    ws: Workspace, graph: Database, symbol: Symbol, notes: list[str]
) -> tuple[Execution, ...]:
    """The tests that executed a symbol, of all runs until now; none, and a note, where the evidence
    can't be read.
    """
    from kl_hooks.errors import EnvironmentProblem
    from kl_hooks.evidence.ingestion import sync_evidence
    from kl_hooks.proof.symbol_tests import executed_by

    try:
        sync_evidence(ws)
        results = executed_by(ws, graph, symbol)
    except EnvironmentProblem as problem:
        notes.append(f"tests that executed it are not shown: {problem}")
        return ()
    return tuple(Execution(FilePath(result.test.partition("::")[0]), result) for result in results)


def _measured(ws: Workspace, graph: Database, symbol: Symbol) -> Measured | None:
    """What imported coverage reports show of a symbol, once the evidence is read."""
    from kl_hooks.proof.measured import measured

    with ws.store.reading() as db:
        if db is None:
            return None
        return measured(db, graph, [symbol.id]).get(symbol.id)


def _runtime_imports(
    ws: Workspace, graph: Database, symbol: Symbol, notes: list[str]
) -> tuple[RuntimeImport, ...]:
    """The imports of a module, and those of it, that no statement shows and recorded test runs
    saw.
    """
    if split_id(symbol.id)[0] != "namespace":
        return ()
    from kl_hooks.arch.runtime_imports import imports_seen

    try:
        seen = imports_seen(ws, dict(graph.rows("SELECT path, module FROM files")))
    except KlError as problem:
        notes.append(f"runtime-only imports are not shown: {problem}")
        return ()
    return tuple(
        RuntimeImport(link, run)
        for link, run in seen.items()
        if symbol.id in (link.source, link.target)
    )


def _layer(ws: Workspace, path: str) -> str:
    """The layer that governs a file, by the manifest on disk; empty where none does, or it can't be
    read.
    """
    from kl_hooks.arch.layers import layer_lookup
    from kl_hooks.arch.manifest_parser import read_manifest
    from kl_hooks.model.manifest import MANIFEST
    from kl_hooks.store.files import read_small

    try:
        text = read_small(ws.root / MANIFEST, within=ws.root)
        if text is not None:
            layer = layer_lookup(read_manifest(MANIFEST, text).layers)(path)
        else:
            layer = None
    except KlError:  # `kl arch check` reports what is wrong with it
        return ""
    if layer is None:
        return ""
    return layer.name


def _runtime_import_to_dict(seen: RuntimeImport) -> dict[str, Any]:
    ends = (split_id(end)[1] for end in (seen.link.source, seen.link.target))
    return {**dict(zip(("source", "target"), ends, strict=True)), "run": seen.run}


def _shown_to_dict(shown: ShownNode) -> dict[str, Any]:
    plain = {
        **page_to_dict(shown.page),
        "layer": shown.layer,
        "executed_by": [test.result._asdict() for test in shown.executed_by],
        "measured": shown.measured.to_dict() if shown.measured else None,
        "runtime_imports": [_runtime_import_to_dict(seen) for seen in shown.runtime_imports],
        "mentioned_in": [link_to_dict(link) for link in shown.mentions],
    }
    return _marked(plain, shown.mark)


SHOW: Final = Operation(
    "graph show",
    """Show NAME on one page: signature, place, what it uses, what uses it, overrides it, tests it.

    NAME as in `kl graph refs`. The content hash changes with the code, not with comments,
    docstrings or layout.
    """,
    NodeRequest,
    _show,
    _shown_to_dict,
    "kl.graph.show/2",
    "kl graph show Basket.total",
    progress=_PROGRESS,
)


def _symbols(ws: Workspace, request: FileRequest, access: Access) -> FileSymbols:
    from kl_hooks.code.query.lookup import file_symbols

    with opened_graph(ws, request.rev, access, records=False) as graph:
        path, definitions, problem = file_symbols(graph, request.file)
    shown = tuple(Definition(depth, symbol) for depth, symbol in definitions)
    if not request.rev:
        mark = _mark(ws, request.file)
    else:
        mark = ""
    return FileSymbols(NodeId(f"file:{path}"), shown, problem, mark)


def _symbols_to_dict(found: FileSymbols) -> dict[str, Any]:
    rows = [
        {
            **symbol_to_dict(symbol),
            "depth": depth,
            "decorators": list(symbol.decorators),
            "doc": symbol.doc,
        }
        for depth, symbol in found.definitions
    ]
    if found.problem:
        answer = "not assessed"
    elif rows:
        answer = "yes"
    else:
        answer = "no"
    plain = {"path": found.path, "symbols": rows, "answer": answer, "problem": found.problem}
    return _marked(plain, found.mark)


SYMBOLS: Final = Operation(
    "graph symbols",
    """List what FILE defines, as a tree: line, signature, decorators. FILE is a path or its end, or
    a module.
    """,
    FileRequest,
    _symbols,
    _symbols_to_dict,
    "kl.graph.symbols/1",
    "kl graph symbols src/shop/core.py",
    tool="symbols",
    progress=_PROGRESS,
)


def _refs(ws: Workspace, request: UsesRequest, access: Access) -> Uses:
    from kl_hooks.code.query.references import references

    with opened_graph(ws, request.rev, access) as graph:
        uses = _uses(ws, references(graph, request.name), request)
        return _with_possible(graph, uses, calls=False)


def _callers(ws: Workspace, request: UsesRequest, access: Access) -> Uses:
    from kl_hooks.code.query.references import callers, references

    with opened_graph(ws, request.rev, access, records=False) as graph:
        uses = _uses(ws, callers(graph, request.name), request)
        if not uses.links.items and not uses.is_unresolved:
            others = references(graph, uses.symbol.id).links
            uncalled = tuple(link for link in others if link.relation in _UNCALLED)
            uses = uses._replace(uncalled=uncalled)
        return _with_possible(graph, uses, calls=True)


_UNCALLED: Final = ("references", "inherits", "implements")


def _uses(ws: Workspace, found: References, request: UsesRequest) -> Uses:
    if request.unresolved:
        links = found.answer.unresolved
    else:
        links = found.links
    mark = _mark(ws, found.symbol.id)
    listing = Listing(tuple(links), request.limit)
    return Uses(
        found.symbol,
        listing,
        request.unresolved,
        found.answer,
        mark,
        is_complete=request.is_complete,
    )


def _with_possible(graph: Graph, uses: Uses, *, calls: bool) -> Uses:
    """Add the places that use the name of a symbol and have no link to it."""
    if uses.is_unresolved:
        return uses

    from kl_hooks.code.query.sites import possible_uses

    links = (*uses.links.items, *uses.uncalled)
    possible, elsewhere = possible_uses(graph, uses.symbol, links, calls=calls)
    answer = uses.answer._replace(possible=len(possible))
    return uses._replace(answer=answer, possible=possible, elsewhere=elsewhere)


def _refs_to_dict(uses: Uses) -> dict[str, Any]:
    return _uses_to_dict(uses, "refs")


def _callers_to_dict(uses: Uses) -> dict[str, Any]:
    uncalled = [link_to_dict(link) for link in uses.shown_uncalled]
    references = {"references": uncalled, "references_total": len(uses.uncalled)}
    return _uses_to_dict(uses, "callers") | (references if not uses.is_unresolved else {})


def _uses_to_dict(uses: Uses, name: str) -> dict[str, Any]:
    plain = {
        "symbol": _marked(symbol_to_dict(uses.symbol), uses.mark),
        "unresolved_uses" if uses.is_unresolved else name: _by_place(uses.links.shown),
        "total": uses.links.total,
        **answer_to_dict(uses.answer),
    }
    if uses.is_unresolved:
        return plain
    if uses.is_complete:
        elsewhere = [site_to_dict(site) for site in uses.elsewhere]
    else:
        elsewhere = []
    return plain | {
        "possible": [site_to_dict(site) for site in uses.shown_possible],
        "possible_total": len(uses.possible),
        "elsewhere": elsewhere,
        "elsewhere_total": len(uses.elsewhere),
    }


def _by_place(links: tuple[Link, ...]) -> list[dict[str, Any]]:
    """Group links by file and line, in the order given."""
    places = groupby(links, key=lambda link: (link.path, link.line))
    return [
        {"path": path, "line": line, "links": [_without_place(link) for link in there]}
        for (path, line), there in places
    ]


def _without_place(link: Link) -> dict[str, Any]:
    return {key: value for key, value in link_to_dict(link).items() if key not in ("path", "line")}


REFS: Final = Operation(
    "graph refs",
    """List what uses NAME: calls, references, base classes and imports, by file and line.

    NAME is an Id (method:pkg.mod.C.m), a dotted name or its end (C.m), a file (pkg/mod.py) or a
    place in one (pkg/mod.py:12). Each link shows how it was found, and with what confidence. Uses
    of the name that may mean it come after the links, as in `kl graph callers`.
    """,
    UsesRequest,
    _refs,
    _refs_to_dict,
    "kl.graph.refs/2",
    "kl graph refs Basket.total",
    progress=_PROGRESS,
)
CALLERS: Final = Operation(
    "graph callers",
    """List what calls NAME, by file and line; for a class also what calls its __init__.

    After the calls that lead to it come possible ones by name, with what the receiver is likely to
    be; the likeliest 15 in source and 5 in tests, --all lists every one. "No callers." is printed
    only where every file was read and no unresolved use has that name. NAME as in `kl graph refs`.
    """,
    UsesRequest,
    _callers,
    _callers_to_dict,
    "kl.graph.callers/2",
    "kl graph callers Basket.total",
    progress=_PROGRESS,
)


def _state(ws: Workspace, request: StateRequest, access: Access) -> State:
    from kl_hooks.code.query.lookup import Answer, paths_not_assessed
    from kl_hooks.code.query.state import NoState, state_uses

    with opened_graph(ws, request.rev, access, records=False) as graph:
        try:
            uses = state_uses(graph, request.name)
        except NoState as problem:
            # that it is there is hidden too: answered as its uses would be
            access.require_not_denied(problem.symbol.id)
            raise
        answer = Answer(
            bool(uses.writes or uses.changes or uses.reads),
            not_assessed=paths_not_assessed(graph, uses.symbol),
            possible=len(uses.possible),
        )
    lists = {name: Places(getattr(uses, name), request.is_complete) for name in STATE_LISTS}
    return State(uses.symbol, uses.name, answer, **lists, mark=_mark(ws, uses.symbol.id))


STATE_LISTS: Final = ("writes", "changes", "reads", "possible", "elsewhere")
"""What a state is made of."""


def _state_to_dict(state: State) -> dict[str, Any]:
    symbol = _marked(symbol_to_dict(state.symbol), state.mark)
    plain: dict[str, Any] = {"symbol": symbol, "name": state.name}
    for name in STATE_LISTS:
        places: Places = getattr(state, name)
        is_shown = name != "elsewhere" or places.is_complete
        plain[name] = [site_to_dict(site) for site in places.shown] if is_shown else []
        plain[f"{name}_total"] = len(places.sites)
    return plain | {
        "answer": state.answer.verdict,
        "not_assessed": list(state.answer.not_assessed),
    }


USES: Final = Operation(
    "graph uses",
    """List what reads and writes NAME: an attribute, a module variable, a constant.

    An attribute of self belongs to its class and the subclasses, declared or not (Slot.closing).
    Writes bind it, changes are in place (self.jobs.append(job)). Uses whose receiver is of unknown
    type come last, with what it is likely to be. The first 15 of each list in source and 5 in tests
    are listed, --all lists every one.
    """,
    StateRequest,
    _state,
    _state_to_dict,
    "kl.graph.uses/1",
    "kl graph uses Basket.lines",
    progress=_PROGRESS,
)


def _dependents(ws: Workspace, request: DependentsRequest, access: Access) -> DependentList:
    from kl_hooks.code.query.dependents import dependents

    with opened_graph(ws, request.rev, access, records=False) as graph:
        # lists for people omit those in tests, and the policy may omit some: the first are not
        # enough
        found = dependents(graph, request.name, request.depth, _ALL)
    if request.unresolved:
        unresolved = Listing(found.answer.unresolved, request.limit)
    else:
        unresolved = None
    return DependentList(
        found.symbol,
        request.depth,
        Listing(found.found, request.limit),
        unresolved,
        found.answer,
        _mark(ws, found.symbol.id),
    )


def _dependents_to_dict(found: DependentList) -> dict[str, Any]:
    plain = {
        "symbol": _marked(symbol_to_dict(found.symbol), found.mark),
        "depth": found.depth,
        "dependents": [_dependent_to_dict(dependent) for dependent in found.dependents.shown],
        "total": found.dependents.total,
        **answer_to_dict(found.answer),
    }
    if found.unresolved is None:
        return plain
    return plain | {"unresolved_uses": [link_to_dict(link) for link in found.unresolved.shown]}


def _dependent_to_dict(dependent: Dependent) -> dict[str, Any]:
    link = dependent.link
    return {
        "id": link.source,
        "level": dependent.level,
        "relation": link.relation,
        "link": link_to_dict(link),
    }


DEPENDENTS: Final = Operation(
    "graph dependents",
    """List what depends on NAME by calls, references, base classes and imports, through others too.

    Each dependent once, at its nearest level, with one of the links that lead there. Who uses a
    method depends on its class, who uses anything in a module on the module. NAME as in `kl graph
    refs`.
    """,
    DependentsRequest,
    _dependents,
    _dependents_to_dict,
    "kl.graph.dependents/1",
    "kl graph dependents Basket --depth 2",
    progress=_PROGRESS,
)


def _path(ws: Workspace, request: PathRequest, access: Access) -> ShownPath:
    from kl_hooks.code.query.dependents import dependency_path
    from kl_hooks.documents.neighborhood import mentioned

    with opened_graph(ws, request.rev, access) as graph:
        if not request.rev:
            mentions = mentioned(ws, graph.db, access)
        else:
            mentions = None
        path = dependency_path(graph, request.start, request.end, mentions)
    return ShownPath(path, _mark(ws, path.start.id), _mark(ws, path.end.id))


def _path_to_dict(shown: ShownPath) -> dict[str, Any]:
    plain = path_to_dict(shown.path)
    ends = {"from": shown.start_mark, "to": shown.end_mark}
    return plain | {name: _marked(plain[name], mark) for name, mark in ends.items()}


PATH: Final = Operation(
    "graph path",
    """Show the shortest chain of links by which FROM depends on TO, with file and line for each.

    Records, pages, files and symbols are nodes of one graph: a chain may lead from a page over a
    decision to a file and to what the file defines. Where only TO leads to a record or page FROM,
    the chain from TO is shown, with a note.

    Both as in `kl graph refs`. A chain may begin in a part of FROM and end in a part of TO. "No
    path." is printed only where every file was read and no unresolved use on the way has a name
    that could lead to TO.
    """,
    PathRequest,
    _path,
    _path_to_dict,
    "kl.graph.path/1",
    "kl graph path shop.web.show_page Basket",
    progress=_PROGRESS,
)


def _neighbors(ws: Workspace, request: NeighborsRequest, access: Access) -> NeighborList:
    from kl_hooks.documents.neighborhood import neighbors

    with opened_graph(ws, "", access) as graph:
        start, found, is_cut = neighbors(
            ws, graph, request.name, request.depth, request.relations, access
        )
    nodes = tuple(Neighbor(level, NodeId(node), link) for level, node, link in found)
    return NeighborList(NodeId(start), request.depth, Listing(nodes, request.limit), is_cut)


def _neighbors_to_dict(found: NeighborList) -> dict[str, Any]:
    rows = [
        {"level": neighbor.level, "id": neighbor.node, **link_to_dict(neighbor.link)}
        for neighbor in found.neighbors.shown
    ]
    return {
        "id": found.start,
        "depth": found.depth,
        "neighbors": rows,
        "total": found.neighbors.total,
        "cut": found.is_cut,
    }


NEIGHBORS: Final = Operation(
    "graph neighbors",
    """List what is linked with NAME in either direction: code, records, files, and passages of
    documents.

    Each once, at its nearest level, with the link that leads there. NAME as in `kl graph refs`;
    also a file of documents, or a passage (file:docs/a.md#L7-L9). What very many files use is not
    followed further.
    """,
    NeighborsRequest,
    _neighbors,
    _neighbors_to_dict,
    "kl.graph.neighbors/1",
    "kl graph neighbors Basket.total --depth 2",
    progress=_PROGRESS,
)


class BuildRequest(NamedTuple):
    """What to build."""

    precise: Annotated[
        bool, Parameter("Also read everything with libcst and grimp, and list the differences.")
    ] = False
    rev: Annotated[str, _REVISION] = ""
    watch: Callable[[Iterator[Any], int], Iterator[Any]] | None = None
    """Shown while files are read."""


class Built(NamedTuple):
    """What is in the graph."""

    scan: ScanSummary
    counts: GraphCounts
    unread: Unread
    """Language → number of files that no scanner reads."""
    comparison: Comparison | None
    """With the precise scanners; None: not asked for."""


def _build(ws: Workspace, request: BuildRequest, access: Access) -> Built:
    from kl_hooks.code.query.session import graph_counts

    if request.precise and request.rev:
        raise UsageProblem(
            "--precise compares the working tree; omit --at.", place="kl graph build"
        )
    with opened_graph(ws, request.rev, access, watch=request.watch) as graph:
        scan = graph.scan
        counts = graph_counts(graph.db, graph.kinds)
        unread = graph.count_unread()
    if not request.precise:
        return Built(scan, counts, unread, None)
    from kl_hooks.code.precise.compare import compare_working_tree

    return Built(scan, counts, unread, compare_working_tree(ws))


def _built_to_dict(built: Built) -> dict[str, Any]:
    scan = built.scan
    counts = built.counts
    plain = {
        "files": scan.files,
        "parsed": scan.parsed,
        "removed": scan.removed,
        "unresolved": counts.unresolved,
        "symbols": sum(counts.nodes.values()),
        "links": sum(counts.links.values()),
        "nodes": counts.nodes,
        "relations": counts.links,
        "knowledge": counts.knowledge,
        "unread": dict(built.unread),
        "problems": [
            {
                "path": problem.path,
                "line": problem.line,
                "column": problem.column,
                "message": problem.message,
            }
            for problem in scan.problems
        ],
    }
    if built.comparison is None:
        return plain
    return plain | {"precise": _comparison_to_dict(built.comparison)}


def _comparison_to_dict(comparison: Comparison) -> dict[str, Any]:
    return {
        "files": comparison.files,
        "definitions": comparison.definitions,
        "imports": comparison.imports,
        "edges": comparison.edges,
        "equal": not comparison.differences and not comparison.not_assessed,
        "differences": [
            {"path": d.path, "line": d.line, "what": d.what, "fast": d.fast, "precise": d.precise}
            for d in comparison.differences
        ],
        "not_assessed": [
            {"path": p.path, "line": p.line, "message": p.message} for p in comparison.not_assessed
        ],
        "not_compared": comparison.unseen,
    }


BUILD: Final = Operation(
    "graph build",
    """Update the graph to the working tree, and count what is in it.

    Every command that reads the graph does this by itself; files that do not parse are named here.
    --precise is slow, a hundred times and more: it compares the scanner with two others and changes
    nothing. Exit 0 whatever it finds.
    """,
    BuildRequest,
    _build,
    _built_to_dict,
    "kl.graph.build/2",
    "kl graph build",
    is_tool=False,
)


class StatsRequest(NamedTuple):
    """Nothing is asked."""


class LinkedNode(NamedTuple):
    """A node and how many links lead to it."""

    node: NodeId
    links: int


class GraphStats(NamedTuple):
    """Count nodes and links, and the parts that nothing links."""

    nodes: dict[str, int]
    """Kind → how many."""
    relations: dict[str, int]
    unresolved: int
    linked_nodes: int
    parts: tuple[int, ...]
    """Nodes of each part that nothing links with another, largest first."""
    most_linked: tuple[LinkedNode, ...]


def _stats(ws: Workspace, _request: StatsRequest, access: Access) -> GraphStats:
    from kl_hooks.code.query.session import graph_counts
    from kl_hooks.documents.indexing import indexed_documents, sync_documents, visible_documents
    from kl_hooks.graph.links import shape

    sync_documents(ws)
    with opened_graph(ws, "", access) as graph:
        counts = graph_counts(graph.db, graph.kinds)
        parts = shape(graph.db)
        documents = indexed_documents(ws, visible_documents(ws))
    passages = sum(document.chunks for document in documents)
    nodes = {**counts.nodes, **counts.knowledge, "document": len(documents), "passage": passages}
    linked = tuple(LinkedNode(NodeId(node), number) for node, number in parts.linked_to)
    return GraphStats(nodes, counts.links, counts.unresolved, parts.nodes, parts.parts, linked)


def _stats_to_dict(stats: GraphStats) -> dict[str, Any]:
    return {
        "nodes": stats.nodes,
        "relations": stats.relations,
        "unresolved": stats.unresolved,
        "linked_nodes": stats.linked_nodes,
        "parts": len(stats.parts),
        "largest_part": stats.parts[0] if stats.parts else 0,
        "most_linked": [{"id": linked.node, "links": linked.links} for linked in stats.most_linked],
    }


STATS: Final = Operation(
    "graph stats",
    "Count nodes and links by kind, the parts that nothing links, and what has the most links.",
    StatsRequest,
    _stats,
    _stats_to_dict,
    "kl.graph.stats/1",
    "kl graph stats",
    is_tool=False,
    progress=_PROGRESS,
)


OPERATIONS: Final = (
    BUILD,
    SEARCH,
    SHOW,
    SYMBOLS,
    REFS,
    CALLERS,
    USES,
    DEPENDENTS,
    PATH,
    NEIGHBORS,
    STATS,
)
