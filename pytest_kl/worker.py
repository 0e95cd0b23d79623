"""What happens in an xdist worker: nothing is written; what was deselected and what was imported is sent to the
controller.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Sequence
from typing import Any

import pytest

from pytest_kl.imported import Content, Observer
from pytest_kl.interference import Interference

CONTENT, IMPORTED = "kl_content", "kl_imported"
"""Where the controller puts the paths of the content tree for a worker, and the worker what it imported."""


def _digest(text: str, sha256: Any = hashlib.sha256) -> str:
    return str(sha256(text.encode("utf-8", "replace")).hexdigest()[:16])


class Tally:
    """Counts what a collection found, what was deselected, and what disappeared without being called deselected."""

    def __init__(self) -> None:
        self.collected: int | None = None
        self.deselected = 0
        self.dropped = 0
        self._names = ""
        self._interference = Interference()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, None, None]:
        """Counts before anybody else has seen the items, and again after."""
        self.collected = len(items)
        self._names = _digest("\n".join(sorted(item.nodeid for item in items)))
        try:
            return (yield)
        finally:
            self.dropped = max(0, self.collected - len(items) - self.deselected)
            self._interference.look(items)

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """`-k`, `-m`, `--lf`, `--deselect` and other plugins tell here what they left out."""
        self.deselected += len(items)

    def plain(self) -> dict[str, Any]:
        """`{"collected", "deselected"}` as pytest counts; `dropped`, and what the repository's hooks do, if any."""
        if self.collected is None:
            return {}
        found = {"collected": self.collected, "deselected": self.deselected, **self._interference.plain()}
        if self.deselected:
            found["collected_names"] = self._names
        return {**found, "dropped": self.dropped} if self.dropped else found


class Counter(Tally):
    """The same in a worker, which tells the controller at its end."""

    def __init__(self, config: pytest.Config) -> None:
        super().__init__()
        self._config = config
        packed = getattr(config, "workerinput", {}).get(CONTENT)
        self._observer = Observer(lambda: Content.unpacked(packed)) if packed else None

    def pytest_sessionfinish(self) -> None:
        """Hands over plain values, the only thing that may be attached."""
        output = getattr(self._config, "workeroutput", {})
        output["kl"] = self.plain()
        if self._observer is not None:
            output[IMPORTED] = self._observer.report()
