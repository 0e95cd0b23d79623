"""`kl uninstall`: of kl nothing is left in a clone but what people authored, and that is named."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.git.repos import sh
from tests.support import Checkout, checkout

PRE_COMMIT = "repos:\n- repo: local\n  hooks: []\n"
OWN_HOOK = "#!/bin/sh\n# mine\n"


def files_of(folder: Path) -> dict[str, bytes]:
    """Path → content of every file, but for git's own objects and logs."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not {"objects", "logs", "index"} & set(path.parts)
    }


@pytest.fixture
def user_folder(tmp_path: Path) -> Path:
    return tmp_path / "own home"


@pytest.fixture
def environment(home: object, user_folder: Path) -> dict[str, str]:
    return {
        "HOME": str(user_folder),
        "XDG_CACHE_HOME": str(user_folder / "cache"),
        "XDG_STATE_HOME": str(user_folder / "state"),
        "XDG_CONFIG_HOME": str(user_folder / "config"),
    }


@pytest.fixture
def shop(home: object, tmp_path: Path) -> Checkout:
    """A repository without kl, with files and a git hook of others."""
    files = {
        "src/shop.py": "def total() -> int:\n    return 1\n",
        "tests/test_shop.py": "def test_total():\n    pass\n",
        "AGENTS.md": "# Mine\n",
        ".claude/settings.local.json": '{"env": {"A": "1"}}\n',
        ".pre-commit-config.yaml": PRE_COMMIT,
    }
    repo = checkout(tmp_path / "shop", files, kl=False)
    hook = repo.root / ".git/hooks/pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(OWN_HOOK)
    hook.chmod(0o755)
    (repo.root / ".git/info").mkdir(exist_ok=True)
    (repo.root / ".git/info/exclude").write_text("# mine\n")
    return repo


def answer(repo: Checkout, environment: dict[str, str], *options: str) -> dict[str, Any]:
    done = repo.kl("uninstall", *options, "--format", "json", env=environment)
    assert done.returncode == 0, done.stderr
    plain: dict[str, Any] = json.loads(done.stdout)
    return plain


def set_up(repo: Checkout, environment: dict[str, str]) -> None:
    """Everything that kl writes in a clone."""
    for command in (
        ("init", "--yes"),
        ("hooks", "install"),
        ("agents", "install", "claude"),
        ("agents", "install", "codex"),
        ("memory", "add", "Tabs are four blanks"),
        ("remember", "color", "green"),
        ("run", "--", "true"),
        ("status",),
    ):
        done = repo.kl(*command, env=environment)
        assert done.returncode == 0, (command, done.stderr)


def test_nothing_is_left_but_what_people_author(
    shop: Checkout, user_folder: Path, environment: dict[str, str]
) -> None:
    before = files_of(shop.root)
    set_up(shop, environment)
    sh(shop.root, "config", "kl.writer", "clone-1")
    written = files_of(shop.root)
    assert (shop.root / ".git/kl/kl.db").exists() and files_of(user_folder)

    listed = answer(shop, environment, "--dry-run")
    assert files_of(shop.root).keys() == written.keys()
    done = answer(shop, environment)

    assert listed["removed"] == done["removed"] and listed["stays"] == done["stays"]
    after = files_of(shop.root)
    authored = {path: text for path, text in after.items() if path.startswith(".kl/")}
    assert any(path.startswith(".kl/knowledge/memories/MEM-") for path in authored)
    assert ".kl/knowledge/memories/MEMORY.md" not in authored
    assert {path: text for path, text in after.items() if path not in authored} == before
    assert files_of(user_folder) == {}
    assert [(row["place"], row["command"]) for row in done["stays"]] == [
        (".kl/", "rm -r .kl"),
        ("kl-hooks", "pip uninstall kl-hooks"),
    ]


def test_it_may_be_called_twice(shop: Checkout, environment: dict[str, str]) -> None:
    set_up(shop, environment)
    answer(shop, environment)
    places = [row["place"] for row in answer(shop, environment)["removed"]]
    assert all("cache" in place for place in places)  # reading the settings made it again


def test_an_edited_hook_or_block_stays_and_is_named(
    shop: Checkout, environment: dict[str, str]
) -> None:
    set_up(shop, environment)
    hook = shop.root / ".git/hooks/post-commit"
    hook.write_text(hook.read_text() + "echo mine\n")
    page = shop.root / "AGENTS.md"
    page.write_text(page.read_text().replace("<!-- kl:end -->", "Mine.\n<!-- kl:end -->"))
    done = shop.kl("uninstall", env=environment)
    assert done.returncode == 1
    assert f"stays    git hook: {hook}: somebody has edited it" in done.stdout
    assert "stays    agents' entries: AGENTS.md: the managed block was edited" in done.stdout
    assert hook.read_text().endswith("echo mine\n") and "Mine." in page.read_text()
    assert not (shop.root / ".git/kl").exists()


def test_a_file_that_can_t_be_read_keeps_nothing_else(
    shop: Checkout, environment: dict[str, str]
) -> None:
    set_up(shop, environment)
    (shop.root / ".mcp.json").write_text("{\n")
    done = shop.kl("uninstall", env=environment)
    assert done.returncode == 1 and "stays    agents: .mcp.json:" in done.stdout
    assert not (shop.root / ".git/kl").exists()
    assert (shop.root / ".git/hooks/pre-push").read_text() == OWN_HOOK


def test_what_others_may_use_stays(
    shop: Checkout, user_folder: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    shop.commit()
    set_up(shop, environment)
    shop.commit("kl")
    other = tmp_path / "other"
    sh(shop.root, "worktree", "add", "-q", str(other))
    head = sh(shop.root, "rev-parse", "HEAD").strip()
    for ref in ("refs/notes/kl/receipts/me", "refs/notes/kl-remote/origin/receipts/you"):
        sh(shop.root, "update-ref", ref, head)
    sh(shop.root, "remote", "add", "origin", str(other))
    assert shop.kl("hooks", "install", "--sync", "origin", env=environment).returncode == 0
    settings = user_folder / "config/kl/config.yaml"
    settings.parent.mkdir(parents=True)
    settings.write_text("budget: 900\n")

    done = answer(shop, environment)
    commands = {row["place"]: row["command"] for row in done["stays"]}
    assert commands[str(settings)] == f"rm '{settings}'" and settings.exists()
    assert commands[".kl/"] == "git rm -r .kl"
    assert commands[str(other)] == f"cd {other} && kl uninstall"
    assert commands["refs/notes/kl/receipts/me"] == "git update-ref -d refs/notes/kl/receipts/me"
    refs = sh(shop.root, "for-each-ref", "--format=%(refname)", "refs/notes").split()
    assert refs == ["refs/notes/kl/receipts/me"]
    configuration = (shop.root / ".git/config").read_text()
    assert "kl" not in configuration.replace(str(other), "").replace(str(shop.root), "")
    assert configuration.count("fetch = ") == 1


def test_hooks_of_pre_commit_that_nobody_added_here_are_named(
    shop: Checkout, environment: dict[str, str]
) -> None:
    entry = "repos:\n- repo: https://example.org/kl\n  rev: v1\n  hooks:\n  - id: kl-check\n"
    shop.write(".pre-commit-config.yaml", entry)
    rows = {row["place"]: row for row in answer(shop, environment)["stays"]}
    assert rows[".pre-commit-config.yaml"]["command"].startswith("edit .pre-commit-config.yaml")
    assert (shop.root / ".pre-commit-config.yaml").read_text() == entry


def test_a_folder_that_the_user_named_for_the_state_stays(
    shop: Checkout, tmp_path: Path, environment: dict[str, str]
) -> None:
    place = tmp_path / "my state"
    environment["KL_STATE"] = str(place)
    set_up(shop, environment)
    rows = {row["place"]: row for row in answer(shop, environment)["stays"]}
    assert rows[str(place)]["command"] == f"rm -r '{place}'" and (place / "kl.db").exists()


def test_what_a_killed_uninstall_moved_aside_is_removed_by_the_next(
    shop: Checkout, environment: dict[str, str]
) -> None:
    set_up(shop, environment)
    abandoned = shop.root / ".git/kl.removed-123"
    (shop.root / ".git/kl").rename(abandoned)
    done = shop.kl("uninstall", env=environment)
    assert done.returncode == 0 and str(abandoned) in done.stdout
    assert not abandoned.exists()


def test_only_a_person_removes_kl(shop: Checkout, environment: dict[str, str]) -> None:
    set_up(shop, environment)
    done = shop.kl("uninstall", env={**environment, "KL_AGENT": "bot"})
    assert done.returncode == 2 and "only a person removes kl" in done.stderr
    assert (shop.root / ".git/kl/kl.db").exists()


def test_a_writer_is_waited_for_and_named(
    shop: Checkout, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from kl_hooks.store import removal
    from kl_hooks.store.files import store_lock

    set_up(shop, environment)
    monkeypatch.setattr(removal, "_LOCK_TIMEOUT", 0.1)
    with store_lock(shop.root / ".git/kl/store.lock", wait=1, what="kl maintain"):
        done = shop.kl("uninstall", env=environment)
    assert done.returncode == 1 and f"pid {os.getpid()} (kl maintain)" in done.stdout
    assert (shop.root / ".git/kl/kl.db").exists()


def test_in_a_clone_init_undo_names_what_can_be_done(
    shop: Checkout, tmp_path: Path, environment: dict[str, str]
) -> None:
    assert shop.kl("init", env=environment).returncode == 0
    shop.commit("kl")
    clone = tmp_path / "clone"
    sh(tmp_path, "clone", "-q", str(shop.root), str(clone))
    done = Checkout(clone).kl("init", "--undo", env=environment)
    assert done.returncode == 3
    assert "kl init was not run in this clone" in done.stderr
    assert "kl uninstall --dry-run" in done.stderr and "git rm -r .kl" in done.stderr
