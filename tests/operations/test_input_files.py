"""A file that the policy hides from an agent is no input of its commands: what they read there
would be printed, or stored under no rule.
"""

from __future__ import annotations

from typing import Final

import pytest

from tests.operations.private_records import hide_private_records
from tests.support import Checkout

AGENT: Final = {"KL_AGENT": "bot"}
_AGENTS: Final = "agents:\n  - {name: lantern, requires: [artifact:a], produces: [artifact:b]}\n"
_TASK: Final = "# Lantern\n\n## Summary\n\nThe lantern burns.\n"
_FILES: Final = {
    "agents.yaml": _AGENTS,
    "answers.yaml": "purpose: A lantern for a harbor.\n",
    "task.txt": _TASK,
    "decisions.json": '{"answers": [{"id": "MEM-lantern", "do": "approve"}]}\n',
    "layers.yaml": "version: 1\nlayers:\n  - {name: lantern, paths: [plans/]}\n",
    "tach.toml": '[[modules]]\npath = "lantern"\ndepends_on = []\n',
    "facts.json": '[{"title": "Lantern", "text": "The lantern burns"}]\n',
    "junit.xml": '<testsuite name="lantern"><testcase name="test_lantern"/></testsuite>\n',
    "receipts.jsonl": '{"lantern": 1}\n',
    "session.jsonl": '{"role": "user", "content": "No, use the lantern instead."}\n',
}
COMMANDS: Final = {
    ("task", "plan", "--from"): "agents.yaml",
    ("task", "eligible", "--from"): "agents.yaml",
    ("outcome", "capture", "--dry-run", "--from-task-file"): "task.txt",
    ("outcome", "capture", "--from-task-file"): "task.txt",
    ("memory", "mine", "--transcript"): "session.jsonl",
    ("interview", "--answers"): "answers.yaml",
    ("memory", "review", "--answers"): "decisions.json",
    ("arch", "check", "--manifest"): "layers.yaml",
    ("arch", "import"): "tach.toml",
    ("knowledge", "import", "--kind", "fact"): "facts.json",
    ("finding", "import"): "session.jsonl",
    ("evidence", "import", "junit"): "junit.xml",
    ("evidence", "verify"): "receipts.jsonl",
    ("sync", "--dry-run", "--receipts"): "receipts.jsonl",
}
_SIGNED: Final = frozenset(
    {("evidence", "verify"), ("sync", "--dry-run", "--receipts"), ("memory", "review", "--answers")}
)
"""Commands that read no such file to its end."""


@pytest.fixture
def planned(repo: Checkout) -> Checkout:
    """A repository with files that commands read, in a folder that may be hidden and in an open
    one.
    """
    assert repo.kl("init", "--yes").returncode == 0
    for name, text in _FILES.items():
        repo.write(f"plans/{name}", text)
        repo.write(f"open/{name}", text)
    return repo


@pytest.mark.parametrize("effect", ["deny", "redact"])
def test_a_hidden_file_is_no_input_of_an_agents_command(planned: Checkout, effect: str) -> None:
    hide_private_records(planned, effect, "plans")
    (planned.root / "link").symlink_to("plans")
    for command, name in COMMANDS.items():
        for folder in ("plans", "link"):
            done = planned.kl(*command, f"{folder}/{name}", env=AGENT)
            assert done.returncode == 2 and "denies it to you" in done.stderr, command
            assert "antern" not in done.stdout + done.stderr, command
    for kind in ("outcome", "fact", "memory"):
        assert "antern" not in planned.kl(kind, "list").stdout


def test_another_file_is_one_and_a_person_may_give_either(planned: Checkout) -> None:
    hide_private_records(planned, "deny", "plans")
    for command, name in COMMANDS.items():
        for folder, env in (("open", AGENT), ("plans", {})):
            done = planned.kl(*command, f"{folder}/{name}", env=env)
            is_read = done.returncode == 0 or command in _SIGNED
            assert is_read and "denies it" not in done.stderr, (command, done.stderr)
