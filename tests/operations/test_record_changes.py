"""Operations that write records: one answer for commands and tools, and nothing that is hidden in
it.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support import Checkout

BOT = {"KL_AGENT": "bot"}
POLICY = """version: 1
rules:
  - name: pay
    {effect}: {{tags: [private], actors: [agent]}}
"""


def command(repo: Checkout, *argv: str, **environ: str) -> dict[str, Any]:
    """Run a command; return its JSON."""
    done = repo.kl(*argv, "--format", "json", env=environ)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def tool(repo: Checkout, name: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool as an agent; return its envelope."""
    done = repo.kl("tool", "--allow-write", name, json.dumps(arguments), env=BOT)
    envelope: dict[str, Any] = json.loads(done.stdout)
    return envelope


def test_an_agent_s_command_and_its_tool_answer_alike(repo: Checkout) -> None:
    made = command(repo, "task", "new", "Write the lexer", "--type", "docs", **BOT)
    called = tool(repo, "task_create", title="Write the parser", type="docs", tags=["code"])
    assert called["result"].keys() == made.keys() and called["result"]["fields"]["tags"] == ["code"]
    for argv, name, arguments in (
        (("edit", "TSK-0001", "--complexity", "3"), "update", {"complexity": 3}),
        (("block", "TSK-0001", "--reason", "Later"), "block", {"reason": "Later"}),
        (("delete", "TSK-0001", "--yes"), "delete", {}),
    ):
        printed = command(repo, "task", *argv, **BOT)
        called = tool(repo, f"task_{name}", id="TSK-0002", **arguments)["result"]
        assert called.keys() == printed.keys() and called["schema"] == printed["schema"], name
    failed = command(repo, "failure", "record", "Mock the database", "--cause", "Speed", **BOT)
    again = tool(repo, "failure_record", approach="Mock the database", cause="Haste")["result"]
    assert again.keys() == failed.keys()
    assert (again["occurrence_count"], again["fields"]["root_cause"]) == (2, "Haste")
    assert tool(repo, "failure_read", id=again["id"])["result"]["occurrence_count"] == 2


def test_of_a_record_that_is_hidden_from_its_author_the_id_is_answered(repo: Checkout) -> None:
    secret = ("--tag", "private", "--what-it-is", "Salaries are paid by hand")
    for number, effect in enumerate(("deny", "redact")):
        repo.write(".kl/policy.yaml", POLICY.format(effect=effect))
        name = f"FEAT-A-{number}"
        made = command(repo, "feature", "new", "Merge salaries", "--id", name, *secret, **BOT)
        edited = tool(repo, "feature_update", id=name, tagline="Salaries are merged")["result"]
        started = command(repo, "feature", "edit", name, "--tagline", "Salaries", **BOT)
        for answer in (made, edited, started):
            assert (answer["id"], answer["status"]) == (name, "proposed")
            assert "alaries" not in json.dumps(answer) and "private" not in json.dumps(answer)


def test_an_agent_takes_out_no_field_that_a_person_decides(repo: Checkout) -> None:
    assert repo.kl("feature", "new", "Sign in", "--id", "FEAT-A-1", env=BOT).returncode == 0
    for name in ("status", "authority", "date"):
        answer = tool(repo, "feature_update", id="FEAT-A-1", clear=[name])
        assert not answer["ok"] and f"{name} is not an agent's" in answer["error"]["reason"]
        done = repo.kl("feature", "edit", "FEAT-A-1", "--clear", name, env=BOT)
        assert done.returncode == 2 and f"{name} is not an agent's" in done.stderr
    assert repo.kl("feature", "edit", "FEAT-A-1", "--clear", "source_hash").returncode == 2


def test_what_cites_a_record_is_named_where_a_verb_ends_it(repo: Checkout) -> None:
    right = ("--context", "It was slow.", "--decision", "Use ast.")
    assert repo.kl("decision", "new", "Two scanners", *right).returncode == 0
    assert repo.kl("decision", "accept", "ADR-0001").stderr == ""
    done = repo.kl("feature", "new", "Scan", "--id", "FEAT-A-1", "--related", "ADR-0001")
    assert done.returncode == 0, done.stderr
    done = repo.kl("decision", "deprecate", "ADR-0001")
    assert (done.returncode, done.stderr) == (
        0,
        "kl: 1 cites ADR-0001, which is deprecated now: FEAT-A-1\n",
    )


def test_a_succession_has_the_chain_and_both_records(repo: Checkout) -> None:
    right = ("--context", "It was slow.", "--decision", "Use ast.")
    for title in ("Two scanners", "One scanner", "Three scanners"):
        assert repo.kl("decision", "new", title, *right).returncode == 0
    repo.kl("decision", "accept", "ADR-0001")
    answer = command(repo, "decision", "supersede", "ADR-0001", "ADR-0002")
    assert answer["schema"] == "kl.record.chain/1"
    assert [record["id"] for record in answer["chain"]] == ["ADR-0002", "ADR-0001"]
    assert (answer["old"]["status"], answer["new"]["status"]) == ("accepted", "proposed")
    refused = tool(repo, "decision_supersede", id="ADR-0001", new_id="ADR-0003")
    assert "can't take the place of one that is in force" in refused["error"]["reason"]
    repo.kl("decision", "accept", "ADR-0003")
    proposed = tool(repo, "decision_supersede", id="ADR-0001", new_id="ADR-0003")["result"]
    assert proposed.keys() == answer.keys() and proposed["old"]["proposal"] > 0


def test_an_update_of_nothing_reads_and_is_refused_where_reading_is(repo: Checkout) -> None:
    made = command(repo, "task", "new", "Write the lexer", "--type", "docs")
    rule = POLICY.format(effect="deny").replace("tags: [private]", "kinds: [task]")
    repo.write(".kl/policy.yaml", rule)
    assert tool(repo, "task_read", id=made["id"])["ok"] is False
    assert tool(repo, "task_update", id=made["id"])["ok"] is False
    assert tool(repo, "task_update", id=made["id"], complexity=3)["ok"] is True


def test_what_is_denied_to_an_agent_it_can_not_rate(repo: Checkout) -> None:
    memory = command(repo, "memory", "add", "Round totals half up", "--tag", "private")["id"]
    repo.write(".kl/policy.yaml", POLICY.format(effect="deny"))
    assert repo.kl("memory", "feedback", memory, "positive", env=BOT).returncode == 2
    rated = command(repo, "memory", "feedback", memory, "negative")
    assert (rated["positive"], rated["negative"]) == (0, 1), (
        "nothing was counted before it was refused"
    )


def test_the_hint_of_a_wrong_id_names_no_record_that_is_denied(repo: Checkout) -> None:
    command(repo, "task", "new", "Write the lexer", "--type", "docs")
    asked = ("task", "show", "TSK-0002")
    assert "Did you mean TSK-0001?" in repo.kl(*asked, env=BOT).stderr
    rule = POLICY.format(effect="deny").replace("tags: [private]", "kinds: [task]")
    repo.write(".kl/policy.yaml", rule)
    for text in (
        repo.kl(*asked, env=BOT).stderr,
        json.dumps(tool(repo, "task_read", id="TSK-0002")),
    ):
        assert "there is no task of this id" in text and "TSK-0001" not in text, text
        assert "kl task list" in text
    assert "Did you mean TSK-0001?" in repo.kl(*asked).stderr


@pytest.mark.parametrize("effect", ["deny", "redact"])
def test_no_word_of_kl_itself_is_hidden_in_what_it_states_of_a_mistake(
    repo: Checkout, effect: str
) -> None:
    given = ("--entity", "src/pay.py", "--finding", "It is about a path")
    text = ("--tag", "private", "--details", "policy.yaml denies it to you. Ask a person")
    assert repo.kl("finding", "new", "Bob", *given, *text[:2]).returncode == 0
    assert repo.kl("fact", "new", "Ask a person", *text[:2], "--answer", text[3]).returncode == 0
    repo.write(".kl/policy.yaml", POLICY.format(effect=effect))
    missing = repo.kl("finding", "new", "Ann", "--finding", "x", env=BOT).stderr
    assert "What it is about: a path, else a pattern" in missing and "withheld" not in missing
    hidden = repo.kl("fact", "show", "FACT-0001", env=BOT).stderr
    shown = ".kl/policy.yaml denies it to you. Ask a person, who can open it."
    assert shown in hidden or effect == "redact"
