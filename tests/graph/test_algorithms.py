"""Cycles and levels, compared with networkx."""

from __future__ import annotations

import networkx
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.graph.algorithms import communities, components, levels

_graphs = st.dictionaries(
    st.integers(0, 9), st.lists(st.integers(0, 9), max_size=4, unique=True), max_size=10
)


def oracle(graph: dict[int, list[int]]) -> networkx.DiGraph[int]:
    made: networkx.DiGraph[int] = networkx.DiGraph()
    made.add_nodes_from(range(10))
    made.add_edges_from((source, target) for source, targets in graph.items() for target in targets)
    return made


@given(_graphs)
def test_the_same_components_as_networkx(graph: dict[int, list[int]]) -> None:
    expected = {frozenset(c) for c in networkx.strongly_connected_components(oracle(graph))}
    assert {frozenset(c) for c in components(range(10), graph)} == expected


@given(_graphs)
def test_a_component_comes_after_all_it_depends_on(graph: dict[int, list[int]]) -> None:
    place = {node: n for n, found in enumerate(components(range(10), graph)) for node in found}
    assert all(
        place[target] <= place[source] for source, targets in graph.items() for target in targets
    )


@given(_graphs)
def test_levels_are_the_longest_way_down(graph: dict[int, list[int]]) -> None:
    downward = {source: [t for t in targets if t < source] for source, targets in graph.items()}
    height = levels(range(10), downward)
    for node in range(10):
        reachable = oracle(downward).subgraph(networkx.descendants(oracle(downward), node) | {node})
        assert height[node] == networkx.dag_longest_path_length(reachable)


def test_a_long_chain_needs_no_recursion() -> None:
    assert levels(range(20_000), {n: [n + 1] for n in range(19_999)})[0] == 19_999


@given(st.integers(0, 10_000), st.integers(1, 60), st.floats(0, 0.3))
def test_communities_are_as_good_as_those_of_networkx(seed: int, size: int, density: float) -> None:
    graph = networkx.gnp_random_graph(size, density, seed=seed)
    weights = {(a, b): 1.0 + (a + b) % 3 for a, b in graph.edges}
    networkx.set_edge_attributes(
        graph, {edge: {"weight": weight} for edge, weight in weights.items()}
    )
    found = communities(range(size), weights)
    assert sorted(node for some in found for node in some) == list(range(size))
    assert [some[0] for some in found] == sorted(some[0] for some in found)
    if weights:
        oracle = networkx.community.louvain_communities(graph, seed=1)
        best = networkx.community.modularity(graph, oracle)
        assert networkx.community.modularity(graph, found) > 0.85 * best - 0.02
