"""A real repository that kl is used in, with a home of its own; and `kl` as people start it, in a process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.clock import FixedClock
from kl_hooks.evidence.ledger import Entry, recent
from kl_hooks.evidence.who import AGENTS, CI
from kl_hooks.workspace.open import Workspace, open_workspace

HERE = Path(__file__).absolute().parent.parent
NOW = 1_800_000_000_000_000
KL = (sys.executable, "-P", "-m", "kl_hooks")
FOREIGN = ("GIT_", "KL_", "PYTEST_", "XDIST_", "PRE_COMMIT")
"""Beginnings of variables that the world around the tests may have set."""
WHO = ("CI", "BUILD_NUMBER", *(name for name, *_ in (*AGENTS, *CI)))
"""Variables that say who runs this: an agent or a job would not be taken for a person."""
INNER = "PYTEST_DEBUG_TEMPROOT"
"""Set by us for every pytest that a test starts: below this it makes folders, and removes those of earlier runs."""


@dataclass(frozen=True)
class Checkout:
    """A work tree, and what can be done in it."""

    root: Path

    @property
    def state(self) -> Path:
        """The state directory; it need not be there."""
        return Path(self.git("rev-parse", "--path-format=absolute", "--git-common-dir")) / "kl"

    def write(self, name: str, text: str) -> Path:
        """A file, folders included."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def git(self, *args: str, ok: bool = True, cwd: Path | None = None) -> str:
        """Plain git, as a person would call it."""
        done = subprocess.run(["git", *args], cwd=cwd or self.root, capture_output=True, text=True, check=False)
        assert done.returncode == 0 or not ok, (args, done.stdout, done.stderr)
        return done.stdout.strip()

    def commit(self, message: str = "change") -> str:
        """Commits everything; the new commit's id."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def kl(self, *args: str, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Done:
        """`kl ARGS` in a process of its own."""
        return run([*KL, *args], cwd or self.root, env)

    def pytest(self, *args: str, env: Mapping[str, str] | None = None) -> Done:
        """pytest with the plugin, in a process of its own."""
        return run([sys.executable, "-m", "pytest", "-p", "pytest_kl.plugin", *args], self.root, env)

    def workspace(self, now: int = NOW, folder: Path | None = None) -> Workspace:
        """The workspace as a command of this process would open it, at a time that stands still."""
        return open_workspace(folder or self.root, clock=FixedClock(now), environ=dict(os.environ))

    def entries(self, limit: int = 1000) -> list[Entry]:
        """What the ledger holds, newest first, without taking anything in."""
        with self.workspace().store.reading() as db:
            return recent(db, limit) if db else []


Done = subprocess.CompletedProcess[str]


def run(command: list[str], cwd: Path, env: Mapping[str, str] | None = None, **more: Any) -> Done:
    """A process with text in and out; undecodable bytes are escaped."""
    return subprocess.run(
        command, cwd=cwd, env={**os.environ, **(env or {})}, capture_output=True, text=True,
        errors="backslashreplace", check=False, timeout=120, **more,
    )  # fmt: skip


def isolate(patch: pytest.MonkeyPatch, home: Path) -> None:
    """This process, and what it starts, has an empty home and nothing of the world around in its environment."""
    for name in os.environ.keys() - {INNER}:
        if name.startswith(FOREIGN) or name in WHO:
            patch.delenv(name)
    home.mkdir(parents=True, exist_ok=True)
    settings = {
        "HOME": str(home), "GIT_CONFIG_GLOBAL": str(home / "gitconfig"), "GIT_CONFIG_NOSYSTEM": "1",
        "PYTHONPATH": str(HERE), "LC_ALL": "C.UTF-8",
    }  # fmt: skip
    for name, value in settings.items():
        patch.setenv(name, value)
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"):
        patch.delenv(name, raising=False)
    (home / "gitconfig").write_text("[user]\nname = Ada\nemail = ada@example.org\n[init]\ndefaultBranch = main\n")


def checkout(folder: Path, files: Mapping[str, str] | None = None, *, kl: bool = True) -> Checkout:
    """A repository with one commit of `files`; with `.kl/` where `kl` is true."""
    made = Checkout(folder)
    folder.mkdir(parents=True, exist_ok=True)
    made.git("init", "-q")
    made.write(".gitignore", "__pycache__/\n.pytest_cache/\n")
    if kl:
        made.write(".kl/README.md", "Here.\n")
    for name, text in (files or {}).items():
        made.write(name, text)
    made.commit("first")
    return made


def sql(database: Path, *statements: str) -> None:
    """Edits a database behind kl's back."""
    import sqlite3

    with closing(sqlite3.connect(database)) as raw, raw:
        for statement in statements:
            raw.execute(statement)
