"""A check as GitLab's Code Quality report. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kl_hooks.arch.formats.findings import Checked, Finding, gathered, shown_path, unassigned
from kl_hooks.model.canonical import digest
from kl_hooks.model.manifest import MANIFEST


def gitlab(found: Sequence[Checked]) -> list[dict[str, Any]]:
    """A list of degradations; what the baseline accepts is of severity `info`. Empty where there is no manifest."""
    rows = [_row(one) for one in gathered(found)]
    outside = len(unassigned(found))
    return rows + ([_unassigned(outside)] if outside else [])


def _unassigned(number: int) -> dict[str, Any]:
    """One row for all files in no layer, under a fingerprint that does not change with their number."""
    return {
        "description": f"{number} file{'s' * (number > 1)} in no layer. List them: kl arch check --list-unassigned",
        "check_name": "arch/unassigned",
        "fingerprint": digest("unassigned/1", [MANIFEST])[:16],
        "severity": "info",
        "location": {"path": MANIFEST, "lines": {"begin": 1}},
    }


def _row(one: Finding) -> dict[str, Any]:
    return {
        "description": one.message,
        "check_name": one.rule.id,
        "fingerprint": _unique(one),
        "severity": "info" if one.accepted else "minor" if one.level == "warning" else "major",
        "location": {"path": shown_path(one.path), "lines": {"begin": max(one.line, 1)}},
    }


def _unique(one: Finding) -> str:
    """GitLab keeps one finding of a fingerprint: further ones get their own, still without a line number."""
    same = one.number == 1
    return one.fingerprint if same else digest("occurrence/1", [one.fingerprint, one.number])[:16]
