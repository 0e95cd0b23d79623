"""`kl knowledge import`: records of any kind from JSON or YAML, ours or another tool's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kl_hooks.cli.common import format_option, note, say, say_json, workspace
from kl_hooks.model.kind import Kind
from kl_hooks.workspace.open import Workspace


@click.command("import", epilog="Example: kl knowledge import --kind objective .fuseraft/knowledge/objectives/*.yaml")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option("--kind", "name", required=True, help="The kind of the records, such as objective.")
@format_option()
def import_(files: tuple[Path, ...], name: str, shape: str) -> None:
    """Take in records from JSON or YAML FILES, one or a list in each. Fields are known by every name that a kind has
    for them.

    An id is kept where it fits and is free; one that is there already is passed over. What no field bears goes into the
    body. If anything is wrong in one of the files, nothing is taken in.

    Three kinds have an import of their own: kl decision import, kl memory import, kl finding import.
    """
    from kl_hooks.cli.kind_new import signed
    from kl_hooks.config.problems import Problems
    from kl_hooks.records.interchange import parse_records, plan_import
    from kl_hooks.records.write import create_records, require_setup

    ws = workspace()
    require_setup(ws)
    kind = _kind(ws, name)
    found, problems = [], []
    for path in files:
        given, wrong = parse_records(kind, str(path), _bytes(path))
        found += given
        problems += wrong
    if problems:
        raise Problems(problems)

    def sign(values: dict[str, Any]) -> str:
        return signed(ws, values)

    some = plan_import(ws, kind, found, sign)
    asked, bodies = [one.id for one in some.new], [one.body for one in some.new]
    raws = [one.raw for one in some.new]
    made = create_records(ws, kind, raws, asked=asked, body=bodies, by=some.by) if raws else []
    if shape == "json":
        say_json(
            {"schema": "kl.knowledge.import/1", "made": [one.id for one in made], "there_already": list(some.passed)}
        )
        return
    for one in made:
        say(f"{one.id}  {one.status}  {one.title}" + (f"\n    {one.path}" if one.path else ""))
    if some.passed:
        note(f"there already, and passed over: {', '.join(some.passed[:20])}")


def _kind(ws: Workspace, name: str) -> Kind:
    from kl_hooks.cli.kind_verbs import EXTRA
    from kl_hooks.cli.knowledge_list import refuse_unknown
    from kl_hooks.errors import UsageProblem

    refuse_unknown((name,))
    if "import" in EXTRA.get(name, {}):
        raise UsageProblem("has an import of its own.", place=name, hint=f"Use: kl {name} import FILE…")
    return ws.kinds[name]


def _bytes(path: Path) -> bytes:
    from kl_hooks.config.files import read_small
    from kl_hooks.errors import UsageProblem

    data = read_small(path, most=16 * 1024 * 1024)
    if data is None:
        raise UsageProblem("is not there.", place=str(path), hint="Give a file of JSON or YAML.")
    return data
