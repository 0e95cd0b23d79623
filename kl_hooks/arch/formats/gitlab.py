"""A check as GitLab's Code Quality report. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kl_hooks.arch.formats.findings import Checked, Finding, gathered, shown_path
from kl_hooks.model.canonical import digest


def gitlab(found: Sequence[Checked]) -> list[dict[str, Any]]:
    """A list of degradations; what the baseline accepts is of severity `info`. Empty where there is no manifest."""
    return [_row(one) for one in gathered(found)]


def _row(one: Finding) -> dict[str, Any]:
    return {
        "description": one.message,
        "check_name": one.rule.id,
        "fingerprint": _unique(one),
        "severity": "info" if one.accepted else "major",
        "location": {"path": shown_path(one.path), "lines": {"begin": max(one.line, 1)}},
    }


def _unique(one: Finding) -> str:
    """GitLab keeps one finding of a fingerprint: further ones get their own, still without a line number."""
    same = one.number == 1
    return one.fingerprint if same else digest("occurrence/1", [one.fingerprint, one.number])[:16]
