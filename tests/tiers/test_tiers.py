"""Memory in tiers from outside: commands and tools, as a person and as agents."""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.tiers.entries import ACCESSES, MOST_BYTES, Caller, reading, writing
from kl_hooks.tiers.router import Memory
from kl_hooks.tools.call import call
from kl_hooks.workspace import Workspace
from tests.support import NOW, Checkout

DAY = 86_400_000_000
A, B = {"KL_AGENT": "a"}, {"KL_AGENT": "b"}


def answer(
    repo: Checkout, *args: str, env: dict[str, str] | None = None, code: int = 0, input: str = ""
) -> Any:
    done = repo.kl(*args, "--format", "json", env=env, input=input)
    assert done.returncode == code, (args, done.stdout, done.stderr)
    return json.loads(done.stdout)


def ask(ws: Workspace, tool: str, code: int = 0, **given: Any) -> Any:
    made, exit_code = call(ws, tool, json.dumps(given).encode(), allow_write=True)
    assert exit_code == code, made
    return made["result"] if made["ok"] else made["error"]


@pytest.mark.requirement("D2")
def test_recall_finds_by_meaning_what_has_none_of_the_words(repo: Checkout) -> None:
    repo.kl("remember", "rel", "the release is cut on fridays", "--tier", "long")
    repo.kl("remember", "db", "the staging database is reset every night", "--tier", "short")
    query = ("when do we publish a new version", "--search")
    assert [one["key"] for one in answer(repo, "recall", *query)["entries"]] == ["rel"]
    # what has the words comes first
    both = answer(repo, "recall", "release fridays", "--search")["entries"]
    assert (both[0]["key"], both[0]["score"]) == ("rel", 1.0)
    assert answer(repo, "recall", "write a haiku", "--search", code=1)["entries"] == []
    repo.git("config", "kl.embedder", "off")
    assert answer(repo, "recall", *query, code=1)["entries"] == []


@pytest.mark.requirement("D1", "D2", "D4")
def test_the_first_tier_that_has_a_key_answers_and_names_itself(repo: Checkout) -> None:
    for tier in ("shared", "long", "short", "working"):
        made = answer(repo, "remember", "plan", f"from {tier}", "--tier", tier)
        assert (made["tier"], made["by"]) == (tier, "human")
        assert answer(repo, "recall", "plan")["value"] == f"from {tier}"
    assert {one["tier"] for one in answer(repo, "keys")["keys"]} == {
        "working",
        "short",
        "long",
        "shared",
    }
    assert answer(repo, "forget", "plan", "--tier", "working")["tiers"] == ["working"]
    assert answer(repo, "recall", "plan")["tier"] == "short"
    assert answer(repo, "recall", "plan", "--tier", "long_term")["value"] == "from long"
    assert answer(repo, "forget", "plan")["tiers"] == ["short", "long"]
    assert answer(repo, "recall", "plan")["source"] == "pool default, version 1"
    assert "one of many" in repo.kl("forget", "plan", "--tier", "shared").stderr
    done = repo.kl("forget", "plan")
    assert done.returncode == 1
    command = """kl pool merge default '{"plan": null}'"""
    assert f"pool default, version 1, has it. Remove it there with: {command}" in done.stdout
    assert repo.kl("pool", "show").stdout.splitlines()[-2:] == [
        "keys     1",
        "  plan  by human",
    ]
    assert [one["key"] for one in answer(repo, "pool", "show", "default")["keys"]] == ["plan"]
    stats = answer(repo, "memory", "stats")
    assert {tier: row["entries"] for tier, row in stats["tiers"].items()} == {
        "working": 0,
        "short": 0,
        "long": 0,
        "shared": 1,
    }
    assert answer(repo, "recall", "none", code=1)["tier"] is None
    repo.kl("memory", "add", "Tests of the importer need LC_ALL=C.UTF-8.")
    identifier = next(
        line for line in repo.kl("memory", "list").stdout.split() if line.startswith("MEM-")
    )
    assert (
        answer(repo, "recall", identifier)["value"] == "Tests of the importer need LC_ALL=C.UTF-8."
    )


@pytest.mark.requirement("D3", "D16")
def test_working_memory_has_types_lists_shares_and_an_end(repo: Checkout) -> None:
    ws = repo.workspace()
    ask(ws, "remember", key="talk", value="hello", tier="working", type="conversation", append=True)
    ask(
        ws,
        "remember",
        key="talk",
        value='{"n": 2}',
        tier="working",
        type="conversation",
        append=True,
    )
    assert ask(ws, "recall", key="talk")["value"] == ["hello", {"n": 2}]
    ask(ws, "remember", key="step:1", value="41", tier="working", type="intermediate_result")
    assert "no list" in ask(ws, "remember", 2, key="step:1", value="x", append=True)["reason"]
    answer(repo, "remember", "note", "for b alone", "--tier", "working", "--for", "b", env=A)
    assert answer(repo, "recall", "note", "--from", "a", env=B)["value"] == "for b alone"
    for env in (A, {}, {"KL_AGENT": "c"}):
        answer(repo, "recall", "note", "--from", "a", env=env, code=1)
    for seconds in ("0", "-5", "86401"):
        done = repo.kl("remember", "k", "v", "--tier", "working", "--ttl", seconds)
        assert (done.returncode, "from 1 to 86400 are possible" in done.stderr) == (2, True)
    # the type's own time to live: a task's state two hours, everything else one
    agent = Caller("agent:unnamed", "default")
    for hours, found in ((1, True), (3.9, True), (4, False)):
        later = repo.workspace(now=NOW + round(hours * 3_600_000_000))
        assert (Memory(later, agent).working.read("talk") is not None) is found
    assert answer(repo, "session", "save")["entries"] == 0
    assert Memory(ws, agent).save() == 2
    assert Memory(repo.workspace(now=NOW + DAY - 1), agent).read("step:1").value == 41  # type: ignore[union-attr]
    assert Memory(ws, agent).working.clear() == 2
    assert Memory(ws, agent).load() == 2


def test_values_of_any_shape_and_keys_of_any_characters(repo: Checkout) -> None:
    ws = repo.workspace()
    memory = Memory(ws, Caller("human", "s"))
    for tier in ("working", "short", "long"):
        for key in ("a/../b", "a\"b',]", "% _", "ключ", "a\x00b", "x" * 500, "*?[a]", "a.b"):
            memory.write(key, {"k": [1.5, None, True]}, tier)
            found = memory.read(key, tier)
            assert found is not None and found.value == {"k": [1.5, None, True]}, (tier, key)
    for tier in ("working", "short", "long", "shared"):
        memory.write("large", "x" * (MOST_BYTES - 2), tier)
        with pytest.raises(Exception, match="at most 1,000,000 are stored"):
            memory.write("large", "x" * MOST_BYTES, tier)
        with pytest.raises(Exception, match="nested more than"):
            memory.write("deep", json.loads("[" * 100 + "]" * 100), tier)
    done = repo.kl("remember", "secret", '{"password": "hunter2hunter2"}')
    assert done.returncode == 0
    assert "hunter2" not in repo.kl("recall", "secret").stdout
    assert b"hunter2" not in repo.stored()
    assert "empty" in repo.kl("remember", " ", "v").stderr
    token = f"ghp_{'a1B2' * 9}"
    for command in (("remember", "k", token), ("pool", "write", "default", "k", token)):
        assert "looks like a secret is not stored" in repo.kl(*command).stderr
    assert "the value is empty" in repo.kl("remember", "k", input="").stderr
    assert repo.kl("remember", "k", "v").stderr == ""
    for command in (
        ("remember", "a\x1b[31mb", "1"),
        ("pool", "write", "default", "a\x1b[31mb", "1"),
    ):
        assert "stored under another key: ab" in repo.kl(*command).stderr
    assert answer(repo, "remember", "piped", "-", input="from stdin\n")["value"] == "from stdin"
    assert answer(repo, "remember", "typed", "8080", "--text")["value"] == "8080"


@pytest.mark.local_database
def test_what_is_lost_or_missing_is_named(
    repo: Checkout, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "outside").mkdir()
    outside = repo.kl("recall", "k", cwd=tmp_path / "outside")
    assert (
        outside.returncode,
        "kl is not set up here. Set it up with: kl init" in outside.stderr,
    ) == (1, True)
    repo.git("config", "kl.redis", "redis://localhost:1/0")
    monkeypatch.setitem(sys.modules, "redis", None)
    done = repo.kl("remember", "k", "v", "--tier", "working")
    assert (
        done.returncode,
        "redis is not installed. Working memory is on this machine." in done.stderr,
    ) == (0, True)
    assert answer(repo, "recall", "k")["value"] == "v"
    repo.kl("remember", "k", "v")
    (repo.state / "kl.db").write_bytes(b"")
    assert (
        "kl.db is empty (0 bytes): what was stored in it is lost. See: kl doctor"
        in repo.kl("keys").stderr
    )
    found = answer(repo, "doctor", code=1)["findings"]
    assert next(one["fix"] for one in found if "(0 bytes)" in one["message"]).startswith(
        "put a copy back, or: rm "
    )
    repo.kl("remember", "k", "v")
    assert repo.kl("keys").stderr.count("bytes") == 0
    with closing(sqlite3.connect(repo.state / "kl.db", isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")
        found = answer(repo, "doctor", code=1, env={"KL_LOCK_WAIT": "0"})["findings"]
    busy = [one["fix"] for one in found if "SQLITE_BUSY" in one["message"]]
    assert busy == ["wait for it, or end that process; captures wait in the spool"]


@pytest.mark.requirement("D8", "D4", "D6")
def test_closing_a_session_promotes_what_was_read_three_times_also_when_it_expired(
    repo: Checkout,
) -> None:
    ws, agent = repo.workspace(), Caller("agent:a", "s1")
    memory = Memory(ws, agent)
    lesson = (
        "The importer reads UTF-8 only where LC_ALL is set, and fails late otherwise, in the"
        " report."
    )
    for key, sort, reads in (
        ("lesson", "reflection", 3),
        ("twice", "general", 2),
        ("often", "general", 12),
    ):
        memory.write(key, f"{key}: {lesson}" if key == "lesson" else {key: 1}, ttl=10, type=sort)
        for _ in range(reads):
            assert memory.read(key) is not None
    late = Memory(repo.workspace(now=NOW + 60_000_000), agent)
    assert late.read("lesson") is None
    closed = late.close()
    assert [(one.key, one.importance, one.confidence, one.type) for one in closed.promoted] == [
        ("lesson", 40, 70, "reflection"),
        ("often", 80, 70, "observation"),
    ]
    assert (closed.expired, closed.left) == (1, 0)
    found = late.read("often")
    assert found is not None and (found.tier, found.value) == ("long", {"often": 1})
    assert late.close() == late.close()._replace(promoted=())
    # the same again raises its importance; what is alike becomes one entry, under the first key
    again = Memory(repo.workspace(now=NOW + 60_000_000), Caller("agent:a", "s2"))
    again.write("often", {"often": 1})
    again.write("nearly", f"lesson: {lesson.replace('fails', 'fails,')}")
    for _ in range(3):
        again.read("often", "short")
        again.read("nearly")
    merged = again.close().promoted
    assert [(one.key, one.importance, len(one.merged)) for one in merged] == [
        ("lesson", 40, 1),
        ("often", 83, 1),
    ]
    page = ask(repo.workspace(now=NOW + 60_000_000), "persistent_context", 2, context="agent:a")
    assert "no context of this name for you" in page["reason"]
    assert {one.key: one.accesses for one in again.entries("long")} == {"lesson": 6, "often": 16}


@pytest.mark.requirement("D8")
def test_what_matters_much_is_proposed_only_where_the_agent_asks(repo: Checkout) -> None:
    for propose in ([], ["--propose"]):
        answer(
            repo,
            "remember",
            "rule",
            "Run the slow tests before a release.",
            "--type",
            "observation",
            env=A,
        )
        for _ in range(7):
            answer(repo, "recall", "rule", "--tier", "short", env=A)
        done = answer(repo, "session", "close", *propose, env=A)
        assert [one["key"] for one in done["promoted"]] == ["rule"]
        assert len(done["proposed"]) == len(propose)
    listed = repo.kl("memory", "list", "--status", "candidate").stdout
    assert "Run the slow tests before a release." in listed


@pytest.mark.requirement("D4")
def test_accesses_are_events_each_exactly_once(repo: Checkout) -> None:
    ws, memory = repo.workspace(), Memory(repo.workspace(), Caller("human", "s"))
    memory.write("k", 1)
    log = ws.state.directory / ACCESSES
    for number in range(1, 4):
        memory.read("k")
        with log.open("ab") as file:
            file.write(b'["short","half a li' if number == 2 else b"")
        with writing(ws, "test"):
            pass
        with log.open("ab") as file:
            file.write(b"ne\n" if number == 2 else b"")
        assert memory.entries("short")[0].accesses == number
    with log.open(
        "r+b"
    ) as file:  # emptied, as after it was large, and written again to more than its old length
        file.truncate(0)
    for _ in range(5):
        memory.read("k")
    assert memory.entries("short")[0].accesses == 8
    memory.write("k", 2)
    assert memory.entries("short")[0].accesses == 8
    with reading(ws) as db:
        assert db is not None
        assert db.rows("SELECT COUNT(*) FROM tier_event WHERE name = 'read'") == [(8,)]


@pytest.mark.requirement("D5", "D6", "D7", "D47", "D48")
def test_a_context_has_versions_snapshots_grants_retention_and_a_log(repo: Checkout) -> None:
    answer(
        repo,
        "memory",
        "context",
        "create",
        "glossary",
        "--scope",
        "agent",
        "--max-entries",
        "10",
        env=A,
    )

    def write(path: str, value: str, *more: str) -> Any:
        return answer(repo, "memory", "context", "write", "glossary", path, value, *more, env=A)

    assert (
        write("terms", '{"receipt": "one"}', "--importance", "90", "--type", "fact")["version"] == 1
    )
    assert write("terms.claim", "two")["version"] == 2
    merged = write("terms", '{"receipt": null, "tier": "three"}', "--merge")
    assert (merged["value"], merged["importance"], merged["previous"] != "") == (
        {"claim": "two", "tier": "three"},
        90,
        True,
    )
    assert answer(repo, "recall", "terms.tier", env=A)["value"] == "three"
    answer(repo, "recall", "terms.tier", env=B, code=1)
    shot = answer(repo, "memory", "context", "snapshot", "glossary", env=A)
    assert (shot["version"], len(shot["sha256"])) == (3, 64)
    write("terms", '"overwritten"')
    write("more", "new")
    assert (
        answer(repo, "memory", "context", "restore", "glossary", shot["id"], env=A)["changed"] == 2
    )
    assert answer(repo, "recall", "terms.tier", env=A)["value"] == "three"
    answer(repo, "recall", "more", env=A, code=1)
    refused = repo.kl("memory", "context", "show", "glossary", env=B)
    assert (refused.returncode, "no context of this name for you" in refused.stderr) == (2, True)
    answer(repo, "memory", "context", "grant", "glossary", "b", env=A)
    assert answer(repo, "recall", "terms.claim", env=B)["by"] == "agent:a"
    denied = repo.kl("memory", "context", "write", "glossary", "terms", "x", env=B)
    assert (denied.returncode, "write is needed" in denied.stderr) == (2, True)
    page = answer(repo, "memory", "context", "show", "glossary", env=A)
    assert page["retention"] == "healthy"
    assert {"written", "snapshot", "restored", "granted", "read"} <= {
        one["name"] for one in page["log"]
    }
    assert {one["by"] for one in page["log"] if one["name"] == "read"} == {"agent:a", "agent:b"}
    (entry,) = page["entries"]
    assert (entry["relevance"], entry["importance"]) == (0.9, 90)
    assert entry["staleness"] == pytest.approx(sum(entry["staleness_factors"].values()), abs=1e-3)
    # new, just read, a tenth short of the highest importance
    assert 0.02 < entry["staleness"] < 0.04
    answer(repo, "memory", "context", "revoke", "glossary", "b", env=A)
    answer(repo, "recall", "terms.claim", env=B, code=1)
    with repo.workspace().store.writing() as db:
        db.execute("UPDATE context_snapshot SET body = replace(body, 'three', 'drei')")
    tampered = repo.kl("memory", "context", "restore", "glossary", shot["id"], env=A)
    assert (tampered.returncode, "sha256 differs" in tampered.stderr) == (2, True)
    answer(repo, "memory", "context", "archive", "glossary", env=A)
    answer(repo, "recall", "terms.claim", env=A, code=1)
    for name in ("glossary", "agent:b"):
        assert "not available" in repo.kl("memory", "context", "create", name, env=A).stderr


def test_reading_makes_nothing_where_kl_never_wrote(repo: Checkout) -> None:
    before = sorted(repo.state.rglob("*"))
    answer(repo, "recall", "k", code=1)
    assert answer(repo, "keys")["total"] == 0
    assert answer(repo, "pool", "list")["total"] == 0
    assert sorted(repo.state.rglob("*")) == before


@pytest.mark.fault(
    "clock jump",
    promised="nothing is lost",
    injected="the injected clock jumps",
)
def test_a_clock_that_jumps_hides_what_ended_and_loses_nothing(repo: Checkout) -> None:
    """Forward and back again, as after a machine slept or its time was set."""
    first = repo.workspace()
    for tier in ("working", "short"):
        ask(first, "remember", key=tier, value="here", tier=tier, ttl=60)
    ask(first, "remember", key="long", value="here", tier="long", importance=50)
    for jump in (0, -DAY, -400 * DAY, 30 * 60_000_000, 400 * DAY, 0):
        ws = repo.workspace(now=NOW + jump)
        ended = jump > 60_000_000
        found = {tier: ask(ws, "recall", key=tier)["tier"] for tier in ("working", "short", "long")}
        assert found["long"] == "long"
        assert (found["working"], found["short"]) == (
            (None, None) if ended else ("working", "short")
        ), jump
        stats = ask(ws, "recall_stats")["tiers"]
        assert stats["long"]["entries"] == 1 and stats["short"]["entries"] == (0 if ended else 1)


@pytest.mark.local_database
@pytest.mark.requirement("D5")
def test_a_context_of_a_team_needs_a_database_of_the_team(repo: Checkout) -> None:
    for scope in ("team", "account"):
        done = repo.kl("memory", "context", "create", "glossary", "--scope", scope)
        assert (done.returncode, "this store is this clone's alone" in done.stderr) == (2, True)
        assert "kl store use URL" in done.stderr
    assert repo.kl("memory", "context", "create", "glossary", "--scope", "global").returncode == 0


def test_another_item_shortens_no_list_in_working_memory(repo: Checkout) -> None:
    assert repo.kl("init", "--yes").returncode == 0
    notes = ("remember", "notes", "--tier", "working", "--append", "--format", "json")

    def end(*options: str) -> str:
        return str(json.loads(repo.kl(*notes, "a", *options).stdout)["expires"])

    long = end("--ttl", "14400")
    # to the second: the time of a value counts from when it is stored
    assert end()[:16] >= long[:16]
    assert end("--ttl", "60") < long
