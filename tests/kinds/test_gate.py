"""Gates: the ones that fit a piece of work, at most four, in plain percent."""

from __future__ import annotations

import pytest

from kl_hooks.kinds.gate import Gate
from kl_hooks.model.record import Record, Value


def gate(number: int, **values: Value) -> Record:
    return Record(
        "gate", f"GATE-{number:04}", {"status": "active", "task_type": "feature", **values}
    )


@pytest.mark.requirement("B34")
def test_the_narrowest_gates_come_first_and_at_most_four_are_shown() -> None:
    gates = [
        gate(1),
        gate(2, complexity_from=4, complexity_to=6),
        gate(3, complexity_from=7),
        gate(4, task_type="docs"),
        gate(5, status="retired"),
        *(gate(n) for n in range(6, 12)),
    ]
    assert [one.id for one in Gate.fitting(gates, " Feature ", 5)] == [
        "GATE-0002",
        "GATE-0001",
        "GATE-0006",
        "GATE-0007",
    ]
    assert Gate.fitting(gates, "feature", 9)[0].id == "GATE-0003"
    assert Gate.fitting(gates, "painting", 5) == []


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({}, "GATE-0001 feature, complexity 1-10: nothing is demanded"),
        (
            {
                "test_pass_required": True,
                "lint_required": True,
                "coverage_threshold": 60,
                "complexity_from": 1,
                "complexity_to": 3,
            },
            "GATE-0001 feature, complexity 1-3: tests pass, lint is clean, coverage at least 60 %",
        ),
        (
            {
                "coverage_required": False,
                "coverage_threshold": 60,
                "arch_review_required": True,
                "arch_review_threshold": 70,
                "complexity_from": 7,
                "complexity_to": 7,
            },
            "GATE-0001 feature, complexity 7: architecture review at least 70 of 100",
        ),
        ({"coverage_required": True}, "GATE-0001 feature, complexity 1-10: coverage is checked"),
    ],
)
def test_a_gate_on_one_line(values: dict[str, Value], line: str) -> None:
    assert Gate(gate(1, **values)).line() == line
