"""A working tree's id is the id of the commit that would follow, and asking for it leaves no
trace.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kl_hooks.git import run, worktree
from kl_hooks.git.repository import Repository
from kl_hooks.git.worktree import (
    WorktreeState,
    changed_files,
    snapshot,
    staged_tree,
    tree_of_revision,
)
from tests.git.repos import commit, fingerprint, make, opened, oracle, sh, write

START = {
    "a.py": "a = 1\n",
    "d/b.py": "b = 2\n",
    "d/e/c.txt": "c\n",
    "run.sh": "#!/bin/sh\n",
    ".gitignore": "*.log\n",
}


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return make(tmp_path / "r", START)


def edit(top: Path) -> None:
    write(top, {"a.py": "a = 3\n"})


def touch_only(top: Path) -> None:
    os.utime(top / "a.py", (1, 1))


def delete(top: Path) -> None:
    shutil.rmtree(top / "d")


def make_executable(top: Path) -> None:
    (top / "run.sh").chmod(0o755)


def file_to_link(top: Path) -> None:
    (top / "a.py").unlink()
    (top / "a.py").symlink_to("/nowhere/at all")


def folder_to_link(top: Path) -> None:
    (top / "d").rename(top / "elsewhere")
    (top / "d").symlink_to("elsewhere")


def folder_to_file(top: Path) -> None:
    shutil.rmtree(top / "d")
    write(top, {"d": "now a file\n"})


def file_to_folder(top: Path) -> None:
    (top / "a.py").unlink()
    write(top, {"a.py/inside.py": "x\n"})


def stage_then_edit(top: Path) -> None:
    write(top, {"a.py": "staged\n", "n.py": "staged\n"})
    sh(top, "add", "-A")
    write(top, {"a.py": "edited after\n"})


def stage_then_delete(top: Path) -> None:
    write(top, {"n.py": "staged\n"})
    sh(top, "add", "-A")
    (top / "n.py").unlink()


def stage_then_undo(top: Path) -> None:
    write(top, {"a.py": "staged\n"})
    sh(top, "add", "-A")
    write(top, {"a.py": START["a.py"]})


def forget(top: Path) -> None:
    sh(top, "rm", "-q", "--cached", "a.py")


def announce(top: Path) -> None:
    write(top, {"n.py": "announced\n", "gone.py": "x\n"})
    sh(top, "add", "-N", "n.py", "gone.py")
    (top / "gone.py").unlink()


def odd_names(top: Path) -> None:
    for name in (
        b"new\nline.py",
        b"\xff\xfe.py",
        b'quo"te',
        b"back\\slash",
        b"cr\r",
        b" ",
        b"-n",
        b":x",
        b"tab\t",
        b"\xc3\xa9",
    ):
        Path(os.fsdecode(os.fsencode(top) + b"/" + name)).write_bytes(b"content of " + name)


def odd_names_tracked(top: Path) -> None:
    odd_names(top)
    commit(top, "odd")
    for path in top.iterdir():
        if path.is_file():
            path.write_bytes(path.read_bytes() + b"!")


def conflict(top: Path) -> None:
    sh(top, "checkout", "-q", "-b", "other")
    write(top, {"a.py": "theirs\n", "both.py": "theirs\n"})
    (top / "run.sh").unlink()
    commit(top, "theirs")
    sh(top, "checkout", "-q", "main")
    write(top, {"a.py": "ours\n", "both.py": "ours\n", "run.sh": "changed\n"})
    commit(top, "ours")
    sh(top, "merge", "other", ok=False)
    assert sh(top, "ls-files", "-u")


def conflict_then_delete(top: Path) -> None:
    conflict(top)
    (top / "a.py").unlink()


def endings(top: Path) -> None:
    write(top, {".gitattributes": "*.py text\n*.txt ident\n"})
    (top / "a.py").write_bytes(b"a = 4\r\n")
    (top / "d/e/c.txt").write_bytes(b"$Id: something $\n")


def no_executable_bit(top: Path) -> None:
    sh(top, "config", "core.fileMode", "false")
    (top / "run.sh").chmod(0o755)
    write(top, {"n.sh": "x\n"})
    (top / "n.sh").chmod(0o755)


def inner_repositories(top: Path) -> None:
    make(top / "inner", {"x": "1\n"})
    make(top / "added", {"y": "1\n"})
    sh(top, "add", "added")
    commit(top, "with a submodule")
    commit(top / "added", "moved on")


def pipe_instead(top: Path) -> None:
    (top / "a.py").unlink()
    os.mkfifo(top / "a.py")
    os.mkfifo(top / "untracked-pipe")


def sparse(top: Path) -> None:
    sh(top, "update-index", "--skip-worktree", "d/b.py")
    (top / "d/b.py").unlink()


def split_index(top: Path) -> None:
    sh(top, "update-index", "--split-index")
    write(top, {"a.py": "x\n", "n.py": "n\n"})
    sh(top, "add", "-N", "n.py")


def nothing(top: Path) -> None:
    assert top.is_dir()


STATES = [
    nothing,
    edit,
    touch_only,
    delete,
    make_executable,
    file_to_link,
    folder_to_link,
    folder_to_file,
    file_to_folder,
    stage_then_edit,
    stage_then_delete,
    stage_then_undo,
    forget,
    announce,
    odd_names,
    odd_names_tracked,
    conflict,
    conflict_then_delete,
    endings,
    no_executable_bit,
    inner_repositories,
    sparse,
    split_index,
]


@pytest.mark.parametrize("change", STATES, ids=lambda f: f.__name__)
def test_the_id_is_the_one_git_would_give_and_nothing_is_touched(
    repo: Repository, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    change(repo.top)
    write(repo.top, {"untracked/u.py": "u\n", "ignored.log": "no\n"})
    expected = oracle(repo, tmp_path, "-u"), oracle(repo, tmp_path, "-A")
    before = fingerprint(repo.top)
    seen = snapshot(repo)
    assert fingerprint(repo.top) == before
    assert (seen.tree, seen.tree_all) == expected
    assert seen.dirty == (seen.tree != tree_of_revision(repo, "HEAD"))


def test_the_id_of_a_dirty_tree_is_the_id_of_the_commit_that_follows(repo: Repository) -> None:
    edit(repo.top)
    delete(repo.top)
    write(repo.top, {"new.py": "n\n"})
    dirty = snapshot(repo)
    commit(repo.top, "second")
    clean = snapshot(repo)
    assert dirty.tree_all == clean.tree == clean.tree_all == tree_of_revision(repo, "HEAD")
    assert (dirty.dirty, dirty.changed, clean.dirty, clean.changed) == (True, 3, False, 0)
    assert (clean.head, clean.branch) == (sh(repo.top, "rev-parse", "HEAD"), "main")


def test_a_pipe_where_a_file_was_is_a_file_that_was_removed(repo: Repository) -> None:
    pipe_instead(repo.top)
    seen = snapshot(repo)
    (repo.top / "a.py").unlink()
    (repo.top / "untracked-pipe").unlink()
    assert seen.tree == snapshot(repo).tree


def test_no_commit_yet(tmp_path: Path) -> None:
    repo = make(tmp_path / "r")
    empty = snapshot(repo)
    empty_tree = sh(repo.top, "mktree", stdin=b"")
    assert empty == WorktreeState(empty_tree, empty.tree, None, "main", listing=empty.listing)
    write(repo.top, {"a": "1\n", "b": "2\n"})
    sh(repo.top, "add", "a")
    seen = snapshot(repo)
    assert (seen.tree, seen.tree_all) == (
        oracle(repo, tmp_path, "-u"),
        oracle(repo, tmp_path, "-A"),
    )
    assert (seen.dirty, seen.changed) == (True, 1)


@pytest.mark.fault(
    "working tree state",
    promised="the content is that of this working tree",
    injected="a detached HEAD, a linked working tree",
)
def test_detached_and_worktree(repo: Repository, tmp_path: Path) -> None:
    sh(repo.top, "worktree", "add", "-q", "--detach", str(tmp_path / "w"))
    linked = opened(tmp_path / "w")
    edit(linked.top)
    seen = snapshot(linked)
    assert seen.branch is None
    assert seen.dirty
    assert not snapshot(repo).dirty
    commit(linked.top, "there")
    assert seen.tree == tree_of_revision(linked, "HEAD")


def test_another_repository_in_the_environment_is_ignored(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make(tmp_path / "other", {"x": "1\n"})
    monkeypatch.setenv("GIT_DIR", str(other.git_dir))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.top))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other.git_dir / "index"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(other.git_dir / "objects"))
    edit(repo.top)
    tree = snapshot(opened(repo.top)).tree
    assert staged_tree(repo).tree == tree_of_revision(repo, "HEAD")
    monkeypatch.undo()
    commit(repo.top, "second")
    assert tree == tree_of_revision(repo, "HEAD")


def test_sha256(tmp_path: Path) -> None:
    repo = make(tmp_path / "r", START, "--object-format=sha256")
    edit(repo.top)
    file_to_link(repo.top)
    seen = snapshot(repo)
    assert seen.tree == oracle(repo, tmp_path)
    assert len(str(seen.tree)) == 64


def test_a_filter_of_the_repository_is_never_run(repo: Repository, tmp_path: Path) -> None:
    write(repo.top, {".gitattributes": "*.py filter=evil\n"})
    commit(repo.top, "attributes")
    for key in ("clean", "process", "smudge"):
        sh(repo.top, "config", f"filter.evil.{key}", f"touch {tmp_path}/fired-{key}; cat")
    sh(repo.top, "config", "filter.evil.required", "true")
    write(repo.top, {"d/e/c.txt": "plain\n"})
    assert snapshot(repo).tree_all
    write(repo.top, {"a.py": "a = 9\n", "u.py": "untracked\n"})
    os.utime(repo.git_dir / "index", (0, 0))  # every entry looks racy: git compares contents
    seen = snapshot(repo)
    assert seen.tree and seen.tree_all
    assert not list(tmp_path.glob("fired-*"))


def test_a_filter_of_the_person_is_used(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "gitconfig"
    mine.write_text('[filter "mine"]\n\tclean = tr a-z A-Z\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(mine))
    write(repo.top, {".gitattributes": "*.py filter=mine\n", "a.py": "now mine\n"})
    seen = snapshot(repo)
    sh(repo.top, "add", "-A", GIT_CONFIG_GLOBAL=str(mine))
    assert seen.tree_all == sh(repo.top, "write-tree")


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_what_git_was_configured_not_to_look_at_is_looked_at(
    repo: Repository, tmp_path: Path, flag: str
) -> None:
    sh(repo.top, "update-index", flag, "a.py", "run.sh")
    clean = snapshot(repo)
    assert (clean.tree, clean.dirty) == (tree_of_revision(repo, "HEAD"), False)
    write(repo.top, {"a.py": "not seen by git\n", "n.py": "staged\n"})
    (repo.top / "run.sh").chmod(0o755)
    sh(repo.top, "add", "n.py")
    seen = snapshot(repo)
    sh(repo.top, "update-index", flag.replace("--", "--no-"), "a.py", "run.sh")
    assert seen.tree == oracle(repo, tmp_path, "-u")
    assert (seen.dirty, seen.changed) == (True, 3)


def test_a_file_that_git_assumes_to_be_there_and_is_not(repo: Repository, tmp_path: Path) -> None:
    sh(repo.top, "update-index", "--assume-unchanged", "a.py")
    (repo.top / "a.py").unlink()
    seen = snapshot(repo)
    sh(repo.top, "update-index", "--no-assume-unchanged", "a.py")
    assert seen.tree == oracle(repo, tmp_path, "-u")


def test_settings_that_let_git_overlook_an_edit_are_not_followed(repo: Repository) -> None:
    sh(repo.top, "config", "core.trustctime", "false")
    sh(repo.top, "config", "core.checkStat", "minimal")
    os.utime(repo.top / "a.py", (1, 1))
    sh(repo.top, "update-index", "--refresh")
    time.sleep(1.1)  # git compares whole seconds
    write(repo.top, {"a.py": "a = 9\n"})
    os.utime(repo.top / "a.py", (1, 1))
    assert snapshot(repo).tree != tree_of_revision(repo, "HEAD")


@pytest.mark.fault(
    "working tree state",
    promised="an edited submodule is another content",
    injected="a file of a submodule is edited",
)
def test_an_edited_submodule_is_not_its_commit(repo: Repository, tmp_path: Path) -> None:
    make(tmp_path / "sub", {"s.py": "s = 1\n"})
    sh(
        repo.top,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(tmp_path / "sub"),
        "sub",
    )
    commit(repo.top, "sub")
    clean = snapshot(repo)
    assert (clean.tree, clean.dirty) == (tree_of_revision(repo, "HEAD"), False)
    write(repo.top, {"sub/s.py": "s = 2\n"})
    edited = snapshot(repo)
    assert (edited.dirty, edited.tree == clean.tree) == (True, False)
    assert snapshot(repo).tree == edited.tree
    write(repo.top, {"sub/s.py": "s = 1\n"})
    assert snapshot(repo).tree == clean.tree
    # what nobody added there is imported as an untracked file of this repository is
    write(repo.top, {"sub/s/__init__.py": "s = 3\n"})
    shadowed = snapshot(repo)
    assert (shadowed.tree, shadowed.dirty) == (clean.tree, False)
    assert shadowed.tree_all not in (None, clean.tree)
    assert shadowed.untracked == ("sub/s/__init__.py",)
    assert shadowed.differences.keys() == {"sub"}
    changes = changed_files(repo, str(clean.tree))
    assert changes is not None and changes.keys() == {"sub"}
    assert changes_of_tracked(repo, str(clean.tree)) == {}
    write(repo.top, {"sub/s.py": "s = 2\n"})
    assert len({snapshot(repo).tree, snapshot(repo).tree_all, edited.tree, clean.tree}) == 3
    sh(repo.top, "submodule", "--quiet", "deinit", "-f", "sub")
    assert snapshot(repo).tree == clean.tree


def changes_of_tracked(repo: Repository, tree: str) -> object:
    return worktree.changed_files(repo, tree, untracked=False)


def test_what_is_untracked_is_named(repo: Repository) -> None:
    write(repo.top, {"u.py": "u\n", "x.log": "ignored\n"})
    assert snapshot(repo).untracked == ("u.py",)
    assert snapshot(repo, untracked=False).untracked == ()


def count(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    calls: list[str] = []
    found = run.executable
    monkeypatch.setattr(run, "executable", lambda: calls.append("git") or found())
    return calls


def test_few_processes(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = count(monkeypatch)
    snapshot(repo)
    assert len(calls) == 3
    edit(repo.top)
    write(repo.top, {"u.py": "u\n"})
    calls.clear()
    snapshot(repo)
    assert len(calls) == 4  # the tree of the same commit is known


def test_data_that_nobody_ignored_is_not_read(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kl_hooks.git.worktree._MAX_UNTRACKED", 10)
    write(repo.top, {"data.bin": "x" * 11})
    seen = snapshot(repo)
    assert seen.tree == tree_of_revision(repo, "HEAD")
    assert seen.tree_all is None


def test_what_vanishes_while_git_reads(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    write(repo.top, {"a.py": "a = 5\n", "u.py": "u\n"})
    asked = worktree.git_in

    def late(where: Repository, *args: str, **options: object) -> bytes:
        if args[0] == "hash-object":
            (where.top / "u.py").unlink(missing_ok=True)
        return asked(where, *args, **options)

    monkeypatch.setattr(worktree, "git_in", late)
    seen = snapshot(repo)
    commit(repo.top, "second")
    assert seen.tree == seen.tree_all == tree_of_revision(repo, "HEAD")


def test_staged_is_what_the_commit_will_hold(repo: Repository) -> None:
    stage_then_edit(repo.top)
    write(repo.top, {"later.py": "later\n"})
    sh(repo.top, "add", "-N", "later.py")
    before = fingerprint(repo.top)
    tree = staged_tree(repo).tree
    assert fingerprint(repo.top) == before
    sh(repo.top, "commit", "-q", "-m", "second")
    assert tree == tree_of_revision(repo, "HEAD")


@pytest.mark.parametrize("change", STATES, ids=lambda f: f.__name__)
@pytest.mark.share(4)
def test_what_is_staged_has_the_id_that_git_would_give(
    repo: Repository, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    change(repo.top)
    before = fingerprint(repo.top)
    seen = staged_tree(repo)
    assert fingerprint(repo.top) == before
    shutil.copytree(
        repo.top, tmp_path / "copy", symlinks=True, ignore=shutil.ignore_patterns("*pipe", "a.py")
    )
    made = sh(tmp_path / "copy", "write-tree", ok=False)
    assert seen.tree == (made or None)
    assert seen.dirty == (made != tree_of_revision(repo, "HEAD"))
    assert (seen.head, seen.branch) == (
        sh(repo.top, "rev-parse", "HEAD"),
        sh(repo.top, "branch", "--show-current"),
    )


def test_what_is_staged_before_the_first_commit(tmp_path: Path) -> None:
    repo = make(tmp_path / "r")
    empty = staged_tree(repo)
    assert (empty.tree, empty.dirty, empty.head) == (sh(repo.top, "write-tree"), False, None)
    write(repo.top, START)
    sh(repo.top, "add", "-A")
    seen = staged_tree(repo)
    assert (seen.tree, seen.changed, seen.head) == (sh(repo.top, "write-tree"), len(START), None)


def test_few_processes_for_what_is_staged(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = count(monkeypatch)
    staged_tree(repo)
    assert len(calls) == 2
    stage_then_edit(repo.top)
    calls.clear()
    staged_tree(repo)
    assert len(calls) == 2  # the tree of the same commit is known


@pytest.mark.fault(
    "working tree state",
    promised="a content with conflicts has no name, so nothing is proven of it",
    injected="a merge with conflicts",
)
def test_nothing_staged_can_be_named_in_a_conflict(repo: Repository) -> None:
    conflict(repo.top)
    assert staged_tree(repo).tree is None


def test_no_such_tree(repo: Repository) -> None:
    assert [tree_of_revision(repo, rev) for rev in ("nope", "--all", "", "HEAD:a.py")] == [None] * 4


def test_bytecode_is_no_untracked_file(tmp_path: Path) -> None:
    """Where nobody ignores it, the first run of tests would else make itself worthless."""
    repo = make(tmp_path / "r", {"a.py": "A = 1\n"})
    before = snapshot(repo)
    write(tmp_path / "r", {"__pycache__/a.cpython-312.pyc": "x", "p/__pycache__/b.pyc": "y"})
    assert snapshot(repo) == before
    write(tmp_path / "r", {"p/c.pyc": "z"})
    assert snapshot(repo).tree_all != before.tree_all
