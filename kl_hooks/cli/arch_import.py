"""`kl arch import`: an existing set-up of import-linter or tach as our manifest."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kl_hooks.cli.common import counted, format_option, note, say, say_json, workspace
from kl_hooks.errors import UsageProblem
from kl_hooks.model.manifest import MANIFEST
from kl_hooks.workspace.open import Workspace

if TYPE_CHECKING:
    from kl_hooks.arch.foreign.imported import Imported


@click.command("import", epilog="Example: kl arch import --write")
@click.argument("file", required=False)
@click.option("--write", is_flag=True, help=f"Write {MANIFEST}; without it the text is only printed.")
@click.option("--force", is_flag=True, help="With --write: replace the manifest that is there.")
@format_option()
def import_(file: str | None, write: bool, force: bool, shape: str) -> int:
    """Put a set-up of import-linter or tach (FILE, or the first one found) into a manifest for kl.

    Rules stay as strict as they were: what our layers can't say in full stays a contract that import-linter runs.
    What can't be translated is said, a line each.
    """
    from kl_hooks.arch.foreign.imported import imported_text
    from kl_hooks.arch.foreign.run import import_set_up

    ws = workspace()
    if force and not write:
        raise UsageProblem("--force goes with --write.", place="kl arch import")
    found = import_set_up(ws, _from_root(ws, file) if file else None)
    text = imported_text(found)
    if write:
        _write(ws, text, force)
    for line in found.left:
        note(f"not translated: {line}")
    if shape == "json":
        say_json(_plain(found, text, write))
    elif write:
        rules = f"{counted(len(found.layers), 'layer')}, {counted(len(found.contracts), 'contract')}"
        say(f"wrote {MANIFEST} from {found.origin}: {rules}. Next: kl arch check")
    else:
        say(text.rstrip("\n"))
    return 0


def _from_root(ws: Workspace, file: str) -> str:
    """A file named from the current folder, named from the root of the repository."""
    place = Path(os.path.abspath(file))  # noqa: PTH100 (which follows links)
    return place.relative_to(ws.root).as_posix() if place.is_relative_to(ws.root) else file


def _write(ws: Workspace, text: str, force: bool) -> None:
    from kl_hooks.cli.init_files import refuse_odd_home
    from kl_hooks.store.atomic import write_atomic

    refuse_odd_home(ws.root)
    target = ws.root / MANIFEST
    if (target.exists() or target.is_symlink()) and not force:
        raise UsageProblem("is there already.", place=MANIFEST, hint="Print it without --write, or add --force.")
    if target.is_symlink() or target.is_dir():
        raise UsageProblem("is not a file.", place=MANIFEST, hint="Move it away.")
    target.parent.mkdir(exist_ok=True)
    write_atomic(target, text.encode(), within=ws.root)


def _plain(found: Imported, text: str, wrote: bool) -> dict[str, object]:
    return {
        "schema": "kl.arch.import/1",
        "origin": found.origin,
        "layers": [layer.name for layer in found.layers],
        "contracts": [contract.name for contract in found.contracts],
        "not_translated": list(found.left),
        "text": text,
        "wrote": wrote,
    }
