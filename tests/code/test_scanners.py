"""The contract of scanners: the fast and the precise one read the same table of sources and state
the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from kl_hooks.code.precise.scan import scan_precise
from kl_hooks.code.scanner.python import scan_guarded

Scan = Callable[[bytes, str, str], dict[str, Any]]
SCANNERS = {"fast": scan_guarded, "precise": scan_precise}
OLD = pytest.mark.skipif(sys.version_info < (3, 12), reason="syntax of Python 3.12")
OLD_13 = pytest.mark.skipif(sys.version_info < (3, 13), reason="syntax of Python 3.13")

TABLE: dict[str, tuple[str, list[str], list[str]]] = {
    "empty": ("", [], []),
    "only a comment": ("# nothing\n", [], []),
    "nested functions and classes": (
        (
            "def a():\n    def b():\n        class C:\n            def d(self): pass\n           "
            " class E: pass\nclass F:\n    class G:\n        def h(self):\n            def i():"
            " pass\n"
        ),
        [
            "function:a 1-5 def a()",
            "function:a.<locals>.b 2-5 def b()",
            "type:a.<locals>.b.<locals>.C 3-5 class C",
            "method:a.<locals>.b.<locals>.C.d 4-4 def d(self)",
            "type:a.<locals>.b.<locals>.C.E 5-5 class E",
            "type:F 6-9 class F",
            "type:F.G 7-9 class G",
            "method:F.G.h 8-9 def h(self)",
            "function:F.G.h.<locals>.i 9-9 def i()",
        ],
        [],
    ),
    "conditional and redefined": (
        (
            "if a:\n    def f(x): 'one'\nif b:\n    def f(y): 'two'\ndef f(): pass\nimport"
            " z\ntry:\n    class C: pass\nexcept E:\n    C = None\nfor i in j:\n    def g():"
            " pass\nelse:\n    def h(): pass\nwith k:\n    def l(): pass\nwhile m:\n    n ="
            " 1\nfinally_ = 2\n"
        ),
        [
            "function:f 2-2 def f(x) 'one'",
            "type:C 8-8 class C",
            "field:C 10-10 C = None",
            "function:g 12-12 def g()",
            "function:h 14-14 def h()",
            "function:l 16-16 def l()",
            "field:n 18-18 n = 1",
            "field:finally_ 19-19 finally_ = 2",
        ],
        ["6 z  import"],
    ),
    "global names": (
        "def f():\n    global g, C\n    def g(): pass\n    class C:\n        def m(self): pass\n",
        [
            "function:f 1-5 def f()",
            "function:g 3-3 def g()",
            "type:C 4-5 class C",
            "method:C.m 5-5 def m(self)",
        ],
        [],
    ),
    "re-exports and __all__": (
        (
            "from .a import x\nfrom .b import *\nfrom . import c, d as e\n__all__ = ['x',"
            " 'c']\n__all__ += ['e']\n"
        ),
        ["field:__all__ 4-4 __all__ = ['x', 'c']"],
        ["1 .a x import", "2 .b * star import", "3 . c import", "3 . d import"],
    ),
    "overloads": (
        (
            "from typing import overload\nimport typing as t\n@overload\ndef f(a: int) -> int:"
            " ...\n@t.overload\ndef f(a: str) -> str: ...\ndef f(a):\n    'Doc.'\n    return a\n"
        ),
        ["function:f 7-9 def f(a) 'Doc.'"],
        ["1 typing overload import", "2 typing  import"],
    ),
    "dataclass fields": (
        (
            "@dataclass(frozen=True)\nclass P:\n    x: int\n    y: list[int] = field(\n       "
            " default_factory=list)\n    z = 1\n    a, (b) = 1, 2\n    c = d = 3\n    e[0] = f.g"
            " = 4\n"
        ),
        [
            "type:P 2-9 class P",
            "field:P.x 3-3 x: int",
            "field:P.y 4-5 y: list[int] = field( …",
            "field:P.z 6-6 z = 1",
            "field:P.a 7-7 a, (b) = 1, 2",
            "field:P.b 7-7 a, (b) = 1, 2",
            "field:P.c 8-8 c = d = 3",
            "field:P.d 8-8 c = d = 3",
        ],
        [],
    ),
    "enums": (
        (
            "class Colour(enum.Enum):\n    RED = 1\n    GREEN = auto()\n    _ignore_ = []\n    def"
            " mix(self): pass\n"
        ),
        [
            "type:Colour 1-5 class Colour(enum.Enum)",
            "field:Colour.RED 2-2 RED = 1",
            "field:Colour.GREEN 3-3 GREEN = auto()",
            "field:Colour._ignore_ 4-4 _ignore_ = []",
            "method:Colour.mix 5-5 def mix(self)",
        ],
        [],
    ),
    "properties": (
        (
            "class C:\n    @property\n    def p(self): 'Get.'\n    @p.setter\n    def p(self, v):"
            " 'Set.'\n    @p.deleter\n    def p(self): pass\n    @functools.cached_property\n   "
            " def q(self): pass\n    @abc.abstractproperty\n    def r(self): pass\n   "
            " @other.thing\n    def s(self): pass\n"
        ),
        [
            "type:C 1-13 class C",
            "property:C.p 3-3 def p(self) 'Get.'",
            "property:C.q 9-9 def q(self)",
            "property:C.r 11-11 def r(self)",
            "method:C.s 13-13 def s(self)",
        ],
        [],
    ),
    "instance attributes": (
        (
            "class C:\n    def __init__(self, a):\n        self.x: int = a\n        other.y: int ="
            " a\n        self.z = a\n        z: int = 1\n        def inner(self):\n           "
            " self.w: int = 1\n    @staticmethod\n    def s(me, /):\n        me.v: str\n"
        ),
        [
            "type:C 1-11 class C",
            "method:C.__init__ 2-8 def __init__(self, a)",
            "field:C.x 3-3 self.x: int = a",
            "function:C.__init__.<locals>.inner 7-8 def inner(self)",
            "method:C.s 10-11 def s(me, /)",
            "field:C.v 11-11 me.v: str",
        ],
        [],
    ),
    "interfaces": (
        (
            "class A(Protocol[T]): pass\nclass B(abc.ABC): pass\nclass C(metaclass=abc.ABCMeta):"
            " pass\nclass D(A, B(), **k): pass\n"
        ),
        [
            "interface:A 1-1 class A(Protocol[T])",
            "interface:B 2-2 class B(abc.ABC)",
            "interface:C 3-3 class C(metaclass=abc.ABCMeta)",
            "type:D 4-4 class D(A, B(), **k)",
        ],
        [],
    ),
    "async": (
        (
            "async def f():\n    async with a as b:\n        async def g(): yield 1\n    async for"
            " c in d: pass\nasync  def h(): pass\n"
        ),
        [
            "function:f 1-4 async def f()",
            "function:f.<locals>.g 3-3 async def g()",
            "function:h 5-5 async def h()",
        ],
        [],
    ),
    "decorators": (
        (
            "@a\n@b(1,\n   2)\n# why\nclass C:\n    @c.d\n\n    def f(self):\n        pass\n\n\n   "
            " # after\n\n@e\nasync def g(): pass\n"
        ),
        ["type:C 5-9 class C", "method:C.f 8-9 def f(self)", "function:g 15-15 async def g()"],
        [],
    ),
    "heads": (
        (
            "def f(  a,  # one\n    b = ( 1 , ),\n    *, c: 'x # y' = \"):\",\n    **d  ) -> (\n   "
            " int):\n    pass\nclass C(\n    A,\n):  # why\n    x = 1\ndef g(a=lambda: {1: 2}, \\\n"
            "      b=2): pass\nclass D : pass\nclass E(): pass\n"
        ),
        [
            "function:f 1-6 def f(a, b = (1 ,), *, c: 'x # y' = \"):\", **d) -> (int)",
            "type:C 7-10 class C(A)",
            "field:C.x 10-10 x = 1",
            "function:g 11-12 def g(a=lambda: {1: 2}, b=2)",
            "type:D 13-13 class D",
            "type:E 14-14 class E()",
        ],
        [],
    ),
    "docstrings": (
        (
            "'''  First.\n\nSecond.'''\ndef f():\n    r'Raw \\d'\ndef g():\n    'one ' 'two'\ndef"
            " h():\n    b'bytes'\ndef i():\n    f'{x}'\ndef j():\n    '''\n    Below.\n   "
            " '''\nclass K: 'Inline.'\ndef l():\n    ('In brackets.')\n"
        ),
        [
            "namespace: 1-18 'First.'",
            "function:f 4-5 def f() 'Raw \\\\d'",
            "function:g 6-7 def g() 'one two'",
            "function:h 8-9 def h()",
            "function:i 10-11 def i()",
            "function:j 12-15 def j() 'Below.'",
            "type:K 16-16 class K 'Inline.'",
            "function:l 17-18 def l() 'In brackets.'",
        ],
        [],
    ),
    "imports": (
        (
            "import a.b.c as d, e\nfrom ..f.g import (\n    h as i,\n    j,\n)\nfrom ... import"
            " k\nimport l; import m\ntry:\n    import n\nexcept ImportError:\n    from o import n\n"
        ),
        [],
        [
            "1 a.b.c  import",
            "1 e  import",
            "2 ..f.g h import",
            "2 ..f.g j import",
            "6 ... k import",
            "7 l  import",
            "7 m  import",
            "9 n  import",
            "11 o n import",
        ],
    ),
    "lazy imports": (
        (
            "def f():\n    import a\n    class C:\n        from b import c\n    if TYPE_CHECKING:\n"
            "        import d\nclass D:\n    import e\n    def g(self): from h import *\n"
        ),
        [
            "function:f 1-6 def f()",
            "type:f.<locals>.C 3-4 class C",
            "type:D 7-9 class D",
            "method:D.g 9-9 def g(self)",
        ],
        [
            "2 a  lazy import",
            "4 b c lazy import",
            "6 d  type-checking import",
            "8 e  import",
            "9 h * lazy import",
        ],
    ),
    "type checking": (
        (
            "if TYPE_CHECKING:\n    import a\n    from b import *\n    class C: pass\nelse:\n   "
            " import c\nif not typing.TYPE_CHECKING:\n    import d\nelif x:\n    import e\nelse:\n "
            "   import f\nif x:\n    pass\nelif t.TYPE_CHECKING:\n    import g\nif TYPE_CHECKING or"
            " x:\n    import h\n"
        ),
        ["type:C 4-4 class C"],
        [
            "2 a  type-checking import",
            "3 b * type-checking import",
            "6 c  import",
            "8 d  import",
            "10 e  type-checking import",
            "12 f  type-checking import",
            "16 g  type-checking import",
            "18 h  import",
        ],
    ),
    "dynamic imports": (
        (
            "importlib.import_module('a.b')\nx = __import__('c')\nimport_module('.d',"
            " 'p.q')\nimport_module('.e', __package__)\nimport_module(name='f',"
            " package=None)\nimport_module(g)\nimport_module('.h', p)\nimport_module('a"
            " b')\nimport_module(*i)\nimport_module('j' '.k')\ndef f(): return [import_module(\n   "
            " 'l') for m in n]\n"
        ),
        ["field:x 2-2 x = __import__('c')", "function:f 11-12 def f()"],
        [
            "1 a.b  dynamic import",
            "2 c  dynamic import",
            "3 p.q.d  dynamic import",
            "4 .e  dynamic import",
            "5 f  dynamic import",
            "10 j.k  dynamic import",
            "11 l  dynamic import",
        ],
    ),
    "dynamic imports under another name": (
        (
            "def f(): im('a')\nimport importlib\nfrom importlib import import_module as im\nload ="
            " importlib.import_module\nload('b')\nfrom builtins import __import__ as"
            " un\nun('c')\ndef g():\n    again = load\n    again('d.e')\nother ="
            " len\nother('f')\nlast = load('g')\nlast('h')\n"
        ),
        [
            "function:f 1-1 def f()",
            "field:load 4-4 load = importlib.import_module",
            "function:g 8-10 def g()",
            "field:other 11-11 other = len",
            "field:last 13-13 last = load('g')",
        ],
        [
            "1 a  dynamic import",
            "2 importlib  import",
            "3 importlib import_module import",
            "5 b  dynamic import",
            "6 builtins __import__ import",
            "7 c  dynamic import",
            "10 d.e  dynamic import",
            "13 g  dynamic import",
        ],
    ),
    "__import__": (
        (
            "__import__('a', level=1)\n__import__('b', g, l, ['c', 'd'], 0)\n__import__('', g, l,"
            " ('e',), 2)\n__import__(f)\n__import__('g',"
            " level=h)\n__import__('')\n__import__('.i')\n__import__(name='j', fromlist=[k])\n"
        ),
        [],
        [
            "1 .a  dynamic import",
            "2 b c dynamic import",
            "2 b d dynamic import",
            "3 .. e dynamic import",
            "8 j  dynamic import",
        ],
    ),
    "tabs and form feeds": (
        "\x0cclass C:\n\tx = 1\n\n\x0c\n\tdef f(self):\n\t\tpass\n",
        ["type:C 1-6 class C", "field:C.x 2-2 x = 1", "method:C.f 5-6 def f(self)"],
        [],
    ),
    "CRLF": (
        (
            "'''One.\r\nTwo.'''\r\nclass C:\r\n    x = (\r\n        1)\r\n    def f(self,\r\n      "
            "    a): pass\r\n"
        ),
        [
            "namespace: 1-7 'One.'",
            "type:C 3-7 class C",
            "field:C.x 4-5 x = ( …",
            "method:C.f 6-7 def f(self, a)",
        ],
        [],
    ),
    "letters": (
        (
            "class Größe:\n    größe = 'ß'; höhe = 'ü'\n    def f(self, ä='é'): 'Ünï.'\nfrom мир"
            " import имя\n"
        ),
        [
            "type:Größe 1-3 class Größe",
            "field:Größe.größe 2-2 größe = 'ß'",
            "field:Größe.höhe 2-2 höhe = 'ü'",
            "method:Größe.f 3-3 def f(self, ä='é') 'Ünï.'",
        ],
        ["4 мир имя import"],
    ),
    "one line": (
        "class C: x = 1; y: int = 2\ndef f(): import a; from b import c\nif x: d = 1\n",
        [
            "type:C 1-1 class C",
            "field:C.x 1-1 x = 1",
            "field:C.y 1-1 y: int = 2",
            "function:f 2-2 def f()",
            "field:d 3-3 d = 1",
        ],
        ["2 a  lazy import", "2 b c lazy import"],
    ),
    "match and walrus": (
        (
            "match a:\n    case {'x': b, **c} if (d := b):\n        def f(): pass\n    case [1, *e]"
            " | E(g=2):\n        h = 1\n"
        ),
        ["function:f 3-3 def f()", "field:h 5-5 h = 1"],
        [],
    ),
    "long": (
        "def f(" + ", ".join(f"a{n}" for n in range(200)) + "): pass\n",
        ["function:f 1-1 " + ("def f(" + ", ".join(f"a{n}" for n in range(200)) + ")")[:299] + "…"],
        [],
    ),
    "generics": (
        (
            "class C[T: int, *Ts, **P]:\n    def m[U](self, a: U) -> U: pass\ntype X[T] ="
            " list[T]\ndef f[\n    T](a: T): pass\n"
        ),
        [
            "type:C 1-2 class C[T: int, *Ts, **P]",
            "method:C.m 2-2 def m[U](self, a: U) -> U",
            "type:X 3-3 type X[T] = list[T]",
            "function:f 4-5 def f[ T](a: T)",
        ],
        [],
    ),
    "f-strings in f-strings": (
        "x = f'{f'{f'{1}'}'}'\ndef f(a=f\"{'a' + \"b\"}\"): pass\n",
        ["field:x 1-1 x = f'{f'{f'{1}'}'}'", 'function:f 2-2 def f(a=f"{\'a\' + "b"}")'],
        [],
    ),
    "defaults of type parameters": (
        "class C[T = int]: pass\n",
        ["type:C 1-1 class C[T = int]"],
        [],
    ),
}
"""What is written → symbols as `kind:name line-end signature 'docstring'`, imports as `line module
name manner`.
"""
MARKS = {"generics": OLD, "f-strings in f-strings": OLD, "defaults of type parameters": OLD_13}
CASES = [pytest.param(name, marks=MARKS.get(name, ())) for name in TABLE]


def reported(facts: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The facts as the table writes them; the module only where it has more to state than its
    length.
    """
    symbols = []
    for identifier, line, end_line, signature, doc, _ in facts["symbols"]:
        kind, _, name = identifier.partition(":")
        shown = "" if kind == "namespace" else signature
        text = " ".join(
            filter(None, [f"{kind}:{name[2:]} {line}-{end_line}", shown, repr(doc) if doc else ""])
        )
        if kind != "namespace" or doc:
            symbols.append(text)
    imports = [
        f"{line} {'.' * level}{module} {name} {how}"
        for module, name, level, line, how, _ in facts["imports"]
    ]
    return sorted(symbols), sorted(imports)


@pytest.mark.parametrize("scan", SCANNERS.values(), ids=SCANNERS)
@pytest.mark.parametrize("other", ["elif b", "else"])
def test_the_first_definition_in_the_source_gives_place_and_signature(
    other: str, scan: Scan
) -> None:
    source = f"if a:\n    def f(x): pass\n{other}:\n    def f(y): pass\n"
    assert reported(scan(source.encode(), "m.py", "m"))[0] == ["function:f 2-2 def f(x)"]


@pytest.mark.parametrize("scan", SCANNERS.values(), ids=SCANNERS)
@pytest.mark.parametrize("name", CASES)
def test_the_table(name: str, scan: Scan) -> None:
    source, symbols, imports = TABLE[name]
    facts = scan(source.encode(), "m.py", "m")
    assert facts["error"] == ""
    assert reported(facts) == (sorted(symbols), sorted(imports))


@pytest.mark.parametrize("name", CASES)
def test_both_state_the_same_to_the_letter(name: str) -> None:
    """Import statements as shown included; hashes and words have one definition and are the fast
    scanner's.
    """
    content = TABLE[name][0].encode()
    fast, precise = (scan(content, "m.py", "pkg.m") for scan in SCANNERS.values())
    assert {row[0]: row[1:5] for row in fast["symbols"]} == {
        row[0]: row[1:5] for row in precise["symbols"]
    }
    assert sorted(fast["imports"]) == sorted(precise["imports"])


ENCODED = {
    "latin-1": (
        b"# coding: latin-1\nclass C:\n    '''\xdcber.'''\n    gr\xf6\xdfe = '\xe9'; b = 1\n"
    ),
    "cp1252": b"#!/usr/bin/python\n# -*- coding: cp1252 -*-\ndef f(a='\x80', b=1): pass; c = 2\n",
    "BOM": b"\xef\xbb\xbfclass C:\n    x = '\xc3\xa9'; y = 1\n",
    "BOM and cookie": b"\xef\xbb\xbf# coding: utf-8\nx = 1\n",
    "only CR": b"x = 1\rclass C:\r    y = 2\r",
    "mixed ends": b"x = 1\r\nclass C:\n    y = 2\r    z = 3\n",
    "no end": b"class C:\n    x = 1",
    "blank lines": b"\n\n\nclass C:\n    x = 1\n\n\n\n# end\n\n",
    "backslash": b"x = \\\n    1\nfrom a \\\n  import b\n",
}


@pytest.mark.parametrize("name", ENCODED)
def test_encodings_and_ends_of_lines(name: str) -> None:
    fast, precise = (scan(ENCODED[name], "m.py", "m") for scan in SCANNERS.values())
    assert fast["error"] == ""
    assert {row[0]: row[1:5] for row in fast["symbols"]} == {
        row[0]: row[1:5] for row in precise["symbols"]
    }
    assert sorted(fast["imports"]) == sorted(precise["imports"])
    assert len(fast["symbols"]) > 1


CHECKED = {
    "": True,
    "TYPE_CHECKING = False": True,
    "TYPE_CHECKING: bool = False": True,
    "TYPE_CHECKING = 0": True,
    "TYPE_CHECKING: bool": True,
    "from typing import TYPE_CHECKING": True,
    "import typing as t": True,
    "TYPE_CHECKING = typing.TYPE_CHECKING": True,
    "from .compat import TYPE_CHECKING": True,
    "try:\n    from typing import TYPE_CHECKING\nexcept ImportError:\n    TYPE_CHECKING = False": (
        True
    ),
    "TYPE_CHECKING = True": False,
    "TYPE_CHECKING: bool = True": False,
    "TYPE_CHECKING = not False": False,
    "TYPE_CHECKING = 1": False,
    "TYPE_CHECKING, x = True, 1": False,
    "a = TYPE_CHECKING = True": False,
    "for TYPE_CHECKING in [1]: pass": False,
    "(TYPE_CHECKING := 1)": False,
    "TYPE_CHECKING |= True": False,
    "import os as TYPE_CHECKING": False,
    "from os import sep as TYPE_CHECKING": False,
    "def TYPE_CHECKING(): pass": False,
    "class t:\n    TYPE_CHECKING = True": False,
    "if x:\n    TYPE_CHECKING = True": False,
    "def f():\n    global TYPE_CHECKING\n    TYPE_CHECKING = True": False,
}


@pytest.mark.parametrize("scan", SCANNERS.values(), ids=SCANNERS)
@pytest.mark.parametrize("binding", CHECKED)
def test_a_file_that_makes_its_own_type_checking_hides_nothing(binding: str, scan: Scan) -> None:
    facts = scan(f"{binding}\nif TYPE_CHECKING:\n    import hidden\n".encode(), "m.py", "m")
    (how,) = {row[4] for row in facts["imports"] if row[0] == "hidden"}
    assert how == ("type-checking import" if CHECKED[binding] else "import")
