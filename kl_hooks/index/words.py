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
_ENDINGS: Final = ("ings", "ing", "ied", "ies", "ed", "es", "s", "e", "y")
_SHORTEST: Final = 4
"""Letters of a stem."""
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


def stem(word: str) -> str:
    """What the inflections of an English word have in common: `totals` → `total`, `caching` → `cach`, `entry` → `entr`.

    For asking whether it stands anywhere in a text, where no full text can be asked: shorter than a dictionary's stem.
    """
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST:
            word = word.removesuffix(ending)
            break
    if word[-1:] == word[-2:-1] and len(word) > _SHORTEST - 1 and word[-1] not in "aeiousl":
        word = word[:-1]  # `running` → `run`
    return word


def query_words(words: Iterable[str]) -> list[str]:
    """What to look for: the words and their parts in lower case, each once, at most `MOST`.

    Every word given is taken before any part. Signs are left out, so nothing in a query can mean anything to FTS5.
    """
    given = _given(words)
    return _distinct([*map(str.lower, given), *(part for word in given for part in split(word))])


def whole_words(words: Iterable[str]) -> list[str]:
    """The same without the parts of identifiers."""
    return _distinct(map(str.lower, _given(words)))


def _given(words: Iterable[str]) -> list[str]:
    return [word for text in words for word in _WORD.findall(text) if len(word) <= _LONGEST]


def _distinct(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(word for word in words if word.strip("_")))[:MOST]
