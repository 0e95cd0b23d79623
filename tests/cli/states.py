"""States that a repository and its store can be in, each made for real."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kl_hooks.evidence.ingestion import sync_evidence
from tests.evidence.making import leave_run
from tests.support import KL, Checkout, Done, checkout, run, sql

WITHOUT_RIGHTS = """
import ctypes, os, sys
if os.getuid() == 0:
    for capability in (1, 2):  # to write, and to read, whatever the mode says
        assert ctypes.CDLL(None, use_errno=True).prctl(24, capability, 0, 0, 0) == 0, "prctl"
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Starts a command to which the modes of files apply, for root too."""


@dataclass
class Scene:
    """Where commands are run, and how."""

    folder: Path
    repo: Checkout
    env: dict[str, str] = field(default_factory=dict)
    rights: bool = True

    def kl(self, *args: str) -> Done:
        if self.rights:
            return self.repo.kl(*args, cwd=self.folder, env=self.env)
        return run([sys.executable, "-c", WITHOUT_RIGHTS, *KL, *args], self.folder, self.env)


def used(folder: Path) -> Checkout:
    """A repository with a store: two commits, a passing run of tests, and one more that waits in
    the spool.
    """
    made = checkout(folder, {"a.py": "A = 1\n", "tests/test_a.py": "def test_two(): pass\n"})
    made.commit("second")
    leave_run(made.workspace(), [("tests/test_a.py::test_one", "passed", 5)])
    sync_evidence(made.workspace())
    leave_run(made.workspace(), [("tests/test_a.py::test_two", "passed", 5)])
    return made


def tools(folder: Path, git: str | None) -> Mapping[str, str]:
    """A PATH of a few tools; `git` is the text of a script under that name, None: there is none."""
    folder.mkdir()
    for name in ("sh", "true", "echo", "env", "cat"):
        (folder / name).symlink_to(shutil.which(name) or name)
    if git is not None:
        (folder / "git").write_text(git)
        (folder / "git").chmod(0o755)
    return {"PATH": str(folder)}


OLD_GIT = """#!/bin/sh
case "$*" in
*version*) echo "git version 2.20.1" ;;
*rev-parse*) echo --path-format=absolute ;;
*) echo "error: unknown option" >&2; exit 129 ;;
esac
"""


def no_git(base: Path) -> Scene:
    made = used(base / "repo")
    return Scene(made.root, made, {**tools(base / "bin", None)})


def old_git(base: Path) -> Scene:
    made = used(base / "repo")
    return Scene(made.root, made, {**tools(base / "bin", OLD_GIT)})


def no_repository(base: Path) -> Scene:
    (base / "plain").mkdir()
    return Scene(base / "plain", checkout(base / "repo"))


def not_set_up(base: Path) -> Scene:
    made = checkout(base / "repo", kl=False)
    return Scene(made.root, made)


def empty_repository(base: Path) -> Scene:
    made = Checkout(base / "repo")
    made.root.mkdir()
    made.git("init", "-q")
    made.write(".kl/README.md", "x")
    return Scene(made.root, made)


def detached(base: Path) -> Scene:
    made = used(base / "repo")
    made.git("checkout", "-q", "--detach", "HEAD~1")
    return Scene(made.root, made)


def linked_worktree(base: Path) -> Scene:
    made = used(base / "repo")
    made.git("worktree", "add", "-q", str(base / "tree"))
    return Scene(base / "tree", made)


def bare(base: Path) -> Scene:
    made = used(base / "repo")
    made.git("clone", "-q", "--bare", str(made.root), str(base / "bare.git"))
    return Scene(base / "bare.git", made)


def corrupt(base: Path) -> Scene:
    made = used(base / "repo")
    (made.state / "kl.db").write_bytes(b"no database at all\n" * 400)
    return Scene(made.root, made)


def truncated(base: Path) -> Scene:
    made = used(base / "repo")
    os.truncate(made.state / "kl.db", 5000)
    return Scene(made.root, made)


def newer_format(base: Path) -> Scene:
    made = used(base / "repo")
    sql(made.state / "kl.db", "PRAGMA user_version = 2")
    return Scene(made.root, made)


def newer_step(base: Path) -> Scene:
    made = used(base / "repo")
    sql(made.state / "kl.db", "INSERT INTO schema_step VALUES ('evidence', 99)")
    return Scene(made.root, made)


def locked(base: Path) -> Scene:
    made = used(base / "repo")
    return Scene(made.root, made, {"KL_LOCK_WAIT": "0.1"})


def read_only(base: Path) -> Scene:
    made = used(base / "repo")
    for path in [made.state, *made.state.rglob("*")]:
        path.chmod(stat.S_IMODE(path.stat().st_mode) & 0o555)
    return Scene(made.root, made, rights=False)


STATES: dict[str, Callable[[Path], Scene]] = {
    one.__name__.replace("_", " "): one
    for one in (
        no_git,
        old_git,
        no_repository,
        not_set_up,
        empty_repository,
        detached,
        linked_worktree,
        bare,
        corrupt,
        truncated,
        newer_format,
        newer_step,
        locked,
        read_only,
    )
}
HOLDER = """
import sys, time
from pathlib import Path
from kl_hooks.store.files import store_lock
with store_lock(Path(sys.argv[1]), wait=5, what="a long job"):
    print("held", flush=True)
    time.sleep(600)
"""


@contextmanager
def in_state(name: str, base: Path) -> Iterator[Scene]:
    """The scene, and what must go on while it lasts."""
    with ExitStack() as stack:
        scene = STATES[name](base)
        if name == "locked":
            command = [sys.executable, "-c", HOLDER, str(scene.repo.state / "store.lock")]
            holder = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE))
            stack.callback(holder.kill)
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
        yield scene
        for path in [scene.repo.root / ".git", *(scene.repo.root / ".git").rglob("*")]:
            if path.is_dir():
                path.chmod(0o755)
