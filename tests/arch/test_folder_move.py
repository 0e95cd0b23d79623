"""`kl arch mv`: a moved folder has its new path in the manifest, the baseline and imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kl_hooks.arch.baseline import baseline_bytes, entries_for, read_baseline
from kl_hooks.arch.check import CheckOptions, run_check
from kl_hooks.arch.content import STAGED
from kl_hooks.arch.folder_move import FolderMove, move_folder
from kl_hooks.arch.layers import ManifestProblems
from kl_hooks.arch.manifest_parser import read_manifest
from kl_hooks.errors import UsageProblem
from kl_hooks.model.manifest import BASELINE
from tests.arch.shop import MANIFEST, opened, shop
from tests.git.repos import commit, sh, write

RULES = """\
# who may import whom
version: 1
layers:
  - name: core   # the middle
    paths: [src/shop/core/]
    may_depend_on: []
    decision: ADR-0004
  - name: web
    paths:
      - 'src/shop/web/'   # pages
      - "./src/shop/web.py"
    may_depend_on: below
    namespaces: [shop.web.*]
exceptions:
  - {from: core, to: shop.web.page, until: 2099-01-31, decision: ADR-0007}
  - {from: shop.core.order, to: web}
contracts:
  - name: shop.web is on top
    type: forbidden
    source_modules: [shop.core]
    forbidden_modules: [shop.web]
    ignore_imports: shop.core.* -> shop.web.*
  - name: order
    type: layers
    containers: [shop]
    layers: [web, (core)]
    ignore_imports: ["shop.core.late -> shop.web.news"]
"""
MOVED = (
    RULES.replace("src/shop/web", "src/shop/ui")
    .replace("./src/shop/ui.py", "./src/shop/web.py")
    .replace("-> shop.web.", "-> shop.ui.")
    .replace("[shop.web", "[shop.ui")
    .replace("shop.web.page", "shop.ui.page")
    .replace("layers: [web,", "layers: [ui,")
)
BROKEN = "def total() -> int:\n    import shop.web.news\n    return shop.web.news.total\n"
MORE = {"src/shop/web.py": "", "src/shop/web/news.py": "total = 2\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The shop with every sort of rule that names a module."""
    made = shop(tmp_path / "shop", {MANIFEST: RULES, "src/shop/core/late.py": BROKEN, **MORE})
    violations = [
        violation
        for violation in check(made).violations
        if violation.path == "src/shop/core/late.py"
    ]
    (made / BASELINE).write_bytes(baseline_bytes(entries_for(violations)))
    commit(made, "baseline")
    return made


def check(folder: Path, **options: str):  # type: ignore[no-untyped-def]
    found, _ = run_check(opened(folder), STAGED, CheckOptions(**options))
    assert found is not None
    return found


def moved(
    folder: Path, old: str = "src/shop/web", new: str = "src/shop/ui", **more: bool
) -> FolderMove:
    return move_folder(opened(folder), old, new, **{"write": True, **more})


def test_every_rule_gets_the_new_name_and_nothing_else_changes(folder: Path) -> None:
    done = moved(folder)
    assert (folder / MANIFEST).read_text() == MOVED
    (entry,) = read_baseline(BASELINE, (folder / BASELINE).read_bytes())
    assert (entry.importer, entry.imported) == ("shop.core.late", "shop.ui.news")
    assert done.counts == {"paths": 1, "names": 6, "entries": 1, "imports": 0} and done.waiting
    assert moved(folder).changes == ()


@pytest.mark.parametrize("first", ["git mv", "kl arch mv"])
@pytest.mark.share(2)
def test_a_move_and_its_rules_are_one_clean_commit(folder: Path, first: str) -> None:
    if first == "git mv":
        sh(folder, "mv", "src/shop/web", "src/shop/ui")
        # contracts name modules that are not there any more: exit 2, with the same hint
        with pytest.raises(ManifestProblems, match="kl arch mv src/shop/web src/shop/ui"):
            check(folder)
    done = moved(folder, imports=True)
    assert done.waiting == (first != "git mv") and done.left == () and done.unlayered == ()
    if first != "git mv":
        sh(folder, "mv", "src/shop/web", "src/shop/ui")
    sh(folder, "add", "-A")
    found = check(folder, trust="HEAD")
    assert (found.clean, found.emptied, found.loosened) == (True, (), ())
    assert len(found.accepted) == 1
    code = "import shop.ui.page, shop.core.late; shop.core.late.total(); print('imported')"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=folder / "src", capture_output=True, check=True
    )
    assert ran.stdout == b"imported\n"
    assert "shop.web" not in (folder / "src/shop/core/late.py").read_text()
    assert moved(folder, imports=True).changes == ()


def test_a_dry_run_writes_nothing(folder: Path) -> None:
    done = moved(folder, write=False, imports=True)
    assert len(done.changes) == 4 and sh(folder, "status", "--porcelain") == ""


def test_a_file_keeps_its_name_in_a_folder_that_is_there(folder: Path) -> None:
    done = moved(folder, "src/shop/web.py", "src/shop/core", write=False)
    assert (done.old, done.new) == ("src/shop/web.py", "src/shop/core/web.py")
    with pytest.raises(UsageProblem, match=r"^OLD and NEW are the same"):
        moved(folder, "src/shop/web.py", "src/shop/")


def test_a_single_file_and_a_folder_further_down(folder: Path) -> None:
    moved(folder, "src/shop/web.py", "src/shop/site.py")
    assert '- "src/shop/site.py"' in (folder / MANIFEST).read_text()
    write(folder, {MANIFEST: RULES})
    done = moved(folder, "src/shop/core/order.py", "src/shop/core/orders.py")
    assert "{from: shop.core.orders, to: web}" in (folder / MANIFEST).read_text()
    assert done.counts["paths"] == 0


def test_files_that_would_leave_all_layers_are_named(folder: Path) -> None:
    done = moved(folder, "src/shop/core/order.py", "src/shop/order.py")
    assert done.unlayered == ("src/shop/order.py",)
    assert any("would leave all layers" in line for line in done.lines(written=True))


def test_what_can_t_be_is_refused(folder: Path) -> None:
    for old, new, reason in (
        ("src/shop/wib", "src/shop/wab", 'Did you mean "src/shop/web"'),
        ("src/shop/web", "src/shop/web/", "are the same"),
        ("", "src", "must be in the repository"),
        ("src/shop/web.py", "src/shop/web.txt", "is a module, and src/shop/web.txt would be none"),
        ("src/shop/web.py", "src/shop/page", "is a module, and src/shop/page would be none"),
        ("src/shop/web", "src/shop/core", 'layers "core" and "web" both own'),
    ):
        with pytest.raises(UsageProblem) as problem:
            moved(folder, old, new)
        assert reason in str(problem.value)
    assert sh(folder, "status", "--porcelain") == ""


def test_names_need_quotes_where_the_old_ones_did_not(folder: Path) -> None:
    moved(folder, "src/shop/core", "src/shop/core, old")
    text = (folder / MANIFEST).read_text()
    assert 'paths: ["src/shop/core, old/"]' in text
    assert read_manifest(MANIFEST, text.encode()).layers[0].paths == ("src/shop/core, old/",)
