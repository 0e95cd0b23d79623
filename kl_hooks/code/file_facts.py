"""Facts of files: those of their contents, under the names of their modules, with their tests.

Contents never seen before are scanned, many of them in several processes: each reads and scans its share, and gives
facts back. A content that stops its process (Python's own parser can be made to crash) is found by scanning its share
once more, one content a process, and is reported as unreadable; the others lose nothing. No process outlives the one
that forked it, however that ends.

Which functions are tests follows pytest's own defaults, nothing is collected or run: `test_*.py` and `*_test.py`; in
them functions called `test*`, methods called `test*` of classes called `Test*`, and methods called `test*` of classes
that inherit something called `…TestCase`.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from kl_hooks.code import facts_cache
from kl_hooks.code.facts_cache import PackedFacts, pack_facts, store_facts, unpacked_facts
from kl_hooks.code.modules import imported_names, module_names
from kl_hooks.code.scanner.parser import Facts, Key, Read, no_garbage_collection, unavailable_facts, unreadable_facts
from kl_hooks.code.scanner.python import Progress, content_keys, hide_literals, no_progress
from kl_hooks.code.scanner.symbols import namespace_signature
from kl_hooks.errors import KlError
from kl_hooks.model.text import one_line

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

    from kl_hooks.git.files import FileEntry
    from kl_hooks.hookspecs import Scanner
    from kl_hooks.store.store import Store


Row = list[Any]


def is_test_file(path: str) -> bool:
    """True for a file that pytest would look into."""
    name = path.rpartition("/")[2]
    return name.endswith("_test.py") or (name.startswith("test_") and name.endswith(".py"))


def test_rows(path: str, symbols: Sequence[Row], bases: Mapping[str, Sequence[str]]) -> list[Row]:
    """A row as those of `symbols` for each test, its Id as pytest would call it, with the function's Id at the end.

    `bases`: class → the expressions of its bases (see `code.uses`).
    """
    if not is_test_file(path) or not symbols:
        return []
    module = symbols[0][0].partition(":")[2]
    found = []
    for row in symbols:
        prefix, _, name = row[0].partition(":")
        parts = name[len(module) + 1 :].split(".")
        if prefix not in ("function", "method") or not parts[-1].startswith("test") or "<locals>" in parts:
            continue
        if all(_collected(".".join(parts[:depth]), bases) for depth in range(1, len(parts))):
            found.append([f"test:{path}::{'::'.join(parts)}", *row[1:], row[0]])
    return found


def _collected(name: str, bases: Mapping[str, Sequence[str]]) -> bool:
    return name.rpartition(".")[2].startswith("Test") or any(base.endswith("TestCase") for base in bases.get(name, ()))


UNNAMED: Final = "_"
"""The module that every content is scanned as: facts are remembered by content, and named afterwards."""


def facts_under(facts: Facts, module: str, path: str) -> Facts:
    """The facts of a content as those of a file, with its tests (see `code.tests_found`) under the key `tests`."""
    return {**facts, **_renamed(facts, module, path)}


def _renamed(facts: Facts, module: str, path: str) -> Facts:
    """Of these only what differs from the facts of the content: `symbols` and `tests`."""
    symbols = []
    for identifier, line, end_line, signature, doc, content_hash in facts["symbols"]:
        prefix, _, name = identifier.partition(":")
        shown = namespace_signature(module) if prefix == "namespace" else signature
        identifier = f"{prefix}:{module}{name.removeprefix(UNNAMED)}"
        symbols.append([identifier, line, end_line, shown, doc, content_hash])
    tests = []
    if symbols and is_test_file(path) and facts["outline"]:
        tests = test_rows(path, symbols, facts["outline"].get("bases", {}))
    return {"symbols": symbols, "tests": tests}


class FilesFacts(Mapping[str, Facts]):
    """Path → facts as `facts_under` gives them, made anew, and only as far as they are asked for, each time."""

    def __init__(self, facts: Mapping[Key, Facts], files: Mapping[str, tuple[Key, str]]) -> None:
        """`files`: path → its content and its module. What is not among the facts could not be had."""
        self._facts, self._files = facts, files

    def __getitem__(self, path: str) -> Facts:
        key, module = self._files[path]
        return cast("Facts", _FactsUnder(self._facts.get(key) or unavailable_facts(), module, path))

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


class _FactsUnder(dict[str, Any]):
    def __init__(self, facts: Facts, module: str, path: str) -> None:
        super().__init__()
        self._facts, self._module, self._path = facts, module, path

    def __missing__(self, part: str) -> Any:
        if part in ("symbols", "tests"):
            self.update(_renamed(self._facts, self._module, self._path))
        else:
            self[part] = self._facts[part]  # type: ignore[literal-required]
        return self[part]


_SHARE: Final = 40
_WORK: list[Callable[[Sequence[Any]], list[Any]]] = []
"""What the processes do; set before they are forked, so that nothing of it must be sent."""

Scan = Callable[[Sequence[Any]], list[Any]]
"""Items → a result for each that has one."""


def processes() -> int:
    """How many processes may be forked for this: none where that is unsafe (threads), unusual, or no gain."""
    # fork copies the calling thread alone: a lock that another one holds is never released in the copy, which is why
    # CPython 3.12 warns. On macOS system libraries start threads, so spawn is the default there since 3.8
    if not sys.platform.startswith("linux") or threading.active_count() > 1:
        return 0
    # not cpu_count(): a container or taskset may allow fewer processors than there are
    return min(len(os.sched_getaffinity(0)), 8) if len(os.sched_getaffinity(0)) > 1 else 0


def scan_in_processes(items: Sequence[Any], scan: Scan, crashed: Callable[[Any], Any], count: int = 0) -> Iterator[Any]:
    """The results for all items, in the order of the items' shares; `crashed(item)` for one that stops its process."""
    from concurrent.futures.process import BrokenProcessPool  # imported late: an edit of one file never needs it

    shares = [items[start : start + _SHARE] for start in range(0, len(items), _SHARE)]
    _WORK.append(scan)
    try:
        broken = []
        with _executor(count or processes() or 1) as executor:
            waiting: list[tuple[Sequence[Any], Future[list[Any]]]] = [(s, executor.submit(_share, s)) for s in shares]
            for share, future in waiting:
                try:
                    yield from future.result()
                except BrokenProcessPool:
                    # a broken pool fails all that it has not done yet, so the share that broke it is not known
                    broken.append(share)
        for share in broken:
            for item in share:
                yield from _alone(item, crashed)
    finally:
        _WORK.pop()


def _executor(count: int) -> ProcessPoolExecutor:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # by name: CPython 3.14 no longer forks by default, and the other methods would have to pickle what is in _WORK
    return ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("fork"), initializer=_end_with_parent)


def _end_with_parent() -> None:
    """Waits in the background for the end of the process that forked this one, which would never hear of it else."""
    threading.Thread(target=_wait_and_end, daemon=True).start()


def _wait_and_end() -> None:
    import multiprocessing

    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        # sys.exit() in a thread ends the thread only
        os._exit(1)


def _share(share: Sequence[Any]) -> list[Any]:
    return _WORK[-1](share)


def _alone(item: Any, crashed: Callable[[Any], Any]) -> list[Any]:
    from concurrent.futures.process import BrokenProcessPool

    with _executor(1) as executor:
        try:
            return executor.submit(_share, [item]).result()
        except BrokenProcessPool:
            return [crashed(item)]


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
    known: facts_cache.KnownFacts = {}
    trouble: list[str] = []
    wanted = content_keys(entries, scanners)
    try:
        known = facts_cache.stored_facts(store, set(wanted.values()), symbols) if store else {}
    except Exception as problem:  # whatever is wrong with the store, the files can be read again
        trouble.append(_reason(problem))
    fresh = scan_missing(entries, wanted, known, read, scanners)
    new = unpacked_facts(fresh)
    try:
        if store and fresh and not trouble:
            store_facts(store, fresh)
    except Exception as problem:  # the same: what is not remembered is read again next time
        trouble.append(_reason(problem))
    if trouble and warn:
        warn(f"the graph database could not be used, so files were read anew: {trouble[0]}")
    return named_facts({path: new.get(key) or known.get(key) or unavailable_facts() for path, key in wanted.items()})


def modules_of(facts: Mapping[str, Facts]) -> dict[str, str]:
    """Path → module of these files, decided by their paths and by what they import."""
    return module_names(list(facts), imported_names(facts.values()))


def named_facts(facts: Mapping[str, Facts]) -> dict[str, Facts]:
    """The facts of contents as those of files: every Id under its module's name."""
    modules = modules_of(facts)
    return {path: facts_under(one, modules.get(path, path), path) for path, one in facts.items()}


def scan_missing(
    entries: Sequence[FileEntry], wanted: Mapping[str, Key], known: Mapping[Key, Facts],
    read: Read, scanners: Sequence[Scanner], watch: Progress = no_progress,
) -> Mapping[Key, Facts]:  # fmt: skip
    """Scan the contents that are not known, each once. What can't be read is omitted, so that it is tried again.

    `watch` is given what is made of the contents, as it comes, and the number of contents; it hands it on. The facts of
    many are unpacked one after the other (see `facts_cache`): ask for their parts by name.
    """
    missing = {wanted[e.path]: e for e in entries if e.path in wanted and wanted[e.path] not in known}
    if not missing:
        return {}
    by_version = {scanner.version: scanner for scanner in scanners}

    def scan(some: Sequence[FileEntry]) -> Iterator[tuple[Key, Facts]]:
        with no_garbage_collection():
            for entry, content in read(some):
                key = wanted[entry.path]
                yield key, _redacted(cast("Facts", by_version[key[1]].scan(content, entry.path, UNNAMED)))

    items = list(missing.values())
    if len(items) < MANY:
        return dict(watch(scan(items), len(items)))

    def folded(some: Sequence[FileEntry]) -> Iterator[tuple[Key, bytes]]:
        return ((key, pack_facts(facts)) for key, facts in scan(some))

    made: Iterator[tuple[Key, bytes]] = folded(items)
    if processes():
        made = scan_in_processes(
            items, lambda some: list(folded(some)), lambda e: (wanted[e.path], pack_facts(crashed_facts()))
        )
    return PackedFacts(watch(made, len(items)))


def crashed_facts() -> Facts:
    """The facts of a file that nobody survives reading."""
    return unreadable_facts("0:0: Python's parser does not survive it")


def _reason(problem: Exception) -> str:
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
