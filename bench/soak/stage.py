"""Where the soak plays: a repository that is copied for each round, and children that are forked.

Everything of kl is imported before the first fork, so a child costs milliseconds.
"""

from __future__ import annotations

import os
import pickle
import random
import shutil
import signal
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from bench.soak.preload import Faults
from tests.support import Done, isolate, run_in_process

KL_CODES: Final = (0, 1, 2, 3)
"""Exit codes that kl documents; 4 is an internal error."""
_SECONDS: Final = 120.0


class Child(NamedTuple):
    """How a forked child ended."""

    answer: Any
    """What it returned; None where it was killed."""
    killed: bool


@dataclass
class Outcome:
    """What one round did, and what was wrong then."""

    done: int = 0
    """Injections whose fault happened."""
    problems: list[str] = field(default_factory=list)
    """One line for each broken promise, with what is needed to play it again."""

    def expect(self, is_true: bool, words: str) -> None:
        """Note a problem where a promise was broken."""
        if not is_true:
            self.problems.append(words)


class Subject(NamedTuple):
    """A family of faults."""

    name: str
    injected: str
    unit: str
    asked: int
    play: Callable[[Stage, random.Random, int], Outcome]
    """Play a round: its number decides what, the dice decide when."""


class Stage:
    """Folders of one soak: `home`, `repo` (played in), and templates that it is copied from."""

    def __init__(self, folder: Path, faults: Faults, share: int = 1) -> None:
        """`share`: a round tries one of so many of its cases."""
        self.folder, self.faults, self.share = folder, faults, share
        self.home, self.repo = folder / "home", folder / "repo"
        self.patch = pytest.MonkeyPatch()
        isolate(self.patch, self.home)
        self.patch.setenv("KL_LOCK_WAIT", "20")
        # the clones' states outside of their folders are copied with them
        self.patch.setenv("XDG_CACHE_HOME", str(self.repo / ".git" / "caches"))
        self.patch.setenv("XDG_STATE_HOME", str(self.repo / ".git" / "states"))
        run_in_process(("--version",), folder, dict(os.environ))  # imports all of kl

    def cases(self, number: int) -> range:
        """The numbers of the cases that a round of so many tries."""
        return range(0, number, self.share)

    def template(self, name: str, build: Callable[[], None]) -> Path:
        """The folder of a template: `build` makes it once, in `repo`."""
        folder = self.folder / "templates" / name
        if not folder.exists():
            shutil.rmtree(self.repo, ignore_errors=True)
            self.repo.mkdir(parents=True)
            build()
            folder.parent.mkdir(exist_ok=True)
            self.repo.rename(folder)
        return folder

    def reset(self, template: Path) -> None:
        """Make `repo` a copy of a template."""
        shutil.rmtree(self.repo, ignore_errors=True)
        shutil.copytree(template, self.repo, symlinks=True)

    def child(
        self, body: Callable[[], Any], kill_after: float | None = None, seconds: float = _SECONDS
    ) -> Child:
        """Fork a child that returns what `body` does; killed after so many seconds, if given."""
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)
            os.close(reader)
            _end_with(body, writer)
        os.close(writer)
        if kill_after is not None:
            time.sleep(kill_after)
            os.kill(pid, signal.SIGKILL)
        content = _read_within(reader, pid, seconds)
        _, status = os.waitpid(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        if code < 0 or not content:
            return Child(None, killed=True)
        answer = pickle.loads(content)
        if isinstance(answer, Broken):
            raise RuntimeError(answer.text)
        return Child(answer, killed=False)

    def kl(self, *args: str) -> Done:
        """Run `kl ARGS` in this process: for children."""
        return run_in_process(args, self.repo, dict(os.environ))


class Broken(NamedTuple):
    """A child whose own code failed: a mistake of the soak, not of kl."""

    text: str


def _end_with(body: Callable[[], Any], writer: int) -> None:
    try:
        try:
            answer = body()
        except BaseException:
            answer = Broken(traceback.format_exc())
        with os.fdopen(writer, "wb") as file:
            file.write(pickle.dumps(answer))
    finally:
        os._exit(0)


def _read_within(reader: int, pid: int, seconds: float) -> bytes:
    """All that a child writes. TimeoutError for one that takes longer: it is killed."""
    import select

    pieces, end = [], time.monotonic() + seconds
    with os.fdopen(reader, "rb", buffering=0) as file:
        while True:
            ready, _, _ = select.select([file], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                os.killpg(pid, signal.SIGKILL)
                raise TimeoutError(f"a child took more than {seconds:g} seconds")
            piece = file.read(1 << 16)
            if not piece:
                return b"".join(pieces)
            pieces.append(piece)


def complaints(done: Done, command: Sequence[str]) -> list[str]:
    """What is wrong with how a command of kl ended, whatever happened to it."""
    text = done.stdout + done.stderr
    problems = []
    if "Traceback" in text:
        problems.append(f"traceback of {' '.join(command)}: {text[-1500:]}")
    if done.returncode not in KL_CODES:
        problems.append(f"exit {done.returncode} of {' '.join(command)}: {text[-800:]}")
    return problems
