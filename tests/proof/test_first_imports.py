"""A file that pytest imports for the first time: what it registers, tests of other files find."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.pytest_kl.recorded import repository

from .test_left_behind import commit, impacted, record, verify

APP = """
import functools
HANDLERS = {}
class Exporter: name = "none"
class Hooked:
    kinds = []
    def __init_subclass__(cls): Hooked.kinds.append(cls)
class Below(Hooked): pass
def register(function):
    HANDLERS[function.__name__] = function
    return function
@functools.singledispatch
def show(value): return "other"
def exporters(): return [kind.name for kind in Exporter.__subclasses__()]
"""
TESTS = """
import app
def test_exporters(): assert app.exporters() == []
def test_handlers(): assert app.HANDLERS == {}
def test_kinds(): assert app.Hooked.kinds == [app.Below]
"""
OTHERS = "def test_plain(): assert True\n"
LISTING = {"test_z.py::test_exporters"}
ALL = {*LISTING, "test_z.py::test_handlers", "test_z.py::test_kinds"}
PLAIN = "test_y.py::test_plain"
SUBCLASS = "import app\nclass Json(app.Exporter): name = 'json'\n"
TEST = "def test_new(): assert True\n"

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 12), reason="symbols are recorded from 3.12 on"
)


@pytest.mark.parametrize(
    ("files", "stale"),
    [
        ({"test_a.py": f"{SUBCLASS}{TEST}"}, LISTING),
        ({"test_a.py": f"import app\nJson = type('Json', (app.Exporter,), {{}})\n{TEST}"}, LISTING),
        ({"more.py": SUBCLASS, "test_a.py": f"import more\n{TEST}"}, LISTING),
        ({"test_a.py": f"import app\n@app.register\ndef own(): pass\n{TEST}"}, ALL),
        ({"test_a.py": f"import app\n@app.show.register\ndef _(x: int): pass\n{TEST}"}, ALL),
        ({"test_a.py": f"import app\nclass Own(app.Below): pass\n{TEST}"}, ALL),
        (
            {
                "more.py": "import sys\nsys.setrecursionlimit(999)\n",
                "test_a.py": f"import more\n{TEST}",
            },
            {*ALL, PLAIN},
        ),
        # by a decorator of its own, around the program's
        (
            {
                "test_a.py": "import app\ndef deco(f): return app.register(f)\n@deco\ndef own(): ..."
                f"\n{TEST}"
            },
            ALL,
        ),
        # what another name, or a call, gives for one
        ({"test_a.py": f"import app\nnote = app.register\n@note\ndef own(): pass\n{TEST}"}, ALL),
        (
            {
                "test_a.py": "import app, pytest\nslow = pytest.mark.skipif(False, reason='')\n"
                f"shop = pytest.mark.shop\n@slow\n@shop\ndef test_b(): pass\n{TEST}"
            },
            set(),
        ),
        (
            {
                "test_a.py": "import app\nclass Own:\n    @property\n    def x(self): return 1\n"
                f"    @x.setter\n    def x(self, value): pass\n{TEST}"
            },
            set(),
        ),
        ({"test_a.py": f"D = {{}}\n@D.get('x', lambda f: f)\ndef own(): pass\n{TEST}"}, set()),
        # a file that was there, and that the run did not import
        ({"test_a.py": f"import old\n{TEST}"}, ALL),
        ({"test_a.py": f"import uses_old\n{TEST}"}, ALL),
        # nobody imports it, or nobody asks for what it has
        ({"more.py": f"{SUBCLASS}@app.register\ndef own(): pass\n"}, set()),
        ({"test_a.py": f"import pytest\n@pytest.mark.shop\ndef test_b(): pass\n{TEST}"}, set()),
        ({"test_a.py": f"def deco(f): return f\n@deco\ndef helper(): pass\n{TEST}"}, set()),
        ({"test_a.py": f"class Problem(Exception): pass\n{TEST}"}, set()),
    ],
)
def test_what_a_new_test_file_registers_reaches_those_who_may_find_it(
    tmp_path: Path, files: dict[str, str], stale: set[str]
) -> None:
    own = {"old.py": "import app\n@app.register\ndef old(): pass\n", "uses_old.py": "import old\n"}
    program = {"app.py": APP, "test_z.py": TESTS, "test_y.py": OTHERS, **own}
    folder = repository(tmp_path / "program", program)
    assert record(folder) == 0
    assert verify(folder) == 0
    commit(folder, files)
    new = {name for name in impacted(folder) if name.startswith("test_a.py")}
    assert impacted(folder) - new == stale


def test_a_new_subclass_of_a_class_of_the_same_file_registers(tmp_path: Path) -> None:
    local = "import app\nclass Local(app.Below): pass\ndef test_old(): pass\n"
    kinds = "import app\ndef test_kinds(): assert len(app.Hooked.kinds) < 3\n"
    files = {"app.py": APP, "test_a.py": local, "test_z.py": kinds, "test_y.py": OTHERS}
    folder = repository(tmp_path / "program", files)
    assert record(folder) == 0
    commit(folder, {"test_a.py": f"{local}class New(Local): pass\n{TEST}"})
    assert "test_z.py::test_kinds" in impacted(folder)
    assert PLAIN not in impacted(folder)


def test_what_is_written_to_a_file_that_stays_open_is_written_by_the_test(tmp_path: Path) -> None:
    app = "LOG = open('build.log', 'w')\ndef log(text):\n    LOG.write(text)\n    LOG.flush()\n"
    tests = "from pathlib import Path\nimport app\ndef test_log(): assert Path('build.log').read_text() == ''\n"
    files = {"app.py": app, "test_z.py": tests, ".gitignore": "*.log\n__pycache__/\n"}
    folder = repository(tmp_path / "program", files)
    assert record(folder) == 0
    commit(folder, {"test_a.py": "import app\ndef test_new(): app.log('x')\n"})
    assert record(folder, "--kl-impacted") == 0
    assert verify(folder) == 1
    assert record(folder, "--kl-impacted") == 1
