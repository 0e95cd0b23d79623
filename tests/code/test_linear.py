"""The order of classes is Python's own: `type.__mro__` is the oracle."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.code.linear import linearized

Shape = list[list[int]]


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """For each class the numbers of its bases, which come before it."""
    number = draw(st.integers(1, 8))
    return [
        draw(st.lists(st.integers(0, one - 1), unique=True, max_size=4)) if one else [] for one in range(number)
    ]  # fmt: skip


def orders(shape: Shape) -> list[list[int]]:
    found: list[list[int]] = []
    for one, bases in enumerate(shape):
        found.append(linearized(one, [found[base] for base in bases]))
    return found


@given(shapes())
def test_it_is_pythons_order_wherever_python_has_one(shape: Shape) -> None:
    ours = orders(shape)
    classes: list[type | None] = []
    for one, bases in enumerate(shape):
        above = [classes[base] for base in bases]
        if None in above:
            classes.append(None)
            continue
        try:
            made = type(str(one), tuple(base for base in above if base is not None), {})
        except TypeError:  # no consistent order
            classes.append(None)
            continue
        classes.append(made)
        assert [int(cls.__name__) for cls in made.__mro__[:-1]] == ours[one]


@given(shapes())
def test_every_class_above_is_there_once_and_the_class_itself_first(shape: Shape) -> None:
    ours = orders(shape)
    for one, bases in enumerate(shape):
        assert ours[one][0] == one
        assert sorted(ours[one]) == sorted({one, *(above for base in bases for above in ours[base])})


def test_a_diamond_and_an_impossible_one() -> None:
    assert linearized("d", [["b", "a"], ["c", "a"]]) == ["d", "b", "c", "a"]
    assert linearized("z", [["x", "a", "b"], ["y", "b", "a"]]) == ["z", "x", "y", "a", "b"]
    assert linearized("one", []) == ["one"]
