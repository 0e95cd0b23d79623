"""Every state of a repository and its store, against the commands that read, add, look and run:
nobody is harmed.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.support import Checkout, Done, run

from .states import WITHOUT_RIGHTS, Scene, in_state

READING = {
    "status": ("status",),
    "list": ("evidence", "list", "--format", "json"),
    "chain": ("evidence", "verify"),
    "claims": ("claim", "list", "--format", "json"),
}


@dataclass(frozen=True)
class Expected:
    """Exit codes, and what is reported on stderr by whoever reads."""

    read: int
    verify: int
    add: int
    doctor: int
    messages: tuple[str, ...] = ()


FINE = Expected(0, 0, 0, 0)
TABLE = {
    "no git": Expected(3, 3, 3, 1, ("git was not found in PATH.", "Install git 2.31 or newer.")),
    "old git": Expected(3, 3, 3, 1, ("git 2.20.1 is too old.", "Install git 2.31 or newer.")),
    "no repository": Expected(3, 3, 3, 1, ("plain: not a git repository.", "--root")),
    "not set up": Expected(3, 3, 3, 1, ("repo: kl is not set up here.", "kl init")),
    "empty repository": Expected(0, 1, 0, 0),
    "detached": FINE,
    "linked worktree": FINE,
    "bare": Expected(3, 3, 3, 1, ("bare.git: is a bare repository", "Run kl in a clone")),
    "corrupt": Expected(
        3, 3, 3, 1, ("kl.db: is not a database", "Captures wait in the spool.", "kl doctor")
    ),
    "truncated": Expected(
        3, 3, 3, 1, ("kl.db: can't be read", "Captures wait in the spool.", "kl doctor")
    ),
    "newer format": Expected(
        0, 3, 3, 1, ("kl.db: was made by a newer kl (format 2;", "pip install --upgrade kl-hooks")
    ),
    "newer step": Expected(
        0, 3, 3, 1, ("kl.db: was made by a newer kl (evidence step 99;", "pip install --upgrade")
    ),
    "locked": Expected(
        0, 0, 3, 1, ("store.lock: the store is busy: pid ", "(a long job) holds it.", "kl doctor")
    ),
    "read only": Expected(
        0, 0, 3, 1, ("store.lock: can't be used: Permission denied.", "kl doctor")
    ),
}
UNUSED = ("no repository", "not set up")
"""Where kl was never used: looking must leave nothing."""
AT_WORK = ("corrupt", "locked", "read only")
"""Where a real commit with our git hooks and a real run of tests are made."""


@pytest.fixture(scope="module", params=TABLE)
def scene(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Scene]]:
    from tests.support import isolate

    patch = pytest.MonkeyPatch()
    base = tmp_path_factory.mktemp("state")
    isolate(patch, base / "home")
    with in_state(request.param, base) as made:
        yield request.param, made
    patch.undo()


def harmless(done: Done) -> None:
    for word in ("Traceback", "internal error", "Error 0"):
        assert word not in done.stderr + done.stdout


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(p): p.read_bytes()
        for p in folder.rglob("*")
        if p.is_file() and "objects" not in p.parts
    }


@pytest.mark.slow
@pytest.mark.parametrize("command", READING)
@pytest.mark.share(3)
def test_reading(scene: tuple[str, Scene], command: str) -> None:
    name, made = scene
    expected = TABLE[name]
    before = (
        contents(made.folder) | contents(made.repo.root.parent / "home") if name in UNUSED else {}
    )
    done = made.kl(*READING[command])
    harmless(done)
    assert done.returncode == expected.read, done.stderr
    for words in expected.messages:
        assert words in done.stderr
    assert done.stderr.count(expected.messages[0] if expected.messages else "kl: ") <= 1, (
        "said once"
    )
    if expected.read:
        assert done.stdout == ""
    elif "--format" in READING[command]:
        assert json.loads(done.stdout)["schema"].startswith("kl.")
    if name in UNUSED:
        assert contents(made.folder) | contents(made.repo.root.parent / "home") == before
        assert not made.repo.state.exists()


@pytest.mark.share(3)
def test_the_gate(scene: tuple[str, Scene]) -> None:
    name, made = scene
    done = made.kl("verify")
    harmless(done)
    assert done.returncode == TABLE[name].verify, done.stdout + done.stderr
    assert done.stdout or all(words in done.stderr for words in TABLE[name].messages)


@pytest.mark.share(3)
def test_what_is_written_by_hand(scene: tuple[str, Scene]) -> None:
    name, made = scene
    done = made.kl("claim", "add", "is fine", "--about", "file:a.py")
    harmless(done)
    assert done.returncode == TABLE[name].add, done.stderr
    assert done.returncode == 0 or all(words in done.stderr for words in TABLE[name].messages)


@pytest.mark.share(3)
def test_the_doctor(scene: tuple[str, Scene], tmp_path: Path) -> None:
    name, made = scene
    if (
        "PATH" not in made.env
    ):  # a pytest of the machine, where kl is not installed, would be one more item that is wrong
        (tmp_path / "git").symlink_to(shutil.which("git") or "git")
        made = replace(made, env=made.env | {"PATH": str(tmp_path)})
    done = made.kl("doctor", "--format", "json")
    harmless(done)
    assert (done.returncode, done.stderr) == (TABLE[name].doctor, "")
    wrong = [f for f in json.loads(done.stdout)["findings"] if f["state"] == "wrong"]
    assert bool(wrong) == bool(TABLE[name].doctor)
    assert all(f["message"] and f["fix"] for f in wrong), "each with the exact fix"


def test_after_a_commit(scene: tuple[str, Scene]) -> None:
    _, made = scene
    done = made.kl("commits", "record")
    harmless(done)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.count("\n") <= 1


def test_a_command(scene: tuple[str, Scene]) -> None:
    name, made = scene
    done = made.kl("run", "--", "sh", "-c", "echo out; echo err >&2; exit 5")
    harmless(done)
    assert (done.returncode, done.stdout) == (5, "out\n")
    recorded = name not in ("no git", "old git", "bare")
    assert ("not recorded: " in done.stderr) == (not recorded)
    assert done.stderr.startswith("err\n")
    assert done.stderr.count("\n") == 1 + (not recorded)


@pytest.mark.slow
@pytest.mark.share(3)
def test_commits_and_tests_are_unharmed(scene: tuple[str, Scene]) -> None:
    name, made = scene
    if name not in AT_WORK:
        assert name in TABLE
        return
    assert made.repo.kl("hooks", "install").returncode == 0
    before = [] if made.rights else [sys.executable, "-c", WITHOUT_RIGHTS]
    git = run(
        [*before, "/usr/bin/env", "git", "commit", "-q", "--allow-empty", "-m", "third"],
        made.folder,
        made.env,
    )
    assert (git.returncode, git.stdout) == (0, ""), git.stderr
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "pytest_kl.plugin",
        "-q",
        "-p",
        "no:cacheprovider",
    ]
    tests = run([*before, *command], made.folder, made.env)
    assert tests.returncode == 0
    assert "1 passed" in tests.stdout
    harmless(git)
    harmless(tests)


@pytest.mark.slow
def test_what_was_captured_meanwhile_is_imported_once_it_can_be(tmp_path: Path, home: Path) -> None:
    for name in ("locked", "read only"):
        with in_state(name, tmp_path / name.replace(" ", "-")) as made:
            assert made.kl("run", "--", "true").returncode == 0
            assert "not in this answer: 2 captured" in made.kl("evidence", "list").stderr
        done = made.repo.kl("evidence", "list", "--format", "json")
        sources = [receipt["source"] for receipt in json.loads(done.stdout)["receipts"]]
        assert sorted(sources) == ["command", "commits", "pytest", "pytest"]
        assert done.stderr == ""


def test_a_wrong_waiting_time_is_wrong_for_nobody(repo: Checkout) -> None:
    for value in ("abc", "-5", "nan"):
        done = repo.kl("status", env={"KL_LOCK_WAIT": value})
        harmless(done)
        assert done.returncode in (0, 2)
    assert os.environ.get("KL_LOCK_WAIT") is None
