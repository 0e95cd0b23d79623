"""One fact, one hash."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.model.canonical import canonical, digest

TEXT = st.text(st.characters(), max_size=8)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(PLAIN)
def test_it_is_utf8_json_of_the_same_value(value: object) -> None:
    text = canonical(value).decode("utf-8")
    assert canonical(json.loads(text)) == canonical(value)


@given(st.dictionaries(TEXT, st.integers(), min_size=2, max_size=6))
def test_the_order_of_keys_does_not_matter(value: dict[str, int]) -> None:
    assert canonical(dict(reversed(value.items()))) == canonical(value)


@pytest.mark.parametrize("value", [1.5, float("nan"), {"a": [2.0]}, {1: 2}, {"a": {3}}, b"x"])
def test_floats_foreign_keys_and_foreign_types_are_refused(value: object) -> None:
    with pytest.raises(TypeError):
        canonical(value)


def test_lone_surrogates_become_replacement_characters() -> None:
    assert canonical({"a\udc80": "\ud800"}) == '{"a\ufffd":"\ufffd"}'.encode()


def test_the_kind_is_part_of_the_hash() -> None:
    assert digest("a", 1) != digest("b", 1)
