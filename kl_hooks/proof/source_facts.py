"""What the rules ask of a source file by its content alone: each content is read once on this
machine.

To read a file takes some 20 ms, to get what was read from the cache a fiftieth of that, and where
only parts of a suite ran, a verdict asks about half of all files.
"""

from __future__ import annotations

import hashlib
import json
import sys
import zlib
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kl_hooks.code import assignments, decorators, function_code, import_time, introspection
from kl_hooks.code.function_code import PlacedFunctions
from kl_hooks.code.import_time import ImportTime
from kl_hooks.code.introspection import Introspection
from kl_hooks.code.scanner import parser
from kl_hooks.model import definitions

if TYPE_CHECKING:
    from kl_hooks.store.cache import Cache

_Fact = TypeVar("_Fact", Introspection, ImportTime, PlacedFunctions)
READERS: Final = (
    *(assignments, decorators, definitions, function_code, import_time, introspection),
    parser,
)
"""The modules that decide what is read: where one of them changes, everything is read again."""
_MOST: Final = 1_024
"""Contents of each sort in memory: each recorded run asks about the same."""


class SourceFacts:
    """Reads contents, and stores what it read in the cache; without one in memory only."""

    def __init__(self, cache: Cache | None = None) -> None:
        self._cache = cache
        # of the object: what a cache has must not be answered for another one
        self.introspection = lru_cache(maxsize=_MOST)(self._introspection)
        self.import_time = lru_cache(maxsize=_MOST)(self._import_time)
        self.placed_functions = lru_cache(maxsize=_MOST)(self._placed_functions)

    def _introspection(self, content: bytes) -> Introspection:
        """The uses of a file of this content."""
        return self._fact(
            "introspection", content, introspection.introspection, Introspection.from_plain
        )

    def _import_time(self, content: bytes) -> ImportTime:
        """What importing a file of this content executes."""
        return self._fact("import-time", content, import_time.import_time, ImportTime.from_plain)

    def _placed_functions(self, content: bytes) -> PlacedFunctions:
        """The functions of a file of this content, and where they are."""
        return self._fact(
            "functions", content, function_code.placed_functions, PlacedFunctions.from_plain
        )

    def _fact(
        self,
        sort: str,
        content: bytes,
        read: Callable[[bytes], _Fact],
        from_plain: Callable[[Any], _Fact],
    ) -> _Fact:
        if self._cache is None:
            return read(content)
        key = f"{sort}/{_version()}/{hashlib.sha256(content).hexdigest()}"
        packed = self._cache.get(key)
        if packed is not None:
            try:
                return from_plain(json.loads(zlib.decompress(packed)))
            except (zlib.error, ValueError, TypeError, KeyError, RecursionError):
                pass  # not of this form: read again
        fact = read(content)
        self._cache.set(key, zlib.compress(json.dumps(fact.plain()).encode(), level=1), None)
        return fact


@cache
def _version() -> str:
    """Of what is read: another Python parses other syntax from the same bytes, and warns of
    more.
    """
    digest = hashlib.sha256(sys.version.encode())
    for module in READERS:
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.hexdigest()[:16]


@lru_cache(maxsize=1)
def source_facts(cache: Cache) -> SourceFacts:
    """Those of a workspace: all comparisons share them."""
    return SourceFacts(cache)
