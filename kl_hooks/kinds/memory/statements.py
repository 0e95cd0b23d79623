"""Explicit statements in what an agent or its user said: `I learned that …`, `Note: …`, `Important: …`. Pure.

What a tool printed is never taken for a statement: whoever can write a file could plant one. Nor is what stands in a
code block or a quotation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kl_hooks.kinds.memory.thresholds import LONGEST_STATEMENT, SHORTEST_STATEMENT

_STATED: Final = re.compile(
    r"(?:^|(?<=[.!?] ))\W{0,6}(?:(?:I|we)(?:'ve| have)?(?: just| also)? learn(?:ed|t) that|"
    r"(?:note(?: to self)?|important|remember|lessons?(?: learned)?|gotcha|caveat|til)\*{0,2}:\*{0,2})"
    r"\s+(\S.{0,2000})",
    re.IGNORECASE,
)
_PASSING: Final = re.compile(
    r"(?:i'll|i will|i'm|i am|let me|let's|we'll|now |next|first,|then |this (?:is|was) (?:done|fixed)|done|ok)\b",
    re.IGNORECASE,
)
"""Beginnings of what speaks about the session, not about the repository."""


def statements(text: str) -> Iterator[str]:
    """Each statement, on one line, without the words that introduce it."""
    fenced = False
    for line in text.split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and not line.lstrip().startswith(">") and (found := _STATED.search(line)):
            said = found[1].strip().strip("*_ ").strip()
            if _telling(said):
                yield said[0].upper() + said[1:]


def _telling(said: str) -> bool:
    long_enough = SHORTEST_STATEMENT <= len(said) <= LONGEST_STATEMENT and len(said.split()) >= 4
    return long_enough and not said.endswith("?") and not _PASSING.match(said)
