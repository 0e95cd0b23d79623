"""The one way to turn facts into bytes, so that equal facts have equal hashes on every machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from typing import Any

from kl_hooks.model.definitions import lazy_pattern

Plain = Any
"""What canonical JSON can hold: dict with str keys, list or tuple, str, int, bool, None. No floats.
"""

_SIMPLE = frozenset((str, int, bool, type(None)))
_SURROGATE = lazy_pattern("[\ud800-\udfff]")


def replace_surrogates(value: Plain) -> Plain:
    """The same value, each lone surrogate (an undecodable byte) as U+FFFD: only such text has UTF-8
    bytes.
    """
    if isinstance(value, str):
        return _replace_surrogates_of(value)
    if isinstance(value, dict):
        return {_replace_surrogates_of(k): replace_surrogates(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [replace_surrogates(v) for v in value]
    return value


def _replace_surrogates_of(text: Any) -> str:
    if isinstance(text, str) and text.isascii():
        return text
    return _SURROGATE.sub("\ufffd", text)


def _check(value: Plain) -> None:
    # the text of a float differs between languages, and NaN is no JSON: equal facts would get
    # unequal hashes
    if isinstance(value, float):
        raise TypeError(f"canonical JSON holds integers only, not {value!r}")
    if isinstance(value, dict):
        if any(not isinstance(key, str) for key in value):
            raise TypeError("canonical JSON has keys that are text only")
        _check_items(value.values())
    elif isinstance(value, list | tuple):
        _check_items(value)


def _check_items(items: Collection[Plain]) -> None:
    # one by one only where one may need it: what a test run executed is 10,000 texts and numbers
    if not _SIMPLE.issuperset(map(type, items)):
        for item in items:
            _check(item)


def canonical(value: Plain) -> bytes:
    """UTF-8 JSON, keys sorted, no spaces, integers only; lone surrogates as U+FFFD.

    Raises TypeError for a float, a key that is not text, or a type JSON does not know.
    """
    _check(value)
    try:
        return _dumps(value).encode()
    except UnicodeEncodeError:
        return _dumps(replace_surrogates(value)).encode()


def _dumps(value: Plain) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def digest(kind: str, value: Plain) -> str:
    """64 hexadecimal digits: sha256 over `kl/<kind>`, a NUL and the canonical form of `value`."""
    # with the kind: equal values of two sorts, such as a claim and a violation, must not get one ID
    return hashlib.sha256(f"kl/{kind}\0".encode() + canonical(value)).hexdigest()
