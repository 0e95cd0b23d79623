"""The operation of registries: what changes too often for git, as it is at this moment.

A snapshot is a page of Markdown that people may commit. It has no date, so that a registry that did
not change is the same file; it is never read again by kl, and replaced only where it states that it
is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.errors import ForPeople, UsageProblem
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import Parameter
from kl_hooks.model.record import Record
from kl_hooks.model.text import one_line
from kl_hooks.operations.operation import Operation
from kl_hooks.workspace import require_initialized

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.workspace import Workspace

NAMES: Final = ("skills", "agents", "pools", "contexts", "collections", "kinds")
_MARK: Final = "<!-- A snapshot by kl, which replaces it: kl knowledge registry"


class SkillRow(NamedTuple):
    """A skill in force."""

    skill: Record
    uses: int
    effectiveness: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        skill = self.skill
        return {
            "name": skill.title,
            "version": skill.text("version"),
            "category": skill.text("category"),
            "description": one_line(skill.text("description"), 200),
            "path": skill.path,
            "uses": self.uses,
            "effectiveness": self.effectiveness,
        }


class AgentRow(NamedTuple):
    """An agent that a skill names, or that used one."""

    name: str
    skills: tuple[str, ...]
    """Names of those that name it."""
    uses: int
    last_used: str
    """A day; empty: never."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**self._asdict(), "skills": list(self.skills)}


class PoolRow(NamedTuple):
    """A pool that the caller may read."""

    name: str
    type: str
    scope: str
    owner: str
    is_public: bool
    version: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "name": self.name,
            "type": self.type,
            "scope": self.scope,
            "owner": self.owner,
            "public": self.is_public,
            "version": self.version,
        }


class ContextRow(NamedTuple):
    """A persistent context that the caller may read."""

    name: str
    type: str
    scope: str
    owner: str
    version: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return self._asdict()


class CollectionRow(NamedTuple):
    """A collection of documents."""

    name: str
    status: str
    strategy: str
    documents: int
    chunks: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return self._asdict()


class KindRow(NamedTuple):
    """A kind of records."""

    name: str
    purpose: str
    records: Mapping[str, int]
    """Status → how many."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return self._asdict()


Row = SkillRow | AgentRow | PoolRow | ContextRow | CollectionRow | KindRow


class RegistryRequest(NamedTuple):
    """Which registries."""

    names: Annotated[
        tuple[str, ...],
        Parameter("Which; all where none is named.", choices=NAMES, argument="[REGISTRY]..."),
    ] = ()
    snapshot: Annotated[
        str,
        Parameter(
            "Also write them as a page of Markdown, or write it anew.",
            metavar="FILE",
            is_personal=True,
        ),
    ] = ""
    """A path from the root."""


class Registries(NamedTuple):
    """What there is now, of what the caller may see."""

    registries: Mapping[str, tuple[Row, ...]]

    def plain_rows(self) -> dict[str, list[dict[str, Any]]]:
        """The rows of each registry, as JSON has them."""
        return {name: [row.to_dict() for row in rows] for name, rows in self.registries.items()}


def _list(ws: Workspace, request: RegistryRequest, access: Access) -> Registries:
    require_initialized(ws)
    if request.snapshot and access.is_agent:
        raise ForPeople("writing a snapshot is for people.", place="--snapshot")
    names = dict.fromkeys(request.names or NAMES)
    if request.snapshot:
        from kl_hooks.context.access import shared_access

        readers = shared_access(ws)
        shared = _registries(ws, names, readers).plain_rows()
        _write(ws, request.snapshot, {name: readers.plain(rows) for name, rows in shared.items()})
    return _registries(ws, names, access)


def _registries(ws: Workspace, names: Iterable[str], access: Access) -> Registries:
    return Registries({name: tuple(_ROWS[name](ws, access)) for name in names})


def _skills(ws: Workspace, access: Access) -> Sequence[SkillRow]:
    from kl_hooks.skills.library import skills_in_force
    from kl_hooks.skills.uses import effectiveness_of

    # a name of one word is not looked for in texts: what is hidden is taken out here
    skills = access.shown(skills_in_force(ws))
    effects = effectiveness_of(ws, skills)[0]
    return [
        SkillRow(skill, effects[skill.id].uses, effects[skill.id].line())
        for skill in sorted(skills, key=lambda skill: skill.title)
    ]


def _agents(ws: Workspace, access: Access) -> Sequence[AgentRow]:
    from kl_hooks.clock import iso
    from kl_hooks.skills.library import all_skills
    from kl_hooks.skills.uses import uses

    skills: dict[str, list[str]] = {}
    for skill in access.shown(all_skills(ws)):
        for agent in skill.many("agents"):
            skills.setdefault(agent, []).append(skill.title)
    by_agents = [use for use in uses(ws) if use.actor.startswith("agent:")]
    counts = Counter(use.actor.removeprefix("agent:") for use in by_agents)
    days = {use.actor.removeprefix("agent:"): iso(use.at)[:10] for use in by_agents}
    return [
        AgentRow(agent, tuple(sorted(skills.get(agent, ()))), counts[agent], days.get(agent, ""))
        for agent in sorted({*skills, *counts})
    ]


def _pools(ws: Workspace, _access: Access) -> Sequence[PoolRow]:
    from kl_hooks.tiers.entries import caller_of
    from kl_hooks.tiers.pools import list_pools

    return [
        PoolRow(pool.name, pool.type, pool.scope, pool.owner, pool.access["public"], pool.version)
        for pool in list_pools(ws, caller_of(ws))
    ]


def _contexts(ws: Workspace, _access: Access) -> Sequence[ContextRow]:
    from kl_hooks.tiers.contexts import list_contexts
    from kl_hooks.tiers.entries import caller_of, reading

    with reading(ws) as db:
        contexts = list_contexts(db, caller_of(ws))
    return [
        ContextRow(context.name, context.type, context.scope, context.owner, context.version)
        for context in contexts
    ]


def _collections(ws: Workspace, access: Access) -> Sequence[CollectionRow]:
    from kl_hooks.documents.collections import collections
    from kl_hooks.documents.indexing import indexed_documents, sync_documents, visible_documents

    sync_documents(ws)
    documents = indexed_documents(ws, visible_documents(ws, None, access))
    rows = list[CollectionRow]()
    for collection in collections(ws).values():
        chunks = [
            document.chunks for document in documents if document.collection == collection.name
        ]
        strategy = collection.chunking.strategy
        rows.append(
            CollectionRow(collection.name, collection.status, strategy, len(chunks), sum(chunks))
        )
    return rows


def _kinds(ws: Workspace, access: Access) -> Sequence[KindRow]:
    from kl_hooks.records.status_counts import records_by_status

    counts = records_by_status(ws, access.without_denied)
    return [KindRow(name, kind.purpose, counts.get(name, {})) for name, kind in ws.kinds.items()]


_ROWS: Final[Mapping[str, Callable[[Workspace, Access], Sequence[Row]]]] = {
    "skills": _skills,
    "agents": _agents,
    "pools": _pools,
    "contexts": _contexts,
    "collections": _collections,
    "kinds": _kinds,
}


def cell(value: Any) -> str:
    """A value of a row, as people read it."""
    if isinstance(value, Mapping):
        return ", ".join(f"{number} {name}" for name, number in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)


def _write(ws: Workspace, name: str, registries: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Write a snapshot. UsageProblem for a place outside the repository, and for a page that is
    none.
    """
    from kl_hooks.store.files import read_small, write_atomic
    from kl_hooks.store.redaction import redact

    # no file of kl, of git or of an agent, whose folders begin with a dot
    is_hidden = any(part.startswith(".") for part in name.split("/"))
    if not name.endswith(".md") or name.startswith("/") or is_hidden:
        raise UsageProblem(
            "is no place for a page.", place=name, hint="Such as: docs/registries.md"
        )
    before = read_small(ws.root / name, within=ws.root)
    if before is not None and not before.startswith(_MARK.encode()):
        hint = "Name another file, or remove it first."
        raise UsageProblem("is there, and is no snapshot by kl.", place=name, hint=hint)
    parts = [f"{_MARK} {' '.join(registries)} --snapshot {name} -->\n\n# Registries\n"]
    for title, rows in registries.items():
        # others read the page: what only some may see is not on it
        shared = [row for row in rows if row.get("public", True) and row.get("scope") != "agent"]
        parts.append(f"\n## {title.capitalize()}\n\n{_table(shared)}")
    (ws.root / name).parent.mkdir(parents=True, exist_ok=True)
    write_atomic(ws.root / name, redact("".join(parts)).encode("utf-8", "replace"), within=ws.root)


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return "None.\n"
    lines = [list(rows[0]), ["---"] * len(rows[0])]
    lines += [
        [one_line(cell(value), 200).replace("|", "\\|") for value in row.values()] for row in rows
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


REGISTRY: Final = Operation(
    "knowledge registry",
    """List skills in force, agents, pools, contexts, collections of documents and kinds of records,
    as they are now.

    REGISTRY is one of: skills, agents, pools, contexts, collections, kinds. All of them where none
    is named. What the caller may not see is not listed. A snapshot is for people to write; it has
    only what every reader may see.
    """,
    RegistryRequest,
    _list,
    lambda registries: {"registries": registries.plain_rows()},
    "kl.knowledge.registry/1",
    "kl knowledge registry skills agents --snapshot docs/registries.md",
    is_tool=False,
)
