"""The short way to imports states what the whole scan states."""

from __future__ import annotations

import random
import sys

import pytest

from bench.corpora import library
from kl_hooks.code.scanner import python
from kl_hooks.code.scanner.python import imports_guarded, scan_guarded

SOURCES = {
    "plain": "import a, b.c as d\nfrom . import e\nfrom ..f import g as h, i\nfrom j import *\n",
    "on several lines": "from a import (\n    b,  # why\n    c,\n)\nimport x; import y\n",
    "inside": (
        """
class A:
    import one
    def f(self):
        import two
        class B:
            from three import four
        async def g():
            for x in y:
                import five
            else:
                import six
            while z:
                import seven
            with w:
                import eight
            async with w:
                import nine
            async for x in y:
                import ten
"""
    ),
    "tried": (
        """
try:
    import a
except ImportError:
    import b
except (ValueError, OSError) as e:
    from c import d
else:
    import e
finally:
    import f
try:
    import g
except* OSError:
    import h
match x:
    case 1:
        import i
    case _ if y:
        import j
if x:
    import k
elif y:
    import l
else:
    import m
"""
    ),
    "checked": (
        """
from typing import TYPE_CHECKING
import typing
if TYPE_CHECKING:
    import a
    if x:
        import b
    class C:
        import c
    def f():
        import d
elif z:
    import e
else:
    import f
if not typing.TYPE_CHECKING:
    import g
else:
    import h
def lazily():
    if TYPE_CHECKING:
        import i
        from j import *
"""
    ),
    "always checked": "TYPE_CHECKING = True\nif TYPE_CHECKING:\n    import a\n",
    "always checked by type": "TYPE_CHECKING: bool = True\nif TYPE_CHECKING:\n    import a\n",
    "always checked among others": (
        "if x:\n    y = TYPE_CHECKING = z = True\nif TYPE_CHECKING:\n    import a\n"
    ),
    "checked in a class only": (
        "class A:\n    TYPE_CHECKING = True\nif TYPE_CHECKING:\n    import a\n"
    ),
    "checked in a block only": "if TYPE_CHECKING:\n    TYPE_CHECKING = True\n    import a\n",
    "not yet typed": "TYPE_CHECKING: bool\nif TYPE_CHECKING:\n    import a\n",
    "called": (
        "import importlib\nimportlib.import_module('a.b')\nx = [__import__('c') for d in e]\n"
    ),
    "called by another name": "from importlib import import_module as load\nload('a.b')\n",
    "called in another script": "from importlib import ｉmport_module as load\nload('a.b')\n",
    "called in another encoding": "# coding: unicode_escape\n\\x69mport os\n",
    "not Python": "import a\nx = = 1\n",
    "empty": "",
}


@pytest.mark.parametrize("what", SOURCES)
def test_both_ways_state_the_same(what: str) -> None:
    content = SOURCES[what].encode()
    whole, short = scan_guarded(content, "m.py", "_"), imports_guarded(content, "m.py")
    assert (short["error"], short["imports"]) == (whole["error"], whole["imports"])
    assert (
        whole["imports"]
        or whole["error"]
        or not content
        or what.startswith("called in another encoding")
    )


def test_both_ways_state_the_same_of_real_files() -> None:
    """A sixteenth of Python's own library; on another Python, another one."""
    files = sorted(path for path in library().rglob("*.py") if "site-packages" not in path.parts)
    chosen = random.Random(sys.version_info[1]).sample(files, len(files) // 16)
    for path in chosen:
        content = path.read_bytes()
        whole, short = scan_guarded(content, str(path), "_"), imports_guarded(content, str(path))
        assert (short["error"], short["imports"]) == (whole["error"], whole["imports"]), path


def test_expressions_are_left_alone_where_nothing_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python, "scan_python", None)
    assert [row[0] for row in imports_guarded(SOURCES["inside"].encode(), "m.py")["imports"]][
        :2
    ] == ["one", "two"]
