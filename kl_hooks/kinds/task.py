"""Tasks and the order in which they can be done.

A task requires and produces tokens: `artifact:NAME`, `file:PATH` or `symbol:NAME`, whatever the case. From these
follow the waves of tasks that can be done side by side, what nobody produces, and every cycle.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kl_hooks.config.yaml import ListNode, Node, NodeReader, TextNode, load_yaml, snake_case
from kl_hooks.config.yaml import MapNode as Map
from kl_hooks.model.problem import Problem, Problems
from kl_hooks.model.record import Record
from kl_hooks.records.events import Event, append_events, list_events

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


_SORTS: Final = ("artifact", "file", "symbol")


def normalized_token(text: str) -> str:
    """The token as it is compared: lower case, no spaces around its parts, paths without `./` and with `/` between.

    ValueError, with what is wrong, for anything else.
    """
    sort, colon, name = text.strip().partition(":")
    sort, name = sort.strip().casefold(), " ".join(name.split()).casefold()
    if not colon or sort not in _SORTS:
        raise ValueError(f'"{text.strip()[:80]}" is no token; it begins with artifact:, file: or symbol:')
    if sort == "file":
        name = name.replace("\\", "/").removeprefix("./")
    if not name:
        raise ValueError(f'"{text.strip()[:80]}" names nothing after the colon')
    return f"{sort}:{name}"


@dataclass(frozen=True, slots=True)
class Work:
    """Something to be done. Tokens are compared as `normalized_token` makes them."""

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


def plan_waves(works: Sequence[Work], there: Collection[str] = (), *, outside: bool = False) -> Plan:
    """The waves (Kahn), what nobody produces, and every circle. `there`: tokens that are fulfilled already.

    Names are unique. What needs something that nobody produces stands in no wave, nor does what waits for it; with
    `outside` it may come from elsewhere, and orders nothing. Where there are cycles there are no waves: somebody has
    to take them apart first.
    """
    given = _producers(works)
    done = {normalized_token(one) for one in there}
    waits = {work.name: _waits_for(work, given, done) for work in works}
    unmet = tuple(
        (work.name, one) for work in works for one in dict.fromkeys(map(normalized_token, work.requires))
        if one not in done and one not in given
    )  # fmt: skip
    active = any(work.requires or work.produces for work in works)
    circles = _cycles(waits)
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
        for one in dict.fromkeys(map(normalized_token, work.produces)):
            given.setdefault(one, []).append(work.name)
    return given


def _waits_for(work: Work, given: Mapping[str, Sequence[str]], done: Collection[str]) -> tuple[str, ...]:
    """Who must be done before `work`: everyone who produces what it needs and is not there yet."""
    needs = (one for one in map(normalized_token, work.requires) if one not in done)
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


def _cycles(waits: Mapping[str, Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """One circle of every group of names that wait for each other, the shortest through its first name."""
    order = {name: n for n, name in enumerate(waits)}
    found = [_shortest_cycle(waits, min(group, key=order.__getitem__), group) for group in _components(waits)]
    return tuple(sorted(found, key=lambda way: order[way[0]]))


def _shortest_cycle(waits: Mapping[str, Sequence[str]], first: str, group: Collection[str]) -> tuple[str, ...]:
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


def _components(waits: Mapping[str, Sequence[str]]) -> list[set[str]]:
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
    done = {normalized_token(one) for one in there}
    return tuple(one for one in dict.fromkeys(map(normalized_token, work.requires)) if one not in done)


def can_execute(work: Work, there: Collection[str]) -> bool:
    """True where everything that `work` needs is there."""
    return not unmet_requirements(work, there)


def eligible_names(works: Sequence[Work], finished: Collection[str], there: Collection[str]) -> tuple[str, ...]:
    """The names that can be begun now: not finished, and all they need is there or produced by a finished one."""
    done = fulfilled_tokens(works, finished, there)
    return tuple(work.name for work in works if work.name not in finished and can_execute(work, done))


def fulfilled_tokens(works: Sequence[Work], finished: Collection[str], there: Collection[str] = ()) -> frozenset[str]:
    """The tokens that are there, and those that the finished works produced."""
    made = {normalized_token(one) for work in works if work.name in finished for one in work.produces}
    return frozenset(made | {normalized_token(one) for one in there})


_FULFILLED: Final = "fulfilled"
"""Name of the Event; its body holds the token."""


def work_of(record: Record) -> Work:
    """A task as the planner sees it; what is no token is left out (see `invalid_tokens`)."""
    needs, gives = (valid_tokens(record.many(name))[0] for name in ("requires", "produces"))
    return Work(record.id, needs, gives)


def invalid_tokens(record: Record) -> list[str]:
    """What is wrong with what a task requires and produces."""
    return valid_tokens([*record.many("requires"), *record.many("produces")])[1]


def valid_tokens(texts: Iterable[str]) -> tuple[tuple[str, ...], list[str]]:
    """(the tokens as they were written, what is wrong with the others)."""
    found: list[str] = []
    wrong: list[str] = []
    for text in texts:
        try:
            normalized_token(text)
            found.append(text)
        except ValueError as error:
            wrong.append(str(error))
    return tuple(found), wrong


def available_tokens(ws: Workspace, wanted: Sequence[str]) -> frozenset[str]:
    """The tokens among `wanted`, spelled as people wrote them, that are there, and all that were said to be."""
    said = {str(event.body.get("token", "")) for event in list_events(ws, name=_FULFILLED)}
    files = {normalized_token(one) for one in wanted if _is_file(ws.root, one)}
    return frozenset((said | files | _existing_symbols(ws, wanted)) - {""})


def record_fulfilled(ws: Workspace, given: str, by: str = "") -> str:
    """Notes that something is there; returns the token. ValueError for what is none."""
    made = normalized_token(given)
    append_events(ws, [Event(_FULFILLED, "", by, {"token": made})])
    return made


def _is_file(root: Path, text: str) -> bool:
    """True if the token names something in the work tree. Nothing outside of it is looked at."""
    sort, _, name = text.strip().partition(":")
    name = name.strip().replace("\\", "/")
    if sort.strip().casefold() != "file" or not name or "\0" in name or name.startswith(("/", "~")):
        return False
    if ".." in name.split("/"):
        return False
    try:
        return (root / name).resolve().is_relative_to(root.resolve()) and (root / name).exists()
    except (OSError, RuntimeError, ValueError):
        return False


def _existing_symbols(ws: Workspace, wanted: Sequence[str]) -> set[str]:
    names = {
        normalized_token(one): one.partition(":")[2].strip()
        for one in wanted
        if normalized_token(one).startswith("symbol:")
    }
    if not names or ws.repo is None:
        return set()
    from kl_hooks.code.query.lookup import Ambiguous, Unknown, resolve_text
    from kl_hooks.code.query.session import open_graph

    found = set()
    with open_graph(ws) as graph:
        for key, name in names.items():
            try:
                resolve_text(graph, name)
            except Unknown:
                continue
            except Ambiguous:
                pass  # several of that name: one is there
            found.add(key)
    return found


_LISTS: Final = ("agents", "tasks")
_NAMES: Final = ("name", "id", "title")
_NEEDS: Final = ("requires", "needs")
_GIVES: Final = ("produces", "gives")


def read_works(path_name: str, text: bytes) -> list[Work]:
    """The works in `text`, in its order. Keys in PascalCase (`Agents`, `Requires`) are read too; others are left alone,
    since they are somebody else's settings. Raises Problems with everything that is wrong."""
    root, problems = load_yaml(path_name, text)
    reader = NodeReader(path_name, problems)
    works: list[Work] = []
    for node in _items(reader, root):
        work = _work(reader, node)
        first = next((one for one in works if work and one.name.casefold() == work.name.casefold()), None)
        if work and first:
            reader.report(
                node, f'"{work.name}" is there twice (first at line {first.line}).', "Give each a name of its own."
            )
        elif work:
            works.append(work)
    if problems:
        raise Problems(problems)
    return works


def _items(reader: NodeReader, root: Node | None) -> tuple[Node, ...]:
    if isinstance(root, ListNode):
        return root.items
    if isinstance(root, Map):
        for key, value in root.entries:
            if snake_case(key.value) in _LISTS:
                return _named(value) if isinstance(value, Map) else reader.items(value, f'"{key.value}"')
        reader.report(root, 'neither "agents" nor "tasks" is there.', "List what is to be done under one of them.")
    elif not reader.problems:
        reader.problems.append(Problem(reader.path, 0, 0, "holds no list of agents or tasks.", 'Begin with "agents:".'))
    return ()


def _named(node: Map) -> tuple[Node, ...]:
    """`{writer: {requires: …}}` as a list of maps that have a name."""
    made: list[Node] = []
    for key, value in node.entries:
        entries = value.entries if isinstance(value, Map) else ()
        made.append(Map(((TextNode("name", key.line, key.column), key), *entries), key.line, key.column))
    return tuple(made)


def _work(reader: NodeReader, node: Node) -> Work | None:
    if not isinstance(node, Map):
        reader.report(node, "expected a map with name, requires and produces.")
        return None
    found = {snake_case(key.value): value for key, value in reversed(node.entries)}
    name = next((found[key] for key in _NAMES if key in found), None)
    text = reader.text(name, "its name") if name is not None else ""
    if name is None:
        reader.report(node, 'an entry without "name".')
    needs, gives = (_tokens(reader, found, keys) for keys in (_NEEDS, _GIVES))
    return Work(text.strip(), needs, gives, node.line) if text else None


def _tokens(reader: NodeReader, found: dict[str, Node], keys: tuple[str, ...]) -> tuple[str, ...]:
    key = next((one for one in keys if one in found), "")
    if not key or (isinstance(found[key], TextNode) and not found[key].value):  # type: ignore[union-attr]
        return ()
    node = found[key]
    items = [node] if isinstance(node, TextNode) else reader.items(node, f'"{key}"')
    made = []
    for one in items:
        text = reader.text(one, f'each of "{key}"')
        if text:
            try:
                made.append(normalized_token(text))
            except ValueError as error:
                reader.report(one, f'in "{key}": {error}.')
    return tuple(made)
