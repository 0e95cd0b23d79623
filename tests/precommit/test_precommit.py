"""Real pre-commit, its environment built from this very source: what it blocks, lets pass, and
leaves behind.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.git.repository import Repository
from tests.git.repos import CLEAN, commit, make, sh, write
from tests.support import run_in_process

pytestmark = [pytest.mark.net, pytest.mark.slow]

HERE = Path(__file__).parents[2]
PARTS = (
    "pyproject.toml",
    "README.md",
    "LICENSE",
    ".pre-commit-hooks.yaml",
    "kl_hooks",
    "pytest_kl",
    "hooks",
    "templates",
)
LAYERS = """\
version: 1
layers:
  - {name: core, paths: [shop/core/], may_depend_on: []}
  - {name: cli, paths: [shop/cli/], may_depend_on: below}
"""
CONFIG = """\
default_install_hook_types: [pre-commit, pre-merge-commit, post-commit, pre-push]
repos:
- repo: SOURCE
  rev: REV
  hooks:
  - id: kl-check
  - id: kl-check-push
  - id: kl-record-commit
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This source as it is on disk, as a repository of pre-commit hooks."""
    top = tmp_path_factory.mktemp("kl")
    for part in PARTS:
        if (HERE / part).is_dir():
            shutil.copytree(HERE / part, top / part, ignore=shutil.ignore_patterns("__pycache__"))
        elif (HERE / part).exists():
            shutil.copy(HERE / part, top / part)
    make(top)
    commit(top, "as on disk")
    return top


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return CLEAN | {
        "PRE_COMMIT_HOME": str(tmp_path_factory.mktemp("pre-commit")),
        "PRE_COMMIT_COLOR": "never",
    }


def pre_commit(folder: Path, env: dict[str, str], *args: str) -> subprocess.CompletedProcess[str]:
    tool = str(Path(sys.executable).parent / "pre-commit")
    return subprocess.run(
        [tool, *args], cwd=folder, env=env, capture_output=True, text=True, check=False
    )


@pytest.fixture
def shop(tmp_path: Path, source: Path, env: dict[str, str]) -> Iterator[Repository]:
    """A repository with two layers and our pre-commit hooks installed."""
    config = CONFIG.replace("SOURCE", str(source)).replace("REV", sh(source, "rev-parse", "HEAD"))
    files = {
        "shop/__init__.py": "",
        "shop/cli/__init__.py": "",
        "shop/cli/old.py": "",
        "shop/core/__init__.py": "",
        ".kl/architecture.yaml": LAYERS,
        ".pre-commit-config.yaml": config,
    }
    repo = make(tmp_path / "shop", files)
    assert pre_commit(repo.top, env, "install", "--install-hooks").returncode == 0
    yield repo


def try_commit(
    repo: Repository, env: dict[str, str], message: str, *args: str
) -> subprocess.CompletedProcess[str]:
    command = ["git", "commit", "-m", message, *args]
    return subprocess.run(
        command, cwd=repo.top, env=env, capture_output=True, text=True, check=False
    )


def receipts(repo: Repository) -> list[dict[str, Any]]:
    done = run_in_process(["evidence", "list", "--format", "json"], repo.top, CLEAN)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["receipts"]
    return found


def test_drift_is_blocked_with_place_rule_and_suggested_fix(
    shop: Repository, env: dict[str, str]
) -> None:
    head = sh(shop.top, "rev-parse", "HEAD")
    write(shop.top, {"shop/core/order.py": "import json\nfrom shop.cli import main\n"})
    sh(shop.top, "add", "-A")
    write(
        shop.top,
        {"shop/core/order.py": "import json\n", "shop/core/untracked.py": "import shop.cli\n"},
    )
    blocked = try_commit(shop, env, "drift")
    printed = blocked.stdout + blocked.stderr
    assert blocked.returncode == 1, printed
    assert "kl check" in printed
    assert "shop/core/order.py:2" in printed
    assert ".kl/architecture.yaml:3" in printed
    assert "core" in printed and "cli" in printed
    assert "untracked.py" not in printed
    assert sh(shop.top, "rev-parse", "HEAD") == head
    assert (shop.top / "shop/core/order.py").read_text() == "import json\n"


def test_a_clean_commit_passes_and_leaves_a_receipt(shop: Repository, env: dict[str, str]) -> None:
    write(shop.top, {"shop/cli/main.py": "import shop.core\n"})
    sh(shop.top, "add", "-A")
    done = try_commit(shop, env, "clean")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (shop.git_dir / "kl/spool/commits").read_text() == "commit\n"
    found = {receipt["source"]: receipt for receipt in receipts(shop)}
    assert {"arch", "commits"} <= set(found)
    assert found["arch"]["tree"] == sh(shop.top, "rev-parse", "HEAD^{tree}")
    assert found["commits"]["head"] == sh(shop.top, "rev-parse", "HEAD")


def test_skip_and_no_verify_work_and_the_push_is_blocked(
    shop: Repository, env: dict[str, str], tmp_path: Path
) -> None:
    write(shop.top, {"shop/core/order.py": "import shop.cli\n"})
    sh(shop.top, "add", "-A")
    skipped = try_commit(shop, env | {"SKIP": "kl-check"}, "skipped")
    assert skipped.returncode == 0, skipped.stdout + skipped.stderr
    write(shop.top, {"shop/core/order.py": "import shop.cli  # again\n"})
    assert try_commit(shop, env, "unchecked", "-a", "--no-verify").returncode == 0
    sh(tmp_path, "init", "-q", "--bare", "remote.git")
    push = ["git", "push", str(tmp_path / "remote.git"), "main"]
    locked = subprocess.run(
        push, cwd=shop.top, env=env, capture_output=True, text=True, check=False
    )
    assert locked.returncode != 0
    assert "shop/core/order.py:1" in locked.stdout + locked.stderr
    write(shop.top, {"shop/core/order.py": "\n"})
    assert try_commit(shop, env, "repaired", "-a").returncode == 0
    passed = subprocess.run(
        push, cwd=shop.top, env=env, capture_output=True, text=True, check=False
    )
    assert passed.returncode == 0, passed.stdout + passed.stderr


@pytest.mark.sweep
def test_a_commit_that_only_deletes_is_checked_and_all_files_can_be(
    shop: Repository, env: dict[str, str]
) -> None:
    sh(shop.top, "rm", "-q", "shop/cli/old.py")
    done = try_commit(shop, env, "gone")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^kl check.*Passed$", done.stderr, re.M), done.stderr
    # the last file of a layer: its rule would be off (ADR-0059)
    head = sh(shop.top, "rev-parse", "HEAD")
    sh(shop.top, "rm", "-q", "shop/cli/__init__.py")
    blocked = try_commit(shop, env, "no layer left")
    assert blocked.returncode == 1 and sh(shop.top, "rev-parse", "HEAD") == head, blocked.stderr
    lost = 'shop/cli/ was removed: layer "cli" lost 1 file since HEAD.'
    assert f".kl/architecture.yaml:4: {lost}" in blocked.stderr, blocked.stderr
    sh(shop.top, "reset", "-q", "--hard")
    manual = pre_commit(shop.top, env, "run", "kl-check", "--all-files", "--hook-stage", "manual")
    assert manual.returncode == 0, manual.stdout + manual.stderr


@pytest.mark.sweep
def test_set_up_without_installing_kl_and_a_manifest_that_must_be_there(
    source: Path, env: dict[str, str], tmp_path: Path
) -> None:
    config = (
        f"repos:\n- repo: {source}\n  rev: {sh(source, 'rev-parse', 'HEAD')}\n  hooks:\n"
        "  - id: kl-init\n  - id: kl-check\n    args: [--require-manifest]\n"
    )
    files = {"shop/__init__.py": "", "shop/a.py": "import shop.b\n", "shop/b.py": "import shop.a\n"}
    repo = make(tmp_path / "new", {**files, ".pre-commit-config.yaml": config})
    without = pre_commit(repo.top, env, "run", "--all-files")
    assert without.returncode == 1 and ".kl/architecture.yaml: is missing" in without.stdout, (
        without.stdout
    )
    assert "pre-commit run kl-init" in without.stdout and not (repo.top / ".kl").exists(), (
        "kl-init is manual"
    )
    made = pre_commit(repo.top, env, "run", "kl-init", "--hook-stage", "manual")
    assert made.returncode == 0, made.stdout + made.stderr
    for printed in (
        "wrote   .kl/architecture.yaml",
        "1 import against these layers accepted",
        "pre-commit run kl-check",
    ):
        assert printed in made.stdout, made.stdout
    sh(repo.top, "add", "-A")
    green = pre_commit(repo.top, env, "run", "--all-files")
    assert green.returncode == 0, green.stdout + green.stderr
    again = pre_commit(repo.top, env, "run", "kl-init", "--hook-stage", "manual")
    assert again.returncode == 0 and "exists  .kl/architecture.yaml" in again.stdout


def test_a_broken_manifest_blocks_with_its_place(shop: Repository, env: dict[str, str]) -> None:
    write(
        shop.top,
        {".kl/architecture.yaml": LAYERS.replace("may_depend_on: below", "may_depends_on: below")},
    )
    done = try_commit(shop, env, "typo", "-a")
    printed = done.stdout + done.stderr
    assert done.returncode == 1, printed
    assert ".kl/architecture.yaml:4:" in printed
    assert "may_depend_on" in printed


@pytest.mark.share()
def test_it_can_be_tried_without_installing_anything(
    shop: Repository, source: Path, env: dict[str, str]
) -> None:
    write(shop.top, {"shop/core/order.py": "import shop.cli\n"})
    sh(shop.top, "add", "-A")
    tried = pre_commit(
        shop.top, env, "try-repo", str(source), "kl-check", "--all-files", "--verbose"
    )
    assert tried.returncode == 1
    assert "shop/core/order.py:1" in tried.stdout


@pytest.mark.requirement("D40", "A22")
@pytest.mark.sweep
def test_what_is_written_is_checked_as_it_is_staged(
    shop: Repository, source: Path, env: dict[str, str]
) -> None:
    config = (shop.top / ".pre-commit-config.yaml").read_text() + "  - id: kl-knowledge-check\n"
    record = (
        "---\nid: ADR-0001\ntitle: One\nstatus: accepted\n---\n\n## Context\n\n[[Store]]\n\n##"
        " Decision\n\nd\n"
    )
    home = ".kl/knowledge/decisions"
    write(shop.top, {".pre-commit-config.yaml": config, f"{home}/ADR-0001-one.md": record})
    sh(shop.top, "add", "-A")
    write(shop.top, {"docs/store.md": "# Store\n"})  # on disk, and no part of the commit
    blocked = try_commit(shop, env, "a link that leads nowhere")
    printed = blocked.stdout + blocked.stderr
    assert (
        blocked.returncode == 1
        and f"{home}/ADR-0001-one.md:9:1: [[Store]] leads nowhere" in printed
    ), printed
    sh(shop.top, "add", "docs/store.md")
    write(shop.top, {"docs/store.md": "# Another title, not staged\n\n[[Nowhere]]\n"})
    done = try_commit(shop, env, "it leads somewhere")
    assert done.returncode == 0, done.stdout + done.stderr
    sh(shop.top, "checkout", "-q", "--", "docs/store.md")
    write(shop.top, {f"{home}/ADR-0001-two.md": record.replace("title: One", "title: Two")})
    sh(shop.top, "add", "-A")
    twice = try_commit(shop, env, "one id, two files")
    assert twice.returncode == 1 and "kl decision renumber" in twice.stdout + twice.stderr
    sh(shop.top, "rm", "-qf", "docs/store.md", f"{home}/ADR-0001-two.md")
    removed = try_commit(shop, env, "a page that is linked to goes")
    assert removed.returncode == 1 and "[[Store]] leads nowhere" in removed.stdout + removed.stderr
