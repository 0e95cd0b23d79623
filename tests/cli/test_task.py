"""Tasks from outside: planned in waves, cycles named, done one after the other."""

from __future__ import annotations

import json
import re

import pytest

from tests.support import Checkout


@pytest.mark.requirement("A51", "A52")
def test_tasks_are_planned_from_what_they_need_and_give(repo: Checkout) -> None:
    repo.kl("task", "new", "Build", "--requires", "ARTIFACT:Design", "--requires", "file:README.md")
    repo.kl("task", "new", "Design", "--produces", "artifact:design")
    repo.kl("task", "new", "Ship", "--requires", "artifact:sign-off")
    plan = json.loads(repo.kl("task", "plan", "--format", "json").stdout)
    assert plan["active"] and plan["waves"] == [["TSK-0002"]]  # what can't be begun is in no wave
    assert plan["blocked"] == ["TSK-0001", "TSK-0003"]
    assert plan["unmet"] == [
        {"name": "TSK-0001", "token": "file:readme.md"},
        {"name": "TSK-0003", "token": "artifact:sign-off"},
    ]


@pytest.mark.requirement("A52")
def test_fulfilling_makes_the_next_ones_eligible(repo: Checkout) -> None:
    repo.kl("task", "new", "Build", "--requires", "artifact:design", "--produces", "artifact:build")
    repo.kl("task", "new", "Design", "--produces", "artifact:design")
    repo.kl(
        "task", "new", "Ship", "--requires", "artifact:build", "--requires", "artifact:sign-off"
    )
    refused = repo.kl("task", "fulfil", "TSK-0001")
    assert refused.returncode == 2 and "artifact:design" in refused.stderr
    assert repo.kl("task", "fulfil", "TSK-0002").returncode == 0
    eligible = json.loads(repo.kl("task", "eligible", "--format", "json").stdout)
    assert eligible["eligible"] == ["TSK-0001"]
    assert eligible["waiting"] == [
        {"name": "TSK-0003", "waits_for": ["artifact:build", "artifact:sign-off"]}
    ]
    repo.kl("task", "fulfil", "TSK-0001")
    repo.kl("task", "fulfil", "artifact:Sign-Off")
    assert json.loads(repo.kl("task", "eligible", "--format", "json").stdout)["eligible"] == [
        "TSK-0003"
    ]
    assert "everything" not in repo.kl("task", "plan").stdout
    repo.kl("task", "fulfil", "TSK-0003")
    assert repo.kl("task", "plan").stdout == "everything is done.\n"


def test_files_and_symbols_that_are_there_count_as_produced(repo: Checkout) -> None:
    repo.write("src/shop.py", "class Basket:\n    def add(self): ...\n")
    repo.commit()
    needs = [
        "file:src/shop.py",
        "symbol:Basket.add",
        "symbol:Basket.remove",
        "file:../../etc/hostname",
        "file:/etc/hostname",
    ]
    repo.kl("task", "new", "Build", *(word for need in needs for word in ("--requires", need)))
    unmet = [
        one["token"]
        for one in json.loads(repo.kl("task", "plan", "--format", "json").stdout)["unmet"]
    ]
    assert unmet == ["symbol:basket.remove", "file:../../etc/hostname", "file:/etc/hostname"]


AGENTS = """\
agents:
  - {name: writer, requires: [artifact:design], produces: [artifact:text]}
  - {name: critic, requires: [artifact:text], produces: [artifact:design]}
  - {name: loner, requires: [artifact:x], produces: [ARTIFACT:X]}
"""


@pytest.mark.requirement("A52")
def test_cycles_are_errors_that_name_everyone_in_them(repo: Checkout) -> None:
    repo.write("agents.yaml", AGENTS)
    done = repo.kl("task", "plan", "--from", "agents.yaml")
    assert done.returncode == 1
    assert "a cycle: writer needs critic needs writer" in done.stdout
    assert "loner needs what it produces itself" in done.stdout
    repo.write(
        "agents.yaml",
        AGENTS.replace("produces: [artifact:design]", "produces: []").replace("[ARTIFACT:X]", "[]"),
    )
    plan = json.loads(repo.kl("task", "plan", "--from", "agents.yaml", "--format", "json").stdout)
    assert plan["waves"] == [["writer", "loner"], ["critic"]]
    out = repo.kl(
        "task", "eligible", "--from", "agents.yaml", "--with", "artifact:design", "--done", "writer"
    ).stdout
    assert "now    critic" in out


def test_mistakes_are_reported_at_once_and_nothing_is_written(repo: Checkout) -> None:
    wrong = repo.kl("task", "new", "X", "--requires", "design", "--produces", "thing:y")
    assert (
        wrong.returncode == 2
        and '"design" is no token' in wrong.stderr
        and '"thing:y" is no token' in wrong.stderr
    )
    assert json.loads(repo.kl("task", "list", "--format", "json").stdout)["total"] == 0
    assert repo.kl("task", "fulfil", "thing:y").returncode == 2
    assert repo.kl("task", "plan", "--from", "none.yaml").returncode == 2
    repo.write("bad.yaml", "agents: [{name: a, requires: design}]")
    bad = repo.kl("task", "plan", "--from", "bad.yaml")
    assert bad.returncode == 2 and "bad.yaml:1:30" in bad.stderr
    assert repo.kl("task", "eligible", "--done", "nobody").returncode == 2


def test_a_token_that_was_spoilt_by_an_edit_is_reported(repo: Checkout) -> None:
    repo.kl("task", "new", "X")
    repo.kl("task", "edit", "TSK-0001", "--requires", "design")
    done = repo.kl("task", "plan")
    assert done.returncode == 0 and "TSK-0001" in done.stderr and "no token" in done.stderr


@pytest.mark.requirement("B1")
def test_the_end_of_a_task_is_an_outcome_once(repo: Checkout) -> None:
    repo.kl("decision", "new", "Tokens are read lazily")
    assert (
        repo.kl(
            "task",
            "new",
            "Write the lexer",
            "--produces",
            "file:lexer.py",
            "--feature",
            "FEAT-LEX-1",
            "--description",
            "Read identifiers and numbers.",
        ).returncode
        == 0
    )
    repo.kl("task", "edit", "TSK-0001", "--related", "ADR-0001")
    done = repo.kl("task", "fulfil", "TSK-0001")
    (identifier,) = re.findall(r"outcome    (OUT-\w+): kl outcome edit \1", done.stdout)
    made = json.loads(repo.kl("outcome", "show", identifier, "--format", "json").stdout)
    fields = {
        name: made["fields"][name] for name in ("task_id", "success", "summary", "related_adr_ids")
    }
    assert fields == {
        "task_id": "TSK-0001",
        "success": True,
        "summary": "There now: file:lexer.py.",
        "related_adr_ids": ["ADR-0001"],
    }
    assert identifier in repo.kl("outcome", "similar", "read identifiers").stdout
    assert (
        repo.kl("outcome", "edit", identifier, "--lessons-learned", "Numbers have signs").returncode
        == 0
    )
    assert "Numbers have signs" in repo.kl("context", "a lexer that reads identifiers").stdout
    repo.kl("task", "reopen", "TSK-0001")
    again = json.loads(repo.kl("task", "fulfil", "TSK-0001", "--format", "json").stdout)
    assert again == {
        "schema": "kl.task.fulfil/1",
        "id": "TSK-0001",
        "produces": ["file:lexer.py"],
        "outcome": None,
    }
