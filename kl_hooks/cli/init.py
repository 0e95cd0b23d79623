"""`kl init`: looks at the repository, proposes `.kl/`, and takes it back with `--undo`."""

from __future__ import annotations

import sys

import click

from kl_hooks.arch.source import repository
from kl_hooks.cli.common import counted, format_option, note, say, say_json, workspace
from kl_hooks.cli.init_files import apply, refuse_odd_home, undo
from kl_hooks.cli.init_plan import look
from kl_hooks.cli.init_precommit import CONFIG, addition, mentions_kl
from kl_hooks.cli.init_say import plain_of, say_found
from kl_hooks.cli.init_seed import forget, how_many, sow_here
from kl_hooks.config.files import read_small
from kl_hooks.workspace.open import Workspace


@click.command(epilog="Example: kl init --yes")
@click.option(
    "--yes", is_flag=True, help=f"Also add our entries to {CONFIG}, where they can simply be appended, and seed."
)
@click.option("--exact", is_flag=True, help="Layers without exceptions: parts that import each other become one layer.")
@click.option("--undo", "back", is_flag=True, help="Take back what kl init wrote and nobody changed since.")
@format_option()
def init(yes: bool, exact: bool, back: bool, shape: str) -> int:
    """Look at the repository and propose `.kl/`: layers from today's imports, settings.

    Where parts of the code import each other, the layers are those that the fewest imports contradict, and a baseline
    accepts these: the first check is clean. Never overwrites a file and commits nothing.
    """
    ws = workspace()
    repository(ws)
    if back:
        return _undo(ws, shape)
    refuse_odd_home(ws.root)
    person = sys.stdin is not None and sys.stdin.isatty() and shape == "text"
    found = look(ws, append=yes or (person and _agrees(ws)), exact=exact)
    found.seeds = how_many(ws)
    apply(ws.root, ws.state, found.plan)
    if found.seeds and (yes or (person and _sows(found.seeds))):
        found.seeded = sow_here(ws)
    for remark in found.notes:
        note(remark)
    if shape == "json":
        say_json(plain_of(found))
    else:
        say_found(ws, found)
    return 0


def _agrees(ws: Workspace) -> bool:
    """Asks, where there is a file to add to that has none of ours yet."""
    text = read_small(ws.root / CONFIG, within=ws.root)
    can_be = text is not None and not mentions_kl(text) and addition(text) is not None
    return can_be and click.confirm(f"Add kl's entries to {CONFIG}?", default=False, err=True)


def _sows(seeds: int) -> bool:
    """Asks whether the documents' own words become records."""
    return click.confirm(f"Make {counted(seeds, 'record')} of what your documents say?", default=False, err=True)


def _undo(ws: Workspace, shape: str) -> int:
    done = undo(ws.root, ws.state)
    forget(ws, [path for path, what in done if what == "removed"])
    if shape == "json":
        say_json({"schema": "kl.init.undo/1", "done": [{"path": path, "what": what} for path, what in done]})
        return 0
    for path, what in done:
        say(f"  {path:<28} {what}")
    say("What kl recorded in this clone stays; it is private to it: " + str(ws.state.directory))
    return 0
