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
from typing import TYPE_CHECKING, Final, NamedTuple

from kl_hooks.code.query.lookup import select_symbols
from kl_hooks.code.query.session import refresh_graph
from kl_hooks.code.scanner.python import scanner_of, scanners_of
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.git.files import states_at
from kl_hooks.git.objects import read_blobs
from kl_hooks.git.repository import git_in
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
        found = _written_names(db, documents) if db is not None else []
        symbols = symbols_named(db, {written for _, _, written in found}) if db is not None else {}
        blobs: dict[str, str] = (
            dict(db.rows("SELECT document, blob FROM document_files")) if db is not None else {}
        )
    made = [
        Mention(document, line, written, one.id if one else "", one.path if one else "")
        for document, line, written in found
        for one in symbols.get(written) or (None,)
    ]
    since = _commits(ws.repo, {name: blobs[name] for name in documents if name in blobs})
    states: dict[Mention, str] = {}
    for commit in sorted(set(since.values())):
        some = [one for one in made if since.get(one.document) == commit]
        states |= _states(ws, ws.repo, commit, some, symbols)
    # a name that is no symbol and never was one is no mention
    return [
        one._replace(state=states.get(one, ""), symbol=NodeId(one.symbol), path=FilePath(one.path))
        for one in made
        if one.symbol or one in states
    ]


def _written_names(db: Database, documents: Collection[str]) -> list[tuple[str, int, str]]:
    """(document, line of the passage, name as written) of each name in these documents, the first
    time it is there.
    """
    rows = dict[tuple[str, str], int]()
    for some in chunks(sorted(documents)):
        sql = f"""SELECT c.document, n.written, MIN(c.first_line) FROM document_names n
            JOIN document_chunks c ON c.id = n.chunk WHERE c.document IN ({placeholders(some)}) GROUP BY 1, 2"""
        rows |= {(document, written): line for document, written, line in db.rows(sql, some)}
    return [(document, line, written) for (document, written), line in sorted(rows.items())]


def symbols_named(db: Database, written: Collection[str]) -> dict[str, list[Symbol]]:
    """Name as written → the few symbols that it may mean: those whose whole name ends with it."""
    lasts = sorted({one.rpartition(".")[2] for one in written})
    by_last = defaultdict[str, list[Symbol]](list)
    for some in chunks(lasts):
        condition = f"name IN ({placeholders(some)}) AND sort NOT IN ('test', 'namespace')"
        for symbol in select_symbols(db, condition, some):
            by_last[symbol.id.rpartition(".")[2]].append(symbol)
    found = {}
    for one in written:
        fitting = [
            s
            for s in by_last[one.rpartition(".")[2]]
            if f".{split_id(s.id)[1]}".endswith(f".{one}")
        ]
        if 0 < len(fitting) <= _MOST_NAMESAKES:
            found[one] = fitting
    return found


def _commits(repo: Repository, blobs: Mapping[str, str]) -> dict[str, str]:
    """Document → the commit that gave it its content, of the files that are as they are
    committed.
    """
    committed = (
        states_at(repo, "HEAD", sorted(blobs))
        if git_in(repo, "rev-parse", "-q", "--verify", "HEAD", ok=(0, 1))
        else {}
    )
    wanted = sorted(
        name for name, blob in blobs.items() if committed.get(name, "").endswith(f" {blob}")
    )
    found: dict[str, str] = {}
    if wanted:
        out = git_in(
            repo, "log", "--format=%x01%H", "--name-only", "--no-renames", "-z", "--", *wanted
        )
        commit = ""
        for part in re.split(r"[\0\n]+", out.decode("utf-8", "surrogateescape")):
            if part.startswith("\x01"):
                commit = part[1:]
            elif part in blobs:
                found.setdefault(part, commit)
            if len(found) == len(wanted):
                break
    return found


def _states(
    ws: Workspace,
    repo: Repository,
    commit: str,
    some: Sequence[Mention],
    symbols: Mapping[str, Sequence[Symbol]],
) -> dict[Mention, str]:
    """What became of these since a commit; those that are as they were are omitted."""
    now = {one.id: one for known in symbols.values() for one in known}
    old = _old_hashes(ws, repo, commit, {one.path for one in some if one.path})
    there = _defined_at(repo, commit, {one.written.rpartition(".")[2] for one in some})
    # of a name that many have, or that a package offers under another one, no symbol is known: it
    # may still be there
    still = _defined_at(
        repo, "HEAD", {one.written for one in some if not one.symbol and one.written in there}
    )
    found: dict[Mention, str] = {}
    for one in some:
        module, _, last = one.written.rpartition(".")
        if not one.symbol:
            # of a dotted name the file must fit: `sys.stdout` is not the `stdout` of some module
            # here
            was = (
                any(_is_module(path, module) for path in there.get(last, ()))
                if module
                else last in there
            )
            if was and (module or last not in still):
                found[one] = REMOVED
        elif one.symbol not in old:
            if last in there and one.path not in there[last]:
                found[one] = MOVED
        elif old[one.symbol] != now[one.symbol].content_hash:
            found[one] = CHANGED
    return found


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
        known = (
            {
                path: (blob, module)
                for path, blob, module in db.rows("SELECT path, blob, module FROM files")
            }
            if db
            else {}
        )
        same = [path for path, blob in blobs.items() if known.get(path, ("", ""))[0] == blob]
        found = {
            one.id: one.content_hash
            for part in chunks(same)
            for one in (select_symbols(db, f"path IN ({placeholders(part)})", part) if db else ())
        }
    scanners = scanners_of(ws)
    others = sorted(blobs.keys() - set(same))
    for path, content in zip(
        others, read_blobs(repo, [blobs[path] for path in others]), strict=True
    ):
        scanner = scanner_of(path, scanners)
        if content is not None and scanner is not None and path in known:
            facts = scanner.scan(content, path, known[path][1])
            found |= {row[0]: row[-1] for row in facts["symbols"]}
    return found


def _defined_at(repo: Repository, commit: str, names: Collection[str]) -> dict[str, set[str]]:
    """Name → the files that define a function or class of it at a commit."""
    found = defaultdict[str, set[str]](set)
    wanted = sorted(name for name in names if name.isidentifier())[:_MOST_GREPPED]
    if wanted:
        pattern = rf"^[[:space:]]*(async def|def|class) ({'|'.join(wanted)})[^A-Za-z0-9_]"
        out = git_in(repo, "grep", "-I", "-z", "-E", pattern, commit, "--", "*.py", ok=(0, 1))
        for line in out.decode("utf-8", "replace").split("\n"):
            place, _, text = line.partition("\0")
            if defined := re.match(r"\s*(?:async def|def|class) (\w+)", text):
                found[defined[1]].add(place.partition(":")[2])
    return found
