"""`kl init`: looks at the repository, proposes `.kl/`, and takes it back with `--undo`."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version

import click

from kl_hooks.arch.source import repository
from kl_hooks.cli.common import counted, format_option, note, say, say_json, workspace
from kl_hooks.cli.init_files import apply, refuse_odd_home, undo
from kl_hooks.cli.init_plan import Found, look
from kl_hooks.cli.init_precommit import CONFIG, STAGES, snippet
from kl_hooks.model.manifest import MANIFEST
from kl_hooks.workspace.open import Workspace


@click.command(epilog="Example: kl init --yes")
@click.option("--yes", is_flag=True, help=f"Also add our entries to {CONFIG}, if they can simply be appended.")
@click.option("--undo", "back", is_flag=True, help="Take back what kl init wrote and nobody changed since.")
@format_option()
def init(yes: bool, back: bool, shape: str) -> int:
    """Look at the repository and propose `.kl/`: layers from today's imports, settings.

    Never overwrites a file and commits nothing.
    """
    ws = workspace()
    repository(ws)
    if back:
        return _undo(ws, shape)
    refuse_odd_home(ws.root)
    agreed = yes or (sys.stdin is not None and sys.stdin.isatty() and shape == "text" and _agrees(ws))
    found = look(ws, append=agreed)
    apply(ws.root, ws.state, found.plan)
    for remark in found.notes:
        note(remark)
    if shape == "json":
        say_json(_plain(found))
    else:
        _say(ws, found)
    return 0


def _agrees(ws: Workspace) -> bool:
    """Asks, where there is a file to add to."""
    return (ws.root / CONFIG).is_file() and click.confirm(f"Add kl's entries to {CONFIG}?", default=False, err=True)


def _undo(ws: Workspace, shape: str) -> int:
    done = undo(ws.root, ws.state)
    if shape == "json":
        say_json({"schema": "kl.init.undo/1", "done": [{"path": path, "what": what} for path, what in done]})
        return 0
    for path, what in done:
        say(f"  {path:<28} {what}")
    say("What kl recorded in this clone stays; it is private to it: " + str(ws.state.directory))
    return 0


def _plain(found: Found) -> dict[str, object]:
    return {
        "schema": "kl.init/1",
        "found": [list(row) for row in found.found],
        "wrote": sorted(found.plan.create),
        "added_to": sorted(found.plan.append),
        "kept": found.kept,
        "layers": found.layers,
        "snippet": snippet() if found.snippet else None,
        "next": _steps(found),
    }


def _say(ws: Workspace, found: Found) -> None:
    say(f"kl {_version()} - knowledge layer for this repository\n")
    for row in found.found:
        say("  found   " + "  ".join(f"{word:<14}" for word in row).rstrip())
    if not found.layers:
        say("  found   no python package: no layers to propose")
    say()
    for path in found.plan.create:
        about = (
            f"{counted(found.layers, 'layer')}, proposed from your imports   [review this]" if path == MANIFEST else ""
        )
        say(f"  wrote   {path:<24} {about}".rstrip())
    for path, text in found.plan.append.items():
        lines = text.count(b"\n")
        say(f"  added   {path:<24} +{counted(lines, 'line')}")
    for path in found.kept:
        say(f"  kept    {path}")
    say(f"  store   {ws.state.directory}   private to this clone\n")
    if found.snippet:
        say(f"  To check commits, add this to the list `repos` of {CONFIG} (kl init --yes appends it where it can):\n")
        say(snippet(4) + f"\n  and at the top of it:  {STAGES}")
    for number, step in enumerate(_steps(found), 1):
        say(f"  {'next' if number == 1 else '    '}    {number}. {step}")
    say("Nothing was committed. Undo with: kl init --undo")


def _steps(found: Found) -> list[str]:
    pre_commit = any(row[0] == "pre-commit" for row in found.found)
    hooks = "pre-commit install" if pre_commit else "kl hooks install"
    force = " --force" if MANIFEST in found.plan.create else ""
    own = [f"or keep your own rules   kl arch import --write{force}   (from {found.set_up})"] if found.set_up else []
    review = [f"look at the proposal     {MANIFEST}", "hold the code to it      kl arch check"] if found.layers else []
    return [
        *review,
        *own,
        f"install the git hooks    {hooks}",
        "leave a record of tests  pytest",
        "see what is known        kl status",
    ]


def _version() -> str:
    try:
        return version("kl-hooks")
    except PackageNotFoundError:
        return "(not installed)"
