"""What benches print: a side, what it took, its ratio to a limit or a peer, and whether that
reaches the goal. Pure.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

MISSING: Final = "not installed"
_HEAD: Final = ("side", "median", "ratio", "against", "goal", "")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table."""

    side: str
    took: str
    """With its unit; or why there is nothing."""
    ratio: float | None = None
    against: str = ""
    """What the ratio divides by."""
    goal: float | None = None
    """The most that the ratio should be."""

    def cells(self) -> tuple[str, ...]:
        """As texts, in the order of the table's head."""
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}"
        goal = "" if self.goal is None else f"<= {self.goal:g}"
        return (
            self.side,
            self.took,
            ratio,
            f"x {self.against}" if self.against else "",
            goal,
            judged(self),
        )


def judged(row: Row) -> str:
    """`met`, `missed`, or nothing where there is no goal or no ratio. By the ratio as it is, not as
    shown.
    """
    if row.goal is None or row.ratio is None:
        return ""
    return "met" if row.ratio <= row.goal else "missed"


def against(
    side: str, took: float, limit: float, name: str, goal: float | None = None, unit: str = "ms CPU"
) -> Row:
    """A row for what took `took`, compared with what `name` took."""
    return Row(side, f"{took:,.0f} {unit}", took / limit if limit else None, name, goal)


def missing(side: str, why: str = MISSING) -> Row:
    """A row for a peer that can't be measured here."""
    return Row(side, why)


def table(title: str, rows: Iterable[Row]) -> list[str]:
    """The lines of a table, its columns aligned."""
    cells = [_HEAD, *(row.cells() for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(_HEAD))]
    right = (1, 2)
    lines = [
        "  ".join(
            text.rjust(widths[n]) if n in right else text.ljust(widths[n])
            for n, text in enumerate(row)
        ).rstrip()
        for row in cells
    ]
    return [title, *(f"  {line}" for line in lines)]


def show(title: str, rows: Iterable[Row]) -> None:
    """Prints a table, with how busy the machine is: a ratio from a busy one is less sure."""
    busy = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    print("\n".join(table(f"{title} ({busy})", rows)), flush=True)
