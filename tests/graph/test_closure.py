"""Closures: equal to networkx on any graph, by look-ups and by columns."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kl_hooks.graph import links
from kl_hooks.graph.links import ANY_DEPTH, nearest_first, reach
from kl_hooks.graph.plugin import kl_schema
from kl_hooks.model.symbol import Link
from kl_hooks.store.database import Database
from kl_hooks.store.sqlite import open_sqlite
from kl_hooks.store.store import migrate


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    path = tmp_path_factory.mktemp("graph") / "graph.db"
    database = open_sqlite(path, write=True)
    migrate(database, kl_schema(), path, None)
    yield database
    database.close()


def fill(db: Database, rows: list[tuple[str, str, str]]) -> None:
    """Makes these the links there are; the file of each is decided by its source."""
    batch: dict[str, list[Link]] = {}
    for source, relation, target in rows:
        path = f"{source[-1:]}.py"
        batch.setdefault(path, []).append(Link(source, relation, target, path, 1, "import", 100))
    written(db, batch)


def written(db: Database, batch: dict[str, list[Link]]) -> None:
    with db.transaction():
        for table in ("link_owners", "link_ends", "link_names"):
            db.execute(f"DELETE FROM {table}")
        links.replace_many(db, batch)


NAMES = st.sampled_from([f"function:m.f{n}" for n in range(12)])
KINDS = st.sampled_from(["calls", "references", "inherits", "mentions"])
ROWS = st.lists(st.tuples(NAMES, KINDS, NAMES), max_size=40)
ONCE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def oracle(rows: list[tuple[str, str, str]], forward: bool) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from([name for source, _, target in rows for name in (source, target)])
    ends = [(source, target) for source, kind, target in rows if kind != "mentions"]
    graph.add_edges_from(ends if forward else [(target, source) for source, target in ends])
    return graph


@ONCE
@given(ROWS, NAMES, st.sampled_from([1, 2, 3, ANY_DEPTH]), st.booleans())
def test_levels_are_the_shortest_distances(
    db: Database, rows: list[tuple[str, str, str]], start: str, depth: int, forward: bool
) -> None:
    fill(db, rows)
    graph = oracle(rows, forward)
    expected = nx.single_source_shortest_path_length(graph, start) if start in graph else {}
    wanted = {name: level for name, level in expected.items() if 0 < level <= depth}
    for lookups in (True, False, None):
        assert reach(db, [start], depth, forward=forward, lookups=lookups).levels == wanted
    if depth == ANY_DEPTH and start in graph:
        assert set(wanted) == nx.descendants(graph, start)


CLASSES = ["type:m.A", "type:m.B", "interface:m.C"]
PARTS = {
    "method:m.A.f": "type:m.A",
    "method:m.B.f": "type:m.B",
    "method:m.C.f": "interface:m.C",
    "function:m.A.f.<locals>.g": "method:m.A.f",
    "type:m.B.Inner": "type:m.B",
    "method:m.B.Inner.f": "type:m.B.Inner",
}
ITEMS = st.sampled_from([*CLASSES, *PARTS, "function:m.x", "function:m.y", "namespace:m"])


@ONCE
@given(st.lists(st.tuples(ITEMS, KINDS, ITEMS), max_size=14), ITEMS)
def test_who_uses_a_part_of_a_class_depends_on_the_class(
    db: Database, rows: list[tuple[str, str, str]], start: str
) -> None:
    owns = [(owner, "defines", part) for part, owner in PARTS.items()]
    fill(db, [*rows, *owns, *[("namespace:m", "defines", name) for name in CLASSES]])
    graph = oracle(rows, forward=False)
    graph.add_nodes_from([*CLASSES, *PARTS])

    def parts(name: str) -> set[str]:
        inner = {part for part, owner in PARTS.items() if owner == name}
        return inner.union(*map(parts, inner))

    levels: dict[str, int] = {}
    looked, front, level = {start}, {start}, 0
    while front:
        level += 1
        found = (
            {s for name in front if name in graph for s in graph.successors(name)}
            - levels.keys()
            - {start}
        )
        levels |= dict.fromkeys(found, level)
        classes = [name for name in found if name.startswith(("type:", "interface:"))]
        front = found.union(*map(parts, classes)) - looked
        looked |= front
    for lookups in (True, False, None):
        assert reach(db, [start], lookups=lookups).levels == levels


def test_a_name_that_no_link_holds_reaches_nothing(db: Database) -> None:
    fill(db, [])
    assert reach(db, ["function:m.nobody"]).levels == {}
    fill(db, [("function:m.a", "calls", "function:m.b")])
    assert reach(db, ["function:m.nobody"]).levels == {}
    assert reach(db, ["function:m.b"], depth=0).levels == {}
    assert reach(db, ["function:m.a"], forward=True).levels == {"function:m.b": 1}


def test_many_blocks_are_read_as_columns_and_give_the_same(db: Database) -> None:
    rows = [(f"function:m.caller{n:03}", "calls", "function:m.hub") for n in range(300)]
    rows += [("function:m.top", "calls", "function:m.caller007")]
    written(
        db, {f"{n}.py": [Link(*row, f"{n}.py", 1, "import", 100)] for n, row in enumerate(rows)}
    )
    levels = reach(db, ["function:m.hub"]).levels
    assert levels == reach(db, ["function:m.hub"], lookups=True).levels
    assert nearest_first(levels.items())[-1] == ("function:m.top", 2)
    assert len(levels) == 301
