"""`kl arch allow`: an exception that ends, added to the manifest with its decision."""

from __future__ import annotations

import click

from kl_hooks.cli.common import counted, format_option, note, say, say_json, workspace


@click.command(
    epilog='Example: kl arch allow shop.core.order shop.web.page --until 30d --reason "until orders are split"'
)
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--until", required=True, help="Last day it holds: 30d, or YYYY-MM-DD.")
@click.option("--reason", required=True, help="Why; it becomes the decision record.")
@click.option("--decision", default="", metavar="ADR-NNNN", help="Name this record instead of writing a new one.")
@click.option("--accept", is_flag=True, help="Write the new record as accepted; for people. Else it is proposed.")
@format_option()
def allow(source: str, target: str, until: str, reason: str, decision: str, accept: bool, shape: str) -> None:
    """Allow imports of TO by FROM (modules or layers) until a day, and record why.

    Adds an exception to `.kl/architecture.yaml`, every other byte of which stays as it is, and writes a decision into
    `.kl/knowledge/decisions/` unless --decision names one: proposed, or accepted with --accept. Review and commit both.
    Refused where it would excuse no import of today: no exception excuses a chain (`indirect: forbid`).
    """
    from kl_hooks.arch.allowing.allow import allow as run
    from kl_hooks.errors import UsageProblem
    from kl_hooks.evidence.who import agent
    from kl_hooks.model.manifest import MANIFEST

    ws = workspace()
    if accept and (name := agent(ws.environ)):
        hint = "Leave it out: a person accepts the record with kl decision accept."
        raise UsageProblem(f"accepting is for people, and this is {name}.", place="--accept", hint=hint)
    made = run(ws, source, target, until, reason, decision, accept=accept)
    one = made.exception
    for remark in made.remarks:
        note(remark)
    if shape == "json":
        row = {"from": one.source, "to": one.target, "until": one.until, "decision": one.decision}
        place = {"manifest": MANIFEST, "line": one.line, "record": made.record or None, "imports": made.imports}
        say_json({"schema": "kl.arch.allow/1", **row, **place})
        return
    say(f"{MANIFEST}:{one.line}: {one.source} may import {one.target} until {one.until} ({one.decision})")
    if made.record:
        how = "" if accept else f" (proposed; accept it with: kl decision accept {one.decision})"
        say(f"wrote {made.record}{how}")
    say(f"{counted(made.imports, 'import')} excused. Review and commit it.")
