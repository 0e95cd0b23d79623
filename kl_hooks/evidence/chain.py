"""The hash chain over the receipts of one store. Pure.

It proves that no receipt before a remembered head was edited, removed, inserted or reordered. It does not prove that
what a receipt says was true, nor anything after the last head that somebody else remembers.
"""

from __future__ import annotations

import hashlib
from typing import Final

START: Final = "0" * 64


def link(previous: str, receipt: str, origin: str = "local") -> str:
    """The chain's value after `receipt`, given its value before: 64 hexadecimal digits.

    Where a receipt came from decides what it weighs, so an origin that is not `local` is part of it.
    """
    more = "" if origin == "local" else f"\0{origin}"
    return hashlib.sha256(f"kl/chain/1\0{previous}{receipt}{more}".encode()).hexdigest()
