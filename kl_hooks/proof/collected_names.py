"""Which definitions of a test file pytest takes for tests.

Whatever else is in such a file, tests may use, or pytest calls it unasked: fixtures,
`setup_module`, helpers. What a definition is called decides nothing: it is a test where a run
reported it, or where its source and pytest's configuration leave no doubt. All others count as
used.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Final

from kl_hooks.proof.defined_tests import BASED, CASE, PLAIN, defined_tests, expected_names
from kl_hooks.proof.pytest_config import PytestConfig, name_matches

_defined = lru_cache(maxsize=512)(defined_tests)  # asked for each of the recorded runs


def collected_names(
    content: bytes, config: PytestConfig, reported: Collection[str] = ()
) -> frozenset[str]:
    """The functions and classes of a file that are tests, as `test_a`, `TestB`, `TestB.test_c`.

    `reported`: those that some run reported, as `TestB::test_c`.
    """
    defined = _defined(content)
    certain, _ = expected_names(defined, config, reported)
    # a function that is a fixture now is among none of them
    functions = {*certain, *(defined.functions.keys() & set(reported))}
    classes = {
        name
        for name, kind in defined.classes.items()
        if kind == CASE
        or (kind in _NAMED_CLASSES and name_matches(_last(name), config.python_classes))
    }
    return frozenset(name.replace("::", ".") for name in functions | classes)


_NAMED_CLASSES: Final = (PLAIN, BASED)
"""Classes that are collected by their names."""


def reported_names(nodeids: Iterable[str]) -> frozenset[str]:
    """`TestB::test_c`, of the node IDs of one file."""
    return frozenset(nodeid.partition("[")[0].partition("::")[2] for nodeid in nodeids)


def _last(name: str) -> str:
    return name.rpartition("::")[2]
