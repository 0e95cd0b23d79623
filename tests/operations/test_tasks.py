"""Tasks under a policy: one that is hidden is in no plan of an agent, waits for nothing and can't
be fulfilled.
"""

from __future__ import annotations

import json

import pytest

from kl_hooks.tools.call import call
from tests.support import Checkout

AGENT = {"KL_AGENT": "bot"}


@pytest.mark.parametrize("effect", ["deny", "redact"])
def test_a_hidden_task_is_planned_by_its_id_at_most_and_fulfilled_by_no_agent(
    repo: Checkout, effect: str
) -> None:
    assert repo.kl("init", "--yes").returncode == 0
    repo.kl("task", "new", "Lantern works", "--produces", "artifact:grammar")
    rule = f"{effect}: {{kinds: [task], actors: [agent]}}"
    repo.write(".kl/policy.yaml", f"version: 1\nrules:\n  - name: work\n    {rule}\n")
    for tool, verb in (("task_plan", "plan"), ("task_eligible", "eligible")):
        answer, _ = call(repo.workspace(), tool, b"{}", allow_write=False)
        command = repo.kl("task", verb, "--format", "json", env=AGENT)
        text = repo.kl("task", verb, env=AGENT)
        assert answer["result"] == json.loads(command.stdout)
        shown = json.dumps(answer) + command.stdout + text.stdout + text.stderr
        assert "Lantern" not in shown
        assert ("TSK-0001" in shown) == (effect == "redact")
    given = json.dumps({"id": "TSK-0001"}).encode()
    refused, _ = call(repo.workspace(), "task_fulfil", given, allow_write=True)
    assert not refused["ok"] and "Lantern" not in json.dumps(refused)
    assert repo.kl("task", "fulfil", "TSK-0001", env=AGENT).returncode == 2
    assert "Lantern works" in repo.kl("task", "plan").stdout
