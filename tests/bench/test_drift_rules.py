"""One set of rules for three tools: layers, rules that fit, and what each tool reports as
broken.
"""

from __future__ import annotations

import configparser
import tomllib

from bench import drift_rules
from kl_hooks.arch.manifest_parser import read_manifest

FILES = [
    "shop/__init__.py",
    "shop/views.py",
    "shop/core/__init__.py",
    "shop/core/a.py",
    "shop/web/__init__.py",
    "shop/web/forms/__init__.py",
    "shop/loose/b.py",
    "tests/core/__init__.py",
]
NAMES = ["shop.core", "shop.web"]


def test_the_layers_are_the_subpackages_of_the_packages() -> None:
    assert drift_rules.layers(FILES, ["shop"]) == NAMES


def test_a_module_outside_the_layers_has_none() -> None:
    assert drift_rules.layer_of("shop.web.forms.x", NAMES) == "shop.web"
    assert drift_rules.layer_of("shop.views", NAMES) is None
    assert drift_rules.layer_of("shop", NAMES) is None


def test_rules_that_fit_allow_what_crosses_and_nothing_else() -> None:
    edges = {
        ("shop.web.a", "shop.core.b"),
        ("shop.core.a", "shop.core.b"),
        ("shop.views", "shop.web"),
    }
    assert drift_rules.allowed(edges, NAMES) == {"shop.core": [], "shop.web": ["shop.core"]}


def test_the_three_texts_state_the_same() -> None:
    rules = {"shop.core": [], "shop.web": ["shop.core"]}
    ours = read_manifest("architecture.yaml", drift_rules.manifest(rules).encode())
    assert {layer.name: list(layer.may_depend_on) for layer in ours.layers} == rules
    assert [layer.paths for layer in ours.layers] == [("shop/core/",), ("shop/web/",)]
    assert ours.unassigned_imports == "ignore", "allow_indirect_imports: the others follow none"

    theirs = configparser.ConfigParser()
    theirs.read_string(drift_rules.importlinter(rules, ["shop"]))
    contract = theirs["importlinter:contract:0"]
    assert (contract["source_modules"].split(), contract["forbidden_modules"].split()) == (
        ["shop.core"],
        ["shop.web"],
    )
    assert "importlinter:contract:1" not in theirs, "shop.web may import all there is"

    other = tomllib.loads(drift_rules.tach(rules))
    assert {one["path"]: one["depends_on"] for one in other["modules"]} == rules


def test_what_import_linter_states_is_broken_is_read_from_its_words() -> None:
    printed = (
        "shop.core is not allowed to import shop.web:\n\n-   shop.core.a -> shop.web.forms (l.3,"
        " l.9)\n"
    )
    assert drift_rules.broken_for_importlinter(printed) == {("shop.core.a", "shop.web.forms")}


def test_a_difference_names_the_side_that_sees_it() -> None:
    lines = drift_rules.difference({("a", "b"), ("c", "d")}, {("a", "b"), ("e", "f")})
    assert lines == ["only kl: c -> d", "only import-linter: e -> f"]
