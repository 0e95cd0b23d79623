"""Brings graph and index up to the work tree: what changed is replaced, what vanished goes, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from kl_hooks.code.held import errors_of, held, nothing
from kl_hooks.code.imports_read import scanners_of
from kl_hooks.code.marks import MARKERS
from kl_hooks.code.wanted import Watch, unwatched
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.model.problem import Problem
from kl_hooks.model.text import safe_text

if TYPE_CHECKING:
    from kl_hooks.code.held import Held
    from kl_hooks.code.parse import Facts, Read
    from kl_hooks.code.remembered import Key
    from kl_hooks.git.files import FileEntry
    from kl_hooks.hookspecs import Scanner
    from kl_hooks.store.database import Database
    from kl_hooks.store.store import Store
    from kl_hooks.workspace import Workspace


class Scan(NamedTuple):
    """What catching up did."""

    files: int
    """Source files in the work tree, whether they could be read or not."""
    parsed: int
    """Contents that had never been read before."""
    removed: int
    """Files that the graph knew and that are gone."""
    problems: Sequence[Problem] = ()
    """Files whose content could not be understood, by path."""


def catch_up(ws: Workspace, watch: Watch = unwatched) -> Scan:
    """Makes the graph database say what the work tree holds; writes nothing if it does already.

    `watch` as `scan_missing`. A file that does not parse keeps its row in `files`, with the error, and has no symbols;
    the others go on.
    EnvironmentProblem without git, or if the store can't be read or written.
    """
    from kl_hooks.git import files

    repo = ws.repo
    if repo is None:
        raise EnvironmentProblem("the code graph needs a git repository.", place=str(ws.root), hint="Run: git init")
    scanners = scanners_of(ws.plugins)
    suffixes = sorted({suffix for scanner in scanners for suffix in scanner.suffixes})
    entries = files.worktree_files(repo, (*suffixes, *MARKERS))
    return bring(ws.store, entries, lambda some: files.read_files(repo, some), scanners, watch)


def bring(
    store: Store, entries: Sequence[FileEntry], read: Read, scanners: Sequence[Scanner], watch: Watch = unwatched
) -> Scan:
    """The same for any store and any content of the repository; `entries`, by path, hold the marks of projects too."""
    entries, odd = _readable_names(entries)
    with store.reading("graph") as db:
        known = held(db, entries, scanners) if db is not None else nothing(entries, scanners)
        errors = errors_of(db) if db is not None else {}
        facts = _facts(db, known) if db is not None else {}
    parsed = removed = 0
    if not known.same():
        from kl_hooks.code.update import update

        done = update(store, known, facts, entries, read, scanners, watch)
        if done is not None:
            parsed, removed, errors = done
    return Scan(known.files, parsed, removed, sorted([*odd, *_problems(errors)]))


def _facts(db: Database, known: Held) -> dict[Key, Facts]:
    """What is remembered of the contents that the graph does not hold now."""
    if not known.stale:
        return {}
    from kl_hooks.code import remembered

    return remembered.load(db, known.stale.values(), uses=True)


def _problems(errors: Mapping[str, str]) -> list[Problem]:
    return [problem(path, error) for path, error in errors.items()]


def problem(path: str, error: str) -> Problem:
    """The error of a file's facts, "line:column: reason", as a Problem."""
    line, column, reason = error.split(":", 2)
    return Problem(path, int(line), int(column), f"{reason.strip().rstrip('.')}.", "It is not in the graph.")


def _readable_names(entries: Sequence[FileEntry]) -> tuple[Sequence[FileEntry], list[Problem]]:
    """Without the files whose names are not UTF-8: no Id and no row could hold them. They are reported."""
    if all(map(str.isascii, map(itemgetter(0), entries))):
        return entries, []
    good: list[FileEntry] = []
    odd: list[Problem] = []
    for entry in entries:
        if entry.path.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in entry.path):
            good.append(entry)
        else:
            odd.append(Problem(safe_text(entry.path), 0, 0, "its name is not UTF-8.", "It is not in the graph."))
    return good, odd
