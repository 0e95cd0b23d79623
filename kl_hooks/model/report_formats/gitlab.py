"""A Code Quality report of GitLab. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from kl_hooks.model.diagnostic import Diagnostic, Report, merged
from kl_hooks.model.text import safe_text


def gitlab_report(diagnostics: Iterable[Diagnostic], place: str) -> list[dict[str, Any]]:
    """A Code Quality report; `place` is the file of findings in the content as a whole.

    GitLab requires a path, compares two branches by fingerprints, and keeps one finding of each.
    """
    return [
        {
            "description": entry.text,
            "check_name": entry.rule.id,
            "fingerprint": entry.unique_fingerprint,
            "severity": _severity(entry),
            "location": {
                "path": _encodable(entry.path or place),
                "lines": {"begin": max(entry.line, 1)},
            },
        }
        for entry in diagnostics
    ]


def _severity(entry: Diagnostic) -> str:
    severities = {"error": "major", "warning": "minor", "note": "info"}
    if entry.accepted:
        return "info"
    return severities[entry.level]


def _encodable(path: str) -> str:
    """The path itself, or one with visible escapes where its bytes are not UTF-8 (PEP 383)."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return safe_text(path)
    return path


def render(reports: Sequence[Report], command: str, place: str) -> str:
    """As `report_formats`: with what a baseline accepts, and the remarks."""
    findings, remarks = merged(reports)
    rows = gitlab_report([*findings, *remarks], place)
    return json.dumps(rows, indent=2, sort_keys=True) + "\n"
