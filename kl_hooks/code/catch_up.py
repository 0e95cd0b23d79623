"""Brings graph and index up to the work tree: what changed is replaced, what vanished goes, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kl_hooks.code import remembered
from kl_hooks.code.facts import (
    Watch,
    keys,
    scan_missing,
    under,
    unwatched,
)
from kl_hooks.code.imports_read import scanners_of
from kl_hooks.code.linking import relink
from kl_hooks.code.modules import MARKERS, is_marker
from kl_hooks.code.naming import decide, imports_of, known_markers, still_holds
from kl_hooks.code.parse import Read, lost, no_garbage_collection
from kl_hooks.code.remembered import Key
from kl_hooks.code.resolve import Outline
from kl_hooks.code.writing import File, write_files
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.model.problem import Problem
from kl_hooks.model.text import safe_text

if TYPE_CHECKING:
    from kl_hooks.git.files import Entry
    from kl_hooks.hookspecs import Scanner
    from kl_hooks.store.database import Database
    from kl_hooks.store.store import Store
    from kl_hooks.workspace.open import Workspace

LOST: Final = "?"
"""Before the blob id of a file whose content could not be had: it is asked for again the next time."""
SPARE: Final = 1000
"""Contents that are remembered though no file has them, beside three for every file: other branches come back."""


@dataclass(frozen=True, slots=True)
class Scan:
    """What catching up did."""

    files: int
    """Source files in the work tree, whether they could be read or not."""
    parsed: int
    """Contents that had never been read before."""
    removed: int
    """Files that the graph knew and that are gone."""
    problems: list[Problem] = field(default_factory=list)
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
    entries = files.worktree(repo, (*suffixes, *MARKERS))
    return bring(ws.store, entries, lambda some: files.read(repo, some), scanners, watch)


def bring(
    store: Store, entries: Sequence[Entry], read: Read, scanners: Sequence[Scanner], watch: Watch = unwatched
) -> Scan:
    """The same for any store and any content of the repository; `entries` hold the files that mark projects too."""
    entries, odd = _readable_names(entries)
    wanted, marks = keys(entries, scanners), {entry.path for entry in entries if is_marker(entry.path)}
    before, errors, facts, known_marks = _known(store, wanted)
    if {path: file[:2] for path, file in before.items()} == wanted and marks == known_marks:
        return Scan(len(wanted), 0, 0, sorted([*odd, *_problems(errors)]))
    stale = {path: key for path, key in wanted.items() if before.get(path, ("", ""))[:2] != key}
    fresh = scan_missing(entries, stale, facts, read, scanners, watch)
    if before.keys() == wanted.keys() and marks == known_marks and _as_lost_as_before(stale, before, facts | fresh):
        return Scan(len(wanted), 0, 0, sorted([*odd, *_problems(errors)]))
    with store.writing("graph") as db, db.transaction(), no_garbage_collection():
        removed = _write(db, wanted, facts, fresh, marks)
        errors = _errors(db)
    return Scan(len(wanted), len(fresh), removed, sorted([*odd, *_problems(errors)]))


def _known(
    store: Store, wanted: Mapping[str, Key]
) -> tuple[dict[str, File], dict[str, str], remembered.Known, set[str]]:
    """What the graph knows: its files, their errors, the facts of what is new among the wanted, marks of projects."""
    with store.reading("graph") as db:
        if db is None:
            return {}, {}, {}, set()
        before = _files(db)
        stale = {key for path, key in wanted.items() if before.get(path, ("", ""))[:2] != key}
        return before, _errors(db), remembered.load(db, stale, uses=True), known_markers(db)


def _write(
    db: Database, wanted: Mapping[str, Key], known: remembered.Known, fresh: remembered.Known, marks: set[str]
) -> int:
    """Writes what differs from `wanted`; returns how many files are gone. Inside one transaction."""
    remembered.save(db, fresh)
    before = _files(db)
    stale = [path for path, key in wanted.items() if before.get(path, ("", ""))[:2] != key]
    gone = sorted(before.keys() - wanted.keys())
    facts = known | fresh
    facts |= remembered.load(db, {wanted[path] for path in stale} - facts.keys(), uses=True)
    modules = _modules(db, wanted, before, stale, facts, marks)
    absent = {path for path in stale if wanted[path] not in facts}
    now = {path: (LOST * (path in absent) + b, s, modules.get(path, path)) for path, (b, s) in wanted.items()}
    changed = sorted(path for path, file in now.items() if before.get(path) != file)
    facts |= remembered.load(db, {wanted[path] for path in changed} - facts.keys(), uses=True)
    named = {path: under(facts.get(wanted[path]) or lost(), now[path][2], path) for path in changed}
    old = {path: before[path] for path in (*gone, *changed) if path in before}
    was = _outlines(db, old)
    write_files(db, gone, {path: (now[path], named[path]) for path in changed})
    relink(db, gone, named, was, {path: file[2] for path, file in now.items()})
    remembered.forget(db, spare=len(now) * 3 + SPARE)
    return len(gone)


def _as_lost_as_before(stale: Mapping[str, Key], before: Mapping[str, File], facts: remembered.Known) -> bool:
    """True if nothing is new but contents that could not be had the last time either."""
    return all(key not in facts and before[path][:2] == (LOST + key[0], key[1]) for path, key in stale.items())


def _modules(
    db: Database, wanted: Mapping[str, Key], before: Mapping[str, File], stale: Sequence[str],
    facts: remembered.Known, marks: set[str],
) -> dict[str, str]:  # fmt: skip
    """Path → module. Names stay as they are where the paths do and nothing is imported that would tell otherwise."""
    if before.keys() == wanted.keys() and marks == known_markers(db):
        old = remembered.load(db, {before[path][:2] for path in stale}, symbols=False)
        new = [facts.get(wanted[path]) or lost() for path in stale]
        if still_holds(db, imports_of(old.values()), imports_of(new)):
            return {path: file[2] for path, file in before.items()}
    return decide(db, wanted, marks, facts)


def _outlines(db: Database, files: Mapping[str, File]) -> dict[str, Outline]:
    """Module → outline, of these files as they were."""
    found = remembered.outlines(db, {file[:2] for file in files.values()})
    return {file[2]: found[file[:2]] for file in files.values() if file[:2] in found}


def _files(db: Database) -> dict[str, File]:
    return {path: (blob, scanner, module) for path, blob, scanner, module in db.rows(
        "SELECT path, blob, scanner, module FROM files"
    )}  # fmt: skip


def _errors(db: Database) -> dict[str, str]:
    return dict(db.rows("SELECT path, error FROM files WHERE error <> ''"))


def _problems(errors: Mapping[str, str]) -> list[Problem]:
    return [problem(path, error) for path, error in errors.items()]


def problem(path: str, error: str) -> Problem:
    """The error of a file's facts, "line:column: reason", as a Problem."""
    line, column, reason = error.split(":", 2)
    return Problem(path, int(line), int(column), f"{reason.strip().rstrip('.')}.", "It is not in the graph.")


def _readable_names(entries: Sequence[Entry]) -> tuple[list[Entry], list[Problem]]:
    """Without the files whose names are not UTF-8: no Id and no row could hold them. They are reported."""
    good: list[Entry] = []
    odd: list[Problem] = []
    for entry in entries:
        if entry.path.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in entry.path):
            good.append(entry)
        else:
            odd.append(Problem(safe_text(entry.path), 0, 0, "its name is not UTF-8.", "It is not in the graph."))
    return good, odd
