"""From what the tracers of a run's processes noted of files and listings to what its tests read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kl_hooks.evidence.reads import Read, Reads

_IsContent = Callable[[Read, bool], bool]
"""Whether another content may have something else there; asked with whether it was not there."""


class ReadTrace:
    """What all processes of a run read."""

    def __init__(self) -> None:
        self._recorded: bool | None = None
        self._absent: dict[Read, bool] = {}
        self._tests: dict[str, set[Read]] = {}
        self._modules: dict[str, set[Read]] = {}
        self._values: dict[int, set[Read]] = {}
        self._process: Mapping[str, Any] = {}
        self._keys: dict[int, Read] = {}

    @property
    def opened(self) -> frozenset[str]:
        """The files that anything opened, imports and tools included."""
        return frozenset(read.path for read in self._absent if not read.pattern)

    def begin(self, plain: Mapping[str, Any] | None) -> None:
        """The notes of one more process (`Tracer.plain`); None where it has none."""
        self._recorded = plain is not None and self._recorded is not False
        self._process = plain or {}
        self._keys = {}
        for number, path, pattern, absent in self._process.get("keys", ()):
            read = self._keys[number] = Read(path, pattern)
            self._absent[read] = self._absent.get(read, False) or absent
        for sort in ("modules", "session"):
            for path, numbers in self._process.get(sort, {}).items():
                self._modules.setdefault(path, set()).update(self._reads(numbers))

    def _reads(self, numbers: Iterable[int]) -> set[Read]:
        return {self._keys[number] for number in numbers}

    def add_test(self, nodeid: str, name: str, fixtures: Iterable[int]) -> None:
        """A test of this process, its ID in the record, and the fixtures that it used."""
        if not self._process:
            return
        numbers = [*self._process["tests"].get(nodeid, ())]
        for index in fixtures:
            numbers += self._process["fixtures"][index]
        if numbers:
            self._tests.setdefault(name, set()).update(self._reads(numbers))

    def add_values(self, number: Callable[[int], int]) -> None:
        """The values that this process computed; `number`: of a code object in all processes."""
        for readers, numbers in self._process.get("values", ()):
            for reader in readers:
                self._values.setdefault(number(reader), set()).update(self._reads(numbers))

    def reads(self, symbol: Callable[[int], str | None], is_content: _IsContent) -> Reads | None:
        """What the run read of its content; None where it is not known. `symbol`: of a code
        object.
        """
        if not self._recorded:
            return None
        wanted = {read for read, absent in self._absent.items() if is_content(read, absent)}
        values: dict[str, set[Read]] = {}
        for code, reads in self._values.items():
            if name := symbol(code):
                values.setdefault(name, set()).update(reads)
        return Reads(*(_of_content(sets, wanted) for sets in (self._tests, self._modules, values)))


def _of_content(sets: Mapping[str, set[Read]], wanted: set[Read]) -> Mapping[str, frozenset[Read]]:
    return {name: frozenset(reads & wanted) for name, reads in sets.items() if reads & wanted}
