"""`kl status` and `kl verify`: what is there in plain words, and a proof that says what it does not prove."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support import Checkout, checkout

TEST = "from helper import X\n\n\ndef test_x():\n    assert X == 1\n"


def test_a_pass_beside_untracked_files_is_said_to_be_one(repo: Checkout) -> None:
    repo.write("test_x.py", TEST)
    repo.commit("the test, without what it needs")
    repo.write("helper.py", "X = 1\n")
    assert repo.pytest("-q").returncode == 0
    done = repo.kl("verify")
    assert "passed on this content, with untracked files beside it" in done.stdout
    assert "No commit holds those." in done.stdout
    assert json.loads(repo.kl("verify", "--format", "json").stdout)["untracked"] is True
    assert "passed on this content, with untracked files beside it" in repo.kl("status").stdout
    repo.commit("and what it needs")
    done = repo.kl("verify")
    assert done.returncode == 0
    assert "passed on exactly this content" in done.stdout, "it ran with the files of this commit"
    assert json.loads(repo.kl("status", "--format", "json").stdout)["proof"]["untracked"] is False


def test_verify_without_a_repository_is_no_proof(home: Path, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    done = Checkout(tmp_path / "plain").kl("verify")
    assert (done.returncode, done.stdout) == (3, "")
    assert "not a git repository" in done.stderr


def test_status_counts_in_plain_words(repo: Checkout) -> None:
    assert "1 receipt (1 commits), 1 commit\n" in repo.kl("status").stdout
    repo.kl("run", "--", "true")
    repo.kl("run", "--", "true")
    assert "3 receipts (2 command, 1 commits), 1 commit\n" in repo.kl("status").stdout


def test_status_before_the_first_commit(home: Path, tmp_path: Path) -> None:
    made = checkout(tmp_path / "new")
    made.git("update-ref", "-d", "HEAD")
    assert "   main no commit yet" in made.kl("status").stdout.splitlines()[0]


def test_a_source_without_evidence_is_not_no_evidence(repo: Checkout) -> None:
    repo.kl("run", "--", "true")
    assert repo.kl("evidence", "list", "--source", "pyt").stdout == (
        "no evidence of source 'pyt'. See: kl evidence list\n"
    )
