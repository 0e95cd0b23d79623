"""One repository that all questions are put to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kl_hooks.code.query.session import Graph, open_graph
from tests.code.making import repository

SHOP = {
    "src/shop/__init__.py": "",
    "src/shop/core.py": """\
'''The core.'''
import functools
from typing import Protocol

LIMIT = 3


class Priced(Protocol):
    def price(self) -> int: ...


class Line(Priced):
    '''One line.'''

    def __init__(self, item: str) -> None:
        self.item = item

    def price(self) -> int:
        return LIMIT

    @property
    def label(self) -> str:
        return self.item


class Basket:
    def add_line(self, item: str) -> Line:
        return Line(item)

    @functools.cache
    def total(self) -> int:
        return Line("x").price()

    def unused(self) -> None:
        self.add_line("z")


class BigBasket(Basket):
    def total(self) -> int:
        return 2 * super().total()

    def add_line(self, item: str) -> Line:
        return Line(item + item)


def handed() -> None:
    pass


def alone() -> None:
    pass


CALLBACKS = [handed]
""",
    "src/shop/web.py": """\
from shop import core
from shop.core import Basket, Line


def show_page(basket: Basket) -> str:
    line = Line("y")
    return str(basket.total()) + line.label


def main(thing):
    thing.price()
    thing.vanish()
    return show_page(Basket())


def vanish() -> None:
    pass
""",
    "tests/test_core.py": """\
from shop.core import Basket


class TestBasket:
    def test_total(self):
        assert Basket().total() == 3
""",
}
Ask = Callable[[dict[str, str]], Graph]


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    """The graph of the shop; nobody edits it."""
    with open_graph(repository(tmp_path_factory.mktemp("shop") / "repo", SHOP)) as graph:
        yield graph


@pytest.fixture
def graph_of(tmp_path: Path) -> Iterator[Ask]:
    """The graph of a repository with these files."""
    with ExitStack() as stack:
        yield lambda files: stack.enter_context(
            open_graph(repository(tmp_path / f"repo{len(files)}", files))
        )
