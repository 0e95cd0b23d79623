"""import-linter's own configuration in our words: both of its forms, what is omitted, what may
become layers.

A set-up of tach as layers: for each rule of tach the verdict that tach 0.35.3 itself gave on the
same files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.arch.importers import ImportedConfig, read_importlinter, read_tach, with_layers
from kl_hooks.arch.layer_check import violations
from kl_hooks.arch.manifest_parser import read_manifest
from kl_hooks.code.modules import import_links, imported_names, module_names
from kl_hooks.code.scanner.python import scan_python
from kl_hooks.model.manifest import MANIFEST
from kl_hooks.model.problem import Problems

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


def read(name: str, text: str) -> ImportedConfig:
    found = read_importlinter(name, text.encode())
    assert found is not None
    return found


def rules(found: ImportedConfig) -> list[Any]:
    return [
        (
            one.name,
            one.type,
            [(x.key, x.value) for x in one.options],
            one.root_packages,
            one.include_external_packages,
        )
        for one in found.contracts
    ]


EXPECTED = [
    (
        "Order",
        "layers",
        [
            ("layers", ("a", "b : c", "(d)")),
            ("ignore_imports", ("a.x -> b.y",)),
            ("unmatched_ignore_imports_alerting", "warn"),
        ],
        ("a", "b"),
        True,
    ),
    (
        "Order (2)",
        "protected",
        [
            ("protected_modules", ("click",)),
            ("allowed_importers", ("a",)),
            ("as_packages", "False"),
        ],
        ("a", "b"),
        True,
    ),
]


@pytest.mark.parametrize(
    ("name", "text"), [("setup.cfg", INI), (".importlinter", INI), ("pyproject.toml", TOML)]
)
def test_both_forms_state_the_same_and_come_back_from_the_text(name: str, text: str) -> None:
    found = read(name, text)
    assert rules(found) == EXPECTED
    again = read_manifest(MANIFEST, found.manifest_text().encode())
    assert [
        (one.name, one.type, one.root_packages, one.include_external_packages)
        for one in again.contracts
    ] == [
        (one.name, one.type, one.root_packages, one.include_external_packages)
        for one in found.contracts
    ]
    assert [[(x.key, x.value) for x in one.options] for one in again.contracts] == [
        [(x.key, x.value) for x in one.options] for one in found.contracts
    ]
    assert f"# {name}: contract one\n" in found.manifest_text()


def test_files_without_a_set_up_and_files_that_cannot_be_read() -> None:
    assert read_importlinter("setup.cfg", b"[metadata]\nname = x\n") is None
    assert read_importlinter("pyproject.toml", b"[tool.ruff]\n") is None
    for name, text in (
        ("setup.cfg", b"x\n"),
        ("pyproject.toml", b"[["),
        ("pyproject.toml", b"\xff"),
    ):
        with pytest.raises(Problems, match="can't be read"):
            read_importlinter(name, text)


def test_what_is_not_import_linter_s_own_is_omitted_and_reported() -> None:
    more = 'contract_types = ["mine: pkg.contracts.Mine"]\nodd = 1\n'
    text = TOML.replace("root_packages", more + "root_packages").replace(
        'type = "protected"', 'type = "mine"'
    )
    found = read("pyproject.toml", text.replace('"warn"', '"warn"\nstrange = 2'))
    assert [one.name for one in found.contracts] == ["Order"]
    assert found.left == (
        '"contract_types": such contracts are code of the checkout, and none of it is run',
        'the option "odd"',
        'contract "Order": import-linter has no option "strange" there',
        'contract "Order": "mine" is not a built-in type of import-linter',
    )


MODULES = {
    "a/__init__.py": "a",
    "a/m.py": "a.m",
    "b/__init__.py": "b",
    "c/__init__.py": "c",
    "tests/t.py": "tests.t",
}


def layered(
    modules: dict[str, str] | None = None, **options: Any
) -> tuple[ImportedConfig | None, str]:
    rows = "".join(f"{key} = {value}\n" for key, value in options.items() if key != "root_packages")
    roots = options.get("root_packages", '["a", "b", "c"]')
    text = f"[tool.importlinter]\nroot_packages = {roots}\n[[tool.importlinter.contracts]]\nname = 'C'\ntype = 'layers'\n"
    found = read("pyproject.toml", text + rows)
    return with_layers(found, found.contracts[0], modules or MODULES)


def test_layers_that_are_all_the_root_packages() -> None:
    found, _ = layered(layers='["a", "b : c"]')
    assert found is not None and found.contracts == () and found.type_checking_imports == "enforce"
    assert [(x.name, x.paths, x.may_depend_on) for x in found.layers] == [
        ("b", ("b/",), ("c",)),
        ("c", ("c/",), ("b",)),
        ("a", ("a/",), ("b", "c")),
    ]
    manifest = read_manifest(MANIFEST, found.manifest_text().encode())
    assert [(x.name, x.may_depend_on) for x in manifest.layers] == [
        (x.name, x.may_depend_on) for x in found.layers
    ]
    independent, _ = layered(layers='["a", "b | c"]')
    assert independent is not None and [x.may_depend_on for x in independent.layers] == [
        (),
        (),
        ("b", "c"),
    ]


def test_ignored_imports_become_exceptions_only_where_a_missing_one_fails_nobody() -> None:
    one = {"layers": '["a", "b", "c"]', "ignore_imports": '["b.x -> a.m"]'}
    assert "an ignored import was removed" in layered(**one)[1]
    found, _ = layered(**one, unmatched_ignore_imports_alerting='"none"')
    assert found is not None and [(x.source, x.target) for x in found.exceptions] == [
        ("b.x", "a.m")
    ]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            {"layers": '["a", "b"]'},
            "it also forbids chains through modules that are in no layer (c/__init__.py)",
        ),
        (
            {"layers": '["m"]', "containers": '["a"]', "root_packages": '["a"]'},
            "it also forbids chains through modules that are in no layer (a/__init__.py)",
        ),
        ({"layers": '["a", "b", "gone"]'}, "a layer has no files here"),
        ({"layers": '["m"]', "containers": '["*"]'}, "it has wildcards"),
        (
            {"layers": '["a", "b", "c"]', "ignore_imports": '["a.* -> b"]'},
            "it ignores imports by wildcard",
        ),
        (
            {"layers": '["a.m", "a"]', "root_packages": '["a"]'},
            "modules that are added later could be in no layer",
        ),
    ],
)
def test_why_a_contract_stays_one(options: dict[str, Any], reason: str) -> None:
    assert layered(**options) == (None, reason)


def test_an_exhaustive_contract_over_everything_is_exhaustive_layers() -> None:
    modules = {"src/ns/x/__init__.py": "ns.x", "src/ns/y/__init__.py": "ns.y"}
    options = {"layers": '["x", "y"]', "containers": '["ns"]', "root_packages": '["ns"]'}
    assert "could be in no layer" in layered(modules, **options)[1]
    found, _ = layered(modules, **options, exhaustive="true")
    assert found is not None and found.exhaustive
    assert [(x.name, x.paths, x.may_depend_on) for x in found.layers] == [
        ("y", ("src/ns/y/",), ()),
        ("x", ("src/ns/x/",), ("y",)),
    ]
    more = {**modules, "setup.py": "setup"}
    assert (
        "layers here are for the whole repository" in layered(more, **options, exhaustive="true")[1]
    )


def test_our_own_configuration() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_bytes()
    found = read_importlinter("pyproject.toml", text)
    assert found is not None and found.left == () and len(found.contracts) >= 6


# ruff: noqa: E501 - a table of set-ups and verdicts reads best with one a line


TWO = {"a/m.py": "import pk.b.x\n", "b/x.py": ""}
BROKEN = [("src/pk/a/m.py", 1)]
ROOTS = 'source_roots = ["src"]\n'
LAYERS = ROOTS + 'layers = ["top", "bottom"]\n'
CHECKING = {
    "a/m.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pk.b.x\n",
    "b/x.py": "",
}
FREE = {"a/m.py": "import pk.free\n", "free.py": "import pk.a.m\n"}


def module(path: str, **more: Any) -> str:
    """A `[[modules]]` table."""
    rows = [f"{key} = {json.dumps(value)}" for key, value in more.items()]
    return "\n".join(["[[modules]]", f"path = {path!r}", *rows]) + "\n"


def paths(files: Mapping[str, str]) -> dict[str, bytes]:
    found = {f"src/pk/{name}": text.encode() for name, text in files.items()}
    for path in list(found):
        parts = path.split("/")[:-1]
        found |= {"/".join([*parts[:n], "__init__.py"]): b"" for n in range(2, len(parts) + 1)}
    return found


def judged(config: str, files: Mapping[str, str]) -> list[tuple[str, int]]:
    """Where the translated set-up is broken; read back from its text."""
    content = paths(files)
    facts = {path: scan_python(text, path, "m") for path, text in content.items()}
    modules = module_names(sorted(content), imported_names(facts.values()))
    found = read_tach("tach.toml", config.encode(), sorted(content))
    manifest = read_manifest(MANIFEST, found.manifest_text().encode())
    return [(v.path, v.line) for v in violations(manifest, import_links(facts, modules), modules)]


CASES: list[tuple[str, Mapping[str, str], list[tuple[str, int]]]] = [
    (ROOTS + module("pk.a", depends_on=[]) + module("pk.b", depends_on=[]), TWO, BROKEN),
    (ROOTS + module("pk.a", depends_on=["pk.b"]) + module("pk.b", depends_on=[]), TWO, []),
    (ROOTS + module("pk.a") + module("pk.b", depends_on=[]), TWO, []),
    (
        LAYERS + module("pk.a", layer="bottom", depends_on=["pk.b"]) + module("pk.b", layer="top"),
        TWO,
        BROKEN,
    ),
    (LAYERS + module("pk.a", layer="top", depends_on=[]) + module("pk.b", layer="bottom"), TWO, []),
    (
        LAYERS + module("pk.a", layer="top", depends_on=[]) + module("pk.b", layer="top"),
        TWO,
        BROKEN,
    ),
    (LAYERS + module("pk.a", layer="top") + module("pk.b", layer="top"), TWO, []),
    (LAYERS + module("pk.a", layer="bottom") + module("pk.b", layer="top"), TWO, BROKEN),
    (LAYERS + module("pk.a", layer="top", depends_on=[]) + module("pk.b"), TWO, BROKEN),
    (LAYERS + module("pk.a") + module("pk.b", layer="top"), TWO, []),
    (
        LAYERS
        + module("pk.a", layer="bottom", depends_on=[])
        + module("pk.b", layer="top", utility=True),
        TWO,
        BROKEN,
    ),
    (
        LAYERS
        + module("pk.a", layer="top", cannot_depend_on=["pk.b"])
        + module("pk.b", layer="bottom"),
        TWO,
        [],
    ),
    (ROOTS + module("pk.a", cannot_depend_on=["pk.b"]) + module("pk.b", utility=True), TWO, BROKEN),
    (
        ROOTS + module("pk.a", cannot_depend_on=["pk.b"], depends_on=["pk.b"]) + module("pk.b"),
        TWO,
        BROKEN,
    ),
    (
        ROOTS + module("pk.a", depends_on=["pk"]) + module("pk.b") + module("pk", depends_on=[]),
        TWO,
        BROKEN,
    ),
    (ROOTS + module("pk.a", depends_on=["pk.*"]) + module("pk.b", depends_on=[]), TWO, []),
    (ROOTS + module("pk.a", depends_on=["pk.**"]) + module("pk.b", depends_on=[]), TWO, []),
    (
        ROOTS + module("pk.a", unchecked=True, depends_on=[]) + module("pk.b", depends_on=[]),
        TWO,
        [],
    ),
    (
        LAYERS + module("pk.a", unchecked=True, layer="bottom") + module("pk.b", layer="top"),
        TWO,
        [],
    ),
    (ROOTS + module("pk.a", depends_on=[]) + module("pk.b", unchecked=True), TWO, BROKEN),
    (ROOTS + module("pk.a", depends_on=[]) + module("pk.b", utility=True), TWO, []),
    (ROOTS + module("pk.a", depends_on=["pk.nope"]) + module("pk.b", depends_on=[]), TWO, BROKEN),
    (ROOTS + module("pk.*", depends_on=[]), TWO, BROKEN),
    (ROOTS + module("pk.*", depends_on=[]) + module("pk.a", depends_on=["pk.b"]), TWO, []),
    (ROOTS + '[[modules]]\npaths = ["pk.a", "pk.b"]\ndepends_on = []\n', TWO, BROKEN),
    (
        ROOTS
        + '[[modules]]\npath = "pk.a"\ndepends_on = [{path = "pk.b", deprecated = true}]\n'
        + module("pk.b"),
        TWO,
        [],
    ),
    (
        "layers_explicit_depends_on = true\n"
        + LAYERS
        + module("pk.a", layer="top", depends_on=[])
        + module("pk.b", layer="bottom"),
        TWO,
        BROKEN,
    ),
    (
        "layers_explicit_depends_on = true\n"
        + LAYERS
        + module("pk.a", layer="top")
        + module("pk.b", layer="bottom"),
        TWO,
        [],
    ),
    (
        "layers_explicit_depends_on = true\n"
        + LAYERS
        + module("pk.a", layer="top", depends_on=[])
        + module("pk.b", layer="bottom", utility=True),
        TWO,
        [],
    ),
    (ROOTS + module("pk.a", depends_on=[]) + module("pk.b"), CHECKING, []),
    (
        "ignore_type_checking_imports = false\n"
        + ROOTS
        + module("pk.a", depends_on=[])
        + module("pk.b"),
        CHECKING,
        [("src/pk/a/m.py", 3)],
    ),
    (ROOTS + module("pk.a", depends_on=[]), FREE, []),
    (
        'root_module = "allow"\n' + ROOTS + module("pk.a", depends_on=[]),
        FREE,
        [("src/pk/a/m.py", 1), ("src/pk/free.py", 1)],
    ),
    (
        'root_module = "allow"\n' + ROOTS + module("<root>", depends_on=["pk.a"]) + module("pk.a"),
        FREE,
        [],
    ),
    (ROOTS + module("<root>", depends_on=[]) + module("pk.a", depends_on=[]), FREE, []),
    (
        ROOTS + module("pk.a", depends_on=[]) + module("pk.a.sub", depends_on=[]),
        {"a/sub/k.py": "import pk.a.m\n", "a/m.py": ""},
        [("src/pk/a/sub/k.py", 1)],
    ),
]
"""Set-up, files, and where tach 0.35.3 finds it broken (`tests/whole` asks tach itself)."""


@pytest.mark.parametrize(("config", "files", "expected"), CASES)
def test_the_verdict_is_that_of_tach(
    config: str, files: Mapping[str, str], expected: list[tuple[str, int]]
) -> None:
    assert judged(config, files) == expected


def test_what_layers_cannot_state_is_listed() -> None:
    config = (
        'exclude = ["tests"]\nforbid_circular_dependencies = true\ninterfaces = [{expose = ["x"], from = ["pk.a"]}]\n'
        + ROOTS
        + 'layers = [{name = "top", closed = true}]\nexact = true\n'
        + module("pk.a", visibility=["pk.b"], depends_on_external=["numpy"])
        + module("pk.gone")
    )
    found = read_tach("tach.toml", config.encode(), sorted(paths(TWO)))
    assert found.left == (
        "exclude (tests): files of modules among them are checked here",
        "forbid_circular_dependencies",
        "interfaces",
        "closed layers: here a layer may be skipped",
        '"visibility" of the module "pk.a"',
        '"depends_on_external" of the module "pk.a"',
        'the module "pk.gone": it has no files here',
    )
    assert "# Not translated: interfaces\n" in found.manifest_text()


def test_a_file_that_is_no_toml() -> None:
    for text in (b"[[", b"\xff", b"a = " + b"[" * 5000):
        with pytest.raises(Problems, match=r"tach\.toml: can't be read"):
            read_tach("tach.toml", text, [])
