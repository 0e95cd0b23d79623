"""What a check found in the one shape that every format of machines is made from. Pure.

A violation that blocks, one that the baseline accepts, and a file that could not be judged are findings of different
rules; a rule is a pair of layers, or that every governed file can be judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kl_hooks.arch.indirect import INDIRECT
from kl_hooks.arch.verdict import Verdict
from kl_hooks.model.canonical import digest
from kl_hooks.model.contract import Breach
from kl_hooks.model.manifest import Violation
from kl_hooks.model.problem import Problem
from kl_hooks.model.text import one_line, safe_text

Checked = tuple[str, Verdict | None]
"""What was looked at (`worktree`, `staged`, a revision), and what was found; None: it has no manifest."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What a finding breaks."""

    id: str
    """`layers/core/web`, stable."""
    title: str
    """`core may not depend on web`"""
    help: str
    """Where the rule stands, what is allowed instead, and which decision is behind it."""


UNJUDGED: Final = Rule(
    "arch/not-judged",
    "A governed file could not be judged",
    "Every file of a layer must parse and, where the manifest is exhaustive, every file must belong to a layer: "
    "what can't be judged must not pass.",
)
INVALID: Final = Rule(
    "arch/invalid-rules",
    "The manifest or the baseline is invalid",
    "Nothing is checked until .kl/architecture.yaml and .kl/baseline.json can be read.",
)
LOOSENED: Final = Rule(
    "arch/loosened",
    "The rules were loosened",
    "The commits that are checked also change the manifest or the baseline so that more is allowed than before. "
    "Review that change by itself; with --trust-ref REV the check fails.",
)
_FIX: Final = "Fix the import, or allow it for a while: kl arch allow FROM TO --until 30d --reason TEXT"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing at one place."""

    rule: Rule
    path: str
    line: int
    """From 1; 0: the file as a whole."""
    column: int
    """From 1; 0: not known."""
    message: str
    """One line, safe for a terminal."""
    fingerprint: str
    """Without line numbers; several findings may share it."""
    number: int = 1
    """Which of those that share the fingerprint it is, from 1 in the order of lines."""
    accepted: bool = False
    """The baseline accepts it."""
    weak: bool = False
    """Only a type checker sees the import."""
    level: str = "error"
    """`error` or `warning`; what is accepted is neither, see `accepted`."""


def findings(verdict: Verdict) -> list[Finding]:
    """Everything that was found: what blocks first, then what the baseline accepts."""
    rules: dict[tuple[str, str], Rule] = {}

    def of(violation: Violation, accepted: bool) -> Finding:
        pair = (violation.source_layer, violation.target_layer)
        if pair not in rules:
            rules[pair] = _rule(violation, verdict)
        return _finding(violation, rules[pair], accepted)

    found = [_problem(one, INVALID if verdict.invalid else UNJUDGED) for one in verdict.problems]
    level = "error" if verdict.trusted else "warning"
    found += [replace(_problem(one, LOOSENED), level=level) for one in verdict.loosened]
    found += [of(one, False) for one in verdict.violations]
    found += [_breach(one, verdict) for one in verdict.contracts]
    return _numbered([*found, *(of(one, True) for one in verdict.accepted)])


def decided(decision: str, verdict: Verdict) -> str:
    """`ADR-0004 "Domain stays pure"`; empty for a rule without a decision."""
    title = verdict.titles.get(decision, "")
    return f'{decision} "{title}"' if decision and title else decision


def _rule(one: Violation, verdict: Verdict) -> Rule:
    allowed = ", ".join(one.allowed) or "nothing"
    behind = decided(one.decision, verdict)
    text = (
        f"{one.source_layer} may import: {allowed}. Rule: {one.rule}"
        + (f", {behind}. " if behind else ". ")
        + (_FIX if _excusable(one, verdict) else "Fix one import of the chain.")
    )
    title = f"{one.source_layer} must not import {one.target_layer}"
    return Rule(f"layers/{one.source_layer}/{one.target_layer}", one_line(title), one_line(text, 1000))


def _excusable(one: Violation, verdict: Verdict) -> bool:
    """True where an import leads directly from layer to layer: an exception excuses no chain."""
    pair = (one.source_layer, one.target_layer)
    found = (*verdict.violations, *verdict.accepted)
    return any((each.source_layer, each.target_layer) == pair and each.method != INDIRECT for each in found)


def _finding(one: Violation, rule: Rule, accepted: bool) -> Finding:
    how = "" if one.method in ("", "import") else f" ({one.method})"
    hint = f" hint: {one.way_out}" if one.way_out else ""
    rests = f"layer rule, {one.rule}{', ' + one.decision if one.decision else ''}"
    said = f"{one.statement}{how}: {rule.title} ({rests}).{hint}"
    weak = one.method == "type-checking import"
    return Finding(
        rule, one.path, one.line, 0, one_line(said, 1000), one.fingerprint, accepted=accepted, weak=weak
    )  # fmt: skip


def _breach(one: Breach, verdict: Verdict) -> Finding:
    """A broken contract, at the first import of the chain; where there is none, at the contract itself."""
    behind = decided(one.decision, verdict)
    text = f"A contract of import-linter ({one.type}). It stands at {one.rule}" + (
        f", decided in {behind}." if behind else "."
    )
    rule = Rule(f"contract/{one.contract}", one_line(f"contract broken: {one.contract}"), one_line(text, 1000))
    way = " -> ".join([step.importer for step in one.chain[:1]] + [step.imported for step in one.chain])
    path, _, line = one.rule.rpartition(":")
    if one.chain and one.chain[0].path:
        path, line = one.chain[0].path, str(one.chain[0].lines[0] if one.chain[0].lines else 0)
    said = f"{rule.title}: {one.said or way} ({one.rule})"
    return Finding(rule, path, int(line), 0, one_line(said, 1000), one.fingerprint)


def _problem(one: Problem, rule: Rule) -> Finding:
    mark = digest("problem/1", [one.path, one.message])[:16]
    return Finding(rule, one.path, one.line, one.column, one_line(f"{one.message} {one.hint}", 1000), mark)


def _numbered(found: Iterable[Finding]) -> list[Finding]:
    """Each with its number among those of its fingerprint, by line."""
    listed = list(found)
    seen: Counter[str] = Counter()
    numbers = {}
    for place in sorted(range(len(listed)), key=lambda n: (listed[n].path, listed[n].line, n)):
        seen[listed[place].fingerprint] += 1
        numbers[place] = seen[listed[place].fingerprint]
    return [replace(one, number=numbers[place]) for place, one in enumerate(listed)]


def gathered(found: Sequence[Checked]) -> list[Finding]:
    """The findings of several contents, each once."""
    merged: dict[tuple[str, int, str], Finding] = {}
    for _, verdict in found:
        for one in findings(verdict) if verdict else ():
            merged.setdefault((one.fingerprint, one.number, one.path), one)
    return list(merged.values())


def unassigned(found: Sequence[Checked]) -> list[str]:
    """The files that belong to no layer, in any of the contents."""
    return sorted({path for _, verdict in found if verdict for path in verdict.unassigned})


def shown_path(path: str) -> str:
    """A path as text that any encoding can hold."""
    return safe_text(path).replace("\n", "\\x0a").replace("\t", "\\x09")
