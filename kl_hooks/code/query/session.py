"""The graph, open and current: of the working tree, or of a revision; and its size.

What changed is replaced, what is absent removed, in one transaction. The graph of a revision is
built beside the working tree's own, from blobs, and stays in the cache for the next time. The
modules of this package answer questions: each finds what is asked about, and reports how certain
its answer is.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kl_hooks.code.file_index import all_pending, errors_of, pending_changes
from kl_hooks.code.languages import Progress, no_progress, scanners_of
from kl_hooks.code.modules import MARKERS
from kl_hooks.code.scanner.parser import PARTIAL, PARTIAL_WITH_IMPORTS
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.graph import links
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.problem import Problem
from kl_hooks.model.symbol import FilePath
from kl_hooks.model.text import safe_text
from kl_hooks.store.database import Rows, placeholders

if TYPE_CHECKING:
    from kl_hooks.code.file_index import PendingChanges
    from kl_hooks.code.languages import Unread
    from kl_hooks.code.scanner.parser import Facts, Key, Read
    from kl_hooks.git.files import FileEntry
    from kl_hooks.git.repository import Repository
    from kl_hooks.git.worktree import WorktreeScan
    from kl_hooks.hookspecs import Scanner
    from kl_hooks.store.database import Database
    from kl_hooks.store.store import Store
    from kl_hooks.workspace import Workspace


SYMBOL_KINDS: Final = ("namespace", "type", "interface", "function", "method", "property", "field")
"""What a symbol can be: the part of its Id before the colon, and its kind in the index."""


class GraphCounts(NamedTuple):
    """How much there is."""

    nodes: dict[str, int]
    """Kind of symbol → how many, by name."""
    links: dict[str, int]
    """Relation → how many, by name."""
    unresolved: int
    """Unresolved links of these, matched by name only."""
    knowledge: dict[str, int]
    """Kind of what is no code (page, decision, …, violation) → how many, by name; `section`: the
    headings of pages.
    """


def graph_counts(db: Rows, kinds: Sequence[str] = ()) -> GraphCounts:
    """What a graph holds. `kinds`: of what is no code."""
    sql = "SELECT sort, COUNT(*) FROM symbol_rows GROUP BY sort"
    return GraphCounts(
        dict(sorted(db.rows(sql))),
        links.counts(db),
        links.count_to(db, "name:"),
        _knowledge(db, kinds),
    )


def _knowledge(db: Rows, kinds: Sequence[str]) -> dict[str, int]:
    if not kinds:
        return {}
    kind = "CASE WHEN kind = 'page' AND id LIKE '%#%' THEN 'section' ELSE kind END"
    sql = (
        f"SELECT {kind}, COUNT(DISTINCT id) FROM documents WHERE kind IN ({placeholders(kinds)})"
        " GROUP BY 1"
    )
    return dict(sorted(db.rows(sql, tuple(kinds))))


class ScanSummary(NamedTuple):
    """What an update of the graph did."""

    files: int
    """Source files in the working tree, whether they could be read or not."""
    parsed: int
    """Contents that had never been read before."""
    removed: int
    """Files that were removed since the last update."""
    problems: Sequence[Problem] = ()
    """Files whose content could not be understood, by path."""


def refresh_graph(
    ws: Workspace, watch: Progress = no_progress, scan: WorktreeScan | None = None
) -> ScanSummary:
    """Bring the graph database up to date with the working tree; write nothing if it is.

    `watch` as `scan_missing`; `scan`: of at least `graph_suffixes`, taken just now. A file that
    does not parse keeps its row in `files`, with the error, and has no symbols; the others go on.
    EnvironmentProblem without git, or if the store can't be read or written.
    """
    from kl_hooks.git import files

    repo = repository_of(ws)
    scanners = scanners_of(ws)
    entries = files.worktree_files(repo, _patterns(scanners), scan)
    return refresh(ws.store, entries, lambda batch: files.read_files(repo, batch), scanners, watch)


def repository_of(ws: Workspace) -> Repository:
    """The repository whose graph it is. EnvironmentProblem without git."""
    if ws.repo is None:
        raise EnvironmentProblem(
            "the code graph needs a git repository.", place=str(ws.root), hint="Run: git init"
        )
    return ws.repo


def graph_suffixes(ws: Workspace) -> tuple[str, ...]:
    """The ends of the names of all files that a workspace's graph is made of."""
    return _patterns(scanners_of(ws))


def _patterns(scanners: Sequence[Scanner]) -> tuple[str, ...]:
    """The ends of the names of all files that the graph is made of."""
    return (*sorted({suffix for scanner in scanners for suffix in scanner.suffixes}), *MARKERS)


def refresh(
    store: Store,
    entries: Sequence[FileEntry],
    read: Read,
    scanners: Sequence[Scanner],
    watch: Progress = no_progress,
) -> ScanSummary:
    """The same for any store and any content of the repository; `entries`, by path, hold the marks
    of projects too.
    """
    entries, odd = _readable_names(entries)
    with store.reading("graph") as db:
        if db is not None:
            pending = pending_changes(db, entries, scanners)
        else:
            pending = all_pending(entries, scanners)
        errors = errors_of(db) if db is not None else {}
        if db is not None:
            facts = _facts(db, pending)
        else:
            facts = {}
    parsed = removed = 0
    if not pending.same():
        # imported late: a question about files that are unchanged does without it
        from kl_hooks.code.update import update

        done = update(store, pending, facts, entries, read, scanners, watch)
        if done is not None:
            parsed, removed, errors = done
    return ScanSummary(
        pending.files,
        parsed,
        removed,
        sorted([*odd, *(_problem(path, error) for path, error in errors.items())]),
    )


def _facts(db: Database, pending: PendingChanges) -> dict[Key, Facts]:
    """What is remembered of the contents that are not in the graph now."""
    if not pending.changed:
        return {}
    from kl_hooks.code import file_facts

    return file_facts.load(db, pending.changed.values(), uses=True)


def _problem(path: str, error: str) -> Problem:
    """The error of a file's facts, "line:column: reason", as a Problem."""
    line, column, reason = error.split(":", 2)
    if error.endswith((PARTIAL, PARTIAL_WITH_IMPORTS)):
        consequence = ""
    else:
        consequence = "It is not in the graph."
    return Problem(path, int(line), int(column), f"{reason.strip().rstrip('.')}.", consequence)


def _readable_names(entries: Sequence[FileEntry]) -> tuple[Sequence[FileEntry], list[Problem]]:
    """Without the files whose names are not UTF-8: no Id and no row could hold them. They are
    reported.
    """
    # without a loop in Python, as in nearly every repository all paths are ASCII
    if all(map(str.isascii, map(itemgetter(0), entries))):
        return entries, []
    good: list[FileEntry] = []
    odd: list[Problem] = []
    for entry in entries:
        # bytes that are not UTF-8 are surrogates in a decoded path (surrogateescape, PEP 383)
        if entry.path.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in entry.path):
            good.append(entry)
        else:
            odd.append(
                Problem(
                    safe_text(entry.path), 0, 0, "its name is not UTF-8.", "It is not in the graph."
                )
            )
    return good, odd


FOLDER: Final = "graphs"
GRAPHS_RETAINED: Final = 3
"""Graphs of revisions that are retained: those last asked."""


@contextmanager
def graph_at(ws: Workspace, rev: str) -> Iterator[tuple[Database, ScanSummary]]:
    """The graph of a revision, and what was done to have it. The working tree and its graph stay as
    they are.

    Only contents that no graph of this worktree has ever seen are parsed; their facts are
    remembered with the others. UsageProblem where there is no such revision; EnvironmentProblem
    without git, or where nothing can be written.
    """
    from kl_hooks.git import files, worktree

    repo = repository_of(ws)
    tree = worktree.tree_of_revision(repo, rev)
    if tree is None:
        raise UsageProblem(
            f"{rev!r} is not a revision of this repository.", hint="See: git log --oneline"
        )
    scanners = scanners_of(ws)
    entries = files.files_at(repo, tree, _patterns(scanners))
    # with the versions of the scanners: others give other facts of the same tree
    name = hashlib.sha256(
        repr((tree, [scanner.version for scanner in scanners])).encode()
    ).hexdigest()[:24]
    with _folder(ws) as folder:
        store = _cache_store(ws, folder / f"{name}.db")
        if not store.state.graph.exists():
            _seed(ws, repo, entries, store)
        scan = refresh(
            store, entries, lambda batch: files.read_files(repo, batch, "objects"), scanners
        )
        with suppress(OSError):
            # a question that writes nothing leaves its time alone, by which _remove_old knows what
            # was asked last
            os.utime(store.state.graph)
        _remove_old(folder, store.state.graph)
        with store.reading("graph") as db:
            if db is not None:
                yield db, scan
                return
        with store.writing("graph") as empty:  # a revision without any source
            yield empty, scan


@contextmanager
def _folder(ws: Workspace) -> Iterator[Path]:
    """The cache's folder for graphs; one that lasts for this question alone where that can't be
    written.
    """
    from tempfile import TemporaryDirectory

    folder = ws.state.cache / FOLDER
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.access(folder, os.W_OK):
        yield folder
        return
    with TemporaryDirectory(prefix="kl-graph-") as place:
        yield Path(place)


def _cache_store(ws: Workspace, path: Path) -> Store:
    """A store whose graph is this file of the cache; it has no other database."""
    from kl_hooks.store.store import Store

    state = ws.state._replace(directory=path.parent, graph=path, origin="cache")
    return Store(state, ws.store.schemas, ws.environ)


def _seed(ws: Workspace, repo: Repository, entries: list[FileEntry], store: Store) -> None:
    """Begins with a copy of the working tree's graph: most of what a revision holds is in it
    already.
    """
    from kl_hooks.code.file_facts import facts_of
    from kl_hooks.git import files
    from kl_hooks.index import index

    # into the working tree's graph and before the copy: the next revision finds these facts there,
    # too
    facts_of(
        ws.store,
        entries,
        lambda batch: files.read_files(repo, batch, "objects"),
        scanners_of(ws),
        symbols=False,
    )
    path = store.state.graph
    new = path.with_suffix(f".{os.getpid()}.new")
    with ws.store.reading("graph") as db:
        if db is not None:
            new.unlink(missing_ok=True)
            # consistent while others write, and with what is still in the journal only: a copy of
            # the file is neither
            db.execute("VACUUM INTO ?", (str(new),))
            new.chmod(0o600)
            # renamed when it is whole: another process that asks for this revision sees all or
            # nothing (rename(2))
            new.rename(path)
    with store.writing("graph") as copy, copy.transaction():
        # Records and violations belong to the working tree, not to the revision.
        for owner in index.owners(copy, ("page", *ws.kinds, "violation")):
            index.remove(copy, owner)
            links.replace_many(copy, {owner: ()})


def _remove_old(folder: Path, current: Path) -> None:
    """Removes all but the graphs that were asked last."""
    with suppress(OSError):
        old = sorted(folder.glob("*.db"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
        for path in [path for path in old if path != current][GRAPHS_RETAINED - 1 :]:
            for name in folder.glob(f"{path.stem}.*"):
                name.unlink(missing_ok=True)


def _no_contents(entries: Sequence[FileEntry]) -> Iterator[tuple[FileEntry, bytes]]:
    """Read none of the contents: what only the source shows is then unknown."""
    return iter(())


class Graph(NamedTuple):
    """What every question is put to."""

    db: Database
    scan: ScanSummary
    kinds: tuple[str, ...] = ()
    """What else than code is in it, as the index calls it: `page`, `decision`, … and `violation`.
    None in a revision's: those of the working tree do not apply to it.
    """
    read: Read = _no_contents
    """Reads the contents of its files: of the working tree, or of the revision."""
    count_unread: Callable[[], Unread] = dict
    """Counts the files that no scanner reads, by language."""

    @property
    def not_assessed(self) -> tuple[Problem, ...]:
        """The files that could not be understood: what they use, nobody knows."""
        return tuple(self.scan.problems)

    @property
    def paths_not_assessed(self) -> tuple[FilePath, ...]:
        """Their paths."""
        return tuple(FilePath(problem.path) for problem in self.scan.problems)


@contextmanager
def open_graph(
    ws: Workspace, rev: str | None = None, watch: Progress = no_progress
) -> Iterator[Graph]:
    """The graph of the working tree as it is now, or of a revision.

    `watch` as `refresh_graph`. UsageProblem for a revision that is none, EnvironmentProblem without
    git or where the store can't be used.
    """
    if rev is not None:
        count_unread = partial(_count_unread, ws, rev)
        with graph_at(ws, rev) as (db, scan):
            yield Graph(db, scan, read=_reader(ws, "objects"), count_unread=count_unread)
        return
    scan = refresh_graph(ws, watch)
    read = _reader(ws, "worktree")
    kinds = ("page", *ws.kinds, "violation")
    count_unread = partial(_count_unread, ws)
    with ws.store.reading("graph") as stored:
        if stored is not None:
            yield Graph(stored, scan, kinds, read, count_unread)
            return
    with ws.store.writing("graph") as empty:  # no file was ever seen: there is no database yet
        yield Graph(empty, scan, kinds, read, count_unread)


def _count_unread(ws: Workspace, rev: str = "") -> Unread:
    from kl_hooks.code.languages import unread_at, unread_in_worktree

    repo = repository_of(ws)
    scanners = scanners_of(ws)
    if rev:
        return unread_at(repo, rev, scanners)
    return unread_in_worktree(repo, scanners)


def _reader(ws: Workspace, source: str) -> Read:
    from kl_hooks.git import files

    repo = repository_of(ws)
    return lambda entries: files.read_files(repo, entries, source)
