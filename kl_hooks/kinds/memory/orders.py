"""Text that addresses its reader as an order: the reasons to hold it back until a person has read it. Pure.

For text of untrusted origin only (agents, transcripts, what tools print). It looks at the text as it came, before
anything is escaped. A net, not a promise: words that nobody thought of pass, and a person reads them in the review.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from typing import Final

from kl_hooks.kinds.memory.order_words import PHRASES

LONGEST: Final = 20_000
"""Characters that are looked at; a longer text is held back for that."""
_COLOUR: Final = re.compile(r"\x1b\[[0-9;:]{0,32}m")
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_EMOJI_JOIN: Final = re.compile(
    "(?<=[\u2190-\u2bff\ufe0f\U0001f000-\U0001faff])\u200d(?=[\u2190-\u2bff\U0001f000-\U0001faff])"
)
_QUOTED: Final = re.compile(r"`[^`\n]{1,200}`")
_BLOB: Final = re.compile(r"(?<![A-Za-z0-9+/=_-])(?<!sha256-)(?<!sha384-)(?<!sha512-)[A-Za-z0-9+/_-]{40,}={0,2}")
_HEX: Final = re.compile(r"(?:[0-9A-Fa-f]{2}){24,}")
_MIXED: Final = re.compile(r"(?:[a-z][а-яё]|[а-яё][a-z])", re.IGNORECASE)
_LONG_BLOB: Final = 400


def orders(text: str) -> tuple[str, ...]:
    """Why this text should be held back, one reason each; empty: nothing was found."""
    found = [f"it is longer than {LONGEST} characters"] if len(text) > LONGEST else []
    text = _COLOUR.sub("", text[:LONGEST].replace("\r\n", "\n"))
    bare = _EMOJI_JOIN.sub("", text)
    if _HIDDEN.search(bare):
        found.append("it has characters that nobody can see")
    plain = _plain(_HIDDEN.sub("", bare))
    if _MIXED.search(plain):
        found.append("it mixes letters of two scripts in a word")
    if "<!--" in _QUOTED.sub("", plain):
        found.append("it has an HTML comment, which is not shown where Markdown is rendered")
    found += _encoded(text)
    found += [reason for reason, pattern in PHRASES if pattern.search(plain)]
    return tuple(dict.fromkeys(found))


def _plain(text: str) -> str:
    """One spelling of letters and spaces: full-width and mathematical letters, accents typed apart."""
    return re.sub(r"[ \t\u00a0]+", " ", unicodedata.normalize("NFKC", text))


def _encoded(text: str) -> list[str]:
    for match in _BLOB.finditer(text):
        word = match[0]
        if _HEX.fullmatch(word):
            if _readable(bytes.fromhex(word)):
                return ["it has a block of encoded text"]
        elif _readable(_decoded(word)) or len(word) >= _LONG_BLOB:
            return ["it has a block of encoded text"]
    return []


def _decoded(word: str) -> bytes:
    """What base64 gives; nothing where it is none, or a path, or a name in words."""
    standard = word.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _readable(data: bytes) -> bool:
    """True for what is a sentence to a reader: printable, with spaces."""
    printable = sum(32 <= byte < 127 or byte in (9, 10) for byte in data)
    return len(data) >= 24 and printable * 20 >= len(data) * 19 and data.count(b" ") >= 2
