"""A check as SARIF 2.1.0, for code scanning. Pure."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from kl_hooks.arch.formats.findings import Checked, Finding, findings

_ROOT: Final = "%SRCROOT%"
_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif(found: Sequence[Checked], version: str) -> dict[str, Any]:
    """A log with a run for each content looked at; `version` is ours. An empty run where there is no manifest."""
    alone = len(found) == 1
    runs = [_run(one, version, "kl/arch/" if alone else f"kl/arch/{one[0]}/") for one in found]
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": runs}


def _run(checked: Checked, version: str, category: str) -> dict[str, Any]:
    source, verdict = checked
    found = findings(verdict) if verdict else []
    rules = list({one.rule.id: one.rule for one in found}.values())
    place = {rule.id: number for number, rule in enumerate(rules)}
    driver = {
        "name": "kl",
        "version": version,
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
    return {
        "tool": {"driver": driver},
        "automationDetails": {"id": category},
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The top folder of the repository."}}},
        "invocations": [{"executionSuccessful": not (verdict and verdict.invalid)}],
        "columnKind": "unicodeCodePoints",
        "properties": {
            "source": source,
            "manifest": verdict.manifest.path if verdict else None,
            "unassigned": len(verdict.unassigned) if verdict else 0,
        },
        "results": [_result(one, place[one.rule.id]) for one in found],
    }


def _result(one: Finding, rule: int) -> dict[str, Any]:
    uri = quote(os.fsencode(one.path), safe="/")
    place: dict[str, Any] = {"artifactLocation": {"uri": uri, "uriBaseId": _ROOT}}
    if one.line:
        place["region"] = {"startLine": one.line} | ({"startColumn": one.column} if one.column else {})
    marks = {"primaryLocationLineHash": f"{one.fingerprint}:{one.number}", "klFinding/v1": one.fingerprint}
    result = {
        "ruleId": one.rule.id,
        "ruleIndex": rule,
        "level": "note" if one.accepted else one.level,
        "baselineState": "unchanged" if one.accepted else "new",
        "message": {"text": one.message},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": marks,
    }
    if one.accepted:
        why = "accepted in .kl/baseline.json"
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": why}]
    return result
