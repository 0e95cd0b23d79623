"""The neighborhood of nodes: symbols, records, files and passages, over links and mentions, and its
communities.

Links of code, records and pages are stored. Mentions are not (ADR-0034): which symbol a name in a
passage means changes with the code, so they are looked up by name, from either end, when somebody
asks.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.code.query.lookup import Unknown, resolve_text, symbols_by_id
from kl_hooks.code.query.session import SYMBOL_KINDS
from kl_hooks.documents.collections import REPOSITORY
from kl_hooks.documents.indexing import Chunk, load_chunks, sync_documents, visible_documents
from kl_hooks.documents.mentions import symbols_named
from kl_hooks.graph import links
from kl_hooks.graph.algorithms import communities
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.symbol import RECORD_ID, Link, split_id
from kl_hooks.model.text import counted
from kl_hooks.records.agent_files import agent_files
from kl_hooks.records.document import skill_node
from kl_hooks.records.liveness import filter_live
from kl_hooks.records.query import RecordFilter, get_records, list_records
from kl_hooks.records.validate import node_in
from kl_hooks.store.database import chunks, placeholders

if TYPE_CHECKING:
    from kl_hooks.code.query.session import Graph
    from kl_hooks.documents.indexing import Visibility
    from kl_hooks.model.record import Record
    from kl_hooks.model.symbol import Symbol
    from kl_hooks.records.agent_files import AgentFile
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

MENTIONS: Final = "mentions"
PART_OF: Final = "is part of"
_FOLLOWS: Final = "follows"
BY_NAME: Final = "name"
"""How mentions are found: a text names it."""
_STRENGTHS: Final = {MENTIONS: 1.0, _FOLLOWS: 0.4, PART_OF: 0.3, "defines": 0.4, "imports": 0.2}
"""How strongly a relation links its ends; every other one does fully."""
_HUB: Final = 60
"""Files with a link from or to a node from which it is not followed: what everything uses relates
nothing.
"""
_MOST_NEAR: Final = 30
"""Links of one node that are followed."""
_MOST_NODES: Final = 400
_MOST_LISTED: Final = 1000
_COMMON: Final = 12
"""Passages that a name may be in and still relate them."""
_PASSAGE: Final = lazy_pattern(
    r"(?P<file>file:)?(?P<document>.+)#L(?P<first>[0-9]+)-L(?P<last>[0-9]+)"
)
_TERM: Final = "term:"
"""A name that passages have and that is no symbol: an option, a setting, a command."""
_SKILL: Final = "skill:"
_AGENT: Final = "agent:"
_BELONGS_TO: Final = "belongs_to"
_ROUNDS: Final = 12
_STAY: Final = 0.4
"""Share of its weight that a node does not hand on to its neighbors."""
_SMALLEST: Final = 3
_MOST_COMMUNITIES: Final = 10
_SHOWN_NAMES: Final = 10
_SHOWN_RELATIONS: Final = 3


_PASSAGES: Final = """SELECT c.id, c.document, c.place, c.heading, c.first_line, c.last_line,
        f.collection
    FROM document_chunks c JOIN document_files f ON f.document = c.document"""


class Passage(NamedTuple):
    """A passage, as a node."""

    number: int
    document: str
    place: int
    heading: tuple[str, ...]
    first: int
    last: int
    is_file: bool

    @property
    def node(self) -> str:
        """Its ID in the graph: that of `retrieval.passage_id`."""
        return f"{'file:' if self.is_file else ''}{self.document}#L{self.first}-L{self.last}"

    @property
    def whole(self) -> str:
        """The node of its document."""
        if self.is_file:
            return f"file:{self.document}"
        return self.document


class Community(NamedTuple):
    """Nodes that are linked more among each other than with the rest."""

    members: tuple[str, ...]
    """The one with the most weight first."""
    relations: Mapping[str, int]
    """Relation → links of it inside, most first."""
    seeds: int
    """Members that the query itself found."""

    def summary(self, names: Callable[[str], str]) -> str:
        """One line, made without a model: the first members by name, what there is, and the top
        relations.
        """
        first, *others = [names(member) for member in self.members[: _SHOWN_NAMES + 1]]
        kinds = Counter(_kind_of_node(member) for member in self.members)
        there = ", ".join(counted(number, kind) for kind, number in kinds.most_common())
        top = ", ".join(
            f"{name} {number}" for name, number in [*self.relations.items()][:_SHOWN_RELATIONS]
        )
        return f"{first} ({there}; {top}): {', '.join(others)}"


def _kind_of_node(node: str) -> str:
    """The kind of a node: `passage`, `file`, `record`, `term`, or that of its symbol."""
    if _PASSAGE.fullmatch(node):
        return "passage"
    if node.startswith(_TERM):
        return "term"
    if node.startswith((_SKILL, _AGENT)):
        return node.partition(":")[0]
    prefix, name = split_id(node)
    if prefix == "adr" or (not prefix and RECORD_ID.fullmatch(name)):
        return "record"
    return prefix or "record"


class Neighborhood(NamedTuple):
    """Nodes within some links of others."""

    levels: Mapping[str, int]
    """Node → links to the nearest of those that it was asked for; 0: one of these."""
    links: tuple[Link, ...]
    """Between them, each once."""
    cut: bool
    """More was there than is followed."""

    def weights(self, seeds: Mapping[str, float]) -> dict[str, float]:
        """Node → 0 to 1: how much of the seeds' weight it gets from its neighbors (a random walk
        with restarts).
        """
        near = defaultdict[str, dict[str, float]](dict)
        for (source, neighbor), weight in self._strengths().items():
            near[source][neighbor] = near[neighbor][source] = weight
        sums = {node: sum(some.values()) for node, some in near.items()}
        total = sum(seeds.get(node, 0.0) for node in self.levels) or 1.0
        start = {node: seeds.get(node, 0.0) / total for node in self.levels}
        now = start
        for _ in range(_ROUNDS):
            following = {node: _STAY * weight for node, weight in start.items()}
            for node, weight in now.items():
                for neighbor, strength in near[node].items():
                    following[neighbor] += (1 - _STAY) * weight * strength / sums[node]
            now = following
        best = max(now.values(), default=1.0) or 1.0
        return {node: weight / best for node, weight in now.items()}

    def _strengths(self) -> dict[tuple[str, str], float]:
        strengths: dict[tuple[str, str], float] = {}
        for link in self.links:
            ends = (min(link.source, link.target), max(link.source, link.target))
            strengths[ends] = max(strengths.get(ends, 0.0), _STRENGTHS.get(link.relation, 1.0))
        return strengths

    def communities(self, weights: Mapping[str, float], seeds: Collection[str]) -> list[Community]:
        """Its communities with at least three members, that with the most weight first."""
        order = sorted(self.levels, key=lambda node: (-weights.get(node, 0.0), node))
        found_communities = []
        for members in communities(order, self._strengths()):
            inside = set(members)
            relations = Counter(
                link.relation
                for link in self.links
                if link.source in inside and link.target in inside
            )
            if len(members) >= _SMALLEST:
                most = dict(sorted(relations.items(), key=lambda pair: (-pair[1], pair[0])))
                found_communities.append(Community(tuple(members), most, len(inside & set(seeds))))
        found_communities.sort(
            key=lambda community: (
                -sum(weights.get(node, 0.0) for node in community.members),
                community.members,
            )
        )
        return found_communities[:_MOST_COMMUNITIES]


class Scope(NamedTuple):
    """What whoever asks may be shown."""

    ws: Workspace
    documents: Mapping[str, str]
    """Documents whose passages may be found."""
    may: Visibility | None = None

    def look_up(
        self, db: Database, nodes: Sequence[str]
    ) -> dict[str, Chunk | Record | Symbol | None]:
        """Nodes → what they are, of those that may be shown; None: a file, a test, a term."""
        may = self.may
        numbers = {
            node: passage.number
            for node, passage in _Reader(db, self.documents).by_node(nodes).items()
        }
        chunks = {chunk.id: chunk for chunk in load_chunks(self.ws, list(numbers.values()))}
        values: dict[str, Chunk | Record | Symbol | None] = {
            node: chunks[number] for node, number in numbers.items() if number in chunks
        }
        kinds = {node: _kind_of_node(node) for node in nodes}
        ids = {node.removeprefix("adr:"): node for node, kind in kinds.items() if kind == "record"}
        live, _ = filter_live(self.ws, get_records(self.ws, sorted(ids)), RecordFilter())
        values |= {
            ids[record.id]: record if record.kind != "document" else None
            for record in live
            if (may is None or may.shows(record))
            and (record.kind != "document" or record.id in self.documents)
        }
        if "skill" in kinds.values():
            skills = self.skills()
            values |= {node: skills[node] for node in nodes if node in skills}
        symbols = symbols_by_id(
            db, [node for node, kind in kinds.items() if kind in (*SYMBOL_KINDS, "test")]
        )
        values |= {
            node: symbol if kinds[node] != "test" else None
            for node, symbol in symbols.items()
            if may is None or may.shows_node(symbol.id, "symbol", symbol.path)
        }
        return values | dict.fromkeys(
            node
            for node, kind in kinds.items()
            if kind in ("term", "agent") or self._shows(node, kind)
        )

    def skills(self) -> dict[str, Record]:
        """Node → the skill, of those in force that may be shown."""
        kinds = tuple(kind.name for kind in self.ws.kinds.values() if kind.folders)
        live, _ = filter_live(self.ws, list_records(self.ws, RecordFilter(kinds)), RecordFilter())
        return {
            skill_node(record.title): record
            for record in live
            if self.may is None or self.may.shows(record)
        }

    def agents(self) -> dict[str, AgentFile]:
        """Node → the agent, of those that files define and that may be shown."""
        files = agent_files(self.ws.root)
        return {file.node: file for file in files if self._shows(f"file:{file.path}", "file")}

    def agent_links(self) -> list[Link]:
        """From each of these agents to its file, and from the skills that it is given."""
        links_of_agents = []
        for agent in self.agents().values():
            path = agent.path
            links_of_agents.append(Link(agent.node, PART_OF, f"file:{path}", path, 1))
            links_of_agents += [
                Link(skill, _BELONGS_TO, agent.node, path, agent.skills_line)
                for skill in agent.skills
            ]
        return links_of_agents

    def _shows(self, node: str, kind: str) -> bool:
        path = split_id(node)[1].partition("#")[0]
        kinds = ("file", "page")
        return kind == "file" and (
            self.may is None or all(self.may.shows_node(f"file:{path}", one, path) for one in kinds)
        )


def neighborhood(
    db: Database,
    starts: Collection[str],
    depth: int,
    scope: Scope,
    *,
    relations: Collection[str] = (),
    most: int = _MOST_NODES,
) -> Neighborhood:
    """What is at most `depth` links from `starts`, in either direction; nearer first, the same
    every time.

    Nothing is reached by way of what may not be shown. `relations`: only these (none: all).
    """
    reader = _Reader(db, scope.documents)
    agent_links = scope.agent_links()
    levels = dict.fromkeys(sorted(starts), 0)
    links_found: dict[tuple[str, str, str], Link] = {}
    front = list(levels)
    cut = False
    for level in range(1, depth + 1):
        near = reader.near(front, hubs=level == 1)
        for link in agent_links:
            for end in (link.source, link.target):
                if end in levels:
                    near.setdefault(end, []).append(link)
        following: dict[str, None] = {}
        for node in front:
            node_links = [
                link for link in near.get(node, ()) if not relations or link.relation in relations
            ]
            node_links.sort(
                key=lambda link: (
                    -_STRENGTHS.get(link.relation, 1.0),
                    link.relation,
                    link.source,
                    link.target,
                )
            )
            cut = cut or len(node_links) > _MOST_NEAR
            for link in node_links[:_MOST_NEAR]:
                links_found.setdefault((link.source, link.relation, link.target), link)
                following |= dict.fromkeys(
                    end for end in (link.source, link.target) if end not in levels
                )
        fresh = list(following)
        shown = scope.look_up(db, fresh)
        fresh = [link for link in fresh if link in shown]
        cut = cut or len(levels) + len(fresh) > most
        front = fresh[: max(0, most - len(levels))]
        levels |= dict.fromkeys(front, level)
    return Neighborhood(
        levels,
        tuple(link for link in links_found.values() if {link.source, link.target} <= levels.keys()),
        cut,
    )


def mentioning(ws: Workspace, db: Database, node: str, may: Visibility | None = None) -> list[Link]:
    """The passages that name a symbol or record, of those that may be shown: links `mentions` with
    their lines.
    """
    sync_documents(ws)
    links_by_node = _Reader(db, visible_documents(ws, None, may)).named_by([node], most=1 << 30)
    return sorted(links_by_node.get(node, []), key=lambda link: (link.path, link.line))


def mentioned(
    ws: Workspace, db: Database, may: Visibility | None = None
) -> Callable[[Sequence[str]], Mapping[str, Sequence[Link]]]:
    """Nodes of documents → the symbols and records that their passages name, as links from the
    documents.
    """
    sync_documents(ws)
    reader = _Reader(db, visible_documents(ws, None, may))

    def look_up(nodes: Sequence[str]) -> dict[str, list[Link]]:
        links_by_document = defaultdict[str, list[Link]](list)
        for passage in reader.passages_of(nodes):
            links_by_document[passage.whole] += [
                link._replace(source=passage.whole)
                for link in reader.names_in([passage]).get(passage.node, ())
            ]
        return links_by_document

    return look_up


class _Reader:
    """Looks up what is next to nodes."""

    def __init__(self, db: Database, documents: Collection[str]) -> None:
        self._db, self._documents = db, documents

    def near(self, nodes: Sequence[str], *, hubs: bool) -> dict[str, list[Link]]:
        """Node → the links from it and to it.

        `hubs`: also of nodes that very many files link with.
        """
        links_by_node = defaultdict[str, list[Link]](list)
        passages = self.by_node(nodes)
        others = [other for other in nodes if other not in passages and not other.startswith(_TERM)]
        if not hubs:
            owners = links.owners_of_ends(self._db, others)
            followed = [other for other in others if len(owners.get(other, ())) <= _HUB]
        else:
            followed = others
        for incoming in (False, True):
            for batch in chunks(followed):
                for node, near in links.of_many(self._db, batch, incoming=incoming).items():
                    links_by_node[node] += [
                        link for link in near if not link.target.startswith("name:")
                    ]
        for part in (
            self._files(others),
            self.named_by(nodes),
            self._around(list(passages.values())),
        ):
            for node, near in part.items():
                links_by_node[node] += near
        for passage in self.passages_of(others):
            links_by_node[passage.whole].append(_part(passage))
        for node, near in self.names_in(list(passages.values())).items():
            links_by_node[node] += near
        return links_by_node

    def by_node(self, nodes: Iterable[str]) -> dict[str, Passage]:
        """Node → its passage, of those that are one."""
        asked = {node: match for node in nodes if (match := _PASSAGE.fullmatch(node))}
        passage_by_node = {
            passage.node: passage
            for passage in self._passages({match["document"] for match in asked.values()})
        }
        return {node: passage_by_node[node] for node in asked if node in passage_by_node}

    def passages_of(self, nodes: Iterable[str]) -> list[Passage]:
        """The passages of these documents."""
        names = {split_id(node)[1] if node.startswith("file:") else node for node in nodes}
        return self._passages(names)

    def _passages(self, names: Collection[str]) -> list[Passage]:
        passages = []
        for batch in chunks(sorted(name for name in names if name in self._documents)):
            sql = (
                f"{_PASSAGES} WHERE c.document IN ({placeholders(batch)}) ORDER BY c.document,"
                " c.place"
            )
            passages += [_passage(row) for row in self._db.rows(sql, batch)]
        return passages

    def _by_number(self, numbers: Iterable[int]) -> dict[int, Passage]:
        passages: dict[int, Passage] = {}
        for batch in chunks(sorted(set(numbers))):
            sql = f"{_PASSAGES} WHERE c.id IN ({placeholders(batch)})"
            passages |= {
                row[0]: _passage(row)
                for row in self._db.rows(sql, batch)
                if row[1] in self._documents
            }
        return passages

    def _files(self, nodes: Sequence[str]) -> dict[str, list[Link]]:
        """Between a source file and its module: records name the one, code the other."""
        links_by_node = defaultdict[str, list[Link]](list)
        for column, prefix in (("path", "file:"), ("module", "namespace:")):
            asked = [node.removeprefix(prefix) for node in nodes if node.startswith(prefix)]
            for batch in chunks(asked):
                sql = f"SELECT path, module FROM files WHERE {column} IN ({placeholders(batch)})"
                for path, module in self._db.rows(sql, batch):
                    link = Link(f"namespace:{module}", PART_OF, f"file:{path}", path)
                    links_by_node[link.target if prefix == "file:" else link.source].append(link)
        return links_by_node

    def _around(self, passages: Sequence[Passage]) -> dict[str, list[Link]]:
        """The document of each passage, its pages' links from these lines, and the passages before
        and after it.
        """
        links_by_node = defaultdict[str, list[Link]](list)
        by_document = defaultdict[str, dict[int, Passage]](dict)
        for passage in self._passages({passage.document for passage in passages}):
            by_document[passage.document][passage.place] = passage
        out = links.of_many(
            self._db, sorted({passage.whole for passage in passages}), incoming=False
        )
        for passage in passages:
            links_by_node[passage.node].append(_part(passage))
            for link in out.get(passage.whole, ()):
                if passage.first <= link.line <= passage.last and not link.target.startswith(
                    "name:"
                ):
                    links_by_node[passage.node].append(link._replace(source=passage.node))
            for place in (passage.place - 1, passage.place + 1):
                other = by_document[passage.document].get(place)
                # of another chapter it is only what happens to be printed there
                if other is not None and other.heading[:1] == passage.heading[:1]:
                    first, last = sorted((passage, other), key=lambda neighbor: neighbor.place)
                    links_by_node[passage.node].append(
                        Link(last.node, _FOLLOWS, first.node, passage.document, last.first)
                    )
        return links_by_node

    def names_in(self, passages: Sequence[Passage]) -> dict[str, list[Link]]:
        """What each of these passages names: symbols, records, and names that a few other passages
        have, too.
        """
        rows = dict[int, list[str]]()
        for batch in chunks([passage.number for passage in passages]):
            sql = (
                f"SELECT chunk, written FROM document_names WHERE chunk IN ({placeholders(batch)})"
                " ORDER BY 1, 2"
            )
            for number, written in self._db.rows(sql, batch):
                rows.setdefault(number, []).append(written)
        names = {written for names_of_chunk in rows.values() for written in names_of_chunk}
        symbols = symbols_named(self._db, names)
        records = self._records(names)
        counts = self._counts(names - symbols.keys() - records.keys())
        links_by_node = defaultdict[str, list[Link]](list)
        for passage in passages:
            for written in rows.get(passage.number, ()):
                targets = [symbol.id for symbol in symbols.get(written, ())] or [
                    *records.get(written, ())
                ]
                if not targets and 1 < counts.get(written, 0) <= _COMMON:
                    targets = [f"{_TERM}{written}"]
                links_by_node[passage.node] += [_mention(passage, target) for target in targets]
        return links_by_node

    def named_by(self, nodes: Sequence[str], most: int = _MOST_NEAR) -> dict[str, list[Link]]:
        """The passages that name these symbols, records and terms; none of a name that more than
        `most` have.
        """
        asked = dict[str, list[str]]()
        for node in nodes:
            prefix, name = split_id(node)
            if prefix not in ("file", "name", "violation") and not _PASSAGE.fullmatch(node):
                asked.setdefault(name.removeprefix(_TERM).rpartition(".")[2], []).append(node)
        written = defaultdict[str, list[int]](list)
        for batch in chunks(sorted(asked)):
            sql = (
                f"SELECT written, chunk FROM document_names WHERE name IN ({placeholders(batch)})"
                " ORDER BY 1, 2"
            )
            for name, number in self._db.rows(sql, batch):
                written[name].append(number)
        written = defaultdict(
            list,
            {
                name: chunk_numbers
                for name, chunk_numbers in written.items()
                if len(chunk_numbers) <= most
            },
        )
        symbols = symbols_named(self._db, written)
        passages = self._by_number(
            number for chunk_numbers in written.values() for number in chunk_numbers
        )
        links_by_node = defaultdict[str, list[Link]](list)
        for name, numbers in written.items():
            for node in asked.get(name.rpartition(".")[2], ()):
                prefix, own = split_id(node)
                exact = prefix in ("adr", "") and own.removeprefix(_TERM) == name
                if exact or any(symbol.id == node for symbol in symbols.get(name, ())):
                    links_by_node[node] += [
                        _mention(passages[one], node) for one in numbers if one in passages
                    ]
        return links_by_node

    def _records(self, names: Iterable[str]) -> dict[str, list[str]]:
        """Record ID as it is written → its node, of the records that there are."""
        nodes_by_written = {}
        for batch in chunks(sorted(name for name in names if RECORD_ID.fullmatch(name))):
            sql = f"SELECT DISTINCT id, kind FROM documents WHERE id IN ({placeholders(batch)})"
            for identifier, kind in self._db.rows(sql, batch):
                nodes_by_written[identifier] = [
                    f"adr:{identifier}" if kind == "decision" else identifier
                ]
        return nodes_by_written

    def _counts(self, names: Iterable[str]) -> dict[str, int]:
        """Name → passages that have it as it is written."""
        counts = Counter[str]()
        for batch in chunks(sorted({name.rpartition(".")[2] for name in names})):
            sql = (
                f"SELECT written, COUNT(*) FROM document_names WHERE name IN "
                f"({placeholders(batch)})"
                " GROUP BY 1"
            )
            counts.update(dict(self._db.rows(sql, batch)))
        return counts


def _passage(row: Sequence[Any]) -> Passage:
    return Passage(
        row[0], row[1], row[2], tuple(json.loads(row[3])), row[4], row[5], row[6] == REPOSITORY
    )


def _part(passage: Passage) -> Link:
    return Link(passage.node, PART_OF, passage.whole, passage.document, passage.first)


def _mention(passage: Passage, target: str) -> Link:
    return Link(passage.node, MENTIONS, target, passage.document, passage.first, BY_NAME)


def neighbors(
    ws: Workspace,
    graph: Graph,
    name: str,
    depth: int,
    relations: Collection[str] = (),
    may: Visibility | None = None,
) -> tuple[str, list[tuple[int, str, Link]], bool]:
    """(the node that a name means, (level, node, a link that leads there) of each neighbor, whether
    there are more).
    """
    sync_documents(ws)
    scope = Scope(ws, visible_documents(ws, None, may), may)
    start = _start(graph, name, scope)
    # what a decision governs is a file or a folder, and what a name means is its module
    starts = [start, *_places(graph.db, start)]
    neighborhood_found = neighborhood(
        graph.db, starts, depth, scope, relations=relations, most=_MOST_LISTED
    )
    nearest: dict[str, Link] = {}
    for link in neighborhood_found.links:
        for node, other in ((link.source, link.target), (link.target, link.source)):
            if neighborhood_found.levels[node] == neighborhood_found.levels[other] + 1:
                nearest.setdefault(node, link)
    rows = [
        (level, node, nearest[node]) for node, level in neighborhood_found.levels.items() if level
    ]
    return (
        start,
        sorted(rows, key=lambda row: (row[0], row[2].relation, row[1])),
        neighborhood_found.cut,
    )


def _places(db: Database, node: str) -> list[str]:
    """Return the nodes of the file that a module is, and of the folders above a module or a file:
    records are about these.
    """
    kind, path = split_id(node)
    if kind == "namespace":
        symbol = symbols_by_id(db, [node]).get(node)
        path = symbol.path if symbol else ""
    elif kind != "file" or "#" in path:
        return []
    if not path:
        return []
    folders = path.split("/")[:-1]
    places = [f"file:{path}"] if kind == "namespace" else []
    return places + [f"file:{'/'.join(folders[:depth])}" for depth in range(len(folders), 0, -1)]


def _start(graph: Graph, name: str, scope: Scope) -> str:
    document = name.removeprefix("file:").removeprefix("./")
    if document in scope.documents or _Reader(graph.db, scope.documents).by_node([name]):
        if "#L" in name or document not in scope.documents:
            return name
        if scope.documents[document] == REPOSITORY:
            return f"file:{document}"
        return document
    try:
        node = resolve_text(graph, name).id
    except Unknown:
        candidates = (skill_node(name), node_in("agent", name))
        known_nodes = {*scope.skills(), *scope.agents()}
        nodes = [candidate for candidate in candidates if candidate in known_nodes]
        if not nodes:
            raise
        node = nodes[0]
    if RECORD_ID.fullmatch(node):
        # a skill is linked by its name, whatever ID its record has
        named = {record.id: skill for skill, record in scope.skills().items()}
        node = named.get(node, node)
    if node not in scope.look_up(graph.db, [node]):
        raise Unknown("no matches.", place=name, hint="Look for it with: kl graph search")
    return node
