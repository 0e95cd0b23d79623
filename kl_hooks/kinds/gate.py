"""Which gates hold for a piece of work, and how they read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kl_hooks.model.record import Record

_MAX_GATES: Final = 4
_LEAST, _MOST = 1, 10
DO_NOT_ADJUST: Final = "do NOT adjust mid-session"
_LINTER: Final = re.compile(
    r"(?:^|[\s/])(?:ruff\s+check|flake8|pylint|pycodestyle|eslint|golangci-lint|clippy|pre-commit\s+run|prek\s+run"
    r"|(?:make|tox\s+-e|nox\s+-s|npm\s+run)\s+lint)\b"
)
"""Commands that lint."""


def gates_for(gates: Sequence[Record], task_type: str, complexity: int) -> list[Record]:
    """The active gates for work of this type and complexity (1 to 10), the narrowest first, at most four."""
    wanted = task_type.strip().casefold()
    fitting = [
        one for one in gates
        if one.status == "active" and one.text("task_type").strip().casefold() == wanted
        and complexity_range(one)[0] <= complexity <= complexity_range(one)[1]
    ]  # fmt: skip
    return sorted(fitting, key=lambda one: (complexity_range(one)[1] - complexity_range(one)[0], one.id))[:_MAX_GATES]


def task_types(gates: Sequence[Record]) -> list[str]:
    """The types of work that active gates are for."""
    return sorted({one.text("task_type").strip() for one in gates if one.status == "active"})


def gate_line(gate: Record) -> str:
    """A gate on one line: `GATE-0003 feature, complexity 4-6: tests pass, lint is clean, coverage at least 75 %, …`."""
    least, most = complexity_range(gate)
    demands = [
        "tests pass" if gate.values.get("test_pass_required") else "",
        "lint is clean" if gate.values.get("lint_required") else "",
        _threshold(gate, "coverage", "coverage", " %"),
        _threshold(gate, "arch_review", "architecture review", " of 100"),
    ]
    said = ", ".join(one for one in demands if one) or "nothing is demanded"
    spread = f"{least}-{most}" if least != most else str(least)
    return f"{gate.id} {gate.text('task_type')}, complexity {spread}: {said}"


@dataclass(frozen=True, slots=True)
class Demand:
    """One thing that a gate asks for, and whether the evidence of a content says it is there."""

    name: str
    """`tests`, `lint`, `coverage`, `arch_review`."""
    met: bool | None
    """None: it can't be checked from what is recorded."""
    says: str


def check_demands(gate: Record, tests_pass: bool, commands: Mapping[str, bool]) -> list[Demand]:
    """What a gate asks for, held against the evidence of a content.

    `tests_pass`: it is proven. `commands`: command → whether it ended with 0 the last time that it ran on this content.
    """
    found = []
    if gate.values.get("test_pass_required"):
        found.append(Demand("tests", tests_pass, "all tests pass" if tests_pass else "tests are not proven to pass"))
    if gate.values.get("lint_required"):
        found.append(_lint(commands))
    if said := _threshold(gate, "coverage", "coverage", " %"):
        hint = f"pytest --cov --cov-fail-under={gate.number('coverage_threshold')}"
        found.append(Demand("coverage", None, f"{said}: no coverage is recorded. Check it with: {hint}"))
    if said := _threshold(gate, "arch_review", "architecture review", " of 100"):
        found.append(Demand("arch_review", None, f"{said}: a reviewer gives this score; kl records none"))
    return found


def _lint(commands: Mapping[str, bool]) -> Demand:
    ran = {command: clean for command, clean in commands.items() if _LINTER.search(command)}
    if not ran:
        return Demand("lint", None, "lint is clean: no run of a linter on this content is recorded. "
                                    "Record one with: kl run -- ruff check .")  # fmt: skip
    bad = [command for command, clean in ran.items() if not clean]
    return Demand("lint", not bad, f"{'failed' if bad else 'lint is clean'}: {(bad or list(ran))[0]}")


def _threshold(gate: Record, name: str, says: str, unit: str) -> str:
    """`coverage at least 75 %`; a number alone is a demand too, unless `…_required` says false."""
    required = gate.values.get(f"{name}_required")
    least = gate.number(f"{name}_threshold")
    if required is False or (required is None and not least):
        return ""
    return f"{says} at least {least}{unit}" if least else f"{says} is looked at"


def complexity_range(gate: Record) -> tuple[int, int]:
    """Return the lowest and the highest complexity that a gate is for."""
    return gate.number("complexity_from", _LEAST), gate.number("complexity_to", _MOST)
