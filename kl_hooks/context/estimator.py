"""How large a text is, in characters or in estimated tokens, and how a budget is written."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kl_hooks.errors import UsageProblem
from kl_hooks.model.package import Budget


@dataclass(frozen=True, slots=True)
class Estimator:
    """A named way to measure a text."""

    name: str
    unit: str
    least: int
    """The smallest budget that holds the frame of a package."""
    count: Callable[[str], int]
    """It must not depend on the order of a text's parts, and not on which digit stands where one stands."""


CHARACTERS: Final = Estimator("characters", "characters", 256, len)
QUARTERS: Final = Estimator("chars/4", "tokens", 64, lambda text: (len(text) + 3) // 4)
_KNOWN: Final = {e.name: e for e in (CHARACTERS, QUARTERS)}
_BUDGET: Final = re.compile(r"([0-9]{1,9})(tok)?")


def estimator_of(budget: Budget) -> Estimator:
    """The estimator that a budget names. KeyError for one that is not known here."""
    return _KNOWN[budget.estimator]


def read_budget(text: str) -> Budget:
    """`6000` is characters, `1500tok` tokens. UsageProblem for anything else, or for less than a package's frame."""
    match = _BUDGET.fullmatch(text.strip().replace(",", "").replace("_", ""))
    if match is None:
        raise UsageProblem(
            f"takes characters (6000) or tokens (1500tok), not {text[:40]!r}.", place="--budget", hint="Try 6000."
        )
    chosen = QUARTERS if match[2] else CHARACTERS
    total = int(match[1])
    if total < chosen.least:
        raise UsageProblem(f"--budget must be at least {chosen.least} {chosen.unit}.")
    return Budget(chosen.unit, total, 0, chosen.name)


def write_budget(budget: Budget) -> str:
    """The way back: what `read_budget` reads."""
    return f"{budget.total}tok" if budget.unit == "tokens" else str(budget.total)
