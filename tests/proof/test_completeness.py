"""What a test that must run again names already."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.proof.completeness import _names_above

part = st.text(alphabet="ab:[", max_size=3)
node_id = st.builds("::".join, st.lists(part, min_size=1, max_size=3))


@given(st.lists(node_id, max_size=4), node_id)
def test_a_test_names_all_that_it_is_a_test_of(tests: list[str], name: str) -> None:
    expected = any(test == name or test.startswith((f"{name}::", f"{name}[")) for test in tests)
    assert (name in _names_above(tests)) == expected


def test_the_names_of_a_test_of_a_class() -> None:
    assert _names_above(["a.py::T::test_x[1]"]) == {
        "a.py",
        "a.py::T",
        "a.py::T::test_x",
        "a.py::T::test_x[1]",
    }
