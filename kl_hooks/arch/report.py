"""A verdict as text for people and as JSON for programs. Pure; only ASCII is added to what was
found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.arch.layer_check import INDIRECT_METHOD, Verdict
from kl_hooks.arch.layers import first_file_between, is_through
from kl_hooks.model.definitions import lazy_pattern
from kl_hooks.model.manifest import MANIFEST, Violation
from kl_hooks.model.problem import Problem
from kl_hooks.model.text import counted, one_line, safe_text

if TYPE_CHECKING:
    from kl_hooks.model.contract import Breach, Step

_NO_MANIFEST: Final = "no .kl/architecture.yaml in"
_COLUMN: Final = 34


def _contract_lines(breaches: Sequence[Breach]) -> list[str]:
    """The lines to print: each broken contract with every chain of imports that breaks it."""
    lines: list[str] = []
    # groupby() joins neighbors only: breaches come contract by contract
    for (name, rule), contract_breaches in groupby(
        breaches, key=lambda breach: (breach.contract, breach.rule)
    ):
        many = list(contract_breaches)
        if many[0].decision:
            decision = f"  ({one_line(many[0].decision, 40)})"
        else:
            decision = ""
        lines.append(
            f"  contract broken: {one_line(name, 100)} ({many[0].type})    {rule}{decision}"
        )
        for breach in many:
            lines += _breach(breach)
        if many[0].guidance:
            lines.append(f"    {one_line(many[0].guidance, 200)}")
        lines.append("")
    return lines


def _breach(breach: Breach) -> list[str]:
    if breach.message:
        lines = [f"    {one_line(breach.message, 160)}"]
    else:
        lines = []
    for number, step in enumerate(breach.chain):
        lines.append(_line(step, "" if not number else "  "))
    lines += [_line(step, "  or ") for step in breach.also]
    if len(breach.chain) > 1 or (breach.chain and breach.chain[0].importer != breach.importer):
        lines.append(f"    {'':<{_COLUMN}} ^^^^ {_about(breach)}")
    return lines


def _line(step: Step, lead: str) -> str:
    """`    src/a.py:3, 9     a -> b`."""
    numbers = ", ".join(str(line) for line in step.lines) or "?"
    place = one_line(f"{step.path or step.importer}:{numbers}", 100)
    return (
        f"    {place:<{_COLUMN}} {lead}{one_line(step.importer, 100)} ->"
        f" {one_line(step.imported, 100)}"
    )


def _about(breach: Breach) -> str:
    if breach.type == "acyclic_siblings":
        return f"part of a cycle between the children of {one_line(breach.importer, 100)}"
    return f"{one_line(breach.importer, 100)} may not depend on {one_line(breach.imported, 100)}"


def _breach_to_dict(breach: Breach) -> dict[str, Any]:
    """A breach as plain data, its fingerprint with it."""
    keys = (
        "contract",
        "type",
        "importer",
        "imported",
        "rule",
        "decision",
        "message",
        "guidance",
        "fingerprint",
    )
    steps = {
        "chain": [_plain(step) for step in breach.chain],
        "also": [_plain(step) for step in breach.also],
    }
    return {key: getattr(breach, key) for key in keys} | steps


def _plain(step: Step) -> dict[str, Any]:
    return {
        "importer": step.importer,
        "imported": step.imported,
        "path": step.path,
        "lines": list(step.lines),
    }


_MOST_STATEMENT: Final = 100
"""Characters of an import statement that are shown."""
_FROM: Final = lazy_pattern(r"from\s+(\S+)\s+import\s+")
_SHOWN_ANYWAY: Final = ("", "import", INDIRECT_METHOD)
"""Methods that need no remark: the statement or the list of steps shows them."""


def output_lines(
    checked: Iterable[tuple[str, Verdict | None]],
    seconds: float,
    *,
    quiet: bool,
    on_disk: bool,
    lists: bool = False,
) -> list[str]:
    """Return what `kl arch check` prints about several contents, safe for a terminal.

    `checked`: source and verdict, None for a content without a manifest. `on_disk`: whether the
    working tree has one. `lists`: whether files in no layer are listed.
    """
    lines: list[str] = []
    for source, verdict in checked:
        if quiet and (verdict is None or (verdict.clean and not verdict.loosened)):
            continue
        if verdict is not None:
            if lists:
                lines += [f"{path}: in no layer" for path in verdict.unassigned]
            lines += verdict_lines(verdict, seconds)
        elif on_disk:
            if source == "staged":
                where = "what is staged"
            else:
                where = source
            lines.append(
                f"{_NO_MANIFEST} {where} - nothing to enforce. The one on disk is not in git there."
            )
        else:
            lines.append(
                f"{_NO_MANIFEST} this repository - nothing to enforce. Create one with: kl init"
            )
    return [safe_text(line) for line in lines]


def verdict_lines(verdict: Verdict, seconds: float | None = None) -> list[str]:
    """The lines to print: each violation with its fix, then what could not be judged, then the
    totals.
    """
    lines = []
    for problem in verdict.emptied:
        lines += _emptied_lines(problem)
    for violation in verdict.violations:
        lines += [*violation_lines(violation, verdict.titles), ""]
    if verdict.contracts:
        lines += _contract_lines(verdict.contracts)
    lines += [one_line(str(problem), 400) for problem in verdict.problems]
    if verdict.unjudged:
        unread_files = counted(verdict.unjudged, "file")
        lines.append(f"{unread_files} could not be read; the other {verdict.files} were checked.")
    lines += [
        one_line(f"{'error' if verdict.trusted else 'warning'}: {one}", 400)
        for one in verdict.loosened
    ]
    if verdict.problems or (verdict.loosened and lines):
        lines.append("")
    if verdict.violations:
        lines += [_headline(verdict), *_hints(verdict)]
    return [*lines, _closing(verdict, seconds)]


def _emptied_lines(problem: Problem) -> list[str]:
    """A path of a layer whose files were moved or removed, and what to do."""
    place = f"{problem.path}:{problem.line}"
    return [_safe(f"{place}: {problem.message}"), _safe(f"    hint: {problem.hint}"), ""]


def _headline(verdict: Verdict) -> str:
    """`1 new violation (3 accepted in baseline)`; `1 violation` where there is no baseline."""
    number = len(verdict.violations)
    if not verdict.baseline:
        return counted(number, "violation")
    return f"{counted(number, 'new violation')} ({len(verdict.accepted)} accepted in baseline)"


def violation_lines(violation: Violation, titles: Mapping[str, str]) -> list[str]:
    """Place and rule, the statement with carets under what is imported, the suggested fix, and the
    ID.
    """
    # cut first, so that the carets fit the statement as it is printed
    statement = one_line(violation.statement, _MOST_STATEMENT)
    if is_through(violation.method):
        named = _module_name(first_file_between(violation.method))
    else:
        named = violation.imported
    start, end = _caret_span(statement, named)
    if violation.method in _SHOWN_ANYWAY:
        method_text = ""
    else:
        method_text = f"  ({violation.method})"
    rule = f"layer rule, {violation.rule}" + (
        f", {_decision(violation.decision, titles)}" if violation.decision else ""
    )
    lines = [
        f"{violation.path}:{violation.line}: {violation.source_layer} must not import"
        f" {violation.target_layer} ({rule})",
        f"    {statement}",
        f"    {' ' * start}{'^' * (end - start)}{method_text}",
        *([f"    hint: {violation.suggested_fix}"] if violation.suggested_fix else []),
        f"    ID {violation.id}; {violation.source_layer} may import: "
        f"{', '.join(violation.allowed) or '(nothing)'}",
    ]
    return [_safe(line) for line in lines]


def _module_name(path: str) -> str:
    """The last part of the dotted name of a file: `shop` for `src/shop/__init__.py`."""
    return path.removesuffix("/__init__.py").rpartition("/")[2].removesuffix(".py")


def _decision(decision: str, titles: Mapping[str, str]) -> str:
    title = titles.get(decision, "")
    if not title:
        return decision
    return f'{decision} "{title}"'


def _caret_span(statement: str, imported: str) -> tuple[int, int]:
    """Return start and end of the part of an import statement that names the module `imported`.

    The whole statement where no part of it does, such as a chain of imports.
    """
    match = _FROM.match(statement)
    last = imported.rpartition(".")[2]
    if match:
        base = match[1].lstrip(".")
        if base and (imported == base or imported.endswith(f".{base}")):
            return match.span(1)
        name = re.compile(rf"\b{re.escape(last)}\b").search(statement, match.end())
        if name:
            return name.span()
        return match.span(1)
    whole = re.search(rf"(?<![\w.]){re.escape(imported)}(?![\w])", statement)
    if whole:
        return whole.span()
    return (0, len(statement))


def _safe(line: str) -> str:
    """The line made safe for a terminal, with its spaces."""
    return safe_text(line).replace("\n", " ").replace("\t", " ")


def _hints(verdict: Verdict) -> list[str]:
    """What to do about violations that can't be fixed now."""
    first = next((one for one in verdict.violations if one.method != INDIRECT_METHOD), None)
    hints = []
    if (
        verdict.manifest.path != MANIFEST
    ):  # neither the baseline nor exceptions belong to another manifest
        return []
    if not verdict.baseline:
        hints.append(
            "hint: to accept today's violations and block only new ones: kl arch baseline write"
        )
    if first is not None:  # no exception excuses a chain
        ends = f"{quote(first.importer)} {quote(first.imported)}"
        hints.append(
            f"hint: to allow one import for a while: kl arch allow {ends} --until 30d --reason"
            ' "..."'
        )
    return [_safe(hint) for hint in hints]


def _closing(verdict: Verdict, seconds: float | None) -> str:
    """`checked 42 files, 4 layers in 0.11 s from the staged content; 3 files in no layer`."""
    if seconds is None:
        spent = ""
    else:
        spent = f" in {seconds:.2f} s"
    where = {"staged": "the staged content", "worktree": "the working tree"}.get(
        verdict.source, verdict.source
    )
    if verdict.clean and verdict.accepted:
        accepted = f" ({len(verdict.accepted)} accepted in baseline)"
    else:
        accepted = ""
    checked = f"{counted(verdict.files, 'file')}, {counted(len(verdict.manifest.layers), 'layer')}"
    if verdict.manifest.contracts:
        checked += f", {counted(len(verdict.manifest.contracts), 'contract')}"
    if verdict.unassigned:
        outside = f"; {unassigned_count(verdict)} (--list-unassigned)"
    else:
        outside = ""
    return (
        f"{'clean: ' if verdict.clean else ''}checked {checked}{spent} from"
        f" {where}{accepted}{outside}"
    )


def unassigned_count(verdict: Verdict) -> str:
    """`3 files in no layer`."""
    return f"{counted(len(verdict.unassigned), 'file')} in no layer"


def problems_to_list(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    """Problems as plain data."""
    return [
        {"path": p.path, "line": p.line, "column": p.column, "message": p.message, "hint": p.hint}
        for p in problems
    ]


def violation_to_dict(violation: Violation) -> dict[str, Any]:
    """A violation as plain data, with its fingerprint (shared by equal imports) and its ID
    (unique).
    """
    keys = (
        "path",
        "line",
        "importer",
        "imported",
        "source_layer",
        "target_layer",
        "statement",
        "method",
        "rule",
        "decision",
        "suggested_fix",
    )
    ids = {"fingerprint": violation.fingerprint, "id": violation.id}
    return (
        {key: getattr(violation, key) for key in keys} | {"allowed": list(violation.allowed)} | ids
    )
