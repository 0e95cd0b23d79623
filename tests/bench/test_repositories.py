"""Repositories to measure on: made of archives, brought back to what was published, and reported to
be missing.
"""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from bench.downloads import extract
from bench.repositories import NotHere, python_files, repository


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of our own, and no package index."""
    monkeypatch.setenv("KL_BENCH_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    return tmp_path


@pytest.mark.slow
def test_what_can_not_be_downloaded_is_reported_and_leaves_no_repository(cache: Path) -> None:
    with pytest.raises(NotHere, match="pip could not get Django"):
        repository("django")
    assert not (cache / "django" / ".git").exists()


def test_a_repository_holds_what_was_published_whatever_was_done_to_it(cache: Path) -> None:
    folder = cache / "archives" / "Django"
    folder.mkdir(parents=True)
    with tarfile.open(folder / "Django-5.2.tar.gz", "w:gz") as packed:
        for name, text in (
            ("Django-5.2/django/__init__.py", b"x = 1\n"),
            ("Django-5.2/.gitignore", b"*.py\n"),
        ):
            member = tarfile.TarInfo(name)
            member.size = len(text)
            packed.addfile(member, io.BytesIO(text))
    top = repository("django").top
    (top / "django" / "__init__.py").write_text("x = 2\n", encoding="utf-8")
    (top / "new.py").write_text("", encoding="utf-8")
    repo = repository("django")
    assert (top / "django" / "__init__.py").read_bytes() == b"x = 1\n"
    assert python_files(top) == ["django/__init__.py"]
    assert repo.git("status", "--porcelain") == b""
    assert repo.git("ls-files").split() == [b".kl/config.yaml", b"django/__init__.py"]


@pytest.mark.filterwarnings("ignore:Python 3.14 will:DeprecationWarning")
@pytest.mark.parametrize("old", [False, True], ids=["data filter", "before CPython 3.11.4"])
def test_what_is_unpacked_belongs_to_who_unpacks_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: bool
) -> None:
    if old:
        monkeypatch.delattr(tarfile, "data_filter", raising=False)
    with tarfile.open(tmp_path / "a.tar", "w") as packed:
        member = tarfile.TarInfo("a.py")
        member.uid, member.gid, member.uname, member.gname = 4711, 4711, "games", "games"
        packed.addfile(member, io.BytesIO())
    with tarfile.open(tmp_path / "a.tar") as packed:
        extract(packed, tmp_path / "out")
    made = (tmp_path / "out/a.py").stat()
    assert (made.st_uid, made.st_gid) == (os.getuid(), os.getgid())
