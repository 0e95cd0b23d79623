"""What tests start is apart from the world around them, and from other runs of this suite."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .pytest_kl.recorded import environment, repository, run_pytest
from .support import WHO, Checkout, isolate
from .whole import h11

WHERE = "def test_where(tmp_path): print('at', tmp_path)"


def test_a_pytest_that_a_test_starts_has_its_folders_where_no_other_run_has(
    tmp_path: Path, repo: Checkout, inner: Path
) -> None:
    project = repository(tmp_path / "project", {"test_where.py": WHERE})
    repo.write("test_where.py", WHERE)
    for done in (run_pytest(project, "-s"), repo.pytest("-s")):
        assert f"at {inner}/" in done.stdout, done.stdout + done.stderr
    assert h11.environment(tmp_path)["PYTEST_DEBUG_TEMPROOT"] == str(inner)


def test_nothing_else_of_the_world_around_reaches_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-such-option")
    done = run_pytest(repository(tmp_path / "project", {"test_where.py": WHERE}))
    assert done.returncode == 0, done.stdout + done.stderr


def test_whoever_runs_the_tests_is_a_person_in_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in WHO:
        monkeypatch.setenv(name, "1")
    isolate(monkeypatch, tmp_path / "home")
    assert not os.environ.keys() & set(WHO)
    assert not environment({}).keys() & set(WHO)
