"""Classes and functions that only data names, such as a configuration file or a pickle."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kl_hooks.code.introspection import examples_of_text
from tests.pytest_kl.recorded import repository, run_pytest

from .test_left_behind import impacted

NAMED_BY_DATA = {
    "shapes.py": "import logging\nclass Square:\n    side = 2\nclass Spare: pass\n"
    "class Quiet(logging.NullHandler): pass\ndef make(): return 1\n",
    "shapes.yaml": "!!python/object:shapes.Square {}\n",
    "logging.ini": """
[loggers]
keys=root
[handlers]
keys=quiet
[formatters]
keys=
[handler_quiet]
class=shapes.Quiet
args=()
[logger_root]
handlers=quiet
""",
    "conf.json": '{"class": "shapes.Square", "call": "shapes.make"}\n',
    "app.py": """
import importlib, json
from pathlib import Path
import shapes
def load(what):
    module, name = json.loads((Path(__file__).parent / "conf.json").read_text())[what].split(".")
    return getattr(importlib.import_module(module), name)
def spare(): return shapes.Spare()
""",
    "test_app.py": """
import logging.config, pickle
from pathlib import Path
import yaml
import app, shapes
HERE = Path(__file__).parent
def test_load(): assert app.load("class")().side == 2
def test_text(): assert "object at" in repr(app.load("class")())
def test_call(): assert app.load("call")() == 1
def test_spare(): assert app.spare()
def test_yaml(): assert yaml.unsafe_load((HERE / "shapes.yaml").read_text()).side == 2
def test_logging():
    logging.config.fileConfig(HERE / "logging.ini", disable_existing_loggers=False)
def test_pickle(): assert pickle.loads(b"cshapes\\nSpare\\n.")
""",
}


@pytest.mark.skipif(sys.version_info < (3, 12), reason="symbols are recorded from 3.12 on")
def test_members_of_a_module_that_data_names_belong_to_who_got_it(tmp_path: Path) -> None:
    folder = repository(tmp_path / "program", NAMED_BY_DATA)
    assert run_pytest(folder).returncode == 0
    got = {f"test_app.py::test_{name}" for name in ("load", "text", "call", "pickle")}
    got |= {"test_app.py::test_yaml", "test_app.py::test_logging"}
    text = NAMED_BY_DATA["shapes.py"]
    for edited in (
        text.replace("side = 2", "side = 2\n    def __repr__(self): return 'Square()'"),
        text.replace("def make", "def build"),
    ):
        (folder / "shapes.py").write_text(edited)
        assert impacted(folder) == got


@pytest.mark.skipif(sys.version_info < (3, 12), reason="symbols are recorded from 3.12 on")
def test_examples_in_a_text_may_name_anything(tmp_path: Path) -> None:
    """A call that fails by its arguments executes nothing."""
    program = {
        "pytest.ini": "[pytest]\naddopts = --doctest-glob=*.rst\n",
        "README.rst": ">>> from sums import *\n>>> add(1)\nTraceback (most recent call last):\n"
        "TypeError: add() missing 1 required positional argument: 'b'\n",
        # whatever gets a module may list its names
        "GUIDE.rst": ">>> import sums\n>>> str(sums)[:7]\n'<module'\n",
        "sums.py": "__all__ = ['add']\nclass Sum:\n    unit = 1\ndef add(a, b): return a + b\n"
        "def take(a, b=1): return a - b\n",
        "test_sums.py": "import sums\ndef test_take(): assert sums.take(3) == 2\n",
    }
    folder = repository(tmp_path / "program", program)
    assert run_pytest(folder).returncode == 0
    text = program["sums.py"]
    for before, now in (
        ("add(a, b)", "add(a, b=0)"),
        ("take(a, b=1)", "take(a, b=2)"),
        ("['add']", "['take']"),
        ("unit = 1", "unit = 2"),
        ("def take(a, b=1): return a - b\n", ""),
        ("class Sum", "def TypeError(): pass\nclass Sum"),
        ("class Sum", "def required(): pass\nclass Sum"),
        ("class Sum", "def __getattr__(name): return 1\nclass Sum"),
    ):
        (folder / "sums.py").write_text(text.replace(before, now))
        assert "README.rst::README.rst" in impacted(folder), now
    (folder / "sums.py").write_text(text.replace("class Sum", "def more(): pass\nclass Sum"))
    assert impacted(folder) == {"GUIDE.rst::GUIDE.rst"}
    (folder / "sums.py").write_text(text.replace("a - b", "-b + a"))
    assert impacted(folder) == {"test_sums.py::test_take"}


@pytest.mark.parametrize(
    ("text", "gets_more"),
    [
        (">>> import sums\n>>> sums.add(1, 2)\n3\n", False),
        (">>> from sums import *\n>>> sorted(map(add, [1], [2]))\n[3]\n", False),
        (">>> import collections\n>>> collections.namedtuple('A', 'x')(1).x\n1\n", False),
        ("nothing to execute\n", True),
        (">>> import sums\n>>> dir(sums)[:0]\n[]\n", True),
        (">>> from sums import *\n>>> 'new' in globals()\nFalse\n", True),
        (">>> import sums\n>>> getattr(sums, 'n' + 'ew', 0)\n0\n", True),
        (">>> from sums import *\n>>> eval('n' + 'ew')\n0\n", True),
        (
            ">>> from importlib import import_module as load\n>>> load('su' + 'ms').add(1, 2)\n3\n",
            True,
        ),
        (">>> class A:\n...     pass\n>>> A.__subclasses__()\n[]\n", True),
        (">>> (\n", True),
        ("  >>> 1\n 2\n", True),
        ("\udcff>>> 1\n1\n", True),
    ],
)
def test_examples_get_more_than_they_name(text: str, gets_more: bool) -> None:
    examples = examples_of_text(text.encode("utf-8", "surrogateescape"))
    assert (examples is None) is gets_more
