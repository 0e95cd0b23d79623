"""Files by blob id: what is staged, what a revision holds, what is really on disk; and their
contents.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kl_hooks.errors import UsageProblem
from kl_hooks.git import files, objects
from kl_hooks.git.files import (
    UNREADABLE_BLOB,
    FileEntry,
    files_at,
    read_files,
    staged_files,
    worktree_files,
)
from kl_hooks.git.repository import Repository
from kl_hooks.git.worktree import scan_worktree
from tests.git.repos import commit, fingerprint, make, sh, write
from tests.git.test_trees import STATES, conflict, inner_repositories, odd_names


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    start = {
        "a.py": "a = 1\n",
        "d/b.py": "b = 2\n",
        "d/c.txt": "c\n",
        "d/e/c.txt": "c\n",
        "run.sh": "x\n",
        "e.pyi": "",
    }
    return make(tmp_path / "r", start)


def paths(entries: list[FileEntry]) -> list[str]:
    return sorted(entry.path for entry in entries)


def test_suffixes_choose(repo: Repository) -> None:
    write(repo.top, {"new.py": "n\n", "[x].py": "x\n"})
    assert paths(staged_files(repo, [".py"])) == ["a.py", "d/b.py"]
    assert paths(files_at(repo, "HEAD", [".py", ".pyi"])) == ["a.py", "d/b.py", "e.pyi"]
    assert paths(worktree_files(repo, [".py"])) == ["[x].py", "a.py", "d/b.py", "new.py"]
    assert paths(worktree_files(repo, ["[x].py"])) == ["[x].py"]
    assert len(worktree_files(repo)) == 8


@pytest.mark.parametrize("change", STATES, ids=lambda f: f.__name__)
@pytest.mark.share(4)
def test_worktree_is_what_git_would_stage(repo: Repository, change: object) -> None:
    write(repo.top, {"d/e/c.txt": "c\n"})
    change(repo.top)  # type: ignore[operator]
    before = fingerprint(repo.top)
    seen = worktree_files(repo)
    assert fingerprint(repo.top) == before
    sh(repo.top, "add", "-A", ok=False)
    rows = [
        line.split("\t", 1) for line in sh(repo.top, "ls-files", "-s", "-z").split("\0") if line
    ]
    expected = {(path, *about.split()[1::-1]) for about, path in rows if about.startswith("100")}
    assert {(e.path, e.blob, e.mode) for e in seen} == expected


def test_staged_ignores_what_is_only_on_disk_or_announced(repo: Repository) -> None:
    write(repo.top, {"a.py": "staged\n"})
    sh(repo.top, "add", "a.py")
    write(repo.top, {"a.py": "edited\n", "n.py": "announced\n", "u.py": "untracked\n"})
    sh(repo.top, "add", "-N", "n.py")
    (repo.top / "d/b.py").unlink()
    found = staged_files(repo, [".py"])
    assert paths(found) == ["a.py", "d/b.py"]
    assert {e.path: c for e, c in read_files(repo, found, "objects")}["a.py"] == b"staged\n"


def test_the_index_of_the_commit_being_made(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make(tmp_path / "other", {"x.py": "1\n"})
    write(repo.top, {"a.py": "all\n"})
    partial = repo.git_dir / "next-index-1.lock"
    sh(repo.top, "add", "a.py", GIT_INDEX_FILE=str(partial))
    monkeypatch.setenv("GIT_INDEX_FILE", str(partial))
    assert paths(staged_files(repo)) == ["a.py"]
    assert len(worktree_files(repo)) == 6
    assert paths(staged_files(other)) == ["x.py"]
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/next-index-1.lock")
    assert paths(staged_files(repo)) == ["a.py"]


def test_links_and_submodules_have_no_source(repo: Repository) -> None:
    inner_repositories(repo.top)
    (repo.top / "link.py").symlink_to("a.py")
    (repo.top / "dir.py").mkdir()
    commit(repo.top, "links")
    for found in (staged_files(repo), files_at(repo, "HEAD"), worktree_files(repo)):
        assert not {"link.py", "inner", "added"} & set(paths(found))


def test_contents(repo: Repository) -> None:
    odd_names(repo.top)
    write(repo.top, {"a.py": "edited\n", "n.py": "untracked\n"})
    found = worktree_files(repo)
    contents = {entry.path: content for entry, content in read_files(repo, found)}
    assert set(contents) == set(paths(found))
    for path, content in contents.items():
        assert (
            content
            == Path(os.fsdecode(os.fsencode(repo.top) + b"/" + os.fsencode(path))).read_bytes()
        )
    assert "n.py" not in {entry.path for entry, _ in read_files(repo, found, "objects")}


def test_content_is_given_only_if_it_is_the_content_named(repo: Repository) -> None:
    write(repo.top, {"n.py": "first\n", "gone.py": "nobody else\n", "link.py": "y\n"})
    found = worktree_files(repo, ["n.py", "gone.py", "link.py"])
    write(repo.top, {"n.py": "second\n", "secret": "y\n"})
    (repo.top / "gone.py").unlink()
    (repo.top / "link.py").unlink()
    (repo.top / "link.py").symlink_to("secret")
    assert list(read_files(repo, found)) == []


def test_converted_files_are_read(repo: Repository) -> None:
    write(repo.top, {".gitattributes": "*.py text\n*.utf16 text working-tree-encoding=UTF-16LE\n"})
    (repo.top / "a.py").write_bytes(b"a = 7\r\nb = 8\r\n")
    (repo.top / "w.utf16").write_bytes("wide\n".encode("utf-16-le"))
    found = {
        entry.path: content
        for entry, content in read_files(repo, worktree_files(repo, ["a.py", ".utf16"]))
    }
    assert found == {"a.py": b"a = 7\nb = 8\n", "w.utf16": "wide\n".encode("utf-16-le")}


def test_more_files_than_a_pipe_holds(repo: Repository) -> None:
    write(repo.top, {f"many/m{n}.py": f"m = {n}\n" * (n % 300) for n in range(1700)})
    commit(repo.top, "many")
    found = files_at(repo, "HEAD", [".py"])
    contents = {entry.path: content for entry, content in read_files(repo, found, "objects")}
    assert contents["many/m299.py"] == b"m = 299\n" * 299
    assert len(contents) == 1702
    first = next(iter(read_files(repo, found)))  # and left in the middle
    assert first[0].path == "a.py"


def test_too_large_is_omitted(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "MAX_BLOB_BYTES", 10)
    monkeypatch.setattr(files, "MAX_BLOB_BYTES", 10)
    write(repo.top, {"big.py": "x" * 11, "after.py": "ok"})
    commit(repo.top, "big")
    write(repo.top, {"bigger.py": "y" * 12})
    assert sorted(entry.path for entry, _ in read_files(repo, worktree_files(repo, [".py"]))) == [
        "a.py",
        "after.py",
        "d/b.py",
    ]


@pytest.mark.fault(
    "working tree state",
    promised="files in conflict are not checked as staged",
    injected="a merge with conflicts",
)
def test_conflicts_are_not_staged(repo: Repository) -> None:
    conflict(repo.top)
    assert paths(staged_files(repo, [".py"])) == ["d/b.py"]


def test_no_such_revision(repo: Repository) -> None:
    for rev in ("nope", "", "--all", "HEAD:a.py"):
        with pytest.raises(UsageProblem, match="is not a revision"):
            files_at(repo, rev)
    sh(repo.top, "rm", "-rq", ".")
    commit(repo.top, "empty")
    assert files_at(repo, "HEAD") == []


def test_no_commit_yet(tmp_path: Path) -> None:
    repo = make(tmp_path / "empty")
    write(repo.top, {"a.py": "1\n"})
    assert staged_files(repo) == []
    assert paths(worktree_files(repo)) == ["a.py"]


def test_a_file_that_cannot_be_read_is_there_all_the_same(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(repo.top, {"a.py": "a = 3\n", "new.py": "n = 1\n"})
    readable = os.access
    monkeypatch.setattr(
        os, "access", lambda path, *how: b".py" not in os.fsencode(path) and readable(path, *how)
    )
    found = {entry.path: entry.blob for entry in worktree_files(repo, (".py",))}
    assert (found["a.py"], found["new.py"]) == (UNREADABLE_BLOB, UNREADABLE_BLOB)
    monkeypatch.undo()
    assert list(read_files(repo, [FileEntry("a.py", UNREADABLE_BLOB, "100644")])) == []


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_files_that_git_was_configured_not_to_look_at(repo: Repository, flag: str) -> None:
    sh(repo.top, "update-index", flag, "a.py")
    write(repo.top, {"a.py": "a = 3\n"})
    (entry,) = [entry for entry in worktree_files(repo) if entry.path == "a.py"]
    assert list(read_files(repo, [entry])) == [(entry, b"a = 3\n")]


def test_names(repo: Repository) -> None:
    write(repo.top, {"new.py": "", "x.md": "", ".gitignore": "*.tmp.py\n", "no.tmp.py": ""})
    assert sorted(scan_worktree(repo).listing.paths((".py",))) == ["a.py", "d/b.py", "new.py"]
