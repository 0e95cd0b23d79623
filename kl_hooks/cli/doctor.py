"""`kl doctor`: what is wrong with the set-up, and the exact fix."""

from __future__ import annotations

import click

from kl_hooks.cli.checkup import Finding, examine
from kl_hooks.cli.common import format_option, say, say_json


@click.command(epilog="Example: kl doctor --format json")
@format_option()
@click.pass_context
def doctor(context: click.Context, shape: str) -> int:
    """What is wrong with the set-up, and the exact fix. Exit 1 if something is."""
    findings = examine(context.find_root().params.get("root"))
    if shape == "json":
        say_json({"schema": "kl.doctor/1", "findings": [_plain(f) for f in findings]})
    else:
        for finding in findings:
            say(f"  {finding.state:<7} {finding.what:<12} {finding.says}")
            if finding.fix:
                say(f"          {'':<12} fix: {finding.fix}")
    return 1 if any(f.state == "wrong" for f in findings) else 0


def _plain(finding: Finding) -> dict[str, str]:
    return {"what": finding.what, "state": finding.state, "says": finding.says, "fix": finding.fix}
