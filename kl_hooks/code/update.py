"""What changed is read, and replaced in the graph: in one transaction. Imported only where something did change."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Final, cast

from kl_hooks.code import folded, listed, remembered
from kl_hooks.code.facts import scan_missing
from kl_hooks.code.held import LOST, Held, errors_of, held
from kl_hooks.code.imports import Known
from kl_hooks.code.linking import relink
from kl_hooks.code.named import Named
from kl_hooks.code.naming import decide, imports_of, note, still_holds
from kl_hooks.code.newcomers import newcomers
from kl_hooks.code.parse import Facts, Read, lost, no_garbage_collection
from kl_hooks.code.remembered import Key
from kl_hooks.code.stored_names import Stored
from kl_hooks.code.wanted import Watch
from kl_hooks.code.writing import File, write_files

if TYPE_CHECKING:
    from kl_hooks.code.laid_out import LaidOut
    from kl_hooks.code.resolve import Outline
    from kl_hooks.git.files import FileEntry
    from kl_hooks.hookspecs import Scanner
    from kl_hooks.store.database import Database
    from kl_hooks.store.store import Store

SPARE: Final = 1000
"""Contents that are remembered though no file has them, beside three for every file: other branches come back."""
FEW: Final = 100
"""Changed files for which the modules that they ask about are looked up one by one."""


def update(
    store: Store,
    known: Held,
    facts: remembered.Known,
    entries: Sequence[FileEntry],
    read: Read,
    scanners: Sequence[Scanner],
    watch: Watch,
) -> tuple[int, int, dict[str, str]] | None:
    """Makes the graph hold `entries`, of all files: how many contents were read, how many files are gone, all errors.

    `known`: what differs; `facts`: what is remembered of it. None where nothing had to be written.
    """
    fresh = scan_missing(known.now, known.stale, facts, read, scanners, watch)
    both: MutableMapping[Key, Facts] = ChainMap(facts, cast("dict[Key, Facts]", fresh))  # only the first is written to
    if known.part.stamps and not both.keys() & set(known.stale.values()) and known.as_lost_as_before():
        return None
    ready = None
    if isinstance(fresh, folded.Folded) and not known.before:
        from kl_hooks.code.laid_out import laid_out

        ready = laid_out(known, both)
    with store.writing("graph") as db, db.transaction(), no_garbage_collection():
        folded.save(db, fresh)
        if not listed.holds(db, known.part):  # somebody else has written meanwhile
            known = held(db, entries, scanners)
        removed = _write(db, known, entries, scanners, both, ready)
        return len(fresh), removed, errors_of(db)


def _write(
    db: Database, known: Held, entries: Sequence[FileEntry], scanners: Sequence[Scanner],
    facts: MutableMapping[Key, Facts], ready: LaidOut | None,
) -> int:  # fmt: skip
    """Writes what differs; returns how many files are gone. `facts`: what is known of them. Inside one transaction."""
    facts.update(remembered.load(db, set(known.stale.values()) - facts.keys(), uses=True))
    came = _came(db, known, facts)
    modules = {path: file[2] for path, file in known.before.items()} | (came or {})
    if came is None:
        known = held(db, entries, scanners, listed.whole(entries))
        ready = ready if ready and ready.fits(known, facts) else None
        modules = note(db, ready.decision, known.marks) if ready else decide(db, known.wanted, known.marks, facts)
    absent = {path for path, key in known.stale.items() if key not in facts}
    now = {
        path: (LOST * (path in absent) + blob, scanner, modules.get(path, path))
        for path, (blob, scanner) in known.wanted.items()
    }
    changed = sorted(path for path, file in now.items() if known.before.get(path) != file)
    gone = sorted(known.before.keys() - now.keys())
    facts.update(remembered.load(db, {known.wanted[path] for path in changed} - facts.keys(), uses=True))
    files = {path: now[path] for path in changed}
    if came is None and ready:
        from kl_hooks.code.laid_out import write_rows

        write_rows(db, ready, files)
    else:
        _replace(db, known, facts, files, gone)
    listed.note(db, known.part, scanners, now, absent)
    remembered.forget(db, spare=known.files * 3 + SPARE)
    return len(gone)


def _replace(
    db: Database, known: Held, facts: Mapping[Key, Facts], files: Mapping[str, File], gone: Sequence[str]
) -> None:
    """Writes the rows of these files, and the links that are others because of them."""
    few = not known.all and len(files) <= FEW
    named: Mapping[str, Facts] = Named(facts, {path: (known.wanted[path], file[2]) for path, file in files.items()})
    if few:
        named = dict(named)
    was = _outlines(db, {path: known.before[path] for path in (*gone, *files) if path in known.before})
    write_files(db, gone, files, named)
    targets = Stored(db) if few else Known(dict(db.rows("SELECT path, module FROM files")))
    relink(db, gone, named, was, targets, len(files) == known.files)


def _came(db: Database, known: Held, facts: Mapping[Key, Facts]) -> dict[str, str] | None:
    """Path → module of the files that came; None where others may be called otherwise: paths decide that, and what is
    imported.
    """
    if known.marks != known.known_marks or not known.part.stamps:
        return None
    stale = known.stale
    went = {path: file[2] for path, file in known.before.items() if path not in known.wanted}
    before = remembered.load(db, {known.before[p][:2] for p in (*stale, *went) if p in known.before}, symbols=False)
    old, new = imports_of(before.values()), imports_of([facts.get(key) or lost() for key in stale.values()])
    if not still_holds(db, old, new):
        return None
    came = stale.keys() - known.before.keys()
    return newcomers(db, came, went, stale, new) if came or went else {}


def _outlines(db: Database, files: Mapping[str, File]) -> dict[str, Outline]:
    """Module → outline, of these files as they were."""
    found = remembered.outlines(db, {file[:2] for file in files.values()})
    return {file[2]: found[file[:2]] for file in files.values() if file[:2] in found}
