"""The graph of any revision: built beside the work tree's own, from blobs, and kept in the cache for the next time."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kl_hooks.code.catch_up import Scan, bring
from kl_hooks.code.facts import facts_of
from kl_hooks.code.imports_read import scanners_of
from kl_hooks.code.marks import MARKERS
from kl_hooks.errors import EnvironmentProblem, UsageProblem

if TYPE_CHECKING:
    from kl_hooks.git.files import FileEntry
    from kl_hooks.git.repository import Repository
    from kl_hooks.store.database import Database
    from kl_hooks.store.store import Store
    from kl_hooks.workspace import Workspace

FOLDER: Final = "graphs"
KEPT: Final = 3
"""Graphs of revisions that are kept: those last asked."""


@contextmanager
def graph_at(ws: Workspace, rev: str) -> Iterator[tuple[Database, Scan]]:
    """The graph of a revision, and what was done to have it. The work tree and its graph stay as they are.

    Only contents that no graph of this worktree has ever seen are parsed; their facts are remembered with the others.
    UsageProblem where there is no such revision; EnvironmentProblem without git, or where nothing can be written.
    """
    from kl_hooks.git import files, trees

    repo = ws.repo
    if repo is None:
        raise EnvironmentProblem("the code graph needs a git repository.", place=str(ws.root), hint="Run: git init")
    tree = trees.tree_of_revision(repo, rev)
    if tree is None:
        raise UsageProblem(f"{rev!r} is not a revision of this repository.", hint="See: git log --oneline")
    scanners = scanners_of(ws.plugins)
    suffixes = sorted({suffix for scanner in scanners for suffix in scanner.suffixes})
    entries = files.files_at(repo, tree, (*suffixes, *MARKERS))
    name = hashlib.sha256(repr((tree, [scanner.version for scanner in scanners])).encode()).hexdigest()[:24]
    with _folder(ws) as folder:
        store = _beside(ws, folder / f"{name}.db")
        if not store.state.graph.exists():
            _seed(ws, repo, entries, store)
        scan = bring(store, entries, lambda some: files.read_files(repo, some, "objects"), scanners)
        with suppress(OSError):
            os.utime(store.state.graph)
        _forget(folder, store.state.graph)
        with store.reading("graph") as db:
            if db is not None:
                yield db, scan
                return
        with store.writing("graph") as empty:  # a revision without any source
            yield empty, scan


@contextmanager
def _folder(ws: Workspace) -> Iterator[Path]:
    """The cache's folder for graphs; one that lasts for this question alone where that can't be written."""
    from tempfile import TemporaryDirectory

    folder = ws.state.cache / FOLDER
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.access(folder, os.W_OK):
        yield folder
        return
    with TemporaryDirectory(prefix="kl-graph-") as place:
        yield Path(place)


def _beside(ws: Workspace, path: Path) -> Store:
    """A store whose graph is this file of the cache; it has no other database."""
    from kl_hooks.store.store import Store

    state = ws.state._replace(directory=path.parent, graph=path, origin="cache")
    return Store(state, ws.store.schemas, ws.environ)


def _seed(ws: Workspace, repo: Repository, entries: list[FileEntry], store: Store) -> None:
    """Begins with a copy of the work tree's graph: most of what a revision holds is in it already."""
    from kl_hooks.git import files
    from kl_hooks.graph import links
    from kl_hooks.index import index

    facts_of(
        ws.store, entries, lambda some: files.read_files(repo, some, "objects"), scanners_of(ws.plugins), symbols=False
    )
    path = store.state.graph
    new = path.with_suffix(f".{os.getpid()}.new")
    with ws.store.reading("graph") as db:
        if db is not None:
            new.unlink(missing_ok=True)
            db.execute("VACUUM INTO ?", (str(new),))
            new.chmod(0o600)
            new.rename(path)
    with store.writing("graph") as copy, copy.transaction():
        # What is known of the work tree is not known of the revision.
        for owner in index.owners(copy, ("page", *ws.kinds, "violation")):
            index.remove(copy, owner)
            links.remove(copy, owner)


def _forget(folder: Path, current: Path) -> None:
    """Removes all but the graphs that were asked last."""
    with suppress(OSError):
        old = sorted(folder.glob("*.db"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
        for path in [path for path in old if path != current][KEPT - 1 :]:
            for name in folder.glob(f"{path.stem}.*"):
                name.unlink(missing_ok=True)
