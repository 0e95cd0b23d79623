"""A SARIF log, as code scanning of GitHub reads it. Pure."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import Any, Final
from urllib.parse import quote

from kl_hooks import __version__
from kl_hooks.model.diagnostic import Diagnostic, Report

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
        if entry.column:
            column = {"startColumn": entry.column}
        else:
            column = {}
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


def render(reports: Sequence[Report], command: str, place: str) -> str:
    """As `report_formats`."""
    return json.dumps(sarif_log(reports, place), indent=2, sort_keys=True) + "\n"
