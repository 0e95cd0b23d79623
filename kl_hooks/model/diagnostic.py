"""A finding of a check as one plain value, and what CI services read of it: GitHub annotations, a
Code Quality report of GitLab, a SARIF log. Pure.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import quote

from kl_hooks import __version__
from kl_hooks.model.canonical import digest
from kl_hooks.model.text import counted, one_line, safe_text

_LONGEST: Final = 1000
"""Characters of a message: it may quote a file."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What a finding breaks."""

    id: str
    """`layers/core/web`, stable."""
    title: str
    """`core must not import web`"""
    help: str
    """Where the rule is, what is allowed instead, or what to do."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding at one place."""

    rule: Rule
    path: str
    """From the top of the repository; empty: the content as a whole."""
    line: int
    """From 1; 0: the file as a whole."""
    message: str
    fingerprint: str
    """Without line numbers; several findings may share it."""
    hint: str = ""
    """How to fix it; empty: the message states it."""
    column: int = 0
    """From 1; 0: not known."""
    level: str = "error"
    """`error`, `warning` or `note`."""
    number: int = 1
    """Which of those that share the fingerprint it is, from 1 in the order of lines."""
    accepted: bool = False
    """A baseline accepts it: no annotation, and a note where all findings are listed."""
    minor: bool = False
    """Shown after others, where only some are shown."""

    @property
    def text(self) -> str:
        """Message and hint on one line, safe for a log and a terminal."""
        hint = f" hint: {self.hint}" if self.hint else ""
        return one_line(f"{self.message}{hint}", _LONGEST)

    @property
    def unique_fingerprint(self) -> str:
        """That of the first one, and for each further one its own, still without a line."""
        if self.number == 1:
            return self.fingerprint
        return digest("occurrence/1", [self.fingerprint, self.number])[:16]


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found in one content."""

    category: str
    """`kl/arch/`: up to its last slash the name by which GitHub separates the analyses of a
    commit.
    """
    diagnostics: Sequence[Diagnostic]
    successful: bool = True
    """Whether the check could be made."""
    properties: Mapping[str, Any] = field(default_factory=dict)


def numbered(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Each in its order, with its number among those of its fingerprint, by line."""
    listed = list(diagnostics)
    counts: Counter[str] = Counter()
    numbers = {}
    for place in sorted(range(len(listed)), key=lambda n: (listed[n].path, listed[n].line, n)):
        counts[listed[place].fingerprint] += 1
        numbers[place] = counts[listed[place].fingerprint]
    return [replace(entry, number=numbers[place]) for place, entry in enumerate(listed)]


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
        column = {"col": str(entry.column)} if entry.column else {}
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
    return "info" if entry.accepted else severities[entry.level]


def _encodable(path: str) -> str:
    """The path itself, or one with visible escapes where its bytes are not UTF-8 (PEP 383)."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return safe_text(path)
    return path


_ROOT: Final = "%SRCROOT%"
_SCHEMA: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


def sarif_log(reports: Iterable[Report], place: str) -> dict[str, Any]:
    """A log with a run for each content; `place` is the file of findings in the content as a whole
    (code scanning requires one).
    """
    runs = [_run(report, place) for report in reports]
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": runs}


def _run(report: Report, place: str) -> dict[str, Any]:
    rules = list({entry.rule.id: entry.rule for entry in report.diagnostics}.values())
    index = {rule.id: number for number, rule in enumerate(rules)}
    driver = {
        "name": "kl",
        "version": __version__,
        "rules": [
            {
                "id": rule.id,
                "name": rule.title,
                "shortDescription": {"text": rule.title},
                "fullDescription": {"text": rule.help},
                "help": {"text": rule.help},
                "defaultConfiguration": {"level": "error"},
            }
            for rule in rules
        ],
    }
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": report.category},
        "originalUriBaseIds": {
            _ROOT: {"description": {"text": "The top folder of the repository."}}
        },
        "invocations": [{"executionSuccessful": report.successful}],
        "columnKind": "unicodeCodePoints",
        "results": [_result(entry, index[entry.rule.id], place) for entry in report.diagnostics],
    }
    return run | ({"properties": dict(report.properties)} if report.properties else {})


def _result(entry: Diagnostic, rule: int, place: str) -> dict[str, Any]:
    # a relative reference: `#`, `?`, `%` and the `:` of `c:/x` would be parts of a URI. Undecodable
    # bytes are surrogates in a path (PEP 383)
    uri = quote(os.fsencode(entry.path or place), safe="/")
    location: dict[str, Any] = {"artifactLocation": {"uri": uri, "uriBaseId": _ROOT}}
    if entry.path and entry.line:
        column = {"startColumn": entry.column} if entry.column else {}
        location["region"] = {"startLine": entry.line} | column
    result = {
        "ruleId": entry.rule.id,
        "ruleIndex": rule,
        "level": "note" if entry.accepted else entry.level,
        "baselineState": "unchanged" if entry.accepted else "new",
        "message": {"text": entry.text},
        "locations": [{"physicalLocation": location}],
        # code scanning compares the first one only, to match the alerts of two uploads
        "partialFingerprints": {
            "primaryLocationLineHash": f"{entry.fingerprint}:{entry.number}",
            "klFinding/v1": entry.fingerprint,
        },
    }
    if entry.accepted:
        reason = "accepted in .kl/baseline.json"
        suppression = {"kind": "external", "status": "accepted", "justification": reason}
        result["suppressions"] = [suppression]
    return result
