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
            "name": "decision_read", "writes": False,
            "description": "One decision, whole: its text, its status, what took its place.",
            "input_schema": {
                "type": "object", "required": ["id"], "additionalProperties": False,
                "properties": {"id": {"type": "string", "description": "Its id, such as ADR-0001."}},
            },
        }
    ]  # fmt: skip


def test_arguments_come_from_the_line_or_from_stdin(repo: Checkout) -> None:
    made = repo.kl("tool", "objective_create", '{"title": "Parser"}', "--allow-write")
    assert (made.returncode, answer(made)["ok"]) == (0, True)
    read = repo.kl_process("tool", "objective_read", "-", input='{"id": "OBJ-0001"}')
    assert '"title": "Parser"' in read.stdout
    assert repo.kl("tool", "objective_list").returncode == 0


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("decision_read", '{"id": "ADR-9"}'), 2), (("decision_read", "{"), 2), (("no_tool",), 2),
        (("decision_create", '{"title": "x"}', "--allow-write"), 2), (("objective_create", '{"title": "x"}'), 2),
        (("no_tool", "--schema"), 2), (("context", '{"task": "x", "budget": "lots"}'), 2),
    ],
)  # fmt: skip
def test_a_problem_is_an_answer_with_its_exit_code(repo: Checkout, args: tuple[str, ...], code: int) -> None:
    done = repo.kl("tool", *args)
    assert done.returncode == code, done.stderr
    plain = answer(done)
    assert plain["ok"] is False
    assert isinstance(plain["error"], dict)
    assert set(plain["error"]) == {"place", "reason", "hint"}
    assert done.stderr == ""


def test_without_a_home_the_answer_states_what_to_do(tmp_path: Path, home: Path) -> None:
    bare = checkout(tmp_path / "bare", kl=False)
    done = bare.kl("tool", "decision_create", '{"title": "x", "context": "c", "decision": "d"}', "--allow-write")
    assert done.returncode == 3
    assert "kl init" in done.stdout
    assert not bare.state.exists()
    assert bare.kl("tool").returncode == 2
