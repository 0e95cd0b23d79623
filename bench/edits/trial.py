"""One edit of a project, judged: `kl verify`, `pytest --kl-impacted`, `kl verify` again, and the
whole suite without kl.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from bench.edits.kinds import Edit, Kind, edited
from bench.measure import ROOT
from tests.forked_pytest import run_forked
from tests.support import run_in_process

RECORDED: Final = ("-p", "pytest_kl.plugin")
PLAIN: Final = ("-p", "no:kl")
_IMPACTED: Final = ("--kl-impacted", "--kl-audit=off")
"""Without a sample of valid tests, which would show some of what is judged here."""
_SHOWN: Final = ("-v", "--tb=no")
_OUTCOME: Final = re.compile(r"^(\S.*?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS|RERUN)\b", re.M)
_RANK: Final = ("PASSED", "XPASS", "XFAIL", "SKIPPED", "RERUN", "FAILED", "ERROR")
_ENDED: Final = (0, 1, 5)
"""Exit codes of pytest after a session that collected all files."""
_SECONDS: Final = 120
_ROUNDS: Final = 3
IGNORED: Final = "__pycache__/\n.pytest_cache/\n.testmondata*\n"


class Ran(NamedTuple):
    """A command that ended."""

    code: int
    text: str

    def outcomes(self) -> dict[str, str]:
        """Node ID → the worst that was reported of it, of a run of pytest."""
        worst: dict[str, str] = {}
        for name, word in _OUTCOME.findall(self.text):
            worst[name] = max(word, worst.get(name, word), key=_RANK.index)
        return worst


class Commands(Protocol):
    """How pytest and kl are run in a project."""

    def pytest(self, *args: str, environ: Mapping[str, str]) -> Ran:
        """Run pytest in the project."""

    def kl(self, *args: str, environ: Mapping[str, str]) -> Ran:
        """Run kl in the project."""


@dataclass(frozen=True)
class Verdicts:
    """What kl and the suite reported of an edit."""

    verify: int
    """Exit code of `kl verify` right after the edit."""
    verify_after: int
    """The same after the last `pytest --kl-impacted`."""
    impacted: int
    """Exit code of the first `pytest --kl-impacted`."""
    suite: int
    """Exit code of the whole suite without kl."""
    state: str
    tests: int
    """Tests of the recorded run that the suite still has."""
    selected: int
    """Tests that ran with the first `--kl-impacted`, …"""
    selected_in_all: int
    """… and with one of those that `kl verify` asked for."""
    deselected: int
    """Recorded tests that the first one did not run."""
    changed: tuple[str, ...]
    """Tests that end otherwise than in the recorded run, or are missing."""
    false_fresh_once: tuple[str, ...]
    """Those of them that the first `--kl-impacted` did not run, …"""
    false_fresh: tuple[str, ...]
    """… and that none did until `kl verify` asked for no more."""
    outcomes: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Of the whole suite."""

    @property
    def wrong(self) -> bool:
        """Whether `kl verify` accepted a content whose suite fails."""
        return self.suite != 0 and 0 in (self.verify, self.verify_after)


@dataclass(frozen=True)
class Selection:
    """What another tool selected after the edit."""

    selected: int
    missed: int
    """Tests that end otherwise, and were not selected."""


@dataclass
class Project:
    """A kind's project in a folder, and the commands that run there."""

    kind: Kind
    root: Path
    commands: Commands
    site: Path | None = None
    environ: dict[str, str] = field(default_factory=dict)
    recorded: dict[str, str] = field(default_factory=dict)

    def git(self, *args: str) -> str:
        """What git prints. CalledProcessError."""
        done = subprocess.run(
            ["git", *args], cwd=self.root, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def create(self) -> None:
        """Write and commit the files, if they are not there yet."""
        self.environ = self.variables()
        if self.kind.source:
            shutil.copytree(self.kind.source, self.root, dirs_exist_ok=True)
        written(self.root, {}, self.kind.files)
        if self.site:
            written(self.site, {}, self.kind.site)
        if (self.root / ".git").exists():
            return
        ignored = self.kind.files.get(".gitignore", "") + IGNORED
        written(self.root, {}, {".gitignore": ignored, ".kl/config.yaml": ""})
        self.git("init", "-q", "-b", "main", "--template=")
        for name, value in (("user.name", "b"), ("user.email", "b@b"), ("gc.auto", "0")):
            self.git("config", name, value)
        self.commit("As it was recorded")

    def variables(self) -> dict[str, str]:
        """Those of the kind."""
        return {
            name: value.replace("{root}", str(self.root))
            for name, value in self.kind.environ.items()
        }

    def commit(self, message: str) -> None:
        """Commit all that is there."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)

    def record(self) -> Ran:
        """Record a run of the whole suite."""
        ran = self.commands.pytest(*RECORDED, *_SHOWN, *self.kind.record, environ=self.environ)
        self.recorded = ran.outcomes()
        return ran

    def apply(self, edit: Edit) -> None:
        """Make the edit, and commit it."""
        for line in edit.before:
            self.git(*line)
        written(self.root, self.kind.files, edit.files)
        if self.site:
            written(self.site, self.kind.site, edit.site)
        self.environ = self.variables() | dict(edit.environ)
        if edit.files and not edit.dirty:
            self.commit(edit.name)
        for line in edit.git:
            self.git(*line)

    def judge(self, impacted: bool = True) -> Verdicts:
        """Ask kl, then the suite.

        `impacted` false: without `pytest --kl-impacted`, in half the time.
        """
        verify = self.commands.kl("verify", "--format", "json", environ=self.environ)
        rounds, after = self._rounds() if impacted else ([], verify)
        suite = self.commands.pytest(*PLAIN, *_SHOWN, environ=self.environ)
        outcomes = suite.outcomes()
        changed = self.changed(outcomes)
        settled_once, settled = set[str](), set[str]()
        # where a file can't be collected nothing is deselected: pytest ends before that
        if rounds and all(ran.code in _ENDED for ran in rounds):
            selected = [ran.outcomes().keys() for ran in rounds]
            settled_once = (self.recorded.keys() - selected[0]) & outcomes.keys()
            settled = settled_once.difference(*selected)
        return Verdicts(
            verify=verify.code,
            verify_after=after.code,
            impacted=rounds[0].code if rounds else 0,
            suite=suite.code,
            state=state_of(verify.text),
            tests=len(self.recorded.keys() & outcomes.keys()),
            selected=len(rounds[0].outcomes()) if rounds else 0,
            selected_in_all=len({name for ran in rounds for name in ran.outcomes()}),
            deselected=len(settled_once),
            changed=tuple(changed),
            false_fresh_once=tuple(name for name in changed if name in settled_once),
            false_fresh=tuple(name for name in changed if name in settled),
            outcomes=outcomes,
        )

    def _rounds(self) -> tuple[list[Ran], Ran]:
        """Run `pytest --kl-impacted` until it selects nothing new, or `kl verify` accepts the
        content: what a new test leaves changed is known once it ran, and a second call runs those
        that use it. The last answer of `kl verify`, too.
        """
        rounds: list[Ran] = []
        names = set[str]()
        while len(rounds) < _ROUNDS:
            ran = self.commands.pytest(*RECORDED, *_SHOWN, *_IMPACTED, environ=self.environ)
            rounds.append(ran)
            after = self.commands.kl("verify", "--format", "json", environ=self.environ)
            if after.code == 0 or ran.outcomes().keys() <= names:
                break
            names |= ran.outcomes().keys()
        return rounds, after

    def changed(self, outcomes: Mapping[str, str]) -> list[str]:
        """The recorded tests that end otherwise now, or are missing."""
        return sorted(
            name for name, before in self.recorded.items() if outcomes.get(name) != before
        )


def state_of(text: str) -> str:
    """The word of an answer of `kl verify --format json`."""
    try:
        return str(json.loads(text[text.index("{") :]).get("state", ""))
    except ValueError:
        return ""


def written(root: Path, before: Mapping[str, str], changes: Mapping[str, Any]) -> None:
    """Make the changes in a folder; texts they start from are those on the disk, else `before`."""
    for path, change in changes.items():
        file = root / path
        text = file.read_text(encoding="utf-8") if file.is_file() else before.get(path)
        new = edited(text, change, path)
        if new is None:
            file.unlink()
            # neither git nor an installer leaves a folder behind that had nothing else
            while file.parent != root and not any(file.parent.iterdir()):
                file = file.parent
                file.rmdir()
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(new, encoding="utf-8")


@dataclass(frozen=True)
class Processes:
    """pytest in a process of its own, as its user would start it; kl by its entry point."""

    root: Path
    home: Path
    python: str
    """The interpreter of the project's environment."""

    def variables(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Those of the processes: a home of their own, no bytecode (of a file that was written
        within a second Python may use the old one, PEP 552).
        """
        foreign = ("KL_", "PYTEST_", "GIT_", "XDG_", "PYTHON", "CI", "GITHUB_")
        variables = {k: v for k, v in os.environ.items() if not k.startswith(foreign)}
        own = {
            "HOME": str(self.home),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "LC_ALL": "C.UTF-8",
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "COLUMNS": "80",
        }
        return variables | own | dict(environ)

    def run(self, *argv: str, environ: Mapping[str, str]) -> Ran:
        """Run a command; exit code -9 where it does not end."""
        try:
            done = subprocess.run(
                argv,
                cwd=self.root,
                env=self.variables(environ),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="backslashreplace",
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Ran(-9, "")
        return Ran(done.returncode, done.stdout + (done.stderr if done.returncode else ""))

    def pytest(self, *args: str, environ: Mapping[str, str]) -> Ran:
        """Run `python -m pytest` of the project's environment: of our own as a fork, in half the
        time.
        """
        if self.python == sys.executable:
            try:
                done = run_forked(args, self.root, self.variables(environ), _SECONDS)
            except subprocess.TimeoutExpired:
                return Ran(-9, "")
            if done:
                return Ran(done.returncode, done.stdout + done.stderr)
        return self.run(self.python, "-m", "pytest", *args, environ=environ)

    def kl(self, *args: str, environ: Mapping[str, str]) -> Ran:
        """Call kl in this process: our own interpreter, without the project's path of modules: pipx
        and pre-commit run it from elsewhere, too.
        """
        own = {name: value for name, value in environ.items() if name != "PYTHONPATH"}
        done = run_in_process(args, self.root, self.variables(own))
        return Ran(done.returncode, done.stdout + done.stderr)


def environment_in(folder: Path, python: str) -> tuple[str, Path]:
    """A virtual environment that also sees what an interpreter has installed: its Python, and its
    site-packages.
    """
    asks = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    purelib = subprocess.run([python, "-c", asks], check=True, capture_output=True, text=True)
    subprocess.run([python, "-m", "venv", "--without-pip", str(folder)], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "of_the_bench.pth").write_text(purelib.stdout, encoding="utf-8")
    return str(folder / "bin" / "python"), site


class Peer:
    """pytest-testmon, in a project of its own."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def record(self) -> bool:
        """Whether the suite is green with it."""
        ran = self._run()
        self._project.recorded = ran.outcomes()
        return ran.code == 0

    def select(self, edit: Edit, outcomes: Mapping[str, str]) -> Selection:
        """What it runs after an edit, and which changed outcomes it misses."""
        self._project.apply(edit)
        ran = self._run().outcomes()
        changed = self._project.changed(outcomes)
        return Selection(len(ran), len([name for name in changed if name not in ran]))

    def _run(self) -> Ran:
        return self._project.commands.pytest(
            "-p",
            "testmon.pytest_testmon",
            "--testmon",
            *_SHOWN,
            *self._project.kind.record,
            environ=self._project.environ,
        )


@contextmanager
def restored(folder: Path, backup: Path) -> Iterator[None]:
    """The folder is afterwards what it was, at the same path: kl knows places by their paths."""
    if not backup.exists():
        shutil.copytree(folder, backup, symlinks=True)
    try:
        yield
    finally:
        shutil.rmtree(folder)
        shutil.copytree(backup, folder, symlinks=True)
