"""What an import executes: compared with CPython, which executes it."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.code.import_time import import_time

PRELUDE = """\
from __future__ import annotations
import dataclasses, functools, typing
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Optional, Protocol
class Plain: pass
class Keeps:
    def __init_subclass__(cls): pass
RATE = 2
"""
EAGER = PRELUDE.replace("from __future__ import annotations\n", "")
NAMES = [
    "int",
    "RATE",
    "Plain",
    "Optional[int]",
    "typing.Any",
    "Missing",
    "typing.Nothing",
    "list[int]",
]
NAMES += ["int | None", "'Plain'", "'Plain' | None", "Missing()", "None", "RATE[0]", "-1"]
DECORATORS = [
    "lru_cache",
    "functools.lru_cache(maxsize=None)",
    "functools.cached",
    "dataclass",
    "own",
]
BASES = ["Plain", "Exception", "Enum", "bool", "Missing", "ABC", "Protocol", "Keeps", "dict"]
BODIES = ["pass", "x: {0} = {1}", "x: {0}\n    y: {0} = {1}", "x: int = 1\n    y: int"]
BODIES += ["x = {1}", "def m(self, x={1}): pass", "@abstractmethod\n    def m(self): pass"]
names, decorators, bases = (
    st.sampled_from(NAMES),
    st.sampled_from(DECORATORS),
    st.sampled_from(BASES),
)


@st.composite
def definitions(draw: st.DrawFn) -> str:
    mark = f"@{draw(decorators)}\n" if draw(st.booleans()) else ""
    if draw(st.booleans()):
        return f"{mark}def new(x: {draw(names)} = {draw(names)}) -> {draw(names)}: return x\n"
    body = draw(st.sampled_from(BODIES))
    inherits = f"({draw(bases)})" if draw(st.booleans()) else ""
    return f"{mark}class New{inherits}:\n    {body.format(draw(names), draw(names))}\n"


@pytest.mark.parametrize("prelude", [PRELUDE, EAGER])
@given(definition=definitions())
def test_what_is_quiet_can_be_imported(prelude: str, definition: str) -> None:
    content = import_time((prelude + definition).encode())
    name = "New" if "class New" in definition else "new"
    if content.refused or content.headers[name].loud:
        return
    namespace: dict[str, object] = {"__name__": __name__}
    exec(compile(prelude + definition, "<definition>", "exec", dont_inherit=True), namespace)
    assert name in namespace


QUIET = [
    "def later(x: int = 3, *, y: Optional[int] = None) -> str: return x\n",
    "@lru_cache\ndef later(x): return x\n",
    "class New:\n    x: int = 1\n    def m(self, y=None): return y\n",
    "class New(Exception):\n    pass\nclass Newer(New):\n    pass\n",
    "@dataclass\nclass New:\n    x: int\n    y: int = 1\n",
    "class New(str, Enum):\n    A = 'a'\n",
    "class New:\n    @property\n    def x(self): return 1\n    @x.setter\n    def x(self, "
    "value): pass\n",
    "try:\n    import json\nexcept ImportError:\n    json = None\ndef later(x=json): return x\n",
]
LOUD = [
    "def later(x: Missing): return x\n",
    "def later(x=Missing): return x\n",
    "@missing\ndef later(x): return x\n",
    "def define(f): return f\n@define\ndef later(x): return x\n",
    "class Protocol:\n    def __init_subclass__(cls): pass\nclass New(Protocol): pass\n",
    "from base import Protocol as Enum\nclass New(Enum): pass\n",
    "@dataclass\nclass New:\n    x: list = []\n",
    "class New(bool): pass\n",
    "class New(metaclass=Keeps): pass\n",
    "if RATE:\n    import json\ndef later(x=json): return x\n",
    "del Plain\nclass New(Plain): pass\n",
    "def later(x=print(1)): return x\n",
]


@pytest.mark.parametrize("text", QUIET)
def test_a_definition_is_quiet_whose_names_are_bound(text: str) -> None:
    headers = import_time((EAGER + text).encode()).headers
    new = headers.keys() - import_time(EAGER.encode()).headers.keys()
    assert {name: headers[name].loud for name in new} == dict.fromkeys(new, "")


@pytest.mark.parametrize("text", LOUD)
def test_what_does_not_resolve_or_may_register_is_loud(text: str) -> None:
    headers = import_time((EAGER + text).encode()).headers
    assert list(headers.values())[-1].loud


@pytest.mark.parametrize(
    "text", ["return 1", "break", "def f():\n  nonlocal x", "def f(x, x): pass", "def f(): await x"]
)
def test_what_the_compiler_refuses_is_named_with_its_place(text: str) -> None:
    ast.parse(text)
    assert import_time(text.encode()).refused.partition(":")[0] in ("1", "2")


EFFECTS = [
    "os.environ['A'] = '1'",
    "sys.path.insert(0, 'x')",
    "state.ready = True",
    "del state.ready",
    "logging.disable()",
    "if RATE:\n    app.NAMES.append('x')",
    "try:\n    pass\nexcept ImportError:\n    app.NAMES[:] = []",
    "for name in NAMES:\n    register(name)",
    "a, app.b = 1, 2",
    "app.count += 1",
]
NO_EFFECTS = [
    "'A docstring.'",
    "RATE = compute()",
    "NAMES = []\nNAMES.append('a')",
    "TABLE = {}\nTABLE['a'] = 1",
    "TABLE = {}\nTABLE['a']['b'] += 1",
    "def f():\n    app.NAMES.append('x')",
    "class C:\n    app.NAMES",
    "import app\nfrom app import NAMES",
]


@pytest.mark.parametrize("text", EFFECTS)
def test_a_statement_that_may_change_another_object_is_an_effect_of_the_import(text: str) -> None:
    assert len(import_time(text.encode()).effects) == 1


@pytest.mark.parametrize("text", NO_EFFECTS)
def test_what_a_module_makes_for_itself_is_no_effect(text: str) -> None:
    assert import_time(text.encode()).effects == ()


def test_reading_imports_nothing_of_the_file() -> None:
    code = (
        "from kl_hooks.code.import_time import import_time\nimport sys\nbefore = set(sys.modules)\n"
    )
    code += "import_time(b'import antigravity, this\\n')\nprint(set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_docstrings_are_those_of_inspect() -> None:
    text = (
        '"""One."""\nclass C:\n    """Two."""\n    def m(self):\n        """Three.\n\n    '
        '    Four 4."""\n'
    )
    space: dict[str, object] = {}
    exec(text, space)
    docs = import_time(text.encode()).docs
    method = vars(space["C"])["m"]
    assert (docs[""], docs["C"]) == ("One.", "Two.")
    assert inspect.cleandoc(docs["C.m"]) == inspect.getdoc(method)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type statements are of 3.12")
def test_a_type_alias_has_no_docstring() -> None:
    docs = import_time(b'type Price = int\nclass C:\n    """Two."""\n    type T = Price\n').docs
    assert docs == {"C": "Two."}


@pytest.mark.parametrize(
    ("body", "is_generator"),
    [
        ("return [1]", False),
        ("yield 1", True),
        ("yield from ()", True),
        ("x = [(yield)]", True),
        ("def inner(): yield 1", False),
        ("return lambda: (yield)", False),
        ("for x in (): pass\n    else: (yield)", True),
    ],
)
@pytest.mark.parametrize("definition", ["def f():", "async def f():"])
def test_whether_a_function_is_a_generator_is_part_of_its_header(
    definition: str, body: str, is_generator: bool
) -> None:
    if definition.startswith("async") and body == "yield from ()":
        return  # no syntax
    header = import_time(f"{definition}\n    {body}\n".encode()).headers["f"].text
    plain = import_time(f"{definition}\n    pass\n".encode()).headers["f"].text
    assert (header != plain) == is_generator


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        ("class A:\n    def f(self): return super().f()\n", ("A",)),
        ("class A:\n    def f(self): return __class__\n", ("A",)),
        ("class A:\n    def f(self): return 1\n", ()),
        ("class A:\n    class B:\n        def f(self): return super().f()\n", ("A.B",)),
        (
            "class A:\n    class B:\n        x = lambda: __class__\n    y = lambda: __class__\n",
            ("A", "A.B"),
        ),
        ("def f():\n    class A:\n        def g(self): return super().g()\n", ()),
        ("def f():\n    __class__ = 1\n    return lambda: __class__\n", ()),
        (
            "if X:\n    class A:\n        def f(self): return super().f()\n"
            "else:\n    class A:\n        def f(self): return super().f()\n",
            ("A", "A"),
        ),
    ],
)
def test_the_classes_with_a_cell_for_themselves(text: str, classes: tuple[str, ...]) -> None:
    assert import_time(text.encode()).class_cells == classes
