"""Proposals: green on the code they were made from, read back as they were meant, doubts
reported.
"""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.arch.layer_check import manifest_warnings, violations
from kl_hooks.arch.manifest_parser import read_manifest
from kl_hooks.arch.propose import Proposal, module_groups, propose, yaml_quoted
from kl_hooks.config.yaml import ListNode, TextNode, load_yaml
from kl_hooks.model.manifest import MANIFEST
from kl_hooks.model.symbol import Link

SHOP = {
    "src/shop/__init__.py": "shop",
    "src/shop/core/__init__.py": "shop.core",
    "src/shop/core/order.py": "shop.core.order",
    "src/shop/infra/db.py": "shop.infra.db",
    "src/shop/cli.py": "shop.cli",
    "tests/test_order.py": "tests.test_order",
    "setup.py": "setup",
}


def link(
    modules: dict[str, str], source: str, target: str, line: int = 1, method: str = "import"
) -> Link:
    path = {dotted: path for path, dotted in modules.items()}[source]
    return Link(f"namespace:{source}", "imports", f"namespace:{target}", path, line, method)


def shop(*pairs: tuple[str, str], exact: bool = False) -> Proposal:
    links = [link(SHOP, f"shop.{a}".rstrip("."), f"shop.{b}".rstrip(".")) for a, b in pairs]
    return propose(links, SHOP, exact=exact)


def test_layers_from_the_bottom_up_by_what_is_used() -> None:
    made = shop(("infra.db", "core.order"), ("cli", "infra.db"), ("cli", "core"))
    assert [(layer.name, layer.paths, layer.may_depend_on) for layer in made.layers] == [
        ("core", ("src/shop/core/",), ()),
        ("shop", ("src/shop/__init__.py",), ()),
        ("infra", ("src/shop/infra/",), ("core",)),
        ("cli", ("src/shop/cli.py",), ("core", "infra")),
    ]
    assert made.doubts == {}


def test_parts_that_import_each_other_are_one_layer_and_it_states_why() -> None:
    made = shop(
        ("infra.db", "core.order"), ("core.order", "infra.db"), ("cli", "infra.db"), exact=True
    )
    assert [layer.name for layer in made.layers] == ["core-infra", "shop", "cli"]
    assert any(
        "core -> infra: src/shop/core/order.py:1 imports shop.infra.db" in line
        for line in made.doubts["core-infra"]
    )
    assert "  #   core -> infra: src/shop/core/order.py:1 imports shop.infra.db\n" in made.text()


def test_parts_that_import_each_other_stay_apart_in_the_order_that_costs_least() -> None:
    made = shop(
        ("infra.db", "core.order"),
        ("infra.db", "core"),
        ("core.order", "infra.db"),
        ("cli", "infra.db"),
        ("", "cli"),
        ("cli", ""),
    )
    assert [(layer.name, layer.paths, layer.may_depend_on) for layer in made.layers] == [
        ("core", ("src/shop/core/",), ()),
        ("infra", ("src/shop/infra/",), ("core",)),
        ("cli", ("src/shop/cli.py",), ("core", "infra")),
    ]
    assert made.against == 1 and made.unassigned[0].startswith("src/shop/__init__.py")
    assert made.doubts == {
        "core": ("in the baseline: 1 import of infra, the first at src/shop/core/order.py:1",)
    }
    text = made.text()
    assert "# 1 import of today contradicts this order: it is accepted in .kl/baseline.json" in text


def test_scripts_and_test_trees_are_omitted_and_nested_tests_are_above_all() -> None:
    modules = {
        "p/__init__.py": "p",
        "p/a/__init__.py": "p.a",
        "p/a/x.py": "p.a.x",
        "p/b/x.py": "p.b.x",
        "t/help.py": "t.help",
        **{f"t/unit/test_{n}.py": f"t.unit.test_{n}" for n in range(4)},
        "p/a/tests/test_x.py": "p.a.tests.test_x",
        "p/test/test_all.py": "p.test.test_all",
        "contrib/run.py": "contrib.run",
        "contrib/go.py": "contrib.go",
        "p/templates/q/__init__.py": "q",
        "p/m1.py": "p.m1",
        "p/m2.py": "p.m2",
    }
    pairs = [
        ("p.a.x", "p.b.x"),
        ("p.a.x", "p.b.x"),
        ("p.b.x", "p.a.x"),
        ("p.a.tests.test_x", "p.b.x"),
        ("p.m1", "p.m2"),
        ("contrib.run", "p.a.x"),
        ("t.unit.test_1", "t.help"),
    ]
    made = propose([link(modules, *pair) for pair in pairs], modules)
    found = {layer.name: layer.paths for layer in made.layers}
    assert found == {
        "b": ("p/b/",),
        "a": ("p/a/",),
        "p": ("p/__init__.py", "p/m2.py"),
        "m1": ("p/m1.py",),
        "tests": ("p/a/tests/",),
    }
    assert made.against == 1 and made.layers[-1].name == "tests"


def test_a_package_that_reexports_does_not_make_one_lump() -> None:
    made = shop(("", "core.order"), ("core.order", ""), ("infra.db", ""), ("", "cli"))
    assert {layer.name for layer in made.layers} == {"core", "infra", "cli"}
    assert made.unassigned == (
        "src/shop/__init__.py: it imports parts of the package that import it",
    )
    assert "# In no layer: src/shop/__init__.py" in made.text()


def test_imports_for_type_checking_make_no_cycle() -> None:
    links = [
        link(SHOP, "shop.infra.db", "shop.core.order"),
        link(SHOP, "shop.core.order", "shop.infra.db", 2, "type-checking import"),
    ]
    assert "core" in [layer.name for layer in propose(links, SHOP).layers]


def test_tests_and_scripts_are_no_layers() -> None:
    assert all(
        not path.startswith(("tests", "setup")) for layer in shop().layers for path in layer.paths
    )


def test_one_chain_of_folders_is_entered() -> None:
    modules = {f"src/acme/shop/{name}/a.py": f"acme.shop.{name}.a" for name in ("core", "web")}
    assert [group.paths for group in module_groups(modules)] == [
        ("src/acme/shop/core/",),
        ("src/acme/shop/web/",),
    ]


def test_of_a_folder_that_has_nearly_all_modules_its_parts_are_layers() -> None:
    inner = ("cli/a", "cli/b", "req/a", "req/b", "vcs/a", "vcs/b", "cache", "wheel")
    paths = ["pip/__main__.py", "pip/_internal/__init__.py"]
    paths += [f"pip/_internal/{name}.py" for name in inner]
    modules = {path: path.removesuffix(".py").replace("/", ".") for path in paths}
    groups = {group.name: group.paths for group in module_groups(modules)}
    assert groups == {
        "__main__": ("pip/__main__.py",),
        "_internal": ("pip/_internal/__init__.py",),
        "cache": ("pip/_internal/cache.py",),
        "cli": ("pip/_internal/cli/",),
        "req": ("pip/_internal/req/",),
        "vcs": ("pip/_internal/vcs/",),
        "wheel": ("pip/_internal/wheel.py",),
    }
    # one of several folders is a layer, however large
    modules |= {f"pip/other/{number}.py": f"pip.other.m{number}" for number in range(3)}
    assert [group.name for group in module_groups(modules)] == ["__main__", "_internal", "other"]


def test_a_folder_with_one_module_is_no_structure() -> None:
    paths = ["a/__init__.py", "a/core/__init__.py", "a/core/big.py"]
    modules = {path: path.removesuffix(".py").replace("/", ".") for path in paths}
    assert [group.name for group in module_groups(modules)] == ["a", "core"]


def test_flat_modules_without_a_package() -> None:
    modules = {"a.py": "a", "b.py": "b", "test_a.py": "test_a", "conftest.py": "conftest"}
    made = propose([link(modules, "b", "a")], modules)
    assert [(layer.name, layer.may_depend_on) for layer in made.layers] == [
        ("a", ()),
        ("b", ("a",)),
    ]


def test_many_packages_are_a_layer_each() -> None:
    modules = {f"{name}/x/m.py": f"{name}.x.m" for name in "abcd"} | {
        f"{name}/__init__.py": name for name in "abcd"
    }
    assert [group.paths for group in module_groups(modules)] == [("a/",), ("b/",), ("c/",), ("d/",)]


def test_many_loose_modules_are_put_together_by_level() -> None:
    modules = {f"p/m{n}.py": f"p.m{n}" for n in range(30)} | {"p/__init__.py": "p"}
    made = propose([link(modules, f"p.m{n}", "p.m0") for n in range(1, 30)], modules)
    assert [len(layer.paths) for layer in made.layers] == [2, 29]
    assert "loose modules" in made.doubts[made.layers[1].name][0]
    # by the package and their level, not by all of their names
    assert all(
        re.fullmatch(r"\w+-[0-9]", layer.name) for layer in made.layers if len(layer.paths) > 1
    )


def test_a_repository_without_python_has_no_layers() -> None:
    assert propose([], {}).layers == () and module_groups({"tests/test_a.py": "tests.test_a"}) == []


def test_names_are_unique_and_never_the_word_below() -> None:
    modules = {
        "a/core/x.py": "a.core.x",
        "b/core/x.py": "b.core.x",
        "a/below.py": "a.below",
        "b/web.py": "b.web",
    }
    names = [group.name for group in module_groups(modules)]
    assert sorted(names) == ["a-core", "b-core", "below-2", "web"]


def test_a_package_keeps_its_name_beside_a_module_of_the_same_name() -> None:
    modules = {
        "src/color/__init__.py": "color",
        "src/color/color.py": "color.color",
        "src/color/types.py": "color.types",
    }
    names = {group.name: group.paths for group in module_groups(modules)}
    assert names == {
        "color": ("src/color/__init__.py",),
        "color-color": ("src/color/color.py",),
        "types": ("src/color/types.py",),
    }
    inner = {f"shop/shop/m{number}.py": f"shop.shop.m{number}" for number in range(12)}
    packages = {"shop/__init__.py": "shop", "shop/shop/__init__.py": "shop.shop"}
    paths = {group.name: group.paths for group in module_groups({**packages, **inner})}
    assert paths["shop"] == ("shop/__init__.py",)
    assert paths["shop-shop"] == ("shop/shop/__init__.py",)


_part = st.sampled_from(["core", "api", "x y", "é", "on", "a-b", "a", "b", "__init__", "1"])
_path = st.lists(_part, min_size=1, max_size=4).map(lambda parts: "/".join(parts) + ".py")


@st.composite
def _repositories(draw: st.DrawFn) -> tuple[dict[str, str], list[Link]]:
    """Modules under odd names, mapped as a src layout, a flat one, or nonsense; and any imports
    among them.
    """
    top = draw(st.sampled_from(["", "src/", "tests/"]))
    paths = draw(st.lists(_path, min_size=1, max_size=12, unique=True))
    modules: dict[str, str] = {}
    for path in paths:
        dotted = path.removesuffix(".py").replace("/", ".").removesuffix(".__init__") or "x"
        if dotted not in modules.values():
            modules[top + path] = dotted
    names = st.sampled_from(sorted(modules.values()))
    pairs = draw(
        st.lists(st.tuples(names, names, st.sampled_from(["import", "lazy import"])), max_size=40)
    )
    return modules, [link(modules, a, b, n + 1, how) for n, (a, b, how) in enumerate(pairs)]


@given(_repositories(), st.booleans())
def test_the_first_check_by_a_proposal_is_green(
    repository: tuple[dict[str, str], list[Link]], exact: bool
) -> None:
    """What contradicts the layers is counted, and is none where that was asked for or nothing is
    circular.
    """
    modules, links = repository
    made = propose(links, modules, exact=exact)
    assert made == propose(links[::-1], modules, exact=exact)
    if not made.layers:
        return
    manifest = read_manifest(MANIFEST, made.text().encode())
    assert len(violations(manifest, links, modules)) == made.against
    assert not (exact and made.against)
    assert manifest_warnings(manifest, links, modules) == []
    assert [(x.name, x.paths, set(x.may_depend_on)) for x in manifest.layers] == [
        (x.name, x.paths, set(x.may_depend_on)) for x in made.layers
    ]


@given(_repositories())
def test_an_import_that_nobody_had_is_found(repository: tuple[dict[str, str], list[Link]]) -> None:
    modules, links = repository
    made = propose(links, modules, exact=True)
    for low in made.layers:
        for high in made.layers:
            if high.name in low.may_depend_on or high.name == low.name:
                continue
            source, target = (
                next((m for p, m in modules.items() if p == x.paths[0]), None) for x in (low, high)
            )
            if source and target:
                new = link(modules, source, target, 99)
                found = violations(
                    read_manifest(MANIFEST, made.text().encode()), [*links, new], modules
                )
                assert [(v.line, v.target_layer) for v in found] == [(99, high.name)]


@given(st.text(max_size=20))
def test_any_word_is_read_back_as_it_was_quoted(word: str) -> None:
    if any("\ud800" <= sign <= "\udfff" for sign in word):
        return
    node, problems = load_yaml("f.yaml", f"[{yaml_quoted(word)}]".encode())
    assert problems == [] and isinstance(node, ListNode)
    (text,) = node.items
    assert isinstance(text, TextNode) and text.value == word
