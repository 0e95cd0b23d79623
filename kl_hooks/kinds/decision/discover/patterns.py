"""Decisions in the code itself: what classes are called, built on and marked with, all over the repository. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from kl_hooks.kinds.decision.discover.proposal import Proposal
from kl_hooks.model.symbol import Symbol

_LEAST: Final = 3
"""Classes of a pattern that make it one."""
_ENDINGS: Final = (
    ("Repository", "Reach stored data through repositories"),
    ("Service", "Put what the program does into services"),
    ("Factory", "Make objects through factories"),
    ("Handler", "Answer events with handlers"),
    ("Adapter", "Reach other systems through adapters"),
    ("UseCase", "Give every use case a class of its own"),
    ("Command", "Make every command an object"),
)
"""Ending of class names, and the decision that they show."""


def from_patterns(symbols: Sequence[Symbol]) -> Iterator[Proposal]:
    """Proposals from everything that is defined, tests left out."""
    own = [one for one in symbols if not one.path.startswith(("tests/", "test/"))]
    classes = [one for one in own if one.id.startswith(("type:", "interface:"))]
    for ending, title in _ENDINGS:
        found = [one for one in classes if re.search(rf"[a-z0-9]{ending}$", one.id)]
        if len(found) >= _LEAST:
            yield _of(f"pattern:{ending.lower()}", title, found, min(95, 70 + 5 * len(found)))
    yield from _share(classes, "pattern:frozen", "Make data classes frozen", _is_data, _is_frozen)
    yield from _ports(classes)
    functions = [one for one in own if one.id.startswith(("function:", "method:"))]
    waiting = [one for one in functions if one.signature.startswith("async ")]
    if len(waiting) >= 10 and len(waiting) * 4 >= len(functions):
        percent = min(95, 60 + 100 * len(waiting) // len(functions))
        yield _of("pattern:async", "Write what waits as coroutines", waiting, percent)


def _ports(classes: Sequence[Symbol]) -> Iterator[Proposal]:
    protocols = [one for one in classes if re.search(r"\((?:.*\W)?Protocol\b", one.signature)]
    abstract = [one for one in classes if re.search(r"\((?:.*\W)?ABC\b", one.signature)]
    for key, title, found, others in (
        ("protocols", "Describe interfaces as protocols", protocols, abstract),
        ("abc", "Describe interfaces as abstract classes", abstract, protocols),
    ):
        if len(found) >= _LEAST and len(found) > 3 * len(others):
            yield _of(f"pattern:{key}", title, found, min(90, 70 + 4 * len(found)))


def _share(
    symbols: Sequence[Symbol], key: str, title: str, one_of: Callable[[Symbol], bool], like: Callable[[Symbol], bool]
) -> Iterator[Proposal]:
    """A proposal where nearly all symbols of a sort are alike."""
    some = [one for one in symbols if one_of(one)]
    found = [one for one in some if like(one)]
    if len(some) >= 5 and len(found) * 10 >= len(some) * 8:
        yield _of(key, title, found, 100 * len(found) // len(some) - 5, f"{len(found)} of {len(some)}")


def _is_data(one: Symbol) -> bool:
    return any(re.match(r"@(?:\w+\.)?dataclass\b", mark) for mark in one.decorators)


def _is_frozen(one: Symbol) -> bool:
    return any("frozen=True" in mark for mark in one.decorators)


def _of(key: str, title: str, found: Sequence[Symbol], confidence: int, counted: str = "") -> Proposal:
    names = [one.id.partition(":")[2] for one in found]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    seen = f"{counted or len(names)}: {', '.join(names[:3])}{more}."
    paths = sorted({one.path for one in found})
    folders = sorted({path.rpartition("/")[0] + "/" for path in paths if "/" in path})
    return Proposal(key, title, f"{title}.", (seen,), confidence, tuple(paths if len(paths) <= 5 else folders[:10]))
