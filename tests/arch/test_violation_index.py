"""Violations as items that can be searched: there while they are there, with the receipt that found
them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kl_hooks.arch.check import run_check
from kl_hooks.arch.content import STAGED
from kl_hooks.arch.violation_index import OWNER
from kl_hooks.arch.violation_search import find_violations
from kl_hooks.context.signals import read_signals
from kl_hooks.evidence import ingestion
from kl_hooks.evidence.ledger import find_receipt
from kl_hooks.index.index import Hit, hits_of_owner, search
from kl_hooks.model.package import Task
from kl_hooks.workspace import Workspace
from tests.arch.shop import DRIFT, LAYERS, MANIFEST, ORDER, opened, shop
from tests.git.repos import sh, write


def nodes(ws: Workspace) -> list[Hit]:
    with ws.store.reading("graph") as db:
        return hits_of_owner(db, OWNER) if db else []


@pytest.mark.requirement("A50")
def test_found_by_its_words_with_the_receipt_that_found_it(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    write(folder, {ORDER: DRIFT})
    ws = opened(folder)
    verdict, remarks = run_check(ws)
    assert verdict is not None and remarks == []
    (hit,) = nodes(ws)
    assert (hit.id, hit.kind, hit.path, hit.line) == (
        f"violation:{verdict.violations[0].id}",
        "violation",
        ORDER,
        2,
    )
    printed, _, receipt = hit.title.partition("   receipt ")
    assert printed == "core must not import web: shop.core.order imports shop.web.page"
    with ws.store.reading("graph") as db:
        assert db is not None
        for words in (["order"], ["web"], ["violation"], [hit.id.partition(":")[2]], [receipt]):
            assert [one.id for one in search(db, words, 5, ("violation",))] == [hit.id], words
    ingestion.sync_evidence(ws)
    with ws.store.reading() as ledger:
        assert ledger is not None
        assert find_receipt(ledger, receipt).receipt.source == "arch"


@pytest.mark.requirement("A50")
def test_it_keeps_the_receipt_that_found_it_first_and_is_removed_when_fixed(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    write(folder, {ORDER: DRIFT})
    ws = opened(folder)
    run_check(ws)
    first = nodes(ws)
    run_check(ws)
    assert nodes(ws) == first
    write(folder, {"src/shop/core/price.py": "import shop.web.page\n"})
    run_check(ws)
    second = nodes(ws)
    assert first[0] in second and len(second) == 2 and len({hit.title[-64:] for hit in second}) == 2
    write(folder, {ORDER: "x = 1\n"})
    sh(folder, "add", ORDER)
    run_check(ws, STAGED)
    assert nodes(ws) == second, "what is staged says nothing about the work tree"
    run_check(ws)
    assert [hit.path for hit in nodes(ws)] == ["src/shop/core/price.py"]


def test_nothing_is_written_where_nothing_changed(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    ws = opened(folder)
    run_check(ws)
    for text in ("x = 1\n", DRIFT):
        write(folder, {ORDER: text})
        run_check(ws)
        before = ws.state.graph.read_bytes()
        run_check(ws)
        assert ws.state.graph.read_bytes() == before


def test_accepted_ones_are_found_too(tmp_path: Path) -> None:
    from kl_hooks.arch.baseline import baseline_bytes, entries_for
    from kl_hooks.model.manifest import BASELINE

    folder = shop(tmp_path / "shop")
    write(folder, {ORDER: DRIFT})
    verdict, _ = run_check(opened(folder))
    assert verdict is not None
    (folder / BASELINE).write_bytes(baseline_bytes(entries_for(verdict.violations)))
    run_check(opened(folder))
    (hit,) = nodes(opened(folder))
    assert "(accepted in baseline)" in hit.title


def test_names_that_no_database_holds_are_omitted(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    (folder / "src/shop/core/odd\udcff.py").write_text("import shop.web.page\n")
    write(folder, {ORDER: DRIFT})
    verdict, remarks = run_check(opened(folder))
    assert verdict is not None and len(verdict.violations) == 2
    assert not any("searched" in remark for remark in remarks)
    assert [hit.path for hit in nodes(opened(folder))] == [ORDER]


def test_trouble_with_the_store_is_a_remark(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    write(folder, {ORDER: DRIFT})
    ws = opened(folder)
    ws.state.graph.parent.mkdir(parents=True)
    ws.state.graph.mkdir()
    verdict, remarks = run_check(ws)
    assert verdict is not None and len(verdict.violations) == 1
    assert any(remark.startswith("violations can't be searched: ") for remark in remarks)


HELPER = "src/shop/helper.py"
INDIRECT = {
    "src/shop/core/late.py": "from shop.helper import total\n",
    HELPER: "from shop.web.page import total\n",
}


def offered(ws: Workspace, words: str) -> list[str]:
    return [
        line
        for candidate in find_violations(ws, Task(words, read_signals(words)), 9)
        for line in candidate.text.splitlines()
        if "must not import" in line
    ]


@pytest.mark.parametrize("indirect", ["ignore", "forbid"])
def test_an_import_through_other_files_is_offered_to_tasks_in_all_of_them(
    tmp_path: Path, indirect: str
) -> None:
    folder = shop(tmp_path / "shop", {MANIFEST: f"{LAYERS}indirect: {indirect}\n", **INDIRECT})
    ws = opened(folder)
    run_check(ws)
    line = (
        "src/shop/core/late.py:1 core must not import web: shop.core.late imports shop.web.page"
        f" through {HELPER}:1"
    )
    assert offered(ws, "change src/shop/core/late.py") == [line]
    assert offered(ws, f"change {HELPER}") == [line]
    assert offered(ws, "change tests/test_order.py") == []
    # any step that is not there any more ends it
    write(folder, {HELPER: "total = 1\n"})
    assert offered(opened(folder), f"change {HELPER}") == []
