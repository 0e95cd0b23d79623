"""Annotations of GitHub: commands in the log of a workflow. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kl_hooks.model.diagnostic import Diagnostic, Report, merged
from kl_hooks.model.text import counted, one_line, safe_text

MAX_ANNOTATIONS: Final = 9
"""GitHub shows ten annotations of a step and drops the others silently: nine, and how many there
are.
"""
_COMMANDS: Final = {"error": "error", "warning": "warning", "note": "notice"}


def github_commands(diagnostics: Sequence[Diagnostic], command: str) -> list[str]:
    """The annotations of the first findings, in the order given, none for what is accepted; notes
    follow, and are not counted.

    `command` is the one of kl that lists them all.
    """
    findings = [entry for entry in diagnostics if entry.level != "note" and not entry.accepted]
    lines = [_annotation(entry) for entry in findings[:MAX_ANNOTATIONS]]
    if len(findings) > MAX_ANNOTATIONS:
        files = counted(len({entry.path for entry in findings}), "file")
        message = (
            f"{len(findings)} findings in {files}; {MAX_ANNOTATIONS} are shown here. All of them:"
            f" {command}"
        )
        lines.append(f"::error title={_property(command)}::{_data(message)}")
    notes = [entry for entry in diagnostics if entry.level == "note" and not entry.accepted]
    return lines + [_annotation(entry) for entry in notes]


def _annotation(entry: Diagnostic) -> str:
    properties = {"title": one_line(entry.rule.title)}
    if entry.path:
        if entry.column:
            column = {"col": str(entry.column)}
        else:
            column = {}
        place = {"file": safe_text(entry.path), "line": str(max(entry.line, 1))}
        properties = place | column | properties
    pairs = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{_COMMANDS[entry.level]} {pairs}::{_data(entry.text)}"


def _data(text: str) -> str:
    # what the runner decodes, and nothing else (actions/toolkit, packages/core/src/command.ts)
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    # `:` and `,` would end the property
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def render(reports: Sequence[Report], command: str, place: str) -> str:
    """As `report_formats`: the worst first, and the remarks."""
    findings, remarks = merged(reports)
    ranked = reports[0].ranked(findings) if reports else []
    return "".join(f"{line}\n" for line in github_commands([*ranked, *remarks], command))
