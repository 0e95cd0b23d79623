"""`kl evidence list`, `show` and `export`, `kl status` and `kl verify`: what they state of a
store.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.evidence.making import leave_run
from tests.support import Checkout, checkout

TESTS = [
    ("tests/test_a.py::test_one", "passed", 5),
    ("tests/test_a.py::test_two[x-1]", "failed", 6),
    ("tests/test_a.py::test_two[x-2]", "passed", 7),
    ("tests/sub/test_b.py::TestB::test_c", "skipped", 8),
]
GREEN = [(name, "passed", micros) for name, _, micros in TESTS]
DETAILS = {TESTS[1][0]: {"message": "assert 1 == 2", "path": "src/x.py", "line": 3}}


@pytest.fixture
def worked(repo: Checkout) -> Checkout:
    """A file, a commit of it, a run with a failure in it, a command, and a claim about it."""
    repo.write("src/x.py", "X = 1\n")
    repo.write("tests/test_a.py", "")
    repo.commit("Add x")
    leave_run(repo.workspace(), TESTS, details=DETAILS)
    assert repo.kl("run", "--", "sh", "-c", "echo broken; exit 3").returncode == 3
    assert repo.kl("claim", "add", "is quick", "--about", "file:src/x.py").returncode == 0
    return repo


def answer(repo: Checkout, *args: str, cwd: Path | None = None) -> Any:
    done = repo.kl(*args, "--format", "json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_list_has_the_shape_that_was_promised(worked: Checkout) -> None:
    found = answer(worked, "evidence", "list")
    assert found["schema"] == "kl.evidence.list/1"
    assert sorted(r["source"] for r in found["receipts"]) == [
        "claim",
        "command",
        "commits",
        "pytest",
    ]
    for receipt in found["receipts"]:
        assert receipt["schema"] == "kl.receipt/1"
        assert receipt.keys() >= {
            "id",
            "source",
            "observer",
            "parent",
            "tree",
            "tree_all",
            "tree_end",
            "moved",
            "head",
            "branch",
            "dirty",
            "started",
            "ended",
            "environment",
            "selection",
            "result",
            "evidence_digest",
            "evidence",
        }
        assert receipt["result"].keys() >= {"exit", "complete", "counts"}
        for one in receipt["evidence"]:
            assert one.keys() >= {"class", "subject", "outcome", "duration_us", "executed"}
    (run,) = answer(worked, "evidence", "list", "--source", "pytest")["receipts"]
    assert {e["subject"]: e["outcome"] for e in run["evidence"]} == {
        f"test:{name}": what for name, what, _ in TESTS
    }
    assert len(answer(worked, "evidence", "list", "--limit", "2")["receipts"]) == 2
    text = worked.kl("evidence", "list").stdout
    assert "1 failed, 2 passed, 1 skipped" in text
    assert "sh -c 'echo broken; exit 3'" in text


def test_show_takes_the_beginning_of_an_id_or_of_a_run(worked: Checkout) -> None:
    (run,) = answer(worked, "evidence", "list", "--source", "pytest")["receipts"]
    for given in (run["id"], run["id"][:8], run["run"][:8], f"r-{run['run'][:6]}"):
        assert answer(worked, "evidence", "show", given) == run
    text = worked.kl("evidence", "show", run["run"][:8]).stdout
    for words in (
        "verdict   failed",
        "failed    test:tests/test_a.py::test_two[x-1]",
        "assert 1 == 2",
        "4 observations",
    ):
        assert words in text
    command = answer(worked, "evidence", "list", "--source", "command")["receipts"][0]
    assert "            broken" in worked.kl("evidence", "show", command["id"]).stdout


KNOWN = {
    "tests/test_a.py": [0, 1, 2],
    "test:tests/test_a.py": [0, 1, 2],
    "./tests/test_a.py": [0, 1, 2],
    "tests/test_a.py::test_two": [1, 2],
    "tests/test_a.py::test_two[x-2]": [2],
    "tests": [0, 1, 2, 3],
    "tests/sub/": [3],
    "tests/sub/test_b.py::TestB": [3],
    "src/x.py": [1],
    "file:src/x.py": [1],
}


def test_show_shows_what_is_recorded_about_a_test_a_file_or_a_folder(worked: Checkout) -> None:
    (run,) = answer(worked, "evidence", "list", "--source", "pytest")["receipts"]
    for about, numbers in KNOWN.items():
        found = answer(worked, "evidence", "show", about)
        assert found["schema"] == "kl.evidence.known/1"
        expected = {f"test:{TESTS[n][0]}": TESTS[n][1] for n in numbers}
        assert {one["subject"]: one["outcome"] for one in found["tests"]} == expected, about
        assert {one["receipt"] for one in found["tests"]} == {run["id"]}
        assert all(one["current"] for one in found["tests"])
        commits = [c["subject"] for c in found["commits"]]
        assert commits == ([] if "::" in about or "sub" in about else ["Add x"]), about
        assert [c["text"] for c in found["claims"]] == (["is quick"] if "src/x.py" in about else [])


def test_the_newest_outcome_counts_and_failures_come_first(worked: Checkout) -> None:
    leave_run(worked.workspace(), [(TESTS[0][0], "failed", 5), (TESTS[1][0], "passed", 6)])
    lines = worked.kl("evidence", "show", "tests").stdout.splitlines()
    assert [line.split()[:2] for line in lines[:2]] == [
        ["skipped", TESTS[3][0]],
        ["failed", TESTS[0][0]],
    ] or [line.split()[0] for line in lines[:2]] == ["failed", "skipped"]
    worked.write("src/x.py", "X = 2\n")
    assert not any(one["current"] for one in answer(worked, "evidence", "show", "tests")["tests"])


def test_a_path_is_taken_from_where_one_is(worked: Checkout) -> None:
    found = answer(worked, "evidence", "show", "test_a.py::test_one", cwd=worked.root / "tests")
    assert (found["about"], len(found["tests"])) == ("tests/test_a.py::test_one", 1)


def test_what_nothing_is_known_about_is_reported_as_such(worked: Checkout) -> None:
    for given in (
        "nosuch.py",
        "tests/test_z.py",
        "ffffffff",
        "abc",
        "",
        "%",
        "tests/test_a",
        "ADR-0001",
    ):
        done = worked.kl("evidence", "show", given)
        assert (done.returncode, done.stdout) == (2, ""), given
        assert "kl evidence list" in done.stderr
        assert "Traceback" not in done.stderr


def test_an_export_is_all_of_it_oldest_first(worked: Checkout, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in worked.kl("evidence", "export").stdout.splitlines()]
    assert lines == answer(worked, "evidence", "list")["receipts"][::-1]
    done = worked.kl("evidence", "export", "-o", str(tmp_path / "no" / "such" / "folder"))
    assert (done.returncode, "Traceback" in done.stderr) == (3, False)


@pytest.mark.local_database
def test_an_edited_receipt_is_named_and_the_rest_can_be_checked(worked: Checkout) -> None:
    from tests.support import sql

    worked.kl("status")
    sql(worked.state / "kl.db", "UPDATE receipt SET outcomes = x'00' WHERE source = 'pytest'")
    done = worked.kl("evidence", "list")
    assert (done.returncode, done.stdout) == (3, "")
    assert "can't be read" in done.stderr
    assert "kl evidence verify" in done.stderr
    found = json.loads(worked.kl("evidence", "verify", "--format", "json").stdout)
    assert len(found["problems"]) == 1
    assert found["schema"] == "kl.evidence.verify/1"


@pytest.mark.slow
def test_status_states_what_is_recorded_and_what_is_proven(worked: Checkout) -> None:
    found = answer(worked, "status")
    assert found["counts"] == {
        "receipts claim": 1,
        "receipts command": 1,
        "receipts commits": 1,
        "receipts pytest": 1,
        "commits": 2,
        "tests": 4,
        "asserted claims": 1,
    }
    assert (found["proof"]["tier"], found["changed"], found["branch"]) == ("guessed", 0, "main")
    leave_run(worked.workspace(), GREEN)
    found = answer(worked, "status")
    assert found["proof"]["tier"] == "inferred"
    text = worked.kl("status").stdout
    assert f"run {found['proof']['run'][:8]} passed on exactly this content" in text
    worked.write("src/x.py", "X = 2\n")
    assert answer(worked, "status")["proof"]["tier"] == "guessed"
    assert "+ 1 uncommitted" in worked.kl("status").stdout


def test_the_gate_asks_for_exactly_this_content(worked: Checkout) -> None:
    assert worked.kl("verify").returncode == 1
    leave_run(worked.workspace(), GREEN)
    assert worked.kl("verify").returncode == 0
    assert worked.kl("verify", "--require", "verified").returncode == 1
    worked.write("src/x.py", "X = 3\n")
    done = worked.kl("verify")
    assert (done.returncode, "hint: run pytest" in done.stdout) == (1, True)
    assert worked.kl("verify", "--at", "HEAD").returncode == 0
    assert worked.kl("verify", env={"PRE_COMMIT_TO_REF": "HEAD"}).returncode == 0
    worked.commit("changed")
    assert worked.kl("verify", "--at", "HEAD").returncode == 1
    done = worked.kl("verify", "--at", "nosuch")
    assert done.returncode == 2
    assert "'nosuch' is not a revision of this repository. See: git log --oneline" in done.stderr


def test_evidence_of_a_dirty_run_holds_for_the_commit_that_follows(repo: Checkout) -> None:
    repo.write("new.py", "N = 1\n")
    leave_run(repo.workspace(), [TESTS[0]])
    assert repo.kl("verify").returncode == 0
    repo.commit("as it was run")
    assert repo.kl("verify", "--at", "HEAD").returncode == 0
    repo.git("commit", "-q", "--amend", "-m", "another id, the same content")
    assert repo.kl("verify", "--at", "HEAD").returncode == 0


def test_a_repository_that_is_only_looked_at_stays_as_it_is(tmp_path: Path, home: Path) -> None:
    made = checkout(tmp_path / "other", kl=False)
    before = sorted(str(path) for path in (made.root / ".git").iterdir())
    for command in (
        ["status"],
        ["evidence", "list"],
        ["evidence", "verify"],
        ["claim", "list"],
        ["verify"],
        ["doctor"],
    ):
        made.kl(*command)
    assert sorted(str(path) for path in (made.root / ".git").iterdir()) == before
    assert list(home.rglob("*.db")) == []
