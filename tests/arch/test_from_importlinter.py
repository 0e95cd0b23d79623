"""import-linter's own configuration in our words: both of its forms, what is left out, what may become layers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kl_hooks.arch.foreign.import_linter import read_importlinter
from kl_hooks.arch.foreign.imported import Imported, imported_text
from kl_hooks.arch.foreign.layered import with_layers
from kl_hooks.arch.manifest import read_manifest
from kl_hooks.config.problems import Problems
from kl_hooks.model.manifest import MANIFEST

INI = """\
[metadata]
name = x

[importlinter]
root_packages =
    a
    b
include_external_packages = True

[importlinter:contract:one]
name = Order
type = layers
layers =
    # the top
    a
    b : c
    (d)
ignore_imports =
    a.x -> b.y
unmatched_ignore_imports_alerting = warn

[importlinter:contract:two]
name = Order
type = protected
protected_modules = click
allowed_importers = a
as_packages = False
"""
TOML = """\
[tool.importlinter]
root_packages = ["a", "b"]
include_external_packages = true

[[tool.importlinter.contracts]]
id = "one"
name = "Order"
type = "layers"
layers = ["a", "b : c", "(d)"]
ignore_imports = ["a.x -> b.y"]
unmatched_ignore_imports_alerting = "warn"

[[tool.importlinter.contracts]]
id = "two"
name = "Order"
type = "protected"
protected_modules = ["click"]
allowed_importers = "a"
as_packages = false
"""


def read(name: str, text: str) -> Imported:
    found = read_importlinter(name, text.encode())
    assert found is not None
    return found


def rules(found: Imported) -> list[Any]:
    return [
        (one.name, one.type, [(x.key, x.value) for x in one.options], one.root_packages, one.include_external_packages)
        for one in found.contracts
    ]


EXPECTED = [
    ("Order", "layers", [("layers", ("a", "b : c", "(d)")), ("ignore_imports", ("a.x -> b.y",)),
                         ("unmatched_ignore_imports_alerting", "warn")], ("a", "b"), True),
    ("Order (2)", "protected", [("protected_modules", ("click",)), ("allowed_importers", ("a",)),
                                ("as_packages", "False")], ("a", "b"), True),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text"), [("setup.cfg", INI), (".importlinter", INI), ("pyproject.toml", TOML)])
def test_both_forms_say_the_same_and_come_back_from_the_text(name: str, text: str) -> None:
    found = read(name, text)
    assert rules(found) == EXPECTED
    again = read_manifest(MANIFEST, imported_text(found).encode())
    assert [(one.name, one.type, one.root_packages, one.include_external_packages) for one in again.contracts] == [
        (one.name, one.type, one.root_packages, one.include_external_packages) for one in found.contracts
    ]
    assert [[(x.key, x.value) for x in one.options] for one in again.contracts] == [
        [(x.key, x.value) for x in one.options] for one in found.contracts
    ]
    assert f"# {name}: contract one\n" in imported_text(found)


def test_files_without_a_set_up_and_files_that_cannot_be_read() -> None:
    assert read_importlinter("setup.cfg", b"[metadata]\nname = x\n") is None
    assert read_importlinter("pyproject.toml", b"[tool.ruff]\n") is None
    for name, text in (("setup.cfg", b"x\n"), ("pyproject.toml", b"[["), ("pyproject.toml", b"\xff")):
        with pytest.raises(Problems, match="can't be read"):
            read_importlinter(name, text)


def test_what_is_not_import_linter_s_own_is_left_out_and_said() -> None:
    more = 'contract_types = ["mine: pkg.contracts.Mine"]\nodd = 1\n'
    text = TOML.replace("root_packages", more + "root_packages").replace('type = "protected"', 'type = "mine"')
    found = read("pyproject.toml", text.replace('"warn"', '"warn"\nstrange = 2'))
    assert [one.name for one in found.contracts] == ["Order"]
    assert found.left == (
        '"contract_types": such contracts are code of the checkout, and none of it is run',
        'the option "odd"',
        'contract "Order": import-linter has no option "strange" there',
        'contract "Order": "mine" is not a built-in type of import-linter',
    )


MODULES = {"a/__init__.py": "a", "a/m.py": "a.m", "b/__init__.py": "b", "c/__init__.py": "c", "tests/t.py": "tests.t"}


def layered(modules: dict[str, str] | None = None, **options: Any) -> tuple[Imported | None, str]:
    rows = "".join(f"{key} = {value}\n" for key, value in options.items() if key != "root_packages")
    roots = options.get("root_packages", '["a", "b", "c"]')
    text = (
        f"[tool.importlinter]\nroot_packages = {roots}\n[[tool.importlinter.contracts]]\nname = 'C'\ntype = 'layers'\n"
    )
    found = read("pyproject.toml", text + rows)
    return with_layers(found, found.contracts[0], modules or MODULES)


def test_layers_that_are_all_the_root_packages() -> None:
    found, _ = layered(layers='["a", "b : c"]')
    assert found is not None and found.contracts == () and found.type_checking_imports == "enforce"
    assert [(x.name, x.paths, x.may_depend_on) for x in found.layers] == [
        ("b", ("b/",), ("c",)), ("c", ("c/",), ("b",)), ("a", ("a/",), ("b", "c")),
    ]  # fmt: skip
    manifest = read_manifest(MANIFEST, imported_text(found).encode())
    assert [(x.name, x.may_depend_on) for x in manifest.layers] == [(x.name, x.may_depend_on) for x in found.layers]
    independent, _ = layered(layers='["a", "b | c"]')
    assert independent is not None and [x.may_depend_on for x in independent.layers] == [(), (), ("b", "c")]


def test_ignored_imports_become_exceptions_only_where_a_missing_one_fails_nobody() -> None:
    one = {"layers": '["a", "b", "c"]', "ignore_imports": '["b.x -> a.m"]'}
    assert "an ignored import is gone" in layered(**one)[1]
    found, _ = layered(**one, unmatched_ignore_imports_alerting='"none"')
    assert found is not None and [(x.source, x.target) for x in found.exceptions] == [("b.x", "a.m")]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"layers": '["a", "b"]'}, "it also forbids chains through modules that are in no layer (c/__init__.py)"),
        ({"layers": '["m"]', "containers": '["a"]', "root_packages": '["a"]'},
         "it also forbids chains through modules that are in no layer (a/__init__.py)"),
        ({"layers": '["a", "b", "gone"]'}, "a layer has no files here"),
        ({"layers": '["m"]', "containers": '["*"]'}, "it has wildcards"),
        ({"layers": '["a", "b", "c"]', "ignore_imports": '["a.* -> b"]'}, "it ignores imports by wildcard"),
        ({"layers": '["a.m", "a"]', "root_packages": '["a"]'}, "modules that are added later could be in no layer"),
    ],
)  # fmt: skip
def test_why_a_contract_stays_one(options: dict[str, Any], reason: str) -> None:
    assert layered(**options) == (None, reason)


def test_an_exhaustive_contract_over_everything_is_exhaustive_layers() -> None:
    modules = {"src/ns/x/__init__.py": "ns.x", "src/ns/y/__init__.py": "ns.y"}
    options = {"layers": '["x", "y"]', "containers": '["ns"]', "root_packages": '["ns"]'}
    assert "could be in no layer" in layered(modules, **options)[1]
    found, _ = layered(modules, **options, exhaustive="true")
    assert found is not None and found.exhaustive
    assert [(x.name, x.paths, x.may_depend_on) for x in found.layers] == [
        ("y", ("src/ns/y/",), ()), ("x", ("src/ns/x/",), ("y",)),
    ]  # fmt: skip
    more = {**modules, "setup.py": "setup"}
    assert "layers here are for the whole repository" in layered(more, **options, exhaustive="true")[1]


def test_our_own_configuration() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_bytes()
    found = read_importlinter("pyproject.toml", text)
    assert found is not None and found.left == () and len(found.contracts) >= 6
