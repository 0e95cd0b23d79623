"""`kl hooks`, as it is typed."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kl_hooks
from kl_hooks.git.repository import Repository
from tests.git.repos import CLEAN, commit, make, sh
from tests.support import Done, run_in_process

LAYERS = """\
version: 1
layers:
  - {name: low, paths: [low/], may_depend_on: []}
  - {name: top, paths: [top/], may_depend_on: below}
"""
ENV = CLEAN | {"PYTHONPATH": str(Path(kl_hooks.__file__).parent.parent)}


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return make(tmp_path / "r", {"a.py": "a = 1\n", ".kl/config.yaml": "version: 1\n"})


def kl(folder: Path, *args: str) -> Done:
    return run_in_process(args, folder, ENV)


def as_json(folder: Path, *args: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(kl(folder, *args, "--format", "json").stdout)
    return found


def test_installed_a_commit_is_noted_and_uninstalled(repo: Repository) -> None:
    done = kl(repo.top, "hooks", "install")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["installed"] * 3
    first = commit(repo.top, "second")
    assert (repo.git_dir / "kl/spool/commits").read_text() == "commit\n"
    listed = as_json(repo.top, "evidence", "list")
    assert [receipt["source"] for receipt in listed["receipts"]] == ["commits"]
    assert listed["receipts"][0]["head"] == first
    found = as_json(repo.top, "hooks", "status")
    assert found["schema"] == "kl.hooks.status/1"
    assert [(h["name"], h["state"]) for h in found["hooks"]] == [
        ("post-commit", "installed"),
        ("pre-commit", "installed"),
        ("pre-push", "installed"),
    ]
    assert [h["action"] for h in as_json(repo.top, "hooks", "uninstall")["hooks"]] == [
        "removed"
    ] * 3
    again = kl(repo.top, "hooks", "uninstall")
    assert (again.returncode, again.stdout) == (0, "")
    assert "no git hook of kl is here" in again.stderr


def test_only_some(repo: Repository) -> None:
    kl(repo.top, "hooks", "install", "--only", "post-commit", "--only", "pre-push")
    states = [h["state"] for h in as_json(repo.top, "hooks", "status")["hooks"]]
    assert states == ["installed", "missing", "installed"]


def test_a_commit_that_breaks_a_layer_is_blocked_and_states_where(repo: Repository) -> None:
    for name, text in {
        ".kl/architecture.yaml": LAYERS,
        "top/__init__.py": "",
        "low/__init__.py": "",
    }.items():
        (repo.top / name).parent.mkdir(exist_ok=True)
        (repo.top / name).write_text(text)
    kl(repo.top, "hooks", "install")
    before = commit_with(repo, "layers")
    assert before.returncode == 0, before.stderr
    (repo.top / "low/__init__.py").write_text("import top\n")
    blocked = commit_with(repo, "drift")
    assert blocked.returncode == 1
    printed = blocked.stdout + blocked.stderr
    assert "low/__init__.py:1" in printed
    (repo.top / "low/__init__.py").write_text("")  # the staged content still drifts
    assert subprocess.run(
        ["git", "commit", "-m", "x"], cwd=repo.top, env=ENV, capture_output=True, check=False
    ).returncode
    assert sh(repo.top, "log", "--format=%s").splitlines()[0] == "layers"
    sh(tmp_remote(repo), "init", "-q", "--bare", ".")
    sh(repo.top, "add", "-A")
    sh(repo.top, "commit", "-q", "--allow-empty", "-m", "clean")
    (repo.top / "low/__init__.py").write_text("import top\n")
    sh(repo.top, "commit", "-q", "-a", "--no-verify", "-m", "past the gate")
    pushed = subprocess.run(
        ["git", "push", str(tmp_remote(repo)), "main"],
        cwd=repo.top,
        env=ENV,
        capture_output=True,
        text=True,
        check=False,
    )
    assert pushed.returncode != 0
    assert "low/__init__.py:1" in pushed.stdout + pushed.stderr
    (repo.top / "low/__init__.py").write_text("")
    sh(repo.top, "commit", "-q", "-a", "--no-verify", "-m", "repaired")
    sh(repo.top, "push", "-q", str(tmp_remote(repo)), "main", PYTHONPATH=ENV["PYTHONPATH"])


def tmp_remote(repo: Repository) -> Path:
    folder = repo.top.parent / "remote.git"
    folder.mkdir(exist_ok=True)
    return folder


def commit_with(repo: Repository, message: str) -> subprocess.CompletedProcess[str]:
    sh(repo.top, "add", "-A")
    command = ["git", "commit", "-q", "-m", message]
    return subprocess.run(
        command, cwd=repo.top, env=ENV, capture_output=True, text=True, check=False
    )


def test_a_layer_free_repository_commits_as_before(repo: Repository) -> None:
    kl(repo.top, "hooks", "install")
    done = commit_with(repo, "nothing")
    assert done.returncode == 1  # git's own: nothing to commit
    (repo.top / "a.py").write_text("a = 2\n")
    done = commit_with(repo, "second")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("args", [["install", "--only", "pre-comit"], ["install", "--nope"]])
def test_usage_error(repo: Repository, args: list[str]) -> None:
    done = kl(repo.top, "hooks", *args)
    assert (done.returncode, done.stdout) == (2, "")
    assert "pre-comit" in done.stderr or "--nope" in done.stderr


def test_no_repository(tmp_path: Path) -> None:
    for verb in ("install", "uninstall", "status"):
        done = kl(tmp_path, "hooks", verb)
        assert done.returncode == 3
        assert "not a git repository" in done.stderr
        assert "git init" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_where_it_cannot_be_installed_the_lines_to_add_are_shown(repo: Repository) -> None:
    (repo.top / ".husky").mkdir()
    sh(repo.top, "config", "core.hooksPath", ".husky")
    done = kl(repo.top, "hooks", "install")
    assert done.returncode == 1
    assert "add to .husky/pre-commit: kl arch check --staged" in done.stdout
    assert not any((repo.top / ".husky").iterdir())


def test_what_pre_commit_runs_of_ours_is_not_missing(repo: Repository) -> None:
    entries = ("kl-check", "kl-record-commit", "kl-verify")
    listed = "".join(
        f"      - {{id: {one}, name: x, language: system, entry: 'true'}}\n" for one in entries
    )
    (repo.top / ".pre-commit-config.yaml").write_text(
        f"repos:\n  - repo: local\n    hooks:\n{listed}"
    )
    before = as_json(repo.top, "hooks", "status")["hooks"]
    assert [(h["state"], h["reason"].partition("   ")[0]) for h in before] == [
        ("missing", f"pre-commit install -t {name}")
        for name in ("post-commit", "pre-commit", "pre-push")
    ]
    for name in ("pre-commit", "pre-push"):
        pre_commit = [sys.executable, "-m", "pre_commit", "install", "-t", name]
        assert (
            subprocess.run(
                pre_commit, cwd=repo.top, env=ENV, capture_output=True, check=False
            ).returncode
            == 0
        )
    after = as_json(repo.top, "hooks", "status")["hooks"]
    assert [h["state"] for h in after] == ["missing", "called", "called"]
    assert after[1]["reason"] == "pre-commit runs kl's entry in .pre-commit-config.yaml."
    (repo.top / ".pre-commit-config.yaml").write_text("repos: []  # kl-check-push\n")
    assert [h["reason"] for h in as_json(repo.top, "hooks", "status")["hooks"]][
        1
    ] == "kl hooks install"


def older(path: Path) -> bytes:
    """Give a git hook of ours the text of an older version, with the checksum that this one would
    have written.
    """
    text = path.read_bytes().replace(b"exit 0\n", b"exit 0 # as it was\n")
    blank = re.sub(rb"(?m)^(# kl git hook \d+ )[0-9a-f]{64}$", rb"\g<1>@sum@", text)
    text = blank.replace(b"@sum@", hashlib.sha256(blank).hexdigest().encode())
    path.write_bytes(text)
    return text


def test_hooks_of_an_older_version_are_named_and_renewed(repo: Repository) -> None:
    assert (
        kl(repo.top, "hooks", "install", "--only", "pre-commit", "--only", "post-commit").returncode
        == 0
    )
    hooks = repo.common_dir / "hooks"
    current = (hooks / "pre-commit").read_bytes()
    (hooks / "pre-push").write_text("#!/bin/sh\n# of another tool\n")
    assert "older version" not in kl(repo.top, "doctor").stdout
    assert kl(repo.top, "init", "--upgrade").stdout.startswith("nothing to renew")
    older(hooks / "pre-commit")
    (edited,) = [
        line for line in kl(repo.top, "doctor").stdout.splitlines() if "older version" in line
    ]
    assert (
        edited.split()[:2] == ["remark", "git"]
        and "pre-commit was written by an older version" in edited
    )
    found = as_json(repo.top, "init", "--upgrade")
    assert (found["schema"], [(h["name"], h["action"]) for h in found["hooks"]]) == (
        "kl.init.upgrade/1",
        [("pre-commit", "updated")],
    )
    assert (hooks / "pre-commit").read_bytes() == current
    assert (hooks / "pre-push").read_text() == "#!/bin/sh\n# of another tool\n"


def test_an_edited_hook_is_not_renewed(repo: Repository) -> None:
    assert kl(repo.top, "hooks", "install").returncode == 0
    path = repo.common_dir / "hooks/pre-commit"
    text = older(path) + b"# and more\n"
    path.write_bytes(text)
    assert kl(repo.top, "init", "--upgrade").stdout.startswith("nothing to renew")
    assert path.read_bytes() == text
