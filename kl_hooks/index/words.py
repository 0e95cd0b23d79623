"""Identifiers as people say them: `parseArgs`, `parse_args` and "parse args" have the same parts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

MOST: Final = 32
"""Words of a query that are looked at."""
_LONGEST: Final = 200
"""Characters of a word of a query: nobody's name is longer, and LIKE refuses huge patterns."""
_WORD: Final = re.compile(r"\w+")
_SEAM: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def split(identifier: str) -> list[str]:
    """`HTTPServer_error2` → `["http", "server", "error2"]`: at `_` and where small and capital letters meet."""
    return list(_parts(identifier))


@lru_cache(maxsize=20_000)  # a repository says the same words over and over
def _parts(word: str) -> tuple[str, ...]:
    return tuple(piece for piece in _SEAM.sub("_", word).lower().split("_") if piece)


def split_all(text: str) -> str:
    """The words of a text, each followed by its parts where it has several; separated by spaces, in their order."""
    return " ".join(map(_with_parts, _WORD.findall(text)))


def split_words(words: str) -> str:
    """The same of identifiers with spaces between them: sooner than looking for words in a text."""
    return " ".join(map(_with_parts, words.split())) if words.isascii() else split_all(words)


def joined(identifier: str) -> str:
    """The parts of one identifier, separated by spaces."""
    return _joined(identifier)


def parts_only(text: str) -> str:
    """The parts of every word of a text, separated by spaces."""
    return " ".join(filter(None, map(_joined, _WORD.findall(text))))


@lru_cache(maxsize=20_000)
def _joined(word: str) -> str:
    return " ".join(_parts(word))


@lru_cache(maxsize=20_000)
def _with_parts(word: str) -> str:
    pieces = _parts(word)
    return f"{word} {' '.join(pieces)}" if len(pieces) > 1 else word


def query_words(words: Iterable[str]) -> list[str]:
    """What to look for: the words and their parts in lower case, each once, at most `MOST`.

    Every word given is taken before any part. Signs are left out, so nothing in a query can mean anything to FTS5.
    """
    given = [word for text in words for word in _WORD.findall(text) if len(word) <= _LONGEST]
    wanted = [word.lower() for word in given] + [part for word in given for part in split(word)]
    return list(dict.fromkeys(word for word in wanted if word.strip("_")))[:MOST]
