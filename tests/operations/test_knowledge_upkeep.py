"""Checks, counts and proposals of records under a policy: what is hidden is neither quoted nor
counted, and a mistake in it stays a mistake.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.operations.hidden_files import AGENT
from tests.operations.private_records import DECISION, hide_private_records
from tests.support import Checkout

_UNREAD_DECISION = """---
id: ADR-0009
title: Bob 9
status: accepted
date: 2026-11-28
tags: [private]
---

## Context

[[bobs-house]]

## Decision

Pay.
"""


@pytest.fixture
def pay(repo: Checkout) -> Checkout:
    """Two accepted decisions that supersede the same one and don't name each other, with one tag,
    and an open memory.
    """
    assert repo.kl("init", "--yes").returncode == 0
    repo.write("src/pay.py", "")
    repo.write("docs/plans/bob.md", "# Plans\n\n[[bobs-raise]]\n")
    for number in (1, 2):
        done = repo.kl("decision", "new", f"Bob {number}", *DECISION, "--tag", "private")
        assert done.returncode == 0, done.stderr
        assert repo.kl("decision", "accept", f"ADR-000{number}").returncode == 0
        path = next((repo.root / ".kl/knowledge/decisions").glob(f"ADR-000{number}*"))
        path.write_text(path.read_text().replace("governs:", "supersedes: [ADR-0090]\ngoverns:"))
    assert repo.kl("knowledge", "verify", "--seal").returncode == 0
    assert repo.kl("memory", "add", "Round half up").returncode == 0
    change = ("decision", "edit", "ADR-0001", "--rationale", "Bob asked")
    assert repo.kl(*change, env=AGENT).returncode == 0
    proposal = ("decision", "new", "Bob 3", *DECISION, "--tag", "private")
    assert repo.kl(*proposal, env=AGENT).returncode == 0
    repo.commit()
    return repo


def hide(repo: Checkout, effect: str) -> None:
    hide_private_records(repo, effect, "docs/plans")


def answer(repo: Checkout, *words: str, code: int = 0, **env: str) -> dict[str, Any]:
    done = repo.kl("knowledge", *words, "--format", "json", env=env)
    assert done.returncode == code, done.stderr
    return dict(json.loads(done.stdout))


def test_what_is_denied_is_in_no_count_and_contradicts_nothing(pay: Checkout) -> None:
    hide(pay, "deny")
    person, agent = answer(pay, "health"), answer(pay, "health", **AGENT)
    assert (person["records"], person["counts"]["contradicted"], person["total"]) == (3, 2, 2)
    assert (agent["records"], agent["healthy"], agent["found"], agent["total"]) == (1, 1, [], 0)
    assert answer(pay, "stats")["records"] == 4
    assert answer(pay, "stats", **AGENT)["kinds"].keys() == {"memory"}
    status = answer(pay, "status", **AGENT)
    assert (status["kinds"].keys(), status["waiting"]) == ({"memory"}, {})
    assert answer(pay, "status")["waiting"] == {"decision": 1, "proposed change": 1}
    assert "decision" not in pay.kl("status", env=AGENT).stdout
    pay.kl("memory", "add", "Bob's pay", "--tag", "private")
    assert "2 approved" in pay.kl("status").stdout
    assert "1 approved" in pay.kl("status", env=AGENT).stdout


def test_what_is_redacted_is_counted_without_its_reasons(pay: Checkout) -> None:
    hide(pay, "redact")
    agent = answer(pay, "health", **AGENT)
    assert (agent["records"], agent["counts"]["contradicted"]) == (3, 2)
    assert {(issue["id"], issue["kind"], issue["reason"]) for issue in agent["found"]} == {
        (f"ADR-000{number}", "decision", "") for number in (1, 2)
    }
    decisions = answer(pay, "stats", **AGENT)["kinds"]["decision"]
    assert (decisions["statuses"], decisions["authorities"]) == ({"accepted": 2, "proposed": 1}, {})


def test_a_mistake_in_a_hidden_file_stays_one_and_is_not_quoted(pay: Checkout) -> None:
    path = pay.root / ".kl/knowledge/decisions/ADR-0002-bob-2.md"
    path.write_text(path.read_text("utf-8") + "\n[[bobs-bonus]]\n", "utf-8")
    hide(pay, "deny")
    person = answer(pay, "check", code=1)
    assert {"bobs-raise", "bobs-bonus"} <= {
        problem["message"].split("]]")[0][2:] for problem in person["findings"]
    }
    agent = answer(pay, "check", code=1, **AGENT)
    assert {(one["path"], one["message"]) for one in agent["findings"]} == {
        ("withheld", "withheld")
    }
    hide(pay, "redact")
    shown = pay.kl("knowledge", "check", env=AGENT)
    assert shown.returncode == 1 and "docs/plans/bob.md:3" in shown.stdout
    assert "bobs" not in shown.stdout + shown.stderr


@pytest.mark.parametrize("effect", ["deny", "redact"])
def test_a_hidden_record_that_can_not_be_read_is_quoted_in_no_note(
    pay: Checkout, effect: str
) -> None:
    path = pay.root / ".kl/knowledge/decisions/ADR-0002-bob-2.md"
    text = path.read_text("utf-8").replace("\ntitle:", "\nbobs_bonus: 5\nstatus: bobs\ntitle:")
    path.write_text(text, "utf-8")
    hide(pay, effect)
    assert '"status" is given twice' in pay.kl("decision", "list").stderr
    for words in (("decision", "list"), ("knowledge", "stats"), ("knowledge", "health")):
        done = pay.kl(*words, env=AGENT)
        assert done.returncode == 0 and "bob" not in done.stdout + done.stderr, done
        assert "given twice" not in done.stderr


@pytest.mark.parametrize("effect", ["deny", "redact"])
def test_what_is_proposed_for_a_hidden_record_is_shown_to_people_alone(
    pay: Checkout, effect: str
) -> None:
    hide(pay, effect)
    person, agent = answer(pay, "proposals"), answer(pay, "proposals", **AGENT)
    assert [change["record"] for change in person["changes"]] == ["ADR-0001"]
    assert agent["changes"] == [] and "Bob" not in repr(agent)
    assert len(agent["records"]) == (0 if effect == "deny" else 1)


def test_the_proposal_for_a_hidden_record_that_was_renumbered_waits_for_a_person(
    pay: Checkout,
) -> None:
    hide(pay, "deny")
    assert pay.kl("decision", "renumber", "ADR-0001").returncode == 0
    assert "Bob asked" not in repr(answer(pay, "proposals", **AGENT))
    assert answer(pay, "status", **AGENT)["waiting"] == {}
    assert answer(pay, "status")["waiting"] == {"decision": 1, "proposed change": 1}


def test_a_check_counts_no_denied_file_and_no_link_in_it(pay: Checkout) -> None:
    # not read by any other command yet
    before = answer(pay, "check", code=1)
    hide(pay, "deny")
    pay.write(".kl/knowledge/decisions/ADR-0009-bob.md", _UNREAD_DECISION)
    pay.write("docs/open.md", "# Open\n\n[[MEM-1]]\n")
    person, agent = answer(pay, "check", code=1), answer(pay, "check", code=1, **AGENT)
    assert person["files"] == before["files"] + 2 and agent["files"] == 2, (before, person, agent)
    assert (person["links"], agent["links"]) == (before["links"] + 2, 1)
    assert {problem["path"] for problem in agent["findings"]} == {"docs/open.md", "withheld"}
    hide(pay, "redact")
    redacted = answer(pay, "check", code=1, **AGENT)
    assert (redacted["files"], redacted["links"]) == (person["files"], person["links"])


def test_an_agent_reads_the_status_where_files_are_edited(pay: Checkout) -> None:
    hide(pay, "deny")
    pay.write("src/pay.py", "RATE = 1\n")
    pay.write("docs/plans/new.md", "# New\n")
    done = pay.kl("status", env=AGENT)
    assert done.returncode == 0, done.stderr


def test_upkeep_names_no_denied_record(pay: Checkout) -> None:
    for number, name in ((1, "ADR-0002"), (2, "ADR-0003")):
        pay.kl("decision", "accept", name)
        pay.kl("decision", "supersede", f"ADR-000{number}", name)
    pay.commit()
    hide(pay, "deny")
    archived = [
        one for one in answer(pay, "gc")["policies"] if one["policy"] == "superseded decisions"
    ]
    assert [change["id"] for change in archived[0]["changes"]] == ["ADR-0001", "ADR-0002"]
    agent = answer(pay, "gc", **AGENT)
    assert agent["total"] == 0 and "bob" not in repr(agent).lower()


def test_an_option_is_also_read_from_the_variable_of_its_name(pay: Checkout) -> None:
    assert answer(pay, "check", code=1, KL_KNOWLEDGE_CHECK_STAGED="1")["staged"] is True
    low = pay.kl("knowledge", "health", env={"KL_KNOWLEDGE_HEALTH_FAIL_UNDER": "90"})
    assert low.returncode == 1 and "fewer than 90 % are healthy" in low.stderr
    wrong = pay.kl("knowledge", "health", env={"KL_KNOWLEDGE_HEALTH_TOP": "0"})
    assert wrong.returncode == 2 and "--top" in wrong.stderr


def test_a_hidden_file_that_was_tampered_with_is_counted_nowhere_and_stays_a_finding(
    pay: Checkout,
) -> None:
    path = pay.root / ".kl/knowledge/decisions/ADR-0002-bob-2.md"
    path.write_text(path.read_text("utf-8") + "\nEdited.\n", "utf-8")
    hide(pay, "deny")
    assert answer(pay, "verify", code=1)["counts"]["tampered"] == 1
    agent = answer(pay, "verify", code=1, **AGENT)
    assert agent["counts"]["tampered"] == 0
    assert {seal["id"][:3] for seal in agent["records"]} == {"MEM"}
    done = pay.kl("knowledge", "verify", env=AGENT)
    assert "hidden from you was edited" in done.stderr and "ADR" not in done.stdout
    assert pay.kl("knowledge", "verify", "ADR-0001", env=AGENT).returncode == 2


def test_of_what_seeding_made_a_hidden_record_is_not_named(pay: Checkout) -> None:
    pay.write("README.md", "# Pay\n\nBob's shop sells things to people.\n")
    assert pay.kl("seed").returncode == 0
    made = answer(pay, "clear", "--dry-run")["removed"]
    rule = "deny: {kinds: [fact, guide], actors: [agent]}"
    pay.write(".kl/policy.yaml", f"version: 1\nrules:\n  - name: all\n    {rule}\n")
    assert made and answer(pay, "clear", "--dry-run", **AGENT)["removed"] == []


def test_what_upkeep_only_reports_is_not_called_removed(repo: Checkout) -> None:
    assert repo.kl("init", "--yes").returncode == 0
    head = "---\nid: OBJ-0001\ntitle: Parser\nstatus: active\ndate: 2020-01-01\n"
    repo.write(".kl/knowledge/objectives/OBJ-0001-parser.md", f"{head}remaining:\n  - Lexer\n---\n")
    lines = repo.kl("knowledge", "gc").stdout
    assert "  abandon  OBJ-0001   active\n" in lines
    assert "Only reported: nothing of it is changed." in lines and "removed" not in lines
