"""Brings graph and index up to the work tree: what changed is replaced, what vanished goes, in one transaction."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, MutableMapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from kl_hooks.code import folded, listed, remembered
from kl_hooks.code.facts import Watch, scan_missing, unwatched
from kl_hooks.code.held import LOST, Held, held, nothing
from kl_hooks.code.imports import Known
from kl_hooks.code.imports_read import scanners_of
from kl_hooks.code.linking import relink
from kl_hooks.code.modules import MARKERS
from kl_hooks.code.named import Named
from kl_hooks.code.naming import decide, imports_of, still_holds
from kl_hooks.code.parse import Facts, Read, lost, no_garbage_collection
from kl_hooks.code.remembered import Key
from kl_hooks.code.resolve import Outline
from kl_hooks.code.stored_names import Stored
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

SPARE: Final = 1000
"""Contents that are remembered though no file has them, beside three for every file: other branches come back."""
FEW: Final = 100
"""Changed files for which the modules that they ask about are looked up one by one."""


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
    entries = files.worktree(repo, (*suffixes, *MARKERS))
    return bring(ws.store, entries, lambda some: files.read(repo, some), scanners, watch)


def bring(
    store: Store, entries: Sequence[Entry], read: Read, scanners: Sequence[Scanner], watch: Watch = unwatched
) -> Scan:
    """The same for any store and any content of the repository; `entries`, by path, hold the marks of projects too."""
    entries, odd = _readable_names(entries)
    known, errors, facts = _known(store, entries, scanners)
    if known.same():
        return Scan(known.files, 0, 0, sorted([*odd, *_problems(errors)]))
    fresh = scan_missing(known.now, known.stale, facts, read, scanners, watch)
    facts = ChainMap(facts, cast("dict[Key, Facts]", fresh))  # only the first of them is ever written to
    if known.part.stamps and not facts.keys() & set(known.stale.values()) and known.as_lost_as_before():
        return Scan(known.files, 0, 0, sorted([*odd, *_problems(errors)]))
    with store.writing("graph") as db, db.transaction(), no_garbage_collection():
        folded.save(db, fresh)
        if not listed.holds(db, known.part):  # somebody else has written meanwhile
            known = held(db, entries, scanners)
        removed = _write(db, known, entries, scanners, facts)
        errors = _errors(db)
    return Scan(known.files, len(fresh), removed, sorted([*odd, *_problems(errors)]))


def _known(
    store: Store, entries: Sequence[Entry], scanners: Sequence[Scanner]
) -> tuple[Held, dict[str, str], MutableMapping[Key, Facts]]:
    """What the graph knows: the files that may have changed, errors of all files, the facts of what is new."""
    with store.reading("graph") as db:
        if db is None:
            return nothing(entries, scanners), {}, {}
        known = held(db, entries, scanners)
        return known, _errors(db), remembered.load(db, known.stale.values(), uses=True)


def _write(
    db: Database,
    known: Held,
    entries: Sequence[Entry],
    scanners: Sequence[Scanner],
    facts: MutableMapping[Key, Facts],
) -> int:
    """Writes what differs; returns how many files are gone. `facts`: what is known of them. Inside one transaction."""
    facts.update(remembered.load(db, set(known.stale.values()) - facts.keys(), uses=True))
    modules = None
    if not _names_hold(db, known, facts):
        known = held(db, entries, scanners, listed.whole(entries))
        modules = decide(db, known.wanted, known.marks, facts)
    absent = {path for path, key in known.stale.items() if key not in facts}
    now = {
        path: (LOST * (path in absent) + blob, scanner, modules.get(path, path) if modules else known.before[path][2])
        for path, (blob, scanner) in known.wanted.items()
    }
    changed = sorted(path for path, file in now.items() if known.before.get(path) != file)
    gone = sorted(known.before.keys() - now.keys())
    facts.update(remembered.load(db, {known.wanted[path] for path in changed} - facts.keys(), uses=True))
    files = {path: now[path] for path in changed}
    few = not known.all and len(changed) <= FEW
    named: Mapping[str, Facts] = Named(facts, {path: (known.wanted[path], file[2]) for path, file in files.items()})
    if few:
        named = dict(named)
    was = _outlines(db, {path: known.before[path] for path in (*gone, *changed) if path in known.before})
    write_files(db, gone, files, named)
    targets = Stored(db) if few else Known(dict(db.rows("SELECT path, module FROM files")))
    relink(db, gone, named, was, targets, len(changed) == known.files)
    listed.note(db, known.part, scanners, now, absent)
    remembered.forget(db, spare=known.files * 3 + SPARE)
    return len(gone)


def _names_hold(db: Database, known: Held, facts: Mapping[Key, Facts]) -> bool:
    """True where all modules are called as before: the paths are the same, and nothing is imported that would tell
    otherwise.
    """
    if not known.same_paths():
        return False
    old = remembered.load(db, {known.before[path][:2] for path in known.stale}, symbols=False)
    new = [facts.get(key) or lost() for key in known.stale.values()]
    return still_holds(db, imports_of(old.values()), imports_of(new))


def _outlines(db: Database, files: Mapping[str, File]) -> dict[str, Outline]:
    """Module → outline, of these files as they were."""
    found = remembered.outlines(db, {file[:2] for file in files.values()})
    return {file[2]: found[file[:2]] for file in files.values() if file[:2] in found}


def _errors(db: Database) -> dict[str, str]:
    return dict(db.rows("SELECT path, error FROM files WHERE error <> ''"))


def _problems(errors: Mapping[str, str]) -> list[Problem]:
    return [problem(path, error) for path, error in errors.items()]


def problem(path: str, error: str) -> Problem:
    """The error of a file's facts, "line:column: reason", as a Problem."""
    line, column, reason = error.split(":", 2)
    return Problem(path, int(line), int(column), f"{reason.strip().rstrip('.')}.", "It is not in the graph.")


def _readable_names(entries: Sequence[Entry]) -> tuple[Sequence[Entry], list[Problem]]:
    """Without the files whose names are not UTF-8: no Id and no row could hold them. They are reported."""
    if all(map(str.isascii, map(itemgetter(0), entries))):
        return entries, []
    good: list[Entry] = []
    odd: list[Problem] = []
    for entry in entries:
        if entry.path.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in entry.path):
            good.append(entry)
        else:
            odd.append(Problem(safe_text(entry.path), 0, 0, "its name is not UTF-8.", "It is not in the graph."))
    return good, odd
