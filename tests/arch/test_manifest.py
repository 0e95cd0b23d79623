"""The manifest: both key styles, every mistake at once with its place, and its compiled form."""

# ruff: noqa: E501 - a table of texts and messages reads best with one pair a line

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.arch.layers import ManifestProblems
from kl_hooks.arch.manifest import load_manifest, manifest_from_dict, manifest_to_dict
from kl_hooks.arch.manifest_parser import read_manifest
from kl_hooks.model.manifest import MANIFEST, Allowance, Layer, Manifest

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


def printed(text: str) -> list[str]:
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


def test_pascal_case_keys_state_the_same() -> None:
    text = GOOD
    for small, pascal in (
        ("version", "Version"),
        ("layers", "Layers"),
        ("name", "Name"),
        ("paths", "Paths"),
        ("decision", "Decision"),
        ("may_depend_on", "MayDependOn"),
        ("type_checking_imports", "TypeCheckingImports"),
        ("exhaustive", "Exhaustive"),
        ("exceptions", "Exceptions"),
        ("from", "From"),
        ("until", "Until"),
        ("contracts", "Contracts"),
    ):
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
    assert printed(text) == [
        'architecture.yaml:6:21: layer "domain" may depend on "infar", which is not a layer. '
        'Layers: api, domain, infra. Did you mean "infra"?',
        'architecture.yaml:7:5: unknown key "may_depends_on" in layer "domain". Did you mean "may_depend_on"?',
        'architecture.yaml:10:11: layer "api" is defined twice (first at line 2).',
    ]
    assert printed("layers:\n  - name: a\n\tpaths: [x]\n") == [
        "architecture.yaml:3:1: found a tab; YAML needs spaces."
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "architecture.yaml: is empty. Delete this file and propose layers with: kl init"),
        (
            "# only this\n",
            "architecture.yaml: is empty. Delete this file and propose layers with: kl init",
        ),
        (
            "version: 1\n",
            'architecture.yaml:1:1: the key "layers" is missing. Add it, or delete this file and propose layers with: kl init',
        ),
        (
            "layers: []\n",
            'architecture.yaml:1:9: "layers" is empty. List some, or delete this file and propose layers with: kl init',
        ),
        (
            "layrs: [{name: a, paths: [x]}]",
            'architecture.yaml:1:1: unknown key "layrs". Did you mean "layers"?',
        ),
        (
            "version: 2\nlayers: [{name: a, paths: [x]}]",
            'architecture.yaml:1:10: "version" must be one of: 1.',
        ),
        ("layers: [{paths: [x]}]", 'architecture.yaml:1:10: a layer without "name".'),
        (
            "layers: [{name: a}]",
            'architecture.yaml:1:17: layer "a" has no "paths". Give the folders it owns.',
        ),
        ("layers: [a]", "architecture.yaml:1:10: expected keys and values in a layer, found text."),
        (
            "layers: [{name: a, paths: []}]",
            'architecture.yaml:1:27: "paths" of layer "a" names no folder. Give the folders it owns.',
        ),
        (
            "layers: [{name: a, paths: [../x]}]",
            'architecture.yaml:1:28: path "../x" of layer "a" leads out of the repository (..).',
        ),
        (
            "layers: [{name: a, paths: [/x]}]",
            'architecture.yaml:1:28: path "/x" of layer "a" is absolute; write it from the top of the repository.',
        ),
        (
            "layers: [{name: a, paths: ['s/*']}]",
            'architecture.yaml:1:28: path "s/*" of layer "a" is a pattern; name the folder itself.',
        ),
        (
            "layers: [{name: a, paths: ['s\\x']}]",
            'architecture.yaml:1:28: path "s\\x" of layer "a" has a backslash; write it with /.',
        ),
        (
            "layers: [{name: a b, paths: [x]}]",
            'architecture.yaml:1:17: "a b" can\'t be the name of a layer (no spaces, no commas, not "below").',
        ),
        (
            "layers: [{name: a, paths: [x]}, {name: b, paths: [x/]}]",
            'architecture.yaml:1:51: layers "a" and "b" both own x/. Give it to one of them; a longer path wins over a shorter one.',
        ),
        (
            "layers: [{name: a, paths: [x], may_depend_on: belo}]",
            'architecture.yaml:1:47: "may_depend_on" of layer "a" must be a list of layers, or below. Did you mean "below"?',
        ),
        (
            "layers: [{name: a, paths: [x], may_depend_on: a}]",
            'architecture.yaml:1:47: "may_depend_on" of layer "a" must be a list of layers, or below. Write [a].',
        ),
        (
            "layers: [{name: a, paths: [x]}]\nexceptions: [{from: a, to: b, until: 2027-02-30}]",
            'architecture.yaml:2:38: "until" is "2027-02-30", not a day. Write it as YYYY-MM-DD.',
        ),
        (
            "layers: [{name: a, paths: [x]}]\nexceptions: [{from: a}]",
            'architecture.yaml:2:14: an exception without "to". It needs from and to: modules or layers.',
        ),
        (
            "layers: [{name: a, paths: [x, x/]}]",
            'architecture.yaml:1:31: layer "a" names x/ twice. Take one out.',
        ),
        (
            'layers: [{name: a, paths: ["x\\0"]}]',
            'architecture.yaml:1:28: path "x\0" of layer "a" has a sign that can\'t be printed.',
        ),
        (
            'layers: [{name: "a\\e[1m", paths: [x]}]',
            'architecture.yaml:1:17: "a\x1b[1m" can\'t be the name of a layer (no spaces, no commas, not "below").',
        ),
        (
            "layers: [{name: below, paths: [x]}]",
            'architecture.yaml:1:17: "below" can\'t be the name of a layer (no spaces, no commas, not "below").',
        ),
        (
            "layers: [{name: a, paths: ['']}]",
            'architecture.yaml:1:28: each of "paths" of layer "a" must be text, not empty.',
        ),
        (
            "layers: [{name: a, paths: x}]",
            'architecture.yaml:1:27: "paths" of layer "a" must be a list, not text. Write [] for none.',
        ),
        (
            "layers: [{name: a, paths: [~/x]}]",
            'architecture.yaml:1:28: path "~/x" of layer "a" is absolute; write it from the top of the repository.',
        ),
        (
            "layers: {a: b}",
            'architecture.yaml:1:9: "layers" must be a list, not a map. Write [] for none.',
        ),
        (
            "layers:",
            'architecture.yaml:1:8: "layers" must be a list, but is empty. Write [] for none.',
        ),
        (
            "layers: [{name: a, paths: [x], may_depend_on: }]",
            'architecture.yaml:1:46: "may_depend_on" of layer "a" must be a list, but is empty. Write [] for none.',
        ),
        ("[]", "architecture.yaml:1:1: expected keys and values, found a list."),
        ("text", "architecture.yaml:1:1: expected keys and values, found text."),
        (
            "layers: [{name: a, paths: [x]}]\n---\nb: 1\n",
            "architecture.yaml:2:1: a second document starts here; a file holds one. Take the `---` out.",
        ),
        (
            "layers: [{name: a, name: b, paths: [x]}]",
            'architecture.yaml:1:20: "name" is given twice (first at line 1).',
        ),
        (
            "layers:\n- {name: a, paths: [x], Paths: [y]}",
            'architecture.yaml:2:25: "Paths" is given twice in layer "a" (first at line 2, as "paths").',
        ),
        (
            "layers: [{name: a, paths: [x]}]\nLayers: []",
            'architecture.yaml:2:1: "Layers" is given twice (first at line 1, as "layers").',
        ),
        (
            "layers: [{name: a, paths: &p [x]}]\nexceptions: *p\n",
            "architecture.yaml:1:27: the anchor `&p` is not allowed here. Write the value out.\narchitecture.yaml:2:13: the alias `*p` is not allowed here. Write the value out.",
        ),
        (
            "layers: !!python/name:os.system [{name: a, paths: [x]}]",
            "architecture.yaml:1:9: the tag `tag:yaml.org,2002:python/name:os.system` is not allowed here. Write the value out.",
        ),
        (
            "<<: {a: b}\nlayers: [{name: a, paths: [x]}]",
            "architecture.yaml:1:1: the merge key `<<` is not allowed here. Write the values out.",
        ),
        ("a: " + "[" * 60 + "]" * 60, "architecture.yaml:1:53: nested deeper than 50 levels."),
        (
            "layers: [" + "a," * 10_001 + "]",
            "architecture.yaml:1:20004: more than 10000 values; this file is too large.",
        ),
        ("a\0b", "architecture.yaml:1:2: the character U+0000 is not allowed in YAML."),
        (
            "layers: [{name: a, paths: [x]}]\nexhaustive: maybe",
            'architecture.yaml:2:13: "exhaustive" must be true or false.',
        ),
        (
            "layers: [{name: a, paths: [x]}]\ntype_checking_imports: no",
            'architecture.yaml:2:24: "type_checking_imports" must be one of: ignore, enforce.',
        ),
        (
            "layers: [{name: a, paths: [x]}]\nexceptions: {a: b}",
            'architecture.yaml:2:13: "exceptions" must be a list, not a map. Write [] for none.',
        ),
        (
            "layers: [{name: a, paths: [x]}]\nContractTypes: [m.C]",
            'architecture.yaml:2:1: "contract_types" is not allowed: such contracts are code of the checkout, and none of it is run here. Built-in types: forbidden, layers, independence, protected, acyclic_siblings. Run lint-imports for others.',
        ),
        (
            "contracts: [{name: c, type: forbiden}]",
            'architecture.yaml:1:29: "forbiden" is not a built-in type of import-linter in contract "c". Did you mean "forbidden"?',
        ),
        (
            "contracts: [{name: c, type: mine}]",
            'architecture.yaml:1:29: "mine" is not a built-in type of import-linter in contract "c". Built-in types: forbidden, layers, independence, protected, acyclic_siblings. Run lint-imports for others.',
        ),
        (
            "contracts: [{name: c, modules: [a]}]",
            'architecture.yaml:1:13: "type" is missing in contract "c". One of: forbidden, layers, independence, protected, acyclic_siblings.',
        ),
        (
            "contracts: [{name: c, type: independence}]",
            'architecture.yaml:1:20: contract "c" has no "modules".',
        ),
        (
            "contracts: [{type: independence, modules: [a]}]",
            'architecture.yaml:1:13: a contract without "name".',
        ),
        (
            "contracts: [{name: c, type: independence, modules: []}]",
            'architecture.yaml:1:52: "modules" in contract "c" is empty.',
        ),
        (
            "contracts: [{name: c, type: independence, modules: [a], depth: 1}]",
            'architecture.yaml:1:57: unknown key "depth" in contract "c". Known: name, type, id, decision, modules, ignore_imports, unmatched_ignore_imports_alerting, broken_contract_guidance, root_packages, include_external_packages, exclude_type_checking_imports.',
        ),
        (
            "contracts: [{name: c, type: independence, modules: [a], ContractTypes: [x]}]",
            'architecture.yaml:1:57: "contract_types" is not allowed: such contracts are code of the checkout, and none of it is run here. Built-in types: forbidden, layers, independence, protected, acyclic_siblings. Run lint-imports for others.',
        ),
        (
            "contracts:\n- {name: c, type: independence, modules: [a]}\n- {name: c, type: independence, modules: [b]}",
            'architecture.yaml:3:10: contract "c" is defined twice (first at line 2).',
        ),
        (
            "contracts: [c]",
            "architecture.yaml:1:13: expected keys and values in a contract, found text.",
        ),
        (
            "contracts: x\nlayers: [{name: a, paths: [x]}]",
            'architecture.yaml:1:12: "contracts" must be a list, not text. Write [] for none.',
        ),
        (
            "contracts: [{name: c, type: protected, protected_modules: a, allowed_importers: b, as_packages: perhaps}]",
            'architecture.yaml:1:97: "as_packages" in contract "c" must be true or false.',
        ),
        (
            "contracts: [{name: c, type: independence, modules: a, unmatched_ignore_imports_alerting: warning}]",
            'architecture.yaml:1:90: "unmatched_ignore_imports_alerting" in contract "c" must be one of: error, warn, none. Did you mean "warn"?',
        ),
        (
            "contracts: [{name: c, type: acyclic_siblings, ancestors: a, depth: -1}]",
            'architecture.yaml:1:68: "depth" in contract "c" must be a whole number from 0 to 1000.',
        ),
    ],
)
def test_each_mistake_has_its_message(text: str, expected: str) -> None:
    assert printed(text) == expected.split("\n")


def test_what_may_depend_on_is_omitted_nothing_is_allowed() -> None:
    (layer,) = read_manifest(MANIFEST, b"layers:\n- name: a\n  paths: [x]\n").layers
    assert layer.may_depend_on == () and layer.line == 2


@given(
    st.binary(max_size=200)
    | st.text(st.sampled_from("layersnmpthod_:-[]{}, \nab'\"1./"), max_size=120).map(str.encode)
)
def test_any_bytes_are_a_manifest_or_our_problem(text: bytes) -> None:
    try:
        manifest = read_manifest(MANIFEST, text)
    except ManifestProblems as wrong:
        assert wrong.problems and str(wrong)
    else:
        assert (
            manifest_from_dict(MANIFEST, json.loads(json.dumps(manifest_to_dict(manifest))))
            == manifest
        )


def test_the_compiled_form_comes_back_whole(tmp_path: Path) -> None:
    manifest = read_manifest(MANIFEST, GOOD.encode())
    for _ in range(2):
        assert load_manifest(tmp_path / "cache", MANIFEST, GOOD.encode()) == manifest


@pytest.mark.parametrize(
    "change", [{"layers": 1}, {"layers": [[1]]}, {"exhaustive": 1}, {"type_checking_imports": "no"}]
)
def test_a_compiled_form_that_is_not_ours_is_not_used(
    tmp_path: Path, change: dict[str, object]
) -> None:
    manifest = load_manifest(tmp_path / "cache", MANIFEST, GOOD.encode())
    (entry,) = (tmp_path / "cache" / "compiled").iterdir()
    locked = json.loads(entry.read_text())
    locked["plain"].update(change)
    entry.write_text(json.dumps(locked))
    assert load_manifest(tmp_path / "cache", MANIFEST, GOOD.encode()) == manifest


def test_everything_wrong_in_a_layer_without_a_name_is_reported_too() -> None:
    assert printed(
        "layers: [{name: [a], paths: [/x, ..], may_depend_on: [[b]], decision: {a: b}}]"
    )[:3] == [
        'architecture.yaml:1:17: "name" must be text, not a list.',
        'architecture.yaml:1:30: path "/x" of layer "" is absolute; write it from the top of the repository.',
        'architecture.yaml:1:34: path ".." of layer "" leads out of the repository (..).',
    ]


def test_a_layer_that_is_there_twice_is_looked_at_all_the_same() -> None:
    text = "layers:\n- {name: a, paths: [x]}\n- {name: a, paths: [/y], may_depend_on: belwo}\n"
    assert [line.partition(": ")[0] for line in printed(text)] == [
        "architecture.yaml:3:10",
        "architecture.yaml:3:21",
        "architecture.yaml:3:41",
    ]


def test_what_a_manifest_states_begins_no_line_of_a_message() -> None:
    """Lines that begin with `::` are orders to whoever runs a job on GitHub."""
    forged = '"a\\n::add-mask::x\\r\\e[31m"'
    text = f'layers:\n- {{name: {forged}, paths: [x], may_depend_on: [{forged}, {forged[:-1]}2"]}}\n{forged}: 1\n'
    with pytest.raises(ManifestProblems) as caught:
        read_manifest("architecture.yaml", text.encode())
    lines = str(caught.value).splitlines()
    assert len(lines) == len(caught.value.problems) + 1 == 4
    assert all(line.startswith("architecture.yaml:") and "\x1b" not in line for line in lines[1:])


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(
        ManifestProblems,
        match=r"architecture.yaml:1:9: this byte is not UTF-8\. Save the file as UTF-8\.",
    ):
        read_manifest("architecture.yaml", b"layers: \xff")
    with pytest.raises(
        ManifestProblems, match="300000 bytes are too many; at most 262144 are read"
    ):
        read_manifest("architecture.yaml", b" " * 300_000)


def test_a_bom_is_no_mistake_and_numbers_and_days_stay_text() -> None:
    text = b"\xef\xbb\xbflayers: [{name: 1.10, paths: [2027-01-31]}, {name: on, paths: [0x1f], may_depend_on: [1.10]}]"
    layers = read_manifest(MANIFEST, text).layers
    assert [(one.name, one.paths, one.may_depend_on) for one in layers] == [
        ("1.10", ("2027-01-31",), ()),
        ("on", ("0x1f",), ("1.10",)),
    ]


def test_contracts_need_no_layers_and_both_key_styles_state_the_same() -> None:
    small = """\
contracts:
  - name: c
    type: protected
    protected_modules: [click, rich]
    allowed_importers: a.cli
    as_packages: no
    decision: ADR-0001
    root_packages: [a]
    include_external_packages: true
"""
    (one,) = read_manifest(MANIFEST, small.encode()).contracts
    assert [(x.key, x.value, x.line) for x in one.options] == [
        ("protected_modules", ("click", "rich"), 4),
        ("allowed_importers", ("a.cli",), 5),
        ("as_packages", "False", 6),
    ]
    assert (one.name, one.type, one.line, one.decision) == ("c", "protected", 2, "ADR-0001")
    assert (
        one.root_packages,
        one.include_external_packages,
        one.exclude_type_checking_imports,
    ) == (
        ("a",),
        True,
        False,
    )
    pascal = small
    for key in (
        "contracts",
        "name",
        "type",
        "protected_modules",
        "allowed_importers",
        "as_packages",
        "decision",
        "root_packages",
        "include_external_packages",
    ):
        pascal = re.sub(
            rf"\b{key}:", "".join(word.title() for word in key.split("_")) + ":", pascal
        )
    assert read_manifest(MANIFEST, pascal.encode()) == read_manifest(MANIFEST, small.encode())
    assert manifest_from_dict(
        MANIFEST, json.loads(json.dumps(manifest_to_dict(read_manifest(MANIFEST, small.encode()))))
    ).contracts == (one,)
