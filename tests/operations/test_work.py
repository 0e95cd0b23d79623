"""Objectives, turns and outcomes under a policy: an agent reads nothing of what is hidden, and may
name what it wrote itself.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from kl_hooks.tools.call import call
from tests.support import Checkout

AGENT = {"KL_AGENT": "bot"}


@pytest.fixture
def hidden(repo: Checkout) -> Checkout:
    """An objective, an outcome and a turn with the word `lantern`."""
    assert repo.kl("init", "--yes").returncode == 0
    repo.kl("objective", "new", "Light the lantern", "--tasks", "Lantern glass,Lantern oil")
    repo.kl("outcome", "capture", "Lantern wick", "--requirements", "a lantern that burns")
    repo.kl("turn", "add", "--feature", "FEAT-AUTH-1", "--summary", "Lantern lit")
    return repo


@pytest.mark.parametrize("effect", ["deny", "redact"])
def test_nothing_of_hidden_work_is_shown_to_an_agent(hidden: Checkout, effect: str) -> None:
    commands: list[tuple[str, ...]] = [
        ("objective", "status"),
        ("objective", "status", "OBJ-0001"),
        ("objective", "link", "OBJ-0001", "Buy oil"),
        ("outcome", "similar", "burns"),
        ("turn", "continue", "--feature", "FEAT-AUTH-1"),
    ]
    assert not [argv for argv in commands if "antern" not in hidden.kl(*argv).stdout]
    kinds = "[objective, outcome, turn]"
    rule = f"{effect}: {{kinds: {kinds}, actors: [agent]}}"
    hidden.write(".kl/policy.yaml", f"version: 1\nrules:\n  - name: work\n    {rule}\n")
    for argv in commands:
        for shape in ("text", "json"):
            done = hidden.kl(*argv, "--format", shape, env=AGENT)
            assert "antern" not in done.stdout + done.stderr, argv
    arguments = {"id": "OBJ-0001", "task": "Buy a wick"}
    linked = ask(hidden, "objective_link_task", arguments)
    assert linked["result"]["id"] == "OBJ-0001" and "antern" not in json.dumps(linked)


def ask(repo: Checkout, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    given = json.dumps(arguments).encode()
    return call(repo.workspace(), tool, given, allow_write=True)[0]


def test_a_link_has_one_json_for_people_and_agents(hidden: Checkout) -> None:
    linked = ask(hidden, "objective_link_task", {"id": "OBJ-0001", "task": "Oil", "done": True})
    command = json.loads(
        hidden.kl("objective", "link", "OBJ-0001", "Oil", "--done", "--format", "json").stdout
    )
    assert linked["result"].keys() == command.keys()
    assert command["completed"] == ["Oil"] and command["percent"] == 33
