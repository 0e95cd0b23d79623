"""`kl knowledge add`: what a document says, as records."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kl_hooks.cli.common import format_option, note, workspace
from kl_hooks.cli.seed import show_steps
from kl_hooks.errors import UsageProblem

if TYPE_CHECKING:
    from kl_hooks.records.seed.seed import Seed
    from kl_hooks.workspace.open import Workspace

TYPES = ("feature-spec", "project-overview", "project-doc")
MOST = 1000


@click.command(epilog="Example: kl knowledge add docs/features --type feature-spec")
@click.argument("path", type=click.Path())
@click.option("--type", "sort", type=click.Choice(TYPES), help="What it is; else its name says it.")
@click.option("--pattern", default="**/*.md", show_default=True, help="Of a folder: these files.")
@click.option("--force", is_flag=True, help="Write over what was edited or deleted by hand, too.")
@click.option("--dry-run", is_flag=True, help="Show what would be done; write nothing.")
@format_option()
def add(path: str, sort: str | None, pattern: str, force: bool, dry_run: bool, shape: str) -> None:
    """Make records of what the document at PATH says, or every document in a folder.

    feature-spec: a feature. project-overview: facts and guides, as of a README. project-doc: rules and guides, as of
    AGENTS.md. Doing it again changes only what changed. Decisions come in with: kl decision import
    """
    from kl_hooks.records.seed.sow import planned, sow

    ws = workspace()
    files = list(_files(Path(path), pattern))
    seeds = [seed for file in files for seed in _seeds(ws, file, sort)]
    read = {_named(ws, file) for file in files}
    unique = list({seed.key: seed for seed in reversed(seeds)}.values())[::-1]
    if dry_run:
        done = planned(ws, unique, force=force, paths=read)
    else:
        done = sow(ws, unique, f"add:{path}", force=force, paths=read)
    show_steps(done, "documents", dry_run, shape)


def _files(path: Path, pattern: str) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    if ".." in Path(pattern).parts or Path(pattern).is_absolute():
        raise UsageProblem("must stay inside the folder.", place="--pattern", hint="Such as **/*.md")
    found = [one for one in islice(path.glob(pattern), MOST * 20) if one.is_file() and not one.is_symlink()]
    if len(found) > MOST:
        raise UsageProblem(
            f"{len(found)} documents; at most {MOST} are read.", place=str(path), hint="Narrow --pattern."
        )
    yield from sorted(found)


def _named(ws: Workspace, file: Path) -> str:
    """The path from the root, or the name alone of a file outside."""
    real = file.resolve()
    return real.relative_to(ws.root).as_posix() if real.is_relative_to(ws.root) else file.name


def _seeds(ws: Workspace, file: Path, sort: str | None) -> list[Seed]:
    from kl_hooks.config.files import read_small
    from kl_hooks.kinds.seeds.added import seeds_in, type_of
    from kl_hooks.kinds.seeds.gather import MOST_BYTES, project_of

    data = read_small(file, most=MOST_BYTES)
    if data is None:
        raise UsageProblem("there is no such file.", place=str(file))
    name = _named(ws, file)
    kind = sort or type_of(name)
    if len(data) > MOST_BYTES:
        note(f"{name}: longer than {MOST_BYTES} bytes; left out.")
        return []
    if not kind:
        note(f"{name}: its name does not say what it is; left out. Give --type, or link to it from a record.")
        return []
    found = seeds_in(project_of(ws.root), name, data.decode("utf-8-sig", "replace"), kind)
    if not found:
        note(
            f"{name}: holds nothing of a {kind}" + (": no id such as FEAT-AUTH-12." if kind == "feature-spec" else ".")
        )
    return found
