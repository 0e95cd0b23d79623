"""What the tests of the plugin share: a repository that is recorded, a run of pytest in it, and
what was written.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kl_hooks.store.spool import SpoolContent, read_spool
from tests import support
from tests.support import FOREIGN, INNER, WHO, from_template, run_in_process

PLUGIN = ("-p", "pytest_kl.plugin")
NEIGHBOURS = ("-p", "xdist", "-p", "rerunfailures")
"""Loaded by name: whatever else is installed beside us is slow to load, and none of these tests'
business.
"""
HERE = Path(__file__).resolve().parent.parent.parent


def git(folder: Path, *args: str) -> str:
    """Runs git in a folder, as a person would."""
    command = ["git", "-c", "user.name=T", "-c", "user.email=t@example.org", *args]
    done = subprocess.run(
        command, cwd=folder, check=True, capture_output=True, text=True, env=environment({})
    )
    return done.stdout.strip()


def environment(more: Mapping[str, str]) -> dict[str, str]:
    """The environment of a child: without the outer pytest's and git's variables, with this
    checkout importable.
    """
    clean = {k: v for k, v in os.environ.items() if k == INNER or not k.startswith(FOREIGN)}
    for name in WHO:
        clean.pop(name, None)
    ours = {
        "PYTHONPATH": str(HERE),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    return {**clean, **ours, **more}


def repository(folder: Path, files: Mapping[str, str], kl: bool = True) -> Path:
    """A git repository with one commit of these files; with `.kl/` where `kl` is true."""

    def build() -> None:
        git(folder, "init", "-q", "-b", "main")
        for name, text in {".gitignore": "__pycache__/\n.pytest_cache/\n*.xml\n", **files}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        if kl:
            (folder / ".kl").mkdir(exist_ok=True)
            (folder / ".kl" / "README.md").write_text("Here.\n", encoding="utf-8")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", "first")

    from_template(folder, ("repository", kl, *files.items()), build, environment({}))
    return folder


def run_pytest(
    folder: Path,
    *args: str,
    env: Mapping[str, str] | None = None,
    plugin: tuple[str, ...] = PLUGIN,
    timeout: float = 120,
    forked: bool = True,
) -> subprocess.CompletedProcess[str]:
    """Plain pytest in a process of its own; `forked`: of a process that has imported pytest and kl
    already.
    """
    return support.run_pytest(
        (*NEIGHBOURS, *plugin, *args), folder, environment(env or {}), timeout, forked
    )


def shown(folder: Path, run: str) -> dict[str, Any]:
    """The receipt of a run as `kl evidence show` prints it: imported, chained, and read again."""
    done = run_in_process(["evidence", "show", run, "--format", "json"], folder, environment({}))
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@dataclass(frozen=True)
class Recorded:
    """One spool file, read."""

    spool: SpoolContent
    path: Path

    @property
    def opening(self) -> dict[str, Any]:
        """The first record."""
        record: dict[str, Any] = self.spool.records[0]
        return record

    @property
    def end(self) -> dict[str, Any]:
        """The last record, which must be an end."""
        record: dict[str, Any] = self.spool.records[-1]
        assert record["t"] == "end"
        return record

    @property
    def result(self) -> dict[str, Any]:
        """What the run was worth."""
        found: dict[str, Any] = self.end["result"]
        return found

    @property
    def why(self) -> str:
        """Its reasons in one text."""
        return "; ".join(self.result["reasons"])

    @property
    def id(self) -> str:
        """What a person types to see it."""
        return str(self.opening["run"][:8])

    @property
    def rows(self) -> list[list[Any]]:
        """The lines of tests, in order."""
        return [record for record in self.spool.records if isinstance(record, list)]

    @property
    def verdicts(self) -> dict[str, str]:
        """Test → verdict, the last line counting."""
        return {row[1]: row[2] for row in self.rows if row[0] == "t"}

    @property
    def details(self) -> dict[str, dict[str, Any]]:
        """Test → what else is known, where anything is."""
        return {row[1]: row[4] for row in self.rows if row[0] == "t" and row[4]}


def recorded(folder: Path) -> list[Recorded]:
    """Every run that waits in the spool of a repository, oldest first; each line of each must be
    whole.
    """
    state = Path(git(folder, "rev-parse", "--path-format=absolute", "--git-common-dir")) / "kl"
    found = [
        Recorded(read_spool(path), path)
        for path in sorted(state.rglob("*.jsonl"), key=lambda p: p.stat().st_mtime_ns)
    ]
    assert all(one.spool.bad == 0 for one in found)
    return found


def only(folder: Path) -> Recorded:
    """The one run that was recorded."""
    runs = recorded(folder)
    assert len(runs) == 1, [run.path for run in runs]
    return runs[0]
