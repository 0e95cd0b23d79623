"""Reading commits: only new ones, whatever they look like."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kl_hooks.git import run
from kl_hooks.git.commits import _MAX_BODY, _MAX_FILES, _MAX_LINE, commits_since
from kl_hooks.git.repository import Repository
from kl_hooks.git.run import GitFailed
from tests.git.repos import commit, fingerprint, make, opened, sh, write
from tests.git.test_trees import odd_names


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return make(tmp_path / "r", {"a.py": "1\n", "d/b.py": "2\n"})


def raw(repo: Repository, content: bytes) -> str:
    """A commit object of exactly these bytes, made the new HEAD."""
    sha = sh(repo.top, "hash-object", "-t", "commit", "-w", "--literally", "--stdin", stdin=content)
    sh(repo.top, "update-ref", "HEAD", sha)
    return sha


def test_what_a_commit_states(repo: Repository) -> None:
    write(repo.top, {"a.py": "3\n", "n.py": "n\n"})
    sh(repo.top, "mv", "d/b.py", "d/c.py")
    message = (
        "Fix the ünicode\n\nA body.\nMore.\n\nKL-Package: 12ab\nSigned-off-by: Ada\n "
        " <ada@example.org>"
    )
    sh(repo.top, "add", "-A")
    date = "2026-01-02T03:04:05+0500"
    sh(
        repo.top,
        "commit",
        "-q",
        "-m",
        message,
        GIT_AUTHOR_DATE=date,
        GIT_COMMITTER_DATE="2026-05-05T00:00:00Z",
    )
    newest, first = commits_since(repo, [], 10)
    assert newest.sha == sh(repo.top, "rev-parse", "HEAD")
    assert newest.tree == sh(repo.top, "rev-parse", "HEAD^{tree}")
    assert newest.parents == (first.sha,)
    assert (newest.time, newest.author) == ("2026-01-01T22:04:05.000000Z", "Ada <ada@example.org>")
    assert (newest.subject, newest.body.splitlines()[0]) == ("Fix the ünicode", "A body.")
    assert newest.files == ("a.py", "d/b.py", "d/c.py", "n.py")
    assert newest.trailers == (("KL-Package", "12ab"), ("Signed-off-by", "Ada <ada@example.org>"))
    assert (first.parents, first.files) == ((), ("a.py", "d/b.py"))


def test_only_what_is_new(repo: Repository) -> None:
    shas = [commit(repo.top, f"n{n}") for n in range(5)]
    assert [c.sha for c in commits_since(repo, [shas[2]], 10)] == [shas[4], shas[3]]
    assert [c.sha for c in commits_since(repo, [], 2)] == [shas[4], shas[3]]
    assert commits_since(repo, [shas[4]], 10) == []


def test_what_git_forgot_is_ignored(repo: Repository) -> None:
    removed = commit(repo.top, "to be forgotten")
    sh(repo.top, "reset", "-q", "--hard", "HEAD^")
    stored = commit(repo.top, "instead")
    sh(repo.top, "reflog", "expire", "--expire=now", "--all")
    sh(repo.top, "gc", "-q", "--prune=now")
    known = [removed, "1" * 40, "zz", "--all", "", "HEAD", "a" * 7]
    assert next(c.sha for c in commits_since(repo, known, 10)) == stored
    assert len(commits_since(repo, known, 10)) == 2


def test_amended_and_rebased_commits_are_new(repo: Repository) -> None:
    before = commit(repo.top, "first wording")
    sh(repo.top, "commit", "-q", "--amend", "--allow-empty", "-m", "better wording")
    assert [c.subject for c in commits_since(repo, [before], 10)] == ["better wording"]


def test_a_merge_touches_what_it_brought(repo: Repository) -> None:
    sh(repo.top, "checkout", "-q", "-b", "side")
    write(repo.top, {"side.py": "s\n"})
    commit(repo.top, "side")
    sh(repo.top, "checkout", "-q", "main")
    write(repo.top, {"main.py": "m\n"})
    commit(repo.top, "main")
    sh(repo.top, "merge", "-q", "--no-edit", "side")
    merge = commits_since(repo, [], 1)[0]
    assert (len(merge.parents), merge.files) == (2, ("side.py",))


def test_no_commit_yet_and_a_damaged_history(repo: Repository, tmp_path: Path) -> None:
    empty = make(tmp_path / "empty")
    assert commits_since(empty, [], 10) == []
    assert commits_since(empty, ["1" * 40], 10) == []
    lost = sh(repo.top, "rev-parse", "HEAD")
    commit(repo.top, "second")
    (repo.git_dir / "objects" / lost[:2] / lost[2:]).unlink()
    with pytest.raises(GitFailed, match="git log"):
        commits_since(repo, [], 10)


def test_a_shallow_clone_claims_nothing_beyond_its_boundary(
    repo: Repository, tmp_path: Path
) -> None:
    write(repo.top, {"n.py": "n\n"})
    commit(repo.top, "second")
    commit(repo.top, "third")
    sh(tmp_path, "clone", "-q", "--depth", "2", f"file://{repo.top}", "s")
    third, second = commits_since(opened(tmp_path / "s"), [], 10)
    assert third.parents == (second.sha,)
    assert (second.parents, second.files) == ((), ())


def test_names_of_all_sorts(repo: Repository) -> None:
    odd_names(repo.top)
    (repo.top / "\nfirst").write_text("x")
    commit(repo.top, "odd")
    expected = {p.name for p in repo.top.iterdir() if p.is_file()} - {"a.py"}
    assert set(commits_since(repo, [], 1)[0].files) == expected
    assert os.fsdecode(b"\xff\xfe.py") in expected


@pytest.mark.parametrize(
    "date",
    ["99999999999999 +9999", "-1 +0000", "0 -0000", "nonsense", "18446744073709551616 +0000"],
)
def test_bytes_and_dates_that_make_no_sense(repo: Repository, date: str) -> None:
    tree, parent = sh(repo.top, "rev-parse", "HEAD^{tree}"), sh(repo.top, "rev-parse", "HEAD")
    who = b"\xff\xfe\x01 <\x80> " + date.encode()
    head = f"tree {tree}\nparent {parent}\n".encode()
    raw(
        repo,
        head + b"author " + who + b"\ncommitter " + who + b"\n\nsubj\xffect\n\nbo\xfedy\x1b[31m\n",
    )
    strange, first = commits_since(repo, [], 10)
    assert (strange.subject, strange.body.split("\x1b")[0]) == ("subj\ufffdect", "bo\ufffddy")
    assert strange.time.endswith("Z")
    assert first.sha == parent


def test_another_encoding_is_read_as_it_was_meant(repo: Repository) -> None:
    tree = sh(repo.top, "rev-parse", "HEAD^{tree}")
    who = b"\xc4da <a@b> 1 +0000"
    raw(
        repo,
        f"tree {tree}\n".encode()
        + b"author "
        + who
        + b"\ncommitter "
        + who
        + b"\nencoding ISO-8859-1\n\n\xfcber\n",
    )
    assert (commits_since(repo, [], 1)[0].subject, commits_since(repo, [], 1)[0].author) == (
        "über",
        "Äda <a@b>",
    )


def test_what_is_too_long_is_cut_and_counted(repo: Repository) -> None:
    write(repo.top, {f"many/{n:04}": "x" for n in range(_MAX_FILES + 7)})
    sh(repo.top, "add", "-A")
    sh(repo.top, "commit", "-q", "-F", "-", stdin=b"s" * 1_000_000 + b"\n\n" + b"b\n" * 100_000)
    found = commits_since(repo, [], 1)[0]
    assert len(found.files) == _MAX_FILES
    assert (len(found.subject), len(found.body)) == (_MAX_LINE, _MAX_BODY)


def test_a_hundred_parents(repo: Repository) -> None:
    tree, parent = sh(repo.top, "rev-parse", "HEAD^{tree}"), sh(repo.top, "rev-parse", "HEAD")
    who = "A <a@b> 1 +0000\n"
    parents = f"parent {parent}\n" * 100
    raw(repo, f"tree {tree}\n{parents}author {who}committer {who}\nx\n".encode())
    assert len(commits_since(repo, [], 1)[0].parents) == 100


def test_a_message_cannot_pretend_to_be_a_commit(repo: Repository) -> None:
    sh(
        repo.top,
        "commit",
        "-q",
        "--allow-empty",
        "-F",
        "-",
        stdin=b"x\n\n\x1f\x1e commit\nmark\nKey\x1f: value\n",
    )
    assert len(commits_since(repo, [], 10)) == 2


def test_one_process_and_no_trace(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    found = run.executable
    monkeypatch.setattr(run, "executable", lambda: calls.append("git") or found())
    before = fingerprint(repo.top)
    commits_since(repo, [], 10)
    assert (calls, fingerprint(repo.top)) == (["git"], before)


@pytest.mark.sweep
def test_thousands_are_streamed(repo: Repository) -> None:
    lines = "".join(
        f"commit refs/heads/main\ncommitter A <a@b> {n} +0000\ndata {len(str(n))}\n{n}\n"
        + ("from refs/heads/main^0\n" if n == 1 else "")
        + f"M 644 inline f{n % 7}\ndata {len(str(n))}\n{n}\n"
        for n in range(1, 3001)
    )
    sh(repo.top, "fast-import", "--quiet", stdin=lines.encode())
    got = commits_since(repo, [], 2000)
    assert (len(got), got[0].subject, got[-1].subject) == (2000, "3000", "1001")


def test_signatures_and_the_repositorys_settings_start_nothing(
    repo: Repository, tmp_path: Path
) -> None:
    fired, evil = tmp_path / "fired", tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {fired}\ncat\n")
    evil.chmod(0o755)
    tree = sh(repo.top, "rev-parse", "HEAD^{tree}")
    who = "A <a@b> 1 +0000\n"
    signed = (
        "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----\n\nsigned\n"
    )
    raw(repo, f"tree {tree}\nauthor {who}committer {who}{signed}".encode())
    write(repo.top, {".gitattributes": "*.py diff=evil\n", "a.py": "9\n"})
    commit(repo.top, "attributes")
    for key in (
        "gpg.program",
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "core.pager",
    ):
        sh(repo.top, "config", key, str(evil))
    sh(repo.top, "config", "log.showSignature", "true")
    sh(repo.top, "config", "log.mailmap", "true")
    assert [c.subject for c in commits_since(repo, [], 10)][:2] == ["attributes", "signed"]
    assert not fired.exists()
    sh(repo.top, "log", "--show-signature", "-1", "HEAD^")
    assert fired.exists()
