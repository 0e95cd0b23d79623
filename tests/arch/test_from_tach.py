"""A set-up of tach as layers: for each rule of tach the verdict that tach 0.35.3 itself gave on the same files."""

# ruff: noqa: E501 - a table of set-ups and verdicts reads best with one a line

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from kl_hooks.arch.check import violations
from kl_hooks.arch.foreign.imported import imported_text
from kl_hooks.arch.foreign.tach import read_tach
from kl_hooks.arch.manifest import read_manifest
from kl_hooks.code.imports import import_links
from kl_hooks.code.modules import imported_names, module_names
from kl_hooks.code.scan import scan_python
from kl_hooks.config.problems import Problems
from kl_hooks.model.manifest import MANIFEST

TWO = {"a/m.py": "import pk.b.x\n", "b/x.py": ""}
BROKEN = [("src/pk/a/m.py", 1)]
ROOTS = 'source_roots = ["src"]\n'
LAYERS = ROOTS + 'layers = ["top", "bottom"]\n'
CHECKING = {"a/m.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pk.b.x\n", "b/x.py": ""}
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
    modules = module_names(sorted(content), imported_names(facts))
    found = read_tach("tach.toml", config.encode(), sorted(content))
    manifest = read_manifest(MANIFEST, imported_text(found).encode())
    return [(v.path, v.line) for v in violations(manifest, import_links(facts, modules), modules)]


CASES: list[tuple[str, Mapping[str, str], list[tuple[str, int]]]] = [
    (ROOTS + module("pk.a", depends_on=[]) + module("pk.b", depends_on=[]), TWO, BROKEN),
    (ROOTS + module("pk.a", depends_on=["pk.b"]) + module("pk.b", depends_on=[]), TWO, []),
    (ROOTS + module("pk.a") + module("pk.b", depends_on=[]), TWO, []),
    (LAYERS + module("pk.a", layer="bottom", depends_on=["pk.b"]) + module("pk.b", layer="top"), TWO, BROKEN),
    (LAYERS + module("pk.a", layer="top", depends_on=[]) + module("pk.b", layer="bottom"), TWO, []),
    (LAYERS + module("pk.a", layer="top", depends_on=[]) + module("pk.b", layer="top"), TWO, BROKEN),
    (LAYERS + module("pk.a", layer="top") + module("pk.b", layer="top"), TWO, []),
    (LAYERS + module("pk.a", layer="bottom") + module("pk.b", layer="top"), TWO, BROKEN),
    (LAYERS + module("pk.a", layer="top", depends_on=[]) + module("pk.b"), TWO, BROKEN),
    (LAYERS + module("pk.a") + module("pk.b", layer="top"), TWO, []),
    (LAYERS + module("pk.a", layer="bottom", depends_on=[]) + module("pk.b", layer="top", utility=True), TWO, BROKEN),
    (LAYERS + module("pk.a", layer="top", cannot_depend_on=["pk.b"]) + module("pk.b", layer="bottom"), TWO, []),
    (ROOTS + module("pk.a", cannot_depend_on=["pk.b"]) + module("pk.b", utility=True), TWO, BROKEN),
    (ROOTS + module("pk.a", cannot_depend_on=["pk.b"], depends_on=["pk.b"]) + module("pk.b"), TWO, BROKEN),
    (ROOTS + module("pk.a", depends_on=["pk"]) + module("pk.b") + module("pk", depends_on=[]), TWO, BROKEN),
    (ROOTS + module("pk.a", depends_on=["pk.*"]) + module("pk.b", depends_on=[]), TWO, []),
    (ROOTS + module("pk.a", depends_on=["pk.**"]) + module("pk.b", depends_on=[]), TWO, []),
    (ROOTS + module("pk.a", unchecked=True, depends_on=[]) + module("pk.b", depends_on=[]), TWO, []),
    (LAYERS + module("pk.a", unchecked=True, layer="bottom") + module("pk.b", layer="top"), TWO, []),
    (ROOTS + module("pk.a", depends_on=[]) + module("pk.b", unchecked=True), TWO, BROKEN),
    (ROOTS + module("pk.a", depends_on=[]) + module("pk.b", utility=True), TWO, []),
    (ROOTS + module("pk.a", depends_on=["pk.nope"]) + module("pk.b", depends_on=[]), TWO, BROKEN),
    (ROOTS + module("pk.*", depends_on=[]), TWO, BROKEN),
    (ROOTS + module("pk.*", depends_on=[]) + module("pk.a", depends_on=["pk.b"]), TWO, []),
    (ROOTS + '[[modules]]\npaths = ["pk.a", "pk.b"]\ndepends_on = []\n', TWO, BROKEN),
    (ROOTS + '[[modules]]\npath = "pk.a"\ndepends_on = [{path = "pk.b", deprecated = true}]\n' + module("pk.b"), TWO, []),
    ("layers_explicit_depends_on = true\n" + LAYERS + module("pk.a", layer="top", depends_on=[]) + module("pk.b", layer="bottom"), TWO, BROKEN),
    ("layers_explicit_depends_on = true\n" + LAYERS + module("pk.a", layer="top") + module("pk.b", layer="bottom"), TWO, []),
    ("layers_explicit_depends_on = true\n" + LAYERS + module("pk.a", layer="top", depends_on=[]) + module("pk.b", layer="bottom", utility=True), TWO, []),
    (ROOTS + module("pk.a", depends_on=[]) + module("pk.b"), CHECKING, []),
    ("ignore_type_checking_imports = false\n" + ROOTS + module("pk.a", depends_on=[]) + module("pk.b"), CHECKING, [("src/pk/a/m.py", 3)]),
    (ROOTS + module("pk.a", depends_on=[]), FREE, []),
    ('root_module = "allow"\n' + ROOTS + module("pk.a", depends_on=[]), FREE, [("src/pk/a/m.py", 1), ("src/pk/free.py", 1)]),
    ('root_module = "allow"\n' + ROOTS + module("<root>", depends_on=["pk.a"]) + module("pk.a"), FREE, []),
    (ROOTS + module("<root>", depends_on=[]) + module("pk.a", depends_on=[]), FREE, []),
    (ROOTS + module("pk.a", depends_on=[]) + module("pk.a.sub", depends_on=[]), {"a/sub/k.py": "import pk.a.m\n", "a/m.py": ""}, [("src/pk/a/sub/k.py", 1)]),
]  # fmt: skip
"""Set-up, files, and where tach 0.35.3 finds it broken (`tests/whole` asks tach itself)."""


@pytest.mark.parametrize(("config", "files", "expected"), CASES)
def test_the_verdict_is_that_of_tach(config: str, files: Mapping[str, str], expected: list[tuple[str, int]]) -> None:
    assert judged(config, files) == expected


def test_what_layers_cannot_say_is_listed() -> None:
    config = (
        'exclude = ["tests"]\nforbid_circular_dependencies = true\ninterfaces = [{expose = ["x"], from = ["pk.a"]}]\n'
        + ROOTS + 'layers = [{name = "top", closed = true}]\nexact = true\n'
        + module("pk.a", visibility=["pk.b"], depends_on_external=["numpy"]) + module("pk.gone")
    )  # fmt: skip
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
    assert "# Not translated: interfaces\n" in imported_text(found)


def test_a_file_that_is_no_toml() -> None:
    for text in (b"[[", b"\xff", b"a = " + b"[" * 5000):
        with pytest.raises(Problems, match=r"tach\.toml: can't be read"):
            read_tach("tach.toml", text, [])
