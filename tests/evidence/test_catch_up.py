"""Ingestion: once each, whoever is faster, whatever lies in the spool; and where it can't be done,
nothing is lost.
"""

from __future__ import annotations

import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.evidence.capture import new_run_id, open_spool, opening_record
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.provenance import worktree_state
from kl_hooks.model.canonical import canonical
from kl_hooks.store.files import store_lock
from kl_hooks.store.spool import first_writable
from kl_hooks.store.state import prepare_state, spool_directories, spool_key
from kl_hooks.workspace import is_set_up, require_setup
from tests.support import NOW, Checkout, checkout, sql

from .making import end_record, leave_run
from .test_audit import problems

TESTS = [("tests/test_a.py::test_one", "passed", 5), ("tests/test_a.py::test_two", "passed", 7)]


def spool(repo: Checkout) -> list[Path]:
    return sorted((repo.state / "spool").glob("*.jsonl*"))


def pytest_runs(repo: Checkout) -> list[str]:
    return [e.receipt.run for e in repo.entries() if e.receipt.source == "pytest"]


def test_each_capture_is_imported_once_and_then_removed(repo: Checkout) -> None:
    runs = [leave_run(repo.workspace(), TESTS) for _ in range(3)]
    assert len(spool(repo)) == 3
    taken = sync_evidence(repo.workspace())
    assert (taken.receipts, taken.trouble, taken.waiting) == (4, "", 0)
    assert spool(repo) == []
    assert pytest_runs(repo) == runs[::-1], "in the order in which they were written"
    assert sync_evidence(repo.workspace()) == type(taken)()
    assert len(repo.entries()) == 4
    assert problems(repo) == ()


@pytest.mark.fault(
    "power loss",
    promised="it is imported once",
    injected="an imported capture comes back",
)
def test_a_spool_that_comes_back_after_a_crash_is_not_doubled(repo: Checkout) -> None:
    """Killed after the commit and before the file was removed."""
    leave_run(repo.workspace(), TESTS)
    (left,) = spool(repo)
    content = left.read_bytes()
    assert sync_evidence(repo.workspace()).receipts == 2
    left.write_bytes(content)
    assert sync_evidence(repo.workspace()).receipts == 0
    assert spool(repo) == []
    assert len(repo.entries()) == 2


@pytest.mark.slow
def test_processes_that_race_take_each_capture_and_each_commit_in_once(repo: Checkout) -> None:
    for n in range(5):
        repo.commit(f"number {n}")
    runs = {leave_run(repo.workspace(), TESTS) for _ in range(12)}
    code = (
        "import sys; from pathlib import Path; from kl_hooks.workspace import open_workspace;from"
        " kl_hooks.evidence.ingestion import sync_evidence; sys.stdin.read();taken ="
        " sync_evidence(open_workspace(Path.cwd())); assert not taken.trouble, taken;"
        " print(taken.receipts)"
    )
    racing = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=repo.root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(6)
    ]
    for process in racing:
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
    assert sum(int(process.communicate()[0]) for process in racing) == 13
    assert [process.returncode for process in racing] == [0] * 6
    assert set(pytest_runs(repo)) == runs
    commits = [
        e.subject
        for x in repo.entries()
        if x.receipt.source == "commits"
        for e in x.receipt.evidence
    ]
    assert len(commits) == len(set(commits)) == 6
    assert spool(repo) == []
    assert problems(repo) == ()


def test_one_that_is_still_written_is_left_alone(repo: Checkout) -> None:
    ws = repo.workspace()
    run = new_run_id()
    with open_spool(ws, run) as writer:
        writer.record(
            opening_record(
                run, "pytest", "pytest", worktree_state(ws.repo), ws.clock.now(), ws.environ
            )
        )
        assert sync_evidence(repo.workspace()).waiting == 1
        assert len(spool(repo)) == 1
    taken = sync_evidence(repo.workspace())
    assert taken.incomplete == (run,), "its writer has gone and there is no end"
    (receipt,) = [e.receipt for e in repo.entries() if e.receipt.run == run]
    assert (receipt.result["complete"], receipt.result["verdict"]) == (False, "inconclusive")


def test_an_altered_line_is_omitted_and_the_run_is_no_success(repo: Checkout) -> None:
    leave_run(repo.workspace(), TESTS)
    (left,) = spool(repo)
    left.write_bytes(left.read_bytes().replace(b'test_two","passed"', b'test_two","failed"'))
    taken = sync_evidence(repo.workspace())
    assert (taken.bad, taken.aside) == (1, ())
    receipt = repo.entries()[1].receipt
    assert [e.subject for e in receipt.evidence] == ["test:tests/test_a.py::test_one"]
    assert receipt.result["complete"] is False
    assert "lost" in receipt.result["reasons"][-1]


def test_a_torn_end_makes_an_incomplete_run(repo: Checkout) -> None:
    run = leave_run(repo.workspace(), TESTS)
    (left,) = spool(repo)
    left.write_bytes(left.read_bytes()[:-20])
    taken = sync_evidence(repo.workspace())
    assert (taken.bad, taken.incomplete) == (1, (run,))


def lines(*records: object) -> bytes:
    bodies = [canonical(record) for record in records]
    return b"".join(b"%b %b\n" % (sha256(body).hexdigest().encode(), body) for body in bodies)


def put(repo: Checkout, name: str, content: bytes) -> Path:
    prepare_state(repo.workspace().state)
    path = repo.state / "spool" / name
    path.write_bytes(content)
    return path


def test_what_a_newer_kl_wrote_stays_for_it(repo: Checkout) -> None:
    newer = put(
        repo, "aa.jsonl", lines({"t": "open", "schema": "kl.spool/2", "run": "ab"}, {"t": "end"})
    )
    content = newer.read_bytes()
    leave_run(repo.workspace(), TESTS)
    taken = sync_evidence(repo.workspace())
    assert (taken.receipts, taken.waiting, taken.aside) == (2, 1, ())
    assert newer.read_bytes() == content


NO_CAPTURES = {
    "noise": b"\x00\xff\n\n" * 9,
    "torn at once": b"0123",
    "no opening": lines(["t", "a", "passed", 1, None, None]),
    "no run": lines({"t": "open", "schema": "kl.spool/1"}),
    "a run that is no id": lines(
        {"t": "open", "schema": "kl.spool/1", "run": "../../x", "source": "pytest"}
    ),
    "wrong kinds everywhere": lines(
        {
            "t": "open",
            "schema": "kl.spool/1",
            "run": 7,
            "source": [],
            "observer": {},
            "started": None,
            "selection": 4,
        }
    ),
}


@pytest.mark.parametrize("name", NO_CAPTURES)
def test_what_can_not_be_understood_is_set_aside_and_troubles_nobody(
    repo: Checkout, name: str
) -> None:
    odd = put(repo, "aa.jsonl", NO_CAPTURES[name])
    leave_run(repo.workspace(), TESTS)
    taken = sync_evidence(repo.workspace())
    aside = repo.state / "spool" / "aa.jsonl.aside"
    assert (taken.receipts, taken.aside) == (2, (str(aside),))
    assert aside.read_bytes() == NO_CAPTURES[name]
    assert not odd.exists()
    assert sync_evidence(repo.workspace()).aside == ()


def test_an_empty_file_is_only_a_start_that_was_killed(repo: Checkout) -> None:
    empty = put(repo, "aa.jsonl", b"")
    assert sync_evidence(repo.workspace()).aside == ()
    assert not empty.exists()


def whole_run(repo: Checkout, run: str) -> bytes:
    ws = repo.workspace()
    place = worktree_state(ws.repo)
    first = opening_record(run, "pytest", "pytest", place, ws.clock.now(), ws.environ)
    rows = [["t", name, outcome, micros, None, None] for name, outcome, micros in TESTS]
    return lines(first, *rows, end_record(place, TESTS, "2026-01-01T00:00:00Z"))


def in_checkout(repo: Checkout, content: bytes, name: str = "aa.jsonl") -> Path:
    path = repo.root / ".kl" / "spool" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_a_spool_in_the_checkout_counts_where_this_clone_wrote_it(repo: Checkout) -> None:
    ws = repo.workspace()
    prepare_state(ws.state)
    writer = first_writable([(repo.root / ".kl" / "spool", spool_key(ws.state))], "aa")
    for line in whole_run(repo, "aa" * 16).splitlines():
        writer.line(line[65:].decode())
    writer.close()
    assert sync_evidence(repo.workspace()).receipts == 2
    assert not writer.path.exists()
    assert {e.origin for e in repo.entries() if e.receipt.source == "pytest"} == {"spool:checkout"}


@pytest.mark.parametrize("has_key", [True, False])
def test_a_spool_of_somebody_else_in_the_working_tree_is_a_missing_run(
    repo: Checkout, has_key: bool
) -> None:
    """As an archive or a submodule brings it: untracked, of this user, with right checksums."""
    if has_key:
        prepare_state(repo.workspace().state)
    path = in_checkout(repo, whole_run(repo, "aa" * 16))
    answer = repo.kl("verify")
    assert answer.returncode == 3
    assert "aa.jsonl was not written by this clone" in answer.stdout
    assert (pytest_runs(repo), path.exists()) == ([], True)
    path.unlink()
    assert repo.kl("verify").returncode == 1


def test_a_spool_that_arrived_with_the_checkout_is_not_believed(repo: Checkout) -> None:
    path = in_checkout(repo, whole_run(repo, "aa" * 16))
    repo.commit("here is my evidence")
    sync_evidence(repo.workspace())
    assert pytest_runs(repo) == []
    assert path.exists()


def test_a_link_in_the_checkout_leads_nowhere(repo: Checkout, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.mkdir()
    (target / "aa.jsonl").write_bytes(whole_run(repo, "aa" * 16))
    (target / "bb.jsonl").write_bytes(b"mine\n")
    (repo.root / ".kl" / "spool").symlink_to(target)
    for _ in range(2):
        taken = sync_evidence(repo.workspace())
        assert (taken.trouble, taken.aside) == ("", ())
        repo.commit("with a link")
    assert pytest_runs(repo) == []
    assert sorted(path.name for path in target.iterdir()) == ["aa.jsonl", "bb.jsonl"]


def test_other_files_in_the_checkout_are_left_alone(repo: Checkout) -> None:
    path = in_checkout(repo, b"somebody's notes\n")
    assert sync_evidence(repo.workspace()).aside == ()
    assert path.read_bytes() == b"somebody's notes\n"


def test_a_spool_of_somebody_else_is_left_alone(repo: Checkout) -> None:
    path = put(repo, "aa.jsonl", whole_run(repo, "aa" * 16))
    if os.getuid() == 0:
        os.chown(path, 65534, 65534)
    else:
        path.chmod(0)
    assert sync_evidence(repo.workspace()).waiting == 1
    assert path.exists()
    assert pytest_runs(repo) == []


def test_the_user_s_spool_is_imported_and_marked(repo: Checkout) -> None:
    ws = repo.workspace()
    folder, origin = spool_directories(ws.state, ws.root, ws.environ)[1]
    folder.mkdir(parents=True)
    (folder / "aa.jsonl").write_bytes(whole_run(repo, "aa" * 16))
    sync_evidence(repo.workspace())
    assert (
        [e.origin for e in repo.entries() if e.receipt.source == "pytest"]
        == [origin]
        == ["spool:user"]
    )


@pytest.mark.local_database
def test_a_locked_store_leaves_everything_where_it_is(
    repo: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync_evidence(repo.workspace())
    leave_run(repo.workspace(), TESTS)
    monkeypatch.setenv("KL_LOCK_WAIT", "0.05")
    with store_lock(repo.state / "store.lock", wait=0, what="a test"):
        taken = sync_evidence(repo.workspace())
    assert "(a test) holds it" in taken.trouble
    assert (taken.receipts, taken.waiting, len(spool(repo))) == (0, 1, 1)
    assert sync_evidence(repo.workspace()).receipts == 1


NEWER = {
    "schema step": ("INSERT INTO schema_step VALUES ('evidence', 99)",),
    "format": ("PRAGMA user_version = 7",),
}


@pytest.mark.local_database
@pytest.mark.parametrize("how", NEWER)
def test_a_newer_store_is_not_written(repo: Checkout, how: str) -> None:
    sync_evidence(repo.workspace())
    sql(repo.state / "kl.db", *NEWER[how])
    content = (repo.state / "kl.db").read_bytes()
    leave_run(repo.workspace(), TESTS)
    repo.commit("unread")
    taken = sync_evidence(repo.workspace())
    assert "newer kl" in taken.trouble
    assert (taken.waiting, len(spool(repo))) == (1, 1)
    assert (repo.state / "kl.db").read_bytes() == content


@pytest.mark.local_database
@pytest.mark.parametrize(
    "content", [b"garbage" * 100, b"SQLite format 3\0" + b"\xff" * 5000], ids=["noise", "like it"]
)
def test_a_damaged_store_stays_and_so_does_the_spool(repo: Checkout, content: bytes) -> None:
    sync_evidence(repo.workspace())
    (repo.state / "kl.db").write_bytes(content)
    leave_run(repo.workspace(), TESTS)
    taken = sync_evidence(repo.workspace())
    assert "kl.db" in taken.trouble
    assert (taken.waiting, len(spool(repo))) == (1, 1)
    assert (repo.state / "kl.db").read_bytes() == content


def test_a_damaged_history_is_reported_and_captures_are_imported(repo: Checkout) -> None:
    sha = repo.commit("second")
    repo.commit("third")
    leave_run(repo.workspace(), TESTS)
    (repo.root / ".git" / "objects" / sha[:2] / sha[2:]).unlink()
    taken = sync_evidence(repo.workspace())
    assert taken.receipts == 1
    assert "git log" in taken.blind


def test_looking_makes_nothing_where_kl_is_not_used(tmp_path: Path, home: Path) -> None:
    made = checkout(tmp_path / "other", kl=False)
    before = sorted(path for path in tmp_path.rglob("*") if "objects" not in path.parts)
    assert sync_evidence(made.workspace()).receipts == 0
    assert not is_set_up(made.workspace())
    with pytest.raises(EnvironmentProblem, match="kl init"):
        require_setup(made.workspace())
    assert sorted(path for path in tmp_path.rglob("*") if "objects" not in path.parts) == before


def test_a_note_of_a_commit_is_removed_once_it_is_read(repo: Checkout) -> None:
    sync_evidence(repo.workspace())
    repo.commit("second")
    assert repo.kl("commits", "record").returncode == 0
    assert (repo.state / "spool" / "commits").read_text() == "commit\n"
    assert sync_evidence(repo.workspace()).receipts == 1
    assert not (repo.state / "spool" / "commits").exists()


def test_what_a_start_that_was_killed_left_is_removed_later(repo: Checkout) -> None:
    old, new = (put(repo, f".{name}.jsonl.new", b"x") for name in ("old", "new"))
    for path, age in ((old, 25), (new, 1)):
        os.utime(path, (NOW / 1e6 - age * 3600,) * 2)
    sync_evidence(repo.workspace())
    assert (old.exists(), new.exists()) == (False, True)
