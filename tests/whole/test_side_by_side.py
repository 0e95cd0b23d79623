"""Two agents and a person work side by side: nothing is lost, nothing directs without a person,
counts are folds.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from kl_hooks.errors import KlError
from kl_hooks.kinds.failure import occurrences, record_failure
from kl_hooks.kinds.memory.add import add_memory
from kl_hooks.kinds.memory.review import tallies
from kl_hooks.kinds.objective import Progress, link_task, reported_progress
from kl_hooks.model.record import Record
from kl_hooks.records.events import list_events
from kl_hooks.records.liveness import not_live_reason
from kl_hooks.records.query import RecordFilter, get_record, list_records
from kl_hooks.records.write import (
    accept_proposals,
    apply_verb,
    change_record,
    create_record,
    pending_proposals,
    reject_proposals,
)
from kl_hooks.workspace import Workspace
from tests.support import Checkout

STEPS = 200
DIRECTIVES = ("decision", "objective", "guide", "fact")
NEEDS = {
    "decision": {"context": "c", "decision": "d"},
    "guide": {"text": "t"},
    "fact": {"answer": "a"},
}
APPROACHES = ("Mock the clock", "Sleep in tests", "Retry for ever")


@dataclass
class World:
    """What the three did, as a plain model."""

    repo: Checkout
    dice: random.Random
    person: Workspace
    agents: dict[str, Workspace]
    texts: dict[str, dict[str, str]] = field(default_factory=dict)
    """Directive → its title, and who vouches for it: what a person wrote or accepted."""
    proposed: set[str] = field(default_factory=set)
    """Directives of agents that nobody has accepted."""
    changes: list[tuple[str, str, str]] = field(default_factory=list)
    """(record, new title, agent): changes that wait."""
    happened: Counter[str] = field(default_factory=Counter)
    outcomes: dict[str, str] = field(default_factory=dict)
    """Outcome → who recorded it."""
    reported: dict[str, set[str]] = field(default_factory=dict)
    """Memory → the sessions that reported it."""
    tasks: dict[str, dict[str, bool]] = field(default_factory=dict)
    """Objective → task → whether it is done."""
    number: int = 0

    def title(self) -> str:
        self.number += 1
        return f"Thing number {self.number}"

    def someone(self) -> tuple[str, Workspace]:
        return self.dice.choice([("", self.person), *self.agents.items()])


def make(world: World) -> None:
    who, ws = world.someone()
    kind, title = world.dice.choice(DIRECTIVES), world.title()
    record = create_record(ws, ws.kinds[kind], {"title": title, **NEEDS.get(kind, {})})
    if who or kind == "decision":
        world.proposed.add(record.id)
    else:
        world.texts[record.id] = {"title": title}
    if kind == "objective":
        world.tasks[record.id] = {}


def edit(world: World) -> None:
    who, ws = world.someone()
    known = sorted([*world.texts, *world.proposed])
    if not known:
        return
    identifier, title = world.dice.choice(known), world.title()
    record = get_record(ws, identifier)
    made = change_record(ws, record, {"title": title})
    own = identifier in world.proposed and record.authority == "agent"
    if who and not own:
        assert made.proposal and made.title == record.title
        world.changes.append((identifier, title, who))
    elif identifier in world.texts:
        world.texts[identifier] = {"title": title}


def settle(world: World) -> None:
    """The person decides about one item that waits; an agent that tries is refused."""
    waiting = sorted({*world.proposed, *(identifier for identifier, _, _ in world.changes)})
    if not waiting:
        return
    identifier, ws = world.dice.choice(waiting), world.person
    if identifier in world.proposed:
        with pytest.raises(KlError):
            apply_verb(world.agents["bot"], identifier, "accept")
        taken = world.dice.random() < 0.7
        made = apply_verb(ws, identifier, "accept" if taken else "reject")
        world.proposed.discard(identifier)
        if taken:
            world.texts[identifier] = {"title": made.title}
    elif world.dice.random() < 0.6:
        accept_proposals(ws, get_record(ws, identifier))
        world.texts[identifier] = {"title": [t for i, t, _ in world.changes if i == identifier][-1]}
        world.changes = [one for one in world.changes if one[0] != identifier]
    else:
        reject_proposals(ws, get_record(ws, identifier))
        world.changes = [one for one in world.changes if one[0] != identifier]


def fail(world: World) -> None:
    _, ws = world.someone()
    approach = world.dice.choice(APPROACHES)
    made, _ = record_failure(ws, {"approach": approach, "prevention": f"Do {world.title()}."})
    world.happened[made.id] += 1


def capture(world: World) -> None:
    who, ws = world.someone()
    made = create_record(ws, ws.kinds["outcome"], {"title": world.title()})
    assert made.authority == ("agent" if who else "human")
    world.outcomes[made.id] = who


def learn(world: World) -> None:
    who, ws = world.someone()
    try:
        made, _ = add_memory(ws, f"Lesson {world.dice.randrange(6)}.")
    except KlError:
        return
    if who:
        world.reported.setdefault(made.id, set()).add(f"agent:{who}")
    assert who or made.authority == "human"


def link(world: World) -> None:
    who, ws = world.someone()
    known = sorted(set(world.tasks) & set(world.texts))
    if not known:
        return
    identifier, task = world.dice.choice(known), f"task {world.dice.randrange(4)}"
    done = world.dice.random() < 0.5
    before = get_record(ws, identifier)
    link_task(ws, identifier, task, done=done)
    if who:
        assert get_record(ws, identifier).values == before.values, (
            "an agent's link leaves the file as it is"
        )


STEP: tuple[Callable[[World], None], ...] = (make, edit, settle, fail, capture, learn, link)


def check(world: World) -> None:
    ws = world.person
    records = {one.id: one for one in list_records(ws, RecordFilter())}
    assert {i: records[i].title for i in world.texts} == {
        i: printed["title"] for i, printed in world.texts.items()
    }
    assert {i: records[i].authority for i in world.texts} == dict.fromkeys(world.texts, "human")
    live = {
        one.id
        for one in records.values()
        if ws.kinds[one.kind].nature == "directive" and not not_live_reason(ws, one)
    }
    assert not live & world.proposed
    assert all(records[i].authority == "human" for i in live), "nothing directs without a person"
    assert [
        (one.record, one.changes["title"], one.by)
        for one in pending_proposals(ws)
        if "title" in one.changes
    ] == [(identifier, title, f"agent:{who}") for identifier, title, who in world.changes]
    assert set(world.outcomes) <= set(records), "nothing is lost"


def check_counts(world: World) -> None:
    ws = world.person
    for identifier, number in world.happened.items():
        assert (
            _times(occurrences(ws, get_record(ws, identifier)))
            == number
            == len(list_events(ws, identifier, "occurred"))
        )
    for identifier, sessions in world.reported.items():
        assert {
            one.rsplit(":", 1)[0] for one in tallies(ws, [identifier])[identifier].sessions
        } or sessions
        assert tallies(ws, [identifier])[identifier].reinforcement == len(
            {one.session for one in list_events(ws, identifier, "reinforced")}
        )
    for record in list_records(ws, RecordFilter(("objective",))):
        seen = reported_progress(ws, [record])[record.id]
        assert seen.percent == Progress(seen.completed, seen.remaining).percent
        assert not set(seen.completed) & set(seen.remaining)
    created = {one.record: one.session for one in list_events(ws, name="created")}
    for identifier, who in world.outcomes.items():
        assert created[identifier] == (f"agent:{who}" if who else "")


def _times(count: Any) -> int:
    return int(getattr(count, "total", 0) or getattr(count, "count", 0))


def _as(repo: Checkout, name: str) -> Workspace:
    ws = repo.workspace()
    return replace(ws, environ={**ws.environ, "KL_AGENT": name, "KL_SESSION": name}) if name else ws


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1])
@pytest.mark.sweep
def test_nothing_is_lost_and_nothing_directs_without_a_person(repo: Checkout, seed: int) -> None:
    agents = {name: _as(repo, name) for name in ("bot", "robot")}
    world = World(repo, random.Random(seed), _as(repo, ""), agents)
    for number in range(STEPS):
        world.dice.choice(STEP)(world)
        if number % 20 == 19:
            check(world)
    check(world)
    check_counts(world)
    titles = {
        one.title for one in list_records(world.person, RecordFilter()) if _directs(world, one)
    }
    package = json.loads(
        repo.kl("context", "thing number", "--budget", "60000", "--format", "json").stdout
    )
    shown = {one["id"] for one in package["items"]}
    assert shown & set(world.texts) and not shown & world.proposed and titles


def _directs(world: World, record: Record) -> bool:
    return world.person.kinds[record.kind].nature == "directive" and not not_live_reason(
        world.person, record
    )
