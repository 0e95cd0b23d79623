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
    from kl_hooks.records.seeding import Seed, Step
    from kl_hooks.workspace.open import Workspace

TYPES = ("adr", "feature-spec", "project-overview", "project-doc")
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

    adr: a decision, as `kl decision import` reads it. feature-spec: a feature. project-overview: facts and guides, as
    of a README. project-doc: rules and guides, as of AGENTS.md. Without --type, the ID in the front matter, the name,
    the title or the sections of a file say it. Doing it again changes only what changed.
    """
    from kl_hooks.records.seeding import plan_seeding, seed_records

    ws = workspace()
    files = list(_files(Path(path), pattern))
    sorts = {file: sort or _sort_of(ws, file) for file in files}
    seeds = [seed for file in files if sorts[file] != "adr" for seed in _seeds(ws, file, sorts[file])]
    read = {_named(ws, file) for file in files}
    unique = list({seed.key: seed for seed in reversed(seeds)}.values())[::-1]
    if dry_run:
        done = plan_seeding(ws, unique, force=force, paths=read)
    else:
        done = seed_records(ws, unique, f"add:{path}", force=force, paths=read)
    decisions = [file for file in files if sorts[file] == "adr"]
    show_steps([*done, *_decisions(ws, decisions, dry_run)], "documents", dry_run, shape)


def _decisions(ws: Workspace, files: list[Path], dry_run: bool) -> list[Step]:
    """What is done with the decisions in these files, as steps."""
    from kl_hooks.evidence.who import agent
    from kl_hooks.kinds.decision.importer import import_decisions
    from kl_hooks.records.query import get_records
    from kl_hooks.records.seeding import Seed, Step
    from kl_hooks.records.sync import sync

    if not files:
        return []
    done = import_decisions(ws, files, dry_run=dry_run, agent=agent(ws.environ) or "")
    for remark in done.remarks:
        note(remark)
    sync(ws)
    there = {one.id: one for one in get_records(ws, [i for i, *_ in (*done.made, *done.known)])}
    made = [Step("created", Seed("decision", i, {"title": t}, path, ""), "", there.get(i)) for i, t, path in done.made]
    known = [
        Step("skipped", Seed("decision", i, {"title": there[i].title}, path, ""), "is here already", there[i])
        for i, path in done.known
        if i in there
    ]
    return [*made, *known]


def _sort_of(ws: Workspace, file: Path) -> str:
    """What a document is, by its name and what it says; empty where neither tells."""
    from kl_hooks.config.files import read_small
    from kl_hooks.kinds.seeds import MAX_DOCUMENT_BYTES, document_type

    data = read_small(file, most=MAX_DOCUMENT_BYTES) or b""
    return document_type(_named(ws, file), data.decode("utf-8-sig", "replace"))


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


def _seeds(ws: Workspace, file: Path, sort: str) -> list[Seed]:
    from kl_hooks.config.files import read_small
    from kl_hooks.kinds.seeds import MAX_DOCUMENT_BYTES, project_id_of, seeds_of_document

    data = read_small(file, most=MAX_DOCUMENT_BYTES)
    if data is None:
        raise UsageProblem("there is no such file.", place=str(file))
    name = _named(ws, file)
    kind = sort
    if len(data) > MAX_DOCUMENT_BYTES:
        note(f"{name}: longer than {MAX_DOCUMENT_BYTES} bytes; left out.")
        return []
    if not kind:
        note(f"{name}: nothing in it says what it is; left out. Give --type, or link to it from a record.")
        return []
    found = seeds_of_document(project_id_of(ws.root), name, data.decode("utf-8-sig", "replace"), kind)
    if not found:
        note(
            f"{name}: holds nothing of a {kind}" + (": no id such as FEAT-AUTH-12." if kind == "feature-spec" else ".")
        )
    return found
