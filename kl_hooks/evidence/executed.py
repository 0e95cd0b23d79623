"""Which symbols each test of a run executed: the file that a run leaves in its spool, and the
tables it comes to.

The file `<run>.executed` is beside the run's spool file; the run's receipt names its digest, so
that the chain of receipts vouches for it. In the store everything is interned: the symbols of a
file with their hashes, and the sets of the tests of a file, are one *part* each, and a run is a
list of parts. A run that executed the same as one before adds one row; an edited file adds that
file's part, and the parts of the test files that execute other symbols since.

A set is a bit mask over the symbols of its part: most tests of a file execute much the same
symbols.
"""

from __future__ import annotations

import json
import os
import zlib
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from io import FileIO
from itertools import compress, count
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

from kl_hooks.evidence.reads import Reads
from kl_hooks.evidence.spool_places import QUARANTINED, SpoolPlace
from kl_hooks.git.run import once
from kl_hooks.model.canonical import canonical
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.store.database import Database, chunks, placeholders
from kl_hooks.store.files import write_atomic
from kl_hooks.store.spool import SPOOL_SUFFIX
from kl_hooks.store.store import steps_taken

if TYPE_CHECKING:
    from kl_hooks.evidence.distributions import Uses

_SUFFIX: Final = ".executed"
"""Of the file that a run leaves beside its spool file."""
PHASES: Final = ("setup", "call", "teardown")
COVERAGE: Final = "coverage"
"""The recorder of runs that were imported from coverage data: which tests executed a symbol is
*assumed*.
"""
_MONITORING: Final = "sys.monitoring"
_PROFILE: Final = "sys.setprofile"
"""What earlier versions of kl recorded by before CPython 3.12: the receipts still have it."""
_IN_PROCESS: Final = frozenset({_MONITORING, _PROFILE})
"""Recorders in the process of the tests: audit events show them the files that are opened."""
EXECUTED_SCHEMA: Final = "kl.executed/1"
_MAX_FILE: Final = 64 * 1024 * 1024
_MAX_TEXT: Final = 256 * 1024 * 1024
"""Bytes that a file or a part may unpack to."""
_ORPHANED: Final = 7 * 24 * 3600.0
"""Seconds after which a file whose run left no capture is removed."""
NEWEST_SHARED: Final = 40
"""The newest runs of a writer, whose sets travel and stay: no more are looked at for one content.
"""
_UNREACHED: Final = "unreached"
"""The sort of the part with what a coverage report measured and nothing executed."""
_REPORTS_ASKED: Final = 10
"""The newest imported coverage reports that are asked whether the run executed a symbol."""
_MOST_CACHED: Final = 8
"""Runs: of one of thousands of tests tens of megabytes are cached."""
_RUNS_ASKED: Final = 30
"""The newest runs that are asked which tests executed a symbol."""


class SymbolHash(NamedTuple):
    """A symbol as it was when it ran."""

    symbol: str
    """`function:pkg.mod.f`; `namespace:pkg.mod` is the module's body, `type:pkg.mod.C` the class's.
    """
    content_hash: str
    """16 hexadecimal digits, of `code.scanner`."""


_Masks = tuple[int, int, int]
"""What ran first in setup, in call, in teardown: bit n is the symbol at place n of the test file's
symbols.
"""


class _TestFile(NamedTuple):
    """The parts of `TestFile`. Only a class derived from a named tuple can have `__test__`."""

    symbols: tuple[int, ...]
    """Indexes into the symbols of the run."""
    masks: Mapping[str, _Masks]
    """Node ID → its sets."""


class TestFile(_TestFile):
    """What the tests of one file executed."""

    __slots__ = ()
    __test__ = False

    @classmethod
    def of(cls, sets: Mapping[str, Mapping[int, str]]) -> TestFile:
        """Node ID → index of a symbol → the phase in which it first ran."""
        symbols = tuple(sorted({index for phases in sets.values() for index in phases}))
        bit = {index: 1 << place for place, index in enumerate(symbols)}
        masks = {}
        for nodeid, phases in sets.items():
            mask_of_phase = dict.fromkeys(PHASES, 0)
            for index, phase in phases.items():
                mask_of_phase[phase] |= bit[index]
            masks[nodeid] = (
                mask_of_phase["setup"],
                mask_of_phase["call"],
                mask_of_phase["teardown"],
            )
        return cls(symbols, masks)

    def counts(self, nodeids: Iterable[str]) -> Counter[int]:
        """Index of a symbol → how many of these tests executed it."""
        # many tests of a file execute just the same symbols
        masks = Counter(
            setup | call | teardown
            for setup, call, teardown in map(self.masks.__getitem__, nodeids)
        )
        counts: Counter[int] = Counter()
        for mask, tests in masks.items():
            for index in _chosen(self.symbols, mask):
                counts[index] += tests
        return counts

    def rows(self) -> list[list[str]]:
        """Node ID and the three masks in hexadecimal digits, by node ID."""
        return [[name, *(f"{mask:x}" for mask in self.masks[name])] for name in sorted(self.masks)]


class TestSets(Mapping[str, Mapping[int, str]]):
    """Node ID (without `test:`) → index of a symbol → the phase in which it first ran; unpacked
    when asked for.
    """

    __test__ = False

    def __init__(self, files: Mapping[str, TestFile]) -> None:
        self.files = files
        """By the path at the beginning of the node IDs."""

    def __getitem__(self, nodeid: str) -> Mapping[int, str]:
        file = self.files[test_path(nodeid)]
        masks = file.masks[nodeid]
        return {
            index: phase
            for phase, mask in zip(PHASES, masks, strict=True)
            for index in _chosen(file.symbols, mask)
        }

    def __iter__(self) -> Iterator[str]:
        return (nodeid for file in self.files.values() for nodeid in file.masks)

    def __len__(self) -> int:
        return sum(len(file.masks) for file in self.files.values())

    def indexes(self, nodeid: str) -> list[int]:
        """The symbols that a test executed in any phase.

        KeyError for a test that is not recorded.
        """
        file = self.files[test_path(nodeid)]
        setup, call, teardown = file.masks[nodeid]
        return _chosen(file.symbols, setup | call | teardown)


class Behind(NamedTuple):
    """What was executed to compute the values that a test got."""

    mask: int
    """The same as `symbols`, as bits."""
    symbols: frozenset[int]
    """Indexes of symbols."""
    files: frozenset[str]
    """The files that these symbols are in."""


NOTHING_BEHIND: Final = Behind(0, frozenset(), frozenset())
"""A test that got no stored value."""


class StoredValues:
    """What was executed for values, by the code that gets them: functions store values for later
    calls, and what computed one may itself have got another.

    A run of thousands of tests has thousands of such readers, most of which lead to each other. All
    tests that get the same values share one object.
    """

    def __init__(self, values: Mapping[int, Iterable[int]], paths: tuple[str, ...]) -> None:
        """`values`: reader → what was executed for the values that it gets, by indexes of symbols;
        `paths`: the file of each symbol.
        """
        self._values, self._paths = values, paths
        self._behind: dict[int, Behind] = {}

    @cached_property
    def _cycles(self) -> tuple[dict[int, int], list[int]]:
        """Reader → the place of its cycle, the readers that lead to each other; and for each
        cycle all that was executed for its values, directly and for the values of that, as bits.
        """
        from kl_hooks.graph.algorithms import components  # only a verdict asks for it

        readers = {
            reader: [index for index in executed if index in self._values]
            for reader, executed in self._values.items()
        }
        cycle_of: dict[int, int] = {}
        masks: list[int] = []
        for members in components([*readers], readers):
            inner_cycles = {
                cycle_of[inner]
                for reader in members
                for inner in readers[reader]
                if inner in cycle_of
            }
            mask = mask_of(index for reader in members for index in self._values[reader])
            for cycle in inner_cycles:
                mask |= masks[cycle]
            cycle_of.update(dict.fromkeys(members, len(masks)))
            masks.append(mask)
        return cycle_of, masks

    def behind(self, executed: Iterable[int]) -> Behind:
        """What computed the values that this code gets."""
        cycle_of, masks = self._cycles
        mask = 0
        # thousands of readers lead to each other: the cycles that they are in are few
        for cycle in {*map(cycle_of.get, executed)}:
            if cycle is not None:
                mask |= masks[cycle]
        if mask not in self._behind:
            symbols = frozenset(bits(mask))
            files = frozenset(self._paths[index] for index in symbols)
            self._behind[mask] = Behind(mask, symbols, files)
        return self._behind[mask]


@dataclass(frozen=True)
class Executed:
    """What the tests of one run executed."""

    run: str
    recorder: str
    """`_MONITORING`, `_PROFILE`, `COVERAGE`."""
    symbols: tuple[SymbolHash, ...]
    tests: TestSets
    modules: Mapping[str, frozenset[int]]
    """Path of a Python file → what runs when it is imported: its body, class bodies, decorated
    functions (their decorators), functions that were called meanwhile."""
    imports: Mapping[str, tuple[str, ...]]
    """Path → the files of the repository that it imports, of all kinds; those imported at run time
    included.
    """
    places: Mapping[str, str]
    """Symbol → path."""
    unknown: Mapping[str, str] = field(default_factory=dict)
    """Path → why its symbols could not be named."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Tracked files, not Python, that the run opened: path → blob ID; empty where that is not
    known.
    """
    incomplete: Mapping[str, str] = field(default_factory=dict)
    """Node ID → why the test executed more than what is recorded: its result can't be judged by
    symbols.
    """
    runtime: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Of `imports` those that no import statement shows."""
    values: Mapping[int, frozenset[int]] = field(default_factory=dict)
    """Symbol → what was executed to compute the values that it gets without computing them, because
    a function stored them for later calls: in some test of the run, or while a module was imported.
    """
    reads: Reads | None = None
    """Which test read which file, and listed which folder; None where that is not known."""
    absent: frozenset[str] = frozenset()
    """Paths where the run looked, and nothing was, whatever git shows of it."""
    listed: Mapping[str, str] = field(default_factory=dict)
    """Listing (`books/*.txt`) → a digest of the names on disk, those of ignored files too."""
    private: Mapping[str, str] = field(default_factory=dict)
    """What only this machine has, as digests that only this clone can make (`evidence.private`):
    the path of a file that git ignores, or a variable of the environment.
    """
    left: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    """Node ID → (path, name) of what the test left changed: a global, a class. Without a path: of
    the library, such as `environ`.
    """
    distributions: Uses | None = None
    """What its files import from installed distributions; None where that was not recorded."""
    unreached: frozenset[SymbolHash] = frozenset()
    """Of an imported coverage report: functions that it measured, and that were not executed."""

    @property
    def knows_opened(self) -> bool:
        """Whether the files that the run opened were recorded; not by a recorder that nobody here
        knows.
        """
        return self.recorder in _IN_PROCESS

    @property
    def digest(self) -> str:
        """The digest of all of it, as a receipt names it."""
        return sha256(canonical(executed_to_dict(self))).hexdigest()

    @cached_property
    def content_hashes(self) -> Mapping[str, str]:
        """Symbol → its content hash."""
        return dict(self.symbols)

    def dependencies(self, nodeid: str) -> frozenset[int]:
        """What a result rests on: what the test executed, and what runs when the files are imported
        that it needs.

        KeyError for a test that is not recorded.
        """
        return frozenset(bits(self.dependency_mask(nodeid)))

    def behind(self, executed: Iterable[int]) -> Behind:
        """What may have computed the values that a test got. `executed`: its symbols, as
        indexes.
        """
        return self._stored_values.behind(executed)

    def needed(self, nodeid: str) -> list[int]:
        """What a test executed, and what may have computed the values that it got: sorted. KeyError
        as above.
        """
        own = self.tests.indexes(nodeid)
        return sorted(self.behind(own).symbols.union(own))

    def dependency_mask(self, nodeid: str) -> int:
        """The same as a bit mask over `symbols`."""
        own = self.tests.indexes(nodeid)
        behind = self.behind(own)
        mask = behind.mask | mask_of(own) | self._files_mask(behind.files)
        for path in {*map(self._path_of.__getitem__, own)}.difference(behind.files):
            mask |= self._import_mask(path)
        return mask | self._start_mask(test_path(nodeid))

    def closure(self, nodeid: str) -> frozenset[str]:
        """The files that `dependencies` comes from: every file reachable by imports from those that
        the test needs.
        """
        executed = self.tests.indexes(nodeid)
        own = {self._path_of[index] for index in executed}
        starts = self.behind(executed).files.union(own, self._starts(test_path(nodeid)))
        if starts not in self._closures:
            self._closures[starts] = frozenset().union(*map(self._reachable, starts))
        return self._closures[starts]

    @cached_property
    def _closures(self) -> dict[frozenset[str], frozenset[str]]:
        return {}

    @cached_property
    def _stored_values(self) -> StoredValues:
        return StoredValues(self.values, self._path_of)

    @cached_property
    def _path_of(self) -> tuple[str, ...]:
        return tuple(self.places.get(one.symbol, "") for one in self.symbols)

    @cached_property
    def _cache(self) -> dict[tuple[str, str | frozenset[str]], Any]:
        return {}

    def _starts(self, path: str) -> set[str]:
        """A test file and the conftest.py files above it."""
        folders = path.split("/")[:-1]
        above = ("/".join([*folders[:depth], "conftest.py"]) for depth in range(len(folders) + 1))
        return {
            path,
            *(
                one
                for one in above
                if one in self.modules or one in self.imports or one in self.unknown
            ),
        }

    def _start_mask(self, path: str) -> int:
        if ("start", path) not in self._cache:
            mask = 0
            for start in self._starts(path):
                mask |= self._import_mask(start)
            self._cache["start", path] = mask
        return int(self._cache["start", path])

    def _files_mask(self, paths: frozenset[str]) -> int:
        """What is executed when these files are imported. Thousands of tests ask for the same."""
        if ("masks", paths) not in self._cache:
            mask = 0
            for path in paths:
                mask |= self._import_mask(path)
            self._cache["masks", paths] = mask
        return int(self._cache["masks", paths])

    def _import_mask(self, path: str) -> int:
        if ("mask", path) not in self._cache:
            mask = 0
            for reached in self._reachable(path):
                mask |= self._module_masks.get(reached, 0)
            self._cache["mask", path] = mask
        return int(self._cache["mask", path])

    @cached_property
    def _module_masks(self) -> dict[str, int]:
        return {path: mask_of(indexes) for path, indexes in self.modules.items()}

    def _reachable(self, path: str) -> frozenset[str]:
        if ("files", path) not in self._cache:
            paths = {path}
            todo = [path]
            while todo:
                new = [
                    imported
                    for imported in self.imports.get(todo.pop(), ())
                    if imported not in paths
                ]
                paths.update(new)
                todo += new
            self._cache["files", path] = frozenset(paths)
        reachable: frozenset[str] = self._cache["files", path]
        return reachable


def test_path(nodeid: str) -> str:
    """The path at the beginning of a node ID."""
    return nodeid.partition("::")[0]


def mask_of(places: Iterable[int]) -> int:
    """The number in which the bits at these places are set."""
    chosen = list(places)
    if not chosen:
        return 0
    # not by shifts: each would copy a number of thousands of bits
    digits = bytearray(max(chosen) // 8 + 1)
    for place in chosen:
        digits[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(digits, "little")


def bits(mask: int) -> Iterator[int]:
    """The places of the bits that are set, from the lowest."""
    return compress(count(), _digits(mask))


def _chosen(symbols: Sequence[int], mask: int) -> list[int]:
    return list(compress(symbols, _digits(mask)))


_AS_DIGITS: Final = bytes.maketrans(b"01", b"\0\1")


def _digits(mask: int) -> bytes:
    """The digits of a number in base 2, the lowest first: 0 or 1 each."""
    # by its text: shifting a number of thousands of bits copies it each time
    return f"{mask:b}".encode("ascii")[::-1].translate(_AS_DIGITS)


# the file


def write_executed(folder: Path, executed: Executed) -> str:
    """Write the file of a run into a spool folder, durable when it returns; the digest of its
    content. OSError.
    """
    text = canonical(executed_to_dict(executed))
    write_atomic(folder / f"{executed.run}{_SUFFIX}", zlib.compress(text, 6), 0o600)
    return sha256(text).hexdigest()


def executed_to_dict(executed: Executed) -> dict[str, Any]:
    """`kl.executed/1`: the form that has the digest."""
    # without empty sets: they are not stored, and the digest must be that of what is read again
    modules = {path for path, some in executed.modules.items() if some}
    imports = {path for path, some in executed.imports.items() if some}
    paths = sorted({*modules, *imports, *executed.unknown})
    return {
        "schema": EXECUTED_SCHEMA,
        "run": executed.run,
        "recorder": executed.recorder,
        "symbols": [[*one, executed.places[one.symbol]] for one in executed.symbols],
        "files": {
            path: [
                sorted(executed.modules.get(path, ())),
                list(executed.imports.get(path, ())),
                executed.unknown.get(path, ""),
            ]
            for path in paths
        },
        "tests": {
            path: [list(file.symbols), file.rows()] for path, file in executed.tests.files.items()
        },
        "opened": dict(executed.files),
        "incomplete": dict(executed.incomplete),
        # an older kl reads none of these nor misses it
        **(
            {"runtime": {path: list(some) for path, some in executed.runtime.items()}}
            if executed.runtime
            else {}
        ),
        **(
            {"values": sorted([at, sorted(some)] for at, some in executed.values.items())}
            if executed.values
            else {}
        ),
        **({"reads": executed.reads.to_dict()} if executed.reads is not None else {}),
        **({"distributions": executed.distributions.to_dict()} if executed.distributions else {}),
        **({"absent": sorted(executed.absent)} if executed.absent else {}),
        **({"listed": dict(executed.listed)} if executed.listed else {}),
        **({"private": dict(executed.private)} if executed.private else {}),
        **({"left": _left_to_dict(executed)} if executed.left else {}),
        **({"unreached": _unreached_to_list(executed)} if executed.unreached else {}),
    }


def read_executed(path: Path, digest: str) -> Executed:
    """The file of a run, whose content must have this digest.

    OSError where it can't be opened; ValueError, with the reason, for anything that
    `write_executed` did not write.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with FileIO(fd) as file:
        info = os.fstat(fd)
        if not S_ISREG(info.st_mode) or info.st_uid != os.geteuid():
            raise ValueError("it is not a regular file of ours")
        if info.st_size > _MAX_FILE:
            raise ValueError(f"it has more than {_MAX_FILE:,} bytes")
        packed = file.read(_MAX_FILE)
    text = _unpacked(packed)
    if sha256(text).hexdigest() != digest:
        raise ValueError("it is not what the receipt of the run vouches for")
    executed = executed_from_dict(_decoded(text))
    if executed.run != path.name.removesuffix(_SUFFIX):
        raise ValueError("it is of another run")
    return executed


def _unpacked(packed: bytes) -> bytes:
    decompress = zlib.decompressobj()
    try:
        text = decompress.decompress(packed, _MAX_TEXT)
    except zlib.error as problem:
        raise ValueError(f"it can't be unpacked ({problem})") from problem
    if not decompress.eof:
        raise ValueError("it was cut, or is larger than any run")
    return text


def _decoded(text: bytes) -> Any:
    try:
        return json.loads(text)
    except RecursionError as problem:
        raise ValueError("it is nested too deeply") from problem


def executed_from_dict(plain: Any) -> Executed:
    """The inverse. ValueError, with the reason, for anything else."""
    try:
        if plain["schema"] != EXECUTED_SCHEMA:
            raise ValueError("it is of another version of kl")
        rows = [[*map(_text, row)] for row in plain["symbols"]]
        number = len(rows)
        files = {
            _text(path): (_indexes(a, number), tuple(map(_text, b)), _text(c))
            for path, (a, b, c) in plain["files"].items()
        }
        tests = {_text(path): _test_file(path, one, number) for path, one in plain["tests"].items()}
        return Executed(
            _text(plain["run"]),
            _text(plain["recorder"]),
            tuple(SymbolHash(name, value) for name, value, _ in rows),
            TestSets(tests),
            modules={path: frozenset(one[0]) for path, one in files.items() if one[0]},
            imports={path: one[1] for path, one in files.items() if one[1]},
            places={name: path for name, _, path in rows},
            unknown={path: one[2] for path, one in files.items() if one[2]},
            files={_text(path): _text(blob) for path, blob in plain["opened"].items()},
            incomplete={_text(name): _text(why) for name, why in plain["incomplete"].items()},
            runtime=_texts_by_path(plain.get("runtime", {})),
            values={
                _indexes([at], number)[0]: frozenset(_indexes(some, number))
                for at, some in plain.get("values", ())
            },
            reads=Reads.from_dict(plain["reads"]) if "reads" in plain else None,
            absent=frozenset(map(_text, plain.get("absent", ()))),
            listed={_text(key): _text(names) for key, names in plain.get("listed", {}).items()},
            private={_text(key): _text(seal) for key, seal in plain.get("private", {}).items()},
            left=_left_from_dict(plain.get("left", {})),
            distributions=_uses(plain.get("distributions")),
            unreached=_unreached_from_list(plain.get("unreached", ())),
        )
    except (KeyError, TypeError, AttributeError, IndexError) as problem:
        raise ValueError(f"it has another form ({type(problem).__name__})") from problem


def _left_to_dict(executed: Executed) -> dict[str, list[list[str]]]:
    return {
        name: [list(place) for place in places] for name, places in sorted(executed.left.items())
    }


def _left_from_dict(plain: Any) -> dict[str, tuple[tuple[str, str], ...]]:
    return {
        _text(test): tuple((_text(path), _text(name)) for path, name in places)
        for test, places in plain.items()
    }


def _unreached_to_list(executed: Executed) -> list[list[str]]:
    return [list(symbol) for symbol in sorted(executed.unreached)]


def _unreached_from_list(plain: Any) -> frozenset[SymbolHash]:
    return frozenset(SymbolHash(_text(symbol), _text(value)) for symbol, value in plain)


def _uses(plain: Any) -> Uses | None:
    from kl_hooks.evidence.distributions import Uses

    if plain is None:
        return None
    return Uses.from_dict(plain)


def _texts_by_path(plain: Any) -> dict[str, tuple[str, ...]]:
    return {_text(path): tuple(map(_text, some)) for path, some in plain.items()}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _indexes(values: Any, number: int) -> tuple[int, ...]:
    # type, not isinstance: true is an int in Python
    if not isinstance(values, list) or any(
        type(one) is not int or not 0 <= one < number for one in values
    ):
        raise TypeError
    return tuple(values)


def _test_file(path: str, plain: Any, number: int) -> TestFile:
    symbols, rows = plain
    test_file = TestFile(
        _indexes(symbols, number), {_text(name): _masks(masks) for name, *masks in rows}
    )
    most = 1 << len(test_file.symbols)
    if any(mask >= most for masks in test_file.masks.values() for mask in masks):
        raise IndexError
    if any(test_path(name) != path for name in test_file.masks):
        raise KeyError
    return test_file


def _masks(values: Sequence[Any]) -> _Masks:
    setup, call, teardown = (int(_text(one), 16) for one in values)
    if min(setup, call, teardown) < 0:
        raise IndexError
    return setup, call, teardown


# the files that wait in the spool


class PendingFile(NamedTuple):
    """A file of executed symbols in a spool."""

    path: Path
    run: str
    orphaned: bool
    """Its run left no capture, and it is so old that none will come."""


def pending_executed(places: Iterable[SpoolPlace], now: int) -> list[PendingFile]:
    """The files that wait in the spools, by run. `now`: microseconds."""
    files: dict[str, PendingFile] = {}
    for place in places:
        with suppress(OSError), os.scandir(place.folder) as entries:
            for entry in entries:
                if not entry.name.endswith(_SUFFIX) or entry.name.startswith("."):
                    continue
                path = place.folder / entry.name
                run = entry.name.removesuffix(_SUFFIX)
                if not place.believes(path):
                    continue
                age = now / 1_000_000 - entry.stat(follow_symlinks=False).st_mtime
                capture = place.folder / f"{run}{SPOOL_SUFFIX}"
                files[run] = PendingFile(path, run, age > _ORPHANED and not capture.exists())
    return [files[run] for run in sorted(files)]


def read_pending(
    places: Iterable[SpoolPlace], run: str, environment: Mapping[str, Any]
) -> Executed | None:
    """What waits in a spool for a run whose receipt has this environment; None where there is
    nothing sound.

    For gates: they read captures from the spool where the store can't be written.
    """
    digest = vouched_digest(environment)
    # how old a file is makes no difference here
    for file in pending_executed(places, 0) if digest else ():
        if file.run == run:
            with suppress(OSError, ValueError):
                return read_executed(file.path, digest)
    return None


def vouched_digest(environment: Mapping[str, Any]) -> str:
    """The digest of the executed symbols that a receipt vouches for; empty where its run recorded
    none.
    """
    named = environment.get("executed")
    if isinstance(named, Mapping):
        digest = named.get("digest")
    else:
        digest = None
    if isinstance(digest, str):
        return digest
    return ""


def why_not_recorded(environment: Mapping[str, Any]) -> str:
    """Why the run of a receipt with this environment recorded no executed symbols, as far as it
    shows; else empty.
    """
    if vouched_digest(environment):
        return ""
    version = str(environment.get("python") or "")
    parts = version.split(".")[:2]
    if all(part.isdecimal() for part in parts) and tuple(map(int, parts)) < (3, 12):
        return f"CPython 3.12 is needed, and the tests ran on Python {version}"
    facts = environment.get("executed")
    if not isinstance(facts, Mapping):
        return ""
    return str(facts.get("trouble") or "")


class Settled(NamedTuple):
    """What becomes of files of the spool once the store is durable."""

    imported: tuple[Path, ...] = ()
    """Imported, known already, or orphaned: removed."""
    quarantined: tuple[Path, ...] = ()


def import_executed(db: Database, files: Iterable[PendingFile]) -> Settled:
    """Import what waits, after the receipts and in their transaction. A file without a receipt
    waits on.
    """
    done = []
    bad = []
    for pending in files:
        headers = [
            json.loads(row[0])
            for row in db.rows("SELECT header FROM receipt WHERE run = ?", (pending.run,))
        ]
        if not headers:
            if pending.orphaned:
                done += [pending.path]
            continue
        digests = [vouched_digest(header.get("environment") or {}) for header in headers]
        try:
            executed = read_executed(pending.path, next(filter(None, digests), ""))
        except FileNotFoundError:  # another process was faster
            continue
        except (OSError, ValueError):
            bad.append(pending.path)
            continue
        store_executed(db, executed)
        done.append(pending.path)
    return Settled(tuple(done), tuple(bad))


def settle(settled: Settled) -> tuple[str, ...]:
    """Remove what was imported, rename what is quarantined; the new names. OSError."""
    for path in settled.imported:
        path.unlink(missing_ok=True)
    names = []
    for path in settled.quarantined:
        aside = path.with_name(path.name + QUARANTINED)
        with suppress(FileNotFoundError):
            path.replace(aside)
        names.append(str(aside))
    return tuple(names)


# the store


def store_executed(db: Database, executed: Executed) -> None:
    """Add a run; one that is there already stays as it is."""
    if db.row("SELECT 1 FROM executed_run WHERE run = ?", (executed.run,)):
        return
    key_of = _interned(db, [symbol.symbol for symbol in executed.symbols])
    keys = [key_of[symbol.symbol] for symbol in executed.symbols]
    parts = [*_parts_of_files(db, executed, keys), *_parts_of_run(db, executed, keys)]
    # here and not a part of its own: they are asked for alone (`runtime_imports`)
    if executed.runtime:
        runtime_part = [{path: list(entries) for path, entries in executed.runtime.items()}]
    else:
        runtime_part = []
    row = (executed.run, executed.recorder, _part(db, ["run", parts, *runtime_part], ()))
    db.execute("INSERT INTO executed_run (run, recorder, part) VALUES (?, ?, ?)", row)


def _parts_of_files(db: Database, executed: Executed, keys: Sequence[int]) -> Iterator[int]:
    """The parts about one file each: what is in it, and what its tests executed. `keys`: those of
    the run's symbols, in their order.
    """
    own: dict[str, list[tuple[int, str]]] = {}
    for symbol, key in zip(executed.symbols, keys, strict=True):
        own.setdefault(executed.places[symbol.symbol], []).append((key, symbol.content_hash))
    for path in sorted({*own, *executed.modules, *executed.imports, *executed.unknown}):
        symbols = sorted(own.get(path, ()))
        body = [
            "file",
            path,
            symbols,
            sorted(keys[at] for at in executed.modules.get(path, ())),
            list(executed.imports.get(path, ())),
            executed.unknown.get(path, ""),
        ]
        yield _part(db, body, [key for key, _ in symbols])
    for path, file in sorted(executed.tests.files.items()):
        # in the order of the run's symbols, which is that of their names: the same in every run
        # with the same sets
        keys_of_file = [keys[at] for at in file.symbols]
        yield _part(db, ["tests", path, keys_of_file, file.rows()], keys_of_file)


def _parts_of_run(db: Database, executed: Executed, keys: Sequence[int]) -> Iterator[int]:
    """The parts about the whole run, of what it has; `keys` as before."""
    values = sorted(
        [keys[at], sorted(keys[computed] for computed in entries)]
        for at, entries in executed.values.items()
    )
    if values:
        yield _part(db, ["values", values], ())
    if executed.distributions is not None:
        # of its own: an environment that did not change adds no row
        yield _part(db, ["distributions", executed.distributions.to_dict()], ())
    if executed.absent:
        yield _part(db, ["absent", sorted(executed.absent)], ())
    if executed.listed:
        yield _part(db, ["listed", dict(sorted(executed.listed.items()))], ())
    if executed.private:
        yield _part(db, ["private", dict(sorted(executed.private.items()))], ())
    if executed.left:
        yield _part(db, ["left", _left_to_dict(executed)], ())
    if executed.unreached:
        unreached = sorted(executed.unreached)
        key_of = _interned(db, [symbol.symbol for symbol in unreached])
        rows = [(key_of[symbol.symbol], symbol.content_hash) for symbol in unreached]
        yield _part(db, [_UNREACHED, rows], [key for key, _ in rows])
    for sort, entries in (("opened", executed.files), ("incomplete", executed.incomplete)):
        if entries:
            yield _part(db, [sort, dict(entries)], ())
    if executed.reads:
        for body in executed.reads.parts():
            yield _part(db, body, ())


def _interned(db: Database, symbols: Sequence[str]) -> dict[str, int]:
    db.many(
        "INSERT INTO executed_symbol (symbol) VALUES (?) ON CONFLICT DO NOTHING",
        [(s,) for s in symbols],
    )
    return _numbers(db, symbols)


def _numbers(db: Database, symbols: Sequence[str]) -> dict[str, int]:
    sql = "SELECT symbol, id FROM executed_symbol WHERE symbol IN"
    return dict(
        row for some in chunks(symbols) for row in db.rows(f"{sql} ({placeholders(some)})", some)
    )


def _part(db: Database, body: list[Any], symbols: Iterable[int]) -> int:
    """The number of a part, which is added where it is new, together with the symbols it can be
    found by.
    """
    text = canonical(body)
    key = sha256(text).digest()
    stored = db.row("SELECT id FROM executed_part WHERE digest = ?", (key,))
    if stored:
        return int(stored[0])
    db.execute(
        "INSERT INTO executed_part (digest, body) VALUES (?, ?)", (key, zlib.compress(text, 6))
    )
    row = db.row("SELECT id FROM executed_part WHERE digest = ?", (key,))
    assert row is not None
    number = int(row[0])
    db.many(
        "INSERT INTO executed_in (symbol, part) VALUES (?, ?)",
        [(symbol, number) for symbol in symbols],
    )
    return number


def _bodies(db: Database, parts: Sequence[int]) -> Iterator[list[Any]]:
    for batch in chunks(parts):
        for (body,) in db.rows(
            f"SELECT body FROM executed_part WHERE id IN ({placeholders(batch)})", batch
        ):
            yield json.loads(_unpacked(body))


def _run_body(db: Database, part: int) -> tuple[list[int], dict[str, tuple[str, ...]]]:
    """The parts of a run, and its imports that no statement shows."""
    body = next(_bodies(db, [part]), ["run", []])
    return [int(one) for one in body[1]], _texts_by_path(body[2] if len(body) > 2 else {})


def _parts_of(db: Database, part: int) -> list[int]:
    return _run_body(db, part)[0]


def runtime_imports(db: Database, runs: int) -> dict[tuple[str, str], str]:
    """(importing file, imported file) that no import statement shows → the newest of these runs
    that saw it.
    """
    run_of_import: dict[tuple[str, str], str] = {}
    for run in runs_with_symbols(db, runs):
        row = db.row("SELECT part FROM executed_run WHERE run = ?", (run,))
        for importer, imported in _run_body(db, int(row[0]))[1].items() if row else ():
            for target in imported:
                run_of_import.setdefault((importer, target), run)
    return run_of_import


def _is_recorded(db: Database) -> bool:
    """Whether this store has the tables: one that can't be written may be of an older kl."""
    return steps_taken(db).get("executed", 0) > 0


def runs_with_symbols(db: Database, limit: int) -> list[str]:
    """The runs of which executed symbols are stored, newest first; imported coverage data after
    what was recorded.
    """
    if not _is_recorded(db):
        return []
    sql = (
        "SELECT e.run FROM executed_run e JOIN receipt r ON r.run = e.run"
        " GROUP BY e.run, e.recorder ORDER BY e.recorder = ?, MAX(r.seq) DESC LIMIT ?"
    )
    return [str(run) for (run,) in db.rows(sql, (COVERAGE, limit))]


def _shared_masks(rows: Iterable[Sequence[str]]) -> dict[str, _Masks]:
    """Node ID → its sets; tests that executed the same have the same object."""
    masks_of_texts: dict[tuple[str, ...], _Masks] = {}
    masks_of_test: dict[str, _Masks] = {}
    for name, *texts in rows:
        key = tuple(texts)
        if key not in masks_of_texts:
            masks_of_texts[key] = _masks(texts)
        masks_of_test[name] = masks_of_texts[key]
    return masks_of_test


class CachedExecuted:
    """What stored runs executed, as long as somebody uses it, and of the runs that were asked for
    last: several questions about a run follow each other, and all runs do not fit into memory.
    """

    def __init__(self) -> None:
        self._used: WeakValueDictionary[str, Executed] = WeakValueDictionary()
        self._last: OrderedDict[str, Executed] = OrderedDict()

    def of_run(self, db: Database, run: str) -> Executed | None:
        """What the tests of a run executed, which never changes; None where nothing is stored of
        it.
        """
        executed = self._used.get(run) or executed_of_run(db, run)
        if executed is not None:
            self._used[run] = self._last[run] = executed
            self._last.move_to_end(run)
            if len(self._last) > _MOST_CACHED:
                self._last.popitem(last=False)
        return executed


def cached_executed() -> CachedExecuted:
    """What was read of runs in this moment; nothing outside of a moment."""
    return once("what runs executed", CachedExecuted)


def executed_of_run(db: Database, run: str) -> Executed | None:
    """What the tests of a run executed; None where nothing is stored of it."""
    if _is_recorded(db):
        row = db.row("SELECT recorder, part FROM executed_run WHERE run = ?", (run,))
    else:
        row = None
    if row is None:
        return None
    parts, runtime = _run_body(db, int(row[1]))
    bodies = list(_bodies(db, parts))
    files = sorted((body[1:] for body in bodies if body[0] == "file"), key=lambda one: one[0])
    tests = sorted((body[1:] for body in bodies if body[0] == "tests"), key=lambda one: one[0])
    pairs = [(key, value, path) for path, symbols, *_ in files for key, value in symbols]
    unreached = [pair for body in bodies if body[0] == _UNREACHED for pair in body[1]]
    names = _names(db, {key for key, *_ in (*pairs, *unreached)})
    pairs.sort(key=lambda one: names[one[0]])
    index = {key: at for at, (key, _, _) in enumerate(pairs)}
    return Executed(
        run,
        str(row[0]),
        tuple(SymbolHash(names[key], value) for key, value, _ in pairs),
        TestSets(
            {
                path: TestFile(
                    tuple(index[key] for key in keys),
                    _shared_masks(rows),
                )
                for path, keys, rows in tests
            }
        ),
        modules={
            path: frozenset(index[key] for key in some) for path, _, some, _, _ in files if some
        },
        imports={path: tuple(some) for path, _, _, some, _ in files if some},
        places={names[key]: path for key, _, path in pairs},
        unknown={path: why for path, _, _, _, why in files if why},
        files=next((body[1] for body in bodies if body[0] == "opened"), {}),
        incomplete=next((body[1] for body in bodies if body[0] == "incomplete"), {}),
        runtime=runtime,
        values={
            index[at]: frozenset(index[one] for one in some)
            for body in bodies
            if body[0] == "values"
            for at, some in body[1]
        },
        reads=Reads.from_parts(bodies),
        absent=frozenset(name for body in bodies if body[0] == "absent" for name in body[1]),
        listed=next((body[1] for body in bodies if body[0] == "listed"), {}),
        private=next((body[1] for body in bodies if body[0] == "private"), {}),
        left=_left_from_dict(next((body[1] for body in bodies if body[0] == "left"), {})),
        distributions=_uses(next((body[1] for body in bodies if body[0] == "distributions"), None)),
        unreached=frozenset(SymbolHash(names[key], value) for key, value in unreached),
    )


def _names(db: Database, numbers: Iterable[int]) -> dict[int, str]:
    name_of: dict[int, str] = {}
    for batch in chunks(sorted(numbers)):
        name_of.update(
            db.rows(
                f"SELECT id, symbol FROM executed_symbol WHERE id IN ({placeholders(batch)})", batch
            )
        )
    return name_of


class Execution(NamedTuple):
    """The newest run in which a test executed a symbol."""

    run: str
    content_hash: str
    """Of the symbol, in that run."""
    runs: int = 1
    """In how many of the newest runs it did."""
    recorder: str = ""
    """Of that run; `COVERAGE` where no recorded run shows it."""


def tests_of_symbols(
    db: Database, ids: Sequence[str], runs: int = _RUNS_ASKED
) -> dict[str, dict[str, Execution]]:
    """Symbol → node ID of each test that executed it in one of the newest runs → the newest of
    these runs.
    """
    tests_by_symbol: dict[str, dict[str, Execution]] = {}
    if not _is_recorded(db) or not ids:
        return tests_by_symbol
    symbols = {number: symbol for symbol, number in _numbers(db, ids).items()}
    numbers = sorted(symbols)
    wanted: dict[int, set[int]] = {}
    for batch in chunks(numbers):
        for number, part in db.rows(
            f"SELECT symbol, part FROM executed_in WHERE symbol IN ({placeholders(batch)})", batch
        ):
            wanted.setdefault(part, set()).add(number)
    bodies: dict[int, list[Any]] = {}
    for run in runs_with_symbols(db, runs) if wanted else ():
        row = db.row("SELECT part, recorder FROM executed_run WHERE run = ?", (run,))
        assert row is not None
        here = [part for part in _parts_of(db, int(row[0])) if part in wanted]
        for part in here:
            if part not in bodies:
                bodies[part] = next(_bodies(db, [part]))
        hashes = {
            key: value
            for part in here
            if bodies[part][0] == "file"
            for key, value in bodies[part][2]
        }
        for part in here:
            if bodies[part][0] == "tests":
                for number in wanted[part]:
                    tests = tests_by_symbol.setdefault(symbols[number], {})
                    for name in _tests_with(bodies[part], number):
                        earlier = tests.get(name)
                        if earlier:
                            tests[name] = earlier._replace(runs=earlier.runs + 1)
                        else:
                            tests[name] = Execution(
                                run, hashes.get(number, ""), recorder=str(row[1])
                            )
    return tests_by_symbol


def _tests_with(body: Sequence[Any], number: int) -> Iterator[str]:
    """The tests of a part that executed a symbol."""
    _, _, keys, rows = body
    bit = 1 << keys.index(number)
    return (name for name, *masks in rows if any(int(mask, 16) & bit for mask in masks))


class MeasuredSymbol(NamedTuple):
    """What an imported coverage report shows of a symbol."""

    run: str
    content_hash: str
    """Of the symbol that was measured."""
    is_executed: bool
    """Whether the run executed it; by which test is not known."""


def measured_symbols(db: Database, ids: Sequence[str]) -> dict[str, list[MeasuredSymbol]]:
    """Symbol → what the newest imported coverage reports show of it, newest first, without those
    that name the tests (`tests_of_symbols`).
    """
    measured: dict[str, list[MeasuredSymbol]] = {}
    if not _is_recorded(db) or not ids:
        return measured
    symbols = {number: symbol for symbol, number in _numbers(db, ids).items()}
    wanted: dict[int, set[int]] = {}
    for batch in chunks(sorted(symbols)):
        for number, part in db.rows(
            f"SELECT symbol, part FROM executed_in WHERE symbol IN ({placeholders(batch)})", batch
        ):
            wanted.setdefault(part, set()).add(number)
    if not wanted:
        return measured
    sql = (
        "SELECT e.run, e.part FROM executed_run e JOIN receipt r ON r.run = e.run"
        " WHERE e.recorder = ? GROUP BY e.run, e.part ORDER BY MAX(r.seq) DESC LIMIT ?"
    )
    for run, run_part in db.rows(sql, (COVERAGE, _REPORTS_ASKED)):
        parts = [part for part in _parts_of(db, int(run_part)) if part in wanted]
        for number, value, is_executed in _measured_rows(list(_bodies(db, parts))):
            if number in symbols:
                row = MeasuredSymbol(str(run), value, is_executed)
                measured.setdefault(symbols[number], []).append(row)
    return measured


def _measured_rows(bodies: Sequence[list[Any]]) -> Iterator[tuple[int, str, bool]]:
    """(number of a symbol, content hash, whether it was executed) of what no test is known to have
    executed, and does not run at import.
    """
    of_tests = {key for body in bodies if body[0] == "tests" for key in body[2]}
    for body in bodies:
        if body[0] == "file":
            _, _, pairs, at_import, *_ = body
            others = of_tests.union(at_import)
            yield from ((key, value, True) for key, value in pairs if key not in others)
        elif body[0] == _UNREACHED:
            yield from ((key, value, False) for key, value in body[1])


def forget_runs(db: Database) -> None:
    """Remove the symbols of runs whose receipts were all compacted or removed, and parts that no
    run has any more.
    """
    if not _is_recorded(db):
        return
    db.execute(
        "DELETE FROM executed_run WHERE run NOT IN (SELECT run FROM receipt WHERE folded IS NULL)"
    )
    lists = [int(part) for (part,) in db.rows("SELECT DISTINCT part FROM executed_run")]
    used = {*lists, *(part for one in lists for part in _parts_of(db, one))}
    unused = [(part,) for (part,) in db.rows("SELECT id FROM executed_part") if part not in used]
    db.many("DELETE FROM executed_in WHERE part = ?", unused)
    db.many("DELETE FROM executed_part WHERE id = ?", unused)


def altered_parts(db: Database) -> list[str]:
    """What somebody edited of the executed symbols, a sentence each: for the audit of the store."""
    problems = []
    for number, key, body in (
        db.rows("SELECT id, digest, body FROM executed_part") if _is_recorded(db) else ()
    ):
        try:
            same = sha256(_unpacked(body)).digest() == key
        except (TypeError, ValueError):
            same = False
        if not same:
            problems.append(f"part {number} of the executed symbols was edited")
    return problems


def reachable(starts: Iterable[str], leads: Mapping[str, Iterable[str]]) -> set[str]:
    """These, and all to which they lead, directly or not."""
    reached = set(starts)
    waiting = list(reached)
    while waiting:
        new = set(leads.get(waiting.pop(), ())) - reached
        reached |= new
        waiting += new
    return reached
