"""Estimators: the size of a text in characters or in estimated tokens, and the notation of budgets."""

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
    """The order of a text's parts must not matter to it, nor which digit is in a place of a digit."""


CHARACTERS: Final = Estimator("characters", "characters", 256, len)
# Four characters a token: English and code are near it with every common tokenizer, and no library is needed.
QUARTERS: Final = Estimator("chars/4", "tokens", 64, lambda text: (len(text) + 3) // 4)
_KNOWN: Final = {e.name: e for e in (CHARACTERS, QUARTERS)}
_BUDGET: Final = re.compile(r"([0-9]{1,9})(tok)?")


def estimator_of(budget: Budget) -> Estimator:
    """Return the estimator that a budget names. KeyError for one that is not known here."""
    return _KNOWN[budget.estimator]


def read_budget(text: str) -> Budget:
    """Parse `6000` (characters) or `1500tok` (tokens). UsageProblem for anything else, or for less than the frame."""
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
    """Return the notation that `read_budget` parses."""
    return f"{budget.total}tok" if budget.unit == "tokens" else str(budget.total)
