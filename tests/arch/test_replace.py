"""Replacing a file: all or nothing, its mode kept, nobody's edit lost, no link followed."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from kl_hooks.arch.fixing.replace import Refused, on_disk, replace


def test_the_new_text_stands_there_with_the_old_mode(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"old")
    file.chmod(0o755)
    replace(tmp_path, "a.py", b"old", b"new", tmp_path)
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"new", 0o755)
    assert [path.name for path in tmp_path.iterdir()] == ["a.py"]


@pytest.mark.parametrize("elsewhere", [False, True])
def test_the_new_text_is_made_where_nobody_adds_it(
    elsewhere: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed writer leaves what it made. Where git's folder is on another file system, it has to be beside."""
    aside, work = tmp_path / "git", tmp_path / "work"
    for folder in (aside, work):
        folder.mkdir()
    (work / "a.py").write_bytes(b"old")
    made, real = [], Path.replace

    def watched(self: Path, target: Path) -> Path:
        made.append(self.parent.name)
        if elsewhere and self.parent == aside:
            raise OSError(errno.EXDEV, "another file system")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", watched)
    replace(work, "a.py", b"old", b"new", aside)
    assert made == (["git", "work"] if elsewhere else ["git"])
    assert ((work / "a.py").read_bytes(), list(aside.iterdir()), len(list(work.iterdir()))) == (b"new", [], 1)


def test_a_file_that_changed_meanwhile_is_left(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"newer")
    with pytest.raises(Refused, match="changed meanwhile"):
        replace(tmp_path, "a.py", b"old", b"new", tmp_path)
    assert (tmp_path / "a.py").read_bytes() == b"newer"


def test_line_endings_of_git_are_no_change_and_another_text_is(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"a\r\n")
    assert on_disk(tmp_path, "a.py", b"a\n") == b"a\r\n"
    with pytest.raises(Refused):
        on_disk(tmp_path, "a.py", b"b\n")


@pytest.mark.parametrize("linked", ["a.py", "in"])
def test_links_are_not_followed(tmp_path: Path, linked: str) -> None:
    top, outside = tmp_path / "top", tmp_path / "outside"
    for folder in (top, outside):
        folder.mkdir()
    (outside / "a.py").write_bytes(b"old")
    (top / linked).symlink_to(outside / "a.py" if linked == "a.py" else outside)
    with pytest.raises(Refused, match="symbolic link"):
        replace(top, "a.py" if linked == "a.py" else "in/a.py", b"old", b"new", tmp_path)
    assert (outside / "a.py").read_bytes() == b"old"


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="can't be read"):
        replace(tmp_path, "a.py", b"old", b"new", tmp_path)
