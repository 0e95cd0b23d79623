"""The facts of files: scanned once per content, in processes where they are many, and cached in the
graph database.

The cache has a row per content and scanner. The facts of thousands of contents do not fit into a
small memory: what a process that scans gives back is packed into bytes that are ready to be
written; in between it lies in a temporary file, and of each content only the parts that are asked
for are unpacked.
"""

from __future__ import annotations

import json
import os
import re
import struct
import sys
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from io import BytesIO
from itertools import accumulate, pairwise
from typing import IO, TYPE_CHECKING, Any, Final, cast

from kl_hooks.code.languages import (
    Progress,
    content_keys,
    hide_literals,
    literals_of,
    no_progress,
    test_mark,
)
from kl_hooks.code.modules import imported_names, module_names
from kl_hooks.code.scanner.parser import (
    Facts,
    Key,
    Outline,
    Read,
    no_garbage_collection,
    unavailable_facts,
    unreadable_facts,
)
from kl_hooks.code.scanner.symbols import namespace_signature
from kl_hooks.errors import KlError
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.text import one_line
from kl_hooks.store.database import Rows, chunks, placeholders

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

    from kl_hooks.git.files import FileEntry
    from kl_hooks.hookspecs import Scanner
    from kl_hooks.store.store import Store


KnownFacts = dict[Key, Facts]
_SYMBOL_PARTS: Final = ("symbols", "words", "decorators", "text")
"""The parts of facts that share one column."""
PARTS: Final = ("error", *_SYMBOL_PARTS, "imports", "uses", "outline", "names")
"""All parts of facts."""


class Columns(NamedTuple):
    """The facts of a content as the database keeps them: compressed JSON, but for the error."""

    error: str
    imports: bytes
    symbols: bytes
    uses: bytes
    outline: bytes
    names: bytes


def _stored_facts(
    store: Store, wanted: Iterable[Key], load_stored: Callable[[Rows, Iterable[Key]], KnownFacts]
) -> KnownFacts:
    """What the store knows of these contents; nothing where there is no database yet. KlError if it
    can't be read.
    """
    from kl_hooks.code.plugin import CODE  # with pluggy; most commands look at no file

    with store.reading("graph", (CODE,)) as db:
        if db is None:
            return {}
        return load_stored(db, wanted)


def load(db: Rows, wanted: Iterable[Key], symbols: bool = True, uses: bool = False) -> KnownFacts:
    """What the database knows of these contents: errors and imports; symbols, and uses with
    outlines, if wanted.

    A row that can't be read is as good as none.
    """
    columns = ["error", "imports", "symbols" if symbols else "''"]
    columns += ["uses", "outline", "names"] if uses else ["''"] * 3
    return _loaded(db, wanted, columns)


def load_definitions(db: Rows, wanted: Iterable[Key]) -> KnownFacts:
    """The same of errors, symbols and names alone."""
    return _loaded(db, wanted, ["error", "''", "symbols", "''", "''", "names"])


def _loaded(db: Rows, wanted: Iterable[Key], columns: Sequence[str]) -> KnownFacts:
    facts_by_key: KnownFacts = {}
    for scanner, blobs in _by_scanner(wanted):
        sql = (
            f"SELECT blob, {', '.join(columns)} FROM facts WHERE scanner = ? AND blob IN"
            f" ({placeholders(blobs)})"
        )
        for blob, *row in db.rows(sql, (scanner, *blobs)):
            facts = _facts(*row)
            if facts is not None:
                facts_by_key[blob, scanner] = facts
    return facts_by_key


def outlines(db: Rows, wanted: Iterable[Key]) -> dict[Key, Outline]:
    """Content → its outline (see `code.scanner.references`), of those that are known."""
    outline_of = {}
    for scanner, blobs in _by_scanner(wanted):
        sql = (
            f"SELECT blob, outline FROM facts WHERE scanner = ? AND blob IN ({placeholders(blobs)})"
        )
        for blob, text in db.rows(sql, (scanner, *blobs)):
            with suppress(ValueError, zlib.error):
                outline_of[blob, scanner] = _unpacked(text)
    return outline_of


class Outlines:
    """Outlines by module: those of changed files as given, others read when somebody asks."""

    def __init__(self, db: Rows, outlines: Mapping[str, Outline]) -> None:
        self._db = db
        self._known: dict[str, Outline | None] = dict(outlines)

    def of(self, module: str) -> Outline | None:
        """The outline of a module; None for one that has none."""
        if module not in self._known:
            sql = "SELECT blob, scanner FROM files WHERE module = ?"
            keys = [(blob, scanner) for blob, scanner in self._db.rows(sql, (module,))]
            self._known[module] = next(iter(outlines(self._db, keys).values()), None)
        return self._known[module] or None


def save_facts(db: Rows, fresh: Mapping[Key, Facts]) -> None:
    """Write facts, packed ones as they are; call it inside a transaction. What is there already is
    replaced.
    """
    names = "blob, scanner, error, imports, symbols, uses, outline, names"
    if isinstance(fresh, PackedFacts):
        packed = fresh
    else:
        packed = None
    rows = (
        (*key, *(packed.columns(key) if packed else columns_of(fresh[key])))
        for key in sorted(fresh)
    )
    db.many(f"INSERT OR REPLACE INTO facts ({names}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)


def columns_of(facts: Facts) -> Columns:
    """Facts as the database keeps them."""
    return Columns(
        facts["error"],
        _packed(facts["imports"]),
        _packed([facts[part] for part in _SYMBOL_PARTS]),
        _packed(facts["uses"]),
        _packed(facts["outline"]),
        _packed(facts["names"]),
    )


def _facts(
    error: str, imports: bytes, symbols: bytes, uses: bytes, outline: bytes, names: bytes
) -> Facts | None:
    try:
        symbol_table, words, decorators, text = _unpacked(symbols) if symbols else ([], [], {}, [])
        return {
            "error": error,
            "symbols": symbol_table,
            "words": words,
            "imports": _unpacked(imports) if imports else [],
            "decorators": decorators,
            "uses": _unpacked(uses) if uses else {},
            "outline": _unpacked(outline) if outline else {},
            "names": _unpacked(names) if names else "",
            "text": text,
        }
    except (ValueError, TypeError, zlib.error):
        return None


def _by_scanner(wanted: Iterable[Key]) -> Iterator[tuple[str, Sequence[str]]]:
    by_scanner: dict[str, list[str]] = {}
    for blob, scanner in sorted(set(wanted)):
        by_scanner.setdefault(scanner, []).append(blob)
    for scanner, blobs in by_scanner.items():
        for batch in chunks(blobs):
            yield scanner, batch


# made once: json.dumps makes an encoder for each call unless all its options are the defaults
_json: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


_LEVEL: Final = 4
"""Of compression: a higher one takes longer than it saves in writing."""


def _packed(part: Any) -> bytes:
    return zlib.compress(_json(part).encode("utf-8", "surrogatepass"), _LEVEL)


def _unpacked(column: bytes) -> Any:
    return json.loads(zlib.decompress(column).decode("utf-8", "surrogatepass"))


_JSON: Final = Columns._fields[1:]
"""The columns but the error."""
_SIZES: Final = struct.Struct(f"<{len(_JSON)}I")


def pack_facts(facts: Facts) -> bytes:
    """The facts of a content as the bytes that `PackedFacts` keeps."""
    error, *others = columns_of(facts)
    return b"".join(
        (_SIZES.pack(*map(len, others)), *others, error.encode("utf-8", "surrogatepass"))
    )


class TempBlobFile(Iterable[bytes]):
    """Pieces of bytes, one after the other in a file without a name, deleted with this object."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._file = _file()
        self._ends = [0]
        for piece in pieces:
            if not self._put(piece):
                self._go_to_memory()
                self._put(piece)
            self._ends.append(self._ends[-1] + len(piece))

    def _put(self, piece: bytes) -> bool:
        try:
            # an unbuffered file may write only a part and raise nothing (RawIOBase.write)
            return self._file.write(piece) == len(piece)
        except OSError:  # the disk is full
            return False

    def _go_to_memory(self) -> None:
        memory = BytesIO(b"".join(self))
        memory.seek(0, os.SEEK_END)
        self._file.close()
        self._file = memory

    def at(self, place: int) -> bytes:
        """One of the pieces. Processes that share the file may ask at once."""
        start, end = self._ends[place : place + 2]
        if isinstance(self._file, BytesIO):
            return bytes(self._file.getbuffer()[start:end])
        # a process that was forked shares the position in the file (fork(2)): no seek, which others
        # would move
        return os.pread(self._file.fileno(), end - start, start)

    def __iter__(self) -> Iterator[bytes]:
        return map(self.at, range(len(self._ends) - 1))

    def __del__(self) -> None:
        self._file.close()


class PackedFacts(Mapping[Key, Facts]):
    """Content → its facts, which lie in a pile until they are asked for."""

    def __init__(self, packed: Iterable[tuple[Key, bytes]]) -> None:
        self._places: dict[Key, int] = {}
        self._pile = TempBlobFile(self._put(packed))

    def _put(self, packed: Iterable[tuple[Key, bytes]]) -> Iterator[bytes]:
        for place, (key, folded) in enumerate(packed):
            self._places[key] = place
            yield folded

    def columns(self, key: Key) -> Columns:
        """The same facts as the database keeps them. KeyError for none of the contents."""
        *others, error = self._columns(key)
        return Columns(_text(error), *others)

    def _columns(self, key: Key) -> list[bytes]:
        """The columns, the error last."""
        whole = self._pile.at(self._places[key])
        ends = [*accumulate(_SIZES.unpack_from(whole), initial=_SIZES.size)]
        return [*(whole[start:end] for start, end in pairwise(ends)), whole[ends[-1] :]]

    def __getitem__(self, key: Key) -> Facts:
        return cast("Facts", _LazyFacts(self._columns(key)))

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __iter__(self) -> Iterator[Key]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _file() -> IO[bytes]:
    """A file deleted when it is closed, unbuffered because processes share it; memory where there
    is no disk.
    """
    from tempfile import TemporaryFile

    try:
        return TemporaryFile(buffering=0)
    except OSError:
        return BytesIO()


class _LazyFacts(dict[str, Any]):
    """Facts of which each part is read when it is asked for by its name."""

    def __init__(self, columns: list[bytes]) -> None:
        *self._json, error = columns
        super().__init__(error=_text(error))

    def __missing__(self, part: str) -> Any:
        if part in _SYMBOL_PARTS:
            self.update(zip(_SYMBOL_PARTS, self._read("symbols"), strict=True))
        else:
            self[part] = self._read(part)
        return self[part]

    def _read(self, part: str) -> Any:
        return _unpacked(self._json[_JSON.index(part)])


def _text(folded: bytes) -> str:
    return folded.decode("utf-8", "surrogatepass")


def unpacked_facts(facts: Mapping[Key, Facts]) -> Mapping[Key, Facts]:
    """The same facts with all their parts, for who keeps them all anyway."""
    if not isinstance(facts, PackedFacts):
        return facts
    return {key: cast("Facts", {part: one[part] for part in PARTS}) for key, one in facts.items()}


def store_facts(store: Store, fresh: Mapping[Key, Facts]) -> None:
    """Remembers what was read. KlError if the store can't be written."""
    with store.writing("graph") as db, db.transaction():
        save_facts(db, fresh)


Row = list[Any]


def _is_test_file(path: str) -> bool:
    """True for a file that pytest would look into."""
    name = path.rpartition("/")[2]
    return name.endswith("_test.py") or (name.startswith("test_") and name.endswith(".py"))


def test_rows(path: str, symbols: Sequence[Row], bases: Mapping[str, Sequence[str]]) -> list[Row]:
    """A row as those of `symbols` for each test, its Id as pytest would call it, with the
    function's Id at the end.

    `bases`: class → the expressions of its bases (see `code.scanner.references`).
    """
    if not _is_test_file(path) or not symbols:
        return []
    module = symbols[0][0].partition(":")[2]
    rows = []
    for row in symbols:
        prefix, _, name = row[0].partition(":")
        parts = name[len(module) + 1 :].split(".")
        if (
            prefix not in ("function", "method")
            or not parts[-1].startswith("test")
            or "<locals>" in parts
        ):
            continue
        if all(_collected(".".join(parts[:depth]), bases) for depth in range(1, len(parts))):
            rows.append([f"test:{path}::{'::'.join(parts)}", *row[1:], row[0]])
    return rows


def marked_test_rows(
    path: str, symbols: Sequence[Row], marks: Mapping[str, Sequence[str]], pattern: str
) -> list[Row]:
    """The same of a language where attributes mark tests: `test:src/cart.rs::tests::has_a_total`.

    `marks`: place of a symbol → what is written before it.
    """
    rows = []
    for place, attributes in marks.items():
        row = symbols[int(place)]
        prefix, _, name = row[0].partition(":")
        if prefix == "function" and any(re.match(pattern, mark) for mark in attributes):
            parts = name.partition("#")[2].split(".")
            rows.append([f"test:{path}::{'::'.join(parts)}", *row[1:], row[0]])
    return rows


def _collected(name: str, bases: Mapping[str, Sequence[str]]) -> bool:
    return name.rpartition(".")[2].startswith("Test") or any(
        base.endswith("TestCase") for base in bases.get(name, ())
    )


UNNAMED: Final = "_"
"""The module that every content is scanned as: facts are remembered by content, and named
afterwards.
"""
_MODULE: Final = f"namespace:{UNNAMED}"


def facts_under(facts: Facts, module: str, path: str) -> Facts:
    """The facts of a content as those of a file, with its tests (see `test_rows`) under the
    key `tests`.
    """
    return {**facts, **_renamed(facts, module, path)}


def _renamed(facts: Facts, module: str, path: str) -> Facts:
    """Of these only what differs from the facts of the content: `symbols` and `tests`."""
    symbols = []
    for identifier, line, end_line, signature, doc, content_hash in facts["symbols"]:
        prefix, _, name = identifier.partition(":")
        if identifier == _MODULE:
            shown = namespace_signature(module)
        else:
            shown = signature
        identifier = f"{prefix}:{module}{name.removeprefix(UNNAMED)}"
        symbols.append([identifier, line, end_line, shown, doc, content_hash])
    tests = []
    if symbols and _is_test_file(path) and facts["outline"]:
        tests = test_rows(path, symbols, facts["outline"].get("bases", {}))
    elif pattern := test_mark(path):
        tests = marked_test_rows(path, symbols, facts["decorators"], pattern)
    return {"symbols": symbols, "tests": tests}


class FilesFacts(Mapping[str, Facts]):
    """Path → facts as `facts_under` gives them, made anew, and only as far as they are asked for,
    each time.
    """

    def __init__(self, facts: Mapping[Key, Facts], files: Mapping[str, tuple[Key, str]]) -> None:
        """`files`: path → its content and its module.

        What is not among the facts could not be had.
        """
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
        self._facts = facts
        self._module = module
        self._path = path

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
    """How many processes may be forked for this: none where that is unsafe (threads), unusual, or
    no gain.
    """
    # fork copies the calling thread alone: a lock that another one holds is never released in the
    # copy, which is why CPython 3.12 warns. On macOS system libraries start threads, so spawn is
    # the default there since 3.8
    if not sys.platform.startswith("linux") or threading.active_count() > 1:
        return 0
    # not cpu_count(): a container or taskset may allow fewer processors than there are
    if len(os.sched_getaffinity(0)) > 1:
        return min(len(os.sched_getaffinity(0)), 8)
    return 0


def scan_in_processes(
    items: Sequence[Any], scan: Scan, crashed: Callable[[Any], Any], count: int = 0
) -> Iterator[Any]:
    """The results for all items, in the order of the items' shares; `crashed(item)` for one that
    stops its process.
    """
    # imported late: an edit of one file never needs it
    from concurrent.futures.process import BrokenProcessPool

    shares = [items[start : start + _SHARE] for start in range(0, len(items), _SHARE)]
    _WORK.append(scan)
    try:
        broken = []
        with _executor(count or processes() or 1) as executor:
            waiting: list[tuple[Sequence[Any], Future[list[Any]]]] = [
                (s, executor.submit(_share, s)) for s in shares
            ]
            for share, future in waiting:
                try:
                    yield from future.result()
                except BrokenProcessPool:
                    # a broken pool fails all that it has not done yet, so the share that broke it
                    # is not known
                    broken.append(share)
        for share in broken:
            for item in share:
                yield from _alone(item, crashed)
    finally:
        _WORK.pop()


def _executor(count: int) -> ProcessPoolExecutor:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # by name: CPython 3.14 no longer forks by default, and the other methods would have to pickle
    # what is in _WORK
    return ProcessPoolExecutor(
        count, mp_context=multiprocessing.get_context("fork"), initializer=_end_with_parent
    )


def _end_with_parent() -> None:
    """Waits in the background for the end of the process that forked this one, which would never
    hear of it else.
    """
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
    store: Store | None,
    entries: Sequence[FileEntry],
    read: Read,
    scanners: Sequence[Scanner],
    *,
    symbols: bool = True,
    warn: Callable[[str], None] | None = None,
) -> dict[str, Facts]:
    """Path → facts (see `code.scanner.python`) of every entry that a scanner knows, Ids named by
    `modules_of`.

    Only contents never seen before are parsed; what was parsed is remembered in the graph database
    (a damaged one is built anew). Without a store, or with one that can't be used (locked,
    read-only), everything still is answered, parsed in memory; `warn` then gets one line.
    `symbols=False` leaves the symbols of remembered files empty: imports alone load faster.
    """

    def load_stored(db: Rows, keys: Iterable[Key]) -> KnownFacts:
        return load(db, keys, symbols, uses=symbols)

    return named_facts(_facts_of_contents(store, entries, read, scanners, load_stored, warn))


def definitions_of(
    store: Store | None, entries: Sequence[FileEntry], read: Read, scanners: Sequence[Scanner]
) -> dict[str, Facts]:
    """The same with what is defined and which names are used alone, which loads faster: the other
    parts of remembered files are empty. Ids begin with `UNNAMED`, whatever the module.
    """
    return _facts_of_contents(store, entries, read, scanners, load_definitions, None)


def _facts_of_contents(
    store: Store | None,
    entries: Sequence[FileEntry],
    read: Read,
    scanners: Sequence[Scanner],
    load_stored: Callable[[Rows, Iterable[Key]], KnownFacts],
    warn: Callable[[str], None] | None,
) -> dict[str, Facts]:
    """Path → the facts of its content. `load_stored`: those of contents that were seen before."""
    stored: KnownFacts = {}
    trouble: list[str] = []
    wanted = content_keys(entries, scanners)
    try:
        if store:
            stored = _stored_facts(store, set(wanted.values()), load_stored)
    except Exception as problem:  # whatever is wrong with the store, the files can be read again
        trouble.append(_reason(problem))
    fresh = scan_missing(entries, wanted, stored, read, scanners)
    new = unpacked_facts(fresh)
    try:
        if store and fresh and not trouble:
            store_facts(store, fresh)
    except Exception as problem:  # the same: what is not remembered is read again next time
        trouble.append(_reason(problem))
    if trouble and warn:
        warn(f"the graph database could not be used, so files were read anew: {trouble[0]}")
    return {
        path: new.get(key) or stored.get(key) or unavailable_facts() for path, key in wanted.items()
    }


def modules_of(facts: Mapping[str, Facts]) -> dict[str, str]:
    """Path → module of these files, decided by their paths and by what they import."""
    return module_names(list(facts), imported_names(facts.values()))


def named_facts(facts: Mapping[str, Facts]) -> dict[str, Facts]:
    """The facts of contents as those of files: every Id under its module's name."""
    modules = modules_of(facts)
    return {path: facts_under(one, modules.get(path, path), path) for path, one in facts.items()}


def scan_missing(
    entries: Sequence[FileEntry],
    wanted: Mapping[str, Key],
    stored: Mapping[Key, Facts],
    read: Read,
    scanners: Sequence[Scanner],
    watch: Progress = no_progress,
) -> Mapping[Key, Facts]:
    """Scan the contents that are not known, each once. What can't be read is omitted, so that it is
    tried again.

    `watch` is given what is made of the contents, as it comes, and the number of contents; it hands
    it on. The facts of many are unpacked one after the other (see `KnownFacts`): ask for their
    parts by name.
    """
    missing = {
        wanted[e.path]: e for e in entries if e.path in wanted and wanted[e.path] not in stored
    }
    if not missing:
        return {}
    by_version = {scanner.version: scanner for scanner in scanners}

    def scan(batch: Sequence[FileEntry]) -> Iterator[tuple[Key, Facts]]:
        with no_garbage_collection():
            for entry, content in read(batch):
                key = wanted[entry.path]
                scanner = by_version[key[1]]
                facts = cast("Facts", scanner.scan(content, entry.path, UNNAMED))
                yield (
                    key,
                    _redacted(facts, literals_of(scanner)),
                )

    items = list(missing.values())
    if len(items) < MANY:
        return dict(watch(scan(items), len(items)))

    def folded(batch: Sequence[FileEntry]) -> Iterator[tuple[Key, bytes]]:
        return ((key, pack_facts(facts)) for key, facts in scan(batch))

    scanned: Iterator[tuple[Key, bytes]] = folded(items)
    if processes():
        scanned = scan_in_processes(
            items,
            lambda batch: list(folded(batch)),
            lambda e: (wanted[e.path], pack_facts(_crashed_facts())),
        )
    return PackedFacts(watch(scanned, len(items)))


def _crashed_facts() -> Facts:
    """The facts of a file that nobody survives reading."""
    return unreadable_facts("0:0: Python's parser does not survive it")


def _reason(problem: Exception) -> str:
    if isinstance(problem, KlError):
        return str(problem)
    return f"{type(problem).__name__}: {one_line(str(problem))}"


def _redacted(facts: Facts, language: str) -> Facts:
    """The same facts without secrets where source holds free text: docstrings, defaults, values,
    literal names. `language`: as `languages.literals_of`.

    Names stay as they are: code is addressed by them, and some look as random as a token. The title
    of a test in a block (`it("…")`) is a text.
    """
    from kl_hooks.store.redaction import redact

    marks = facts["decorators"]
    titled = [row for row in facts["symbols"] if row[0].startswith("test:")]
    literal = [row for row in facts["imports"] if row[4] == "dynamic import"]
    texts = [row[index] for row in facts["symbols"] for index in (3, 4)] + [
        row[5] for row in literal
    ]
    texts += [mark for symbol_marks in marks.values() for mark in symbol_marks]
    texts += [row[0] for row in titled]
    whole = "\n".join(texts)
    if redact(whole) == whole:  # one look at all of them: nearly every file ends here
        return facts
    for row in facts["symbols"]:
        before, bracket, after = row[3].partition("(")
        after = redact(after, language)
        if row[0].startswith("field:"):
            row[3] = redact(row[3], language)
        else:
            row[3] = before + bracket + after
        row[4] = redact(row[4])
    for row in titled:
        before, sign, title = row[0].partition("::")
        row[0] = before + sign + redact(title, language)
    hide_literals(literal, language)
    for place, symbol_marks in marks.items():
        marks[place] = [redact(mark, language) for mark in symbol_marks]
    return facts
