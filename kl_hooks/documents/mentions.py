"""Mentions: which symbols the passages of documents name, and what became of these since the
document was written.

A document is stale where a symbol that it names was changed, moved or removed after the commit that
gave the document its content: compared by the hashes of the symbols' code, so a new docstring or
layout makes no document stale.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.code.languages import scanner_of, scanners_of
from kl_hooks.code.query.lookup import select_symbols
from kl_hooks.code.query.session import refresh_graph
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.git.files import states_at
from kl_hooks.git.objects import read_blobs
from kl_hooks.git.repository import git_in
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.symbol import FilePath, NodeId, Symbol, split_id
from kl_hooks.store.database import chunks, placeholders

if TYPE_CHECKING:
    from kl_hooks.git.repository import Repository
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

CHANGED: Final = "changed"
MOVED: Final = "moved"
REMOVED: Final = "removed"
_MOST_NAMESAKES: Final = 3
"""Symbols that a name may have and still mean one of them: `run` in backticks means none of twenty.
"""
_MOST_GREPPED: Final = 300


class Mention(NamedTuple):
    """A name in a passage of a document, and a symbol that it means."""

    document: str
    line: int
    """Of the beginning of the passage."""
    written: str
    symbol: str
    """Its ID; empty: there is none any more."""
    path: str
    state: str = ""
    """`changed`, `moved` or `removed` since the document was written; empty: as it was then, or
    nobody knows.
    """

    def __str__(self) -> str:
        return f"{self.written} ({self.path or 'no such symbol'}) was {self.state}"


def stale_mentions(ws: Workspace, documents: Collection[str]) -> dict[str, list[Mention]]:
    """Document → the mentions that make it stale, of those that have any."""
    stale = defaultdict[str, list[Mention]](list)
    for mention in mentions(ws, documents):
        if mention.state:
            stale[mention.document].append(mention)
    return stale


def mentions(ws: Workspace, documents: Collection[str]) -> list[Mention]:
    """The symbols that these documents name, with what became of them; none without git."""
    if ws.repo is None or not documents:
        return []
    try:
        refresh_graph(ws)
    except EnvironmentProblem:
        return []
    with ws.store.reading("graph") as db:
        if db is not None:
            written_names = _written_names(db, documents)
        else:
            written_names = []
        if db is not None:
            symbols = symbols_named(db, {written for _, _, written in written_names})
        else:
            symbols = {}
        blobs: dict[str, str] = (
            dict(db.rows("SELECT document, blob FROM document_files")) if db is not None else {}
        )
    mentions_found = [
        Mention(document, line, written, symbol.id if symbol else "", symbol.path if symbol else "")
        for document, line, written in written_names
        for symbol in symbols.get(written) or (None,)
    ]
    since = _commits(ws.repo, {name: blobs[name] for name in documents if name in blobs})
    states: dict[Mention, str] = {}
    for commit in sorted(set(since.values())):
        of_commit = [mention for mention in mentions_found if since.get(mention.document) == commit]
        states |= _states(ws, ws.repo, commit, of_commit, symbols)
    # a name that is no symbol and never was one is no mention
    return [
        mention._replace(
            state=states.get(mention, ""),
            symbol=NodeId(mention.symbol),
            path=FilePath(mention.path),
        )
        for mention in mentions_found
        if mention.symbol or mention in states
    ]


def _written_names(db: Database, documents: Collection[str]) -> list[tuple[str, int, str]]:
    """(document, line of the passage, name as written) of each name in these documents, the first
    time it is there.
    """
    rows = dict[tuple[str, str], int]()
    for batch in chunks(sorted(documents)):
        sql = f"""SELECT c.document, n.written, MIN(c.first_line) FROM document_names n
            JOIN document_chunks c ON c.id = n.chunk
            WHERE c.document IN ({placeholders(batch)}) GROUP BY 1, 2"""
        rows |= {(document, written): line for document, written, line in db.rows(sql, batch)}
    return [(document, line, written) for (document, written), line in sorted(rows.items())]


def symbols_named(db: Database, written: Collection[str]) -> dict[str, list[Symbol]]:
    """Name as written → the few symbols that it may mean: those whose whole name ends with it."""
    lasts = sorted({name.rpartition(".")[2] for name in written})
    by_last = defaultdict[str, list[Symbol]](list)
    for batch in chunks(lasts):
        condition = f"name IN ({placeholders(batch)}) AND sort NOT IN ('test', 'namespace')"
        for symbol in select_symbols(db, condition, batch):
            by_last[symbol.id.rpartition(".")[2]].append(symbol)
    symbols_by_written = {}
    for name in written:
        fitting = [
            s
            for s in by_last[name.rpartition(".")[2]]
            if f".{split_id(s.id)[1]}".endswith(f".{name}")
        ]
        if 0 < len(fitting) <= _MOST_NAMESAKES:
            symbols_by_written[name] = fitting
    return symbols_by_written


def _commits(repo: Repository, blobs: Mapping[str, str]) -> dict[str, str]:
    """Document → the commit that gave it its content, of the files that are as they are
    committed.
    """
    if git_in(repo, "rev-parse", "-q", "--verify", "HEAD", ok=(0, 1)):
        committed = states_at(repo, "HEAD", sorted(blobs))
    else:
        committed = {}
    wanted = sorted(
        name for name, blob in blobs.items() if committed.get(name, "").endswith(f" {blob}")
    )
    commit_of: dict[str, str] = {}
    if wanted:
        out = git_in(
            repo, "log", "--format=%x01%H", "--name-only", "--no-renames", "-z", "--", *wanted
        )
        commit = ""
        for part in re.split(r"[\0\n]+", out.decode("utf-8", "surrogateescape")):
            if part.startswith("\x01"):
                commit = part[1:]
            elif part in blobs:
                commit_of.setdefault(part, commit)
            if len(commit_of) == len(wanted):
                break
    return commit_of


def _states(
    ws: Workspace,
    repo: Repository,
    commit: str,
    mentions_since: Sequence[Mention],
    symbols: Mapping[str, Sequence[Symbol]],
) -> dict[Mention, str]:
    """What became of these since a commit; those that are as they were are omitted."""
    now = {symbol.id: symbol for candidates in symbols.values() for symbol in candidates}
    old = _old_hashes(
        ws, repo, commit, {mention.path for mention in mentions_since if mention.path}
    )
    there = _defined_at(
        repo, commit, {mention.written.rpartition(".")[2] for mention in mentions_since}
    )
    # of a name that many have, or that a package offers under another one, no symbol is known: it
    # may still be there
    still = _defined_at(
        repo,
        "HEAD",
        {
            mention.written
            for mention in mentions_since
            if not mention.symbol and mention.written in there
        },
    )
    states: dict[Mention, str] = {}
    for mention in mentions_since:
        module, _, last = mention.written.rpartition(".")
        if not mention.symbol:
            # of a dotted name the file must fit: `sys.stdout` is not the `stdout` of some module
            # here
            if module:
                was_defined = any(_is_module(path, module) for path in there.get(last, ()))
            else:
                was_defined = last in there
            if was_defined and (module or last not in still):
                states[mention] = REMOVED
        elif mention.symbol not in old:
            if last in there and mention.path not in there[last]:
                states[mention] = MOVED
        elif old[mention.symbol] != now[mention.symbol].content_hash:
            states[mention] = CHANGED
    return states


def _is_module(path: str, name: str) -> bool:
    """Whether a file is the module of this dotted name, or of its end."""
    dotted = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return f".{dotted}".endswith(f".{name}")


def _old_hashes(
    ws: Workspace, repo: Repository, commit: str, paths: Iterable[str]
) -> dict[str, str]:
    """ID → hash of the code of each symbol that these files had at a commit."""
    blobs = {
        path: state.rpartition(" ")[2]
        for path, state in states_at(repo, commit, sorted(paths)).items()
    }
    with ws.store.reading("graph") as db:
        if db:
            indexed = {
                path: (blob, module)
                for path, blob, module in db.rows("SELECT path, blob, module FROM files")
            }
        else:
            indexed = {}
        same = [path for path, blob in blobs.items() if indexed.get(path, ("", ""))[0] == blob]
        hashes = {
            symbol.id: symbol.content_hash
            for part in chunks(same)
            for symbol in (
                select_symbols(db, f"path IN ({placeholders(part)})", part) if db else ()
            )
        }
    scanners = scanners_of(ws)
    others = sorted(blobs.keys() - set(same))
    for path, content in zip(
        others, read_blobs(repo, [blobs[path] for path in others]), strict=True
    ):
        scanner = scanner_of(path, scanners)
        if content is not None and scanner is not None and path in indexed:
            facts = scanner.scan(content, path, indexed[path][1])
            hashes |= {row[0]: row[-1] for row in facts["symbols"]}
    return hashes


def _defined_at(repo: Repository, commit: str, names: Collection[str]) -> dict[str, set[str]]:
    """Name → the files that define a function or class of it at a commit."""
    paths_by_name = defaultdict[str, set[str]](set)
    wanted = sorted(name for name in names if name.isidentifier())[:_MOST_GREPPED]
    if wanted:
        pattern = rf"^[[:space:]]*(async def|def|class) ({'|'.join(wanted)})[^A-Za-z0-9_]"
        out = git_in(repo, "grep", "-I", "-z", "-E", pattern, commit, "--", "*.py", ok=(0, 1))
        for line in out.decode("utf-8", "replace").split("\n"):
            place, _, text = line.partition("\0")
            if defined := re.match(r"\s*(?:async def|def|class) (\w+)", text):
                paths_by_name[defined[1]].add(place.partition(":")[2])
    return paths_by_name
