"""The planner: waves that can run side by side, circles by name, held against networkx."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.kinds.task.plan import Work, can_execute, eligible, fulfilled, plan, unmet_requirements
from kl_hooks.kinds.task.tokens import token

TOKENS = ["artifact:design", "ARTIFACT:Design", "file:src/a.py", "file:./src/A.py", "symbol:pkg.f", "artifact:tests"]
WORKS = st.lists(
    st.tuples(st.lists(st.sampled_from(TOKENS), max_size=3), st.lists(st.sampled_from(TOKENS), max_size=3)), max_size=7
).map(lambda rows: [Work(f"w{n}", tuple(needs), tuple(gives)) for n, (needs, gives) in enumerate(rows)])


def graph_of(works: list[Work], there: set[str]) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(work.name for work in works)
    for work in works:
        for other in works:
            if ({token(t) for t in work.requires} - there) & {token(t) for t in other.produces}:
                graph.add_edge(other.name, work.name)
    return graph


@pytest.mark.requirement("A52")
@given(WORKS, st.sets(st.sampled_from(TOKENS).map(token), max_size=2))
def test_waves_and_circles_are_those_of_networkx(works: list[Work], there: set[str]) -> None:
    made, graph = plan(works, there), graph_of(works, there)
    if nx.is_directed_acyclic_graph(graph):
        assert made.circles == ()
        stuck = {name for name, _ in made.unmet}
        stuck |= {later for name in stuck for later in nx.descendants(graph, name)}
        assert set(made.blocked) == stuck
        graph.remove_nodes_from(stuck)
        assert [sorted(wave) for wave in made.waves] == [sorted(wave) for wave in nx.topological_generations(graph)]
    else:
        assert made.waves == ()
        groups = [g for g in nx.strongly_connected_components(graph) if len(g) > 1 or graph.has_edge(*list(g) * 2)]
        assert sorted(map(sorted, groups)) == sorted(
            sorted(next(g for g in groups if circle[0] in g)) for circle in made.circles
        )
        for circle in made.circles:
            assert circle[0] == circle[-1] and len(set(circle)) == len(circle) - 1
            assert all(graph.has_edge(needed, name) for name, needed in pairwise(circle))


@given(WORKS, st.sets(st.sampled_from(TOKENS).map(token), max_size=2))
def test_doing_what_is_eligible_follows_the_waves(works: list[Work], there: set[str]) -> None:
    made = plan(works, there)
    if made.circles or made.unmet:
        return
    finished: set[str] = set()
    while ready := eligible(works, finished, there):
        finished |= set(ready)
    assert finished == {work.name for work in works}


def test_case_and_spelling_of_tokens_do_not_matter() -> None:
    assert token(" File: ./SRC\\a.py ") == "file:src/a.py"
    assert plan([Work("b", ("ARTIFACT:Design",)), Work("a", (), ("artifact:design",))]).waves == (("a",), ("b",))


@pytest.mark.parametrize("text", ["", "design", "thing:x", "file:", "artifact: ", ":x"])
def test_what_is_no_token_is_said(text: str) -> None:
    with pytest.raises(ValueError, match=r"token|names nothing"):
        token(text)


def test_a_work_that_needs_what_it_gives_is_a_circle_of_its_own() -> None:
    assert plan([Work("a", ("artifact:x",), ("artifact:X",))]).circles == (("a", "a"),)


def test_the_whole_circle_is_named() -> None:
    works = [Work("a", ("artifact:c",), ("artifact:a",)), Work("b", ("artifact:a",), ("artifact:b",)),
             Work("c", ("artifact:b",), ("artifact:c",)), Work("d")]  # fmt: skip
    assert plan(works).circles == (("a", "c", "b", "a"),)


def test_what_nobody_produces_is_listed_and_keeps_its_task_out_of_the_waves() -> None:
    works = [Work("a", ("artifact:ghost",), ("artifact:a",)), Work("b"), Work("c", ("artifact:a",))]
    made = plan(works)
    assert (made.waves, made.blocked) == ((("b",),), ("a", "c")) and made.unmet == (("a", "artifact:ghost"),)
    made = plan(works, outside=True)  # of a configuration: it may come from outside
    assert (made.waves, made.blocked) == ((("a", "b"), ("c",)), ()) and made.unmet == (("a", "artifact:ghost"),)
    assert plan([Work("a", ("artifact:ghost",))], ["Artifact:Ghost"]).unmet == ()


@pytest.mark.requirement("A51")
def test_the_planner_is_active_once_anyone_declares_a_token() -> None:
    assert not plan([Work("a"), Work("b")]).active
    assert plan([Work("a"), Work("b", (), ("file:x",))]).active


def test_what_can_be_done_now() -> None:
    works = [Work("a", (), ("artifact:a",)), Work("b", ("artifact:a", "file:x"))]
    assert not can_execute(works[1], ["artifact:A"])
    assert unmet_requirements(works[1], ["artifact:A"]) == ("file:x",)
    assert fulfilled(works, {"a"}, ["file:x"]) == {"artifact:a", "file:x"}
    assert eligible(works, {"a"}, ["file:x"]) == ("b",)


def test_ten_thousand_works_in_a_row_are_planned() -> None:
    works = [Work(f"w{n}", (f"artifact:{n}",), (f"artifact:{n + 1}",)) for n in range(10_000)]
    made = plan(works, ["artifact:0"])
    assert len(made.waves) == 10_000 and made.unmet == ()
