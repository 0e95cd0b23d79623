"""Commits are read once each, whatever happens to history, and stored when git forgets them."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path

import pytest

from kl_hooks.evidence.commits import (
    CURSOR,
    LoggedCommit,
    commits_by_sha,
    newest_commits,
    read_cursor,
)
from kl_hooks.evidence.ingestion import sync_evidence
from tests.store.secrets import SHAPES
from tests.support import Checkout, checkout

from .test_audit import problems


def log(repo: Checkout) -> list[LoggedCommit]:
    """The log after syncing, newest first."""
    taken = sync_evidence(repo.workspace())
    assert (taken.trouble, taken.blind) == ("", "")
    assert problems(repo) == ()
    with repo.workspace().store.reading() as db:
        return list(newest_commits(db, 10_000)) if db else []


def shas(repo: Checkout) -> set[str]:
    return {c.sha for c in log(repo)}


def receipts(repo: Checkout) -> int:
    return sum(e.receipt.source == "commits" for e in repo.entries())


def test_each_commit_is_read_once(repo: Checkout) -> None:
    first = repo.git("rev-parse", "HEAD")
    assert shas(repo) == {first}
    second, third = repo.commit("second"), repo.commit("third")
    assert shas(repo) == {first, second, third}
    assert (shas(repo), receipts(repo)) == ({first, second, third}, 2)
    newest = repo.entries()[0].receipt
    assert {e.subject: e.detail["parents"] for e in newest.evidence} == {
        f"commit:{second}": [first],
        f"commit:{third}": [second],
    }
    assert (newest.head, newest.branch, newest.tree) == (
        third,
        "main",
        repo.git("rev-parse", "HEAD^{tree}"),
    )


def test_a_commit_is_stored_with_its_message_its_files_and_its_trailers(repo: Checkout) -> None:
    repo.write("src/a.py", "A = 1\n")
    sha = repo.commit("Add a\n\nBecause b.\n\nRefs: #12\nCo-authored-by: Eve <eve@example.org>")
    log(repo)
    with repo.workspace().store.reading() as db:
        assert db is not None
        assert commits_by_sha(db, [sha, "f" * 40]) == {
            sha: next(c for c in newest_commits(db, 9) if c.sha == sha)
        }
        row = db.row(
            "SELECT author, subject, body, files, trailers FROM commit_log WHERE sha = ?", (sha,)
        )
    assert row is not None
    assert row[:2] == ("Ada <ada@example.org>", "Add a")
    assert row[2].startswith("Because b.")
    assert json.loads(row[3]) == ["src/a.py"]
    assert json.loads(row[4]) == [["Refs", "#12"], ["Co-authored-by", "Eve <eve@example.org>"]]


def test_rewritten_history_adds_and_forgets_nothing(repo: Checkout) -> None:
    seen = shas(repo)
    for n in range(3):
        repo.write(f"{n}.txt", str(n))
        seen.add(repo.commit(f"number {n}"))
    assert shas(repo) == seen
    repo.git("commit", "-q", "--amend", "-m", "amended")
    seen.add(repo.git("rev-parse", "HEAD"))
    assert shas(repo) == seen
    repo.git("checkout", "-q", "-b", "side", "HEAD~2")
    repo.write("side.txt", "x")
    seen.add(repo.commit("on the side"))
    repo.git("rebase", "-q", "main")
    seen.add(repo.git("rev-parse", "HEAD"))
    known = shas(repo)
    assert known >= seen - {repo.git("rev-parse", "ORIG_HEAD")}
    repo.git("reset", "-q", "--soft", "HEAD~3")
    squashed = repo.commit("squashed")
    assert shas(repo) == known | {squashed}


def test_what_git_has_forgotten_stays(repo: Checkout) -> None:
    removed = repo.commit("to be forgotten")
    assert removed in shas(repo)
    repo.git("reset", "-q", "--hard", "HEAD~1")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    assert (
        subprocess.run(
            ["git", "cat-file", "-e", removed], cwd=repo.root, capture_output=True
        ).returncode
        != 0
    )
    with repo.workspace().store.reading() as db:
        assert db is not None
        assert read_cursor(db, CURSOR) == removed, "the place to read on from is gone"
    new = repo.commit("new")
    assert shas(repo) >= {removed, new}
    assert receipts(repo) == 2


def test_an_older_head_is_no_news_and_no_step_back(repo: Checkout) -> None:
    made = {repo.git("rev-parse", "HEAD"), *(repo.commit(f"number {n}") for n in range(4))}
    assert shas(repo) == made
    repo.git("reset", "-q", "--hard", "HEAD~3")
    assert (shas(repo), receipts(repo)) == (made, 1)
    again = repo.commit("from here")
    assert (shas(repo), receipts(repo)) == (made | {again}, 2)


def test_a_detached_head_and_another_branch(repo: Checkout) -> None:
    shas(repo)
    repo.git("checkout", "-q", "--detach")
    loose = repo.commit("loose")
    assert loose in shas(repo)
    assert repo.entries()[0].receipt.branch is None
    repo.git("checkout", "-q", "-b", "other", "main")
    assert repo.commit("other") in shas(repo)
    assert repo.entries()[0].receipt.branch == "other"


def test_a_merge_is_read_with_both_its_sides(repo: Checkout) -> None:
    repo.git("checkout", "-q", "-b", "side")
    repo.write("side.txt", "x")
    side = repo.commit("side")
    repo.git("checkout", "-q", "main")
    repo.write("main.txt", "x")
    main = repo.commit("main")
    repo.git("merge", "-q", "--no-ff", "-m", "both", "side")
    merge = repo.git("rev-parse", "HEAD")
    assert shas(repo) >= {side, main, merge}
    details = {e.subject: e.detail for e in repo.entries()[0].receipt.evidence}
    assert details[f"commit:{merge}"]["parents"] == [main, side]
    assert next(c for c in log(repo) if c.sha == merge).files == ("side.txt",)


def test_a_worktree_shares_the_log(repo: Checkout, tmp_path: Path) -> None:
    main = shas(repo)
    repo.git("worktree", "add", "-q", "-b", "tree", str(tmp_path / "tree"))
    other = Checkout(tmp_path / "tree")
    made = other.commit("in the worktree")
    assert other.state == repo.state
    for n in range(3):
        assert shas(other) == shas(repo) == main | {made}
        assert receipts(repo) == 2, n
    assert other.git("status", "--porcelain") == ""


def test_a_shallow_clone_shows_what_it_has(repo: Checkout, tmp_path: Path) -> None:
    for n in range(5):
        repo.write("a.txt", str(n))
        repo.commit(f"number {n}")
    repo.git("clone", "-q", "--depth", "2", f"file://{repo.root}", str(tmp_path / "shallow"))
    clone = Checkout(tmp_path / "shallow")
    found = log(clone)
    assert {c.subject for c in found} == {"number 4", "number 3"}
    assert {c.subject: c.files for c in found} == {
        "number 4": ("a.txt",),
        "number 3": (),
    }, "its parent is not here"
    clone.git("fetch", "-q", "--unshallow")
    clone.commit("more")
    assert len(log(clone)) >= 3


def test_no_commit_yet_is_nothing_to_read(tmp_path: Path, home: Path) -> None:
    made = Checkout(tmp_path)
    made.git("init", "-q")
    made.write(".kl/README.md", "x")
    assert log(made) == []
    first = made.commit("first")
    assert shas(made) == {first}


STRANGE = {
    "not text": ("1 +0000", b"\xff\xfe caf\xe9\n\nbody \x80\n"),
    "control characters": ("99999999999999 +1400", b"red \x1b[31m and \x07\n\n\x1b]0;title\x07\n"),
    "nothing": ("0 -9959", b""),
    "long": ("-5 +0000", b"x" * 100_000 + b"\n\n" + b"line\n" * 50_000),
    "many lines": ("18446744073709551615 +0000", b"\n".join(b"Key-%d: v" % n for n in range(3000))),
}
"""Name → a date and a message."""


@pytest.mark.parametrize("name", STRANGE)
def test_strange_commits_are_read(repo: Checkout, name: str) -> None:
    date, message = STRANGE[name]
    tree, parent = repo.git("rev-parse", "HEAD^{tree}", "HEAD").split()
    text = (
        f"tree {tree}\nparent {parent}\nauthor \x01A <> {date}\ncommitter A <a@b> "
        f"{date}\n\n".encode()
        + message
    )
    sha = (
        subprocess.run(
            ["git", "hash-object", "-t", "commit", "-w", "--stdin", "--literally"],
            cwd=repo.root,
            input=text,
            capture_output=True,
            check=True,
        )
        .stdout.decode()
        .strip()
    )
    repo.git("update-ref", "HEAD", sha)
    found = next(c for c in log(repo) if c.sha == sha)
    assert len(found.body) <= 9000
    assert len(found.subject) <= 1100
    assert not {"\x1b", "\x07", "\x01"} & set(found.subject + found.body)
    assert found.at[:4].isdigit()
    assert repo.kl("evidence", "show", repo.entries()[0].id).returncode == 0


def test_no_secret_of_a_message_an_author_a_branch_or_a_file_is_stored(repo: Checkout) -> None:
    dice = random.Random(11)
    made = {
        name: SHAPES[name](dice)
        for name in ("github", "gitlab", "stripe", "aws id", "npm", "huggingface", "slack")
    }
    token = [secret for _, secret in made.values()]
    repo.git("checkout", "-q", "-b", f"fix/{token[0]}")
    repo.git("config", "user.name", f"Ada {token[1]}")
    repo.git("config", "user.email", f"{token[2]}@example.org")
    repo.write(f"keys/{token[3]}.txt", "x")
    repo.commit(f"Use {token[4]}\n\nBody {token[5]}\n\nToken: {token[6]}")
    log(repo)
    stored = (
        b"".join(path.read_bytes() for path in repo.state.rglob("*") if path.is_file())
        + repo.stored()
    )
    assert [secret for secret in token if secret.encode() in stored] == []
    assert b"[redacted:" in repo.stored()


def test_a_log_of_thousands_begins_with_the_newest(repo: Checkout) -> None:
    stream = "".join(
        f"commit refs/heads/main\ncommitter A <a@b> {1_700_000_000 + n} +0000\ndata"
        f" {len(str(n))}\n{n}\n" + (f"from {repo.git('rev-parse', 'HEAD')}\n" if n == 0 else "")
        for n in range(2500)
    )
    subprocess.run(
        ["git", "fast-import", "--quiet", "--force"],
        cwd=repo.root,
        input=stream.encode(),
        check=True,
    )
    found = log(repo)
    assert (len(found), found[0].subject) == (2000, "2499")
    repo.git("commit", "-q", "--allow-empty", "-m", "one more")
    assert len(log(repo)) == 2001


def test_a_repository_that_kl_is_not_used_in_stays_unread(tmp_path: Path, home: Path) -> None:
    made = checkout(tmp_path / "other", kl=False)
    done = made.kl("commits", "record")
    assert (done.returncode, done.stderr) == (0, "")
    assert not made.state.exists()


def test_a_git_hook_s_environment_does_not_lead_us_to_another_repository(
    repo: Checkout, tmp_path: Path
) -> None:
    other = checkout(tmp_path / "other")
    stray = {
        "GIT_DIR": str(repo.root / ".git"),
        "GIT_WORK_TREE": str(repo.root),
        "GIT_INDEX_FILE": ".git/index",
    }
    for command in (["run", "--", "true"], ["commits", "record"], ["evidence", "list"]):
        assert other.kl(*command, env=stray).returncode == 0
    found = {e.receipt.source: e.receipt for e in other.entries()}
    head = other.git("rev-parse", "HEAD")
    assert found["command"].head == found["commits"].head == head
    assert found["command"].tree == other.git("rev-parse", "HEAD^{tree}")
    assert not repo.state.exists()
