"""What the tests of a run read as data: files that were opened, and folders that were listed.

A part of `kl.executed/1` (`evidence.executed`) that an earlier kl neither writes nor reads. It has
names and no numbers of a run, so that runs which read the same share their parts in the store.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from kl_hooks.model.definitions import NamedTuple

PART: Final = "reads"
"""The sort of the part of a test file, …"""
_OTHER_PART: Final = "other reads"
"""… and of what is read by others than tests; every run that recorded reads has one."""
_MOST_SETS: Final = 1_024
_MOST_READS: Final = 32_768
"""So many stay in memory, whatever becomes of the runs that had them."""


INSTALLED: Final = "/"
"""The path of a read of metadata of installed distributions, …"""
EVERYTHING: Final = "*"
"""… and the pattern where that is of all of them."""
VARIABLES: Final = "/environ"
"""The path of a question for a variable of the environment that was not set, …"""
SET_VARIABLES: Final = "/environ/set"
"""… and of the value of one that was."""
STATES: Final = "/state"
"""The path of reads of what tests share: an earlier test left it changed, or it is the value of a
fixture or the class of the test. The pattern is `app.py:REGISTRY`; …"""
STORED: Final = "/state/stored"
"""… of what an earlier test computed and stored, …"""
TOUCHED: Final = "/state/touched"
"""… of what removes such a state, whether there was one or not, …"""
RESET: Final = "/state/reset"
"""… and of what the test set anew before it used it."""
SHARED: Final = "/state/shared"
"""Beside `STORED`: the test shares it with others (its class, the value of a fixture), and nothing
that an earlier one left was seen there."""
NAMED: Final = "/named"
"""The path of reads of a module by a name that may come from data: `import_module`, a pickle. The
pattern is the path of its file.
"""
DOCS: Final = "/docs"
"""The path of reads of docstrings by installed code. The pattern is the path of the file in which
they are, or `EVERYTHING`.
"""
ELSEWHERE: Final = (
    *(INSTALLED, VARIABLES, SET_VARIABLES, STATES, STORED, TOUCHED, RESET, SHARED),
    *(NAMED, DOCS),
)
"""The paths of reads of what is no file of the repository."""


class Read(NamedTuple):
    """A file that was opened, or a folder that was listed."""

    path: str
    """Of the file or folder; empty: the top folder; of `ELSEWHERE`."""
    pattern: str = ""
    """What a listing looked for, `*` or `**/*.json`, or a name that was looked for there, such as
    that of a module; empty: a file. Of metadata the name of the distribution, `*`: of all.
    Of a variable its name.
    """


_ReadsBy = Mapping[str, frozenset[Read]]


class Reads(NamedTuple):
    """What was read, by what read it; nothing is stored of those that read nothing."""

    tests: Mapping[str, frozenset[Read]] = {}
    """Node ID → what the test, and the fixtures that it uses, read."""
    modules: Mapping[str, frozenset[Read]] = {}
    """Path of a Python file → what its import read, and what it read outside of tests, as a hook
    does. Empty path: what code outside of the repository read there.
    """
    values: Mapping[str, frozenset[Read]] = {}
    """Symbol → what values were computed from that it gets without computing them."""

    def everything(self) -> frozenset[Read]:
        """All that anything read."""
        sets = (*self.tests.values(), *self.modules.values(), *self.values.values())
        return frozenset().union(*sets)

    def without_unowned(self, unwanted: Container[Read]) -> Reads:
        """The same without these reads where they were of code outside of the repository, and of no
        test.
        """
        unowned = self.modules.get("", frozenset())
        remaining = frozenset(read for read in unowned if read not in unwanted)
        if not unowned:
            return self
        return self._replace(modules={**self.modules, "": remaining})

    def to_dict(self) -> dict[str, Any]:
        """As plain values: by test file, with a bit mask over what its tests read."""
        by_file: dict[str, dict[str, frozenset[Read]]] = {}
        for nodeid, read in self.tests.items():
            if read:
                by_file.setdefault(nodeid.partition("::")[0], {})[nodeid] = read
        return {
            "tests": {path: list(_rows(sets)) for path, sets in sorted(by_file.items())},
            "modules": _plain(self.modules),
            "values": _plain(self.values),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Reads:
        """The inverse. ValueError, KeyError, TypeError for anything else."""
        tests = {
            nodeid: read
            for path, (keys, masks) in plain["tests"].items()
            for nodeid, read in _sets(path, keys, masks)
        }
        return cls(tests, _read_sets(plain["modules"]), _read_sets(plain["values"]))

    def parts(self) -> Iterator[list[Any]]:
        """The parts in the store: one for each test file, and one for all others."""
        plain = self.to_dict()
        for path, rows in plain["tests"].items():
            yield [PART, path, *rows]
        yield [_OTHER_PART, plain["modules"], plain["values"]]

    @classmethod
    def from_parts(cls, parts: Iterable[Sequence[Any]]) -> Reads | None:
        """The inverse, of all parts of a run; None where it did not record reads."""
        tests: dict[str, Any] = {}
        others: Sequence[Any] | None = None
        for sort, *content in parts:
            if sort == PART:
                tests[content[0]] = content[1:]
            elif sort == _OTHER_PART:
                others = content
        if others is None:
            return None
        return cls.from_dict({"tests": tests, "modules": others[0], "values": others[1]})


def _rows(sets: _ReadsBy) -> tuple[list[list[str]], list[list[str]]]:
    keys = sorted(frozenset().union(*sets.values()))
    bit = {key: 1 << place for place, key in enumerate(keys)}
    masks = [[nodeid, f"{sum(bit[key] for key in sets[nodeid]):x}"] for nodeid in sorted(sets)]
    return [list(key) for key in keys], masks


def _plain(sets: _ReadsBy) -> dict[str, list[list[str]]]:
    return {name: [list(key) for key in sorted(sets[name])] for name in sorted(sets) if sets[name]}


def _sets(path: str, plain_keys: Any, masks: Any) -> Iterator[tuple[str, frozenset[Read]]]:
    keys = _keys(plain_keys)
    # many tests of a file read the same: each set is one object
    reads_of_mask: dict[str, frozenset[Read]] = {}
    for nodeid, mask in masks:
        if nodeid.partition("::")[0] != path:
            raise ValueError("a set of reads is not of its file")
        if mask not in reads_of_mask:
            reads_of_mask[mask] = _chosen(keys, int(mask, 16))
        yield nodeid, reads_of_mask[mask]


def _chosen(keys: Sequence[Read], mask: int) -> frozenset[Read]:
    if not 0 <= mask < 1 << len(keys):
        raise ValueError("a set of reads is not of its file")
    return frozenset(key for place, key in enumerate(keys) if mask >> place & 1)


def _read_sets(plain: Any) -> dict[str, frozenset[Read]]:
    return {name: _read_set(tuple(_keys(keys))) for name, keys in plain.items()}


# The imports of many modules read the same, run for run: each set is one object, as is each read.
@lru_cache(maxsize=_MOST_SETS)
def _read_set(reads: tuple[Read, ...]) -> frozenset[Read]:
    return frozenset(reads)


def _keys(plain: Any) -> list[Read]:
    return [*map(_read, map(tuple, plain))]


@lru_cache(maxsize=_MOST_READS)
def _read(key: tuple[Any, ...]) -> Read:
    if not all(isinstance(part, str) for part in key):
        raise TypeError
    return Read(*key)
