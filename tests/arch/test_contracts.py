"""Contracts of import-linter on real repositories: its verdict, what is judged, and that nothing of
it is run.

Copies of the judged content: whole, private, linked where nothing changed, a few of them, nothing
outside.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.arch import contracts as contract_run
from kl_hooks.arch.check import run_check
from kl_hooks.arch.content import STAGED, WORKTREE, load_content
from kl_hooks.arch.contracts import MAX_EXPORTS, export_files, export_name
from kl_hooks.arch.formats import findings, verdict_to_dict
from kl_hooks.arch.layer_check import Verdict
from kl_hooks.arch.layers import ManifestProblems
from kl_hooks.arch.report import verdict_lines
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.git.files import FileEntry
from tests.arch.shop import DRIFT, FILES, MANIFEST, ORDER, opened, shop
from tests.git.repos import fingerprint, sh, write

LAYERED = """\
contracts:
  - name: Web over core
    type: layers
    layers: [web, core]
    containers: [shop]
    decision: ADR-0004
"""
INDIRECT = {
    "src/shop/util.py": "import shop.web.page\n",
    ORDER: "\nfrom shop import util\n\n\ndef total() -> int:\n    return 1\n",
}


def judged(folder: Path, source: str = WORKTREE) -> Verdict:
    found, _ = run_check(opened(folder), source)
    assert found is not None
    return found


def chains(found: Verdict) -> list[list[str]]:
    return [
        [f"{s.path}:{s.lines[0]} {s.importer} -> {s.imported}" for s in one.chain]
        for one in found.contracts
    ]


def test_machines_see_it_and_a_range_keeps_what_it_touches(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop", {MANIFEST: LAYERED, **INDIRECT})
    found = judged(folder)
    (one,) = findings(found)
    assert (one.rule.id, one.path, one.line) == ("contract/Web over core", ORDER, 2)
    assert (
        one.message
        == "contract broken: Web over core: shop.core.order -> shop.util -> shop.web.page"
        " (.kl/architecture.yaml:2)"
    )
    for touched, left in (("src/shop/util.py", 0), (ORDER, 0), ("src/shop/web/page.py", 1)):
        stored, others = found.in_files({touched})
        assert (others, stored.clean) == (left, bool(left))
    write(folder, {"src/shop/__init__.py": "def f(:\n"})
    stored, others = judged(folder).in_files({"elsewhere.py"})
    assert not stored.clean and others == 0, "contracts that could not be judged do not pass"


def contract(sort: str, **options: Any) -> str:
    return "contracts:\n- " + json.dumps({"name": "C", "type": sort, **options}) + "\n"


def test_a_chain_through_others_breaks_it_and_every_step_has_its_place(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop", {MANIFEST: LAYERED})
    assert judged(folder).clean and judged(folder).files == 5
    write(folder, INDIRECT)
    found = judged(folder)
    assert not found.clean and found.violations == ()
    assert chains(found) == [
        [f"{ORDER}:2 shop.core.order -> shop.util", "src/shop/util.py:1 shop.util -> shop.web.page"]
    ]
    (one,) = found.contracts
    assert (one.contract, one.importer, one.imported) == ("Web over core", "shop.core", "shop.web")
    assert (one.rule, one.decision, len(one.fingerprint)) == (f"{MANIFEST}:2", "ADR-0004", 16)
    lines = verdict_lines(found)
    assert f"  contract broken: Web over core (layers)    {MANIFEST}:2  (ADR-0004)" in lines
    assert f"    {ORDER + ':2':<34} shop.core.order -> shop.util" in lines
    assert f"    {'':<34} ^^^^ shop.core may not depend on shop.web" in lines
    assert lines[-1] == "checked 6 files, 0 layers, 1 contract from the working tree"
    value = verdict_to_dict(found)
    assert value["contracts"][0]["chain"][0]["lines"] == [2] and value["clean"] is False


def test_each_source_is_judged_by_its_own_content(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop", {MANIFEST: LAYERED})
    write(folder, {ORDER: DRIFT})
    assert (judged(folder).clean, judged(folder, STAGED).clean, judged(folder, "HEAD").clean) == (
        False,
        True,
        True,
    )
    sh(folder, "add", "-A")
    write(folder, {ORDER: "x = 1\n"})
    assert (judged(folder).clean, judged(folder, STAGED).clean, judged(folder, "HEAD").clean) == (
        True,
        False,
        True,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (
            contract("forbidden", source_modules="shop.core", forbidden_modules=["shop.web"]),
            [[f"{ORDER}:2 shop.core.order -> shop.web.page"]],
        ),
        (
            contract(
                "forbidden",
                source_modules=["shop.web"],
                forbidden_modules=["shop.core"],
                ignore_imports=["shop.web.page -> shop.core.order"],
            ),
            [],
        ),
        (
            contract("independence", modules=["shop.core", "shop.web"]),
            [
                [f"{ORDER}:2 shop.core.order -> shop.web.page"],
                ["src/shop/web/page.py:1 shop.web.page -> shop.core.order"],
            ],
        ),
        (
            contract("protected", protected_modules=["shop.web"], allowed_importers=["shop.web"]),
            [[f"{ORDER}:2 shop.core.order -> shop.web.page"]],
        ),
        (
            contract(
                "protected",
                protected_modules=["json"],
                allowed_importers=["shop.core"],
                include_external_packages=True,
            ),
            [["src/shop/web/late.py:3 shop.web.late -> json"]],
        ),
        (contract("acyclic_siblings", ancestors=["shop"], depth=0), None),
        (
            contract(
                "layers",
                layers=["web", "(gone)", "core"],
                containers=["shop"],
                exclude_type_checking_imports=True,
            ),
            [[f"{ORDER}:2 shop.core.order -> shop.web.page"]],
        ),
    ],
)
def test_every_built_in_type(
    tmp_path: Path, written: str, expected: list[list[str]] | None
) -> None:
    late = {
        "src/shop/web/late.py": "# late\n\nimport json\n",
        "src/shop/core/j.py": "import json\n",
    }
    found = judged(shop(tmp_path / "shop", {MANIFEST: written, ORDER: DRIFT, **late}))
    if expected is None:
        assert len(found.contracts) == 1 and len(chains(found)[0]) == 1
    else:
        assert chains(found) == expected


def test_an_exhaustive_contract_names_what_it_does_not_list(tmp_path: Path) -> None:
    folder = shop(
        tmp_path / "shop", {MANIFEST: LAYERED + "    exhaustive: true\n", "src/shop/new.py": ""}
    )
    (one,) = judged(folder).contracts
    assert one.message == "shop.new is not listed as a layer, and the contract is exhaustive"


def test_everything_import_linter_refuses_is_reported_at_once_with_its_line(tmp_path: Path) -> None:
    written = """\
contracts:
  - name: one
    type: layers
    layers:
      - "web | core : x"
  - name: two
    type: independence
    modules: [shop.web, shop.nowhere]
  - name: three
    type: forbidden
    source_modules: [shop.web]
    forbidden_modules: [shop.core]
    ignore_imports: [shop.web -> shop.core, shop.core -> shop.web]
"""
    folder = shop(tmp_path / "shop", {MANIFEST: written})
    with pytest.raises(ManifestProblems) as caught:
        judged(folder)
    hint = "Take it out, or set unmatched_ignore_imports_alerting."
    assert [str(one) for one in caught.value.problems] == [
        (
            f'{MANIFEST}:4:1: contract "one": "layers": '
            "Layer cannot have a mixture of independent and non-independent elements."
        ),
        f"{MANIFEST}:6:1: contract \"two\": Module 'shop.nowhere' does not exist.",
        (
            f'{MANIFEST}:9:1: contract "three": No matches for ignored import shop.core ->'
            f" shop.web. {hint}"
        ),
        (
            f'{MANIFEST}:9:1: contract "three": No matches for ignored import shop.web ->'
            f" shop.core. {hint}"
        ),
    ]


def test_a_package_that_is_not_there(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop", {MANIFEST: LAYERED + "    root_packages: [shopp]\n"})
    with pytest.raises(
        ManifestProblems, match=r'"shopp" is no package of this repository\. Packages: shop\.'
    ):
        judged(folder)


def test_unmatched_ignores_can_be_warnings(tmp_path: Path) -> None:
    more = (
        '    ignore_imports: ["shop.core -> shop.web"]\n    unmatched_ignore_imports_alerting:'
        " warn\n"
    )
    found = judged(shop(tmp_path / "shop", {MANIFEST: LAYERED + more}))
    assert found.clean
    assert [str(one) for one in found.warnings] == [
        f'{MANIFEST}:2:1: contract "Web over core": No matches for ignored import shop.core ->'
        " shop.web."
    ]


def test_a_file_that_does_not_parse_blocks_and_names_the_file(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop", {MANIFEST: LAYERED})
    write(folder, {"src/shop/web/page.py": "\ndef f(:\n"})
    found = judged(folder)
    assert [(one.path, one.line) for one in found.problems] == [("src/shop/web/page.py", 2)]


def outside_git(folder: Path) -> dict[str, Any]:
    return {path: about for path, about in fingerprint(folder).items() if "/.git" not in str(path)}


BREAKING = b"import shop.web.page\n"


def test_odd_files_that_are_judged_like_others(tmp_path: Path) -> None:
    files = {
        b"\xff.py": BREAKING,
        b"a\nb.py": b"\n" + BREAKING,
        b"a.b.py": BREAKING,
        b"Order.py": b"\n\n" + BREAKING,
        b"l.py": b"# coding: latin-1\nx = '\xe9'\n\n" + BREAKING,
        b"bom.py": b"\xef\xbb\xbf\n\n\n\n" + BREAKING,
        b"long.py": b"x = '" + b"a" * 300_000 + b"'\n",
        b"empty.py": b"",
    }
    folder = shop(tmp_path / "shop", {MANIFEST: LAYERED})
    for name, content in files.items():
        (folder / "src/shop/core" / os.fsdecode(name)).write_bytes(content)
    found = judged(folder)
    assert sorted(step.lines[0] for one in found.contracts for step in one.chain) == [2, 3, 4, 5]
    assert found.problems == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "place"),
    [(b"x = '\xe9'\n", ":1:"), (b"x = 1\0\n", ""), (b"x = " + b"(" * 5000 + b")" * 5000, ":1:")],
)
def test_a_file_that_import_linter_cannot_read_is_named(
    tmp_path: Path, content: bytes, place: str
) -> None:
    folder = shop(tmp_path / "shop", {MANIFEST: LAYERED})
    (folder / "src/shop/core/odd.py").write_bytes(content)
    (problem,) = judged(folder).problems
    assert str(problem).startswith(f"src/shop/core/odd.py{place}") and not judged(folder).warnings


def test_a_file_that_ends_the_child_is_no_verdict(tmp_path: Path) -> None:
    folder = shop(
        tmp_path / "shop",
        {MANIFEST: LAYERED, "src/shop/core/deep.py": "x = a" + ".a" * 50_000 + "\n"},
    )
    with pytest.raises(
        EnvironmentProblem,
        match=r"contracts: import-linter ended with -\d+: no message\. A generated",
    ):
        judged(folder)


def test_the_child_limits_itself() -> None:
    call = (
        "from kl_hooks.arch.contracts_process import MEMORY_BYTES, _limit; "
        "_limit(); bytearray(MEMORY_BYTES)"
    )
    done = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, check=False)
    assert "MemoryError" in done.stderr


TRAP = "import pathlib\npathlib.Path({marker!r}).write_text(__name__)\n"


def test_nothing_of_the_checkout_is_run_or_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = tmp_path / "ran"
    trap = TRAP.format(marker=str(marker))
    names = [
        "sitecustomize",
        "usercustomize",
        "importlinter",
        "grimp",
        "click",
        "rich",
        "json",
        "kl_hooks",
        "resource",
    ]
    traps = {f"{folder}{name}.py": trap for name in names for folder in ("", "src/")}
    traps |= {
        "grimp/__init__.py": trap,
        "src/importlinter/__init__.py": trap,
        "src/x.pth": f"import pathlib;{trap}",
    }
    traps |= {path: trap for path in FILES if path.endswith("__init__.py")}
    folder = shop(tmp_path / "shop", {MANIFEST: LAYERED, ORDER: DRIFT, **traps})
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), str(folder / "src")]))
    monkeypatch.setenv("PYTHONSTARTUP", str(folder / "click.py"))
    before = outside_git(folder)
    for source in (WORKTREE, STAGED, "HEAD"):
        assert chains(judged(folder, source)) == [[f"{ORDER}:2 shop.core.order -> shop.web.page"]]
    assert not marker.exists()
    assert outside_git(folder) == before
    subprocess.run([sys.executable, "-c", "import shop"], cwd=folder / "src", check=False)
    assert marker.exists(), "the trap works"


@pytest.mark.parametrize("package", ["importlinter", "grimp", "kl_hooks"])
def test_a_package_named_like_a_library_is_the_one_of_the_checkout(
    tmp_path: Path, package: str
) -> None:
    written = contract(
        "forbidden", source_modules=[f"{package}.a"], forbidden_modules=[f"{package}.b"]
    )
    files = {
        f"{package}/__init__.py": "",
        f"{package}/a.py": f"import {package}.b\n",
        f"{package}/b.py": "",
    }
    found = judged(shop(tmp_path / "shop", {MANIFEST: written, **files}))
    assert chains(found) == [[f"{package}/a.py:1 {package}.a -> {package}.b"]]


def test_a_namespace_package_in_two_places(tmp_path: Path) -> None:
    written = contract(
        "forbidden", source_modules=["ns.one"], forbidden_modules=["ns.two"], root_packages=["ns"]
    )
    files = {
        "a/src/ns/one/__init__.py": "",
        "a/src/ns/one/m.py": "from ns.two import n\n",
        "b/src/ns/two/__init__.py": "",
        "b/src/ns/two/n.py": "",
    }
    found = judged(shop(tmp_path / "shop", {MANIFEST: written, **files}))
    assert chains(found) == [["a/src/ns/one/m.py:1 ns.one.m -> ns.two.n"]]


def test_the_child_starts_only_for_contracts_and_once_for_the_same_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []
    real = contract_run._child
    monkeypatch.setattr(
        contract_run, "_child", lambda tree, request: (started.append(1), real(tree, request))[1]
    )
    folder = shop(tmp_path / "shop")
    judged(folder)
    assert started == []
    write(folder, {MANIFEST: LAYERED})
    for _ in range(2):
        assert judged(folder).clean
    sh(folder, "add", "-A")
    assert judged(folder, STAGED).clean, "the same files, so the same answer"
    assert started == [1]
    write(folder, {ORDER: DRIFT})
    assert not judged(folder).clean
    assert started == [1, 1]


def test_a_child_that_takes_too_long_or_dies_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shop(tmp_path / "shop", {MANIFEST: LAYERED})
    monkeypatch.setattr(contract_run, "TIMEOUT", 0.001)
    with pytest.raises(EnvironmentProblem, match="did not finish within"):
        judged(folder)
    monkeypatch.undo()
    monkeypatch.setattr(contract_run, "_START", "import sys; sys.exit('it broke')")
    with pytest.raises(EnvironmentProblem, match="ended with 1: it broke"):
        judged(folder)


def test_what_did_not_change_is_linked_and_old_ones_go(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    trees = []
    for number in range(MAX_EXPORTS + 2):
        write(folder, {ORDER: f"x = {number}\n"})
        seen = load_content(opened(folder))
        tree, lost = export_files(tmp_path / "cache", seen, seen.entries)
        assert lost == [] and (tree / ORDER).read_text() == f"x = {number}\n"
        assert {p.relative_to(tree).as_posix() for p in tree.rglob("*.py")} == {
            one.path for one in seen.entries
        }
        assert tree.parent.stat().st_mode & 0o077 == 0
        trees.append(tree)
    assert [tree.exists() for tree in trees] == [False, False] + [True] * MAX_EXPORTS
    assert len({(tree / "src/shop/web/page.py").stat().st_ino for tree in trees[2:]}) == 1
    assert (trees[-2] / ORDER).read_text() == f"x = {MAX_EXPORTS}\n"


def test_the_same_content_is_one_export_from_wherever_it_comes(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    places = {
        export_files(tmp_path / "cache", seen, seen.entries)[0]
        for seen in (
            load_content(opened(folder), source) for source in ("worktree", STAGED, "HEAD")
        )
    }
    assert len(places) == 1


def test_what_git_does_not_have_is_named_and_paths_that_lead_out_are_not_written(
    tmp_path: Path,
) -> None:
    seen = load_content(opened(shop(tmp_path / "shop")), STAGED)
    blob = seen.entries[0].blob
    entries = [
        FileEntry("../out.py", blob, "100644"),
        FileEntry("/abs.py", blob, "100644"),
        FileEntry("gone.py", "1" * 40, "100644"),
    ]
    tree, lost = export_files(tmp_path / "cache", replace(seen, entries=tuple(entries)), entries)
    assert lost == ["../out.py", "/abs.py", "gone.py"] and list(tree.iterdir()) == []
    assert not list(tmp_path.rglob("out.py"))
    assert export_name(entries) == export_name(entries[::-1]) != export_name(entries[1:])


def test_a_cache_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    seen = load_content(opened(shop(tmp_path / "shop")))
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(EnvironmentProblem, match="can't write a copy of the source"):
        export_files(tmp_path / "cache", seen, seen.entries)
