"""Memory in tiers under a policy: a memory that is recalled by its ID is a record, whose text the
policy decides on; what an agent stored itself stays its own.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from kl_hooks.tools.call import call
from kl_hooks.workspace import open_workspace
from tests.support import Checkout

AGENT = {"KL_AGENT": "bot"}
TEXT = "Salaries are paid by hand every Friday"


def policy(effect: str) -> str:
    return (
        f"version: 1\nrules:\n  - name: pay\n    {effect}: {{tags: [private], actors: [agent]}}\n"
    )


@pytest.fixture
def memory(repo: Checkout) -> str:
    """The ID of an approved memory with the tag `private`."""
    assert repo.kl("init", "--yes").returncode == 0
    added = repo.kl("memory", "add", TEXT, "--tag", "private", "--format", "json")
    memory_id: str = json.loads(added.stdout)["id"]
    assert repo.kl("memory", "approve", memory_id).returncode == 0
    return memory_id


@pytest.mark.parametrize("effect", ["deny", "redact"])
def test_the_text_of_a_hidden_memory_is_recalled_by_no_agent(
    repo: Checkout, memory: str, effect: str
) -> None:
    assert json.loads(repo.kl("recall", memory, "--format", "json").stdout)["value"] == TEXT
    repo.write(".kl/policy.yaml", policy(effect))
    arguments = json.dumps({"key": memory}).encode()
    tool_answer, _ = call(repo.workspace(), "recall", arguments, allow_write=False)
    answers = [json.dumps(tool_answer)]
    for shape in ("text", "json"):
        command = repo.kl("recall", memory, "--format", shape, env=AGENT)
        assert command.returncode == (2 if effect == "deny" else 0)
        answers.append(command.stdout + command.stderr)
    assert not [answer for answer in answers if "Salaries" in answer or "Friday" in answer]
    assert TEXT in repo.kl("recall", memory).stdout


def keys(value: Any) -> Any:
    """The keys of a value, at every level."""
    if isinstance(value, dict):
        return {name: keys(part) for name, part in value.items()}
    return [keys(part) for part in value] if isinstance(value, list) else ""


def test_tools_and_commands_of_tiers_give_the_same_answer(
    repo: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert repo.kl("init", "--yes").returncode == 0
    repo.kl("remember", "plan", '{"step": 1}', env=AGENT)
    repo.kl("memory", "context", "create", "glossary", env=AGENT)
    repo.kl("memory", "context", "write", "glossary", "terms.tier", "a place", env=AGENT)
    monkeypatch.setenv("KL_AGENT", "bot")
    pairs: list[tuple[str, dict[str, str], tuple[str, ...]]] = [
        ("recall", {"key": "plan"}, ("recall", "plan")),
        ("recall_search", {"query": "step"}, ("recall", "step", "--search")),
        ("recall_keys", {}, ("keys",)),
        ("recall_stats", {}, ("memory", "stats")),
        ("persistent_context", {"context": "glossary"}, ("memory", "context", "show", "glossary")),
        ("pool_list", {}, ("pool", "list")),
        ("pool_stats", {"pool_id": "default"}, ("pool", "stats", "default")),
    ]
    for tool, arguments, argv in pairs:
        given = json.dumps(arguments).encode()
        answer, _ = call(open_workspace(repo.root), tool, given, allow_write=False)
        command = json.loads(repo.kl(*argv, "--format", "json", env=AGENT).stdout)
        assert answer["result"]["schema"] == command["schema"]
        assert keys(answer["result"]) == keys(command), tool
