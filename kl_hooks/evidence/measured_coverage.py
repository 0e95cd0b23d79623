"""The coverage that a run of the tests measured, as its receipt has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

from kl_hooks.evidence.ledger import selection_limits
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import Receipt
from kl_hooks.model.text import name_list, one_line


class MeasuredCoverage(NamedTuple):
    """The total that pytest-cov reported at the end of a run."""

    hundredths: int
    """Of a percent."""
    precision: int
    """Digits to which coverage.py rounds before it compares."""
    sources: tuple[str, ...]
    """What was measured; empty: what coverage.py takes by itself."""
    run: str
    is_part: bool
    """The run was limited to some tests: all of them cover as much or more."""
    least: float | None = None
    """The percentage that pytest-cov asked for in this run; None where that is not recorded."""

    def has_reached(self, percent: float) -> bool:
        """Whether a run that passed has covered so much: pytest-cov itself found that, or the total
        shows it.
        """
        is_judged = self.least is not None and self.least >= percent
        if percent == 100:  # 99.99 is rounded to it, and is not enough
            return is_judged or self.hundredths == 10_000
        return is_judged or self.rounded >= percent

    @property
    def rounded(self) -> float:
        """The percentage that coverage.py compares with a threshold."""
        return round(self.hundredths / 100, self.precision)

    def __str__(self) -> str:
        if self.sources:
            sources = f" of {one_line(name_list(self.sources, 3))}"
        else:
            sources = ""
        return f"{self.rounded:g} %{sources} in run {self.run[:8]}"

    @classmethod
    def of(cls, receipt: Receipt) -> MeasuredCoverage | None:
        """What the receipt of a run has; None where it measured nothing."""
        value = receipt.result.get("coverage")
        plain = value if isinstance(value, Mapping) else {}
        hundredths = plain.get("hundredths")
        precision = plain.get("precision", 0)
        sources = plain.get("sources", [])
        least = plain.get("least")
        if not (_is_count(hundredths, 10_000) and _is_count(precision, 9)):
            return None
        return cls(
            hundredths,
            precision,
            tuple(map(str, sources)) if isinstance(sources, list) else (),
            receipt.run,
            bool(selection_limits(receipt.selection)),
            _number(least),
        )


def _number(text: object) -> float | None:
    """That of a text such as `87.5`: receipts have no fractions."""
    if not isinstance(text, str):
        return None
    try:
        return float(text)
    except ValueError:
        return None


def _is_count(value: Any, most: int) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most
