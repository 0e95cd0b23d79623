"""Our quick dataclasses are like those of `dataclasses` in all that can be asked of them."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.model.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Quick:
    """Three sorts of fields."""

    a: int
    b: str = "b"
    c: list[int] = field(default_factory=list, compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Plain:
    """The same."""

    a: int
    b: str = "b"
    c: list[int] = field(default_factory=list, compare=False, repr=False)


@dataclass(frozen=True, slots=True, order=True)
class One:
    """A single field, with an order."""

    a: int

    def __repr__(self) -> str:
        return f"<{self.a}>"


@dataclass(frozen=True, slots=True)
class Below(Quick):
    """One field more than the class above it."""

    d: int = 4


VALUES = st.builds(dict, a=st.integers(0, 2), b=st.sampled_from("xy"), c=st.lists(st.integers(), max_size=2))


@given(VALUES, VALUES)
def test_they_are_equal_where_the_others_are(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert (Quick(**one) == Quick(**other)) == (Plain(**one) == Plain(**other))
    assert hash(Quick(**one)) == hash(Plain(**one))
    assert repr(Quick(**one)) == repr(Plain(**one)).replace("Plain", "Quick")
    assert dataclasses.asdict(Quick(**one)) == dataclasses.asdict(Plain(**one))
    assert dataclasses.astuple(Quick(**one)) == dataclasses.astuple(Plain(**one))
    assert dataclasses.replace(Quick(**one), a=7) == Quick(**{**one, "a": 7})
    assert (One(one["a"]) < One(other["a"]), One(one["a"]) <= One(other["a"])) == (
        one["a"] < other["a"], one["a"] <= other["a"],
    )  # fmt: skip


def test_nothing_of_another_class_is_equal() -> None:
    assert Quick(1) != Plain(1)
    assert Quick(1) != 1
    assert Quick(1) != Below(1)
    with pytest.raises(TypeError):
        sorted([One(1), 1])  # type: ignore[type-var]


@pytest.mark.parametrize("made", [Quick(1), Plain(1), Below(1), One(1)])
def test_nothing_can_be_set(made: Any) -> None:
    for change in (lambda: setattr(made, "a", 2), lambda: setattr(made, "new", 2), lambda: delattr(made, "a")):
        with pytest.raises((dataclasses.FrozenInstanceError, TypeError)):
            change()
    assert made.a == 1
    assert not hasattr(made, "__dict__")


def test_every_instance_has_a_default_of_its_own() -> None:
    assert Quick(1).c == []
    assert Quick(1).c is not Quick(1).c
    assert Below(1, d=5).c == []


def test_it_is_made_of_the_same_arguments() -> None:
    def arguments(made: type) -> list[tuple[str, object]]:
        return [(one.name, one.kind) for one in inspect.signature(made).parameters.values()]

    assert arguments(Quick) == arguments(Plain)
    assert Quick.__match_args__ == Plain.__match_args__
    with pytest.raises(TypeError):
        Quick()  # type: ignore[call-arg]


def test_what_a_class_says_itself_stays() -> None:
    assert repr(One(3)) == "<3>"


def test_it_can_be_copied() -> None:
    one = Below(1, "x", [2], 3)
    assert copy.copy(one) == copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one
    assert copy.deepcopy(one).c == [2]


def test_others_are_made_as_ever() -> None:
    @dataclass(slots=True)
    class Open:
        """Can be changed."""

        a: int = 1

    made = Open()
    made.a = 2
    assert made == Open(2)
