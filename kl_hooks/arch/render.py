"""A Verdict as text for people, and as plain data for programs. Pure; nothing but ASCII is added to what was found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from shlex import quote
from typing import Any, Final

from kl_hooks.arch.indirect import INDIRECT
from kl_hooks.arch.verdict import Verdict
from kl_hooks.model.manifest import Violation
from kl_hooks.model.problem import Problem
from kl_hooks.model.text import one_line, safe_text

SCHEMA: Final = "kl.arch.check/1"
_COLUMN: Final = 34


def text(verdict: Verdict, seconds: float | None = None) -> list[str]:
    """The lines to print."""
    lines = []
    if verdict.violations:
        lines += [headline(verdict), ""]
    by_layers = sorted(verdict.violations, key=lambda v: (v.source_layer, v.target_layer))
    for (source, target), found in groupby(by_layers, key=lambda v: (v.source_layer, v.target_layer)):
        lines += [*_group(source, target, list(found), verdict.titles), ""]
    if verdict.contracts:
        from kl_hooks.arch.contracts.text import contract_lines

        lines += contract_lines(verdict.contracts)
    lines += [one_line(str(problem), 400) for problem in verdict.problems]
    if verdict.unjudged:
        rest = _count(verdict.unjudged, "file")
        lines.append(f"{rest} could not be read; the other {verdict.files} were checked.")
    if verdict.problems:
        lines.append("")
    lines += _advice(verdict)
    return [*lines, _closing(verdict, seconds)]


def headline(verdict: Verdict) -> str:
    """`1 new violation (3 accepted in baseline)`; `1 violation` where there is no baseline."""
    number = len(verdict.violations)
    if not verdict.baseline:
        return _count(number, "violation")
    return f"{_count(number, 'new violation')} ({len(verdict.accepted)} accepted in baseline)"


def _group(source: str, target: str, found: Sequence[Violation], titles: Mapping[str, str]) -> list[str]:
    """Everything about one pair of layers."""
    lines = [f"  {source} may not depend on {target}"]
    for violation in found:
        place = f"{violation.path}:{violation.line}"
        lines.append(f"    {place:<{_COLUMN}} {one_line(violation.statement, 100)}")
        how = "" if violation.method in ("", "import") else f"  ({violation.method})"
        lines.append(f"    {'':<{_COLUMN}} ^^^^ {source} -> {target}{how}")
    first = found[0]
    allowed = ", ".join(first.allowed) or "(nothing)"
    title = titles.get(first.decision, "")
    decision = f"  ({first.decision}" + (f' "{title}")' if title else ")") if first.decision else ""
    lines.append(f"    allowed from {source}: {allowed}    {first.rule}{decision}")
    for way in dict.fromkeys(violation.way_out for violation in found if violation.way_out):
        lines.append(f"    a way out: {way}")
    return [lines[0], *(_safe(line) for line in lines[1:])]


def _safe(line: str) -> str:
    """The line made safe for a terminal, its spaces kept."""
    return safe_text(line).replace("\n", " ").replace("\t", " ")


def _advice(verdict: Verdict) -> list[str]:
    """For the first violation that an exception can excuse: chains have none."""
    first = next((one for one in verdict.violations if one.method != INDIRECT), None)
    if first is None:
        return []
    ends = f"{quote(first.importer)} {quote(first.imported)}"
    return [_safe(f'  fix it, or record an exception:  kl arch allow {ends} --until 30d --reason "..."')]


def _closing(verdict: Verdict, seconds: float | None) -> str:
    """`checked 42 files, 4 layers in 0.11 s from the staged content`."""
    spent = "" if seconds is None else f" in {seconds:.2f} s"
    where = {"staged": "the staged content", "worktree": "the work tree"}.get(verdict.source, verdict.source)
    accepted = f" ({len(verdict.accepted)} accepted in baseline)" if verdict.clean and verdict.accepted else ""
    checked = f"{_count(verdict.files, 'file')}, {_count(len(verdict.manifest.layers), 'layer')}"
    if verdict.manifest.contracts:
        checked += f", {_count(len(verdict.manifest.contracts), 'contract')}"
    return f"{'clean: ' if verdict.clean else ''}checked {checked}{spent} from {where}{accepted}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def plain(verdict: Verdict) -> dict[str, Any]:
    """As `--format json` prints it."""
    from kl_hooks.arch.contracts.text import plain_breach

    return {
        "schema": SCHEMA,
        "clean": verdict.clean,
        "violations": [violation(one) for one in verdict.violations],
        "accepted": [violation(one) for one in verdict.accepted],
        "baseline": verdict.baseline or None,
        "decisions": dict(verdict.titles),
        "contracts": [plain_breach(one) for one in verdict.contracts],
        "problems": problems(verdict.problems),
        "warnings": problems(verdict.warnings),
        "files": verdict.files,
        "unjudged": verdict.unjudged,
        "layers": len(verdict.manifest.layers),
        "manifest": verdict.manifest.path,
        "source": verdict.source,
    }


def problems(found: Iterable[Problem]) -> list[dict[str, Any]]:
    """Problems as plain data."""
    return [{"path": p.path, "line": p.line, "column": p.column, "message": p.message, "hint": p.hint} for p in found]


def violation(one: Violation) -> dict[str, Any]:
    """A violation as plain data, its fingerprint with it."""
    keys = (
        "path", "line", "importer", "imported", "source_layer", "target_layer", "statement", "method", "rule",
        "decision", "way_out",
    )  # fmt: skip
    return {key: getattr(one, key) for key in keys} | {"allowed": list(one.allowed), "fingerprint": one.fingerprint}
