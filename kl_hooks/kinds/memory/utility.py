"""Did it help? Importance that outcomes correct, and what verifying and disproving do to it. Integers only. Pure.

Importance as written is in percent; here it is in millionths, so that nothing is rounded twice.
"""

from __future__ import annotations

from typing import Final

from kl_hooks.kinds.memory.tally import Tally

ONE: Final = 1_000_000
PERCENT: Final = 10_000
FEW: Final = 5
"""Below this many rated injections outcomes say too little."""
READY_IMPORTANCE, READY_OPENED = 700_000, 2
"""A candidate that weighs so much and was asked for so often is ready for the project."""
VERIFY_GAIN, VERIFY_CONFIDENCE = 150_000, 100_000
DISPROVEN_IMPORTANCE, DISPROVEN_CONFIDENCE = 50_000, 100_000


def ready(importance: int, tally: Tally) -> bool:
    """True for a candidate that should become a file of the project: people ask for it, and it matters."""
    return importance >= READY_IMPORTANCE and tally.opened >= READY_OPENED and not tally.disproven


def effective(importance: int, injected: int, positive: int) -> int:
    """Effective importance in millionths; `importance` in millionths too. `injected`: those that were rated.

    Importance itself below five, else 0.3 · importance + 0.7 · (positive + 2) / (injected + 4).
    """
    if injected < FEW:
        return importance
    helped = min(ONE, (positive + 2) * ONE // (injected + 4))
    return (3 * importance + 7 * helped) // 10


def weighed(percent: int, tally: Tally) -> int:
    """The importance of a record after what happened to it, in millionths: as written, verified, disproven, used."""
    start = DISPROVEN_IMPORTANCE if tally.disproven else percent * PERCENT
    verified = min(ONE, start + tally.verified * VERIFY_GAIN)
    return effective(verified, tally.rated, tally.positive)  # being given without a word on it says nothing


def confidence(tier_percent: int, tally: Tally) -> int:
    """Confidence in percent, where a number is asked for: from the tier, a little more for each verification."""
    start = DISPROVEN_CONFIDENCE if tally.disproven else tier_percent * PERCENT
    return min(ONE, start + tally.verified * VERIFY_CONFIDENCE) // PERCENT
