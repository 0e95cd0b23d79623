"""What computed the values that code gets, followed through values of values."""

from __future__ import annotations

import networkx
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.evidence.executed import NOTHING_BEHIND, StoredValues, bits

SYMBOLS = 12
PATHS = tuple(f"part_{index % 3}.py" for index in range(SYMBOLS))
indexes = st.frozensets(st.integers(0, SYMBOLS - 1), max_size=4)
values = st.dictionaries(st.integers(0, SYMBOLS - 1), indexes, max_size=8)


@given(values, indexes)
def test_all_that_can_be_reached_is_behind(
    executed_for: dict[int, frozenset[int]], own: frozenset[int]
) -> None:
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(SYMBOLS))
    graph.add_edges_from((one, two) for one, some in executed_for.items() for two in some)
    direct = [index for reader in own for index in executed_for.get(reader, ())]
    expected = {*direct}.union(*(networkx.descendants(graph, index) for index in direct))
    behind = StoredValues(executed_for, PATHS).behind(own)
    assert behind.symbols == expected == {*bits(behind.mask)}
    assert behind.files == {PATHS[index] for index in expected}


def test_code_that_gets_the_same_values_shares_one_object() -> None:
    stored = StoredValues({0: {3}, 1: {3}, 3: {0}}, PATHS)
    assert stored.behind([0, 5]) is stored.behind([1]) is stored.behind([3, 7])
    assert stored.behind([0]).symbols == {0, 3}, "0 and 3 lead to each other"
    assert stored.behind([5]) == NOTHING_BEHIND
