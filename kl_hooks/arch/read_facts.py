"""Facts of files, read when they are asked for: most checks ask for those of very few."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from kl_hooks.git.files import Entry

_FEW: Final = 12
"""Files asked for one by one before all are read at once."""


class Read(Mapping[str, dict[str, Any]]):
    """Path → facts, of all entries."""

    def __init__(
        self, known: Mapping[str, dict[str, Any]], entries: Mapping[str, Entry],
        read: Callable[[Sequence[Entry]], dict[str, Any]],
    ) -> None:  # fmt: skip
        self._known, self._entries, self._read = dict(known), entries, read
        self._asked = 0

    def __getitem__(self, path: str) -> dict[str, Any]:
        if path not in self._known:
            entry = self._entries[path]
            self._asked += 1
            some = [entry] if self._asked <= _FEW else [e for p, e in self._entries.items() if p not in self._known]
            self._known.update(self._read(some))
        return self._known[path]

    def __iter__(self) -> Iterator[str]:
        self._asked = _FEW  # whoever goes through them wants them all
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
