"""The interview from outside: gaps end when they are answered, no answer is lost, files of answers
work.
"""

from __future__ import annotations

import io
import json
from typing import Any

import click
import pytest

from kl_hooks.cli.main import run
from tests.support import Checkout


def gaps(repo: Checkout, *args: str) -> list[str]:
    found = json.loads(repo.kl("interview", "--format", "json", *args).stdout)
    return [one["key"] for one in found["questions"]]


def answer(repo: Checkout, text: str, *args: str) -> dict[str, Any]:
    repo.write("answers.yaml", text)
    done = repo.kl("interview", "--answers", "answers.yaml", "--format", "json", *args)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.requirement("B50", "B51")
def test_a_gap_ends_when_it_is_answered(repo: Checkout) -> None:
    assert len(gaps(repo)) == 10 and len(gaps(repo, "--max-questions", "100")) == 23
    assert gaps(repo, "--max-questions", "0") == []
    assert gaps(repo, "--focus", "domain") == ["domain_terminology", "business_rules"]
    answer(repo, "domain_terminology: A parcel is a piece of land.\nbusiness_rules:\n")
    assert gaps(repo, "--focus", "domain") == ["business_rules"]
    repo.kl("fact", "outdate", "FACT-0001")
    assert gaps(repo, "--focus", "domain") == ["domain_terminology", "business_rules"]


def test_a_list_of_none_states_how_many_are_open(repo: Checkout) -> None:
    shown = repo.kl("interview", "--top", "0").stdout
    assert shown.startswith("… and 23 more: --top 23\n23 open. ") and "nothing" not in shown
    assert repo.kl("interview", "--top", "-1").returncode == 2
    every = "\n".join(f"{key}: It is so." for key in gaps(repo, "--top", "23"))
    answer(repo, every)
    assert repo.kl("interview", "--top", "0").stdout == "nothing is left to ask.\n"


@pytest.mark.requirement("B54")
def test_an_answer_becomes_a_fact_with_its_sentences_and_is_found(repo: Checkout) -> None:
    made = answer(repo, "architecture_summary: Readers feed filters. Writers take what is left.\n")
    assert made["captured_items"] == [
        {
            "id": "FACT-0001",
            "answers": "architecture_summary",
            "category": "architecture",
            "answer": "Readers feed filters. Writers take what is left.",
            "confidence": 100,
            "extracted_facts": [
                "Architecture: Readers feed filters.",
                "Architecture: Writers take what is left.",
            ],
        }
    ]
    package = repo.kl("context", "change how readers feed the filters").stdout
    assert "FACT-0001" in package and "Readers feed filters." in package


def test_a_person_who_answers_again_changes_his_answer(repo: Checkout) -> None:
    answer(repo, "max_auto_turns: Three turns.\n")
    answer(repo, "max_auto_turns: Five turns.\n")
    facts = json.loads(repo.kl("fact", "list", "--format", "json").stdout)["records"]
    assert [one["title"] for one in facts] == ["Workflow preferences: Five turns."]


def test_what_is_reported_of_a_role_goes_into_the_role_and_what_is_settled_is_proposed(
    repo: Checkout,
) -> None:
    repo.kl("seed", "--system")
    assert "player_ask_before" in gaps(repo, "--max-questions", "99")
    answer(
        repo,
        "player_ask_before: Changing a migration.\n"
        "tech_decisions: SQLite rather than a server, because the database runs on laptops.\n",
    )
    assert "Changing a migration." in repo.kl("role", "show", "player").stdout
    decisions = json.loads(repo.kl("decision", "list", "--format", "json").stdout)["records"]
    assert [one["status"] for one in decisions] == ["proposed"]


def shown(repo: Checkout, kind: str) -> dict[str, dict[str, Any]]:
    """Title → fields, of every record of a kind."""
    rows = json.loads(repo.kl(kind, "list", "--format", "json").stdout)["records"]
    found = [
        json.loads(repo.kl(kind, "show", one["id"], "--format", "json").stdout) for one in rows
    ]
    return {one["title"]: one["fields"] for one in found}


ANSWERS = """coverage_threshold: 85 % of changed lines.
arch_review_threshold: Complexity 7 and more; at least 60 of 100.
implementation_mode_preference: Test first for everything but scaffolding.
max_auto_turns: Five.
no_auto_zones: Anything under legal/.
"""


@pytest.mark.slow
@pytest.mark.requirement("B34", "B54")
@pytest.mark.parametrize("first", ["seeds", "answers"])
@pytest.mark.share(2)
def test_answers_change_gates_modes_and_roles_whenever_they_were_given(
    repo: Checkout, first: str
) -> None:
    if first == "seeds":
        repo.kl("seed", "--system")
        answer(repo, ANSWERS)
    else:
        answer(repo, ANSWERS)
        done = repo.kl("seed", "--system")
        assert "updated from interview answers" in done.stderr
    gates, modes, roles = shown(repo, "gate"), shown(repo, "mode"), shown(repo, "role")
    features = {
        one["complexity_from"]: one for one in gates.values() if one["task_type"] == "feature"
    }
    assert [features[n]["coverage_threshold"] for n in (1, 4, 7)] == [85, 85, 85]
    assert [features[n]["arch_review_required"] for n in (1, 4, 7)] == [False, False, True]
    assert features[7]["arch_review_threshold"] == 60
    assert not any(
        one.get("coverage_threshold") for one in gates.values() if one["task_type"] == "docs"
    )
    assert modes["Test first"]["default"] is True and "default" not in modes["Directly"]
    assert any("everything but scaffolding" in one for one in modes["Test first"]["when_to_use"])
    assert {one["max_turns"] for one in modes.values() if "max_turns" in one} == {5}
    assert (
        "Anything under legal/."
        in next(one for one in roles.values() if one["role"] == "player")["must_not_do"]
    )


@pytest.mark.slow
def test_another_answer_takes_the_place_of_the_one_before_and_an_agent_s_changes_nothing(
    repo: Checkout,
) -> None:
    repo.kl("seed", "--system")
    answer(repo, ANSWERS)
    repo.write("answers.yaml", "coverage_threshold: ask somebody\n")
    done = repo.kl("interview", "--answers", "answers.yaml")
    assert done.returncode == 0 and "names no number or mode" in done.stderr
    answer(
        repo,
        "coverage_threshold: Ninety is too much, at least 70.\nno_auto_zones: migrations/ of all"
        " kinds.\nimplementation_mode_preference: Directly.\n",
    )
    assert {
        one["coverage_threshold"]
        for one in shown(repo, "gate").values()
        if "coverage_threshold" in one
    } == {70}
    player = next(one for one in shown(repo, "role").values() if one["role"] == "player")
    assert "migrations/ of all kinds." in player["must_not_do"]
    assert "Anything under legal/." not in player["must_not_do"]
    assert [title for title, one in shown(repo, "mode").items() if one.get("default")] == [
        "Directly"
    ]
    repo.write("answers.yaml", "max_auto_turns: 99\n")
    assert (
        repo.kl("interview", "--answers", "answers.yaml", env={"KL_AGENT": "bot"}).returncode == 0
    )
    assert {one["max_turns"] for one in shown(repo, "mode").values() if "max_turns" in one} == {5}


@pytest.mark.requirement("B53")
def test_the_short_form_after_a_review(repo: Checkout) -> None:
    assert 3 <= len(gaps(repo, "--abbreviated", "security")) <= 5
    made = answer(
        repo,
        "review_security_1: Never trust file names.\n",
        "--abbreviated",
        "security",
        "--task",
        "T-9",
    )
    assert (made["task_id"], made["review_mode"], made["answers_captured"]) == (
        "T-9",
        "security",
        1,
    )
    assert made["captured_items"][0]["confidence"] == 80
    assert len(gaps(repo, "--abbreviated", "security")) == 5


def test_mistakes_in_a_file_of_answers_are_reported_at_once_and_nothing_is_written(
    repo: Checkout,
) -> None:
    repo.write("a.yaml", "purpos: X\ngoals: [a, b]\npurpose: It converts maps.\n")
    done = repo.kl("interview", "--answers", "a.yaml")
    assert (
        done.returncode == 2
        and 'Did you mean "purpose"?' in done.stderr
        and "a.yaml:2:8" in done.stderr
    )
    assert not (repo.root / ".kl/knowledge").exists()
    assert repo.kl("interview", "--answers", "none.yaml").returncode == 2
    repo.write("a.yaml", "")
    assert repo.kl("interview", "--answers", "a.yaml").returncode == 2


class Person(io.StringIO):
    """Somebody at a terminal who types these lines."""

    def isatty(self) -> bool:
        return True


def typed(
    repo: Checkout,
    monkeypatch: pytest.MonkeyPatch,
    *lines: str,
    end: type[BaseException] | None = None,
) -> int:
    left = list(lines)

    def prompt(*args: Any, **more: Any) -> str:
        if not left and end is not None:
            raise end
        return left.pop(0)

    monkeypatch.chdir(repo.root)
    monkeypatch.setattr("sys.stdin", Person())
    monkeypatch.setattr("click.prompt", prompt)
    return run(["interview", "--focus", "architecture"])


@pytest.mark.requirement("B52")
def test_at_a_terminal_one_can_skip_answer_and_quit(
    repo: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed(repo, monkeypatch, "", "reader/: formats in.", "q") == 0
    out, err = capsys.readouterr()
    assert (
        "1/4" in err
        and "recorded: Architecture: reader/: formats in." in err
        and "(Changes are put" in err
    )
    assert out == "1 of 4 questions answered.\n"
    assert gaps(repo, "--focus", "architecture") == [
        "architecture_summary",
        "external_dependencies",
        "data_flow",
    ]


@pytest.mark.requirement("B52")
def test_an_interrupt_loses_nothing_that_was_answered(
    repo: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed(repo, monkeypatch, "Readers, filters, writers.", end=click.Abort) == 130
    err = capsys.readouterr().err
    assert "1 answer recorded" in err and err.count("interrupted") == 1
    assert "architecture_summary" not in gaps(repo, "--focus", "architecture")


def test_an_answer_that_can_not_be_stored_is_asked_for_again(
    repo: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed(repo, monkeypatch, "x" * 200_000, "Readers, filters, writers.", "q") == 0
    err = capsys.readouterr().err
    assert (
        "not recorded" in err
        and "200000 characters long" in err
        and "recorded: Architecture: Readers" in err
    )
    assert "architecture_summary" not in gaps(repo, "--focus", "architecture")


def test_where_kl_is_not_set_up_nobody_is_asked(tmp_path: Any, home: Any) -> None:
    from tests.support import checkout

    done = checkout(tmp_path / "bare", kl=False).kl("interview")
    assert done.returncode == 3 and "kl init" in done.stderr


def test_the_same_answer_is_proposed_as_a_decision_once(repo: Checkout) -> None:
    printed = "tech_decisions: PostgreSQL rather than SQLite, because orders need transactions.\n"
    answer(repo, printed)
    answer(repo, printed)
    assert json.loads(repo.kl("decision", "list", "--format", "json").stdout)["total"] == 1


def test_a_list_that_ends_early_reports_it_and_names_what_focus_takes(repo: Checkout) -> None:
    shown = repo.kl("interview").stdout
    assert "… and 13 more: --top 23" in shown and "(high, project_overview)" in shown
    assert "more" not in repo.kl("interview", "--max-questions", "23").stdout.splitlines()[-2]
