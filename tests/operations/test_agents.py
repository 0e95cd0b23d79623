"""`kl agents` under a policy: of a file of settings or instructions that is hidden an agent sees no
text.
"""

from __future__ import annotations

import json
from typing import Final

import pytest

from tests.support import Checkout

AGENT: Final = {"KL_AGENT": "bot"}


def hide(repo: Checkout, effect: str) -> None:
    rule = f'{effect}: {{paths: ["CLAUDE.md", ".claude/**"], actors: [agent]}}'
    repo.write(".kl/policy.yaml", f"version: 1\nrules:\n  - name: settings\n    {rule}\n")


@pytest.fixture
def instructed(repo: Checkout) -> Checkout:
    """A repository with a page of instructions and settings."""
    assert repo.kl("init", "--yes").returncode == 0
    repo.write("CLAUDE.md", "Ask the lantern.\n")
    repo.write(".claude/settings.local.json", '{"env": {"HARBOR": "lantern"}}\n')
    return repo


@pytest.mark.parametrize("effect", ["deny", "redact"])
def test_the_text_of_a_hidden_file_is_in_no_difference(instructed: Checkout, effect: str) -> None:
    hide(instructed, effect)
    assert "antern" in instructed.kl("agents", "install", "claude", "--dry-run").stdout
    for command in (("install", "--dry-run"), ("install",), ("uninstall", "--dry-run")):
        for shape in ("text", "json"):
            done = instructed.kl("agents", *command, "claude", "--format", shape, env=AGENT)
            assert done.returncode == 0, done.stderr
            assert ".mcp.json" in done.stdout
            assert "antern" not in done.stdout and "HARBOR" not in done.stdout
            assert effect == "redact" or "CLAUDE.md" not in done.stdout


@pytest.mark.parametrize("effect", ["deny", "redact"])
def test_what_was_left_as_it_is_in_a_hidden_file_still_ends_with_1(
    instructed: Checkout, effect: str
) -> None:
    assert instructed.kl("agents", "install", "claude").returncode == 0
    page = instructed.root / "CLAUDE.md"
    page.write_text(page.read_text("utf-8").replace("Before you start", "Before you begin"))
    hide(instructed, effect)
    person = instructed.kl("agents", "install", "claude")
    assert person.returncode == 1 and "was edited" in person.stderr
    agent = instructed.kl("agents", "install", "claude", env=AGENT)
    assert agent.returncode == 1 and "was edited" not in agent.stderr


def test_a_denied_file_is_not_listed_where_kl_is_registered(instructed: Checkout) -> None:
    assert instructed.kl("agents", "install", "claude").returncode == 0
    hide(instructed, "deny")
    shown = instructed.kl("agents", "status", "--format", "json", env=AGENT).stdout
    (claude,) = [row for row in json.loads(shown)["agents"] if row["agent"] == "claude"]
    assert claude["enabled"] and claude["files"] == {".mcp.json": "MCP server"}
