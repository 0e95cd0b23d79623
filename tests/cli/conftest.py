"""What the tests of commands share: `kl` called in this process, inside the shop."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from kl_hooks.cli.main import run
from tests.arch.shop import shop

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def in_shop(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Call:
    """Runs `kl ARGS…` in a fresh shop, which is the current folder, and gives exit code, stdout and
    stderr.
    """
    monkeypatch.chdir(shop(tmp_path / "shop"))
    monkeypatch.setattr("sys.stdin", io.StringIO(""))

    def call(*args: str) -> tuple[int, str, str]:
        code = run(args)
        out, err = capsys.readouterr()
        return code, out, err

    return call
