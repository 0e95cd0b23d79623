"""Chains of allowed imports to a forbidden layer: the shortest is found, named in full, and the same every time."""

from __future__ import annotations

import networkx
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.arch.check import violations
from kl_hooks.arch.indirect import INDIRECT, chains
from kl_hooks.arch.manifest import read_manifest
from kl_hooks.model.manifest import MANIFEST, Layer, Manifest
from kl_hooks.model.symbol import Link

RULES = """\
layers:
  - {name: low, paths: [low/], may_depend_on: []}
  - {name: mid, paths: [mid/], may_depend_on: [low]}
  - {name: top, paths: [top/], may_depend_on: [mid], decision: ADR-0007}
"""
MODULES = {"low/a.py": "low.a", "mid/b.py": "mid.b", "mid/e.py": "mid.e", "top/c.py": "top.c", "free.py": "free"}


def link(source: str, target: str, line: int = 1, how: str = "import") -> Link:
    path = {name: path for path, name in MODULES.items()}[source]
    return Link(f"namespace:{source}", "imports", f"namespace:{target}", path, line, how)


def manifest(more: str = "indirect: forbid\n") -> Manifest:
    return read_manifest(MANIFEST, (RULES + more).encode())


CHAIN = [link("top.c", "mid.b", 3), link("mid.b", "low.a", 7)]


def test_a_chain_is_one_violation_with_every_place() -> None:
    (found,) = violations(manifest(), CHAIN, MODULES)
    assert (found.path, found.line, found.source_layer, found.target_layer) == ("top/c.py", 3, "top", "low")
    assert (found.method, found.statement, found.decision) == (INDIRECT, "top.c -> mid.b -> low.a", "ADR-0007")
    assert found.way_out.endswith("this chain: top.c (top/c.py:3) -> mid.b (mid/b.py:7) -> low.a")


def test_it_has_to_be_asked_for() -> None:
    assert violations(manifest(""), CHAIN, MODULES) == violations(manifest("indirect: ignore\n"), CHAIN, MODULES) == []


def test_a_forbidden_import_is_no_part_of_a_chain_excepted_or_not() -> None:
    links = [link("mid.b", "top.c", 2), link("top.c", "low.a", 5)]
    assert [one.method for one in violations(manifest(), links, MODULES)] == ["import", "import"]
    excepted = manifest("indirect: forbid\nexceptions: [{from: top, to: low}, {from: mid.b, to: top.c}]\n")
    assert violations(excepted, [*links, link("mid.e", "mid.b")], MODULES) == []


def test_modules_of_no_layer_stand_in_chains_and_type_checking_does_not() -> None:
    (found,) = chains(manifest(), [link("low.a", "free"), link("free", "top.c")], MODULES)
    assert found.statement == "low.a -> free -> top.c"
    assert chains(manifest(), [link("low.a", "free", 1, "type-checking import"), link("free", "top.c")], MODULES) == []


NODES = [f"{layer}/{n}.py" for layer in ("p", "q", "r", "s") for n in range(3)] + ["x.py"]
EDGES = st.sets(st.tuples(st.sampled_from(NODES), st.sampled_from(NODES)).filter(lambda e: e[0] != e[1]), max_size=30)
ALLOWED = st.fixed_dictionaries({name: st.sets(st.sampled_from("pqrs")) for name in "pqrs"})


@given(EDGES, ALLOWED, st.randoms(use_true_random=False))
def test_it_is_as_short_as_networkx_says(
    edges: set[tuple[str, str]], allowed: dict[str, set[str]], chance: object
) -> None:
    layers = tuple(Layer(n, (f"{n}/",), tuple(sorted(allowed[n])), 1) for n in "pqrs")
    rules = Manifest("m.yaml", layers, indirect="forbid")
    modules = {path: path.removesuffix(".py").replace("/", ".") for path in NODES}
    links = [
        Link(f"namespace:{modules[a]}", "imports", f"namespace:{modules[b]}", a, 1, "import") for a, b in sorted(edges)
    ]
    found = chains(rules, links, modules)
    good = [(a, b) for a, b in edges if "x" in (a[0], b[0]) or a[0] == b[0] or b[0] in allowed[a[0]]]
    graph = networkx.DiGraph(good)
    graph.add_nodes_from(NODES)
    shortest = {}
    for source in "pqrs":
        distance = networkx.multi_source_dijkstra_path_length(graph, {n for n in NODES if n[0] == source})
        for target in set("pqrs") - {source} - allowed[source]:
            lengths = [distance[node] for node in NODES if node[0] == target and node in distance]
            if lengths:
                shortest[source, target] = min(lengths)
    assert {(v.source_layer, v.target_layer): v.statement.count("->") for v in found} == shortest
    assert all(v.statement.count("->") >= 2 for v in found)
    chance.shuffle(links)  # type: ignore[attr-defined]
    assert chains(rules, links, modules) == found
