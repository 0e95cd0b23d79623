"""`kl memory import`: memories of other tools come in as candidates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kl_hooks.cli.common import format_option, note, say, say_json, workspace

LARGEST = 64 * 1024 * 1024


@click.command("import", epilog="Example: kl memory import .fuseraft/knowledge/repository/*.json")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@format_option()
def import_(files: tuple[Path, ...], shape: str) -> None:
    """Take in memories that fuseraft or agor wrote as JSON: an entry, or a list of them, in each file.

    They come in as candidates, also what was approved elsewhere; what was rejected is rejected here. If anything is
    wrong in one of the files, nothing is taken in.
    """
    from kl_hooks.cli.memory_after import listed
    from kl_hooks.config.problems import Problems
    from kl_hooks.kinds.memory.bringing import bring_in
    from kl_hooks.kinds.memory.foreign import read
    from kl_hooks.records.write import require_setup

    ws = workspace()
    require_setup(ws)
    pairs = [read(_json(path), str(path)) for path in files]
    if problems := [problem for _, wrong in pairs for problem in wrong]:
        raise Problems(problems)
    taken = bring_in(ws, [one for found, _ in pairs for one in found], files[0].name)
    if shape == "json":
        say_json({"schema": "kl.memory.import/1", "new": list(taken.new), "reinforced": list(taken.reinforced)})
    else:
        say(f"{len(taken.new)} taken in, {len(taken.reinforced)} seen again")
    if taken.new:
        note("review them with: kl memory review")
    listed()


def _json(path: Path) -> Any:
    """What a file holds. UsageProblem for one that can't be read, or is no JSON."""
    import json

    from kl_hooks.errors import UsageProblem

    try:
        if path.stat().st_size > LARGEST:
            raise UsageProblem(f"is larger than {LARGEST >> 20} MB.", place=str(path))
        return json.loads(path.read_bytes())
    except OSError as problem:
        raise UsageProblem(f"can't be read: {problem.strerror}.", place=str(path)) from problem
    except (ValueError, RecursionError) as problem:
        raise UsageProblem(f"is no JSON: {problem}", place=str(path)) from None
