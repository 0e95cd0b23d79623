"""Does a name (of a variable, an option, a key) say that its value is a secret? And is a value one, or plain code?"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import Final

NAMING: Final = ("pass", "pwd", "secret", "token", "cred", "auth", "key", "bearer")
"""One of these stands, in small or capital letters, wherever `secret_assigned` finds something."""
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ALONE: Final = _words(
    """
    password passwords passwd passphrase passcode pwd pass pw secret secrets token tokens credential
    credentials creds auth authorization apikey jwt bearer pat otp
    """
)
_WITH_KEY: Final = _words(
    """
    api access private secret signing signature encryption account master ssh auth shared client license
    storage deploy service webhook session hmac aes
    """
)
_GLUED: Final = re.compile(
    r"passw(?:or)?d|passphrase|secret(?!ar)|credential|(?:api|access|private|secret|encryption|signing)key|"
    r"(?:access|auth|refresh|bearer|id|session)token"
)
_ABOUT: Final = _words(
    """
    count counts type types name names len length size sizes limit limits file files filename path paths
    url uri field fields ttl expiry expires expiration max min estimator kind class re regex pattern
    budget sock socket dir directory policy policies prompt hash algorithm method methods mode scheme
    format header headers index offset id ids start end line column position usage used per total error
    errors required enabled disabled valid invalid manager provider handler backend backends server host
    port version module plugin test tests page view form reset change changed status state level
    endpoint
    """
)
"""Last words that say the value is something *about* the secret."""
_PLACEHOLDER: Final = re.compile(
    r"none|null|nil|true|false|undefined|self|str|bytes|bytearray|int|float|bool|object|any|optional|string|text|"
    r"required|optional|changeme|example|dummy|x{3,}|\*+|\.+|-+|_+|<.*|\{.*|\$.*|%.*|\[.*|\(.*",
    re.IGNORECASE | re.DOTALL,
)
_CODE: Final = re.compile(r"[A-Za-z_][A-Za-z_0-9]*(?:\.[A-Za-z_][A-Za-z_0-9]*|\[[^\]]{0,40}\]?)*[(\[.,;:]*")


@lru_cache(maxsize=4096)
def secret_name(name: str) -> bool:
    """True for `DB_PASSWORD`, `apiKey`, `x-auth-token`; False for `token_count`, `author`, `key`, `bypass`."""
    words = [w.lower() for w in _WORDS.findall(name[-100:])]
    while words and words[-1].isdigit():
        words.pop()
    if not words or words[-1] in _ABOUT:
        return False
    if not _ALONE.isdisjoint(words):
        return True
    if any(b in ("key", "keys") and a in _WITH_KEY for a, b in pairwise(words)):
        return True
    return bool(_GLUED.search("".join(words)))


def is_password(name: str) -> bool:
    """The name speaks of one password or secret, whose value may be any word or number (a token's may not)."""
    low = name.lower()
    return ("pass" in low or "pwd" in low or "secret" in low) and not low.endswith(("words", "secrets"))


def placeholder(value: str) -> bool:
    """Nothing to hide: empty, `None`, `***`, `<token>`, `$TOKEN`, a type's name, or already redacted."""
    return not value or _PLACEHOLDER.fullmatch(value) is not None


def looks_like_code(value: str) -> bool:
    """`self.token`, `get_token(`, `tokens[0]`: a name that a program could hold, without the look of a random word."""
    return _CODE.fullmatch(value) is not None and not random_word(value)


def random_word(value: str) -> bool:
    """At least eight characters that mix letters with digits or signs more than a name does."""
    if len(value) < 8:
        return False
    digits = sum(c.isdigit() for c in value)
    letters = sum(c.isalpha() for c in value)
    signs = sum(c in "!@#$%^&*?~+/=" for c in value)
    if not letters or not digits + signs:
        return False
    return turns(value) // 3 + signs >= 2


_CASE: Final = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[a-z][A-Z])(?=[A-Z])|(?<=[A-Z]{2})(?=[a-z])")
_DIGIT: Final = re.compile(r"(?<=[0-9])(?=[A-Za-z])|(?<=[A-Za-z])(?=[0-9])")


def turns(word: str) -> int:
    """How often `word` changes its mind: 2 where capitals and small letters meet, 3 where letters and digits do."""
    return 2 * len(_CASE.findall(word)) + 3 * len(_DIGIT.findall(word))
