"""Our NamedTuple against that of `typing`: the same type, made without a look at annotations."""

from __future__ import annotations

import copy
import pickle
import typing
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

from kl_hooks.model.definitions import NamedTuple

if TYPE_CHECKING:
    from nowhere import Missing


T = typing.TypeVar("T")


class Point(NamedTuple):
    """A place."""

    x: int
    """To the right."""
    y: int = 2
    names: tuple[str, ...] = ()
    other: Missing | None = None
    origin = (0, 0)

    @property
    def length(self) -> int:
        """By steps."""
        return abs(self.x) + abs(self.y)

    @classmethod
    def at(cls, x: int) -> Point:
        """Of a column."""
        return cls(x)

    def __bool__(self) -> bool:
        return self.length > 0


class Peer(typing.NamedTuple):
    x: int
    y: int
    names: tuple[str, ...]
    other: Any


class Reached(Point):
    """One that stores beside its parts."""


def test_it_is_what_that_of_typing_is() -> None:
    for name in ("_fields", "__slots__", "__match_args__"):
        assert getattr(Point, name) == getattr(Peer, name)
    assert Point.__mro__[1:] == Peer.__mro__[1:] == (tuple, object)
    assert Point._field_defaults == {"y": 2, "names": (), "other": None}
    assert Point(1, 2, (), None) == Peer(1, 2, (), None) == (1, 2, (), None)
    assert repr(Point(1)) == "Point(x=1, y=2, names=(), other=None)"
    assert Point(1)._replace(y=5)._asdict() == {"x": 1, "y": 5, "names": (), "other": None}
    with pytest.raises(AttributeError):
        Point(1).x = 3
    with pytest.raises(TypeError):
        Point()


def test_its_body_is_that_of_a_class() -> None:
    assert (Point.__doc__, Point.__name__, Point.__qualname__) == ("A place.", "Point", "Point")
    assert Point.__module__ == __name__
    assert Point.at(-3).length == 5
    assert Point.origin == (0, 0)
    assert "origin" not in Point._fields
    assert not Point(0, 0)


def test_it_can_be_copied_stored_and_derived_from() -> None:
    point = Point(1, names=("a",))
    assert pickle.loads(pickle.dumps(point)) == point
    assert type(copy.deepcopy(point)) is Point
    reached = Reached(1)
    reached.note = "more"
    moved = reached._replace(x=4)
    assert (type(moved), moved.x, vars(moved)) == (Reached, 4, {})


def test_its_annotations_stay_texts_that_can_be_resolved() -> None:
    assert Point.__annotations__["names"] == "tuple[str, ...]"
    resolved = typing.get_type_hints(Point, localns={"Missing": Mapping})
    assert resolved["x"] is int
    assert resolved["names"] == tuple[str, ...]


def test_what_that_of_typing_refuses_is_refused() -> None:
    with pytest.raises(TypeError, match="without a default"):

        class Late(NamedTuple):
            x: int = 1
            y: int

    with pytest.raises(TypeError, match="another base"):

        class Generic(NamedTuple, typing.Generic[T]):
            x: int
