"""`kl verify`, `kl status` and the tool: no answer from a part of the evidence, and messages that
state what to do.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.evidence.high_water import read_marks
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.snapshot import snapshot
from kl_hooks.store.spool import SpoolWriter
from tests.cli.states import HOLDER, WITHOUT_RIGHTS
from tests.evidence.making import leave_run
from tests.support import KL, Checkout, Done, checkout, run, sql

GREEN = [("test_x.py::test_a", "passed", 5), ("test_x.py::test_b", "passed", 5)]
RED = [("test_x.py::test_a", "passed", 5), ("test_x.py::test_b", "failed", 5)]
FILES = {"test_x.py": "def test_a(): pass\ndef test_b(): pass\n", "src/a.py": "", "src/b.py": ""}


@pytest.fixture
def proven(tmp_path: Path, home: Path) -> Checkout:
    """A repository whose content is proven by one run, which is in the store."""
    made = checkout(tmp_path / "repo", FILES)
    leave_run(made.workspace(), GREEN)
    sync_evidence(made.workspace())
    assert made.kl("verify").returncode == 0
    return made


def plain(repo: Checkout, *args: str, **more: Any) -> Any:
    return json.loads(repo.kl(*args, "--format", "json", **more).stdout)


def verdicts(repo: Checkout, env: dict[str, str] | None = None) -> list[tuple[bool, list[str]]]:
    """(proven, what could not be read) as `verify`, `status` and the tool state it."""
    gate = plain(repo, "verify", env=env)
    status = plain(repo, "status", env=env)["proof"]
    tool = json.loads(repo.kl("tool", "verify", "{}", env=env).stdout)["result"]
    return [
        (gate["proven"], gate["unread"]),
        (status["run"] is not None, status["unread"]),
        (tool["proven"], tool["unread"]),
    ]


@contextmanager
def locked(repo: Checkout) -> Iterator[dict[str, str]]:
    """Another process holds the store lock."""
    command = [sys.executable, "-c", HOLDER, str(repo.state / "store.lock")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            yield {"KL_LOCK_WAIT": "0.05"}
        finally:
            holder.kill()


@pytest.mark.slow
def test_a_failing_run_that_waits_in_the_spool_counts_while_the_store_is_locked(
    proven: Checkout,
) -> None:
    failed = leave_run(proven.workspace(), RED)
    with locked(proven) as env:
        done = proven.kl("verify", env=env)
        why = f"not proven: run {failed[:8]} failed on this content (1 failed, 1 passed)"
        assert (done.returncode, why in done.stdout) == (1, True)
        assert "1 capture read from the spool: not in the store yet." in done.stderr
        assert verdicts(proven, env) == [(False, [])] * 3
        text = proven.kl("status", env=env).stdout
        assert (
            f"run {failed[:8]} failed on this content (1 failed, 1 passed). See: kl evidence show"
            f" {failed[:8]}" in text
        )
        again = leave_run(proven.workspace(), GREEN)
        assert verdicts(proven, env) == [(True, [])] * 3
        assert plain(proven, "verify", env=env)["run"] == again
        assert plain(proven, "verify", env=env)["waiting"] == 2
    assert proven.kl("verify").returncode == 0, "the same answer when they are imported"
    assert plain(proven, "verify")["waiting"] == 0


@pytest.mark.local_database
def test_a_store_of_a_newer_kl_is_not_assessed(proven: Checkout) -> None:
    sql(proven.state / "kl.db", "INSERT INTO schema_step VALUES ('evidence', 99)")
    leave_run(proven.workspace(), RED)
    done = proven.kl("verify")
    assert done.returncode == 3
    assert "not assessed: " in done.stdout and "was made by a newer kl" in done.stdout
    assert "hint: kl doctor names the problem and the fix" in done.stdout
    assert all(not good and unread for good, unread in verdicts(proven))
    assert plain(proven, "verify")["assessed"] is False
    assert "tests     not assessed:" in proven.kl("status").stdout


@pytest.mark.slow
@pytest.mark.fault(
    "read-only place",
    promised="the verdict is given, and what can't be read is named",
    injected="chmod of the state folder",
)
def test_a_read_only_state_folder(proven: Checkout) -> None:
    leave_run(proven.workspace(), RED)
    for path in [*proven.state.rglob("*"), proven.state]:
        path.chmod(stat.S_IMODE(path.stat().st_mode) & 0o555)

    def kl(*args: str) -> Done:
        return run([sys.executable, "-c", WITHOUT_RIGHTS, *KL, *args], proven.root)

    assert kl("verify").returncode == 1
    leave_run(proven.workspace(), GREEN)
    assert kl("verify").returncode == 0
    (proven.state / "spool" / "x.jsonl").touch()
    (proven.state / "spool" / "x.jsonl").chmod(0)
    done = kl("verify")
    assert (done.returncode, "x.jsonl can't be read (Permission denied)" in done.stdout) == (
        3,
        True,
    )
    for path in [proven.state, *proven.state.rglob("*")]:
        path.chmod(0o755)


FULL = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.slow
@pytest.mark.fault(
    "full disk",
    promised="the verdict needs no write",
    injected="RLIMIT_FSIZE of 0",
)
def test_a_full_disk(proven: Checkout) -> None:
    def kl(*args: str) -> Done:
        return run([sys.executable, "-c", FULL, *KL, *args], proven.root)

    failed = leave_run(proven.workspace(), RED)
    done = kl("verify")
    assert (done.returncode, f"run {failed[:8]} failed" in done.stdout) == (1, True), done.stderr
    assert "Traceback" not in done.stderr
    leave_run(proven.workspace(), GREEN)
    assert kl("verify").returncode == 0
    done = kl("doctor")
    assert "wrong   store" in done.stdout and "the disk is full (File too large; " in done.stdout
    assert "fix: free at least" in done.stdout
    assert "disk is full" not in proven.kl("doctor").stdout


@pytest.mark.slow
def test_a_disk_without_a_free_byte(proven: Checkout, tmp_path: Path) -> None:
    script = (
        'mount -t tmpfs -o size=512k none "$1" && cp -r "$2"/. "$1" && cd "$3" && export'
        ' KL_STATE="$1" && shift 3 && "$@" evidence list >/dev/null; cp /late/*.jsonl'
        ' "$KL_STATE/spool/"; cat /dev/zero > "$KL_STATE/fill" 2>&-; "$@" verify; echo "exit $?";'
        ' "$@" doctor'
    )
    (tmp_path / "disk").mkdir()
    late = tmp_path / "late"
    late.mkdir()
    failed = leave_run(proven.workspace(), RED)
    (proven.state / "spool" / f"{failed}.jsonl").rename(late / f"{failed}.jsonl")
    script = script.replace("/late", str(late))
    places = [str(tmp_path / "disk"), str(proven.state), str(proven.root)]
    done = run(["unshare", "-rm", "sh", "-c", script, "sh", *places, *KL], proven.root)
    if "exit " not in done.stdout:
        pytest.skip("this machine lets nobody mount anything")
    assert f"run {failed[:8]} failed" in done.stdout and "exit 1" in done.stdout, (
        done.stdout + done.stderr
    )
    assert "the disk is full (No space left on device; " in done.stdout


def test_a_spool_file_that_cannot_be_understood_is_named(proven: Checkout) -> None:
    newer = SpoolWriter.create(proven.state / "spool", "newer")
    newer.record({"t": "open", "schema": "kl.spool/9"})
    assert proven.kl("verify").returncode == 0, "it is still being written"
    newer.close()
    done = proven.kl("verify")
    assert done.returncode == 3
    unread = "newer.jsonl was written by another version of kl (schema kl.spool/9)"
    assert unread in done.stdout
    # it may be of a run in which the others failed
    assert [
        unread in proven.kl("proof", *args).stderr for args in (["impacted"], ["tests", "f"])
    ] == [True, True]
    newer.path.unlink()
    torn = proven.state / "spool" / "torn.jsonl"
    torn.write_text("nonsense\n")
    for _ in range(2):  # it is set aside by the first, and known to the second
        done = proven.kl("verify")
        assert (done.returncode, "torn.jsonl" in done.stdout) == (3, True)
        assert "look at it, then delete it" in done.stdout
    (proven.state / "spool" / "torn.jsonl.aside").unlink()
    assert proven.kl("verify").returncode == 0


def test_what_is_imported_between_two_looks_is_seen_once(proven: Checkout) -> None:
    leave_run(proven.workspace(), RED)
    ws = proven.workspace()
    name = next((proven.state / "spool").glob("*.jsonl"))
    copy = name.read_bytes()
    sync_evidence(proven.workspace())
    with locked(proven) as env:
        name.write_bytes(copy)
        assert plain(proven, "verify", env=env)["waiting"] == 0
    with snapshot(ws) as seen:
        assert (
            len([one for one in seen.of_tree(ws_trees(proven)) if one.receipt.source == "pytest"])
            == 2
        )


def ws_trees(repo: Checkout) -> tuple[str, ...]:
    return (repo.git("rev-parse", "HEAD^{tree}"),)


# the marks


def older_copy(repo: Checkout) -> None:
    """Put the store back to before its last run, which failed."""
    older = repo.root.parent / "older.db"
    shutil.copy(repo.state / "kl.db", older)
    leave_run(repo.workspace(), RED)
    assert repo.kl("verify").returncode == 1
    shutil.copy(older, repo.state / "kl.db")


@pytest.mark.local_database
@pytest.mark.parametrize("first", [True, False], ids=["both marks", "only that of the user"])
def test_an_older_store_is_not_assessed_until_it_is_accepted(proven: Checkout, first: bool) -> None:
    older_copy(proven)
    if not first:
        (proven.state / "high-water").unlink()
    for commits in range(2):  # what is added since does not hide it
        done = proven.kl("verify")
        number = len(proven.entries())
        now = f", now {number}" if number < 3 else f"; not all of them are among its {number} now"
        assert done.returncode == 1
        assert (
            f"{now}\n" in done.stdout
            and "not assessed: this store had 3 receipts on 20" in done.stdout
        )
        assert "kl evidence accept --reason TEXT" in done.stdout
        assert [good for good, _ in verdicts(proven)] == [False] * 3
        assert "this store had 3 receipts on" in proven.kl("status").stdout
        assert "wrong   store        this store had 3 receipts on" in proven.kl("doctor").stdout
        proven.git("commit", "-q", "--allow-empty", "-m", f"more {commits}")
    assert proven.kl("evidence", "verify").returncode == 1
    assert proven.kl("evidence", "accept").returncode == 2
    assert proven.kl("evidence", "accept", "--reason", " ").returncode == 2
    done = proven.kl("evidence", "accept", "--reason", "restored from Monday's backup")
    assert (done.returncode, "accepted: this store had 3 receipts on 20" in done.stdout) == (
        0,
        True,
    )
    assert proven.kl("verify").returncode == 0
    for command in (("doctor",), ("evidence", "verify")):
        assert "this store had 3 receipts, then" in proven.kl(*command).stdout
        assert "restored from Monday's backup" in proven.kl(*command).stdout
    assert proven.kl("evidence", "verify").returncode == 0
    (event,) = plain(proven, "evidence", "verify")["accepted"]
    assert event["lost"][0]["had"] == 3 and event["by"].startswith("local:")
    assert "nothing to accept" in proven.kl("evidence", "accept", "--reason", "again").stdout


@pytest.mark.local_database
@pytest.mark.parametrize("removed", ["kl.db", "", "emptied"])
@pytest.mark.share(3)
def test_a_store_that_was_removed(proven: Checkout, removed: str) -> None:
    if removed == "emptied":
        (proven.state / "kl.db").write_bytes(b"")
    elif removed:
        (proven.state / removed).unlink()
    else:
        shutil.rmtree(proven.state)
    done = proven.kl("doctor")
    assert "this store had 2 receipts on 2027-01-15, now 0" in done.stdout
    assert (
        f"kl.db {'is empty (0 bytes)' if removed == 'emptied' else 'was deleted'}" in done.stdout
    ) is True
    done = proven.kl("verify")
    assert (done.returncode, "this store had 2 receipts on 2027-01-15" in done.stdout) == (1, True)
    assert proven.kl("evidence", "accept", "--reason", "deleted on purpose").returncode == 0
    done = proven.kl("verify")
    assert (done.returncode, "no passing full test run recorded" in done.stdout) == (1, True)


@pytest.mark.local_database
def test_a_copy_of_the_repository_raises_no_alarm(proven: Checkout, tmp_path: Path) -> None:
    subprocess.run(["cp", "-a", str(proven.root), str(tmp_path / "copy")], check=True)
    copy = Checkout(tmp_path / "copy")
    assert copy.kl("verify").returncode == 0
    leave_run(copy.workspace(), GREEN)
    assert copy.kl("verify").returncode == 0
    assert proven.kl("verify").returncode == 0
    shutil.rmtree(proven.root)
    again = checkout(proven.root, FILES)  # may have the inode of the old one
    leave_run(again.workspace(), GREEN)
    assert again.kl("verify").returncode == 0
    moved = proven.root.rename(tmp_path / "moved")
    assert Checkout(moved).kl("verify").returncode == 0


@pytest.mark.local_database
def test_a_mark_of_the_previous_release_and_a_home_that_cannot_be_written(
    proven: Checkout, home: Path
) -> None:
    mark = proven.state / "high-water"
    plain_mark = json.loads(mark.read_text())
    mark.write_text(json.dumps({"seq": plain_mark["seq"], "chain": plain_mark["chain"]}))
    assert proven.kl("verify").returncode == 0
    shutil.rmtree(home / ".local")
    (home / ".local").write_text("no folder")
    leave_run(proven.workspace(), GREEN)
    done = proven.kl("verify")
    assert (done.returncode, done.stderr) == (0, "")
    assert read_marks(proven.workspace()).second is None
    mark.write_text(json.dumps({"seq": 99, "chain": "ab"}))
    old = 1_700_000_000
    os.utime(mark, (old, old))
    assert "this store had 99 receipts on 2023-11-14, now 3" in proven.kl("verify").stdout


def test_writers_at_the_same_time_raise_no_alarm(proven: Checkout) -> None:
    command = [*KL, "run", "--", "true"]
    writers = [subprocess.Popen(command, cwd=proven.root) for _ in range(4)]
    answers = {proven.kl("verify").returncode for _ in range(4)}
    assert {one.wait() for one in writers} == {0}
    assert answers == {0}


@pytest.mark.local_database
def test_edited_headers_and_a_damaged_store_are_named_by_the_doctor(proven: Checkout) -> None:
    edit = "UPDATE receipt SET header = REPLACE(header, 'passed', 'failed') WHERE source = 'pytest'"
    sql(proven.state / "kl.db", edit)
    done = proven.kl("doctor")
    assert done.returncode == 1
    assert "1 receipt edited: the ID is not the hash of the header (receipt 1)." in done.stdout
    sql(proven.state / "kl.db", "UPDATE receipt SET header = CAST(x'ff' AS TEXT) WHERE seq = 2")
    done = proven.kl("doctor")
    assert done.returncode == 1
    assert (
        "kl.db: can't be read" in done.stdout
        and "fix: copy the file if you want to examine it" in done.stdout
    )


# what is reported


def test_the_empty_tree_of_an_unborn_branch_is_never_proven(home: Path, tmp_path: Path) -> None:
    made = Checkout(tmp_path / "new")
    made.root.mkdir()
    made.git("init", "-q")
    made.write(".gitignore", "__pycache__/\n")
    made.write(".kl/README.md", "Here.\n")
    made.write("test_x.py", "def test_a(): pass\n")
    leave_run(made.workspace(), GREEN)
    done = made.kl("verify")
    assert (
        done.returncode,
        "the content tree is empty: git tracks no file yet" in done.stdout,
    ) == (1, True)
    assert "hint: git add your files, then run pytest" in done.stdout
    assert [good for good, _ in verdicts(made)] == [False] * 3
    made.commit("as it was run")
    assert made.kl("verify").returncode == 0


@pytest.mark.requirement("A49")
def test_without_a_set_up_the_gate_is_closed_and_with_recorded_runs_alone_it_judges(
    home: Path, tmp_path: Path
) -> None:
    repo = checkout(tmp_path / "bare", FILES, kl=False)
    for args in ((), ("--format", "json"), ("--type", "feature")):
        done = repo.kl("verify", *args)
        assert (done.returncode, done.stdout) == (
            3,
            "",
        ) and "Set it up with: kl init" in done.stderr, args
    leave_run(repo.workspace(), GREEN)
    assert repo.kl("verify").returncode == 0, "recorded without .kl/, as pytest --kl does"


def test_without_python_the_first_step_is_a_report_of_its_tests(repo: Checkout) -> None:
    repo.write("src/lib.rs", "pub fn total() -> u64 { 1 }\n")
    repo.commit("a total")
    step = "hint: import the report of your tests: kl evidence import junit FILE --tree "
    committed = repo.git("rev-parse", "HEAD^{tree}").strip()
    repo.write("src/lib.rs", "pub fn total() -> u64 { 2 }\n")
    repo.git("add", "-A")
    staged = repo.git("write-tree").strip()
    repo.write("src/lib.rs", "pub fn total() -> u64 { 3 }\n")
    on_disk = plain(repo, "status")["tree"]
    for command, tree in (
        (("status",), on_disk),
        (("verify",), on_disk),
        (("verify", "--staged"), staged),
        (("verify", "--tree", "HEAD"), committed),
    ):
        assert f"{step}{tree}\n" in repo.kl(*command).stdout, command
    assert len({committed, staged, on_disk}) == 3
    (repo.root / "report.xml").write_text(
        '<testsuite><testcase classname="shop" name="has_a_total"/></testsuite>', encoding="utf-8"
    )
    assert repo.kl("evidence", "import", "junit", "report.xml", "--tree", on_disk).returncode == 0
    assert step not in repo.kl("verify").stdout
    # a file of Python is one in which pytest may find tests
    repo.write("tool.py", "")
    repo.git("add", "tool.py")
    for command in (("status",), ("verify", "--staged")):
        assert step not in repo.kl(*command).stdout, command


def test_which_files_differ_from_the_proven_content_is_reported(proven: Checkout) -> None:
    proven.write("CHANGELOG.rst", "x\n")
    proven.git("add", "-A")
    proven.write("src/a.py", "A = 1\n")
    proven.write("src/b.py", "B = 1\n")
    (run_id,) = {one.receipt.run for one in proven.entries() if one.receipt.source == "pytest"}
    printed = (
        f"only CHANGELOG.rst and src/ (2 files) differ from the proven content of run {run_id[:8]}"
    )
    done = proven.kl("verify")
    assert (done.returncode, printed in done.stdout) == (1, True)
    assert "not proven: no evidence (one complete passing run required)" in done.stdout
    assert "no passing full test run recorded for this content. hint: run pytest" in done.stdout
    assert printed in proven.kl("status").stdout
    near = plain(proven, "verify")["nearest"]
    assert (near["paths"], near["total"], near["run"]) == (
        ["CHANGELOG.rst", "src/a.py", "src/b.py"],
        3,
        run_id,
    )
    for number in range(4):
        proven.write(f"d{number}/x.py", "")
    proven.commit("more")
    assert (
        "7 files differ from the proven content of run"
        in proven.kl("verify", "--at", "HEAD").stdout
    )
    assert "CHANGELOG.rst, d0/x.py, d1/x.py and 3 more" in proven.kl("verify").stdout
    proven.git("rm", "-q", "-r", "--cached", ".")
    assert proven.kl("verify").returncode == 1


@pytest.mark.slow
def test_reasons_of_partial_runs_are_not_reported_of_a_proven_content(proven: Checkout) -> None:
    assert proven.pytest("-q", "-k", "test_a").returncode == 0
    done = proven.kl("verify")
    assert done.returncode == 0
    assert "only a selection" not in done.stdout + proven.kl("status").stdout
    found = plain(proven, "verify")
    assert found["reasons"] == []
    # the run of the fixture recorded no distributions: one note, and nothing of the selection
    assert plain(proven, "status")["proof"]["reasons"] == found["notes"]
    (note,) = found["notes"]
    assert note.endswith("which distributions were installed was not recorded; run the tests once")
    proven.write("src/a.py", "A = 1\n")
    assert proven.pytest("-q", "-k", "test_a").returncode == 0
    assert "only a selection ran (-k 'test_a'" in proven.kl("verify").stdout
    # of several the newest is named
    assert proven.pytest("-q", "-k", "test_a or test_none").returncode == 0
    shown = proven.kl("verify").stdout
    assert "only a selection ran (-k 'test_a or test_none'" in shown
    assert "\n  1 older run: only a selection ran, too\n" in shown and "-k 'test_a'" not in shown


@pytest.mark.slow
def test_a_run_has_one_name_and_runs_without_tests_are_listed_on_demand(proven: Checkout) -> None:
    for args, code in ((["--collect-only"], 0), (["nosuch.py"], 4)):
        assert proven.pytest("-q", *args).returncode == code
    done = proven.pytest("-q")
    (named,) = {
        line.split()[2].rstrip(":")
        for line in done.stdout.splitlines()
        if line.startswith("kl: run ")
    }
    lines = proven.kl("evidence", "list").stdout.splitlines()
    assert lines[0].startswith(f"{named}  ") and len(lines) == 4
    assert lines[-1] == "2 runs without tests (--collect-only, usage errors) not shown: --all"
    assert f"run {named} passed on exactly this content" in proven.kl("verify").stdout
    receipt = plain(proven, "evidence", "list")["receipts"][0]
    for given in (named, receipt["run"], receipt["id"], receipt["id"][:12]):
        shown = proven.kl("evidence", "show", given).stdout
        assert shown.startswith(f"run       {named}   pytest, seen by pytest\n")
        assert receipt["id"][:8] not in shown
    found = plain(proven, "evidence", "list", "--limit", "2")
    assert (len(found["receipts"]), found["total"], found["hidden"]) == (2, 3, 2)
    assert (
        "the first 2 of 3; more with --top" in proven.kl("evidence", "list", "--limit", "2").stderr
    )
    found = plain(proven, "evidence", "list", "--all")
    assert (len(found["receipts"]), found["total"], found["hidden"]) == (5, 5, 0)
    assert "not shown" not in proven.kl("evidence", "list", "--all").stdout
    assert proven.kl("status").stdout.count("inconclusive") == 0


def test_a_claim_about_an_older_content_is_stale_before_anything_else(proven: Checkout) -> None:
    proven.write("src/a.py", "A = 1\n")
    rows = proven.kl("claim", "list").stdout.splitlines()
    assert len(rows) == 2 and all(
        "  stale: inferred on an older tree  Test passes: " in row for row in rows
    )
    shown = proven.kl("claim", "show", rows[0].split()[0]).stdout
    assert "status     stale: inferred on an older tree\n" in shown and "\ntier " not in shown
    text = proven.kl("context", "test_x.py::test_a fails", "--budget", "6000").stdout
    assert "[stale: inferred on an older tree" in text
    assert "[inferred · older tree" not in text


@pytest.fixture
def gated(repo: Checkout) -> Checkout:
    repo.write("test_a.py", "def test_a(): pass\n")
    repo.kl("seed", "--system")
    repo.commit()
    return repo


def verdict(repo: Checkout, *args: str) -> tuple[int, dict[str, Any]]:
    done = repo.kl("verify", *args, "--format", "json")
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.requirement("B34")
def test_the_gate_that_fits_is_applied_and_what_it_can_not_check_is_named(gated: Checkout) -> None:
    work = ("--type", "feature", "--complexity", "5")
    code, found = verdict(gated, *work)
    assert code == 1 and "gate" not in verdict(gated)[1]
    assert {one["demand"]: one["met"] for one in found["gate"]["demands"]} == {
        "tests": False,
        "lint": None,
        "coverage": None,
        "arch_review": None,
    }
    assert found["gate"]["not_checked"] == ["lint", "coverage", "arch_review"]
    assert gated.pytest("-q").returncode == 0
    assert verdict(gated, *work)[0] == 0
    text = gated.kl("verify", *work).stdout
    assert "feature, complexity 4-6" in text and "not checked  coverage at least 75 %" in text
    assert "met          all tests pass" in text
    linter = gated.root.parent / "flake8"
    for status, met in ((1, False), (0, True)):
        # the last run of a linter on this very content decides
        linter.write_text(f"#!/bin/sh\nexit {status}\n")
        linter.chmod(0o755)
        gated.kl("run", "--", str(linter))
        code, found = verdict(gated, *work)
        assert code == (0 if met else 1)
        assert {one["demand"]: one["met"] for one in found["gate"]["demands"]}["lint"] is met


def test_a_gate_that_is_hidden_is_named_in_no_note(gated: Checkout) -> None:
    work = ("--type", "feature", "--complexity", "5")
    assert "GATE-0003: " in gated.kl("verify", *work).stderr
    rule = "deny: {kinds: [gate], actors: [agent]}"
    gated.write(".kl/policy.yaml", f"version: 1\nrules:\n  - name: gates\n    {rule}\n")
    done = gated.kl("verify", *work, env={"KL_AGENT": "bot"})
    assert "GATE-0003" not in done.stdout + done.stderr, done
    assert "GATE-0003: " in gated.kl("verify", *work).stderr


@pytest.mark.slow
def test_the_advice_of_a_gate_changes_its_verdict_and_strict_needs_all_of_it(
    gated: Checkout,
) -> None:
    pytest.importorskip("pytest_cov")
    gated.write("shop.py", "def a():\n    return 1\n\n\ndef b():\n    return 2\n")
    gated.write("test_a.py", "import shop\n\ndef test_a():\n    assert shop.a() == 1\n")
    gated.write(".gitignore", ".coverage*\n")
    gated.commit()
    work = ("--type", "feature", "--complexity", "5")
    for threshold, met in (("60", True), ("90", False)):
        gated.kl("gate", "edit", "GATE-0003", "--coverage-threshold", threshold)
        gated.commit()
        gated.pytest("-q", "-p", "pytest_cov", "--cov=shop", f"--cov-fail-under={threshold}")
        code, found = verdict(gated, *work)
        demand = next(one for one in found["gate"]["demands"] if one["demand"] == "coverage")
        assert (code, demand["met"]) == (0 if met else 1, met), demand
        assert "75 % of shop in run" in demand["reason"]
    gated.kl("gate", "edit", "GATE-0003", "--coverage-threshold", "60")
    gated.commit()
    gated.pytest("-q", "-p", "pytest_cov", "--cov=shop")
    done = gated.kl("verify", *work)
    assert done.returncode == 0
    assert done.stderr == (
        "kl: GATE-0003: 2 demands not checked: lint, arch_review. With --strict that is exit 1.\n"
    )
    assert gated.kl("verify", *work, "--strict").returncode == 1
    no_more = ("--arch-review-required", "false", "--lint-required", "false")
    gated.kl("gate", "edit", "GATE-0003", *no_more)
    gated.commit()
    gated.pytest("-q", "-p", "pytest_cov", "--cov=shop")
    done = gated.kl("verify", *work, "--strict")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Add --type feature" in gated.kl("verify", "--strict").stderr


@pytest.mark.slow
def test_a_task_states_its_gate_and_one_without_a_type_is_refused(gated: Checkout) -> None:
    gated.kl("task", "new", "Write it", "--task-type", "docs", "--complexity", "3")
    gated.kl("task", "new", "Do it")
    code, found = verdict(gated, "--task", "TSK-0001")
    # documents demand nothing
    assert (code, found["proven"], found["gate"]["demands"]) == (0, False, [])
    for args, printed in (
        (("--task", "TSK-0002"), "has no type of work"),
        (("--type", "zebra"), "no active gate"),
        (("--complexity", "5"), "Add --type feature"),
        (("--task", "TSK-0099"), "TSK-0099"),
        (("--type", "scaffolding", "--complexity", "9"), "no gate covers complexity 9"),
    ):
        done = gated.kl("verify", *args)
        assert done.returncode == 2 and printed in done.stderr, args


HELPERS = """
import enum, unittest, other
from shop import Schema
from shop.base import Case
from .test_x import Local as Relative
class Local: pass
"""
SCHEMA = """
import unittest
class Meta(type): pass
class Schema(metaclass=Meta): pass
class Case(Schema, unittest.TestCase): pass
"""


def test_classes_that_can_be_no_tests_are_not_named(tmp_path: Path, home: Path) -> None:
    none = {
        "OfPackage": "Schema",
        "OfRelative": "Relative",
        "OfLocal": "Local, enum.Enum",
        "OfError": "ValueError",
    }
    # its name is that of a test, or its base is of unittest, unknown, or made
    maybe = {
        "TestNamed": "Schema",
        "OfCase": "Case",
        "OfOther": "other.Base",
        "OfMade": "type('X', (), {})",
    }
    classes = [
        f"class {name}({base}):\n    def test_f(self): pass\n"
        for name, base in (none | maybe).items()
    ]
    files = {
        "tests/__init__.py": "",
        "tests/test_h.py": HELPERS + "".join(classes),
        "tests/test_x.py": "class Local: pass\ndef test_a(): pass\n",
        "src/shop/__init__.py": "from .base import Schema as Schema\n",
        "src/shop/base.py": SCHEMA,
    }
    repo = checkout(tmp_path / "repo", files)
    leave_run(
        repo.workspace(),
        [(f"tests/test_{name}", "passed", 5) for name in ("x.py::test_a", "h.py::test_b")],
    )
    assert set(plain(repo, "verify")["not_assessed"]) == {
        f"tests/test_h.py::{name}::test_f" for name in maybe
    }
