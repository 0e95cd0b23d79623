"""The outcomes of a run as one small blob over an interned list of tests. Pure; a round trip loses nothing.

A run of 20,000 tests costs about two bytes a test: outcomes repeat, durations are small numbers.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence

from kl_hooks.model.receipt import TEST_OUTCOMES

_CODE = {outcome: code for code, outcome in enumerate(TEST_OUTCOMES)}
_MOST = 64 * 1024 * 1024
"""Bytes a blob may unpack to: more is not ours (5 million tests)."""


def _varints(numbers: Iterable[int]) -> bytes:
    out = bytearray()
    for number in numbers:
        while number > 0x7F:
            out.append(number & 0x7F | 0x80)
            number >>= 7
        out.append(number)
    return bytes(out)


def _read_varints(data: bytes, start: int = 0) -> Iterator[int]:
    number = shift = 0
    for byte in data[start:]:
        number |= (byte & 0x7F) << shift
        if byte & 0x80:
            shift += 7
        else:
            yield number
            number = shift = 0


def _unpack(blob: bytes) -> bytes:
    plain = zlib.decompressobj().decompress(blob, _MOST + 1)
    if len(plain) > _MOST:
        raise ValueError("the column is larger than any run")
    return plain


def pack_outcomes(outcomes: Sequence[tuple[str, int]]) -> bytes:
    """(outcome, microseconds) per test, in the order of the list, as a blob. KeyError for an outcome that is none."""
    codes = bytes(_CODE[outcome] for outcome, _ in outcomes)
    return zlib.compress(codes + _varints(max(0, micros) for _, micros in outcomes), 9)


def unpack_outcomes(blob: bytes, count: int) -> list[tuple[str, int]]:
    """The way back. ValueError, IndexError or zlib.error where the blob is not one of `count` tests."""
    plain = _unpack(blob)
    durations = list(_read_varints(plain, count))
    if len(durations) != count:
        raise ValueError(f"the column holds {len(durations)} durations for {count} tests")
    return [(TEST_OUTCOMES[code], micros) for code, micros in zip(plain[:count], durations, strict=True)]


def unpack_codes(blob: bytes, count: int) -> bytes:
    """The outcomes alone: for each test its place in `TEST_OUTCOMES`. ValueError or zlib.error as above."""
    plain = _unpack(blob)
    if len(plain) < count or any(code >= len(TEST_OUTCOMES) for code in set(plain[:count])):
        raise ValueError(f"the column does not hold outcomes of {count} tests")
    return plain[:count]


def pack_ids(ids: Sequence[int]) -> bytes:
    """Positive ids, any order, as a blob of zigzag differences."""
    steps = (b - a for a, b in zip([0, *ids], ids, strict=False))
    return zlib.compress(_varints(step * 2 if step >= 0 else -step * 2 - 1 for step in steps), 9)


def unpack_ids(blob: bytes) -> list[int]:
    """The way back."""
    ids, at = [], 0
    for folded in _read_varints(_unpack(blob)):
        at += folded // 2 if folded % 2 == 0 else -(folded + 1) // 2
        ids.append(at)
    return ids
