"""Records of every kind under a policy: what is hidden is neither shown nor counted; commands and
tools answer the same.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from kl_hooks import api
from tests.support import Checkout

AGENT = {"KL_AGENT": "bot"}
POLICY = """version: 1
rules:
  - name: pay
    deny: {tags: [private], actors: [agent]}
  - name: brief
    redact: {tags: [short], actors: [agent]}
"""


@pytest.fixture
def known(repo: Checkout) -> Checkout:
    """Memories and a claim about lanterns: denied, redacted and open ones."""
    assert repo.kl("init", "--yes").returncode == 0
    for number, tag in enumerate(("private", "private", "short", "open")):
        text = f"Lantern {tag} rule {number}"
        done = repo.kl("memory", "add", text, "--tag", tag)
        assert done.returncode == 0, done.stderr
        if tag == "private":
            record_id = re.findall(r"MEM-[0-9a-f]+", done.stdout)[0]
            assert repo.kl("claim", "add", f"lantern {tag}", "--about", record_id).returncode == 0
    repo.write("docs/lantern.md", "# Lantern\n\nA page.\n")
    repo.commit()
    repo.write(".kl/policy.yaml", POLICY)
    return repo


def found(repo: Checkout, *args: str, **env: str) -> dict[str, Any]:
    done = repo.kl("knowledge", *args, "--format", "json", env=env)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_hidden_records_and_claims_are_not_counted_beyond_the_first_either(
    known: Checkout,
) -> None:
    person = found(known, "search", "lantern", "--top", "1")
    agent = found(known, "search", "lantern", "--top", "1", **AGENT)
    assert (person["total"], person["claims_total"]) == (5, 2)
    assert (agent["total"], agent["claims_total"], len(agent["order"])) == (3, 0, 1)
    listed = found(known, "list", "--top", "1", **AGENT)
    assert (listed["total"], len(listed["records"])) == (2, 1)
    assert found(known, "list", "--top", "1")["total"] == 4


def test_the_tool_answers_as_the_command_and_of_what_is_redacted_its_id_is_left(
    known: Checkout,
) -> None:
    command = found(known, "search", "lantern", **AGENT)
    given = json.dumps({"query": "lantern"})
    tool = json.loads(known.kl("tool", "knowledge_search", given, env=AGENT).stdout)["result"]
    assert tool == command
    titles = {record["title"] for record in command["records"]}
    assert titles == {"withheld", "Lantern open rule 3"}
    text = known.kl("knowledge", "search", "lantern", env=AGENT).stdout
    assert "docs/lantern.md" in text and "private" not in text and "short rule" not in text


def test_whoever_changes_a_memory_is_given_its_id_and_no_hidden_text(known: Checkout) -> None:
    known.git("config", "kl.reviewers", "bot")
    title = "Lantern private rule 0"
    listed = found(known, "list")["records"]
    (record_id,) = (record["id"] for record in listed if record["title"] == title)
    for args in (("demote", record_id), ("approve", record_id), ("reject", record_id)):
        done = known.kl("memory", *args, env=AGENT)
        assert "rule 0" not in done.stdout + done.stderr, done
        assert done.returncode or record_id in done.stdout, done
    assert known.kl("memory", "show", record_id, env=AGENT).returncode == 2


def test_a_memory_is_added_by_its_command_and_its_tool_alike(known: Checkout) -> None:
    text = "Lanterns need oil"
    given = json.dumps({"content": text, "tags": ["oil"], "ttlDays": 3})
    done = known.kl("tool", "memory_create", given, "--allow-write", env=AGENT)
    tool = json.loads(done.stdout)["result"]
    command = ("memory", "add", text, "--tag", "oil", "--format", "json")
    again = json.loads(known.kl(*command, env=AGENT).stdout)
    assert (tool["id"], tool["done"], again["done"]) == (again["id"], "new", "known")
    assert tool["fields"]["tags"] == again["fields"]["tags"] == ["oil"]
    assert (tool["status"], tool["authority"]) == ("candidate", "agent")


def test_hidden_records_that_are_not_in_force_are_not_counted_as_omitted(known: Checkout) -> None:
    for tag in ("private", "open"):
        text = ("--context", "It is dark.", "--decision", "Light it.")
        done = known.kl("decision", "new", f"Lantern decision {tag}", "--tag", tag, *text)
        assert done.returncode == 0, done.stderr
        identifier = re.findall(r"ADR-[0-9]{4}", done.stdout)[0]
        assert known.kl("decision", "reject", identifier).returncode == 0
    omitted = {"person": 2, "agent": 1}
    assert found(known, "search", "lantern")["not_in_force"] == omitted["person"]
    assert found(known, "search", "lantern", **AGENT)["not_in_force"] == omitted["agent"]
    searched = known.kl("decision", "search", "lantern").stderr
    assert "2 " in searched and "1 " in known.kl("decision", "search", "lantern", env=AGENT).stderr


def test_what_is_hidden_takes_no_place_among_the_first_for_programs(known: Checkout) -> None:
    knowledge = api.open(known.root, agent="bot")
    assert [record.title for record in knowledge.search("lantern open", limit=1)]
    shown = knowledge.search("lantern", limit=2)
    assert len(shown) == 2 and not [record for record in shown if "private" in record.title]
    everything = api.open(known.root).search("lantern", limit=9)
    assert len(everything) == 4, "a person is shown everything"
