"""Judging imports: which are violations, which exceptions hold, and what has no effect.

Chains of allowed imports to a forbidden layer: the shortest is found, named in full, and the same
every time.
"""

from __future__ import annotations

from collections.abc import Sequence

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.arch import suggestions
from kl_hooks.arch.layer_check import (
    INDIRECT_METHOD,
    cycle_warnings,
    forbidden_chains,
    manifest_warnings,
    unassigned_problems,
    violations,
)
from kl_hooks.arch.layers import layer_lookup
from kl_hooks.arch.manifest_parser import read_manifest
from kl_hooks.model.manifest import MANIFEST, Layer, Manifest
from kl_hooks.model.symbol import Link

MODULES = {
    "src/shop/__init__.py": "shop",
    "src/shop/domain/order.py": "shop.domain.order",
    "src/shop/domain/price.py": "shop.domain.price",
    "src/shop/ports.py": "shop.ports",
    "src/shop/api/__init__.py": "shop.api",
    "src/shop/api/http.py": "shop.api.http",
    "tests/test_order.py": "test_order",
}
LAYERS = """\
layers:
  - name: domain
    paths: [src/shop/domain/]
    may_depend_on: [ports]
    decision: ADR-0004
  - name: ports
    paths: [src/shop/ports.py]
    may_depend_on: [api]
  - name: api
    paths: [src/shop/api/]
    may_depend_on: []
"""


def manifest(more: str = "") -> Manifest:
    return read_manifest(MANIFEST, (LAYERS + more).encode())


def link(source: str, target: str, line: int = 1, method: str = "import") -> Link:
    path = {dotted: path for path, dotted in MODULES.items()}[source]
    return Link(f"namespace:{source}", "imports", f"namespace:{target}", path, line, method)


SOURCES = {
    "src/shop/domain/order.py": (
        b"\n\nfrom shop.api.http import current_user\n\n\ndef place():\n    current_user()\n"
    ),
    "src/shop/domain/price.py": (
        b"def a(user): ...\n\n\nclass B:\n    def b(self, *, user=None): ...\n"
    ),
}


class Seen:
    """A source in which only annotations use what line 9 imports, and nothing what line 8 does."""

    index = None

    def statement(self, link: Link) -> str:
        return "from shop.api.http import current_user"

    def kind(self, link: Link) -> str:
        return {9: "annotations", 8: "unused"}.get(link.line, "needed")

    def read(self, paths: Sequence[str]) -> dict[str, bytes]:
        return {path: SOURCES[path] for path in paths if path in SOURCES}


BREAKING = link("shop.domain.order", "shop.api.http", 3)


@pytest.mark.requirement("A48")
def test_a_violation_names_everything() -> None:
    (found,) = violations(manifest(), [BREAKING], MODULES, Seen())
    assert (found.path, found.line, found.importer, found.imported) == (
        "src/shop/domain/order.py",
        3,
        "shop.domain.order",
        "shop.api.http",
    )
    assert (found.source_layer, found.target_layer) == ("domain", "api")
    assert found.statement == "from shop.api.http import current_user"
    assert (found.rule, found.decision, found.allowed) == (f"{MANIFEST}:4", "ADR-0004", ("ports",))


@pytest.mark.requirement("A48")
def test_own_layer_allowed_layer_and_unmapped_files_are_fine() -> None:
    links = [
        link("shop.domain.order", "shop.domain.price"),
        link("shop.domain.order", "shop.ports"),
        link("shop.domain.order", "shop"),
        link("shop.domain.order", "os.path"),
        link("test_order", "shop.api.http"),
    ]
    assert violations(manifest(), links, MODULES) == []


def test_a_name_without_a_file_belongs_to_its_package() -> None:
    (found,) = violations(manifest(), [link("shop.domain.order", "shop.api._speedups")], MODULES)
    assert found.target_layer == "api"


def test_lazy_and_dynamic_imports_count_and_are_named() -> None:
    links = [
        link("shop.domain.order", "shop.api.http", n, how)
        for n, how in ((4, "lazy import"), (9, "dynamic import"))
    ]
    assert [v.method for v in violations(manifest(), links, MODULES)] == [
        "lazy import",
        "dynamic import",
    ]


def test_type_checking_imports_are_a_choice() -> None:
    links = [link("shop.domain.order", "shop.api.http", 3, "type-checking import")]
    assert violations(manifest(), links, MODULES) == []
    (found,) = violations(manifest("type_checking_imports: enforce\n"), links, MODULES)
    assert found.suggested_fix.startswith("only a type checker needs this import")


def test_one_statement_of_two_names_is_one_violation() -> None:
    assert len(violations(manifest(), [BREAKING, BREAKING], MODULES)) == 1


def test_violations_of_one_fingerprint_are_numbered() -> None:
    found = violations(
        manifest(), [link("shop.domain.order", "shop.api.http", n) for n in (3, 5, 9)], MODULES
    )
    assert [(one.line, one.number) for one in found] == [(3, 1), (5, 2), (9, 3)]


def test_violations_come_in_the_order_of_file_and_line() -> None:
    links = [
        link("shop.domain.price", "shop.api", 2),
        link("shop.domain.order", "shop.api", 9),
        BREAKING,
    ]
    assert [(v.path[-8:], v.line) for v in violations(manifest(), links, MODULES)] == [
        ("order.py", 3),
        ("order.py", 9),
        ("price.py", 2),
    ]


def test_an_exception_applies_through_its_last_day() -> None:
    rules = manifest(
        "exceptions: [{from: shop.domain.order, to: shop.api.http, until: 2027-01-31}]\n"
    )
    assert violations(rules, [BREAKING], MODULES, today="2027-01-31") == []
    (found,) = violations(rules, [BREAKING], MODULES, today="2027-02-01")
    assert "the exception at .kl/architecture.yaml:12 ended on 2027-01-31" in found.suggested_fix


def test_an_exception_names_modules_exactly_or_whole_layers() -> None:
    assert (
        violations(manifest("exceptions: [{from: domain, to: api}]\n"), [BREAKING], MODULES) == []
    )
    wide = manifest("exceptions: [{from: shop.domain, to: shop.api}]\n")
    assert len(violations(wide, [BREAKING], MODULES)) == 1
    assert "matches no import" in str(manifest_warnings(wide, [BREAKING], MODULES)[0])


def test_an_exception_needs_both_ends_and_an_expired_one_both_days() -> None:
    for one in (
        "{from: domain, to: ports}",
        "{from: ports, to: api}",
        "{from: shop.domain.price, to: shop.api.http}",
    ):
        rules = manifest(f"exceptions: [{one}]\n")
        assert len(violations(rules, [BREAKING], MODULES)) == 1, one
        (warning,) = [
            found
            for found in manifest_warnings(rules, [BREAKING], MODULES)
            if "exception" in found.message
        ]
        assert (warning.path, warning.line, warning.column) == (MANIFEST, 12, 1)
    both = manifest("exceptions: [{from: domain, to: api}]\n")
    other = link("shop.ports", "shop.domain.order")
    assert manifest_warnings(both, [BREAKING, other], MODULES) == [], (
        "one import that needs it is enough"
    )
    assert violations(both, [BREAKING], MODULES, today="2027-01-31") == [], "it has no last day"
    dated = manifest("exceptions: [{from: domain, to: api, until: 2027-01-31}]\n")
    assert violations(dated, [BREAKING], MODULES) == [], "nobody said which day it is"


def test_files_are_read_for_the_places_that_are_asked_for_alone() -> None:
    def fix(*closely: tuple[str, int]) -> str:
        (found,) = violations(manifest(), [BREAKING], MODULES, Seen(), places_to_read=closely)
        return found.suggested_fix

    assert "place()" in fix(("src/shop/domain/order.py", 3))
    assert "place()" not in fix(("src/shop/domain/order.py", 4)) and "place()" not in fix()


def test_chains_are_violations_where_they_are_forbidden_and_only_there() -> None:
    links = [link("shop.domain.order", "shop.ports", 5), link("shop.ports", "shop.api.http", 2)]
    assert violations(manifest(), links, MODULES) == []
    (found,) = violations(manifest("indirect: forbid\n"), links, MODULES)
    assert (found.path, found.line, found.target_layer) == ("src/shop/domain/order.py", 5, "api")


def test_a_suggested_fix_through_a_module_that_may() -> None:
    legal = link("shop.ports", "shop.api.http", 1)
    (found,) = violations(manifest(), [BREAKING, legal], MODULES)
    assert (
        found.suggested_fix == "get it through shop.ports (ports), which may import shop.api.http"
    )
    used = link("shop.domain.price", "shop.ports", 18)
    (found,) = violations(manifest(), [BREAKING, legal, used], MODULES)
    assert found.suggested_fix.endswith("and which src/shop/domain/price.py:18 uses already")


LEGAL = link("shop.ports", "shop.api.http", 1)


@pytest.mark.parametrize(
    "links",
    [
        [link("shop.ports", "shop.api.http", 1, "type-checking import")],
        [link("shop.ports", "shop.api.http", 1, "lazy import")],
        [link("shop.ports", "shop.api.http", 1, "dynamic import")],
        [LEGAL, link("shop.ports", "shop.domain.order")],
        [LEGAL, link("shop.api.http", "shop.domain.order")],
        [
            LEGAL,
            link("shop.ports", "shop.domain.price"),
            link("shop.domain.price", "shop.domain.order", 1, "lazy import"),
        ],
        [LEGAL, link("shop.ports", "shop"), link("shop", "shop.domain.order")],
        [LEGAL, link("shop.api", "shop.domain.order")],
    ],
)
@pytest.mark.parametrize("more", ["", "type_checking_imports: enforce\n"])
def test_no_suggested_fix_leads_through_a_module_that_has_it_not_or_imports_the_importer(
    links: list[Link], more: str
) -> None:
    found = [
        one for one in violations(manifest(more), [BREAKING, *links], MODULES) if one.line == 3
    ]
    assert [one.suggested_fix.partition(",")[0] for one in found] == ["pass it in as an argument"]


def test_a_suggested_fix_through_a_module_that_is_imported_with_others_or_for_type_checkers() -> (
    None
):
    others = [
        link("shop", "shop.domain.order"),  # runs before the importer, whatever that imports
        link("shop.domain.price", "shop.domain.order"),
        link("shop.ports", "shop.domain.order", 1, "type-checking import"),
    ]
    (found,) = violations(manifest(), [BREAKING, LEGAL, *others], MODULES)
    assert found.suggested_fix.startswith("get it through shop.ports")


def test_a_program_of_a_package_is_no_suggested_fix() -> None:
    modules = {**MODULES, "src/shop/ports/__main__.py": "shop.ports.__main__"}
    rules = read_manifest(MANIFEST, LAYERS.replace("src/shop/ports.py", "src/shop/ports/").encode())
    legal = Link(
        "namespace:shop.ports.__main__",
        "imports",
        "namespace:shop.api.http",
        "src/shop/ports/__main__.py",
        1,
        "import",
    )
    (found,) = violations(rules, [BREAKING, legal], modules)
    assert found.suggested_fix.startswith("pass it in")


def test_where_chains_are_forbidden_no_suggested_fix_makes_one() -> None:
    (found,) = violations(manifest("indirect: forbid\n"), [BREAKING, LEGAL], MODULES)
    assert found.suggested_fix.startswith("pass it in")


def test_where_too_many_modules_would_be_followed_none_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(suggestions, "_MAX_WALKS", 0)
    (found,) = violations(manifest(), [BREAKING, LEGAL], MODULES)
    assert found.suggested_fix.startswith("pass it in")


def test_a_suggested_fix_for_annotations_only_where_such_imports_are_ignored() -> None:
    noted = link("shop.domain.order", "shop.api.http", 9)
    (found,) = violations(manifest(), [noted], MODULES, Seen())
    assert found.suggested_fix.startswith(
        "only annotations use it here: move it under `if TYPE_CHECKING:`"
    )
    (found,) = violations(manifest("type_checking_imports: enforce\n"), [noted], MODULES, Seen())
    assert found.suggested_fix.startswith("pass it in")


def test_a_suggested_fix_for_what_nothing_uses() -> None:
    (found,) = violations(
        manifest(), [link("shop.domain.order", "shop.api.http", 8)], MODULES, Seen()
    )
    assert (
        found.suggested_fix
        == "nothing uses it here: remove it, as ruff check --select F401 --fix does"
    )


def test_a_suggested_fix_through_an_argument_names_who_takes_one_already() -> None:
    (found,) = violations(manifest(), [BREAKING], MODULES, Seen())
    expected = "; 2 other domain functions already take one (price.py:1, price.py:5)"
    assert (
        found.suggested_fix == "pass the user in as an argument of place() (order.py:6)" + expected
    )


def test_a_suggested_fix_without_such_a_module() -> None:
    (found,) = violations(manifest(), [BREAKING], MODULES)
    expected = (
        "pass it in as an argument, or move what is needed of shop.api.http into domain or ports"
    )
    assert found.suggested_fix == expected


def test_unowned_files_are_named() -> None:
    found = [
        (problem.path, problem.line, problem.column)
        for problem in unassigned_problems(manifest(), MODULES)
    ]
    assert found == [("src/shop/__init__.py", 1, 1), ("tests/test_order.py", 1, 1)]


def test_the_longest_path_wins() -> None:
    of = layer_lookup(
        [
            Layer("a", ("src/",), (), 1),
            Layer("b", ("src/x",), (), 1),
            Layer("c", ("src/x/y.py",), (), 1),
        ]
    )
    owners = {
        path: layer.name
        for path in ("src/z.py", "src/x/z.py", "src/x/y.py", "src/xx.py")
        if (layer := of(path))
    }
    assert owners == {"src/z.py": "a", "src/x/z.py": "b", "src/x/y.py": "c", "src/xx.py": "a"}
    assert of("other.py") is None
    whole = layer_lookup([Layer("all", ("./",), (), 1)])("any/where.py")
    assert whole is not None and whole.name == "all"


@given(
    st.permutations(
        [BREAKING, link("shop.ports", "shop.api"), link("shop.domain.price", "shop.api.http", 7)]
    )
)
def test_the_order_of_links_does_not_matter(links: list[Link]) -> None:
    assert violations(manifest(), links, MODULES) == violations(
        manifest(), sorted(links, key=repr), MODULES
    )


def test_a_language_that_is_not_read_is_a_warning() -> None:
    used = [link("shop.domain.order", "shop.ports")]
    for language in ("python", "Py", "Rust", "rs"):
        assert manifest_warnings(manifest(f"language: {language}\n"), used, MODULES) == []
    (warning,) = manifest_warnings(manifest("language: Go\n"), used, MODULES)
    assert (warning.path, warning.line, warning.column) == (MANIFEST, 12, 1)
    assert "Rust" in warning.hint


def test_two_layers_that_may_depend_on_each_other_are_a_warning() -> None:
    pair = (Layer("a", ("a",), ("b",), 3), Layer("b", ("b",), ("a",), 5))
    (found,) = cycle_warnings(Manifest("m.yaml", pair))
    assert found.message == "layers a and b may depend on each other."
    assert cycle_warnings(Manifest("m.yaml", pair[:1])) == []


def test_layers_that_may_depend_on_each_other_are_a_warning() -> None:
    layers = [
        Layer(n, (n,), a, line)
        for n, a, line in (
            ("a", ("b",), 3),
            ("b", ("c",), 5),
            ("c", ("a", "d"), 7),
            ("d", ("d",), 9),
        )
    ]
    assert [str(one) for one in cycle_warnings(Manifest("m.yaml", tuple(layers)))] == [
        "m.yaml:3:1: layers a, b and c may depend on each other. Take one direction out, or make"
        " them one layer."
    ]


RULES = """\
layers:
  - {name: low, paths: [low/], may_depend_on: []}
  - {name: mid, paths: [mid/], may_depend_on: [low]}
  - {name: top, paths: [top/], may_depend_on: [mid], decision: ADR-0007}
"""
CHAIN_MODULES = {
    "low/a.py": "low.a",
    "mid/b.py": "mid.b",
    "mid/e.py": "mid.e",
    "top/c.py": "top.c",
    "free.py": "free",
}


def chain_link(source: str, target: str, line: int = 1, how: str = "import") -> Link:
    path = {name: path for path, name in CHAIN_MODULES.items()}[source]
    return Link(f"namespace:{source}", "imports", f"namespace:{target}", path, line, how)


def chain_manifest(more: str = "indirect: forbid\n") -> Manifest:
    return read_manifest(MANIFEST, (RULES + more).encode())


CHAIN = [chain_link("top.c", "mid.b", 3), chain_link("mid.b", "low.a", 7)]


def test_a_chain_is_one_violation_with_every_place() -> None:
    (found,) = violations(chain_manifest(), CHAIN, CHAIN_MODULES)
    assert (found.path, found.line, found.source_layer, found.target_layer) == (
        "top/c.py",
        3,
        "top",
        "low",
    )
    assert (found.importer, found.imported) == ("top.c", "low.a")
    assert (found.method, found.statement, found.decision) == (
        INDIRECT_METHOD,
        "top.c -> mid.b -> low.a",
        "ADR-0007",
    )
    assert found.suggested_fix.endswith(
        "this chain: top.c (top/c.py:3) -> mid.b (mid/b.py:7) -> low.a"
    )


def test_it_has_to_be_asked_for() -> None:
    assert (
        violations(chain_manifest(""), CHAIN, CHAIN_MODULES)
        == violations(chain_manifest("indirect: ignore\n"), CHAIN, CHAIN_MODULES)
        == []
    )


def test_a_forbidden_import_is_no_part_of_a_chain_excepted_or_not() -> None:
    links = [chain_link("mid.b", "top.c", 2), chain_link("top.c", "low.a", 5)]
    assert [one.method for one in violations(chain_manifest(), links, CHAIN_MODULES)] == [
        "import",
        "import",
    ]
    excepted = chain_manifest(
        "indirect: forbid\nexceptions: [{from: top, to: low}, {from: mid.b, to: top.c}]\n"
    )
    assert violations(excepted, [*links, chain_link("mid.e", "mid.b")], CHAIN_MODULES) == []


def test_modules_of_no_layer_are_in_chains_and_type_checking_does_not() -> None:
    (found,) = forbidden_chains(
        chain_manifest(), [chain_link("low.a", "free"), chain_link("free", "top.c")], CHAIN_MODULES
    )
    assert found.statement == "low.a -> free -> top.c"
    assert (
        forbidden_chains(
            chain_manifest(),
            [chain_link("low.a", "free", 1, "type-checking import"), chain_link("free", "top.c")],
            CHAIN_MODULES,
        )
        == []
    )


NODES = [f"{layer}/{n}.py" for layer in ("p", "q", "r", "s") for n in range(3)] + ["x.py"]
EDGES = st.sets(
    st.tuples(st.sampled_from(NODES), st.sampled_from(NODES)).filter(lambda e: e[0] != e[1]),
    max_size=30,
)
ALLOWED = st.fixed_dictionaries({name: st.sets(st.sampled_from("pqrs")) for name in "pqrs"})


@given(EDGES, ALLOWED, st.randoms(use_true_random=False))
def test_it_is_as_short_as_networkx_states(
    edges: set[tuple[str, str]], allowed: dict[str, set[str]], chance: object
) -> None:
    layers = tuple(Layer(n, (f"{n}/",), tuple(sorted(allowed[n])), 1) for n in "pqrs")
    rules = Manifest("m.yaml", layers, indirect="forbid")
    modules = {path: path.removesuffix(".py").replace("/", ".") for path in NODES}
    links = [
        Link(f"namespace:{modules[a]}", "imports", f"namespace:{modules[b]}", a, 1, "import")
        for a, b in sorted(edges)
    ]
    found = forbidden_chains(rules, links, modules)
    good = [
        (a, b) for a, b in edges if "x" in (a[0], b[0]) or a[0] == b[0] or b[0] in allowed[a[0]]
    ]
    graph = networkx.DiGraph(good)
    graph.add_nodes_from(NODES)
    shortest = {}
    for source in "pqrs":
        distance = networkx.multi_source_dijkstra_path_length(
            graph, {n for n in NODES if n[0] == source}
        )
        for target in set("pqrs") - {source} - allowed[source]:
            lengths = [distance[node] for node in NODES if node[0] == target and node in distance]
            if lengths:
                shortest[source, target] = min(lengths)
    assert {(v.source_layer, v.target_layer): v.statement.count("->") for v in found} == shortest
    assert all(v.statement.count("->") >= 2 for v in found)
    chance.shuffle(links)  # type: ignore[attr-defined]
    assert forbidden_chains(rules, links, modules) == found
