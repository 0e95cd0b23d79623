"""Circles and levels of a small directed graph: what depends on each other, and what stands above what. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

N = TypeVar("N", bound=Hashable)


def components(nodes: Sequence[N], edges: Mapping[N, Sequence[N]]) -> list[list[N]]:
    """Strongly connected components, each after all that it depends on (Tarjan's order), without recursion.

    `edges`: node → what it depends on; every node named there is in `nodes`.
    """
    index: dict[N, int] = {}
    low: dict[N, int] = {}
    stack: list[N] = []
    on_stack: set[N] = set()
    found: list[list[N]] = []
    for start in nodes:
        if start in index:
            continue
        work = [(start, iter(edges.get(start, ())))]
        while work:
            node, rest = work[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                stack.append(node)
                on_stack.add(node)
            for target in rest:
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
                    cut = stack.index(node)
                    found.append(stack[cut:])
                    on_stack.difference_update(stack[cut:])
                    del stack[cut:]
    return found


def levels(nodes: Sequence[N], edges: Mapping[N, Sequence[N]]) -> dict[N, int]:
    """For an acyclic graph: 0 for what depends on nothing, else one more than the highest dependency."""
    height: dict[N, int] = {}
    for (node,) in components(nodes, edges):
        height[node] = 1 + max((height[target] for target in edges.get(node, ()) if target != node), default=-1)
    return height
