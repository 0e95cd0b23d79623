"""What the tests of the project's own source share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tools.syntax import tree_of


@pytest.fixture(scope="package", autouse=True)
def parsed_once() -> Iterator[None]:
    """The syntax trees are parsed once, and not retained for the rest of the run: each full garbage
    collection would look at their millions of nodes.
    """
    yield
    tree_of.cache_clear()
