"""Every command that README and the guides show is run, in a real repository, in the order of its
page; `prepared.py` has what a page takes for granted.

A command that can't be run here has a comment before its block, which states the reason:
`<!-- not run: needs the network -->`, or for one command of a block
``<!-- not run `kl serve`: runs until it is interrupted -->``.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.docs.prepared import PAGES, Preparation, shop
from tests.docs.shown import Shown, commands, pages
from tests.docs.stubs import write_pick, write_pip
from tests.support import Checkout, Done

GATES = ("kl verify", "kl arch check", "kl doctor", "kl knowledge check", "pytest", "git commit")
"""Commands that may find something, and then end with 1."""
MOST_NOT_RUN = 56
"""Commands that are not run. A smaller number belongs here; a larger one needs a good reason."""
_PYTEST = "pytest -p no:cacheprovider -p pytest_kl.plugin -p xdist.plugin -p pytest_cov.plugin"
SHELL = frozenset("|&;<>$`\\(){}*")


class Reader:
    """Somebody who types what a page shows."""

    def __init__(self, repo: Checkout, tools: Path) -> None:
        self._repo = repo
        path = f"{tools}:{os.environ['PATH']}"
        self._variables = {**os.environ, "PATH": path, "EDITOR": "true"}

    def prepare(self, files: Mapping[str, str], lines: Sequence[str]) -> None:
        """Write files, and run lines that must succeed."""
        for path, text in files.items():
            self._repo.write(path, text)
        for line in lines:
            done = self.run(line)
            assert is_right(line, done), (line, done.stdout, done.stderr)

    def run(self, command: str) -> Done:
        """Run a line as a shell does; `kl` alone in this process."""
        words = shlex.split(command, comments=True)
        if words[0] == "kl" and not SHELL & set(command.split(" #")[0]):
            return self._repo.kl(*words[1:])
        return subprocess.run(
            ["bash", "-c", command],
            cwd=self._repo.root,
            env=self._variables,
            capture_output=True,
            text=True,
            errors="backslashreplace",
            stdin=subprocess.DEVNULL,
            timeout=120,
        )


def is_right(command: str, done: Done) -> bool:
    """Whether a command ended as a reader expects it to."""
    if "Traceback" in done.stderr:
        return False
    # what the line ends with is what its last command ends with
    last = command.split(" #")[0].split("&&")[-1].strip()
    return done.returncode == 0 or (done.returncode == 1 and last.startswith(GATES))


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder of programs, before those of the machine: `kl` and `pytest` of this environment."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for program, module in (("kl", "kl_hooks"), ("pytest", _PYTEST)):
        script = folder / program
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n')
        script.chmod(0o755)
    (folder / "python").symlink_to(sys.executable)
    write_pip(folder, sys.executable)
    write_pick(folder, sys.executable)
    return folder


def run_page(page: str, reader: Reader) -> list[str]:
    """Run the commands of a page; return a line for each that ends otherwise than a reader
    expects.
    """
    prepared = PAGES.get(page, Preparation())
    reader.prepare(prepared.files, prepared.commands)
    problems = []
    for shown in commands(page):
        if shown.reason or needs_jq(shown):
            continue
        for beginning, lines in prepared.before.items():
            if shown.text.startswith(beginning):
                reader.prepare({}, lines)
        done = reader.run(with_ids(shown.text, prepared.replaced, reader))
        if not is_right(shown.text, done):
            answer = (done.stderr or done.stdout).strip()[-600:]
            problems.append(f"{page}:{shown.line}: {shown.text}\n  {done.returncode}: {answer}")
    return problems


def needs_jq(shown: Shown) -> bool:
    """Whether a command needs `jq`, and the machine has none."""
    return "jq" in shown.text and shutil.which("jq") is None


def with_ids(command: str, replaced: Mapping[str, str], reader: Reader) -> str:
    """A command of a page with the IDs that this repository has."""
    for shown_id, printing in replaced.items():
        if shown_id in command:
            command = command.replace(shown_id, reader.run(printing).stdout.strip())
    return command


def shown_commands() -> list[Shown]:
    return [shown for page in pages() for shown in commands(page)]


WITH_COMMANDS = sorted({shown.page for shown in shown_commands() if not shown.reason})


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_the_commands_of_a_page_end_as_a_reader_expects(
    page: str, home: Path, tmp_path: Path, tools: Path
) -> None:
    problems = run_page(page, Reader(shop(tmp_path / "shop"), tools))
    assert not problems, "\n".join(problems)


def test_what_is_prepared_belongs_to_a_page() -> None:
    assert PAGES.keys() <= set(WITH_COMMANDS)


def test_most_commands_are_run() -> None:
    not_run = [shown for shown in shown_commands() if shown.reason]
    assert len(not_run) <= MOST_NOT_RUN, [f"{shown.page}:{shown.line}" for shown in not_run]
    assert len(shown_commands()) > 200
