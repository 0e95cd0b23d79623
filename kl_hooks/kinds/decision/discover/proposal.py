"""Proposal: a decision that the code seems to have taken, with what speaks for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

THRESHOLD: Final = 70
"""Percent from which a proposal is shown."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Never more than a proposal: only a person accepts it."""

    key: str
    """What it is about, the same in every run: `dependency:fastapi`."""
    title: str
    decision: str
    evidence: tuple[str, ...]
    """What was seen, a line each."""
    confidence: int
    """Percent."""
    governs: tuple[str, ...] = ()
    """Files and folders that it holds for."""

    @property
    def source(self) -> str:
        """As the record keeps it, so that it is proposed once only."""
        return f"discovered:{self.key}"
