"""`kl arch explain`: how a file, module or layer came to be judged as it is."""

from __future__ import annotations

from pathlib import Path

import click

from kl_hooks.cli.common import format_option, note, say, say_json, workspace
from kl_hooks.cli.paths import from_top
from kl_hooks.errors import UsageProblem


@click.command(epilog="Example: kl arch explain src/shop/core/order.py")
@click.argument("what", metavar="FILE|LAYER|MODULE")
@format_option()
def explain(what: str, shape: str) -> None:
    """Explain a file (which module it is and why, its layer, what crosses layers), or a layer, of what is on disk.

    For a file: how it was mapped to a module, which path of the manifest owns it, what it imports from other layers
    and who of them imports it, each with the decision: allowed, excepted, in the baseline, ignored, forbidden.
    For a layer: its paths and files, what it may depend on and does, who uses it, and what breaks its rule.
    """
    from kl_hooks.arch.looking.explain import SCHEMA, explained
    from kl_hooks.arch.looking.explain_text import text
    from kl_hooks.arch.looking.overview import survey_now

    ws = workspace()
    seen, notes = survey_now(ws)
    for remark in notes:
        note(remark)
    if seen is None:
        if shape == "json":
            say_json({"schema": SCHEMA, "kind": None})
        else:
            say("no .kl/architecture.yaml in this repository - nothing to explain. Create one with: kl init")
        return
    try:
        paths = [from_top(what, Path(ws.repo.top if ws.repo else ws.root)), what]
    except UsageProblem:
        paths = [what]
    told = explained(seen, what, paths)
    if shape == "json":
        say_json(told)
        return
    for line in text(told):
        say(line)
