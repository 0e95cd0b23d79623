"""Which files must be resolved again: those that say a changed name, by whatever other names it goes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.code import affected
from kl_hooks.code.affected import changed_names, resolve_again
from kl_hooks.code.scan import scan_python


def outline(text: str) -> dict[str, Any]:
    facts = scan_python(text.encode(), "m.py", "_")
    assert not facts["error"]
    found: dict[str, Any] = facts["outline"]
    return found


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        ("def f(): pass", "def f(): return 1", set()),
        ("def f(): pass", "\n\ndef f(x): pass  # moved", set()),
        ("def f(): pass", "def g(): pass", {"f", "g"}),
        ("def f(): pass", "class f: pass", {"f"}),
        ("from a import f", "from b import f", {"f"}),
        ("import a as b", "import a as c", {"b", "c"}),
        ("class A(B): pass\nclass B: pass", "class A: pass\nclass B: pass", {"A"}),
        ("class A: pass\nx = A()", "class A: pass\nx = 3", {"x"}),
        ("class A: pass\nX = A", "class A: pass\nX = 3", {"X"}),
        ("class A: pass\ndef f() -> A: pass", "class A: pass\ndef f(): pass", {"f"}),
        ("class A:\n    def f(self) -> Self: pass", "class A:\n    def f(self): pass", {"f"}),
        ("class A:\n    def g(self): self.x = A()", "class A:\n    def g(self): self.x = 3", {"x"}),
        ("def f(): pass\n__all__ = ['f']", "def f(): pass\n__all__ = ['g']", {"f", "__all__"}),
        ("from a import *", "from b import *", {"*"}),
        ("class A: pass", "class A:\n    def __init__(self): pass", {"A", "__init__"}),
    ],
)
def test_the_names_that_changed(before: str, after: str, wanted: set[str]) -> None:
    found = changed_names({"m": outline(before)}, {"m": outline(after)})
    assert found == wanted
    assert changed_names({"m": outline(after)}, {"m": outline(before)}) == wanted


def test_a_file_that_comes_or_goes_changes_its_modules_name_and_all_it_defines() -> None:
    made = {"p.m": outline("def f(): pass")}
    assert changed_names({}, made) == changed_names(made, {}) == {"m", "f"}
    assert changed_names(made, made) == set()


FILES = {
    "alias.py": "from a import f as g",
    "field.py": "from a import A\nbox = A()",
    "base.py": "from a import A\nclass B(A): pass",
    "returns.py": "from a import A\ndef made() -> A: pass",
    "other.py": "from a import A\nName = A",
    "nothing.py": "def quiet(): pass",
}
SAID = {
    "alias.py": " a f ", "field.py": " a A ", "base.py": " a A ", "returns.py": " a A ", "other.py": " a A ",
    "nothing.py": " ", "g.py": " alias g ", "box.py": " field box ", "b.py": " base B ", "made.py": " returns made ",
    "name.py": " other Name ",
}  # fmt: skip


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        ({"f"}, {"alias.py", "g.py"}),
        (
            {"A"},
            {"field.py", "base.py", "returns.py", "other.py", "box.py", "b.py", "made.py", "name.py"},
        ),
        ({"quiet"}, set()),
        (set(), set()),
        ({"*"}, set(SAID)),
    ],
)
def test_names_are_followed_through_outlines(names: set[str], wanted: set[str]) -> None:
    outlines = {path: outline(text) for path, text in FILES.items()}
    found, known = resolve_again(names, lambda _: SAID, outlines.get)
    assert found == wanted
    assert names <= known


WORDS = st.text("ab_", min_size=1, max_size=3)


@given(st.lists(WORDS).map(" ".join), st.sets(WORDS, max_size=30))
def test_a_file_says_a_name_where_it_stands_between_spaces(words: str, names: set[str]) -> None:
    assert affected._says(words, names) == bool(names & set(words.split()))
