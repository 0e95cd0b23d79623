"""What each origin of a receipt proves, and what it counts for.

SECURITY.md prints this table (`make docs`); `test_origins.py` plays every row.
"""

from __future__ import annotations

from collections.abc import Iterator

from kl_hooks.evidence.trust import ORIGINS

COUNTS = {
    "local": ("one observation: *inferred*", "inferred", "not proven"),
    "imported": ("an assertion: *assumed*, and nothing for a gate", "assumed", "not proven"),
    "signed": ("one observation of a proven producer: *inferred*", "inferred", "not proven"),
    "ci": ("the same, and *verified* with `--from ci`", "inferred", "verified"),
}
"""Beginning of an origin → in words what it counts for, the tier of a claim by it alone, `kl verify
--from ci`.
"""


def rows() -> Iterator[tuple[str, str, str, str]]:
    """The table: what it is, what that proves, what it does not, what it counts for."""
    for kind, meaning in ORIGINS.items():
        yield (*meaning, COUNTS[kind][0])
