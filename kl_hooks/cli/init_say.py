"""What `kl init` says: what it found, what it wrote, what comes next."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from kl_hooks.cli.common import counted, say
from kl_hooks.cli.init_plan import Found
from kl_hooks.cli.init_precommit import CONFIG, STAGES, snippet
from kl_hooks.model.manifest import BASELINE, MANIFEST
from kl_hooks.workspace.open import Workspace


def plain_of(found: Found) -> dict[str, object]:
    """`kl.init/1`."""
    return {
        "schema": "kl.init/1",
        "found": [list(row) for row in found.found],
        "wrote": sorted(found.plan.create),
        "added_to": sorted(found.plan.append),
        "kept": found.kept,
        "layers": found.layers,
        "accepted": found.accepted,
        "seeds": found.seeds,
        "seeded": found.seeded,
        "snippet": snippet() if found.snippet else None,
        "next": _steps(found),
    }


def say_found(ws: Workspace, found: Found) -> None:
    """What was found and done, for a person."""
    say(f"kl {_version()} - knowledge layer for this repository\n")
    for row in found.found:
        say("  found   " + "  ".join(f"{word:<14}" for word in row).rstrip())
    if not found.layers:
        say("  found   no python package: no layers to propose")
    say()
    for path in found.plan.create:
        about = {
            MANIFEST: f"{counted(found.layers, 'layer')}, proposed from your imports   [review this]",
            BASELINE: f"{counted(found.accepted, 'import')} against these layers accepted; only new ones block",
        }.get(path, "")
        say(f"  wrote   {path:<24} {about}".rstrip())
    for path, text in found.plan.append.items():
        lines = text.count(b"\n")
        say(f"  added   {path:<24} +{counted(lines, 'line')}")
    for path in found.kept:
        say(f"  kept    {path}")
    if found.seeded:
        say(f"  seeded  {counted(len(found.seeded), 'record')} in .kl/knowledge/   [review them]")
    say(f"  store   {ws.state.directory}   private to this clone\n")
    if found.snippet:
        say(f"  To check commits, add this to the list `repos` of {CONFIG}")
        say("  (kl init --yes appends it where it can):\n")
        say(snippet(4) + f"\n  and at the top of it:  {STAGES}")
    for number, step in enumerate(_steps(found), 1):
        say(f"  {'next' if number == 1 else '    '}    {number}. {step}")
    say("Nothing was committed. Undo with: kl init --undo")


def _steps(found: Found) -> list[str]:
    if found.uninstalled:
        return [
            *([f"review the proposal      {MANIFEST}"] if MANIFEST in found.plan.create else []),
            "check the code against it git add .kl && pre-commit run kl-check",
            "install the git hooks    pre-commit install",
        ]
    pre_commit = any(row[0] == "pre-commit" for row in found.found)
    hooks = "pre-commit install" if pre_commit else "kl hooks install"
    force = " --force" if MANIFEST in found.plan.create else ""
    own = [f"or keep your own rules   kl arch import --write{force}   (from {found.set_up})"] if found.set_up else []
    look = [f"look at the proposal     {MANIFEST}"] if MANIFEST in found.plan.create else []
    review = [*look, "hold the code to it      kl arch check"] if found.layers else []
    seeds = [f"seed from your documents kl seed   ({counted(found.seeds, 'record')})"] if found.seeds else []
    return [
        *review,
        *own,
        *(seeds if not found.seeded else []),
        *([] if found.hooked else [f"install the git hooks    {hooks}"]),
        "leave a record of tests  pytest",
        "see what is known        kl status",
    ]


def _version() -> str:
    try:
        return version("kl-hooks")
    except PackageNotFoundError:
        return "(not installed)"
