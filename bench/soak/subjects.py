"""All that the soak injects, in the order of its table."""

from __future__ import annotations

from typing import Final

from bench.soak import calls, clock, crowd, damage, kills, power, trees
from bench.soak.stage import Subject

SUBJECTS: Final[tuple[Subject, ...]] = (
    kills.SUBJECT,
    power.SUBJECT,
    calls.SUBJECT,
    crowd.SUBJECT,
    damage.SUBJECT,
    clock.SUBJECT,
    trees.SUBJECT,
)
