"""What happens in an xdist worker: nothing is written; what was deselected is counted and told to the controller."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import pytest

from pytest_kl.interference import Interference


class Tally:
    """Counts what a collection found, what was deselected, and what disappeared without being called deselected."""

    def __init__(self) -> None:
        self.collected: int | None = None
        self.deselected = 0
        self.dropped = 0
        self._interference = Interference()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, None, None]:
        """Counts before anybody else has seen the items, and again after."""
        self.collected = len(items)
        try:
            return (yield)
        finally:
            self.dropped = max(0, self.collected - len(items) - self.deselected)
            self._interference.look(items)

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """`-k`, `-m`, `--lf`, `--deselect` and other plugins tell here what they left out."""
        self.deselected += len(items)

    def plain(self) -> dict[str, Any]:
        """`{"collected", "deselected"}` as pytest counts them; `dropped`, and what the repository's hooks do, if any."""
        if self.collected is None:
            return {}
        found = {"collected": self.collected, "deselected": self.deselected, **self._interference.plain()}
        return {**found, "dropped": self.dropped} if self.dropped else found


class Counter(Tally):
    """The same in a worker, which tells the controller at its end."""

    def __init__(self, config: pytest.Config) -> None:
        super().__init__()
        self._config = config

    def pytest_sessionfinish(self) -> None:
        """Hands the numbers over: plain integers, the only thing that may be attached."""
        getattr(self._config, "workeroutput", {})["kl"] = self.plain()
