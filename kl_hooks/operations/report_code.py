"""The code of a report: layers, files, symbols with the tests that execute them, and imports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.arch.layer_map import ALLOWED, LayerMap, layer_ranks
from kl_hooks.arch.layers import layer_lookup
from kl_hooks.code.languages import language_of
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.symbol import is_test_path
from kl_hooks.model.text import counted
from kl_hooks.operations.report_tests import (
    HERE,
    STALE_HERE,
    STATES,
    TRANSFERRED,
    UNASSESSED,
    UNEXECUTED,
)
from kl_hooks.proof.facts import STALE
from kl_hooks.proof.impact import EXECUTABLE, NEVER, PROVEN
from kl_hooks.proof.symbol_states import TRANSFERRED as PROVEN_ELSEWHERE
from kl_hooks.proof.symbol_states import Place, SymbolProof

if TYPE_CHECKING:
    from kl_hooks.code.query.session import Graph
    from kl_hooks.operations.report_text import ReportTexts
    from kl_hooks.proof.symbol_states import ExecutingTests, SymbolStates

_MOST_FILES: Final = 10_000
_MOST_SYMBOLS: Final = 60_000
_MOST_IMPORTS: Final = 50_000
_STATE_OF: Final = {
    PROVEN: HERE,
    PROVEN_ELSEWHERE: TRANSFERRED,
    STALE: STALE_HERE,
    NEVER: UNEXECUTED,
}
_CALLED: Final = ("function", "method", "property")
"""What runs when it is called; the rest runs when its module is imported."""
_NO_CODE: Final = sha256(b"").hexdigest()[:16]
"""The content hash of a body without statements."""


# layers and imports


def layer_rows(layer_map: LayerMap, texts: ReportTexts) -> list[dict[str, Any]]:
    """The layers, in the order of the manifest."""
    broken = Counter(violation.source_layer for violation in layer_map.violations)
    ranks = layer_ranks(layer_map.layers)
    return [
        {
            "name": texts.sentence(layer.name),
            "rank": ranks[layer.name],
            "description": texts.sentence(", ".join((*layer.paths, *layer.namespaces))),
            "decision": texts.sentence(layer.decision),
            "violations": broken[layer.name],
        }
        for layer in layer_map.layers
    ]


def contract_rows(layer_map: LayerMap, texts: ReportTexts) -> list[dict[str, Any]]:
    """The contracts of import-linter, in the order of the manifest."""
    return [
        {
            "name": texts.sentence(contract.name),
            "type": contract.type,
            "breaches": len(breaches),
            "decision": texts.sentence(contract.decision),
        }
        for contract, breaches in layer_map.contracts
    ]


class ImportRows(NamedTuple):
    """The imports between files of a report."""

    rows: list[list[Any]]
    omitted: int


def import_rows(
    layer_map: LayerMap, file_place: Mapping[str, int], texts: ReportTexts
) -> ImportRows:
    """The imports between files that are shown; of several from one file to another the first, but
    each that is forbidden.
    """
    rows: dict[tuple[int, int, int], list[Any]] = {}
    for row in layer_map.imports():
        source = file_place.get(row.path)
        target = file_place.get(row.imported)
        if source is None or target is None:
            continue
        key = (source, target, row.line if row.state != ALLOWED else 0)
        if key not in rows:
            reason = texts.sentence(row.reason)
            decision = texts.sentence(row.decision)
            rows[key] = [source, target, row.line, row.state, reason, decision]
    every = sorted(rows.values(), key=lambda row: (row[3] == ALLOWED, row))
    return ImportRows(every[:_MOST_IMPORTS], max(0, len(every) - _MOST_IMPORTS))


# files and symbols


class CodeRows(NamedTuple):
    """The files and symbols of a report."""

    files: list[dict[str, Any]]
    symbols: list[list[Any]]
    file_place: dict[str, int]
    symbol_place: dict[Place, int]
    symbol_ids: list[str]
    omitted: dict[str, int]


class _File(NamedTuple):
    path: str
    module: str
    error: str


class _Symbol(NamedTuple):
    """A symbol that tests can execute, or that has members."""

    kind: str
    name: str
    """After the module, with a dot before it; empty: the module itself."""
    line: int
    end_line: int
    content_hash: str


def file_places(graph: Graph, texts: ReportTexts) -> tuple[dict[str, int], int]:
    """Path → its place in the report, of the source files that are shown; how many are omitted."""
    paths = [str(path) for (path,) in graph.db.rows("SELECT path FROM files ORDER BY path")]
    shown = [path for path in paths if texts.shows_file(path)]
    listed = shown[:_MOST_FILES]
    return {path: at for at, path in enumerate(listed)}, len(shown) - len(listed)


def code_rows(
    graph: Graph,
    layer_map: LayerMap,
    texts: ReportTexts,
    places: tuple[dict[str, int], int],
    states: SymbolStates,
    executing: Mapping[Place, ExecutingTests],
    test_place: Mapping[str, int],
    failing: Mapping[str, int],
) -> CodeRows:
    """The files that are shown, with their symbols. `failing`: path → failing tests that are in the
    file or execute something of it.
    """
    file_place, files_omitted = places
    layer_of = layer_lookup(layer_map.layers)
    layer_place = {layer.name: at for at, layer in enumerate(layer_map.layers)}
    symbols_of = _symbols_of(graph, file_place)
    rows = CodeRows([], [], file_place, {}, [], {})
    omitted = Counter[str](files=files_omitted)
    for file in _files(graph, file_place):
        layer = layer_of(file.path)
        begin = len(rows.symbols)
        counts = _add_symbols(
            rows, file, symbols_of.get(file.path, []), states, executing, test_place, omitted
        )
        state, reason = _file_state(file, counts)
        rows.files.append(
            {
                "path": texts.name(file.path),
                "layer": layer_place[layer.name] if layer else None,
                "lines": counts.lines,
                "test": is_test_path(file.path),
                "language": language_of(file.path),
                "state": STATES[state],
                "reason": texts.sentence(reason),
                "proven": counts.lines_by_state,
                "symbols": [begin, len(rows.symbols)],
                "failing": failing.get(file.path, 0),
            }
        )
    return rows._replace(omitted={name: number for name, number in omitted.items() if number})


def _files(graph: Graph, wanted: Collection[str]) -> Iterator[_File]:
    for path, module, error in graph.db.rows("SELECT path, module, error FROM files ORDER BY path"):
        if path in wanted:
            yield _File(str(path), str(module), str(error))


def _symbols_of(graph: Graph, wanted: Collection[str]) -> dict[str, list[_Symbol]]:
    """Path → what it defines, in the order of lines, the module first."""
    sql = """SELECT f.path, r.sort,
            CASE r.sort WHEN 'namespace' THEN r.outer ELSE r.outer || r.name END,
            r.line, r.end_line, lower(hex(r.content_hash))
        FROM symbol_rows r JOIN files f ON f.number = r.file
        WHERE r.sort NOT IN ('test', 'field') ORDER BY f.path, r.line, r.end_line DESC, r.place"""
    symbols: dict[str, list[_Symbol]] = {}
    for path, *row in graph.db.rows(sql):
        if path in wanted:
            symbols.setdefault(str(path), []).append(_Symbol._make(row))
    return symbols


class _Counts:
    """What is proven of the symbols of one file."""

    def __init__(self) -> None:
        self.lines = 0
        self.lines_by_state = [0] * len(STATES)
        self.called: list[tuple[int, str]] = []
        """State and reason of what is called."""
        self.imported: list[tuple[int, str]] = []
        """The same of what runs when the file is imported."""


def _add_symbols(
    rows: CodeRows,
    file: _File,
    symbols: Sequence[_Symbol],
    states: SymbolStates,
    executing: Mapping[Place, ExecutingTests],
    test_place: Mapping[str, int],
    omitted: Counter[str],
) -> _Counts:
    """Append the symbols of a file; return what is proven of them."""
    counts = _Counts()
    for symbol in symbols:
        counts.lines = max(counts.lines, symbol.end_line)
        # the body of an `__init__.py` may be empty: nothing executes it
        if not f"{symbol.kind}:".startswith(EXECUTABLE) or symbol.content_hash == _NO_CODE:
            continue
        place = Place(file.path, f"{symbol.kind}:_{symbol.name}")
        proof = _proof(file, states, place, symbol.content_hash)
        state = _STATE_OF.get(proof.state, UNASSESSED)
        if symbol.kind in _CALLED:
            counts.called.append((state, proof.reason))
            counts.lines_by_state[state] += symbol.end_line - symbol.line + 1
        else:
            counts.imported.append((state, proof.reason))
        if symbol.kind == "namespace":
            continue
        if len(rows.symbols) >= _MOST_SYMBOLS:
            omitted["symbols"] += 1
            continue
        tests = executing.get(place)
        if tests:
            shown = [test_place[name] for name in tests.names if name in test_place]
        else:
            shown = []
        rows.symbol_place[place] = len(rows.symbols)
        rows.symbol_ids.append(f"{symbol.kind}:{file.module}{symbol.name}")
        rows.symbols.append(
            [
                f"{file.module}{symbol.name}",
                symbol.kind,
                rows.file_place[file.path],
                symbol.line,
                symbol.end_line,
                tests.number if tests else 0,
                shown,
                state,
            ]
        )
    return counts


def _proof(file: _File, states: SymbolStates, place: Place, content_hash: str) -> SymbolProof:
    if not file.path.endswith(".py"):
        return SymbolProof("", "which tests execute it is recorded of Python only")
    return states.proof_of(place, content_hash)


_WORST_FIRST: Final = (STALE_HERE, TRANSFERRED, HERE, UNASSESSED, UNEXECUTED)
"""A file is stale where anything of it is, and never executed only where nothing of it was."""


def _file_state(file: _File, counts: _Counts) -> tuple[int, str]:
    """The state of a file and why, by what is called in it; where nothing is, by its import."""
    if file.error:
        return UNASSESSED, f"it can't be read: {file.error}"
    judged = counts.called or counts.imported
    if not judged:
        return UNASSESSED, "it defines nothing that a test could execute"
    states = Counter(state for state, _ in judged)
    state = next(state for state in _WORST_FIRST if states[state])
    reasons = dict.fromkeys(reason for symbol_state, reason in judged if symbol_state == state)
    return state, "; ".join(_file_reasons(states, state, len(judged), next(iter(reasons))))


def _file_reasons(states: Mapping[int, int], state: int, total: int, reason: str) -> Iterator[str]:
    if state in (STALE_HERE, UNASSESSED) or states[state] == total:
        yield from filter(None, (reason,))
    others = (
        (STALE_HERE, "must run again"),
        (UNEXECUTED, "never executed"),
        (UNASSESSED, "not assessed"),
    )
    for other, words in others:
        if states[other] and states[other] < total:
            yield f"{states[other]} of {counted(total, 'symbol')} {words}"


def changed_places(
    paths: Iterable[str], changed: Iterable[Place], rows: CodeRows
) -> tuple[list[int], list[int]]:
    """The files and symbols of a change, by their places."""
    files = sorted(rows.file_place[path] for path in set(paths) if path in rows.file_place)
    symbols = sorted(rows.symbol_place[place] for place in changed if place in rows.symbol_place)
    return files, symbols
