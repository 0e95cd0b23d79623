"""A list of gitignore patterns names what git would ignore, in any folder, and leaves it as it
was.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kl_hooks.git.files import files_matching
from tests.support import Checkout


def named(folder: Path, patterns: str, scratch: Path) -> list[str]:
    scratch.mkdir()
    return files_matching(folder, patterns.encode(), scratch)


@pytest.fixture
def folder(tmp_path: Path, home: Path) -> Path:
    made = tmp_path / "state"
    for name in ("a.log", "keep.log", "sub/b.log", "sub/deep/c.txt", "sub/deep/d e.txt", "kl.db"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).touch()
    return made


@pytest.mark.requirement("A68")
@pytest.mark.parametrize(
    ("patterns", "files"),
    [
        ("*.log\n", ["a.log", "keep.log", "sub/b.log"]),
        ("*.log\n!keep.log\n", ["a.log", "sub/b.log"]),
        ("!keep.log\n*.log\n", ["a.log", "keep.log", "sub/b.log"]),
        ("/*.log\n", ["a.log", "keep.log"]),
        ("sub/**\n", ["sub/b.log", "sub/deep/c.txt", "sub/deep/d e.txt"]),
        ("deep/\n", ["sub/deep/c.txt", "sub/deep/d e.txt"]),
        ("# *.log\n\\#x\n", []),
        ("[", []),
        ("", []),
    ],
)
def test_the_last_pattern_that_fits_counts(
    folder: Path, tmp_path: Path, patterns: str, files: list[str]
) -> None:
    assert named(folder, patterns, tmp_path / "scratch") == files


def test_links_are_named_and_not_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x.log").touch()
    (folder / "link").symlink_to(tmp_path / "outside")
    assert named(folder, "*\n", tmp_path / "scratch").count("link/x.log") == 0


def test_a_folder_inside_a_repository_is_looked_at_by_itself(
    repo: Checkout, tmp_path: Path
) -> None:
    repo.write("spool/x", "tracked by the repository, at the same path")
    repo.commit()
    (repo.state / "spool").mkdir(parents=True)
    (repo.state / "spool" / "x").touch()
    assert named(repo.state, "spool/x\n", tmp_path / "scratch") == ["spool/x"]
    assert repo.git("status", "--porcelain") == ""
