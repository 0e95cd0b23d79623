"""Which repository, which commit, which settings.

Revisions and ranges: the commit that is meant, and where histories part.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.git import run
from kl_hooks.git.repository import (
    GitSettings,
    Repository,
    find_repository,
    git_version,
    head,
    is_shallow,
    is_tracked,
    merge_base,
    read_git_settings,
    resolve_commit,
)
from kl_hooks.git.run import GitFailed, GitMissing, git
from tests.git.repos import commit, make, opened, sh, write


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return make(tmp_path / "r", {"a.py": "1\n", "d/e/b.py": "2\n"})


def test_found_from_any_folder(repo: Repository) -> None:
    assert (
        find_repository(repo.top / "d/e")
        == repo
        == Repository(repo.top, repo.top / ".git", repo.top / ".git", False, "sha1")
    )


def test_none_where_there_is_none(tmp_path: Path) -> None:
    assert find_repository(tmp_path) is None


def test_a_name_with_newlines(tmp_path: Path) -> None:
    top = tmp_path / "new\nline\n"
    make(top, {"a": "1\n"})
    assert opened(top).top == top
    assert opened(top).git_dir == top / ".git"


def test_worktree_submodule_and_separate_folder(repo: Repository, tmp_path: Path) -> None:
    sh(repo.top, "worktree", "add", "-q", str(tmp_path / "w"))
    linked = opened(tmp_path / "w")
    assert (linked.top, linked.common_dir) == (tmp_path / "w", repo.git_dir)
    assert linked.git_dir == repo.git_dir / "worktrees/w"
    sh(repo.top, "init", "-q", "--separate-git-dir", str(tmp_path / "g"), str(tmp_path / "s"))
    assert opened(tmp_path / "s").git_dir == tmp_path / "g"


def test_bare_and_inside_of_git_are_refused_with_a_suggested_fix(
    repo: Repository, tmp_path: Path
) -> None:
    sh(tmp_path, "clone", "-q", "--bare", str(repo.top), "b.git")
    for place in (tmp_path / "b.git", repo.git_dir, repo.git_dir / "objects"):
        with pytest.raises(EnvironmentProblem, match="working tree"):
            find_repository(place)


def test_a_working_tree_marked_bare(repo: Repository) -> None:
    sh(repo.top, "config", "core.bare", "true")
    assert opened(repo.top).bare
    assert opened(repo.top).top == repo.top


def test_the_environment_names_another(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make(tmp_path / "other")
    monkeypatch.setenv("GIT_DIR", str(other.git_dir))
    assert opened(repo.top) == repo


def test_no_folder_no_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EnvironmentProblem, match="is not a folder"):
        find_repository(tmp_path / "nowhere")
    (tmp_path / "git").write_text("#!/bin/sh\necho never\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for path in (str(tmp_path / "empty"), ".", ""):  # a `git` in the folder looked at is not git
        monkeypatch.setenv("PATH", path)
        with pytest.raises(GitMissing, match=r"Install git 2\.31"):
            find_repository(tmp_path)


def fake_git(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "bin").mkdir()
    (folder / "bin/git").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "bin/git").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder / "bin"), prepend=":")


def test_an_old_git_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    echo = (
        'case "$*" in *rev-parse*) echo --path-format=absolute;; *) echo git version 2.17.1;; esac'
    )
    fake_git(tmp_path, echo, monkeypatch)
    assert git_version() == (2, 17, 1)
    with pytest.raises(EnvironmentProblem, match=r"git 2\.17\.1 is too old"):
        find_repository(tmp_path)


def test_a_git_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_git(tmp_path, "exec sleep 60", monkeypatch)
    with pytest.raises(GitFailed, match="no answer"):
        git("version", cwd=tmp_path, timeout=0.3)


def test_the_limit_of_time_is_waited_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # its answer is at its end; it goes on
    fake_git(tmp_path, "exec >&- 2>&-; exec sleep 60", monkeypatch)
    waits: list[float | None] = []
    wait = subprocess.Popen.wait
    monkeypatch.setattr(
        subprocess.Popen,
        "wait",
        lambda process, timeout=None: waits.append(timeout) or wait(process, timeout),
    )
    with pytest.raises(GitFailed, match="no answer"):
        git("version", cwd=tmp_path, timeout=0.3)
    if hasattr(os, "pidfd_open"):
        assert not any(waits), "after the limit another wait with a limit began"


def test_version_of_this_git() -> None:
    assert git_version() >= (2, 31)


def test_head(repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for again it is read anew, wherever git stores it; git is asked only for a commit that
    is new to us.
    """
    sha, tree = sh(repo.top, "rev-parse", "HEAD", "HEAD^{tree}").split()
    assert head(repo) == head(repo) == (sha, "main", tree)
    sh(repo.top, "checkout", "-q", "-b", "feature/ü")
    assert head(repo) == (sha, "feature/ü", tree)
    sh(repo.top, "pack-refs", "--all")
    assert head(repo) == (sha, "feature/ü", tree)
    sh(repo.top, "symbolic-ref", "refs/heads/other", "refs/heads/main")
    sh(repo.top, "symbolic-ref", "HEAD", "refs/heads/other")
    assert head(repo)[::2] == (sha, tree)
    sh(repo.top, "checkout", "-q", "--detach", "main")
    assert head(repo) == (sha, None, tree)
    sh(repo.top, "worktree", "add", "-q", "-b", "linked", str(tmp_path / "linked"))
    assert head(opened(tmp_path / "linked")) == (sha, "linked", tree)
    write(repo.top, {"new.py": "1\n"})
    commit(repo.top, "second")
    newer, its_tree = sh(repo.top, "rev-parse", "HEAD", "HEAD^{tree}").split()
    assert newer != sha and head(repo) == (newer, None, its_tree) and its_tree != tree
    monkeypatch.setenv("PATH", "")
    assert head(repo) == (newer, None, its_tree)
    monkeypatch.undo()
    assert head(make(tmp_path / "unborn"))[:2] == (None, "main")


def test_shallow(repo: Repository, tmp_path: Path) -> None:
    commit(repo.top, "second")
    sh(tmp_path, "clone", "-q", "--depth", "1", f"file://{repo.top}", "s")
    assert is_shallow(opened(tmp_path / "s"))
    assert not is_shallow(repo)


def test_settings(repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_git_settings(repo) == GitSettings()
    mine = tmp_path / "gitconfig"
    mine.write_text('[filter "mine"]\n\tclean = cat\n[kl]\n\tstate = /old\n\tverbose\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(mine))
    sh(repo.top, "config", "kl.state", "/a b\nc")
    sh(repo.top, "config", "core.hooksPath", ".husky/_")
    sh(repo.top, "config", "core.fileMode", "false")
    sh(repo.top, "config", "filter.odd.name=x.clean", "cat")
    found = read_git_settings(repo)
    assert found.kl == {"state": "/a b\nc", "verbose": "true"}
    assert (found.hooks_path, found.drivers, found.file_mode) == (
        ".husky/_",
        ("odd.name=x",),
        False,
    )
    assert found.drivers


def test_tracked(repo: Repository) -> None:
    write(repo.top, {"new.py": "1\n"})
    asked = [
        "a.py",
        "d",
        "d/e/b.py",
        "new.py",
        "*.py",
        "nowhere",
        "../r/a.py",
        "..",
        repo.top / "a.py",
    ]
    assert [is_tracked(repo, path) for path in asked] == [
        True,
        True,
        True,
        False,
        False,
        False,
        True,
        False,
        True,
    ]


CANARIES = {
    "core.fsmonitor": "touch {0}; false",
    "core.pager": "touch {0}; cat",
    "gpg.program": "{1}",
    "diff.external": "touch {0}; true",
    "core.sshCommand": "touch {0}; false",
    "core.hooksPath": "{1}",
}


def test_nothing_that_the_repository_names_is_run(repo: Repository, tmp_path: Path) -> None:
    from kl_hooks.git import files, worktree

    fired = tmp_path / "fired"
    for key, value in CANARIES.items():
        sh(repo.top, "config", key, value.format(fired, tmp_path / "evil-hooks"))
    sh(repo.top, "config", "log.showSignature", "true")
    write(repo.top, {"a.py": "edited\n", "u.py": "new\n"})
    worktree.snapshot(repo)
    list(files.read_files(repo, files.worktree_files(repo)))
    read_git_settings(repo)
    head(repo)
    assert not fired.exists()
    sh(repo.top, "status")  # the canary is alive
    assert fired.exists()


def test_what_the_repository_would_fetch_is_not_fetched(repo: Repository, tmp_path: Path) -> None:
    from kl_hooks.git.objects import read_blobs

    fired = tmp_path / "fired"
    sh(repo.top, "config", "extensions.partialClone", "evil")
    sh(repo.top, "config", "core.repositoryFormatVersion", "1")
    sh(repo.top, "config", "remote.evil.url", f"ext::sh -c touch% {fired}")
    sh(repo.top, "config", "remote.evil.promisor", "true")
    sh(repo.top, "config", "protocol.ext.allow", "always")
    assert list(read_blobs(repo, ["1" * 40])) == [None]
    assert not fired.exists()
    sh(repo.top, "cat-file", "-p", "1" * 40, ok=False)
    assert fired.exists()


def test_our_settings_are_beside_those_of_the_environment(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "kl.one")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "1")
    got = git("config", "--get-regexp", "^kl", cwd=repo.top, config=[("kl.two", "2")])
    assert got == b"kl.one 1\nkl.two 2\n"


def test_a_failure_states_what_git_reported(repo: Repository) -> None:
    with pytest.raises(GitFailed, match=r"git rev-parse: fatal: .*nope") as caught:
        git("rev-parse", "nope", cwd=repo.top)
    assert caught.value.returncode == 128
    with pytest.raises(GitFailed, match="can't be run"):
        git("rev-parse", "nul\0", cwd=repo.top)
    assert run.verb_of(["--git-dir=x", "log", "-z"]) == "log"


def test_the_end_of_git_is_noticed_without_sleeping(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not hasattr(os, "pidfd_open"):
        pytest.skip("no pidfd_open: not Linux")
    sleeps = list[float]()
    monkeypatch.setattr(time, "sleep", sleeps.append)
    # closes its output, and ends later
    monkeypatch.setattr(run, "executable", lambda: "/bin/sh")
    monkeypatch.setattr(run, "_PREFIX", ("-c", "exec >&- 2>&-; sleep .1"))
    assert git("x", cwd=repo.top) == b""
    assert sleeps == []


def test_a_git_that_gives_no_answer_is_ended(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    for script in ("exec sleep 60", "exec >&- 2>&-; exec sleep 60"):
        monkeypatch.setattr(run, "executable", lambda: "/bin/sh")
        monkeypatch.setattr(run, "_PREFIX", ("-c", script))
        with pytest.raises(GitFailed, match=r"no answer in 0\.2 s"):
            git("x", cwd=repo.top, timeout=0.2)


def test_whatever_names_a_commit(tmp_path: Path) -> None:
    repo = make(tmp_path / "r", {"a": "1"})
    sha = sh(repo.top, "rev-parse", "HEAD")
    sh(repo.top, "tag", "-a", "-m", "x", "v1")
    for rev in ("HEAD", "main", "v1", sha[:10], "HEAD^{}"):
        assert resolve_commit(repo, rev) == sha


@pytest.mark.parametrize(
    "rev", ["", "nowhere", "--all", "-h", "HEAD:a", "HEAD^{tree}", "a\0b", "HEAD..HEAD"]
)
def test_whatever_does_not(tmp_path: Path, rev: str) -> None:
    with pytest.raises(UsageProblem, match="is not a commit"):
        resolve_commit(make(tmp_path / "r", {"a": "1"}), rev)


def test_where_two_histories_part(tmp_path: Path) -> None:
    repo = make(tmp_path / "r", {"a": "1"})
    base = sh(repo.top, "rev-parse", "HEAD")
    one = commit(repo.top, "one")
    sh(repo.top, "checkout", "-q", "-b", "other", base)
    other = commit(repo.top, "other")
    assert merge_base(repo, one, other) == base
    sh(repo.top, "checkout", "-q", "--orphan", "alone")
    with pytest.raises(UsageProblem, match="no commit in common"):
        merge_base(repo, commit(repo.top, "alone"), one)


def test_in_a_shallow_clone_it_states_what_to_fetch(tmp_path: Path) -> None:
    repo = make(tmp_path / "r", {"a": "1"})
    commit(repo.top, "two")
    sh(tmp_path, "clone", "-q", "--depth=1", f"file://{repo.top}", "shallow")
    with pytest.raises(UsageProblem) as refused:
        resolve_commit(opened(tmp_path / "shallow"), "HEAD~1")
    assert "fetch-depth: 0" in refused.value.hint
