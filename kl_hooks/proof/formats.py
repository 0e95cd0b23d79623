"""The verdict of `kl verify` as GitHub annotations, as SARIF and as a Code Quality report of
GitLab.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kl_hooks import __version__
from kl_hooks.config.settings import SETTINGS_FILE
from kl_hooks.model.canonical import digest
from kl_hooks.proof.gate import Proof
from kl_hooks.proof.impact import NEVER, PROVEN, SymbolState

_ANNOTATIONS: Final = 9
"""GitHub shows ten annotations of a step and drops the others silently."""
_SCHEMA: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


def render(
    shape: str, tree: str, proven: bool, states: Sequence[SymbolState], proof: Proof, command: str
) -> str:
    """The verdict in `github`, `gitlab` or `sarif`: a finding for each symbol and test that is not
    proven.
    """
    found = list(_findings(tree, proven, states, proof, command))
    if shape == "github":
        return "\n".join(_github(found))
    return json.dumps(
        _gitlab(found) if shape == "gitlab" else _sarif(found), ensure_ascii=False, indent=2
    )


_Finding = tuple[str, str, int, str]
"""Rule, path (empty: none), line, message."""


def _findings(
    tree: str, proven: bool, states: Sequence[SymbolState], proof: Proof, command: str
) -> Iterator[_Finding]:
    more = f" Run: {command}" if command else ""
    for one in states:
        if one.state != PROVEN:
            # no run of the tests that there are would prove it
            cure = " It needs a test." if one.state == NEVER and not one.tests else more
            message = f"{one.symbol.partition(':')[2]} is {one.state}: {one.reason}.{cure}"
            yield f"proof/{one.state.replace(' ', '-')}", one.path, max(one.line, 1), message
    if not proven and not states:
        for lost in proof.missing:
            yield (
                "proof/missing",
                lost.name.partition("::")[0],
                1,
                f"{lost.name}: {lost.reason}.{more}",
            )
        if not proof.missing:
            reason = (
                "; ".join(proof.reasons[:3])
                or "no passing full test run is recorded for this content"
            )
            yield (
                "proof/not-proven",
                "",
                0,
                f"tree {tree[:12]} is not proven: {reason}.{more or ' Run: pytest'}",
            )


def _github(found: Sequence[_Finding]) -> Iterator[str]:
    for _, path, line, message in found[:_ANNOTATIONS]:
        place = (
            f" file={_property(path)},line={line},title=kl verify" if path else " title=kl verify"
        )
        yield f"::error{place}::{_data(message)}"
    if len(found) > _ANNOTATIONS:
        yield (
            f"::error title=kl verify::{len(found)} findings; {_ANNOTATIONS} are shown here. All of"
            " them: kl verify"
        )


def _gitlab(found: Sequence[_Finding]) -> list[dict[str, Any]]:
    """GitLab requires a path, and compares findings of two branches by their fingerprints: these
    have no line.
    """
    return [
        {
            "description": message,
            "check_name": rule,
            "severity": "major",
            "fingerprint": digest("proof/1", [rule, path, message.partition(": ")[0]])[:16],
            "location": {"path": path or SETTINGS_FILE, "lines": {"begin": max(line, 1)}},
        }
        for rule, path, line, message in found
    ]


def _data(text: str) -> str:
    # the runner decodes these and no others (actions/toolkit, command.ts)
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _sarif(found: Sequence[_Finding]) -> dict[str, Any]:
    rules = sorted({rule for rule, *_ in found})
    driver = {
        "name": "kl",
        "version": __version__,
        "rules": [{"id": rule, "name": rule} for rule in rules],
    }
    results = []
    for rule, path, line, message in found:
        result: dict[str, Any] = {"ruleId": rule, "level": "error", "message": {"text": message}}
        if path:
            place = {"artifactLocation": {"uri": path}, "region": {"startLine": line}}
            result["locations"] = [{"physicalLocation": place}]
        results.append(result)
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": "kl/verify/"},
        "results": results,
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
