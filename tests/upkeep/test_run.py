"""Upkeep as it is called: it shows what it would change, changes that alone, and then finds nothing
to do.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kl_hooks.evidence.assertions import archived_claims, asserted_claims
from kl_hooks.model.lifecycle import LIFECYCLE_FILE
from kl_hooks.upkeep.run import Report, apply_policies, preview
from tests.support import NOW, Checkout

from .making import aged, untidy


def shown(report: Report) -> dict[str, list[tuple[str, str]]]:
    """Policy → (verb, id) of what it would change."""
    return {
        one.policy.name: [(c.what, c.id) for c in one.changes]
        for one in report.results
        if one.changes
    }


def snapshot(repo: Checkout) -> dict[str, bytes]:
    inside = [*repo.state.rglob("*"), *(repo.root / ".kl").rglob("*")]
    return {str(path): path.read_bytes() for path in inside if path.is_file()}


@pytest.mark.requirement("A66", "A67", "A69")
def test_looking_shows_ids_by_policy_and_changes_nothing(repo: Checkout) -> None:
    untidy(repo)
    ws = repo.workspace()
    preview(ws)
    before = snapshot(repo)
    found = shown(preview(ws))
    assert {name: [verb for verb, _ in some] for name, some in found.items()} == {
        "cache": ["remove"],
        "ephemeral files": ["remove"],
        "expired claims": ["archive"],
        "old runs": ["fold"] * 3,
        "orphaned graphs": ["prune"],
        "package log": ["rotate"],
    }
    assert found["ephemeral files"] == [("remove", "crash/report.txt")]
    assert found["orphaned graphs"] == [("prune", "graph/gone-12345678.db")]
    assert snapshot(repo) == before


@pytest.mark.requirement("A38", "A66", "A67")
def test_applying_makes_these_changes_and_a_second_time_there_is_nothing_to_do(
    repo: Checkout,
) -> None:
    untidy(repo)
    ws = repo.workspace()
    done = apply_policies(ws)
    assert [one.policy.name for one in done.results if one.trouble] == []
    assert {one.policy.name for one in done.results if one.applied} == set(shown(done))
    assert not (repo.state / "crash" / "report.txt").exists()
    assert not (repo.state / "graph" / "gone-12345678.db").exists()
    with ws.store.reading() as db:
        assert db is not None
        assert [claim.text for claim in asserted_claims(db, NOW)] == ["is small"]
        assert [claim.text for claim in archived_claims(db, NOW)] == ["is quick"]
    before = snapshot(repo)
    again = apply_policies(ws)
    assert again.changes == ()
    assert snapshot(repo) == before
    verified = repo.kl("evidence", "verify")
    assert verified.returncode == 0, verified.stdout
    assert "folded   3 old runs" in verified.stdout


@pytest.mark.both_databases
@pytest.mark.requirement("A67", "A68")
@pytest.mark.share(2)
def test_ephemeral_files_follow_git_and_never_take_evidence(repo: Checkout) -> None:
    untidy(repo)
    repo.write(LIFECYCLE_FILE, "ConfidenceDecayDays: soon\n")
    shown = repo.kl("knowledge", "gc")
    assert "crash/report.txt" in shown.stdout and "must be a whole number from 0" in shown.stderr
    assert repo.kl("knowledge", "gc", "--apply").returncode == 2, (
        "with a number that nobody can read"
    )
    (repo.root / LIFECYCLE_FILE).unlink()
    assert repo.kl("knowledge", "gc", "--apply").returncode == 0
    assert not (repo.state / "crash" / "report.txt").exists()
    assert (repo.state / "crash" / "kept.txt").exists()
    ws = repo.workspace()
    assert ws.store.address or (repo.state / "kl.db").exists()
    assert ws.state.high_water.exists()
    assert (repo.state / "events.jsonl.1").exists()


def test_a_klignore_that_leads_out_is_refused_and_the_rest_goes_on(
    repo: Checkout, tmp_path: Path
) -> None:
    untidy(repo)
    (repo.root / ".kl" / ".klignore").unlink()
    (tmp_path / "outside").write_text("*\n")
    (repo.root / ".kl" / ".klignore").symlink_to(tmp_path / "outside")
    done = apply_policies(repo.workspace())
    trouble = {one.policy.name: one.trouble for one in done.results if one.trouble}
    assert list(trouble) == ["ephemeral files"]
    assert (repo.state / "crash" / "report.txt").exists()
    assert len([one for one in done.results if one.applied]) == 5


@pytest.mark.requirement("A38")
def test_an_archived_claim_is_still_found_and_may_be_made_again(repo: Checkout) -> None:
    untidy(repo)
    apply_policies(repo.workspace())
    assert "is quick" not in repo.kl("claim", "list").stdout
    assert "expired" in repo.kl("claim", "list", "--all").stdout
    assert repo.kl("claim", "add", "is quick", "--about", "file:a.py").returncode == 0
    listed = json.loads(repo.kl("claim", "list", "--all", "--format", "json").stdout)["claims"]
    assert [one["freshness"] for one in listed if one["text"] == "is quick"] == ["current"]
    assert repo.kl("evidence", "verify").returncode == 0


@pytest.mark.requirement("A66")
def test_with_a_mistake_in_the_numbers_it_shows_by_the_defaults_and_changes_nothing(
    repo: Checkout,
) -> None:
    untidy(repo)
    repo.write(LIFECYCLE_FILE, "run_rows_days: soon\n")
    shown_ = repo.kl("knowledge", "gc")
    assert shown_.returncode == 0
    assert f'{LIFECYCLE_FILE}:1:16: "run_rows_days" must be a whole number' in shown_.stderr
    before = snapshot(repo)
    applied = repo.kl("knowledge", "gc", "--apply")
    assert applied.returncode == 2
    assert f"{LIFECYCLE_FILE}:1:16" in applied.stderr
    assert snapshot(repo) == before


@pytest.mark.requirement("A69")
def test_an_empty_report_states_that_there_is_nothing_to_do(repo: Checkout) -> None:
    repo.kl("run", "--", "true")
    assert repo.kl("knowledge", "gc").stdout == "Nothing to do.\n"
    assert repo.kl("knowledge", "gc", "--apply").stdout == "Nothing to do.\n"


def test_a_policy_can_be_chosen_and_must_be_one(repo: Checkout) -> None:
    untidy(repo)
    done = repo.kl("knowledge", "gc", "--policy", "orphaned graphs", "--apply", "--format", "json")
    assert [one["policy"] for one in json.loads(done.stdout)["policies"]] == ["orphaned graphs"]
    assert (repo.state / "crash" / "report.txt").exists()
    wrong = repo.kl("knowledge", "gc", "--policy", "all")
    assert wrong.returncode == 2
    assert "orphaned graphs" in wrong.stderr


def test_where_kl_was_never_used_it_reports_it_and_leaves_nothing(
    tmp_path: Path, home: Path
) -> None:
    from tests.support import checkout

    bare = checkout(tmp_path / "bare", kl=False)
    assert bare.kl("knowledge", "gc").returncode == 3
    assert not bare.state.exists()


@pytest.mark.both_databases
def test_the_graph_of_a_worktree_that_is_there_stays(repo: Checkout, tmp_path: Path) -> None:
    import os

    repo.write("a.py", "A = 1\n")
    repo.commit()
    repo.git("worktree", "add", "-q", str(tmp_path / "other"))
    assert repo.kl("graph", "build", cwd=tmp_path / "other").returncode == 0
    (graph,) = (repo.state / "graph").glob("other-*.db")
    os.utime(graph, (1, 1))
    assert "orphaned graphs" not in shown(preview(repo.workspace()))
    repo.git("worktree", "remove", "--force", str(tmp_path / "other"))
    assert shown(preview(repo.workspace()))["orphaned graphs"] == [("prune", f"graph/{graph.name}")]


def test_json_has_every_policy(repo: Checkout) -> None:
    repo.kl("run", "--", "true")
    found = json.loads(repo.kl("knowledge", "gc", "--format", "json").stdout)
    assert found["schema"] == "kl.knowledge.gc/2"
    assert {"expired claims", "old runs", "claim decay", "cache"} <= {
        one["policy"] for one in found["policies"]
    }


def test_locks_of_removed_worktrees_go_with_their_graphs(repo: Checkout) -> None:
    graphs = repo.workspace().state.graph.parent
    for name in ("gone-12345678.db", "gone-12345678.lock", "alone-12345678.lock", "main.lock"):
        aged(graphs / name, 20)
    aged(graphs / "young-12345678.lock", 1)
    apply_policies(repo.workspace(), ("orphaned graphs",))
    assert sorted(path.name for path in graphs.iterdir()) == ["main.lock", "young-12345678.lock"]
    assert preview(repo.workspace(), ("orphaned graphs",)).changes == ()


def test_a_klignore_that_names_everything_takes_no_event_and_no_lock(repo: Checkout) -> None:
    untidy(repo)
    repo.write(".kl/.klignore", "/*\n")
    names = {one.id for one in preview(repo.workspace(), ("ephemeral files",)).changes}
    assert (
        "events.jsonl" not in names
        and "store.lock" not in names
        and not any(".lock" in one for one in names)
    )
    apply_policies(repo.workspace(), ("ephemeral files",))
    assert (repo.state / "events.jsonl").is_file()
    assert repo.workspace().store.address or (repo.state / "kl.db").is_file()


@pytest.mark.local_database
def test_what_keeps_several_policies_from_their_work_is_reported_once(repo: Checkout) -> None:
    repo.kl("status")
    repo.kl("failure", "record", "x")
    (repo.state / "kl.db").write_bytes(b"garbage" * 999)
    for command in (
        ("knowledge", "gc"),
        ("memory", "review"),
        ("knowledge", "list"),
        ("knowledge", "stats"),
    ):
        done = repo.kl(*command)
        assert (
            done.returncode == 3 and (done.stdout + done.stderr).count("is not a database") == 1
        ), command
