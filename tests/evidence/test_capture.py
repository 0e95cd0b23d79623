"""A capture is written before it is believed, in the first place that takes it; its own trouble is
one line.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kl_hooks.evidence.capture import (
    PARENT,
    close_capture,
    mark_missing_run,
    new_run_id,
    open_capture,
    open_spool,
    opening_record,
    process_environment,
    record_check,
    write_capture,
)
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.provenance import worktree_state
from kl_hooks.git.worktree import WorktreeState
from kl_hooks.model.receipt import Evidence
from kl_hooks.store.spool import read_spool
from kl_hooks.store.state import spool_directories
from tests.support import NOW, Checkout, checkout

from .making import leave_run

RESULT = {
    "exit": 0,
    "complete": True,
    "how": "finished",
    "verdict": "passed",
    "reasons": [],
    "counts": {"clean": 1},
}
FACT = Evidence("Validator", "check:arch", "clean", 7, None, {"path": "a.py"})


def test_a_capture_is_on_disk_before_and_after(repo: Checkout) -> None:
    ws = repo.workspace()
    place = worktree_state(ws.repo)
    writer = open_capture(ws, "arch", "arch", place, selection={"args": ["x"]})
    (first,) = read_spool(writer.path).records
    assert (first["t"], first["selection"], first["tree"]) == ("open", {"args": ["x"]}, place.tree)
    close_capture(ws, writer, [FACT], RESULT, place, place._replace(tree="9" * 40))
    found = read_spool(writer.path)
    assert (found.ended, found.busy, found.bad) == (True, False, 0)
    assert sync_evidence(ws).receipts == 2
    receipt = repo.entries()[1].receipt
    assert receipt.evidence == (FACT,)
    assert (receipt.moved, receipt.tree_end, receipt.result) == (True, "9" * 40, RESULT)
    assert receipt.started == receipt.ended == "2027-01-15T08:00:00.000000Z"


def test_what_is_over_is_recorded_in_one_go(repo: Checkout) -> None:
    ws = repo.workspace()
    assert write_capture(ws, "arch", "arch", worktree_state(ws.repo), [FACT, FACT], RESULT) is None
    sync_evidence(ws)
    assert repo.entries()[1].receipt.evidence == (FACT, FACT)


@pytest.mark.parametrize(("outcome", "verdict"), [("clean", "passed"), ("failed", "failed")])
def test_a_check_of_ours_is_a_receipt(repo: Checkout, outcome: str, verdict: str) -> None:
    assert (
        record_check(
            repo.workspace(), "arch", outcome, {"violations": 2}, WorktreeState(tree="1" * 40)
        )
        is None
    )
    sync_evidence(repo.workspace())
    receipt = repo.entries()[1].receipt
    assert (receipt.source, receipt.tree, receipt.result["verdict"]) == ("arch", "1" * 40, verdict)
    assert [(e.kind, e.subject, e.outcome) for e in receipt.evidence] == [
        ("Validator", "check:arch", outcome)
    ]


def test_a_check_where_kl_is_not_used_leaves_nothing(tmp_path: Path, home: Path) -> None:
    made = checkout(tmp_path / "other", kl=False)
    assert record_check(made.workspace(), "arch", "clean", {}, WorktreeState()) is None
    assert not made.state.exists()


def test_the_opening_states_who_and_where(repo: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PARENT, "ab" * 16)
    ws = repo.workspace()
    repo.write("new.py", "")
    place = worktree_state(ws.repo)
    found = opening_record(
        "cd" * 16, "pytest", "pytest", place, NOW, ws.environ, further_environment={"plugins": "x"}
    )
    assert found["parent"] == "ab" * 16
    assert (found["head"], found["branch"]) == (repo.git("rev-parse", "HEAD"), "main")
    assert found["tree"] == repo.git("rev-parse", "HEAD^{tree}") != found["tree_all"]
    names = {"python", "implementation", "platform", "plugins", "untracked", "changes"}
    assert names == set(found["environment"])
    assert "changed" not in found


def test_the_environment_names_job_and_agent_and_no_more() -> None:
    found = process_environment(
        {"GITHUB_ACTIONS": "true", "GITHUB_RUN_ID": "7", "KL_AGENT": "me", "TOKEN": "x"}
    )
    assert (found["ci"], found["agent"]) == ("github:7", "me")
    assert set(found) == {"python", "implementation", "platform", "ci", "agent"}


def places(repo: Checkout) -> list[Path]:
    ws = repo.workspace()
    return [folder for folder, _ in spool_directories(ws.state, ws.root, ws.environ)]


def test_where_the_state_can_not_be_made_the_next_place_takes_it(repo: Checkout) -> None:
    repo.state.write_text("in the way")
    own, user, inside = places(repo)
    with open_spool(repo.workspace(), new_run_id()) as writer:
        assert writer.path.parent == user
    user.parent.chmod(0o700)
    for path in user.iterdir():
        path.unlink()
    user.rmdir()
    user.write_text("in the way")
    with open_spool(repo.workspace(), new_run_id()) as writer:
        assert writer.path.parent == inside
    inside.joinpath(writer.path.name).unlink()
    inside.rmdir()
    inside.write_text("in the way")
    printed = write_capture(repo.workspace(), "arch", "arch", WorktreeState(), [FACT], RESULT)
    assert printed is not None
    assert printed.startswith("not recorded: ")
    assert "\n" not in printed
    assert own.parent.read_text() == "in the way"


def test_nothing_is_written_through_a_link_in_the_checkout(repo: Checkout, tmp_path: Path) -> None:
    repo.state.write_text("in the way")
    user, inside = places(repo)[1:]
    user.parent.mkdir(parents=True)
    user.write_text("in the way")
    target = tmp_path / "elsewhere"
    target.mkdir()
    inside.symlink_to(target)
    with pytest.raises(OSError, match=r"."):
        open_spool(repo.workspace(), new_run_id())
    assert os.listdir(target) == []  # noqa: PTH208


def test_a_run_that_could_not_be_recorded_speaks_against_an_earlier_pass(
    tmp_path: Path, home: Path
) -> None:
    repo = checkout(tmp_path / "repo", {"test_a.py": "def test_a(): pass\n", ".kl/config.yaml": ""})
    results = [("test_a.py::test_a", "passed", 5)]
    leave_run(repo.workspace(), results)
    assert repo.kl("verify").returncode == 0
    ws = repo.workspace(NOW + 10_000_000)
    mark = mark_missing_run(ws, "ab" * 16, "No space left on device")
    assert mark is not None and not mark.is_relative_to(repo.root)
    answer = repo.kl("verify")
    assert answer.returncode == 3
    assert "could not be recorded (No space left on device): run the tests again" in answer.stdout
    mark.write_text("{")
    os.utime(mark, (NOW / 1e6 + 10,) * 2)
    assert (repo.kl("verify").returncode, mark.exists()) == (3, True)
    mark_missing_run(ws, "ab" * 16, "No space left on device")
    leave_run(repo.workspace(NOW + 20_000_000), results)
    assert (repo.kl("verify").returncode, mark.exists()) == (0, False)
