"""Facts of files by their content: read once per blob, remembered in the graph database, usable without any store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.code import remembered
from kl_hooks.code.folded import Folded, fold, keep, whole
from kl_hooks.code.imports_read import hide_literals
from kl_hooks.code.modules import imported_names, module_names
from kl_hooks.code.named import UNNAMED, under
from kl_hooks.code.parse import Facts, Read, lost, no_garbage_collection, unread
from kl_hooks.code.wanted import Watch, keys, unwatched
from kl_hooks.errors import KlError
from kl_hooks.model.text import one_line

if TYPE_CHECKING:
    from kl_hooks.git.files import FileEntry
    from kl_hooks.hookspecs import Scanner
    from kl_hooks.store.store import Store

MANY: Final = 200
"""Contents from which on a second process pays."""


def facts_of(
    store: Store | None, entries: Sequence[FileEntry], read: Read, scanners: Sequence[Scanner], *,
    symbols: bool = True, warn: Callable[[str], None] | None = None,
) -> dict[str, Facts]:  # fmt: skip
    """Path → facts (see `code.scan`) of every entry that a scanner knows, Ids named by `modules_of`.

    Only contents never seen before are parsed; what was parsed is remembered in the graph database (a damaged one is
    built anew). Without a store, or with one that can't be used (locked, read-only), everything still is answered,
    parsed in memory; `warn` then gets one line. `symbols=False` leaves the symbols of remembered files empty: imports
    alone load faster.
    """
    known: remembered.Known = {}
    trouble: list[str] = []
    wanted = keys(entries, scanners)
    try:
        known = remembered.look_up(store, set(wanted.values()), symbols) if store else {}
    except Exception as problem:  # whatever ails a store, what the files say can be read from the files
        trouble.append(_told(problem))
    fresh = scan_missing(entries, wanted, known, read, scanners)
    new = whole(fresh)
    try:
        if store and fresh and not trouble:
            keep(store, fresh)
    except Exception as problem:  # the same: what is not remembered is read again next time
        trouble.append(_told(problem))
    if trouble and warn:
        warn(f"the graph database could not be used, so files were read anew: {trouble[0]}")
    return named({path: new.get(key) or known.get(key) or lost() for path, key in wanted.items()})


def modules_of(facts: Mapping[str, Facts]) -> dict[str, str]:
    """Path → module of these files, decided by their paths and by what they import."""
    return module_names(list(facts), imported_names(facts))


def named(facts: Mapping[str, Facts]) -> dict[str, Facts]:
    """The facts of contents as those of files: every Id under its module's name."""
    modules = modules_of(facts)
    return {path: under(one, modules.get(path, path), path) for path, one in facts.items()}


def scan_missing(
    entries: Sequence[FileEntry], wanted: Mapping[str, remembered.Key], known: Mapping[remembered.Key, Facts],
    read: Read, scanners: Sequence[Scanner], watch: Watch = unwatched,
) -> Mapping[remembered.Key, Facts]:  # fmt: skip
    """Scans the contents that are not known, each once. What can't be read is left out, so that it is tried again.

    `watch` is given what is made of the contents, as it comes, and the number of contents; it hands it on. The facts of
    many are unfolded one after the other (see `code.folded`): ask for their parts by name.
    """
    missing = {wanted[e.path]: e for e in entries if e.path in wanted and wanted[e.path] not in known}
    if not missing:
        return {}
    by_version = {scanner.version: scanner for scanner in scanners}

    def scan(some: Sequence[FileEntry]) -> Iterator[tuple[remembered.Key, Facts]]:
        with no_garbage_collection():
            for entry, content in read(some):
                key = wanted[entry.path]
                yield key, _redacted(by_version[key[1]].scan(content, entry.path, UNNAMED))

    items = list(missing.values())
    if len(items) < MANY:
        return dict(watch(scan(items), len(items)))
    from kl_hooks.code.pool import processes, scan_in_processes

    def folded(some: Sequence[FileEntry]) -> Iterator[tuple[remembered.Key, bytes]]:
        return ((key, fold(facts)) for key, facts in scan(some))

    made: Iterator[tuple[remembered.Key, bytes]] = folded(items)
    if processes():
        made = scan_in_processes(items, lambda some: list(folded(some)), lambda e: (wanted[e.path], fold(fatal())))
    return Folded(watch(made, len(items)))


def fatal() -> Facts:
    """The facts of a file that nobody survives reading."""
    return unread("0:0: Python's parser does not survive it")


def _told(problem: Exception) -> str:
    return str(problem) if isinstance(problem, KlError) else f"{type(problem).__name__}: {one_line(str(problem))}"


def _redacted(facts: Facts) -> Facts:
    """The same facts without secrets where source holds free text: docstrings, defaults, values, literal names.

    Names stay as they are: code is addressed by them, and some look as random as a token.
    """
    from kl_hooks.store.redaction import redact

    marks = facts["decorators"]
    literal = [row for row in facts["imports"] if row[4] == "dynamic import"]
    texts = [row[index] for row in facts["symbols"] for index in (3, 4)] + [row[5] for row in literal]
    texts += [mark for some in marks.values() for mark in some]
    whole = "\n".join(texts)
    if redact(whole) == whole:  # one look at all of them: nearly every file ends here
        return facts
    for row in facts["symbols"]:
        before, bracket, after = row[3].partition("(")
        row[3] = redact(row[3]) if row[0].startswith("field:") else before + bracket + redact(after)
        row[4] = redact(row[4])
    hide_literals(literal)
    for place, some in marks.items():
        marks[place] = [redact(mark) for mark in some]
    return facts
