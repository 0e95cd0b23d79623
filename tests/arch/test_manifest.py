"""The manifest: both key styles, every mistake at once with its place, and its compiled form."""

# ruff: noqa: E501 - a table of texts and messages reads best with one pair a line

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kl_hooks.arch.kept import from_plain, load_manifest, plain
from kl_hooks.arch.manifest import MANIFEST, ManifestProblems, read_manifest
from kl_hooks.model.manifest import Allowance, Layer, Manifest

GOOD = """\
version: 1
layers:
  - name: core
    paths: [src/shop/core/]
    may_depend_on: []
  - name: infra
    paths: [src/shop/infra, ./src/shop/db.py]
    may_depend_on: [core]
    decision: ADR-0004
  - name: cli
    paths: [src/shop/cli/]
    may_depend_on: below
type_checking_imports: enforce
exhaustive: true
exceptions:
  - {from: shop.core.order, to: shop.cli.options, until: 2027-01-31, decision: ADR-0012}
contracts: []
"""


def said(text: str) -> list[str]:
    with pytest.raises(ManifestProblems) as caught:
        read_manifest("architecture.yaml", text.encode())
    assert caught.value.exit_code == 2
    return [str(problem) for problem in caught.value.problems]


def test_the_example_of_the_design() -> None:
    assert read_manifest(MANIFEST, GOOD.encode()) == Manifest(
        MANIFEST,
        (
            Layer("core", ("src/shop/core/",), (), 5),
            Layer("infra", ("src/shop/infra", "src/shop/db.py"), ("core",), 8, "ADR-0004"),
            Layer("cli", ("src/shop/cli/",), ("core", "infra"), 12),
        ),
        "enforce",
        True,
        (Allowance("shop.core.order", "shop.cli.options", "2027-01-31", "ADR-0012", 16),),
    )


def test_pascal_case_keys_say_the_same() -> None:
    text = GOOD
    for small, pascal in (
        ("version", "Version"), ("layers", "Layers"), ("name", "Name"), ("paths", "Paths"), ("decision", "Decision"),
        ("may_depend_on", "MayDependOn"), ("type_checking_imports", "TypeCheckingImports"),
        ("exhaustive", "Exhaustive"), ("exceptions", "Exceptions"), ("from", "From"), ("until", "Until"),
        ("contracts", "Contracts"),
    ):  # fmt: skip
        text = text.replace(f"{small}:", f"{pascal}:")
    assert read_manifest(MANIFEST, text.encode()) == read_manifest(MANIFEST, GOOD.encode())


def test_the_errors_that_users_were_promised() -> None:
    text = """\
layers:
  - name: api
    paths: [src/api/]
  - name: domain
    paths: [src/domain/]
    may_depend_on: [infar]
    may_depends_on: []
  - name: infra
    paths: [src/infra/]
  - name: api
    paths: [src/web/]
"""
    assert said(text) == [
        'architecture.yaml:6:21: layer "domain" may depend on "infar", which is not a layer. '
        'Layers: api, domain, infra. Did you mean "infra"?',
        'architecture.yaml:7:5: unknown key "may_depends_on" in layer "domain". Did you mean "may_depend_on"?',
        'architecture.yaml:10:11: layer "api" is defined twice (first at line 2).',
    ]
    assert said("layers:\n  - name: a\n\tpaths: [x]\n") == ["architecture.yaml:3:1: found a tab; YAML needs spaces."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "architecture.yaml: is empty. Propose layers with: kl init"),
        ("# only this\n", "architecture.yaml: is empty. Propose layers with: kl init"),
        ("version: 1\n", 'architecture.yaml:1:1: the key "layers" is missing. Propose layers with: kl init'),
        ("layers: []\n", 'architecture.yaml:1:9: "layers" is empty. Propose layers with: kl init'),
        ("version: 2\nlayers: [{name: a, paths: [x]}]", 'architecture.yaml:1:10: "version" must be one of: 1.'),
        ("layers: [{paths: [x]}]", 'architecture.yaml:1:10: a layer without "name".'),
        ("layers: [{name: a}]", 'architecture.yaml:1:17: layer "a" has no "paths". Give the folders it owns.'),
        ("layers: [a]", "architecture.yaml:1:10: expected keys and values in a layer, found text."),
        ("layers: [{name: a, paths: []}]", 'architecture.yaml:1:27: "paths" of layer "a" names no folder. Give the folders it owns.'),
        ("layers: [{name: a, paths: [../x]}]", 'architecture.yaml:1:28: path "../x" of layer "a" leads out of the repository (..).'),
        ("layers: [{name: a, paths: [/x]}]", 'architecture.yaml:1:28: path "/x" of layer "a" is absolute; write it from the top of the repository.'),
        ("layers: [{name: a, paths: ['s/*']}]", 'architecture.yaml:1:28: path "s/*" of layer "a" is a pattern; name the folder itself.'),
        ("layers: [{name: a, paths: ['s\\x']}]", 'architecture.yaml:1:28: path "s\\x" of layer "a" has a backslash; write it with /.'),
        ("layers: [{name: a b, paths: [x]}]", 'architecture.yaml:1:17: "a b" can\'t be the name of a layer (no spaces, no commas, not "below").'),
        ("layers: [{name: a, paths: [x]}, {name: b, paths: [x/]}]", 'architecture.yaml:1:51: layers "a" and "b" both own x/. Give it to one of them; a longer path wins over a shorter one.'),
        ("layers: [{name: a, paths: [x], may_depend_on: belo}]", 'architecture.yaml:1:47: "may_depend_on" of layer "a" must be a list of layers, or below. Did you mean "below"?'),
        ("layers: [{name: a, paths: [x], may_depend_on: a}]", 'architecture.yaml:1:47: "may_depend_on" of layer "a" must be a list of layers, or below. Write [a].'),
        ("layers: [{name: a, paths: [x]}]\nexceptions: [{from: a, to: b, until: 2027-02-30}]", 'architecture.yaml:2:38: "until" is "2027-02-30", not a day. Write it as YYYY-MM-DD.'),
        ("layers: [{name: a, paths: [x]}]\nexceptions: [{from: a}]", 'architecture.yaml:2:14: an exception without "to". It needs from and to: modules or layers.'),
        ("layers: [{name: a, paths: [x]}]\ncontracts: [{name: c}]", "architecture.yaml:2:13: contracts of import-linter are not supported by this version of kl, so they can't be checked here. Take them out and keep running lint-imports for them."),
    ],
)  # fmt: skip
def test_each_mistake_has_its_message(text: str, expected: str) -> None:
    assert said(text) == [expected]


def test_what_may_depend_on_is_left_out_nothing_is_allowed() -> None:
    (layer,) = read_manifest(MANIFEST, b"layers:\n- name: a\n  paths: [x]\n").layers
    assert layer.may_depend_on == () and layer.line == 2


@given(
    st.binary(max_size=200) | st.text(st.sampled_from("layersnmpthod_:-[]{}, \nab'\"1./"), max_size=120).map(str.encode)
)
@settings(max_examples=400, deadline=None)
def test_any_bytes_are_a_manifest_or_our_problem(text: bytes) -> None:
    try:
        manifest = read_manifest(MANIFEST, text)
    except ManifestProblems as wrong:
        assert wrong.problems and str(wrong)
    else:
        assert from_plain(MANIFEST, json.loads(json.dumps(plain(manifest)))) == manifest


def test_the_compiled_form_comes_back_whole(tmp_path: Path) -> None:
    manifest = read_manifest(MANIFEST, GOOD.encode())
    for _ in range(2):
        assert load_manifest(tmp_path / "cache", MANIFEST, GOOD.encode()) == manifest


@pytest.mark.parametrize(
    "change", [{"layers": 1}, {"layers": [[1]]}, {"exhaustive": 1}, {"type_checking_imports": "no"}]
)
def test_a_compiled_form_that_is_not_ours_is_not_used(tmp_path: Path, change: dict[str, object]) -> None:
    manifest = load_manifest(tmp_path / "cache", MANIFEST, GOOD.encode())
    (entry,) = (tmp_path / "cache" / "compiled").iterdir()
    held = json.loads(entry.read_text())
    held["plain"].update(change)
    entry.write_text(json.dumps(held))
    assert load_manifest(tmp_path / "cache", MANIFEST, GOOD.encode()) == manifest
