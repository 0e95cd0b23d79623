"""What imported coverage reports show of symbols where they name no tests: whether the run executed
a symbol at all.

This is *assumed*: a report names neither the content that it measured nor the results of its tests.
It shows where a test is missing, and proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kl_hooks.code.query.lookup import nested_symbols, symbols_by_id
from kl_hooks.evidence.executed import MeasuredSymbol, measured_symbols
from kl_hooks.evidence.ledger import entry_of_run
from kl_hooks.model.claim import Tier
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.symbol import split_id

if TYPE_CHECKING:
    from kl_hooks.model.symbol import Symbol
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

_OF_CLASS = ("method", "property")


class Measured(NamedTuple):
    """What the newest report that fits shows of a symbol."""

    symbol: str
    run: str
    format: str
    """`lcov`, `Istanbul`, `llvm-cov`."""
    ended: str
    """When it was measured."""
    is_executed: bool
    is_changed: bool
    """Whether the symbol's code was another then; only where it was executed."""

    def words(self) -> str:
        """Return `executed by run 3f9a1c2b (lcov), assumed`."""
        if not self.is_executed:
            return f"not executed by {self.source}"
        if self.is_changed:
            return f"executed by {self.source} before it was changed"
        return f"executed by {self.source}, {Tier.ASSUMED.word}"

    @property
    def source(self) -> str:
        """`run 3f9a1c2b (lcov)`."""
        return f"run {self.run[:8]} ({self.format})"

    def to_dict(self) -> dict[str, Any]:
        """As in JSON answers."""
        return self._asdict()


def measured(db: Database, graph: Database, ids: Sequence[str]) -> dict[str, Measured]:
    """Symbol → what imported reports show of it as it is now; of a class of its methods. One of
    which they show nothing, or of which a report names the tests, is absent.

    `db`: the evidence.
    """
    symbols = symbols_by_id(graph, ids)
    parts = {symbol.id: _parts(graph, symbol) for symbol in symbols.values()}
    names = sorted({part.id for of_symbol in parts.values() for part in of_symbol})
    rows = measured_symbols(db, names)
    chosen = {
        name: _chosen(symbol, of_symbol, rows)
        for name, symbol in symbols.items()
        if (of_symbol := parts[name])
    }
    return dict(_described(db, {name: row for name, row in chosen.items() if row is not None}))


def coverage_words(ws: Workspace, graph: Database, ids: Sequence[str]) -> dict[str, str]:
    """Symbol → what imported reports show of it, in words."""
    with ws.store.reading() as db:
        if db is None or not ids:
            return {}
        return {name: row.words() for name, row in measured(db, graph, ids).items()}


def _parts(graph: Database, symbol: Symbol) -> list[Symbol]:
    """What of a symbol is executed: itself, of a class its methods."""
    if split_id(symbol.id)[0] not in ("type", "interface"):
        return [symbol]
    return [inner for inner in nested_symbols(graph, symbol) if split_id(inner.id)[0] in _OF_CLASS]


def _chosen(
    symbol: Symbol, parts: Sequence[Symbol], rows: Mapping[str, Sequence[MeasuredSymbol]]
) -> tuple[MeasuredSymbol, bool] | None:
    """The report that counts, and whether the symbol was changed since: one that executed this very
    code, else one that measured it, else one that executed earlier code.
    """
    hashes = {part.id: part.content_hash for part in parts}
    all_rows = [
        (row, row.content_hash != hashes[name]) for name in hashes for row in rows.get(name, ())
    ]
    current = [pair for pair in all_rows if not pair[1]]
    executed = [pair for pair in current if pair[0].is_executed]
    earlier = [pair for pair in all_rows if pair[0].is_executed]
    return next(iter([*executed, *current, *earlier]), None)


def _described(
    db: Database, chosen: Mapping[str, tuple[MeasuredSymbol, bool]]
) -> Iterator[tuple[str, Measured]]:
    entries = {run: entry_of_run(db, run) for run in {row.run for row, _ in chosen.values()}}
    for name, (row, is_changed) in chosen.items():
        entry = entries[row.run]
        if entry is None:
            continue
        facts = entry.receipt.environment.get("coverage")
        report_format = facts.get("format") if isinstance(facts, Mapping) else None
        yield (
            name,
            Measured(
                name,
                row.run,
                str(report_format or "coverage.py"),
                entry.receipt.ended,
                row.is_executed,
                is_changed,
            ),
        )
