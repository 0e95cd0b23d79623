"""Values that an earlier test stored: a later test gets them, and executes nothing that computed
them.

One program has all the idioms. `first` makes the value, `second` gets it. `parse` is edited
together with what `first` expects: the whole suite fails in `second`, so its result must not be
valid.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.pytest_kl.recorded import environment, git, repository, run_pytest
from tests.support import run_in_process

IDIOMS = {
    "singleton by __new__": """
class Config:
    _instance = None
    def __new__(cls):
        if cls._instance is None:
            cls._instance = super().__new__(cls)
            cls._instance.data = parse()
        return cls._instance
def get(): return Config().data
""",
    "ready flag of a class": """
class Config:
    _ready = False
    @classmethod
    def load(cls):
        if cls._ready:
            return
        cls.data = parse()
        cls._ready = True
def get():
    Config.load()
    return Config.data
""",
    "ready flag in __init__": """
class Config:
    _only = None
    def __new__(cls):
        if cls._only is None:
            cls._only = object.__new__(cls)
        return cls._only
    def __init__(self):
        if getattr(self, 'ready', False):
            return
        self.data, self.ready = parse(), True
def get(): return Config().data
""",
    "flag in a list": """
DATA, DONE = {}, []
def setup():
    if not DONE:
        DATA['x'] = parse()
        DONE.append(True)
def get():
    setup()
    return DATA['x']
""",
    "update once": """
DATA = {}
def get():
    if not DATA:
        DATA.update(x=parse())
    return DATA['x']
""",
    "lazy descriptor": """
class lazy:
    def __init__(self, function): self.function = function
    def __set_name__(self, owner, name): self.name = name
    def __get__(self, instance, owner):
        instance.__dict__[self.name] = value = self.function(instance)
        return value
class Config:
    @lazy
    def data(self): return parse()
CONFIG = Config()
def get(): return CONFIG.data
""",
    "local of a thread": """
import threading
LOCAL = threading.local()
def get():
    data = getattr(LOCAL, 'data', None)
    if data is None:
        data = LOCAL.data = parse()
    return data
""",
    "attribute of an object of the module": """
class State:
    value = None
STATE = State()
def get():
    if STATE.value is None:
        STATE.value = parse()
    return STATE.value
""",
    "another function stores": """
class State:
    value = None
STATE = State()
def load():
    STATE.value = parse()
def get():
    if STATE.value is None:
        load()
    return STATE.value
""",
    "another method stores": """
class Config:
    ready = False
    def load(self):
        self.data = parse()
        self.ready = True
    def get(self):
        if not self.ready:
            self.load()
        return self.data
CONFIG = Config()
def get(): return CONFIG.get()
""",
    "item of a call's result": """
ALL = {}
def registry(): return ALL
def get():
    all = registry()
    if 'x' not in all:
        all['x'] = parse()
    return all['x']
""",
    "setdefault": """
ALL = {}
def get():
    if not ALL.get('x'):
        ALL.setdefault('x', parse())
    return ALL['x']
""",
    "module's __getattr__": """
import sys
def __getattr__(name):
    if name != 'data':
        raise AttributeError(name)
    globals()[name] = value = parse()
    return value
def get(): return sys.modules[__name__].data
""",
    "__missing__": """
class Table(dict):
    def __missing__(self, key):
        self[key] = value = parse()
        return value
TABLE = Table()
def get(): return TABLE['x']
""",
    "setattr": """
class Config: pass
CONFIG = Config()
def get():
    if not hasattr(CONFIG, 'data'):
        setattr(CONFIG, 'data', parse())
    return CONFIG.data
""",
    "nonlocal": """
def make():
    value = None
    def get():
        nonlocal value
        if value is None:
            value = parse()
        return value
    return get
get = make()
""",
    "attribute of a function": """
def get():
    try:
        return get.value
    except AttributeError:
        get.value = parse()
        return get.value
""",
}
PARSE = "def parse(): return 1\n"
TESTS = """
import {module}
def test_first(): assert {module}.get() == 1
def test_second(): assert {module}.get() == 1
"""

pytestmark = pytest.mark.skipif(
    not hasattr(sys, "monitoring"), reason="recorded from CPython 3.12 on"
)


def impacted(folder: Path) -> set[str]:
    """The tests that must run."""
    done = run_in_process(["proof", "impacted", "--format", "json"], folder, environment({}))
    return {entry["test"] for entry in json.loads(done.stdout)["tests"]}


def test_a_test_that_gets_a_stored_value_is_stale_with_what_computed_it(tmp_path: Path) -> None:
    modules = {f"idiom{number}": name for number, name in enumerate(IDIOMS)}
    files = {f"{module}.py": PARSE + IDIOMS[name] for module, name in modules.items()}
    files |= {f"test_{module}.py": TESTS.format(module=module) for module in modules}
    folder = repository(tmp_path / "program", files)
    assert run_pytest(folder, "-p", "no:randomly").returncode == 0
    for module in modules:
        program, test = folder / f"{module}.py", folder / f"test_{module}.py"
        program.write_text(program.read_text().replace("return 1", "return 2", 1))
        test.write_text(test.read_text().replace("get() == 1", "get() == 2", 1))
    git(folder, "commit", "-qam", "parse() returns 2")
    selected = impacted(folder)
    missed = [
        name for module, name in modules.items() if f"test_{module}.py::test_second" not in selected
    ]
    assert missed == []
    run_pytest(folder, "--kl-impacted", "-p", "no:randomly")
    assert run_in_process(["verify"], folder, environment({})).returncode == 1


OBJECTS = {
    "app.py": """
def parse(): return 1
class Config:
    def __init__(self): self.data = None
    def get(self):
        if self.data is None:
            self.data = parse()
        return self.data
class Own(Config):
    def get(self):
        if self.data is None:
            self.data = only_own()
        return self.data
def only_own(): return 1
""",
    "test_app.py": """
import app, pytest
@pytest.fixture(scope="module")
def config(): return app.Config()
def test_first(config): assert config.get() == 1
def test_second(config):
    other = app.Config()
    other.data = 1
    assert other.get() == config.get() == 1
def test_own_first(): assert app.Own().get() == 1
def test_own_second():
    own = app.Own()
    own.data = 1
    assert own.get() == 1
""",
}


def test_what_died_with_its_test_counts_for_no_other_one(tmp_path: Path) -> None:
    folder = repository(tmp_path / "program", OBJECTS)
    assert run_pytest(folder, "-p", "no:randomly").returncode == 0

    def impacted_by(old: str, new: str) -> set[str]:
        (folder / "app.py").write_text(OBJECTS["app.py"].replace(old, new))
        return {name.partition("::")[2] for name in impacted(folder)}

    # the value of a fixture of wider scope is the same object in both tests
    assert impacted_by("parse(): return 1", "parse(): return 2") == {"test_first", "test_second"}
    assert impacted_by("only_own(): return 1", "only_own(): return 2") == {"test_own_first"}


REPLACED = {
    "app.py": """
READ = None
def get():
    global READ
    if READ is None:
        READ = make()
    return READ()
def make(): return list
def extra(): return [2]
""",
    "test_app.py": """
import app, pytest
@pytest.mark.parametrize("number", range(20))
def test_replaced(number, monkeypatch):
    monkeypatch.setattr(app, "READ", lambda: app.extra())
    assert app.get() == [2]
def test_stores(): assert app.get() == []
def test_gets(): assert app.READ() == []
""",
}


def test_a_call_that_stores_nothing_computes_for_nobody(tmp_path: Path) -> None:
    """However often that was, the first one that does counts."""
    folder = repository(tmp_path / "program", REPLACED)
    assert run_pytest(folder, "-p", "no:randomly").returncode == 0
    (folder / "app.py").write_text(REPLACED["app.py"].replace("return [2]", "return list([2])"))
    assert impacted(folder) == {f"test_app.py::test_replaced[{number}]" for number in range(20)}
    (folder / "app.py").write_text(REPLACED["app.py"].replace("return list", "return tuple"))
    assert {"test_app.py::test_stores", "test_app.py::test_gets"} <= impacted(folder)
