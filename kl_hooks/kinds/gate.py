"""Gates: which ones apply to a piece of work, and whether the evidence of a content meets their demands."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kl_hooks.config.yaml import suggest_spelling
from kl_hooks.errors import UsageProblem
from kl_hooks.model.record import Record
from kl_hooks.records.query import RecordFilter, list_records
from kl_hooks.workspace import Workspace

DO_NOT_ADJUST: Final = "do NOT adjust mid-session"
_MAX_GATES: Final = 4
_LINTER: Final = re.compile(
    r"(?:^|[\s/])(?:ruff\s+check|flake8|pylint|pycodestyle|eslint|golangci-lint|clippy|pre-commit\s+run|prek\s+run"
    r"|(?:make|tox\s+-e|nox\s+-s|npm\s+run)\s+lint)\b"
)
"""Commands that lint."""


def gates_for(gates: Sequence[Record], task_type: str, complexity: int) -> list[Record]:
    """Return the active gates for work of this type and complexity (1 to 10), the narrowest first, at most four."""
    wanted = task_type.strip().casefold()
    ranges = {one.id: complexity_range(one) for one in gates}
    found = [
        one for one in gates
        if one.status == "active" and one.text("task_type").strip().casefold() == wanted
        and ranges[one.id][0] <= complexity <= ranges[one.id][1]
    ]  # fmt: skip
    # the order decides: `kl verify --task` applies the first one
    return sorted(found, key=lambda one: (ranges[one.id][1] - ranges[one.id][0], one.id))[:_MAX_GATES]


def task_types(gates: Sequence[Record]) -> list[str]:
    """Return the types of work that active gates are for."""
    return sorted({one.text("task_type").strip() for one in gates if one.status == "active"})


def complexity_range(gate: Record) -> tuple[int, int]:
    """Return the lowest and the highest complexity that a gate is for."""
    return gate.number("complexity_from", 1), gate.number("complexity_to", 10)


def gate_line(gate: Record) -> str:
    """Return a gate on one line: `GATE-0003 feature, complexity 4-6: tests pass, lint is clean, coverage …`."""
    least, most = complexity_range(gate)
    demands = [
        "tests pass" if gate.values.get("test_pass_required") else "",
        "lint is clean" if gate.values.get("lint_required") else "",
        _threshold(gate, "coverage"),
        _threshold(gate, "arch_review"),
    ]
    demanded = ", ".join(filter(None, demands)) or "nothing is demanded"
    spread = f"{least}-{most}" if least != most else str(least)
    return f"{gate.id} {gate.text('task_type')}, complexity {spread}: {demanded}"


def is_demanded(gate: Record, name: str) -> bool:
    """True where a gate demands `coverage` or `arch_review`: a threshold alone does, unless `…_required` is false."""
    required = gate.values.get(f"{name}_required")
    return required is True or (required is None and bool(gate.number(f"{name}_threshold")))


def _threshold(gate: Record, name: str) -> str:
    """`coverage at least 75 %`; empty where it is not demanded."""
    label, unit = {"coverage": ("coverage", " %"), "arch_review": ("architecture review", " of 100")}[name]
    least = gate.number(f"{name}_threshold")
    if not is_demanded(gate, name):
        return ""
    return f"{label} at least {least}{unit}" if least else f"{label} is checked"


@dataclass(frozen=True, slots=True)
class Demand:
    """A demand of a gate, checked against the evidence of a content."""

    name: str
    """`tests`, `lint`, `coverage`, `arch_review`."""
    met: bool | None
    """None: it can't be checked from what is recorded."""
    reason: str


def check_demands(gate: Record, tests_pass: bool, commands: Mapping[str, bool]) -> list[Demand]:
    """Check the demands of a gate against the evidence of a content.

    `tests_pass`: it is proven. `commands`: command → whether its last run on this content ended with 0.
    """
    found = []
    if gate.values.get("test_pass_required"):
        found.append(Demand("tests", tests_pass, "all tests pass" if tests_pass else "tests are not proven to pass"))
    if gate.values.get("lint_required"):
        found.append(_lint(commands))
    if demand := _threshold(gate, "coverage"):
        hint = f"pytest --cov --cov-fail-under={gate.number('coverage_threshold')}"
        found.append(Demand("coverage", None, f"{demand}: no coverage is recorded. Check it with: {hint}"))
    if demand := _threshold(gate, "arch_review"):
        found.append(Demand("arch_review", None, f"{demand}: a reviewer gives this score; kl records none"))
    return found


def _lint(commands: Mapping[str, bool]) -> Demand:
    runs = {command: clean for command, clean in commands.items() if _LINTER.search(command)}
    if not runs:
        return Demand("lint", None, "lint is clean: no run of a linter on this content is recorded. "
                                    "Record one with: kl run -- ruff check .")  # fmt: skip
    failed = [command for command, clean in runs.items() if not clean]
    return Demand("lint", not failed, f"{'failed' if failed else 'lint is clean'}: {(failed or list(runs))[0]}")


def fitting_gates(ws: Workspace, task_type: str, complexity: int) -> list[Record]:
    """The gates for work of this type and complexity, the narrowest first. UsageProblem for a type without any."""
    gates = list_records(ws, RecordFilter(("gate",)))
    known = task_types(gates)
    if task_type.strip().casefold() not in {one.casefold() for one in known}:
        hint = suggest_spelling(task_type, known) or (
            f"Types: {', '.join(known)}." if known else "Take those that kl brings: kl seed --system"
        )
        raise UsageProblem("there is no active gate for this type of work.", place=task_type, hint=hint)
    return gates_for(gates, task_type, complexity)
