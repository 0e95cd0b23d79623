"""The planner: from what tasks need and give, the waves in which they can be done side by side."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kl_hooks.kinds.task.tokens import token


@dataclass(frozen=True, slots=True)
class Work:
    """Something to be done. Tokens are compared as `token` makes them."""

    name: str
    requires: tuple[str, ...] = ()
    produces: tuple[str, ...] = ()
    line: int = 0
    """Of the file it was read from."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The order that follows from what is needed and given."""

    waves: tuple[tuple[str, ...], ...] = ()
    """Names; all of a wave can be done side by side once the waves before are done."""
    unmet: tuple[tuple[str, str], ...] = ()
    """(name, token) that nobody produces and that is not there."""
    circles: tuple[tuple[str, ...], ...] = ()
    """Names that wait for each other, each before the one it waits for; the first stands at the end again."""
    blocked: tuple[str, ...] = ()
    """Names that stand in no wave: something they need is unmet, or they wait for one of those."""
    active: bool = False
    """False where nobody declares a token: then everything is one wave."""


def plan(works: Sequence[Work], there: Collection[str] = (), *, outside: bool = False) -> Plan:
    """The waves (Kahn), what nobody produces, and every circle. `there`: tokens that are fulfilled already.

    Names are unique. What needs something that nobody produces stands in no wave, nor does what waits for it; with
    `outside` it may come from elsewhere, and orders nothing. Where there are cycles there are no waves: somebody has
    to take them apart first.
    """
    given = _producers(works)
    done = {token(one) for one in there}
    waits = {work.name: _waits_for(work, given, done) for work in works}
    unmet = tuple(
        (work.name, one) for work in works for one in dict.fromkeys(map(token, work.requires))
        if one not in done and one not in given
    )  # fmt: skip
    active = any(work.requires or work.produces for work in works)
    circles = _circles(waits)
    if circles:
        return Plan((), unmet, circles, (), active)
    stuck = set() if outside else {name for name, _ in unmet}
    waves = _waves(waits | {name: (name,) for name in stuck})  # who waits for himself begins never
    placed = {name for wave in waves for name in wave}
    return Plan(waves, unmet, circles, tuple(work.name for work in works if work.name not in placed), active)


def _producers(works: Iterable[Work]) -> dict[str, list[str]]:
    """Token → names of those who produce it, in their order."""
    given: dict[str, list[str]] = {}
    for work in works:
        for one in dict.fromkeys(map(token, work.produces)):
            given.setdefault(one, []).append(work.name)
    return given


def _waits_for(work: Work, given: Mapping[str, Sequence[str]], done: Collection[str]) -> tuple[str, ...]:
    """Who must be done before `work`: everyone who produces what it needs and is not there yet."""
    needs = (one for one in map(token, work.requires) if one not in done)
    return tuple(dict.fromkeys(name for one in needs for name in given.get(one, ())))


def _waves(waits: Mapping[str, Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    order = {name: n for n, name in enumerate(waits)}
    open_needs = {name: len(before) for name, before in waits.items()}
    after: dict[str, list[str]] = {}
    for name, before in waits.items():
        for one in before:
            after.setdefault(one, []).append(name)
    waves, wave = [], [name for name, count in open_needs.items() if not count]
    while wave:
        waves.append(tuple(sorted(wave, key=order.__getitem__)))
        following = []
        for name in (later for one in wave for later in after.get(one, ())):
            open_needs[name] -= 1
            if not open_needs[name]:
                following.append(name)
        wave = following
    return tuple(waves)


def _circles(waits: Mapping[str, Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """One circle of every group of names that wait for each other, the shortest through its first name."""
    order = {name: n for n, name in enumerate(waits)}
    found = [_shortest(waits, min(group, key=order.__getitem__), group) for group in _groups(waits)]
    return tuple(sorted(found, key=lambda way: order[way[0]]))


def _shortest(waits: Mapping[str, Sequence[str]], first: str, group: Collection[str]) -> tuple[str, ...]:
    """The shortest way from `first` back to itself inside `group`, breadth first."""
    came_from: dict[str, str] = {}
    found = [first]
    for name in found:
        for other in waits[name]:
            if other == first:
                way = [first, name]
                while way[-1] != first:
                    way.append(came_from[way[-1]])
                return tuple(reversed(way))
            if other in group and other not in came_from:
                came_from[other] = name
                found.append(other)
    raise AssertionError("a group of names that wait for each other has a way round")


def _groups(waits: Mapping[str, Sequence[str]]) -> list[set[str]]:
    """The groups in which everyone waits for everyone (Tarjan's components, no recursion), self-dependencies too."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: dict[str, None] = {}
    groups: list[set[str]] = []
    for start in waits:
        if start in index:
            continue
        path = [(start, iter(waits[start]))]
        index[start] = low[start] = len(index)
        stack[start] = None
        while path:
            name, rest = path[-1]
            following = next(rest, None)
            if following is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[name])
                if low[name] == index[name]:
                    groups.append(_popped(stack, name))
            elif following not in index:
                index[following] = low[following] = len(index)
                stack[following] = None
                path.append((following, iter(waits[following])))
            elif following in stack:
                low[name] = min(low[name], index[following])
    return [group for group in groups if len(group) > 1 or any(name in waits[name] for name in group)]


def _popped(stack: dict[str, None], last: str) -> set[str]:
    """Takes everything off the stack down to `last`."""
    group: set[str] = set()
    while last not in group:
        group.add(stack.popitem()[0])
    return group


def unmet_requirements(work: Work, there: Collection[str]) -> tuple[str, ...]:
    """The tokens that `work` needs and that are not there."""
    done = {token(one) for one in there}
    return tuple(one for one in dict.fromkeys(map(token, work.requires)) if one not in done)


def can_execute(work: Work, there: Collection[str]) -> bool:
    """True where everything that `work` needs is there."""
    return not unmet_requirements(work, there)


def eligible(works: Sequence[Work], finished: Collection[str], there: Collection[str]) -> tuple[str, ...]:
    """The names that can be begun now: not finished, and all they need is there or produced by a finished one."""
    done = fulfilled(works, finished, there)
    return tuple(work.name for work in works if work.name not in finished and can_execute(work, done))


def fulfilled(works: Sequence[Work], finished: Collection[str], there: Collection[str] = ()) -> frozenset[str]:
    """The tokens that are there, and those that the finished works produced."""
    made = {token(one) for work in works if work.name in finished for one in work.produces}
    return frozenset(made | {token(one) for one in there})
