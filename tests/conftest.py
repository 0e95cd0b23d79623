"""Shared fixtures of the whole suite."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from tests.support import Checkout, checkout, isolate

pytest_plugins = ["pytester"]

settings.register_profile("kl", deadline=None)  # a busy machine is no failure
settings.load_profile("kl")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, for this process and for those it starts."""
    isolate(monkeypatch, tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
def repo(tmp_path: Path, home: Path) -> Checkout:
    """A repository with one commit that kl is used in."""
    return checkout(tmp_path / "repo")
