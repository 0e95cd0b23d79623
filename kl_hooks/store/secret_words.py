"""Secrets that show by their own look: tokens with a known beginning, JSON web tokens, random words.

One pass over the words of a text; within a word every step is linear.
"""

from __future__ import annotations

import re
from typing import Final

from kl_hooks.store.secret_names import turns

_WORD: Final = re.compile(r"[A-Za-z0-9_+/=.~-]{16,}+")
_PART: Final = re.compile(r"[A-Za-z0-9_+/-]{16,}+={0,2}")
_PIECE: Final = re.compile(r"[A-Za-z0-9]{4,}")
_HEX: Final = re.compile(r"(?:0x)?(?:[0-9a-f]+|[0-9A-F]+)")
_INTEGRITY: Final = re.compile(r"(?:sha(?:1|224|256|384|512)|md5|blake2[bs]|h1)[-:=]", re.ASCII)
_SHORT: Final = 100
"""Characters of a word that is worth remembering."""
_KEPT: Final = 20_000
_harmless: Final[set[str]] = set()
"""Words that are no secret, as seen before: source says the same long words over and over, and what becomes of a word
depends on nothing around it.
"""
_MAY_TURN: Final = re.compile(r"[0-9]|[A-Z](?:[^A-Z]*[A-Z]){3}")
"""Stands in every word with more than nine turns: without a digit each takes a capital letter, or two for one more."""
_HEX_DIGITS: Final = "0123456789abcdef"


def hide_words(text: str) -> str:
    """`text` with each word or part of a word that is a secret by itself as `[redacted:<rule>]`."""
    new = set(_WORD.findall(text)) - _harmless
    if not new:
        return text
    if len(_harmless) > _KEPT:
        _harmless.clear()
    _harmless.update(word for word in new if len(word) <= _SHORT and _shown(word) == word)
    return text if new <= _harmless else _WORD.sub(lambda match: _shown(match[0]), text)


def _shown(word: str) -> str:
    if not word.strip(_HEX_DIGITS):  # an id of git or ours: most long words are one, and none is taken for a secret
        return word
    from kl_hooks.store.secret_tokens import KNOWN

    word = KNOWN.sub(lambda m: f"[redacted:{m.lastgroup}]", word)
    if "eyJ" in word:
        word = _hide_jwt(word)
    return _PART.sub(_part, word) if _MAY_TURN.search(word) and turns(word) > 9 else word


def _hide_jwt(word: str) -> str:
    """Replaces `eyJ….….…` (three parts or more); the parts of one token are all that hangs together by dots."""
    start = word.find("eyJ")
    token = word[start:]
    if token.count(".") < 1 or len(token) < 20:
        return word
    return word[:start] + "[redacted:jwt]"


def _part(match: re.Match[str]) -> str:
    return "[redacted:random]" if random_looking(match[0]) and not _allowed(match) else match[0]


def _allowed(match: re.Match[str]) -> bool:
    """An integrity hash (`sha512-…`, `sha256=…`): says what a file is, opens nothing."""
    before = match.string[max(0, match.start() - 10) : match.start()]
    return bool(_INTEGRITY.match(match[0]) or re.search(_INTEGRITY.pattern + r"\Z", before))


def random_looking(part: str) -> bool:
    """Its longer alphanumeric pieces turn (see `turns`) more often than names do. Pure hexadecimal never counts.

    The figures come from 40,000 words of the standard library (0.7 % taken for random, nearly all of them base64) and
    from random words of 20 to 64 characters (over 97 % found from 24 characters on).
    """
    pieces = [p for p in _PIECE.findall(part) if not _HEX.fullmatch(p)]
    length = sum(map(len, pieces))
    return length >= 18 and sum(map(turns, pieces)) >= 0.6 * (length - len(pieces))
