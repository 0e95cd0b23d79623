"""A repository with kl, an agent's environment, and memories to work on."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

from kl_hooks.cli.main import run
from tests.support import Checkout

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def kl(repo: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Runs `kl ARGS…` in the repository, in this process: exit code, stdout, stderr. `stdin`: what
    it reads.
    """
    monkeypatch.chdir(repo.root)

    def call(*args: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        code = run(args)
        out, err = capsys.readouterr()
        return code, out, err

    return call
