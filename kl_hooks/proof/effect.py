"""What a change does to results, and what rules are: functions of facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from kl_hooks.model.definitions import NamedTuple
from kl_hooks.proof.comparison import Comparison
from kl_hooks.proof.facts import STALE, Definition, Difference, FileChange, RunFacts, Verdict
from kl_hooks.proof.touch import TestFacts, Touch


class Effect(NamedTuple):
    """What a change does to results: a reason, and the tests that it holds for."""

    reason: str
    needs: tuple[Touch, ...] = ()
    """Conditions on a test, all of which it must meet; none: any test."""
    symbols: tuple[str, ...] = ()
    definition: Definition | None = None
    """That by whose name alone code gets what is otherwise; None where it may reach code by more:
    an import may fail by it, or do something else.
    """
    below: str = ""
    """Only tests in this folder; empty: anywhere."""
    state: str = STALE

    def applies(self, test: TestFacts) -> bool:
        """Whether a test is among them."""
        if self.below and not test.path.startswith(f"{self.below}/"):
            return False
        return all(touch.fits(test) for touch in self.needs)


def needs(users: frozenset[str] | None, *touches: Touch) -> tuple[Touch, ...]:
    """The conditions of an effect on those that need a file (`Comparison.users`)."""
    if users is None:
        return touches
    return (Touch(files=users), *touches)


RunRule = Callable[[RunFacts, Difference], Verdict | None]
"""Of a run: what no test of it escapes."""
ChangeRule = Callable[[Comparison, FileChange], Iterator[Effect]]
"""Of a change: which tests it reaches."""
TestRule = Callable[[Comparison, Iterable[Effect], TestFacts], Verdict | None]
"""Of a test: what speaks against its result."""
