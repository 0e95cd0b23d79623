"""The data flow that recognizes functions which store something for later calls."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from pytest_kl import stores
from pytest_kl.memoization import may_store
from pytest_kl.stores import Analysis

pytestmark = pytest.mark.skipif(
    not hasattr(sys, "monitoring"), reason="of CPython from 3.12 on, where symbols are recorded"
)


def roots_of(body: str) -> frozenset[str] | None:
    """The roots that the last function of a program stores below; None for no candidate."""
    space: dict[str, Any] = {}
    exec(body, space)
    function = next(value for value in reversed(space.values()) if hasattr(value, "__code__"))
    if not may_store(function.__code__):
        return frozenset()
    first = space.get("OBJECT", stores.UNKNOWN)
    found = Analysis().of(function.__code__, space, first=first)
    assert found is not None
    return found.roots


@pytest.mark.parametrize(
    ("body", "roots"),
    [
        ("def f(self):\n if self._x is None:\n  self._x = g()\n return self._x", "a:self"),
        ("def f(self):\n x = self._x\n if x is None:\n  x = self._x = g()", "a:self"),
        ("def f(self):\n try: return self._x\n except AttributeError:\n  self._x = g()", "a:self"),
        ("def f(cls):\n if not hasattr(cls, '_x'):\n  cls._x = g()", "a:cls"),
        ("def f(k):\n try: return C[k]\n except KeyError:\n  C[k] = g()", "g:C"),
        ("def f(self, k):\n x = self.c.get(k)\n if x is None:\n  x = self.c[k] = g()", "a:self"),
        ("def f(self):\n if not self.done:\n  self.done = True", "a:self"),
        ("def f():\n if not C:\n  C.update(g())", "g:C"),
        ("def f():\n for k, v in C:\n  if k == 1: return v\n C.append(g())", "g:C"),
        ("def f():\n d = registry()\n if 1 not in d:\n  d[1] = g()", "g:registry"),
        ("def f(self):\n self._x = self._x or g()", "a:self"),
        ("def f(x):\n if 'v' not in x.__dict__:\n  x.__dict__['v'] = g()", "a:x"),
        ("def f(x):\n if not getattr(x, 'v', 0):\n  setattr(x, 'v', g())", "a:x"),
        ("def o(c={}):\n def f(k):\n  if k not in c:\n   c[k] = g()\n return f\nf = o()", "f:c"),
        ("def __get__(self, i, o):\n i.__dict__[self.name] = g()", "a:i"),
        ("C = []\ndef load(): C.append(g())\ndef f():\n if not C:\n  load()", "g:C"),
        ("def f(self, x):\n self._x = x\n return self._x", ""),
        ("def f(self, x):\n self.x = x\n if self.x:\n  self.x = 2", ""),
        ("def f(self, other):\n if other._x is None:\n  self._x = g()", ""),
        ("def f(xs):\n d = {}\n for x in xs:\n  if x not in d:\n   d[x] = g()", ""),
        ("def f(xs):\n d = dict()\n if not d:\n  d.update(xs)", ""),
        ("def f(x):\n if x is None:\n  x = g()\n return x", ""),
        ("C = {}\ndef f():\n if C:\n  C.get(1)", ""),
        ("def f(*a, **k):\n if not k:\n  k['x'] = g()", ""),
    ],
)
def test_a_function_that_stores_and_branches_on_it(body: str, roots: str) -> None:
    assert ", ".join(sorted(roots_of(body) or ())) == roots


def test_a_method_of_the_same_object_that_stores() -> None:
    body = "class C:\n def load(self): self.ready = g()\nOBJECT = C()\n"
    body += "def f(self):\n if not self.ready:\n  self.load()"
    assert roots_of(body) == {"a:self"}
    # a known method that stores nothing: what is called without being known counts
    assert roots_of(body.replace("self.ready = g()", "return 1")) == frozenset()
    assert roots_of(body.replace("OBJECT", "OTHER")) == {"a:self"}


def test_what_suspends_and_what_stores_nothing_is_no_candidate() -> None:
    assert roots_of("async def f(self):\n if self._x is None:\n  self._x = g()") == frozenset()
    assert roots_of("def f(x):\n return x + 1") == frozenset()


def _functions(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _functions(constant)


def test_the_flow_of_any_function_ends_and_has_the_depth_of_pythons_stack(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # another version of CPython may have operations that are not known: each must change the depth
    # of the stack as `dis.stack_effect` has it
    wrong: set[tuple[str, int, int]] = set()

    def checked(step: Callable[..., None]) -> Callable[..., None]:
        def run(flow: Any, name: str, argument: int) -> None:
            before = len(flow._stack)
            step(flow, name, argument)
            effect = stores._effect(name, argument, False)
            if name not in {"RETURN_GENERATOR", "RETURN_VALUE", "RERAISE"} and (
                len(flow._stack) - before != effect
            ):
                wrong.add((name, argument, len(flow._stack) - before))

        return run

    monkeypatch.setattr(stores, "_STEPS", [checked(step) for step in stores._STEPS])
    folder, found = Path(sysconfig.get_paths()["stdlib"]), 0
    for name in ("argparse", "ast", "asyncio/tasks", "dataclasses", "doctest", "logging/__init__"):
        path = folder / f"{name}.py"
        code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        for function in _functions(code):
            if function.co_flags & 1:
                first, second = (Analysis().of(function, {}) for _ in range(2))
                assert first == second
                found += bool(first and first.roots)
    assert not wrong
    assert found > 50
