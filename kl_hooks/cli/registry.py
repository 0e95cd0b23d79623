"""`kl knowledge registry`: what there is of what changes too often for git, asked for at this
moment.

A snapshot is a page of Markdown that people may commit. It has no date, so that a registry that did
not change is the same file; it is never read again by kl, and replaced only where it states that it
is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from kl_hooks.cli.output import (
    format_option,
    initialized_workspace,
    path_from_root,
    print_answer,
    warn,
)
from kl_hooks.cli.record_output import agent_access
from kl_hooks.clock import iso
from kl_hooks.documents.collections import collections
from kl_hooks.documents.indexing import indexed_documents, sync_documents, visible_documents
from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.provenance import agent
from kl_hooks.model.text import one_line
from kl_hooks.records.status_counts import records_by_status
from kl_hooks.skills.library import all_skills, skills_in_force
from kl_hooks.skills.uses import effectiveness_of, uses
from kl_hooks.store.files import read_small, write_atomic
from kl_hooks.store.redaction import redact
from kl_hooks.tiers.contexts import list_contexts
from kl_hooks.tiers.entries import caller_of, reading
from kl_hooks.tiers.pools import list_pools

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.workspace import Workspace

_MARK: Final = "<!-- A snapshot by kl, which replaces it: kl knowledge registry"
_Rows = list[dict[str, Any]]


@click.command(epilog="Example: kl knowledge registry skills agents --snapshot docs/registries.md")
@click.argument("names", nargs=-1, metavar="[REGISTRY...]")
@click.option(
    "--snapshot",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Also write them as a page of Markdown, or write it anew.",
)
@format_option()
def registry(names: tuple[str, ...], snapshot: Path | None, shape: str) -> None:
    """List skills in force, agents, pools, contexts, collections of documents and kinds of records,
    as they are now.

    REGISTRY is one of: skills, agents, pools, contexts, collections, kinds. All of them where none
    is named. What the caller may not see is not listed. A snapshot is for people to write; it has
    only what every reader may see.
    """
    ws = initialized_workspace()
    for name in names:
        if name not in _REGISTRIES:
            raise UsageProblem(
                "is no registry.",
                place=one_line(name, 60),
                hint=f"One of: {', '.join(_REGISTRIES)}.",
            )
    wanted = names or tuple(_REGISTRIES)
    with agent_access(ws) as may:
        found = {name: _REGISTRIES[name](ws, may) for name in wanted}
    if snapshot is not None:
        _write(ws, snapshot, found)
    lines = []
    for name, rows in found.items():
        lines += [
            f"{name}",
            *(f"  {_line(row)}" for row in rows),
            *(["  none"] if not rows else []),
        ]
    print_answer(shape, {"schema": "kl.knowledge.registry/1", "registries": found}, lines)
    if snapshot is not None and shape == "text":
        warn(f"written to {snapshot}")


def _line(row: Mapping[str, Any]) -> str:
    first, *rest = (one_line(_cell(value), 100) for value in row.values())
    return f"{first:<24} {'  '.join(one for one in rest if one)}".rstrip()


def _cell(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{number} {name}" for name, number in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _skills(ws: Workspace, may: Access) -> _Rows:
    live = [one for one in skills_in_force(ws) if may.shows(one)]
    known = effectiveness_of(ws, live)[0]
    return [
        {
            "name": one.title,
            "version": one.text("version"),
            "category": one.text("category"),
            "description": one_line(one.text("description"), 200),
            "path": one.path,
            "uses": known[one.id].uses,
            "effectiveness": known[one.id].line(),
        }
        for one in sorted(live, key=lambda one: one.title)
    ]


def _agents(ws: Workspace, may: Access) -> _Rows:
    """The agents that a skill names, or that used one."""
    has: dict[str, list[str]] = {}
    for one in all_skills(ws):
        for name in one.many("agents") if may.shows(one) else ():
            has.setdefault(name, []).append(one.title)
    every = [one for one in uses(ws) if one.actor.startswith("agent:")]
    counts = Counter(one.actor.removeprefix("agent:") for one in every)
    last = {one.actor.removeprefix("agent:"): iso(one.at)[:10] for one in every}
    return [
        {
            "name": name,
            "skills": sorted(has.get(name, ())),
            "uses": counts[name],
            "last_used": last.get(name, ""),
        }
        for name in sorted({*has, *counts})
    ]


def _pools(ws: Workspace, may: Access) -> _Rows:
    return [
        {
            "name": one.name,
            "type": one.type,
            "scope": one.scope,
            "owner": one.owner,
            "public": one.public,
            "version": one.version,
        }
        for one in list_pools(ws, caller_of(ws))
    ]


def _contexts(ws: Workspace, may: Access) -> _Rows:
    with reading(ws) as db:
        found = list_contexts(db, caller_of(ws))
    return [
        {
            "name": one.name,
            "type": one.type,
            "scope": one.scope,
            "owner": one.owner,
            "version": one.version,
        }
        for one in found
    ]


def _collections(ws: Workspace, may: Access) -> _Rows:
    sync_documents(ws)
    documents = indexed_documents(ws, visible_documents(ws, None, may))
    return [
        {
            "name": one.name,
            "status": one.status,
            "strategy": one.chunking.strategy,
            "documents": sum(some.collection == one.name for some in documents),
            "chunks": sum(some.chunks for some in documents if some.collection == one.name),
        }
        for one in collections(ws).values()
    ]


def _kinds(ws: Workspace, may: Access) -> _Rows:
    counts = records_by_status(ws, may.without_denied)
    return [
        {"name": name, "purpose": kind.purpose, "records": counts.get(name, {})}
        for name, kind in ws.kinds.items()
    ]


_REGISTRIES: Final[Mapping[str, Callable[[Workspace, Access], _Rows]]] = {
    "skills": _skills,
    "agents": _agents,
    "pools": _pools,
    "contexts": _contexts,
    "collections": _collections,
    "kinds": _kinds,
}


def _write(ws: Workspace, path: Path, found: Mapping[str, _Rows]) -> None:
    """Write a snapshot. UsageProblem for an agent, for a place outside the repository, and for a
    page that is none.
    """
    if who := agent(ws.environ):
        raise UsageProblem(
            f"writing a snapshot is for people, and this is {who}.", place="--snapshot"
        )
    name = path_from_root(ws.root, str(path))
    # no file of kl, of git or of an agent, whose folders begin with a dot
    if (
        not name.endswith(".md")
        or name.startswith("/")
        or any(part.startswith(".") for part in name.split("/"))
    ):
        raise UsageProblem(
            "is no place for a page.", place=name, hint="Such as: docs/registries.md"
        )
    before = read_small(ws.root / name, within=ws.root)
    if before is not None and not before.startswith(_MARK.encode()):
        hint = "Name another file, or remove it first."
        raise UsageProblem("is there, and is no snapshot by kl.", place=name, hint=hint)
    parts = [f"{_MARK} {' '.join(found)} --snapshot {name} -->\n\n# Registries\n"]
    for title, every in found.items():
        # others read the page: what only some may see is not on it
        rows = [one for one in every if one.get("public", True) and one.get("scope") != "agent"]
        parts.append(f"\n## {title.capitalize()}\n\n{_table(rows)}")
    (ws.root / name).parent.mkdir(parents=True, exist_ok=True)
    write_atomic(ws.root / name, redact("".join(parts)).encode("utf-8", "replace"), within=ws.root)


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return "None.\n"
    cells = [list(rows[0]), ["---"] * len(rows[0])]
    cells += [
        [one_line(_cell(value), 200).replace("|", "\\|") for value in row.values()] for row in rows
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in cells)
