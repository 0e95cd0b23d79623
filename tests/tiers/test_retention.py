"""Upkeep of memory in tiers, seals, learnings and scores: policies are idempotent, formulas are the
model's.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.clock import DAY
from kl_hooks.errors import UsageProblem
from kl_hooks.records.write import create_record
from kl_hooks.tiers.contexts import (
    create_context,
    similarity,
    words,
    write_entry,
)
from kl_hooks.tiers.entries import Caller, reading
from kl_hooks.tiers.pools import (
    PoolOptions,
    create_pool,
    find_pool,
    list_pools,
    read_pool,
    write_pool,
)
from kl_hooks.tiers.router import Memory
from kl_hooks.upkeep.run import apply_policies, preview, run_maintenance
from tests.support import NOW, Checkout
from tests.tools.test_agent_hooks import notify

from .test_tiers import A, answer

ME = Caller("agent:me", "s")
TIERS = ("open sessions", "stale entries", "expired pools", "tier events")


@given(st.lists(st.sampled_from("abcd"), max_size=6), st.lists(st.sampled_from("abcd"), max_size=6))
def test_similarity_is_symmetric_and_one_only_for_the_same_shares_of_words(
    one: list[str], other: list[str]
) -> None:
    first, second = words(" ".join(one)), words(" ".join(other))
    assert similarity(first, second) == pytest.approx(similarity(second, first))
    assert 0 <= similarity(first, second) <= 1.0000001
    assert similarity(first, first) == (1.0 if one else 0.0)


@pytest.mark.requirement("D46", "D8")
def test_maintenance_closes_what_was_left_and_a_second_run_finds_nothing(repo: Checkout) -> None:
    ws, memory = repo.workspace(), Memory(repo.workspace(), ME)
    memory.write("often", "read often", ttl=60)
    memory.write("never", "zzhidden", ttl=60)
    memory.write("open", "lives on", ttl=86_400 * 6)
    for _ in range(3):
        memory.read("often")
        memory.read("open")
    create_context(ws, ME, "small", max_entries=1)
    for key, importance in (("a", "10"), ("b", "90")):
        answer(repo, "memory", "context", "create", f"own-{key}", env=A)
        write_entry(ws, ME, "small", key, importance)
    create_pool(ws, ME, "brief", PoolOptions(lifetime=60))
    create_pool(ws, ME, "values", PoolOptions(ttl=60))
    write_pool(ws, ME, "values", "k", 1)
    later = repo.workspace(now=NOW + 2 * DAY)
    shown = preview(later, TIERS)
    text = json.dumps([one.to_dict() for one in shown.changes])
    assert {one.policy for one in shown.changes} == {
        "open sessions",
        "stale entries",
        "expired pools",
    }
    assert "zzhidden" not in text and "agent" not in text and "never" not in text
    assert [one.trouble for one in run_maintenance(later, only_due=True) if one.trouble] == []
    assert apply_policies(later, TIERS).changes == ()
    left = Memory(later, ME)
    assert [(one.tier, one.key) for one in left.entries()] == [
        ("short", "open"),
        ("long", "often"),
        ("long", "b"),
    ]
    assert [one.name for one in list_pools(later, ME)] == ["values"]
    with pytest.raises(UsageProblem, match="no open pool"):
        find_pool(later, ME, "brief")
    with reading(later) as db:
        assert db is not None
        assert db.rows("SELECT COUNT(*) FROM pool_value") == [(0,)]
    # half a year on, what nobody read is archived: an entry of medium importance reaches the limit
    assert any(
        one.policy == "stale entries"
        for one in preview(repo.workspace(now=NOW + 400 * DAY), TIERS).changes
    )
    late = repo.workspace(now=NOW + 500 * DAY)
    assert apply_policies(late, TIERS).changes
    assert apply_policies(late, TIERS).changes == ()
    assert [(one.tier, one.key) for one in Memory(late, ME).entries()] == [("long", "open")]
    assert read_pool(late, ME, "values")[0].version == 1


@pytest.mark.requirement("D46")
def test_upkeep_reports_what_waits_for_a_person(repo: Checkout) -> None:
    ws = repo.workspace()
    made = create_record(
        ws,
        ws.kinds["decision"],
        {"title": "t", "context": "c", "decision": "d", "status": "accepted"},
    )
    create_record(ws, ws.kinds["objective"], {"title": "Ship it"})
    done = repo.kl("decision", "edit", made.id, "--title", "other", env=A)
    assert done.returncode == 0, done.stderr
    found = {one.policy.name: one for one in preview(repo.workspace(now=NOW + 200 * DAY)).results}
    waiting, goals = found["waiting proposals"], found["idle objectives"]
    assert (waiting.reported_only, [one.id for one in waiting.changes]) == (True, [made.id])
    assert [(one.what, one.id) for one in goals.changes] == [("abandon", "OBJ-0001")]
    for number in range(10):
        repo_memory(repo, number)
    habits = {one.policy.name: one for one in preview(repo.workspace(now=NOW + DAY)).results}[
        "review habits"
    ]
    assert "10 of 10 reviews: reject" in habits.changes[0].reason


def repo_memory(repo: Checkout, number: int) -> None:
    ws = repo.workspace()
    made = create_record(
        ws,
        ws.kinds["memory"],
        {"title": f"m{number}", "pattern": f"p{number}", "source": "receipts"},
    )
    assert repo.kl("memory", "reject", made.id, "--reason", "no").returncode == 0


@pytest.mark.requirement("D51")
def test_files_are_valid_tampered_or_unsealed(repo: Checkout) -> None:
    for title in ("One", "Two"):
        assert (
            repo.kl("decision", "new", title, "--context", "c", "--decision", "d").returncode == 0
        )
    repo.write(
        ".kl/knowledge/decisions/ADR-0009-by-hand.md",
        "---\nid: ADR-0009\ntitle: By hand\nstatus: accepted\n---\n# By hand\n\n##"
        " Context\n\nc\n\n## Decision\n\nd\n",
    )
    found = answer(repo, "knowledge", "verify")
    assert found["counts"] == {"valid": 2, "tampered": 0, "unsealed": 1}
    path = next((repo.root / ".kl/knowledge/decisions").glob("ADR-0001*"))
    path.write_text(path.read_text() + "\nMore.\n")
    found = answer(repo, "knowledge", "verify", code=1)
    assert {one["id"]: one["state"] for one in found["records"]} == {
        "ADR-0001": "tampered",
        "ADR-0002": "valid",
        "ADR-0009": "unsealed",
    }
    refused = repo.kl("knowledge", "verify", "--seal", env=A)
    assert (refused.returncode, "a person's word" in refused.stderr) == (2, True)
    sealed = answer(repo, "knowledge", "verify", "--seal", "ADR-0001")
    assert [one["state"] for one in sealed["records"]] == ["valid"]
    assert "1 unsealed" in repo.kl("knowledge", "verify").stdout
    assert repo.kl("knowledge", "verify", "ADR-0777").returncode == 2


@pytest.mark.requirement("D50")
def test_quality_is_computed_when_a_memory_is_shown(repo: Checkout) -> None:
    made: Any = answer(
        repo, "memory", "add", "Tests of the importer need LC_ALL=C.UTF-8.", "--tag", "tests"
    )
    before = answer(repo, "memory", "show", made["id"])["memory"]["quality_today"]
    assert 0 < before <= 100
    for _ in range(9):
        repo.kl("memory", "feedback", made["id"], "positive")
    assert answer(repo, "memory", "show", made["id"])["memory"]["quality_today"] > before


@pytest.mark.requirement("D52")
def test_a_class_of_errors_of_commands_becomes_a_candidate_with_its_receipts(
    repo: Checkout,
) -> None:
    repo.git("config", "kl.agents", "claude")
    for _ in range(2):
        error = "Exit code 2\nerror: Connection refused"
        notify(
            repo,
            "PostToolUseFailure",
            tool_name="Bash",
            tool_input={"command": "make deploy"},
            error=error,
        )
    found: Any = json.loads(repo.kl("memory", "review", "--format", "json").stdout)
    texts = {one["pattern"]: one["evidence"] for one in found["memories"]}
    assert len(texts["Command fails with an error of the class network: make deploy"]) == 2
