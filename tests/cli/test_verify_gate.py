"""`kl verify --task` and `--type`: the gate that fits is applied, and what can't be checked is named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support import Checkout


@pytest.fixture
def gated(repo: Checkout) -> Checkout:
    repo.write("test_a.py", "def test_a(): pass\n")
    repo.kl("seed", "--system")
    repo.commit()
    return repo


def verdict(repo: Checkout, *args: str) -> tuple[int, dict[str, Any]]:
    done = repo.kl("verify", *args, "--format", "json")
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.requirement("B34")
def test_the_gate_that_fits_is_applied_and_what_it_can_not_check_is_named(gated: Checkout) -> None:
    work = ("--type", "feature", "--complexity", "5")
    code, found = verdict(gated, *work)
    assert code == 1 and "gate" not in verdict(gated)[1]
    assert {one["demand"]: one["met"] for one in found["gate"]["demands"]} == {
        "tests": False, "lint": None, "coverage": None, "arch_review": None,
    }  # fmt: skip
    assert found["gate"]["not_checked"] == ["lint", "coverage", "arch_review"]
    assert gated.pytest("-q").returncode == 0
    assert verdict(gated, *work)[0] == 0
    text = gated.kl("verify", *work).stdout
    assert "feature, complexity 4-6" in text and "not checked  coverage at least 75 %" in text
    assert "met          all tests pass" in text
    for status, met in (("1", False), ("0", True)):  # the last run of a linter on this very content decides
        gated.kl("run", "--", "sh", "-c", "exit $LINT; : ruff check .", env={"LINT": status})
        code, found = verdict(gated, *work)
        assert code == (0 if met else 1)
        assert {one["demand"]: one["met"] for one in found["gate"]["demands"]}["lint"] is met


@pytest.mark.slow
def test_a_task_states_its_gate_and_one_without_a_type_is_refused(gated: Checkout) -> None:
    gated.kl("task", "new", "Write it", "--task-type", "docs", "--complexity", "3")
    gated.kl("task", "new", "Do it")
    code, found = verdict(gated, "--task", "TSK-0001")
    assert (code, found["proven"], found["gate"]["demands"]) == (0, False, [])  # documents demand nothing
    for args, printed in (
        (("--task", "TSK-0002"), "has no type of work"), (("--type", "zebra"), "no active gate"),
        (("--complexity", "5"), "Add --type feature"), (("--task", "TSK-0099"), "TSK-0099"),
        (("--type", "scaffolding", "--complexity", "9"), "no gate covers complexity 9"),
    ):  # fmt: skip
        done = gated.kl("verify", *args)
        assert done.returncode == 2 and printed in done.stderr, args
