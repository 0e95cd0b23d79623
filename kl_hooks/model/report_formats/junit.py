"""JUnit's XML, as most CI services read it: a failed case for each finding. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import quoteattr

from kl_hooks.model.diagnostic import Diagnostic, Report, merged
from kl_hooks.model.text import safe_text


def render(reports: Sequence[Report], command: str, place: str) -> str:
    """As `report_formats`; what a baseline accepts is skipped, and without a finding one case
    passes.
    """
    findings = [finding for finding in merged(reports)[0] if finding.level != "note"]
    failures = sum(not finding.accepted for finding in findings)
    skipped = len(findings) - failures
    cases = [_case(finding, place) for finding in findings]
    if not failures:
        cases.append(f'  <testcase classname={quoteattr(command)} name="no findings"/>')
    name = quoteattr(command)
    head = f'<testsuite name={name} tests="{len(cases)}" failures="{failures}" skipped="{skipped}">'
    lines = ('<?xml version="1.0" encoding="utf-8"?>', head, *cases, "</testsuite>")
    return "".join(f"{line}\n" for line in lines)


def _case(finding: Diagnostic, place: str) -> str:
    path = safe_text(finding.path or place)
    name = quoteattr(f"{path}:{finding.line}" if finding.line else path)
    word = "skipped" if finding.accepted else "failure"
    outcome = f"<{word} message={quoteattr(finding.text)}/>"
    return f"  <testcase classname={quoteattr(finding.rule.id)} name={name}>{outcome}</testcase>"
