"""Strongly connected components, levels, a linear order and communities of a small graph. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

_N = TypeVar("_N", bound=Hashable)


def components(nodes: Sequence[_N], edges: Mapping[_N, Sequence[_N]]) -> list[list[_N]]:
    """Strongly connected components, each after all that it depends on (Tarjan's order), without
    recursion.

    `edges`: node → what it depends on; every node named there is in `nodes`.
    """
    index: dict[_N, int] = {}
    low: dict[_N, int] = {}
    stack: list[_N] = []
    on_stack: set[_N] = set()
    components_found: list[list[_N]] = []
    for start in nodes:
        if start in index:
            continue
        # a stack of our own: a chain of imports may be longer than Python's recursion limit (1,000)
        work = [(start, iter(edges.get(start, ())))]
        while work:
            node, targets_left = work[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                stack.append(node)
                on_stack.add(node)
            for target in targets_left:
                if target not in index:
                    work.append((target, iter(edges.get(target, ()))))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    members = [stack.pop()]
                    while members[-1] != node:
                        members.append(stack.pop())
                    on_stack.difference_update(members)
                    components_found.append(members[::-1])
    return components_found


def levels(nodes: Sequence[_N], edges: Mapping[_N, Sequence[_N]]) -> dict[_N, int]:
    """For an acyclic graph: 0 for what depends on nothing, else one more than the highest
    dependency.
    """
    height: dict[_N, int] = {}
    for (node,) in components(nodes, edges):
        height[node] = 1 + max(
            (height[target] for target in edges.get(node, ()) if target != node), default=-1
        )
    return height


def linear_order(nodes: Sequence[_N], weights: Mapping[tuple[_N, _N], int]) -> list[_N]:
    """The nodes from the bottom up, such that little weight leads from a node to one above it.

    `weights`: (node, what it depends on) → weight. Acyclic graphs are ordered without any. A
    minimum feedback arc set is NP-hard; this is the greedy order of Eades, Lin and Smyth (1993),
    each component by itself, then improved by moving single nodes while that helps. The same input
    gives the same order.
    """
    uses: dict[_N, list[_N]] = {node: [] for node in nodes}
    for source, target in weights:
        uses[source].append(target)
    order: list[_N] = []
    for members in components(nodes, uses):
        order += _improved(_greedy(members, weights), weights) if len(members) > 1 else members
    return order


def _greedy(nodes: Sequence[_N], weights: Mapping[tuple[_N, _N], int]) -> list[_N]:
    left = sorted(nodes, key=str)
    bottom: list[_N] = []
    top: list[_N] = []
    while left:
        out = {node: sum(weights.get((node, other), 0) for other in left) for node in left}
        into = {node: sum(weights.get((other, node), 0) for other in left) for node in left}
        sink = next((node for node in left if not out[node]), None)
        source = next((node for node in left if not into[node]), None)
        if sink is not None:
            bottom.append(sink)
        elif source is not None:
            top.insert(0, source)
        else:
            # the paper picks the largest out minus in for the front; here the bottom is filled
            # first
            sink = max(left, key=lambda node: into[node] - out[node])
            bottom.append(sink)
        left.remove(source if sink is None and source is not None else bottom[-1])
    return [*bottom, *top]


def _improved(order: list[_N], weights: Mapping[tuple[_N, _N], int]) -> list[_N]:
    """Each node in turn where it contradicts least, until none moves; every move takes weight off,
    so it ends.
    """
    moved = True
    while moved:
        moved = False
        for node in sorted(order, key=str):
            others = [other for other in order if other != node]
            now = order.index(node)
            cost = sum(weights.get((node, other), 0) for other in others)  # at the very bottom
            costs = [cost]
            for other in others:
                cost += weights.get((other, node), 0) - weights.get((node, other), 0)
                costs.append(cost)
            best = min(range(len(costs)), key=costs.__getitem__)
            # strictly less: between two equal places a node would move forever
            if costs[best] < costs[now]:
                order = [*others[:best], node, *others[best:]]
                moved = True
    return order


def communities(nodes: Sequence[_N], weights: Mapping[tuple[_N, _N], float]) -> list[list[_N]]:
    """Groups of nodes that are linked more among each other than with the rest, in the order of
    their first nodes.

    `weights`: (node, other) → how strongly they are linked, in either direction; no node with
    itself. Louvain's method (Blondel and others, 2008), with the nodes visited in their order and
    ties going to the group that is first: the same input gives the same groups.
    """
    links: dict[int, dict[int, float]] = {place: {} for place in range(len(nodes))}
    place_of = {node: place for place, node in enumerate(nodes)}
    for ends, weight in weights.items():
        first = place_of[ends[0]]
        second = place_of[ends[1]]
        links[first][second] = links[first].get(second, 0.0) + weight
        links[second][first] = links[second].get(first, 0.0) + weight
    members = [[place] for place in range(len(nodes))]
    inside = [0.0] * len(nodes)  # twice the weight inside a group that became one node
    while True:
        group_of = _moved(links, inside)
        groups = sorted(set(group_of), key=group_of.index)
        if len(groups) == len(members):
            break
        number = {group: place for place, group in enumerate(groups)}
        merged: list[list[int]] = [[] for _ in groups]
        within = [0.0] * len(groups)
        between: dict[int, dict[int, float]] = {place: {} for place in range(len(groups))}
        for place, near in links.items():
            mine = number[group_of[place]]
            merged[mine] += members[place]
            within[mine] += inside[place]
            for other, weight in near.items():
                theirs = number[group_of[other]]
                if theirs == mine:
                    within[mine] += weight
                else:
                    between[mine][theirs] = between[mine].get(theirs, 0.0) + weight
        links = between
        members = merged
        inside = within
    return [[nodes[place] for place in sorted(some)] for some in sorted(members, key=min)]


def _moved(links: Mapping[int, Mapping[int, float]], inside: Sequence[float]) -> list[int]:
    """Node → its group, after each was moved to the neighbor's group that gains most, until none
    gains.
    """
    degrees = [sum(near.values()) + inside[node] for node, near in links.items()]
    total = sum(degrees)
    group_of = list(range(len(degrees)))
    sums = list(degrees)
    moved = total > 0
    while moved:
        moved = False
        for node, near in links.items():
            mine = group_of[node]
            to = dict[int, float]()
            for other, weight in near.items():
                to[group_of[other]] = to.get(group_of[other], 0.0) + weight
            sums[mine] -= degrees[node]
            gains = {
                group: weight - sums[group] * degrees[node] / total for group, weight in to.items()
            }
            stay = to.get(mine, 0.0) - sums[mine] * degrees[node] / total
            best = min(gains, key=lambda group: (-gains[group], group), default=mine)
            # more than rounding: a node between two equal groups would move forever
            if best != mine and gains[best] > stay + 1e-9:
                group_of[node] = best
                moved = True
            sums[group_of[node]] += degrees[node]
    return group_of
