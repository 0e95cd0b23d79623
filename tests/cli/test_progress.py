"""Long work shows on a terminal that it goes on, and nothing anywhere else."""

from __future__ import annotations

import os
import pty
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from kl_hooks.cli import output
from kl_hooks.cli.main import run
from tests.support import Checkout

CLEARED = "\r\x1b[K"


class PseudoTerminal:
    """A terminal of the kernel as stderr of this process."""

    def __init__(self) -> None:
        self._main, side = pty.openpty()
        self.file = os.fdopen(side, "w", encoding="utf-8")

    def shown(self) -> str:
        """Everything that was written so far."""
        self.file.flush()
        os.set_blocking(self._main, False)
        parts = list[bytes]()
        with suppress(BlockingIOError):
            while True:  # a terminal gives a part at a time
                parts.append(os.read(self._main, 65_536))
        return b"".join(parts).decode()

    def close(self) -> None:
        self.file.close()
        os.close(self._main)


@contextmanager
def terminal() -> Iterator[PseudoTerminal]:
    """Where stderr is a terminal. No fixture: pytest sets stderr again when a test begins."""
    pseudo_terminal = PseudoTerminal()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(output, "PROGRESS_DELAY", 0.0)
            patch.setattr(sys, "stderr", pseudo_terminal.file)
            yield pseudo_terminal
    finally:
        pseudo_terminal.close()


@pytest.fixture
def shop(repo: Checkout, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    repo.write("src/shop/core.py", "def total() -> int:\n    return 1\n")
    repo.write("docs/adr/0001-cents.md", "# Cents\n\nStatus: accepted\n\nMoney is in cents.\n")
    case = '<testcase classname="tests.test_a" name="test_b" time="0.1"/>'
    repo.write("junit.xml", f'<testsuite name="s" tests="1">{case}</testsuite>')
    repo.commit()
    assert repo.kl("init").returncode == 0
    repo.commit("kl")
    monkeypatch.chdir(repo.root)
    return repo


@pytest.mark.parametrize(
    ("command", "label"),
    [
        (("init",), "Reading imports"),
        (("arch", "check"), "Reading imports"),
        (("context", "change total"), "Reading code, records and history"),
        (("search", "cents"), "Reading code, records and documents"),
        (("graph", "refs", "total"), "Updating the code graph"),
        (("evidence", "list"), "Importing captured runs and commits"),
        (("evidence", "import", "junit", "junit.xml"), "Importing evidence"),
    ],
)
@pytest.mark.share(3)
def test_long_work_is_shown_on_a_terminal_and_nothing_of_it_remains(
    shop: Checkout,
    command: tuple[str, ...],
    label: str,
) -> None:
    with terminal() as pseudo_terminal:
        assert run(command) == 0
        shown = pseudo_terminal.shown()
    assert f"\r{label} … 0 s" in shown
    assert CLEARED in shown.rpartition(label)[2]


def test_where_nobody_watches_nothing_is_shown(shop: Checkout) -> None:
    for command in (("arch", "check"), ("search", "cents")):
        done = shop.kl(*command)
        assert (done.returncode, done.stderr) == (0, "")


def test_the_step_that_the_work_is_at_is_shown() -> None:
    with terminal() as pseudo_terminal:
        with output.progress("Reading"):
            output.show_step("30 of 200 passages embedded")
            time.sleep(1)  # the line is written twice a second
        shown = pseudo_terminal.shown()
    assert "\rReading, 30 of 200 passages embedded … " in shown
    assert shown.endswith(CLEARED)
