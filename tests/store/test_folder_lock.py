"""The lock on a folder: one at a time, nothing left behind, and no way to wait for ever."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.store.folder_lock import folder_locked


def test_one_at_a_time_and_free_afterwards(tmp_path: Path) -> None:
    busy = pytest.raises(EnvironmentProblem, match="another kl is writing here")
    with folder_locked(tmp_path), busy, folder_locked(tmp_path, 0.02):
        pass
    with folder_locked(tmp_path, 0):
        assert list(tmp_path.iterdir()) == []


def test_a_failure_inside_lets_go(tmp_path: Path) -> None:
    with pytest.raises(KeyError), folder_locked(tmp_path):
        raise KeyError
    with folder_locked(tmp_path, 0):
        pass


def test_a_file_system_without_locks_is_written_without_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(handle: int, how: int) -> None:
        raise OSError(95, "not supported")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with folder_locked(tmp_path), folder_locked(tmp_path):
        (tmp_path / "written").touch()
    assert [path.name for path in tmp_path.iterdir()] == ["written"]


def test_no_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), folder_locked(tmp_path / "none"):
        pass
