"""What a graph is to hold, file by file; and who is told how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kl_hooks.code.imports_read import scanner_of

if TYPE_CHECKING:
    from kl_hooks.code.remembered import Key
    from kl_hooks.git.files import FileEntry
    from kl_hooks.hookspecs import Scanner

Watch = Callable[[Iterator[Any], int], Iterator[Any]]
"""Given what is about to come and how many, hands it on: who waits can be told how far it is."""


def keys(entries: Iterable[FileEntry], scanners: Sequence[Scanner]) -> dict[str, Key]:
    """Path → (blob, scanner's version) for each entry that a scanner knows; the first scanner of a suffix wins."""
    found: dict[str, Key] = {}
    for entry in entries:
        scanner = scanner_of(entry.path, scanners)
        if scanner is not None:
            found[entry.path] = (entry.blob, scanner.version)
    return found


def unwatched(made: Iterator[Any], number: int) -> Iterator[Any]:
    """Hands on what comes, and tells nobody."""
    return made
