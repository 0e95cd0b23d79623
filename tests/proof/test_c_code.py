"""What no name and no event of Python leads to: files that C code opens, and what C code stores."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.pytest_kl.recorded import repository

from .test_left_behind import commit, impacted, record, verify

APP = """
import codecs, ctypes
class Base: pass
class Node:
    def __init__(self, after=None): self.after = after
    def last(self): return self.after.last() if self.after else self
HEAD = None
for _ in range(90): HEAD = Node(HEAD)
LINES = open("lines.txt")
def kinds(): return Base.__subclasses__()
def line(): return LINES.readline()
def is_long(): return HEAD.last().after
def handler():
    try: return codecs.lookup_error("shop")
    except LookupError: return None
def first(name):
    library = ctypes.CDLL(None)
    library.fopen.restype = ctypes.c_void_p
    file = ctypes.c_void_p(library.fopen(name.encode(), b"r"))
    number = library.fgetc(file)
    library.fclose(file)
    return chr(number)
"""
TESTS = """
import app
def test_kinds(): assert app.kinds() == []
def test_line(): assert app.line() == "one\\n"
def test_long(): assert app.is_long() is None
def test_handler(): assert app.handler() is None
def test_first(): assert app.first("names" + ".rst") == "a"
def test_plain(): assert True
"""
FILES = {"app.py": APP, "test_z.py": TESTS, "lines.txt": "one\ntwo\n", "names.rst": "ada\n"}

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or sys.version_info < (3, 12),
    reason="symbols are recorded from 3.12 on, and files that C code opens on Linux",
)


def test_a_file_that_c_code_opens_is_one_that_the_test_read(tmp_path: Path) -> None:
    folder = repository(tmp_path / "program", FILES)
    assert record(folder) == 0
    commit(folder, {"names.rst": "eve\n"})
    assert impacted(folder) == {"test_z.py::test_first"}
    assert verify(folder) == 1
    assert record(folder, "--kl-impacted") == 1


def test_a_new_test_spoils_those_that_find_what_c_code_holds(tmp_path: Path) -> None:
    folder = repository(tmp_path / "program", FILES)
    assert record(folder) == 0
    spoiling = {
        "kinds": "KEEP = []\ndef test_kinds(): KEEP.append(type('Own', (app.Base,), {}))\n",
        "line": "def test_line(): app.line()\n",
        "long": "def test_long(): app.HEAD.last().after = app.Node()\n",
    }
    text = "import app\n" + "".join(spoiling.values())
    commit(folder, {"test_m.py": text.replace("app.Base,), {}", "app.Base,), dict()")})
    record(folder, "--kl-impacted")
    stale = {name for name in impacted(folder) if name.startswith("test_z.py")}
    assert stale >= {f"test_z.py::test_{name}" for name in spoiling}
    assert "test_z.py::test_plain" not in stale
    assert verify(folder) == 1


def test_a_handler_of_errors_is_found_by_all(tmp_path: Path) -> None:
    folder = repository(tmp_path / "program", FILES)
    assert record(folder) == 0
    new = "import codecs\ndef test_new(): codecs.register_error('shop', codecs.ignore_errors)\n"
    commit(folder, {"test_m.py": new})
    assert record(folder, "--kl-impacted") == 0
    assert verify(folder) == 1
    assert "test_z.py::test_handler" in impacted(folder)
