"""The one way to turn facts into bytes, so that equal facts have equal hashes on every machine."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

Plain = Any
"""What canonical JSON can hold: dict with str keys, list or tuple, str, int, bool, None. No floats."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def replace_surrogates(value: Plain) -> Plain:
    """The same value, each lone surrogate (an undecodable byte) as U+FFFD: only such text has UTF-8 bytes."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_SURROGATE.sub("\ufffd", k): replace_surrogates(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [replace_surrogates(v) for v in value]
    return value


def _refuse_floats(value: Plain) -> None:
    # the text of a float differs between languages, and NaN is no JSON: equal facts would get unequal hashes
    if isinstance(value, float):
        raise TypeError(f"canonical JSON holds integers only, not {value!r}")
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        _refuse_floats(item)


def canonical(value: Plain) -> bytes:
    """UTF-8 JSON, keys sorted, no spaces, integers only.

    Raises TypeError for a float, a key that is not text, or a type JSON does not know.
    """
    _refuse_floats(value)
    clean = replace_surrogates(value)  # raises for a key that is not text, as `re` does
    return json.dumps(clean, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def digest(kind: str, value: Plain) -> str:
    """64 hexadecimal digits: sha256 over `kl/<kind>`, a NUL and the canonical form of `value`."""
    # with the kind: equal values of two sorts, such as a claim and a violation, must not get one ID
    return hashlib.sha256(f"kl/{kind}\0".encode() + canonical(value)).hexdigest()
