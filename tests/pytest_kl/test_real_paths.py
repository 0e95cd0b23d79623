"""The real paths of modules that were loaded before a run."""

from __future__ import annotations

from os.path import realpath
from pathlib import Path

import pytest

from pytest_kl.tracer import _real


@pytest.mark.parametrize(
    "name",
    [
        "real/module.py",
        "folder_link/module.py",
        "folder_link/inner/module.py",
        "relative_link/module.py",
        "real/file_link.py",
        "real/chain.py",
        "folder_link/../outside.py",
        "folder_link/./module.py",
        "folder_link/..",
        "folder_link/",
        "missing/module.py",
        "loop/module.py",
    ],
)
def test_a_real_path_is_that_of_the_standard_library(tmp_path: Path, name: str) -> None:
    (tmp_path / "elsewhere" / "real" / "inner").mkdir(parents=True)
    (tmp_path / "real").symlink_to(tmp_path / "elsewhere" / "real")
    (tmp_path / "folder_link").symlink_to(tmp_path / "real")
    (tmp_path / "relative_link").symlink_to("elsewhere/real")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "real" / "module.py").touch()
    (tmp_path / "real" / "file_link.py").symlink_to("../outside.py")
    (tmp_path / "real" / "chain.py").symlink_to("file_link.py")
    paths: dict[str, str] = {}
    for path in (f"{tmp_path}/{name}", f"/{tmp_path}/{name}", f"{tmp_path}/{name}"):
        assert _real(path, paths) == realpath(path)
