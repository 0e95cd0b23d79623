"""A change of a decorated function: who calls it must run again, and all that need its file only
where the decorator may do more with it than to wrap it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kl_hooks.code.decorators import full_names
from kl_hooks.code.scanner.python import scan_python
from tests.pytest_kl.recorded import repository, run_pytest

from .test_left_behind import impacted

APP = """
import atexit
import functools as ft
from contextlib import contextmanager
class Cart:
    def __init__(self): self.items = [1]
    @property
    def total(self): return sum(self.items)
    @total.setter
    def total(self, value): self.items = [value]
    @ft.cached_property
    def first(self): return self.items[0]
    @staticmethod
    def empty(): return 0
@contextmanager
def opened(): yield 1
@atexit.register
def goodbye(): return 1
def twice(function): return lambda: function() * 2
@twice
def doubled(): return 3
"""
TESTS = """
import pytest
from unittest import mock
import app
def test_total(): assert app.Cart().total == 1
def test_set():
    cart = app.Cart()
    cart.total = 5
    assert cart.items == [5]
def test_first(): assert app.Cart().first == 1
def test_empty(): assert app.Cart.empty() == 0
def test_opened():
    with app.opened() as number: assert number == 1
def test_goodbye(): assert app.goodbye() == 1
def test_doubled(): assert app.doubled() == 6
@pytest.mark.parametrize("number", [1, 2])
def test_cases(number): assert number > 0
@mock.patch("app.twice", None)
def test_patched(): assert app.twice is None
@pytest.fixture
def cart(): return app.Cart()
def test_cart(cart): assert cart.items == [1]
"""
EVERYTHING = ("total", "set", "first", "empty", "opened", "goodbye", "doubled", "patched", "cart")
EDITS = {
    "property": ("app.py", "return sum(self.items)", "return sum([1])", ["total", "set"]),
    "cached": ("app.py", "return self.items[0]", "return self.items[-1]", ["first"]),
    "static": ("app.py", "return 0", "return int(0)", ["empty"]),
    "manager": ("app.py", "yield 1", "yield int(1)", ["opened"]),
    "parameters": ("test_a.py", "number > 0", "0 < number", ["cases[1]", "cases[2]"]),
    "patch": ("test_a.py", "app.twice is None", "not app.twice", ["patched"]),
    "fixture": ("test_a.py", "return app.Cart()", "return [app.Cart()][0]", ["cart"]),
    "library": ("app.py", "return 1\n", "return int(1)\n", [*EVERYTHING, "cases[1]", "cases[2]"]),
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program after a run."""
    folder = tmp_path_factory.mktemp("decorated") / "program"
    repository(folder, {"app.py": APP, "test_a.py": TESTS})
    for _ in range(2):  # the second run has the facts of the files from the store
        assert run_pytest(folder).returncode == 0
    return folder


@pytest.mark.skipif(sys.version_info < (3, 12), reason="symbols are recorded from 3.12 on")
@pytest.mark.parametrize("way", EDITS)
def test_who_executes_a_decorated_function_runs_again(recorded: Path, way: str) -> None:
    name, before, now, tests = EDITS[way]
    text = {"app.py": APP, "test_a.py": TESTS}[name]
    assert text.count(before) == 1
    (recorded / name).write_text(text.replace(before, now))
    try:
        assert impacted(recorded) == {f"test_a.py::test_{test}" for test in tests}
    finally:
        (recorded / name).write_text(text)


@pytest.mark.parametrize(
    ("code", "names"),
    [
        (
            "import functools as ft\n@ft.lru_cache(maxsize=1)\ndef f(): pass\n",
            "functools.lru_cache",
        ),
        ("from functools import cache as c\n@c\ndef f(): pass\n", "functools.cache"),
        ("class C:\n    @staticmethod\n    def f(): pass\n", "builtins.staticmethod"),
        ("class C:\n    @property\n    def f(self): pass\n", "builtins.property"),
        ("def property(f): return f\nclass C:\n    @property\n    def f(self): pass\n", ""),
        ("class C:\n    property = list\n    @property\n    def f(self): pass\n", ""),
        ("from app import *\n@property\ndef f(self): pass\n", ""),
        ("class C:\n    x = make()\n    @x.setter\n    def f(self, v): pass\n", ""),
        ("@app.route('/')\ndef f(): pass\n", ""),
        ("@[print][0]\ndef f(): pass\n", ""),
        ("from .compat import cache\n@cache\ndef f(): pass\n", ".compat.cache"),
    ],
)
def test_names_of_decorators_are_resolved(code: str, names: str) -> None:
    facts = scan_python(code.encode(), "app.py", "_")
    place, name = next(
        (place, row[0].partition(":_.")[2])
        for place, row in enumerate(facts["symbols"])
        if row[0].endswith(".f")
    )
    owner = name.rpartition(".")[0]
    marks = facts["decorators"][str(place)]
    assert full_names(marks, owner, facts["outline"]) == [names]
    assert full_names(marks, owner, {}) == [""]
