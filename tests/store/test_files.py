"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kl_hooks.store.files import write_atomic

REPO = Path(__file__).parents[2]


def test_it_is_written_and_replaced_with_nothing_left_beside(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_atomic(path, b"one")
    write_atomic(path, b"two", mode=0o600)
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"precious")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_atomic(tmp_path / "link", b"new")
    assert (tmp_path / "target").read_bytes() == b"precious"
    assert not (tmp_path / "link").is_symlink()


def test_within_a_folder_no_link_leads_out(tmp_path: Path) -> None:
    root, outside = tmp_path / "repo", tmp_path / "outside"
    (root / "real").mkdir(parents=True)
    outside.mkdir()
    (root / ".kl").symlink_to(outside)
    (root / "real" / "deep").symlink_to(outside)
    for path in (root / ".kl" / "a", root / "real" / "deep" / "a"):
        with pytest.raises(OSError):
            write_atomic(path, b"x", within=root)
    for path in (outside / "a", root / ".." / "outside" / "a"):
        with pytest.raises(ValueError, match=r"outside|not in"):
            write_atomic(path, b"x", within=root)
    assert list(outside.iterdir()) == []
    write_atomic(root / "real" / "a", b"x", within=root)
    write_atomic(root / "b", b"y", within=root)
    assert ((root / "real" / "a").read_bytes(), (root / "b").read_bytes()) == (b"x", b"y")


@pytest.mark.fault(
    "full disk",
    promised="the old file is whole",
    injected="RLIMIT_FSIZE of 1,000 bytes",
)
def test_a_failed_write_leaves_the_old_content_and_nothing_beside(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_atomic(path, b"old")
    code = f"""
import resource, signal
from pathlib import Path
from kl_hooks.store.files import write_atomic
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_atomic(Path({str(path)!r}), b"x" * 5000)
except OSError as error:
    print(error.strerror)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPO, capture_output=True, text=True, check=True
    )
    assert done.stdout == "File too large\n"
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_atomic(tmp_path / "missing" / "a", b"x")
    assert os.listdir(tmp_path) == []  # noqa: PTH208
