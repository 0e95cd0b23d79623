"""Tasks: the order in which they can be done, and their outcomes.

A task requires and produces tokens: `artifact:NAME`, `file:PATH` or `symbol:NAME`, whatever the
case. From these follow the waves of tasks that can be done side by side, what nobody produces, and
every cycle. Outcomes are recorded, queued while the store cannot be written, or read from a task's
own file.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso
from kl_hooks.config.yaml import (
    ListNode,
    MapNode,
    Node,
    NodeReader,
    TextNode,
    load_yaml,
    snake_case,
)
from kl_hooks.errors import EnvironmentProblem, KlError, UsageProblem
from kl_hooks.graph.algorithms import components
from kl_hooks.kinds.catalog import OUTCOME
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.problem import Problem, Problems
from kl_hooks.model.record import Record
from kl_hooks.records.events import Event, append_events, list_events
from kl_hooks.records.query import RecordFilter, get_record, list_records
from kl_hooks.records.repository import IdTaken
from kl_hooks.records.write import change_record, create_record, redact_values, validate_or_raise
from kl_hooks.store.files import read_small, write_atomic
from kl_hooks.store.state import spool_directories

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


_FOLDER: Final = "outcomes"
_NAME: Final = lazy_pattern(r"OUT-[0-9a-f]{8}\.json")


def record_outcome(ws: Workspace, raw: Mapping[str, Any], author: str = "") -> tuple[str, str]:
    """Record an outcome; return (its ID, why it was queued: empty where it was recorded).

    Problems for invalid values; EnvironmentProblem only where it can't be queued either.
    """
    values = redact_values(raw)
    validate_or_raise(OUTCOME, values, "kl outcome capture")
    identifier = f"{OUTCOME.prefix}-{secrets.token_hex(4)}"
    try:
        create_record(ws, OUTCOME, raw, asked=identifier, by=author)
    except EnvironmentProblem as problem:
        # ASCII: JSON has an escape for lone surrogates (undecodable bytes of an argument, PEP 383),
        # UTF-8 has none
        data = json.dumps(
            {"raw": values, "by": author, "at": ws.clock.now()}, ensure_ascii=True
        ).encode()
        for folder in _queue_folders(ws):
            with suppress(OSError):
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                # 0600: what was tried may quote source that others must not read
                write_atomic(folder / f"{identifier}.json", data, mode=0o600)
                return identifier, str(problem)
        raise
    return identifier, ""


def record_queued(ws: Workspace) -> list[str]:
    """Record what was queued, now that the store can be written; return the IDs. Invalid files stay
    where they are.
    """
    recorded: list[str] = []
    for path in list(_queued(ws)):
        try:
            queued = json.loads(read_small(path) or b"")
            with suppress(IdTaken):  # recorded by another process, or before a kill
                create_record(
                    ws, OUTCOME, queued["raw"], asked=path.stem, by=str(queued.get("by", ""))
                )
        except EnvironmentProblem:
            return recorded  # the store is still not writable
        except (KlError, ValueError, KeyError, TypeError):
            continue
        # missing_ok: another process may have recorded it and removed the file
        path.unlink(missing_ok=True)
        recorded.append(path.stem)
    return recorded


def _queue_folders(ws: Workspace) -> list[Path]:
    """Next to the spools, outside of the working tree, whose files can be part of a clone."""
    folders = [
        place.parent / _FOLDER for place, _ in spool_directories(ws.state, ws.root, ws.environ)
    ]
    return [folder for folder in folders if not folder.is_relative_to(ws.root / ".kl")]


def _queued(ws: Workspace) -> Iterator[Path]:
    for folder in _queue_folders(ws):
        with suppress(OSError):
            yield from sorted(
                path
                for path in folder.iterdir()
                if _NAME.fullmatch(path.name) and not path.is_symlink()
            )


_SORTS: Final = ("artifact", "file", "symbol")
_FULFILLED: Final = "fulfilled"
"""Name of the Event; its body has the token."""
_LISTS: Final = ("agents", "tasks")
_NAMES: Final = ("name", "id", "title")
_REQUIRES: Final = ("requires", "needs")
_PRODUCES: Final = ("produces", "gives")


class Work(NamedTuple):
    """A piece of work. Tokens are compared as `normalized_token` makes them."""

    name: str
    requires: tuple[str, ...] = ()
    produces: tuple[str, ...] = ()
    line: int = 0
    """Of the file it was read from."""

    @classmethod
    def of(cls, record: Record) -> Work:
        """Return a task as the planner sees it, without invalid tokens."""
        requires, produces = (
            valid_tokens(record.many(name))[0] for name in ("requires", "produces")
        )
        return cls(record.id, requires, produces)

    def missing(self, available: Collection[str]) -> tuple[str, ...]:
        """Return the tokens that it requires and that are not in `available`, all as
        `normalized_token` makes them.
        """
        return tuple(
            one
            for one in dict.fromkeys(map(normalized_token, self.requires))
            if one not in available
        )


class Plan(NamedTuple):
    """The order that follows from what is required and produced."""

    waves: tuple[tuple[str, ...], ...] = ()
    """Names; all of a wave can be done side by side once the waves before are done."""
    unmet: tuple[tuple[str, str], ...] = ()
    """(name, token) that nobody produces and that is not available."""
    cycles: tuple[tuple[str, ...], ...] = ()
    """Names that wait for each other, each before the one it waits for; the first is the last
    again.
    """
    blocked: tuple[str, ...] = ()
    """Names that are in no wave: a token they require is unmet, or they wait for one of those."""
    active: bool = False
    """False where nobody declares a token: then everything is one wave."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "active": self.active,
            "waves": [list(wave) for wave in self.waves],
            "unmet": [{"name": name, "token": one} for name, one in self.unmet],
            "cycles": [list(way) for way in self.cycles],
            "blocked": list(self.blocked),
        }


def normalized_token(text: str) -> str:
    """Return the token as it is compared: lower case, no outer spaces, paths without `./` and with
    `/` between.

    ValueError, with the reason, for anything else.
    """
    sort, colon, name = text.strip().partition(":")
    sort, name = sort.strip().casefold(), " ".join(name.split()).casefold()
    if not colon or sort not in _SORTS:
        raise ValueError(
            f'"{text.strip()[:80]}" is no token; it begins with artifact:, file: or symbol:'
        )
    if sort == "file":
        name = name.replace("\\", "/").removeprefix("./")
    if not name:
        raise ValueError(f'"{text.strip()[:80]}" names nothing after the colon')
    return f"{sort}:{name}"


def valid_tokens(texts: Iterable[str]) -> tuple[tuple[str, ...], list[str]]:
    """Return (the tokens as they were written, what is wrong with the others)."""
    valid: list[str] = []
    errors: list[str] = []
    for text in texts:
        try:
            normalized_token(text)
            valid.append(text)
        except ValueError as error:
            errors.append(str(error))
    return tuple(valid), errors


@dataclass(frozen=True, slots=True)
class Works:
    """The works to plan: of a file, or the recorded tasks."""

    all: list[Work]
    titles: dict[str, str] = field(default_factory=dict)
    """By name."""
    done: set[str] = field(default_factory=set)
    """Names."""
    errors: list[tuple[str, str]] = field(default_factory=list)
    """(name, what is wrong with one of its tokens)."""

    @classmethod
    def load(
        cls,
        ws: Workspace,
        path: str | None,
        shown: Callable[[list[Record]], list[Record]] = list,
    ) -> Works:
        """Return those of a file, else the tasks, of which `shown` leaves what may be seen.
        UsageProblem for a missing file, Problems for a bad one.
        """
        if path:
            data = read_small(Path(path))
            if data is None:
                raise UsageProblem("there is no such file.", place=path)
            return cls(read_works(path, data))
        records = shown(list_records(ws, RecordFilter(("task",))))
        errors = [
            (one.id, error)
            for one in records
            for error in valid_tokens([*one.many("requires"), *one.many("produces")])[1]
        ]
        done = {one.id for one in records if one.status == "done"}
        return cls(
            list(map(Work.of, records)), {one.id: one.title for one in records}, done, errors
        )

    def fulfilled(self, ws: Workspace, stated: Iterable[str] = ()) -> set[str]:
        """Return the tokens given, the required ones that exist, and those reported or produced by
        what is done.
        """
        wanted = list(dict.fromkeys(one for work in self.all for one in work.requires))
        reported = {
            str(event.body.get("token", "")) for event in list_events(ws, name=_FULFILLED)
        } - {""}
        files = {one for one in wanted if _is_file(ws.root, one)}
        produced = {one for work in self.all if work.name in self.done for one in work.produces}
        return set(
            map(normalized_token, reported | files | produced | set(stated))
        ) | _existing_symbols(ws, wanted)

    def eligible(self, available: Collection[str]) -> tuple[str, ...]:
        """Return the names that can be begun now: not done, and all they require is available."""
        return tuple(
            one.name for one in self.all if one.name not in self.done and not one.missing(available)
        )

    def waiting(self, available: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return name → the tokens that it still requires, of those that can't be begun now."""
        missing = {
            one.name: one.missing(available) for one in self.all if one.name not in self.done
        }
        return {name: tokens for name, tokens in missing.items() if tokens}

    def plan(self, ws: Workspace, *, outside: bool = False) -> Plan:
        """Return the order of what is not done, as `plan_waves`."""
        todo = [work for work in self.all if work.name not in self.done]
        return plan_waves(todo, self.fulfilled(ws), outside=outside)


def plan_waves(
    works: Sequence[Work], available: Collection[str] = (), *, outside: bool = False
) -> Plan:
    """Plan works with unique names: their waves, what nobody produces, and every cycle.

    `available`: tokens that are fulfilled already. Work that requires what nobody produces is in no
    wave, nor is what waits for it; with `outside` such a token may come from elsewhere, and orders
    nothing. With cycles there are no waves: somebody has to break them first.
    """
    order = {work.name: number for number, work in enumerate(works)}
    producers: dict[str, list[str]] = {}
    for work in works:
        for token in dict.fromkeys(map(normalized_token, work.produces)):
            producers.setdefault(token, []).append(work.name)
    done = frozenset(map(normalized_token, available))
    required = {work.name: work.missing(done) for work in works}
    waits = {
        name: tuple(dict.fromkeys(other for token in tokens for other in producers.get(token, ())))
        for name, tokens in required.items()
    }
    unmet = tuple(
        (name, token)
        for name, tokens in required.items()
        for token in tokens
        if token not in producers
    )
    active = any(work.requires or work.produces for work in works)
    groups = components(list(order), waits)
    cyclic = [group for group in groups if len(group) > 1 or group[0] in waits[group[0]]]
    if cyclic:
        cycles = [
            _shortest_cycle(waits, min(group, key=order.__getitem__), group) for group in cyclic
        ]
        return Plan((), unmet, tuple(sorted(cycles, key=lambda cycle: order[cycle[0]])), (), active)
    if outside:
        blocked = set()
    else:
        blocked = {name for name, _ in unmet}
    level: dict[str, int] = {}
    for (name,) in groups:  # each after all that it waits for
        if name in blocked or not blocked.isdisjoint(waits[name]):
            blocked.add(name)
        else:
            level[name] = 1 + max((level[other] for other in waits[name]), default=-1)
    waves: dict[int, list[str]] = {}
    for name in filter(level.__contains__, order):
        waves.setdefault(level[name], []).append(name)
    in_order = tuple(tuple(waves[number]) for number in sorted(waves))
    return Plan(in_order, unmet, (), tuple(name for name in order if name in blocked), active)


def _shortest_cycle(
    waits: Mapping[str, Sequence[str]], first: str, group: Collection[str]
) -> tuple[str, ...]:
    """The shortest cycle through `first` inside `group`, breadth first."""
    waiting: dict[str, str] = {}  # name → one that waits for it
    queue = [first]
    # the list grows while it is read: a queue that also remembers
    for name in queue:
        for other in waits[name]:
            if other == first:
                cycle = [first, name]
                while cycle[-1] != first:
                    cycle.append(waiting[cycle[-1]])
                return tuple(reversed(cycle))
            if other in group and other not in waiting:
                waiting[other] = name
                queue.append(other)
    raise AssertionError("every member of a strongly connected component is on a cycle")


def record_fulfilled(ws: Workspace, text: str, author: str = "") -> str:
    """Record that a token is fulfilled; return it. ValueError for an invalid one."""
    token = normalized_token(text)
    append_events(ws, [Event(_FULFILLED, "", author, {"token": token})])
    return token


class Completed(NamedTuple):
    """A task that is done."""

    task: Record
    outcome: str
    """The ID of the outcome that was recorded; empty: the task has one already."""
    aside: str
    """Why the outcome could not be recorded yet; empty: it is."""


def complete_task(
    ws: Workspace, identifier: str, works: Works, *, force: bool, author: str, authority: str = ""
) -> Completed:
    """Mark a task as done and record how it ended, once. UsageProblem where something that it
    requires is not there.

    `works`: the recorded ones; `force` completes it nevertheless; `authority`: of the outcome, else
    that of its kind.
    """
    record = get_record(ws, identifier, "task")
    missing = Work.of(record).missing(works.fulfilled(ws))
    if missing and not force:
        hint = f"Mark it as fulfilled: kl task fulfil {missing[0]} (or --force)"
        raise UsageProblem(
            f"requires {', '.join(missing)}, which is not there.", place=record.id, hint=hint
        )
    if record.status != "done":
        record = change_record(
            ws, record, {"status": "done", "reason": None}, how="fulfil", by=author
        )
    if any(
        one.text("task_id") == record.id for one in list_records(ws, RecordFilter(("outcome",)))
    ):
        return Completed(record, "", "")
    gives = ", ".join(Work.of(record).produces)
    decisions = [one for one in record.many("related") if one.startswith("ADR-")]
    raw = {
        "title": record.title,
        "task_id": record.id,
        "outcome_type": "task_completed",
        "success": True,
        "completed_at": iso(ws.clock.now()),
        "feature_id": list(record.many("feature_id")),
        "related_adr_ids": decisions,
        "about": list(record.many("about")),
        "task_requirements": record.text("description") or record.title,
        "summary": f"There now: {gives}." if gives else "",
        "authority": authority,
    }
    return Completed(
        record, *record_outcome(ws, {name: value for name, value in raw.items() if value}, author)
    )


def _is_file(root: Path, text: str) -> bool:
    """True if the token names a file of the working tree. Nothing outside of it is looked at."""
    sort, _, name = text.strip().partition(":")
    name = name.strip().replace("\\", "/")
    outside = name.startswith(("/", "~")) or ".." in name.split("/")
    if sort.strip().casefold() != "file" or not name or "\0" in name or outside:
        return False
    try:
        return (root / name).resolve().is_relative_to(root.resolve()) and (root / name).exists()
    except (
        OSError,
        RuntimeError,
        ValueError,
    ):  # RuntimeError: a loop of links, before CPython 3.13
        return False


def _existing_symbols(ws: Workspace, wanted: Sequence[str]) -> set[str]:
    names = {normalized_token(one): one.partition(":")[2].strip() for one in wanted}
    names = {token: name for token, name in names.items() if token.startswith("symbol:")}
    if not names or ws.repo is None:
        return set()
    from kl_hooks.code.query.lookup import Ambiguous, Unknown, resolve_text
    from kl_hooks.code.query.session import open_graph

    existing = set()
    with open_graph(ws) as graph:
        for token, name in names.items():
            try:
                resolve_text(graph, name)
            except Unknown:
                continue
            except Ambiguous:
                pass  # there are several of that name
            existing.add(token)
    return existing


def read_works(path: str, text: bytes) -> list[Work]:
    """Read the works of an agents' configuration in YAML: a list, or a list under `agents` or
    `tasks`.

    Keys in PascalCase (`Agents`, `Requires`) are read too; others are somebody else's settings.
    Problems with everything that is wrong.
    """
    root, problems = load_yaml(path, text)
    reader = NodeReader(path, problems)
    works: list[Work] = []
    for node in _items(reader, root):
        if work := _work(reader, node):
            first = next(
                (one for one in works if one.name.casefold() == work.name.casefold()), None
            )
            if first:
                twice = f'"{work.name}" is there twice (first at line {first.line}).'
                reader.report(node, twice, "Give each a name of its own.")
            else:
                works.append(work)
    # after all entries: every mistake is reported at once
    if problems:
        raise Problems(problems)
    return works


def _items(reader: NodeReader, root: Node | None) -> tuple[Node, ...]:
    if isinstance(root, ListNode):
        return root.items
    if isinstance(root, MapNode):
        for key, value in root.entries:
            if snake_case(key.value) in _LISTS:
                if isinstance(value, MapNode):
                    return _named(value)
                return reader.items(value, f'"{key.value}"')
        reader.report(
            root, 'neither "agents" nor "tasks" is there.', "List the tasks under one of them."
        )
    elif not reader.problems:
        reader.problems.append(
            Problem(reader.path, 0, 0, "holds no list of agents or tasks.", 'Begin with "agents:".')
        )
    return ()


def _named(node: MapNode) -> tuple[Node, ...]:
    """`{writer: {requires: …}}` as a list of maps with a name."""
    items: list[Node] = []
    for key, value in node.entries:
        if isinstance(value, MapNode):
            entries = value.entries
        else:
            entries = ()
        items.append(
            MapNode(((TextNode("name", key.line, key.column), key), *entries), key.line, key.column)
        )
    return tuple(items)


def _work(reader: NodeReader, node: Node) -> Work | None:
    if not isinstance(node, MapNode):
        reader.report(node, "expected a map with name, requires and produces.")
        return None
    # reversed: of `Name` and `name`, which are one key here, the first counts
    node_of_key = {snake_case(key.value): value for key, value in reversed(node.entries)}
    name = next((node_of_key[key] for key in _NAMES if key in node_of_key), None)
    if name is not None:
        text = reader.text(name, "its name")
    else:
        text = ""
    if name is None:
        reader.report(node, 'an entry without "name".')
    requires, produces = (_tokens(reader, node_of_key, keys) for keys in (_REQUIRES, _PRODUCES))
    if not text:
        return None
    return Work(text.strip(), requires, produces, node.line)


def _tokens(
    reader: NodeReader, node_of_key: dict[str, Node], keys: tuple[str, ...]
) -> tuple[str, ...]:
    key = next((one for one in keys if one in node_of_key), "")
    node = node_of_key.get(key)
    if node is None or (isinstance(node, TextNode) and not node.value):
        return ()
    tokens = []
    for token_node in [node] if isinstance(node, TextNode) else reader.items(node, f'"{key}"'):
        if text := reader.text(token_node, f'each of "{key}"'):
            try:
                tokens.append(normalized_token(text))
            except ValueError as error:
                reader.report(token_node, f'in "{key}": {error}.')
    return tuple(tokens)
