"""`kl knowledge check`: the gate for what is written."""

from __future__ import annotations

import os
from pathlib import Path

import click

from kl_hooks.cli.common import broken_kinds_are_told, counted, format_option, note, say, say_json, workspace
from kl_hooks.errors import CLEAN, FOUND, WRONG_USE


@click.command(epilog="Example: kl knowledge check --staged")
@click.argument("files", nargs=-1)
@click.option("--staged", is_flag=True, help="Judge what is staged, not what is on disk.")
@format_option()
def check(files: tuple[str, ...], staged: bool, shape: str) -> int:
    """Check that authored files are valid, ids belong to one file each, and links and chains lead somewhere.

    All files are read; of FILES alone, if any are named, findings are told. Exit 1: findings; 2: a file that can't be
    read.
    """
    from kl_hooks.records.knowledge_check import check_knowledge as run

    ws = workspace()
    broken_kinds_are_told()
    found = run(ws, [_from_root(ws.root, one) for one in files], staged=staged)
    if shape == "json":
        told = {name: [one._asdict() for one in getattr(found, name)] for name in ("findings", "unread", "remarks")}
        say_json({"schema": "kl.knowledge.check/1", "files": found.files, "links": found.links, "staged": staged, **told})
    else:
        for problem in [*found.unread, *found.findings]:
            say(str(problem))
        for problem in found.remarks:
            note(str(problem))
        total = len(found.findings) + len(found.unread)
        checked = f"{counted(found.files, 'file')}, {counted(found.links, 'link')}"
        say(f"{counted(total, 'finding')} in {checked}." if total else f"clean: {checked}.")
    return WRONG_USE if found.unread else FOUND if found.findings else CLEAN


def _from_root(root: Path, name: str) -> str:
    full = Path(os.path.abspath(name))  # noqa: PTH100 (which follows links)
    return full.relative_to(root).as_posix() if full.is_relative_to(root) else name
