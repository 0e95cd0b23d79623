"""The planner: waves that can run side by side, cycles by name, compared with networkx.

An agents' configuration as works: both spellings of keys, every mistake at once, no bytes that
bring it down.
"""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.kinds.task import Work, Works, normalized_token, plan_waves, read_works
from kl_hooks.model.problem import Problems
from tests.support import Checkout

TOKENS = [
    "artifact:design",
    "ARTIFACT:Design",
    "file:src/a.py",
    "file:./src/A.py",
    "symbol:pkg.f",
    "artifact:tests",
]
WORKS = st.lists(
    st.tuples(
        st.lists(st.sampled_from(TOKENS), max_size=3), st.lists(st.sampled_from(TOKENS), max_size=3)
    ),
    max_size=7,
).map(
    lambda rows: [
        Work(f"w{n}", tuple(needs), tuple(gives)) for n, (needs, gives) in enumerate(rows)
    ]
)


def graph_of(works: list[Work], there: set[str]) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(work.name for work in works)
    for work in works:
        for other in works:
            if ({normalized_token(t) for t in work.requires} - there) & {
                normalized_token(t) for t in other.produces
            }:
                graph.add_edge(other.name, work.name)
    return graph


@pytest.mark.requirement("A52")
@given(WORKS, st.sets(st.sampled_from(TOKENS).map(normalized_token), max_size=2))
def test_waves_and_cycles_are_those_of_networkx(works: list[Work], there: set[str]) -> None:
    made, graph = plan_waves(works, there), graph_of(works, there)
    if nx.is_directed_acyclic_graph(graph):
        assert made.cycles == ()
        stuck = {name for name, _ in made.unmet}
        stuck |= {later for name in stuck for later in nx.descendants(graph, name)}
        assert set(made.blocked) == stuck
        graph.remove_nodes_from(stuck)
        assert [sorted(wave) for wave in made.waves] == [
            sorted(wave) for wave in nx.topological_generations(graph)
        ]
    else:
        assert made.waves == ()
        groups = [
            g
            for g in nx.strongly_connected_components(graph)
            if len(g) > 1 or graph.has_edge(*list(g) * 2)
        ]
        assert sorted(map(sorted, groups)) == sorted(
            sorted(next(g for g in groups if cycle[0] in g)) for cycle in made.cycles
        )
        for cycle in made.cycles:
            assert cycle[0] == cycle[-1] and len(set(cycle)) == len(cycle) - 1
            assert all(graph.has_edge(needed, name) for name, needed in pairwise(cycle))


@given(WORKS, st.sets(st.sampled_from(TOKENS).map(normalized_token), max_size=2))
def test_doing_what_is_eligible_follows_the_waves(works: list[Work], there: set[str]) -> None:
    made = plan_waves(works, there)
    if made.cycles or made.unmet:
        return
    found = Works(works)
    while ready := found.eligible(there):
        found.done.update(ready)
        there = there | {
            one
            for work in works
            if work.name in ready
            for one in map(normalized_token, work.produces)
        }
    assert found.done == {work.name for work in works}


def test_case_and_spelling_of_tokens_do_not_matter() -> None:
    assert normalized_token(" File: ./SRC\\a.py ") == "file:src/a.py"
    assert plan_waves(
        [Work("b", ("ARTIFACT:Design",)), Work("a", (), ("artifact:design",))]
    ).waves == (("a",), ("b",))


@pytest.mark.parametrize("text", ["", "design", "thing:x", "file:", "artifact: ", ":x"])
def test_what_is_no_token_is_reported(text: str) -> None:
    with pytest.raises(ValueError, match=r"token|names nothing"):
        normalized_token(text)


def test_a_work_that_needs_what_it_gives_is_a_cycle_of_its_own() -> None:
    assert plan_waves([Work("a", ("artifact:x",), ("artifact:X",))]).cycles == (("a", "a"),)


def test_the_whole_cycle_is_named() -> None:
    works = [
        Work("a", ("artifact:c",), ("artifact:a",)),
        Work("b", ("artifact:a",), ("artifact:b",)),
        Work("c", ("artifact:b",), ("artifact:c",)),
        Work("d"),
    ]
    assert plan_waves(works).cycles == (("a", "c", "b", "a"),)


def test_what_nobody_produces_is_listed_and_keeps_its_task_out_of_the_waves() -> None:
    works = [Work("a", ("artifact:ghost",), ("artifact:a",)), Work("b"), Work("c", ("artifact:a",))]
    made = plan_waves(works)
    assert (made.waves, made.blocked) == ((("b",),), ("a", "c")) and made.unmet == (
        ("a", "artifact:ghost"),
    )
    made = plan_waves(works, outside=True)  # of a configuration: it may come from outside
    assert (made.waves, made.blocked) == ((("a", "b"), ("c",)), ()) and made.unmet == (
        ("a", "artifact:ghost"),
    )
    assert plan_waves([Work("a", ("artifact:ghost",))], ["Artifact:Ghost"]).unmet == ()


@pytest.mark.requirement("A51")
def test_the_planner_is_active_once_anyone_declares_a_token() -> None:
    assert not plan_waves([Work("a"), Work("b")]).active
    assert plan_waves([Work("a"), Work("b", (), ("file:x",))]).active


def test_what_can_be_done_now() -> None:
    works = [Work("a", (), ("artifact:a",)), Work("b", ("artifact:a", "file:x"))]
    assert works[1].missing({"artifact:a"}) == ("file:x",)
    assert Works(works, done={"a"}).eligible({"artifact:a", "file:x"}) == ("b",)
    assert Works(works).eligible(()) == ("a",)


def test_what_is_done_and_what_exists_is_fulfilled(repo: Checkout) -> None:
    repo.write("src/a.py", "")
    works = Works(
        [Work("a", (), ("Artifact:a",)), Work("b", ("artifact:a", "file:src/a.py", "file:x"))],
        done={"a"},
    )
    assert works.fulfilled(repo.workspace()) == {"artifact:a", "file:src/a.py"}


def test_ten_thousand_works_in_a_row_are_planned() -> None:
    works = [Work(f"w{n}", (f"artifact:{n}",), (f"artifact:{n + 1}",)) for n in range(10_000)]
    made = plan_waves(works, ["artifact:0"])
    assert len(made.waves) == 10_000 and made.unmet == ()


def test_a_list_of_agents_with_other_settings_beside() -> None:
    text = b"""\
Model: large
Agents:
  - Name: writer
    Model: small
    Requires: [artifact:design]
    Produces:
      - file:src/a.py
  - Name: planner
    Produces: artifact:Design
"""
    assert read_works("agents.yaml", text) == [
        Work("writer", ("artifact:design",), ("file:src/a.py",), 3),
        Work("planner", (), ("artifact:design",), 8),
    ]


def test_a_map_of_agents_by_name() -> None:
    assert read_works("a.yaml", b"agents:\n  writer: {needs: [file:x]}\n  idle:\n") == [
        Work("writer", ("file:x",), (), 2),
        Work("idle", (), (), 3),
    ]


def test_every_mistake_is_reported_at_once() -> None:
    text = b"""\
tasks:
  - name: a
    requires: [design, "file:"]
  - name: A
  - requires: [file:x]
  - just text
  - name: b
    produces: {x: y}
"""
    with pytest.raises(Problems) as caught:
        read_works("t.yaml", text)
    assert [str(one) for one in caught.value.problems] == [
        (
            't.yaml:3:16: in "requires": "design" is no token; it begins with artifact:, file: or'
            " symbol:."
        ),
        't.yaml:3:24: in "requires": "file:" names nothing after the colon.',
        't.yaml:4:5: "A" is there twice (first at line 2). Give each a name of its own.',
        't.yaml:5:5: an entry without "name".',
        "t.yaml:6:5: expected a map with name, requires and produces.",
        't.yaml:8:15: "produces" must be a list, not a map. Write [] for none.',
    ]


@pytest.mark.parametrize("text", [b"", b"x: 1", b"- [", b"\xff", b"agents: 3", b"plain"])
def test_what_holds_no_list_is_reported(text: bytes) -> None:
    with pytest.raises(Problems):
        read_works("t.yaml", text)


@given(
    st.binary(max_size=200)
    | st.text(max_size=200).map(lambda t: t.encode("utf-8", "surrogatepass"))
)
def test_any_bytes_are_works_or_problems(text: bytes) -> None:
    try:
        assert isinstance(read_works("t.yaml", text), list)
    except Problems as problems:
        assert problems.problems
