"""The order in which a class and its bases are asked for an attribute (C3, as Python does it)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def linearized(own: T, orders: Sequence[Sequence[T]]) -> list[T]:
    """The class, then its bases and theirs; `orders`: those of the bases, in the order of the bases.

    Where there is no such order (Python would refuse the class) each is taken the first time it comes.
    """
    left = [list(order) for order in [*orders, [order[0] for order in orders if order]] if order]
    made = [own]
    while left:
        tails = {one for order in left for one in order[1:]}
        head = next((order[0] for order in left if order[0] not in tails), None)
        if head is None:
            rest = [one for order in left for one in order]
            return [*made, *dict.fromkeys(one for one in rest if one not in made)]
        made.append(head)
        left = [kept for order in left if (kept := [one for one in order if one != head])]
    return list(dict.fromkeys(made))
