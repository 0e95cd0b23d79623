"""`kl tool` from a shell: JSON whatever happens, and the exit code of the problem."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support import Checkout, Done, checkout


def answer(done: Done) -> dict[str, object]:
    plain = json.loads(done.stdout)
    assert isinstance(plain, dict)
    assert plain["schema"] == "kl.tool/2"
    return plain


@pytest.mark.requirement("A71")
def test_tools_are_listed_with_their_schemas(repo: Checkout) -> None:
    listed = answer(repo.kl("tool", "--list"))
    assert isinstance(listed["tools"], list)
    assert len(listed["tools"]) > 80
    one = answer(repo.kl("tool", "decision_read", "--schema"))
    assert one["tools"] == [
        {
            "name": "decision_read",
            "writes": False,
            "description": "One decision, whole: its text, its status, what took its place.",
            "input_schema": {
                "type": "object",
                "required": ["id"],
                "additionalProperties": False,
                "properties": {
                    "id": {"type": "string", "description": "Its id, such as ADR-0001."}
                },
            },
        }
    ]


def test_arguments_come_from_the_line_or_from_stdin(repo: Checkout) -> None:
    made = repo.kl("tool", "objective_create", '{"title": "Parser"}', "--allow-write")
    assert (made.returncode, answer(made)["ok"]) == (0, True)
    read = repo.kl_process("tool", "objective_read", "-", input='{"id": "OBJ-0001"}')
    assert '"title": "Parser"' in read.stdout
    assert repo.kl("tool", "objective_list").returncode == 0


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("decision_read", '{"id": "ADR-9"}'), 2),
        (("decision_read", "{"), 2),
        (("no_tool",), 2),
        (("decision_create", '{"title": "x"}', "--allow-write"), 2),
        (("objective_create", '{"title": "x"}'), 2),
        (("no_tool", "--schema"), 2),
        (("context", '{"task": "x", "budget": "lots"}'), 2),
    ],
)
def test_a_problem_is_an_answer_with_its_exit_code(
    repo: Checkout, args: tuple[str, ...], code: int
) -> None:
    done = repo.kl("tool", *args)
    assert done.returncode == code, done.stderr
    plain = answer(done)
    assert plain["ok"] is False
    assert isinstance(plain["error"], dict)
    assert set(plain["error"]) == {"place", "reason", "hint"}
    assert done.stderr == ""


def test_without_a_home_the_answer_states_what_to_do(tmp_path: Path, home: Path) -> None:
    bare = checkout(tmp_path / "bare", kl=False)
    done = bare.kl(
        "tool",
        "decision_create",
        '{"title": "x", "context": "c", "decision": "d"}',
        "--allow-write",
    )
    assert done.returncode == 3
    assert "kl init" in done.stdout
    assert not bare.state.exists()
    assert bare.kl("tool").returncode == 2


def test_agents_can_plan_fulfil_and_ask_as_people_do(repo: Checkout) -> None:
    """The same answers as `kl task`, `kl gate for`, `kl feature detect` and `kl failure record`
    give.
    """
    repo.kl("task", "new", "Grammar", "--produces", "artifact:grammar")
    repo.kl("task", "new", "Lexer", "--requires", "artifact:grammar")
    repo.kl("seed", "--system")
    repo.write("docs/features/FEAT-PAY-1.md", "# Paying\n")

    def called(name: str, **given: object) -> dict[str, object]:
        plain = answer(repo.kl("tool", name, json.dumps(given), "--allow-write"))
        assert plain["ok"], plain
        assert isinstance(plain["result"], dict)
        return plain["result"]

    def printed(*args: str) -> dict[str, object]:
        printed: dict[str, object] = json.loads(repo.kl(*args, "--format", "json").stdout)
        return printed

    assert called("task_plan") == printed("task", "plan")
    assert called("task_plan")["waves"] == [["TSK-0001"], ["TSK-0002"]]
    assert called("task_eligible") == printed("task", "eligible")
    assert called("task_eligible", **{"with": ["artifact:grammar"]})["waiting"] == []
    assert (
        answer(repo.kl("tool", "task_fulfil", '{"id": "TSK-0002"}', "--allow-write"))["ok"] is False
    )
    done = called("task_fulfil", id="TSK-0001")
    assert done["produces"] == ["artifact:grammar"] and str(done["outcome"]).startswith("OUT-")
    assert called("task_eligible")["eligible"] == ["TSK-0002"]
    assert called("task_fulfil", token="artifact:Design")["token"] == "artifact:design"
    gates = called("gate_for", type="feature", complexity=5)["gates"]
    assert isinstance(gates, list) and [one["id"] for one in gates][:1] == ["GATE-0003"]
    found = called("feature_detect", text="go on with feat-pay-1")
    features = printed("feature", "detect", "go on with feat-pay-1")["features"]
    assert found["features"] == features
    for times in (1, 2):
        failed = called("failure_record", approach="Mock the database", prevention="Use a real one")
        assert (failed["occurrence_count"], failed["authority"]) == (times, "agent")
