"""Slugs: a title as it can stand in a file name or a link."""

from __future__ import annotations

import re
from typing import Final

_OTHER: Final = re.compile(r"[^a-z0-9\s-]")
_GAPS: Final = re.compile(r"[\s-]+")


def slug(text: str, most: int = 60) -> str:
    """`Two scanners, one contract` → `two-scanners-one-contract`; at most `most` characters, cut between words.

    Lower case; what is no ASCII letter, digit, space or `-` is dropped. Empty where nothing is left.
    """
    made = _GAPS.sub("-", _OTHER.sub("", text.lower())).strip("-")
    if len(made) <= most:
        return made
    return made[: most + 1].rpartition("-")[0].strip("-") or made[:most].strip("-")
