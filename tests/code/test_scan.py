"""The fast scanner: what it finds, how it reports it, and that nothing in a file can upset it."""

from __future__ import annotations

import ast
import gc
import sys
import sysconfig
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.code.scanner.parser import no_garbage_collection
from kl_hooks.code.scanner.python import LARGEST, scan_python
from kl_hooks.code.scanner.visitor import Frame


def ids(source: str) -> list[str]:
    facts = scan_python(source.encode(), "m.py", "m")
    assert facts["error"] == ""
    return [row[0] for row in facts["symbols"]]


def signatures(source: str) -> dict[str, str]:
    return {row[0]: row[3] for row in scan_python(source.encode(), "m.py", "m")["symbols"]}


def imports(source: str) -> list[list[object]]:
    return [row[:5] for row in scan_python(source.encode(), "m.py", "m")["imports"]]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("", []),
        ("def f(): pass", ["function:m.f"]),
        ("async def f(): pass", ["function:m.f"]),
        ("class C: pass", ["type:m.C"]),
        ("class C(Protocol[T]): pass", ["interface:m.C"]),
        ("class C(abc.ABC): pass", ["interface:m.C"]),
        ("class C(metaclass=ABCMeta): pass", ["interface:m.C"]),
        ("class C:\n def f(self): pass", ["type:m.C", "method:m.C.f"]),
        ("class C:\n @property\n def f(self): pass", ["type:m.C", "property:m.C.f"]),
        (
            "class C:\n @functools.cached_property\n def f(self): pass",
            ["type:m.C", "property:m.C.f"],
        ),
        ("class C:\n @staticmethod\n def f(): pass", ["type:m.C", "method:m.C.f"]),
        ("class C:\n x = 1", ["type:m.C", "field:m.C.x"]),
        ("class C:\n x: int", ["type:m.C", "field:m.C.x"]),
        ("class C:\n def f(self): self.x: int = 1", ["type:m.C", "method:m.C.f", "field:m.C.x"]),
        ("class C:\n def f(self): self.x = 1; other.y: int = 1", ["type:m.C", "method:m.C.f"]),
        ("X = 1", ["field:m.X"]),
        ("X, (Y) = [Z, W] = 1, 2", ["field:m.X", "field:m.Y", "field:m.Z", "field:m.W"]),
        ("x.y = z[0] = 1", []),
        ("x += 1\nfor y in z: pass", []),
        ("if a:\n X = 1\nelse:\n X = 2", ["field:m.X"]),
        ("def f():\n x = 1\n y: int = 2", ["function:m.f"]),
        ("def f():\n def g(): pass", ["function:m.f", "function:m.f.<locals>.g"]),
        (
            "def f():\n class C:\n  def g(self): pass",
            ["function:m.f", "type:m.f.<locals>.C", "method:m.f.<locals>.C.g"],
        ),
        ("class C:\n class D:\n  def g(self): pass", ["type:m.C", "type:m.C.D", "method:m.C.D.g"]),
        ("def f():\n global g\n def g(): pass", ["function:m.f", "function:m.g"]),
        ("try:\n def f(): pass\nexcept E:\n def f(): pass", ["function:m.f"]),
        ("if TYPE_CHECKING:\n class C: pass", ["type:m.C"]),
        ("for i in x:\n with y:\n  def f(): pass", ["function:m.f"]),
        ("match x:\n case 1:\n  def f(): pass", ["function:m.f"]),
        ("f = lambda: 0", ["field:m.f"]),
    ],
)
@pytest.mark.requirement("A33", "C15")
def test_symbols(source: str, found: list[str]) -> None:
    assert ids(source) == ["namespace:m", *found]


def test_names_are_those_of_the_code_objects() -> None:
    source = (
        "def f():\n def g():\n  class C:\n   def h(self): pass\n  return C\n return g\n"
        "class A:\n class B:\n  def m(self):\n   def n(): pass\n   return n\n"
        "def outer():\n global late\n def late():\n  def inner(): pass\n"
    )
    seen: set[str] = set()

    def collect(code: object) -> None:
        for constant in getattr(code, "co_consts", ()):
            if hasattr(constant, "co_qualname"):
                seen.add(constant.co_qualname)
                collect(constant)

    collect(compile(source, "m.py", "exec"))
    assert {name.split(":m.", 1)[1] for name in ids(source)[1:]} == seen


@pytest.mark.requirement("C17")
def test_a_row_has_place_signature_and_docstring() -> None:
    source = (
        b'"""What it is.\n\nMore."""\n\n@d\ndef f(a,  # why\n  b: int = 1,\n) -> str:\n  """\n '
        b' Says.\n  """\n'
    )
    rows = scan_python(source, "m.py", "pkg.m")["symbols"]
    assert [row[:5] for row in rows] == [
        ["namespace:pkg.m", 1, 11, "module pkg.m", "What it is."],
        ["function:pkg.m.f", 6, 11, "def f(a, b: int = 1) -> str", "Says."],
    ]


@pytest.mark.parametrize(
    ("source", "signature"),
    [
        ("def f(): return 1", "def f()"),
        ("def f(a='):', *, b=lambda: 0): pass", "def f(a='):', *, b=lambda: 0)"),
        ("def f(a={'x': 1}):\n  pass", "def f(a={'x': 1})"),
        ("def f(x=lambda:\n 1): pass", "def f(x=lambda: 1)"),
        ("def f(a, \\\n b):  # no\n  pass", "def f(a, b)"),
        ("def f(\n    a, b,\n):\n  pass", "def f(a, b)"),
        ("async  def f(): pass", "async def f()"),
        ("class C: x = 1", "class C"),
        ("class C(A, metaclass=M):\n  'doc'", "class C(A, metaclass=M)"),
        ("def é(ü='ß'): pass", "def é(ü='ß')"),
    ],
)
def test_signatures_are_one_line(source: str, signature: str) -> None:
    assert list(signatures(source).values())[1] == signature


def test_an_overload_is_placed_at_its_implementation_and_a_property_at_its_getter() -> None:
    source = (
        "class C:\n @overload\n def f(self, a: int): ...\n @overload\n def f(self, a: str): ...\n"
        " def f(self, a): pass\n"
        " @property\n def p(self):\n  'Doc.'\n @p.setter\n def p(self, value): pass\n"
    )
    rows = {row[0]: row for row in scan_python(source.encode(), "m.py", "m")["symbols"]}
    assert rows["method:m.C.f"][1:4] == [6, 6, "def f(self, a)"]
    assert rows["property:m.C.p"][1:5] == [8, 9, "def p(self)", "Doc."]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import a.b, c as d", [["a.b", "", 0, 1, "import"], ["c", "", 0, 1, "import"]]),
        ("from a import b, c as d", [["a", "b", 0, 1, "import"], ["a", "c", 0, 1, "import"]]),
        ("from ..a import b", [["a", "b", 2, 1, "import"]]),
        ("from . import b", [["", "b", 1, 1, "import"]]),
        ("from a import *", [["a", "*", 0, 1, "star import"]]),
        ("def f():\n import a", [["a", "", 0, 2, "lazy import"]]),
        ("class C:\n import a", [["a", "", 0, 2, "import"]]),
        ("def f():\n class C:\n  import a", [["a", "", 0, 3, "lazy import"]]),
        (
            "try:\n import a\nexcept ImportError:\n import b",
            [["a", "", 0, 2, "import"], ["b", "", 0, 4, "import"]],
        ),
        ("if TYPE_CHECKING:\n import a", [["a", "", 0, 2, "type-checking import"]]),
        (
            "if typing.TYPE_CHECKING:\n import a\nelse:\n import b",
            [["a", "", 0, 2, "type-checking import"], ["b", "", 0, 4, "import"]],
        ),
        (
            "if not TYPE_CHECKING:\n import a\nelse:\n import b",
            [["a", "", 0, 2, "import"], ["b", "", 0, 4, "type-checking import"]],
        ),
        ("if not not TYPE_CHECKING:\n import a", [["a", "", 0, 2, "type-checking import"]]),
        (
            "def f():\n if t.TYPE_CHECKING:\n  if x:\n   from a import *",
            [["a", "*", 0, 4, "type-checking import"]],
        ),
        ("if TYPE_CHECKING:\n def f():\n  import a", [["a", "", 0, 3, "type-checking import"]]),
        ("importlib.import_module('a.b')", [["a.b", "", 0, 1, "dynamic import"]]),
        ("x = [import_module('a') for y in z]", [["a", "", 0, 1, "dynamic import"]]),
        ("def f(): return __import__('a')", [["a", "", 0, 1, "dynamic import"]]),
        ("import_module('.a', __package__)", [["a", "", 1, 1, "dynamic import"]]),
        ("import_module('..a', package='p.q')", [["p.a", "", 0, 1, "dynamic import"]]),
        (
            "import_module(name='a.b')\n__import__(name='c', level=0)",
            [["a.b", "", 0, 1, "dynamic import"], ["c", "", 0, 2, "dynamic import"]],
        ),
        ("import_module(package='p', name='.a')", [["p.a", "", 0, 1, "dynamic import"]]),
        (
            "__import__('a.b', fromlist=['c', 'd'])",
            [["a.b", "c", 0, 1, "dynamic import"], ["a.b", "d", 0, 1, "dynamic import"]],
        ),
        ("__import__('a', globals(), locals(), ('b', x), 1)", [["a", "b", 1, 1, "dynamic import"]]),
        ("__import__('', globals(), None, ['b'], 2)", [["", "b", 2, 1, "dynamic import"]]),
        ("__import__('a', fromlist=wanted)", [["a", "", 0, 1, "dynamic import"]]),
        ("__import__('a', level=1)", [["a", "", 1, 1, "dynamic import"]]),
        ("__import__('a', level=depth)", []),
        ("__import__('.a')", []),
        ("il.import_module('a')", [["a", "", 0, 1, "dynamic import"]]),
        ("builtins.__import__('a')", [["a", "", 0, 1, "dynamic import"]]),
        ("import_module(package='p')\nimport_module(**names)\n__import__(name=n)", []),
        (
            (
                "import_module('.a',"
                " where)\nimport_module('.a')\nimport_module(name)\nimport_module(f'a{b}')"
            ),
            [],
        ),
        (
            "import_module('not a name')\nimport_module('')\nimport_module()\nimport_module('a/b')",
            [],
        ),
    ],
)
@pytest.mark.requirement("A33")
def test_imports(source: str, found: list[list[object]]) -> None:
    assert imports(source) == found


def test_an_import_shows_its_statement_on_one_line() -> None:
    source = (
        b"import a  # why\nfrom .b import (\n    c,\n    d as e,\n)\nx = import_module('z').y\n"
    )
    rows = scan_python(source, "m.py", "m")["imports"]
    assert [row[5] for row in rows] == [
        "import a",
        "from .b import c",
        "from .b import d",
        "import_module('z')",
    ]


BAD = [
    b"def f(:",
    b"a\0b",
    b"\0",
    b"# coding: nope\nx = 1",
    b"x = '\xff'",
    b"\xff\xfex\0",
    b"print 'x'",
    b"(" * 201 + b")" * 201,
    b"\xef\xbb\xbf# coding: latin-1\n",
    b"-" * 100_000 + b"1",
    b"+".join([b"a"] * 50_000),
    b"a" + b".a" * 50_000,
    b"x = " + b"9" * 5000,
    b"if 1:\n x\n\ty",
    b"'\\N{no such name}'",
    b"f'{'",
    b"\\",
    b"'''",
    b"if 1:\n" * 101,
]
ODD = [
    b"",
    b"\n",
    b"#",
    b"\xef\xbb\xbfx = 1",
    b"x = 1\r\ny = 2\rz = 3",
    b"\x0cx = 1",
    b"# coding: latin-1\nx = '\xe9'; y = 1",
    b"# -*- coding: cp1252 -*-\ndef f(a='\x80'): pass",
    b"x = '" + b"a" * 200_000 + b"'",
    b"(" * 60 + b")" * 60,
    b"# coding: utf-16\nx = 1",
    b"x = '\\d'",
    b"\tx = 1",
    b"def f():\n\t'\\ud800'\n",
    b"# vim: set fileencoding=utf8 :\nx = 'e'",
]


def accepted(content: bytes) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(content)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


@pytest.mark.parametrize("content", BAD + ODD, ids=range(len(BAD + ODD)))
def test_what_python_refuses_is_refused_and_nothing_else(content: bytes) -> None:
    facts = scan_python(content, "m.py", "m")
    assert (facts["error"] == "") == accepted(content)
    if facts["error"]:
        line, column, reason = facts["error"].split(":", 2)
        assert int(line) >= 0 and int(column) >= 0 and reason.strip() and "\n" not in reason
        assert facts["symbols"] == facts["imports"] == facts["words"] == []


@pytest.mark.parametrize("content", BAD[:5], ids=range(5))
def test_the_bad_ones_are_bad(content: bytes) -> None:
    assert not accepted(content)


def test_a_syntax_error_has_its_place() -> None:
    assert scan_python(b"x = 1\ny = = 2\n", "m.py", "m")["error"].startswith("2:5: ")


def test_a_huge_file_is_left_alone() -> None:
    assert "larger than" in scan_python(b"#" * (LARGEST + 1), "m.py", "m")["error"]
    assert scan_python(b"#" * LARGEST, "m.py", "m")["error"] == ""


def test_columns_fit_in_every_encoding() -> None:
    source = "# coding: latin-1\nä = 'ü'; import a\n".encode("latin-1")
    assert scan_python(source, "m.py", "m")["imports"][0][5] == "import a"
    bom = b"\xef\xbb\xbfimport a\n"
    assert scan_python(bom, "m.py", "m")["imports"][0][5] == "import a"


def test_words_are_the_identifiers_of_the_code_itself() -> None:
    source = (
        b"class C:\n x = call(arg).attr\n def f(self):\n  'doc'\n  return other('text', key=1)\n"
    )
    facts = scan_python(source, "m.py", "m")
    words = dict(zip([row[0] for row in facts["symbols"]], facts["words"], strict=True))
    assert words["field:m.C.x"] == "arg attr call x"
    assert words["method:m.C.f"] == "", "those of its source are in its text"


@given(
    st.binary(max_size=200)
    | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))
)
def test_any_bytes_give_facts(content: bytes) -> None:
    assert (scan_python(content, "m.py", "m")["error"] == "") == accepted(content)


@given(st.data())
def test_mutated_source_gives_facts(data: st.DataObject) -> None:
    content = Path(__file__).read_bytes()[:3000]
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, min(len(content), start + 40)))
    mutant = content[:start] + data.draw(st.binary(max_size=8)) + content[end:]
    assert (scan_python(mutant, "m.py", "m")["error"] == "") == accepted(mutant)


def library_sample() -> list[Path]:
    library = Path(sysconfig.get_paths()["stdlib"])
    every = sorted(
        p
        for p in library.rglob("*.py")
        if "site-packages" not in p.parts and "idlelib" not in p.parts
    )
    tests = [p for p in every if "test" in p.parts or "tests" in p.parts]
    others = [p for p in every if p not in set(tests)]
    return others[:: max(1, len(others) // 100)] + tests[:: max(1, len(tests) // 60)]


@pytest.mark.sweep
def test_the_interpreters_own_library() -> None:
    sample = library_sample()
    assert len(sample) >= 100
    for path in sample:
        content = path.read_bytes()
        facts = scan_python(content, str(path), "m")
        large = len(content) > LARGEST
        assert large or (facts["error"] == "") == accepted(content), path
        assert len(facts["words"]) == len(facts["symbols"])
        assert len({row[0] for row in facts["symbols"]}) == len(facts["symbols"]), path


def test_warnings_about_somebodys_source_are_not_ours(recwarn: pytest.WarningsRecorder) -> None:
    scan_python(b"x = '\\d'\ny = 1 is 1\n", "m.py", "m")
    assert not recwarn.list


def test_source_deeper_than_python_recurses() -> None:
    deep = "x = " + "[" * 90 + "]" * 90
    assert ids(deep) == ["namespace:m", "field:m.x"]
    long_chain = "x = " + " + ".join(["a"] * 900)
    limit = sys.getrecursionlimit()
    assert ids(long_chain) == ["namespace:m", "field:m.x"]
    assert sys.getrecursionlimit() == limit


def test_a_file_that_is_always_checking_imports_what_it_names() -> None:
    source = "TYPE_CHECKING = {}\nif TYPE_CHECKING:\n    import a\n"
    assert [
        row[4] for row in scan_python(source.format("True").encode(), "m.py", "m")["imports"]
    ] == ["import"]
    for value in ("False", "0"):
        (row,) = scan_python(source.format(value).encode(), "m.py", "m")["imports"]
        assert row[4] == "type-checking import"


def test_import_module_under_another_name() -> None:
    source = (
        "from importlib import import_module as im\nim('a.b')\ndef f():\n    im('c')\nim2('d')\n"
    )
    assert [row[0] for row in scan_python(source.encode(), "m.py", "m")["imports"]] == [
        "importlib",
        "a.b",
        "c",
    ]


def test_nothing_of_a_tree_stays_when_its_facts_are_made_though_nobody_looks_for_cycles() -> None:
    source = (
        b"if TYPE_CHECKING:\n    import a\nclass C(B):\n    x: int = 1\n    def f(self):\n       "
        b" def g(): pass\n"
    )
    with no_garbage_collection():
        gc.freeze()  # what other tests have left, millions of objects, is not looked at
        try:
            for _ in range(3):
                assert scan_python(source, "m.py", "m")["error"] == ""
            kinds = (Frame, ast.Module, ast.ClassDef)
            left = [item for item in gc.get_objects() if isinstance(item, kinds)]
        finally:
            gc.unfreeze()
    assert left == []
