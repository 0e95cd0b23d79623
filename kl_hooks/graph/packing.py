"""The links of one owner as one block of numbers: six columns of 32 bits, one after the other.

A row of its own for each link, with the indexes to find it, would cost more than reading the source it came from.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Final

Numbers = tuple[int, int, int, int, int, int]
"""(source, relation, target, line, method, confidence); texts by their numbers."""
COLUMNS: Final = 6


def pack(columns: Sequence[Sequence[int]]) -> bytes:
    """The block of some rows, given as their six columns; little-endian on every machine."""
    return b"".join(_little(array("I", column)).tobytes() for column in columns)


def unpack(block: bytes) -> Iterator[Numbers]:
    """The rows of a block, as they were packed. ValueError for what is none."""
    return zip(*columns_of(block), strict=True)


def columns_of(block: bytes) -> list[array[int]]:
    """The six columns of a block. ValueError for what is none."""
    size, rest = divmod(len(block), COLUMNS)
    if rest or size % 4:
        raise ValueError("not a block of links")
    found = []
    for place in range(COLUMNS):
        column = array("I")
        column.frombytes(block[place * size : (place + 1) * size])
        found.append(_little(column))
    return found


def _little(column: array[int]) -> array[int]:
    from sys import byteorder

    if byteorder == "big":
        column.byteswap()
    return column
