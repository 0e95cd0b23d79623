"""State that one test leaves behind and another one uses, without a call of what computed it.

One program has all the ways. `first` puts the value there, `second` gets it. `parse` is edited: the
whole suite fails in `second`, so its result must not be valid.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.pytest_kl.recorded import environment, git, repository, run_pytest
from tests.support import run_in_process

WAYS = {
    "list": """
ITEMS = []
def put(value): ITEMS.append(value)
def get(): return ITEMS[-1]
""",
    "item of a dictionary": """
ITEMS = {'x': 0}
def put(value): ITEMS['x'] = value
def get(): return ITEMS['x']
""",
    "set": """
ITEMS = set()
def put(value): ITEMS.add(value)
def get(): return min(ITEMS)
""",
    "deque": """
from collections import deque
ITEMS = deque(maxlen=1)
def put(value): ITEMS.append(value)
def get(): return ITEMS[0]
""",
    "list in a dictionary": """
GROUPS = {'x': []}
def put(value): GROUPS['x'].append(value)
def get(): return GROUPS['x'][0]
""",
    "attribute of an object": """
class State: pass
STATE = State()
def put(value): STATE.value = value
def get(): return STATE.value
""",
    "slot of an object": """
class State: __slots__ = ('value',)
STATE = State()
def put(value): STATE.value = value
def get(): return STATE.value
""",
    "method of a registry": """
class Registry:
    def __init__(self): self.items = []
    def add(self, value): self.items.append(value)
    def last(self): return self.items[-1]
REGISTRY = Registry()
def put(value): REGISTRY.add(value)
def get(): return REGISTRY.last()
""",
    "registry that refuses the same name": """
ITEMS = {}
def put(value):
    if 'x' in ITEMS: raise ValueError
    ITEMS['x'] = value
def get(): return ITEMS['x']
""",
    "subclass of a dictionary": """
class Table(dict): pass
TABLE = Table()
def put(value): TABLE.update(x=value)
def get(): return TABLE['x']
""",
    "namespace": """
from types import SimpleNamespace
STATE = SimpleNamespace(value=0)
def put(value): STATE.value = value
def get(): return STATE.value
""",
    "attribute of a class": """
class State: value = 0
def put(value): State.value = value
def get(): return State.value
""",
    "attribute that a class did not have": """
class State:
    @classmethod
    def put(cls, value): cls.value = value
def put(value): State.put(value)
def get(): return State.value
""",
    "list of a class": """
class State: items = []
def put(value): State().items.append(value)
def get(): return State.items[0]
""",
    "attribute of a class above": """
class Base: items = []
class First(Base):
    def add(self, value): self.items.append(value)
class Second(Base):
    def last(self): return self.items[-1]
def put(value): First().add(value)
def get(): return Second().last()
""",
    "attribute of a metaclass": """
class Meta(type): items = []
class First(metaclass=Meta): pass
def put(value): First.items.append(value)
def get(): return First.items[-1]
""",
    "attribute of a class in a class": """
class Outer:
    class Inner: items = []
    def add(self, value): self.Inner.items.append(value)
    def last(self): return self.Inner.items[-1]
def put(value): Outer().add(value)
def get(): return Outer().last()
""",
    "attribute of an enumeration": """
import enum
class Color(enum.Enum): RED = 1
Color.items = []
def put(value): Color.items.append(value)
def get(): return Color.items[-1]
""",
    "element of a document": """
from xml.etree.ElementTree import Element
TREE = Element("a")
def put(value): TREE.set("x", str(value))
def get(): return int(TREE.get("x"))
""",
    "number of C": """
import ctypes
NUMBER = ctypes.c_int()
def put(value): NUMBER.value = value
def get(): return NUMBER.value
""",
    "default of a context variable": """
import contextvars
ITEMS = contextvars.ContextVar("ITEMS", default=[])
def put(value): ITEMS.get().append(value)
def get(): return ITEMS.get()[-1]
""",
    "header of a message": """
from email.message import EmailMessage
MAIL = EmailMessage()
def put(value): MAIL["X"] = str(value)
def get(): return int(MAIL["X"])
""",
    "attribute of a function": """
def put(value): put.value = value
def get(): return put.value
""",
    "default of a function": """
def items(value=None, known=[]):
    if value is not None:
        known.append(value)
    return known
def put(value): items(value)
def get(): return items()[0]
""",
    "variable of an outer function": """
def make():
    value = 0
    def put(new):
        nonlocal value
        value = new
    def get(): return value
    return put, get
put, get = make()
""",
    "list of an outer function": """
def make():
    items = []
    def put(value): items.append(value)
    def get(): return items[0]
    return put, get
put, get = make()
""",
    "global": """
MODE = 0
def put(value):
    global MODE
    MODE = value
def get(): return MODE
""",
    "deep in containers": """
TABLE = {"a": {"b": {"c": {"d": {"e": [0]}}}}}
def put(value): TABLE["a"]["b"]["c"]["d"]["e"][0] = value
def get(): return TABLE["a"]["b"]["c"]["d"]["e"][0]
""",
    "one of many lists": """
TABLE = {number: [0] for number in range(600)}
def put(value): TABLE[3][0] = value
def get(): return TABLE[3][0]
""",
    "level of a logger": """
import logging
LOG = logging.getLogger(__name__)
def put(value): LOG.setLevel(value)
def get(): return LOG.level
""",
    "handler of a logger": """
from logging import NullHandler, getLogger
LOG = getLogger(__name__)
def put(value): LOG.handlers += [NullHandler()] * value
def get(): return len(LOG.handlers)
""",
    "numbers that are counted up": """
import itertools
NUMBERS = itertools.count()
def put(value): any(next(NUMBERS) + 1 == value for _ in "xx")
def get(): return 1 if next(NUMBERS) == 1 else 0
""",
    "iterator of an object": """
class Queue:
    def __init__(self): self.items = iter(range(9))
QUEUE = Queue()
def put(value): [next(QUEUE.items) for _ in range(value)]
def get(): return next(QUEUE.items)
""",
    "generator that runs on": """
def numbers():
    yield from range(9)
NUMBERS = numbers()
def put(value): [next(NUMBERS) for _ in range(value)]
def get(): return next(NUMBERS)
""",
    "argument of a partial function": """
from functools import partial
LENGTH = partial(len, [])
def put(value): LENGTH.args[0].extend([0] * value)
def get(): return LENGTH()
""",
    "buffer": """
from io import StringIO
OUT = StringIO()
def put(value): OUT.write("x" * value)
def get(): return len(OUT.getvalue())
""",
    "configuration": """
from configparser import ConfigParser
CONFIG = ConfigParser()
def put(value): CONFIG.read_dict({"a": {"x": str(value)}})
def get(): return CONFIG.getint("a", "x")
""",
    "variable of the environment": """
import os
def put(value): os.environ[__name__] = str(value)
def get(): return int(os.environ[__name__])
""",
    "variable asked for by a function": """
from os import environ as variables, getenv
def put(value): variables.update({__name__: str(value)})
def get(): return int(getenv(__name__, 0))
""",
    "list of the interpreter": """
import sys
def put(value): sys.path.append(f"{__name__}={value}")
def get(): return int(f"{__name__}=1" in sys.path)
""",
    "generator": """
ITEMS = []
def fill():
    while True:
        ITEMS.append((yield))
def put(value):
    filling = fill()
    next(filling)
    filling.send(value)
def get(): return ITEMS[0]
""",
    "subclass that nothing names": """
class Base: pass
KEEP = []
def make(value): return type('Own', (Base,), {'value': value})
def put(value): KEEP.append(make(value))
def get(): return Base.__subclasses__()[0].value
""",
    "place in an open file": """
import tempfile
FILE = tempfile.TemporaryFile('w+')
def put(value): FILE.write(str(value))
def get():
    FILE.seek(0)
    return int(FILE.read())
""",
    "object deep inside of others": """
class Node:
    def __init__(self, after=None): self.after, self.value = after, 0
    def last(self): return self.after.last() if self.after else self
HEAD = None
for _ in range(90): HEAD = Node(HEAD)
def put(value): HEAD.last().value = value
def get(): return HEAD.last().value
""",
    "generator that stores what it computes": """
ITEMS = []
def rows():
    if not ITEMS:
        ITEMS.append(parse())
    yield from ITEMS
def put(value): list(rows())
def get(): return next(rows())
""",
    "coroutine that stores what it computes": """
import asyncio
DATA = None
async def load():
    global DATA
    if DATA is None:
        DATA = parse()
    return DATA
def put(value): asyncio.run(load())
def get(): return asyncio.run(load())
""",
    "variable of an outer function that another function reads": """
def made():
    cache = {}
    def get(key):
        if key not in cache:
            cache[key] = parse()
        return cache[key]
    def values(): return [*cache.values(), 0]
    return get, values
compute, values = made()
def put(value): compute('x')
def get(): return values()[0]
""",
    "variable that is read by the closure": """
def made():
    cache = {}
    def get(key):
        if key not in cache:
            cache[key] = parse()
        return cache[key]
    return get
compute = made()
def put(value): compute('x')
def get(): return [*compute.__closure__[0].cell_contents.values(), 0][0]
""",
    "attribute of an inner object beside its cache": """
class Rules:
    def __init__(self): self.cache, self.rule = {}, 0
    def compiled(self, key):
        if key not in self.cache:
            self.cache[key] = len(key)
        return self.cache[key]
class Parser:
    def __init__(self): self.rules = Rules()
PARSER = Parser()
def put(value):
    PARSER.rules.compiled('x')
    change(PARSER.rules, value)
def change(rules, value): rules.rule = value
def get(): return PARSER.rules.compiled('x') and PARSER.rules.rule
""",
    "cache that something else fills, too": """
def made():
    cache = {}
    def get(key):
        if key not in cache:
            cache[key] = len(key)
        return cache[key]
    get.cache = cache
    return get
compute = made()
def put(value):
    compute('yy')
    compute.cache['x'] = value
def get(): return compute('x')
""",
}
TESTS = """
import {module}
def test_first(): {module}.put({module}.parse())
def test_second(): assert {module}.get() == 1
"""
SHARED = {
    "app.py": """
def parse(): return 1
ITEMS = []
""",
    "conftest.py": """
import app, pytest
@pytest.fixture(scope="session")
def loaded(): app.ITEMS.append(app.parse())
@pytest.fixture(scope="module")
def items(): return []
""",
    "test_name.py": """
from app import ITEMS, parse
import app
def test_first(): app.ITEMS.append(parse())
def test_second(): assert ITEMS[0] == 1
""",
    "test_own.py": """
import app
STATE = {}
def test_first(): STATE["x"] = app.parse()
def test_second(): assert STATE["x"] == 1
""",
    "test_class.py": """
import app, unittest
class TestSteps:
    def test_first(self): type(self).value = app.parse()
    def test_second(self): assert self.value == 1
class StepsTest(unittest.TestCase):
    items = []
    def test_first(self): self.items.append(app.parse())
    def test_second(self): assert self.items == [1]
""",
    "test_fixture.py": """
import app
def test_first(items): items.append(app.parse())
def test_second(items): assert items == [1]
""",
    "test_loaded.py": """
import app
def test_first(loaded): pass
def test_second(): assert app.ITEMS[-1] == 1
""",
}


def impacted(folder: Path) -> set[str]:
    done = run_in_process(["proof", "impacted", "--format", "json"], folder, environment({}))
    return {entry["test"] for entry in json.loads(done.stdout)["tests"]}


def edit_parse(folder: Path, paths: list[str]) -> None:
    for path in paths:
        file = folder / path
        file.write_text(file.read_text().replace("def parse(): return 1", "def parse(): return 2"))
    git(folder, "commit", "-qam", "parse() returns 2")


pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 12), reason="symbols are traced by sys.monitoring from 3.12 on"
)


def test_a_test_that_uses_what_another_one_left_behind_is_stale_with_what_that_executed(
    tmp_path: Path,
) -> None:
    modules = {f"way_{at}": name for at, name in enumerate(WAYS)}
    files = {
        f"{module}.py": f"def parse(): return 1\n{WAYS[name]}" for module, name in modules.items()
    }
    files |= {f"test_{module}.py": TESTS.format(module=module) for module in modules}
    folder = repository(tmp_path / "program", files)
    assert run_pytest(folder, "-p", "no:randomly").returncode == 0
    edit_parse(folder, [f"{module}.py" for module in modules])
    stale = impacted(folder)
    missed = [
        name for module, name in modules.items() if f"test_{module}.py::test_second" not in stale
    ]
    assert missed == [], missed
    run_pytest(folder, "--kl-impacted", "-p", "no:randomly")
    assert run_in_process(["verify"], folder, environment({})).returncode == 1


def test_classes_fixtures_and_names_of_tests_are_shared_too(tmp_path: Path) -> None:
    folder = repository(tmp_path / "program", SHARED)
    assert run_pytest(folder, "-p", "no:randomly").returncode == 0
    edit_parse(folder, ["app.py"])
    stale = impacted(folder)
    assert {name for name in stale if "second" in name} == {
        "test_name.py::test_second",
        "test_own.py::test_second",
        "test_class.py::TestSteps::test_second",
        "test_class.py::StepsTest::test_second",
        "test_fixture.py::test_second",
        "test_loaded.py::test_second",
    }


RESTORED = {
    "app.py": """
ITEMS, CACHE, MODE = [], {}, 0
def parse(): return 1
def key(): return "x"
def get(name):
    if name not in CACHE:
        CACHE[name] = len(name)
    return CACHE[name]
""",
    "test_taken_away.py": """
import app, pytest
@pytest.fixture
def item():
    app.ITEMS.append(app.parse())
    yield
    app.ITEMS.clear()
def test_first(item): assert app.ITEMS
def test_second(): assert not app.ITEMS
def test_third(monkeypatch):
    monkeypatch.setattr(app, "MODE", app.parse())
    assert app.MODE
def test_fourth(): assert not app.MODE
""",
    "test_set_up_anew.py": """
import app, pytest
@pytest.fixture(autouse=True)
def empty(): app.ITEMS.clear()
def test_first(): app.ITEMS.append(app.parse())
def test_second():
    app.ITEMS.append(3)
    assert app.ITEMS == [3]
""",
    "test_cache.py": """
import app
def test_first(): assert app.get(app.key()) == 1
def test_second(): assert app.get("x") == 1
def test_order(): assert app.parse()
""",
}


COMPUTED = {
    "app.py": """
def parse(): return 1
def key(): return "x"
def cached(compute):
    cache = {}
    def get(name):
        if name not in cache:
            cache[name] = compute(name)
        return cache[name]
    return get
get = cached(len)
def shown(name):
    place = Place()
    place.text = f"{get(name)}"
    return place.text
class Place: pass
class Rules:
    def __init__(self): self.__compiled = {}
    def compiled(self, name):
        rule = self.__compiled.get(name)
        if not rule:
            rule = self.__compiled[name] = len(name)
        return rule
class Parser:
    def __init__(self): self.rules, self.others = Rules(), Rules()
PARSER = Parser()
""",
    "test_closure.py": """
import app
def test_first(): assert app.get(app.key()) == 1 and app.parse()
def test_other(): assert app.shown("yyy") == "3" and app.parse()
def test_second(): assert app.get("x") == 1 and app.shown("yyy") == "3"
""",
    "test_inner.py": """
import app
def test_first():
    assert app.parse()
    assert app.PARSER.rules.compiled(app.key())
def test_second(): assert app.PARSER.rules.compiled("x") and app.PARSER.others
""",
    "test_unittest.py": """
import app, unittest
class Steps(unittest.TestCase):
    def check(self): assert app.key()
class FirstTest(Steps):
    def test_first(self): assert app.parse() and self.check() is None
class SecondTest(Steps):
    def test_second(self): assert FirstTest and self.check() is None
""",
}


QUIET = {
    "app.py": """
import itertools, logging, os, sys
from functools import cached_property
LOG = logging.getLogger("app")
class Item:
    OWN = logging.getLogger("item")
    @cached_property
    def price(self): return parse()
    @property
    def name(self): return "x"
ITEM = Item
class Basket: pass
class Marked: pass
def parse(): return 1
def log(text):
    LOG.info(text)
    return LOG.isEnabledFor(10) or text
def home(): return os.environ.get("NOBODY_HAS_THIS")
def folders(): return list(sys.path)
""",
    "test_app.py": """
import app, copy, os, pytest
def test_copies(): assert copy.copy(app.Basket()) and not app.Basket.__annotations__ and app.parse()
def test_basket(): assert app.Basket
def test_marks():
    app.Marked.__doc__ = str(app.parse())
def test_marked(): assert app.Marked.__doc__ == "1"
@pytest.fixture(scope="module")
def place():
    yield (app.home(), app.parse())
    app.home()
def test_place(place): assert place
def test_environment_first(): assert app.home() is None
def test_log(): assert app.log("b")
def test_log_at_another_level(caplog):
    with caplog.at_level(10, logger="app"): app.log("a")
    assert app.parse()
def test_log_again(): assert app.log("b")
def test_class(): assert app.Item().price == app.parse() and app.Item().name
def test_class_again(): assert app.ITEM().name and app.Item.OWN
def test_environment(monkeypatch):
    monkeypatch.setenv("NOBODY_HAS_THIS", str(app.parse()))
    assert app.home()
def test_environment_again(): assert app.home() is None
def test_folders(): assert "nowhere" not in app.folders()
def test_other_folders(monkeypatch):
    monkeypatch.syspath_prepend("nowhere")
    assert app.folders() and app.parse()
def test_folders_again(): assert "nowhere" not in app.folders()
""",
}


def impacted_by_another_parse(folder: Path, files: dict[str, str]) -> set[str]:
    """What an edit of `parse` selects, after a run of all tests in the order of their files."""
    repository(folder, files)
    assert run_pytest(folder, "-p", "no:randomly").returncode == 0
    changed = files["app.py"].replace("def parse(): return 1", "def parse(): return 2")
    assert changed != files["app.py"]
    (folder / "app.py").write_text(changed)
    return impacted(folder)


def test_what_the_library_changes_by_itself_binds_nobody(tmp_path: Path) -> None:
    """A logger remembers which levels are enabled, pytest sets a variable for each test, a class of
    which objects are copied gets `__slotnames__`.
    """
    assert impacted_by_another_parse(tmp_path / "program", QUIET) == {
        "test_app.py::test_copies",
        "test_app.py::test_marks",
        "test_app.py::test_marked",
        "test_app.py::test_place",
        "test_app.py::test_log_at_another_level",
        "test_app.py::test_other_folders",
        "test_app.py::test_class",
        "test_app.py::test_environment",
    }


def test_what_is_put_back_and_what_functions_compute_binds_nobody(tmp_path: Path) -> None:
    folder = tmp_path / "program"
    assert impacted_by_another_parse(folder, RESTORED) == {
        "test_taken_away.py::test_first",
        "test_taken_away.py::test_third",
        "test_set_up_anew.py::test_first",
        "test_cache.py::test_order",
    }
    (folder / "app.py").write_text(RESTORED["app.py"].replace('return "x"', 'return "y"'))
    assert impacted(folder) == {"test_cache.py::test_first"}


def test_what_functions_store_in_closures_and_inner_objects_binds_nobody(tmp_path: Path) -> None:
    """Nor what unittest stores in a class of tests when it is torn down."""
    assert impacted_by_another_parse(tmp_path / "program", COMPUTED) == {
        "test_closure.py::test_first",
        "test_closure.py::test_other",
        "test_inner.py::test_first",
        "test_unittest.py::FirstTest::test_first",
    }


BASE = {
    "app.py": "def one(): return 1\ndef two(): return 2\n",
    "base.py": """
import unittest
class Base(unittest.TestCase):
    def check(self, got, wanted): self.assertEqual(got, wanted)
""",
    "test_app.py": """
import app, base
class OneTest(base.Base):
    def test_one(self): assert isinstance(self, base.Base) and app.one() == 1
class TwoTest(base.Base):
    def test_two(self): self.check(app.two(), 2)
""",
}


def test_a_class_above_that_no_test_changes_binds_no_test_to_another(tmp_path: Path) -> None:
    folder = repository(tmp_path / "program", BASE)
    assert run_pytest(folder, "-p", "no:randomly").returncode == 0
    text = BASE["app.py"].replace("def one(): return 1", "def one(): return 2 - 1")
    (folder / "app.py").write_text(text)
    git(folder, "commit", "-qam", "one() in another way")
    args = ("--kl-impacted", "--kl-audit=off", "-p", "no:randomly")
    assert "1 passed, 1 deselected" in run_pytest(folder, *args).stdout
    assert run_in_process(["verify"], folder, environment({})).returncode == 0


COLLECTORS = {
    "app.py": "def parse(): return 1\n",
    "tests/__init__.py": "",
    "tests/test_early.py": "def test_early(): pass\n",
    "tests/inner/__init__.py": """
import app
def setup_module(): assert app.parse()
""",
    "tests/inner/test_first.py": "def test_first(): pass\n",
    "tests/inner/test_second.py": "def test_second(): pass\n",
    "tests/conftest.py": """
import pytest
import app
class Line(pytest.Item):
    def runtest(self): assert self.parent.value
class Lines(pytest.File):
    def collect(self):
        if self.name == "own.lines": self.setup = lambda: setattr(self, "value", app.parse())
        for name in self.path.read_text().split():
            yield Line.from_parent(self, name=name)
class SetUpLines(Lines):
    def setup(self): self.value = app.parse()
def pytest_collect_file(parent, file_path):
    if file_path.suffix == ".lines":
        kind = Lines if file_path.name == "own.lines" else SetUpLines
        return kind.from_parent(parent, path=file_path)
""",
    "tests/some.lines": "one two",
    "tests/own.lines": "one two",
}


def test_what_the_set_up_of_a_collector_executes_belongs_to_all_tests_below(tmp_path: Path) -> None:
    stale = impacted_by_another_parse(tmp_path / "program", COLLECTORS)
    assert stale == {
        "tests/inner/test_first.py::test_first",
        "tests/inner/test_second.py::test_second",
        *(f"tests/{name}.lines::{item}" for name in ("some", "own") for item in ("one", "two")),
    }


@pytest.mark.parametrize("name", ["setup_module", "tearDownModule", "helper"])
def test_what_pytest_calls_in_a_package_reaches_all_tests_below(tmp_path: Path, name: str) -> None:
    folder = repository(tmp_path / "program", COLLECTORS)
    assert run_pytest(folder, "-p", "no:randomly").returncode == 0
    (folder / "tests/inner/__init__.py").write_text(
        f"{COLLECTORS['tests/inner/__init__.py']}def {name}(): pass\n"
        if name != "setup_module"
        else "import app\n"
    )
    below = {"tests/inner/test_first.py::test_first", "tests/inner/test_second.py::test_second"}
    # whatever is new may be what a text means that is no Python
    stale = {test for test in impacted(folder) if ".lines::" not in test}
    assert stale == (set() if name == "helper" else below)


DATABASE = {
    "app.py": """
def one(): return 1
def connect():
    import sqlite3  # it registers converters, which the test needs
    connection = sqlite3.connect({name}, detect_types=sqlite3.PARSE_DECLTYPES, uri=True)
    connection.execute("CREATE TABLE shop (opened DATE)")
    return connection.execute("SELECT opened FROM shop")
""",
    "test_app.py": """
import app
def test_zero(): assert app.connect()
def test_two(): assert app.connect().fetchone() is None
def test_one(): assert app.one() == 1 and app.connect()
""",
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ["':memory:'", "'file:x?mode=memory'", "'file::memory:'"])
def test_a_database_in_memory_binds_nobody(tmp_path: Path, name: str) -> None:
    text = DATABASE["app.py"].replace("{name}", name)
    folder = repository(tmp_path / "program", {**DATABASE, "app.py": text})
    assert run_pytest(folder, "-p", "no:randomly").returncode == 0
    text = text.replace("def one(): return 1", "def one(): return 2 - 1")
    (folder / "app.py").write_text(text)
    git(folder, "commit", "-qam", "one() in another way")
    args = ("--kl-impacted", "--kl-audit=off", "-p", "no:randomly")
    # a process of its own: it reads the store, a database, before the suite imports anything
    assert "1 passed, 2 deselected" in run_pytest(folder, *args, forked=False).stdout
    assert run_in_process(["verify"], folder, environment({})).returncode == 0


IN_THREADS = {
    "app.py": """
import functools, threading
def parse(): return 1
@functools.lru_cache
def settings(): return parse()
_LOADED = None
def loaded():
    global _LOADED
    if _LOADED is None:
        _LOADED = [parse()]
    return _LOADED
def in_thread(function):
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()
""",
    "test_cached.py": """
import app
def test_first(): app.in_thread(app.settings)
def test_second(): assert app.settings() == 1
""",
    "test_flag.py": """
import app
def test_first(): app.in_thread(app.loaded)
def test_second(): assert app.loaded() == [1]
def test_third(): pass
""",
}


def test_what_another_thread_computed_binds_who_gets_it(tmp_path: Path) -> None:
    assert impacted_by_another_parse(tmp_path / "program", IN_THREADS) == {
        "test_cached.py::test_first",
        "test_cached.py::test_second",
        "test_flag.py::test_first",
        "test_flag.py::test_second",
    }


STRANGE = {
    "heavy.py": "VALUE = 1",
    "test_strange.py": """
import importlib.util, sys
def fails(*args): raise AssertionError("code of the program ran")
class Strange:
    __class__ = __dict__ = property(fails)
    __getattribute__ = __eq__ = __len__ = __iter__ = __bool__ = fails
    __hash__ = None
class Items(list): __iter__ = __len__ = __eq__ = fails
class Names(dict): keys = values = items = __iter__ = __len__ = get = fails
STRANGE, ITEMS, NAMES = Strange(), Items(), Names()
HOLDERS = [STRANGE, ITEMS, NAMES]
def test_strange():
    HOLDERS.append((STRANGE, ITEMS, NAMES))
    list.append(ITEMS, STRANGE)
    dict.update(NAMES, x=STRANGE)
def test_lazy():
    global heavy
    spec = importlib.util.find_spec("heavy")
    spec.loader = importlib.util.LazyLoader(spec.loader)
    heavy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(heavy)
    assert names_it()
    assert "VALUE" not in object.__getattribute__(heavy, "__dict__")
def names_it(): return heavy is not None and HOLDERS
""",
}


def test_to_compare_runs_no_code_of_the_program(tmp_path: Path) -> None:
    folder = repository(tmp_path / "program", STRANGE)
    done = run_pytest(folder, "-p", "no:randomly")
    assert "2 passed" in done.stdout and "is not recorded" not in done.stdout, done.stdout
