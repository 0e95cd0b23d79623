"""`--changed`: the whole of B is judged, what is in changed files is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from kl_hooks.arch.baseline import baseline_bytes
from kl_hooks.arch.check import run_check
from kl_hooks.arch.content import WORKTREE, changed_range
from kl_hooks.errors import UsageProblem
from kl_hooks.model.manifest import BASELINE
from tests.arch.shop import DRIFT, LAYERS, MANIFEST, ORDER, opened, shop
from tests.git.repos import commit, sh, write

PRICE = "src/shop/core/price.py"
BAD = "import shop.web.page\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """`main` with old drift, one commit further than where `topic`, which adds drift of its own,
    parted from it.
    """
    made = shop(tmp_path / "shop", {ORDER: DRIFT})
    sh(made, "checkout", "-q", "-b", "topic")
    write(made, {PRICE: BAD})
    commit(made, "topic")
    sh(made, "checkout", "-q", "main")
    write(made, {"src/shop/core/late.py": BAD})
    commit(made, "late")
    sh(made, "checkout", "-q", "topic")
    return made


def reported(folder: Path, text: str) -> tuple[list[str], int]:
    ws = opened(folder)
    asked = changed_range(ws, text)
    verdict, _ = run_check(ws, asked.source)
    assert verdict is not None
    stored, others = verdict.in_files(asked.paths)
    return [one.path for one in stored.violations], others


def test_what_the_topic_changed_since_it_parted(folder: Path) -> None:
    for text in ("main...topic", "main...", "main...HEAD"):
        assert reported(folder, text) == ([PRICE], 1)
        assert changed_range(opened(folder), text).paths == {PRICE}
    assert changed_range(opened(folder), "main..topic").paths == {PRICE, "src/shop/core/late.py"}
    assert changed_range(opened(folder), "topic...main").paths == {"src/shop/core/late.py"}
    assert reported(folder, "HEAD...HEAD") == ([], 2)


def test_a_revision_alone_is_up_to_the_files_on_disk(folder: Path) -> None:
    write(folder, {"src/shop/core/new.py": BAD})
    asked = changed_range(opened(folder), "main")
    assert (asked.source, asked.paths) == (WORKTREE, {PRICE, "src/shop/core/new.py"})
    assert reported(folder, "main") == (["src/shop/core/new.py", PRICE], 1)
    assert reported(folder, "main...topic") == ([PRICE], 1)


def test_both_names_of_a_rename_and_what_was_removed(folder: Path) -> None:
    sh(folder, "mv", PRICE, "src/shop/core/prices.py")
    sh(folder, "rm", "-q", "src/shop/web/page.py")
    commit(folder, "moved")
    assert changed_range(opened(folder), "HEAD~1..HEAD").paths == {
        PRICE,
        "src/shop/core/prices.py",
        "src/shop/web/page.py",
    }


def test_changed_rules_are_reported_everywhere(folder: Path) -> None:
    write(folder, {MANIFEST: LAYERS + "exhaustive: false\n"})
    commit(folder, "rules")
    assert reported(folder, "HEAD~1...HEAD") == ([ORDER, PRICE], 0)
    write(folder, {BASELINE: baseline_bytes([]).decode()})
    commit(folder, "baseline")
    assert reported(folder, "HEAD~1...HEAD") == ([ORDER, PRICE], 0)


def test_problems_and_accepted_ones_are_narrowed_too(folder: Path) -> None:
    write(folder, {PRICE: "def f(:\n"})
    commit(folder, "broken")
    ws = opened(folder)
    verdict, _ = run_check(ws, "HEAD")
    assert verdict is not None and len(verdict.problems) == 1
    assert not verdict.in_files(changed_range(ws, "main...HEAD").paths)[0].clean
    stored, others = verdict.in_files(changed_range(ws, "HEAD...HEAD").paths)
    assert stored.clean and others == 2


@pytest.mark.parametrize(
    "text",
    ["nowhere", "nowhere...HEAD", "HEAD...nowhere", "--all...HEAD", "a..b..c", "HEAD....HEAD"],
)
def test_bad_revisions_are_usage_errors(folder: Path, text: str) -> None:
    with pytest.raises(UsageProblem, match="is not a commit"):
        changed_range(opened(folder), text)


def test_histories_without_a_common_commit(folder: Path) -> None:
    sh(folder, "checkout", "-q", "--orphan", "alone")
    commit(folder, "alone")
    with pytest.raises(UsageProblem, match="no commit in common") as refused:
        changed_range(opened(folder), "main...alone")
    assert "A..B" in refused.value.hint
    assert changed_range(opened(folder), "main..alone").paths == {"src/shop/core/late.py", PRICE}
