"""What binds a piece of work: its gates, whether evidence meets their demands, and the role of its
actor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kl_hooks.errors import UsageProblem
from kl_hooks.kinds.gate_evidence import GateEvidence, doubtful_option
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.record import Record
from kl_hooks.model.text import suggest_spelling
from kl_hooks.records.query import RecordFilter, list_records
from kl_hooks.workspace import Workspace

DO_NOT_ADJUST: Final = "do NOT adjust mid-session"
_MAX_GATES: Final = 4


class Demand(NamedTuple):
    """A demand of a gate, checked against the evidence of a content."""

    name: str
    """`tests`, `lint`, `coverage`, `arch_review`."""
    met: bool | None
    """None: it can't be checked from what is recorded."""
    reason: str


class Gate(NamedTuple):
    """A record of the kind `gate`, and what follows from its fields."""

    record: Record

    @classmethod
    def fitting(cls, gates: Sequence[Record], task_type: str, complexity: int) -> list[Record]:
        """Return the active gates for work of this type and complexity (1 to 10), the narrowest
        first, at most four.
        """
        wanted = task_type.strip().casefold()
        ranges = {gate.id: cls(gate).complexity for gate in gates}
        fitting = [
            gate
            for gate in gates
            if gate.status == "active"
            and gate.text("task_type").strip().casefold() == wanted
            and ranges[gate.id][0] <= complexity <= ranges[gate.id][1]
        ]
        # the order decides: `kl verify --task` applies the first one
        return sorted(fitting, key=lambda gate: (ranges[gate.id][1] - ranges[gate.id][0], gate.id))[
            :_MAX_GATES
        ]

    @property
    def complexity(self) -> tuple[int, int]:
        """The lowest and the highest complexity that it is for."""
        return self.record.number("complexity_from", 1), self.record.number("complexity_to", 10)

    def demands(self, name: str) -> bool:
        """True where it demands `coverage` or `arch_review`: a threshold alone does, unless
        `…_required` is false.
        """
        required = self.record.values.get(f"{name}_required")
        return required is True or (
            required is None and bool(self.record.number(f"{name}_threshold"))
        )

    def line(self) -> str:
        """Return it on one line: `GATE-0003 feature, complexity 4-6: tests pass, lint is clean,
        coverage …`.
        """
        least, most = self.complexity
        demands = [
            "tests pass" if self.record.values.get("test_pass_required") else "",
            "lint is clean" if self.record.values.get("lint_required") else "",
            self._threshold("coverage"),
            self._threshold("arch_review"),
        ]
        demanded = ", ".join(filter(None, demands)) or "nothing is demanded"
        if least != most:
            spread = f"{least}-{most}"
        else:
            spread = str(least)
        return f"{self.record.id} {self.record.text('task_type')}, complexity {spread}: {demanded}"

    def _threshold(self, name: str) -> str:
        """`coverage at least 75 %`; empty where it is not demanded."""
        label, unit = {
            "coverage": ("coverage", " %"),
            "arch_review": ("architecture review", " of 100"),
        }[name]
        least = self.record.number(f"{name}_threshold")
        if not self.demands(name):
            return ""
        if least:
            return f"{label} at least {least}{unit}"
        return f"{label} is checked"

    def check(self, shown: GateEvidence) -> list[Demand]:
        """Check its demands against what the receipts of a content show."""
        demands = []
        if self.record.values.get("test_pass_required"):
            if shown.tests_pass:
                reason = "all tests pass"
            else:
                reason = "tests are not proven to pass"
            demands.append(Demand("tests", shown.tests_pass, reason))
        if self.record.values.get("lint_required"):
            demands.append(self._lint(shown))
        if demand := self._threshold("coverage"):
            least = self.record.number("coverage_threshold")
            demands.append(_coverage(demand, least, shown))
        if demand := self._threshold("arch_review"):
            reason = f"{demand}: a reviewer gives this score; kl records none"
            demands.append(Demand("arch_review", None, reason))
        return demands

    def _lint(self, shown: GateEvidence) -> Demand:
        command = self.record.text("lint_command")
        if command:
            passed = shown.outcome_of(command)
            if passed is None:
                reason = f"lint is clean: it did not run on this content: kl run -- {command}"
                return Demand("lint", None, reason)
            return Demand("lint", passed, f"{'lint is clean' if passed else 'failed'}: {command}")
        runs = shown.linters
        # one failing linter is enough: another one that passes has other rules
        if failed := [command for command, is_clean in runs.items() if not is_clean]:
            return Demand("lint", False, f"failed: {failed[0]}")
        doubts = {command: option for command in runs if (option := doubtful_option(command))}
        if clean := [command for command in runs if command not in doubts]:
            return Demand("lint", True, f"lint is clean: {clean[0]}")
        for command, option in doubts.items():
            reason = (
                f"lint is clean: {command} may end with 0 whatever it finds ({option}). If it is"
                f" the linter: kl gate edit {self.record.id} --lint-command '{command}'"
            )
            return Demand("lint", None, reason)
        reason = (
            "lint is clean: no run of a linter on this content is recorded. "
            "Record one with: kl run -- ruff check ."
        )
        return Demand("lint", None, reason)


def _coverage(demand: str, least: int, shown: GateEvidence) -> Demand:
    """The total that a run recorded, else a report that was asked for at least as much."""
    hint = f"pytest --cov --cov-fail-under={least}"
    for command, limit, passed in shown.coverage_reports:
        # a lower limit that was reached shows nothing, nor does a higher one that was missed
        if limit >= least if passed else limit <= least:
            outcome = "passed" if passed else "failed"
            return Demand("coverage", passed, f"{demand}: {outcome}: {command}")
    measured = shown.coverage
    if measured is None:
        return Demand(
            "coverage", None, f"{demand}: no coverage is recorded. Measure it with: {hint}"
        )
    is_enough = measured.rounded >= least
    if measured.is_part and not is_enough:
        reason = f"{measured}, of a part of the tests. Measure all of them with: {hint}"
        return Demand("coverage", None, f"{demand}: {reason}")
    return Demand("coverage", is_enough, f"{demand}: {measured}")


def fitting_gates(ws: Workspace, task_type: str, complexity: int) -> list[Record]:
    """Return the gates for this type of work and complexity, the narrowest first. UsageProblem for
    an unknown type.
    """
    gates = list_records(ws, RecordFilter(("gate",)))
    known_types = sorted({one.text("task_type").strip() for one in gates if one.status == "active"})
    if task_type.strip().casefold() not in {one.casefold() for one in known_types}:
        hint = suggest_spelling(task_type, known_types) or (
            f"Types: {', '.join(known_types)}."
            if known_types
            else "Take those that kl brings: kl seed --system"
        )
        raise UsageProblem(
            "there is no active gate for this type of work.", place=task_type, hint=hint
        )
    return Gate.fitting(gates, task_type, complexity)


_LISTS: Final = (
    ("must_do", "MUST DO"),
    ("must_not_do", "MUST NOT DO"),
    ("ask_before", "ASK BEFORE"),
    ("good_examples", "Good examples"),
    ("bad_examples", "Bad examples"),
)


def find_role(roles: Sequence[Record], name: str, context: str = "") -> Record | None:
    """Return the active role of this name or ID, in this context if one has it; None where there is
    none.
    """
    wanted = name.strip().casefold()
    matching = [
        role
        for role in roles
        if role.status == "active"
        and wanted in (role.text("role").strip().casefold(), role.id.casefold())
    ]
    # without one for this context, a role of that name is better than none
    fitting = [
        role
        for role in matching
        if context and role.text("context").casefold() == context.strip().casefold()
    ]
    return next(iter(fitting or matching), None)


def render_role(role: Record) -> str:
    """Return Markdown: the responsibility, then what must be done, must not be done, and is asked
    about first.
    """
    if role.text("context"):
        context = f" ({role.text('context')})"
    else:
        context = ""
    lines = [f"# {role.text('role')}{context}", ""]
    if role.text("primary_responsibility"):
        lines += [f"**Primary responsibility:** {role.text('primary_responsibility')}", ""]
    for name, heading in _LISTS:
        if role.many(name):
            lines += [f"## {heading}", "", *(f"- {item}" for item in role.many(name)), ""]
    return "\n".join(lines).rstrip() + "\n"
