"""A new test that leaves something behind: results of tests that use it count no more, until both
ran in one run.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from kl_hooks.proof.facts import STALE, VALID, Verdict
from kl_hooks.proof.left_behind import _retract_partners
from tests.pytest_kl.recorded import environment, git, repository, run_pytest
from tests.support import run_in_process

from .test_content_proof import other_run
from .test_gate_union import made

APP = """
import os
LIMIT = 3
CACHE = {}
class Settings: debug = False
def limit(): return LIMIT
def cached(): return CACHE.get("a")
def debug(): return Settings.debug
def mode(): return os.environ.get("APP_MODE_HERE")
def plain(): return 1
"""
USERS = """
import os
import app
def test_global(): assert app.limit() == 3
def test_dictionary(): assert app.cached() is None
def test_class(): assert not app.debug()
def test_function(): assert app.plain() == 1
"""
OTHERS = """
import app
def test_variable(): assert app.mode() is None
def test_nothing(): assert True
"""
LEAVING = """
import os, pytest
import app
def test_first(): app.LIMIT = 4
def test_second(): app.CACHE["a"] = 4
def test_third(): app.Settings.debug = True
def test_fourth(): app.plain = lambda: 2
def test_fifth(): os.environ["APP_MODE_HERE"] = "x"
"""
PUTTING_BACK = """
import app
def test_first(monkeypatch): monkeypatch.setattr(app, "LIMIT", 4)
"""
FILES = {"app.py": APP, "test_m.py": USERS, "test_n.py": OTHERS}

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 12), reason="symbols are recorded from 3.12 on"
)


def verify(folder: Path) -> int:
    return run_in_process(["verify"], folder, environment({})).returncode


def impacted(folder: Path) -> set[str]:
    done = run_in_process(["proof", "impacted", "--format", "json"], folder, environment({}))
    return {entry["test"] for entry in json.loads(done.stdout)["tests"]}


def commit(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Edit")


def record(folder: Path, *args: str) -> int:
    return run_pytest(folder, *args, "-p", "no:randomly").returncode


@pytest.mark.sweep
def test_results_count_no_more_that_a_new_test_may_spoil(tmp_path: Path) -> None:
    folder = repository(tmp_path / "program", FILES)
    assert record(folder) == 0
    commit(folder, {"test_a.py": LEAVING})
    assert record(folder, "--kl-impacted") == 0  # the new tests alone
    assert verify(folder) == 1
    spoiled = {f"test_m.py::test_{way}" for way in ("global", "dictionary", "class", "function")}
    new = {
        f"test_a.py::test_{number}" for number in ("first", "second", "third", "fourth", "fifth")
    }
    assert impacted(folder) == {*spoiled, *new, "test_n.py::test_variable"}
    assert record(folder, "--kl-impacted") == 1
    assert verify(folder) == 1
    # what puts back what it changes spoils nothing
    commit(folder, {"test_a.py": PUTTING_BACK})
    assert record(folder, "--kl-impacted") == 0
    assert verify(folder) == 0


@pytest.mark.sweep
def test_all_results_rest_on_the_working_folder(tmp_path: Path) -> None:
    folder = repository(tmp_path / "program", FILES)
    assert record(folder) == 0
    changing = "import os\ndef test_moves(tmp_path): os.chdir(tmp_path)\n"
    commit(folder, {"test_a.py": changing})
    assert record(folder, "--kl-impacted") == 0
    assert verify(folder) == 1
    assert len(impacted(folder)) == 7
    # they pass there, too
    assert record(folder, "--kl-impacted") == 0
    assert verify(folder) == 0
    assert impacted(folder) == set()


def test_who_goes_back_to_the_working_folder_leaves_nothing_changed(tmp_path: Path) -> None:
    moving = "def test_moves(monkeypatch, tmp_path): monkeypatch.chdir(tmp_path)\n"
    folder = repository(tmp_path / "program", {"test_moves.py": moving})
    assert record(folder) == 0
    commit(folder, {"test_new.py": "def test_new(): ...\n"})
    assert record(folder, "test_new.py") == 0
    assert verify(folder) == 0


@pytest.mark.sweep
def test_parts_of_one_suite_spoil_nothing_of_each_other(tmp_path: Path) -> None:
    folder = repository(tmp_path / "program", {**FILES, "test_a.py": LEAVING})
    for part in ("test_m.py", "test_a.py", "test_n.py"):
        assert record(folder, part) == 0
    assert verify(folder) == 0
    commit(folder, {"app.py": f"{APP}def later(): return 1\n"})
    assert verify(folder) == 0
    assert impacted(folder) == set()


@pytest.mark.sweep
def test_a_value_that_other_code_computed_may_be_spoiled(tmp_path: Path) -> None:
    """The test that gets the value needs no file that has what was left changed."""
    registry = "import functools\nMAKERS = []\n@functools.cache\ndef value(): return MAKERS[0]()\n"
    app = "import registry\nLIMIT = 3\ndef limit(): return LIMIT\nregistry.MAKERS.append(limit)\n"
    computing = "import app, registry\ndef test_computes(): registry.value()\n"
    getting = "import registry\ndef test_gets(): assert registry.value() == 3\n"
    folder = repository(
        tmp_path / "program",
        {"registry.py": registry, "app.py": app, "test_k.py": computing, "test_m.py": getting},
    )
    assert record(folder) == 0
    commit(folder, {"test_a.py": "import app\ndef test_first(): app.LIMIT = 4\n"})
    assert record(folder, "--kl-impacted") == 0
    assert verify(folder) == 1
    assert impacted(folder) == {
        "test_a.py::test_first",
        "test_k.py::test_computes",
        "test_m.py::test_gets",
    }
    assert record(folder, "--kl-impacted") == 1
    assert verify(folder) == 1


ORDERED = {
    "app.py": """
import functools, logging, random, sqlite3
NAMES = {}
LIMIT = 3
connection = sqlite3.connect(":memory:")
connection.execute("CREATE TABLE users (name TEXT)")
def is_known(name): return name in NAMES
@functools.cache
def limit(): return LIMIT
def roll(): return random.randint(1, 1_000_000)
def is_loud(): return logging.getLogger("shop").isEnabledFor(logging.INFO)
def users(): return [row[0] for row in connection.execute("SELECT name FROM users")]
""",
    "conftest.py": """
import os, pytest
@pytest.fixture(scope="session", autouse=True)
def clean():
    yield
    if os.path.exists("state.out"): os.unlink("state.out")
@pytest.fixture(scope="session")
def basket(): return []
""",
    "test_a.py": """
import logging, random
from pathlib import Path
from app import NAMES as TABLE
import app
def test_name(): TABLE["a"] = 1
def test_limit(monkeypatch):
    monkeypatch.setattr(app, "LIMIT", 5)
    assert app.limit() == 5
def test_seed(): random.seed(7)
def test_level(): logging.getLogger("shop").setLevel(logging.INFO)
def test_user(): app.connection.execute("INSERT INTO users VALUES ('ada')")
def test_basket(basket): basket.append("apple")
def test_file(): Path("state.out").write_text("x")
def test_extra(): app.extra = 1
""",
    "test_z.py": """
import random
from pathlib import Path
import app
def test_name(): assert app.is_known("a")
def test_limit(): assert app.limit() == 5
def test_seed(): assert app.roll() == random.Random(7).randint(1, 1_000_000)
def test_level(): assert app.is_loud()
def test_user(): assert app.users() == ["ada"]
def test_basket(basket): assert basket == ["apple"]
def test_file(): assert Path("state.out").read_text() == "x"
def test_extra(): assert app.extra == 1
def test_plain(): assert True
""",
    ".gitignore": "*.out\n.kl/\n__pycache__/\n.pytest_cache/\n",
}
TAKING_AWAY = {
    "name": "from app import NAMES as names\ndef test_m(): names.clear()\n",
    "limit": "import app\ndef test_m(): app.limit.cache_clear()\n",
    "seed": "import app\ndef test_m(): assert app.roll()\n",
    "level": "import logging\ndef test_m(): logging.getLogger('shop').setLevel(0)\n",
    "user": "import app\ndef test_m(): app.connection.execute('DELETE FROM users')\n",
    "basket": "def test_m(basket): basket.clear()\n",
    "file": "from pathlib import Path\ndef test_m(): Path('state.out').unlink(missing_ok=True)\n",
    "extra": "import app\ndef test_m():\n    if hasattr(app, 'extra'): del app.extra\n",
}
USING = {
    "name": "import app\ndef test_m(): assert not app.is_known('a')\n",
    "level": "import app\ndef test_m(): assert not app.is_loud()\n",
    "user": "import app\ndef test_m(): assert app.users() == []\n",
    "basket": "def test_m(basket): assert basket == []\n",
    "file": "import os\ndef test_m(): assert not os.path.exists('state.out')\n",
    "extra": "import app\ndef test_m(): assert not hasattr(app, 'extra')\n",
}
HARMLESS = """
import app
def test_m(): assert app.limit() == 3 and app.LIMIT == 3
"""


@pytest.fixture(scope="module")
def ordered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite in which each test of `test_z.py` needs what one of `test_a.py` leaves, after a
    run.
    """
    folder = repository(tmp_path_factory.mktemp("ordered") / "program", ORDERED)
    assert record(folder) == 0
    assert verify(folder) == 0
    return folder


def judged(ordered: Path, tmp_path: Path, text: str) -> tuple[Path, set[str]]:
    """The suite with a new test, which passes where it runs alone; what must run after that."""
    folder = tmp_path / "program"
    shutil.copytree(ordered, folder, symlinks=True)
    commit(folder, {"test_m.py": text})
    assert record(folder, "--kl-impacted") == 0
    return folder, impacted(folder)


@pytest.mark.parametrize("way", TAKING_AWAY)
@pytest.mark.share(2)
def test_what_a_new_test_takes_away_must_run_with_it(
    ordered: Path, tmp_path: Path, way: str
) -> None:
    folder, tests = judged(ordered, tmp_path, TAKING_AWAY[way])
    assert f"test_z.py::test_{way}" in tests
    assert "test_m.py::test_m" in tests
    assert "test_z.py::test_plain" not in tests
    assert verify(folder) == 1


@pytest.mark.parametrize("way", USING)
@pytest.mark.share(2)
def test_a_new_test_must_run_with_those_that_leave_what_it_uses(
    ordered: Path, tmp_path: Path, way: str
) -> None:
    folder, tests = judged(ordered, tmp_path, USING[way])
    assert {"test_m.py::test_m", f"test_a.py::test_{way}"} <= tests
    assert "test_z.py::test_plain" not in tests
    assert verify(folder) == 1
    assert record(folder, "--kl-impacted") == 1
    assert verify(folder) == 1


def test_a_new_test_that_calls_a_cached_function_spoils_nothing(
    ordered: Path, tmp_path: Path
) -> None:
    folder, tests = judged(ordered, tmp_path, HARMLESS)
    assert tests == set()
    assert verify(folder) == 0


NAMED = {
    "app.py": """
names = {}
IS_FULL = False
def add(name): names[name] = 1
def is_known(name): return name in names
def remove(name): names.pop(name, None)
def is_full(): return IS_FULL
def clear():
    if is_full(): names.clear()
def is_old(): return False
class Box:
    def __init__(self, clears): self.clears = clears
    def __enter__(self):
        if self.clears: names.clear()
    def __exit__(self, *problem): pass
def box():
    with Box(is_old()): return True
class Kind:
    word = "names"
    def __init__(self): pass
class Keeper:
    is_tidy = False
def sweep():
    if Keeper.is_tidy: names.clear()
def wipe(flag=False):
    if flag: names.clear()
def polish(thing, kind):
    if isinstance(thing, kind): names.clear()
def title(text):
    names = [text]
    return names[0].title()
""",
    "style.py": """
class Plain: pass
class Tidy: pass
class Style(Plain):
    mark = ""
    @staticmethod
    def trimmed(text): return text
IS_TIDY = False
""",
    "test_a.py": "import app\ndef test_adds(): app.add('ada')\n",
    "test_m.py": """
import app, style
from style import Style
def test_m():
    app.remove('bob')
    app.clear()
    app.sweep()
    app.wipe()
    app.wipe(style.IS_TIDY)
    app.polish(Style(), style.Tidy)
    assert app.Kind() and 'Ada' in Style.trimmed(app.title('ada')) + Style.mark
""",
    "test_n.py": "import app\ndef test_box(): assert app.box()\n",
    "test_z.py": "import app\ndef test_knows(): assert app.is_known('ada')\n",
}
FAR = """
def drop(name): take(name)
def take(name): remove(name)
"""
CHANGES = {
    "argument": ("test_m.py", "app.remove('bob')", "app.remove('ada')"),
    "answer": ("app.py", "return IS_FULL", "return not IS_FULL"),
    "protocol": ("app.py", "def is_old(): return False", "def is_old(): return True"),
    "attribute": ("app.py", "is_tidy = False", "is_tidy = True"),
    "default": ("app.py", "flag=False", "flag=True"),
    "base": ("style.py", "Style(Plain)", "Style(Tidy)"),
    "value": ("style.py", "text\nIS_TIDY = False", "text * 1\nIS_TIDY = True"),
}
QUIET_CHANGES = {
    "function": ("app.py", "names = [text]", "names = [text, text]"),
    "header": ("style.py", "    @staticmethod\n", ""),
    "attribute": ("style.py", 'mark = ""', 'mark = "!"'),
}


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite after a run: one test needs what another one leaves, the one between them not."""
    folder = repository(tmp_path_factory.mktemp("named") / "program", NAMED)
    assert record(folder) == 0
    return folder


def changed(named: Path, tmp_path: Path, name: str, before: str, now: str) -> Path:
    """The same with an edit, after the tests that it makes run."""
    folder = tmp_path / "program"
    shutil.copytree(named, folder, symlinks=True)
    assert NAMED[name].count(before) == 1
    commit(folder, {name: NAMED[name].replace(before, now)})
    assert record(folder, "--kl-impacted") == 0
    return folder


@pytest.mark.parametrize("what", QUIET_CHANGES)
def test_what_changed_resets_nothing_that_neither_it_nor_its_callers_name(
    named: Path, tmp_path: Path, what: str
) -> None:
    """The names of its variables are not those of the module, and methods name nothing of the body
    of their class. What its test found changed must run with it: which of its functions get the
    other answer is not recorded.
    """
    folder = changed(named, tmp_path, *QUIET_CHANGES[what])
    assert impacted(folder) == {"test_a.py::test_adds", "test_m.py::test_m"}
    assert record(folder, "--kl-impacted") == 0
    assert verify(folder) == 0


def test_a_class_whose_objects_are_copied_is_no_state(tmp_path: Path) -> None:
    """`copyreg` adds `__slotnames__` to it."""
    app = "import copy\nclass Box: pass\ndef copied(): return copy.copy(Box())\n"
    app += "def made(): return Box()\ndef named(): return Box.__name__\n"
    files = {"app.py": app}
    for name, function in (("a", "copied"), ("m", "named"), ("z", "made")):
        files[f"test_{name}.py"] = f"import app\ndef test_it(): assert app.{function}()\n"
    folder = repository(tmp_path / "program", files)
    assert record(folder) == 0
    commit(folder, {"app.py": app.replace("Box.__name__", "str(Box)")})
    assert impacted(folder) == {"test_m.py::test_it"}
    assert record(folder, "--kl-impacted") == 0
    assert verify(folder) == 0


def test_what_a_far_function_resets_shows_once_it_ran_with_those_who_leave_it(
    tmp_path: Path,
) -> None:
    test = "import app\ndef test_m(): assert app.drop('bob') is None\n"
    files = {**NAMED, "app.py": NAMED["app.py"] + FAR, "test_m.py": test}
    folder = repository(tmp_path / "program", files)
    assert record(folder) == 0
    commit(folder, {"test_m.py": test.replace("bob", "ada")})
    assert record(folder, "--kl-impacted") == 0
    assert "test_z.py::test_knows" not in impacted(folder)
    assert verify(folder) == 1
    assert record(folder, "--kl-impacted") == 0
    assert "test_z.py::test_knows" in impacted(folder)
    assert verify(folder) == 1


@pytest.mark.parametrize("way", CHANGES)
@pytest.mark.share(2)
def test_a_function_may_reset_what_it_did_not_before(named: Path, tmp_path: Path, way: str) -> None:
    """By another argument, answer, attribute, default or value, or where `with` calls it."""
    folder = changed(named, tmp_path, *CHANGES[way])
    assert "test_z.py::test_knows" in impacted(folder)
    assert verify(folder) == 1
    assert record(folder, "--kl-impacted") == 1
    assert verify(folder) == 1


def test_a_fixture_of_a_module_leaves_something_for_its_tests(
    ordered: Path, tmp_path: Path
) -> None:
    fixture = (
        "import app, pytest\n@pytest.fixture(scope='module')\ndef more(): app.NAMES['b'] = 1\n"
    )
    _, tests = judged(ordered, tmp_path, f"{fixture}def test_m(more): assert app.is_known('b')\n")
    assert {"test_m.py::test_m", "test_z.py::test_name"} <= tests


def test_a_fixture_of_a_module_that_restores_what_it_changes_spoils_nothing(
    ordered: Path, tmp_path: Path
) -> None:
    text = """
import os, pytest
@pytest.fixture(scope="module")
def more():
    os.environ["APP_MODE_HERE"] = "x"
    yield
    del os.environ["APP_MODE_HERE"]
def test_m(more): assert os.environ["APP_MODE_HERE"] == "x"
"""
    _, tests = judged(ordered, tmp_path, text)
    assert tests == set()


def test_tests_that_set_state_anew_depend_on_no_earlier_one(tmp_path: Path) -> None:
    """Each of them seeds, clears the cache, and writes its file, before it uses them."""
    conftest = """
import pytest, random, app
@pytest.fixture(autouse=True)
def fresh():
    random.seed(1)
    app.limit.cache_clear()
"""
    test = """
import random
from pathlib import Path
import app
def test_{name}():
    assert app.limit() == 3 and random.random() < 1
    Path("state.out").write_text("{name}")
    assert Path("state.out").read_text() == "{name}"
    Path("state.out").unlink()
"""
    app = "import functools\nLIMIT = 3\n@functools.cache\ndef limit(): return LIMIT\n"
    files = {"app.py": app, "conftest.py": conftest, "test_a.py": test.format(name="a")}
    files |= {"test_b.py": test.format(name="b"), ".gitignore": ORDERED[".gitignore"]}
    folder = repository(tmp_path / "program", files)
    assert record(folder) == 0
    commit(folder, {"test_c.py": test.format(name="c")})
    assert record(folder, "--kl-impacted") == 0
    assert impacted(folder) == set()
    assert verify(folder) == 0


def test_a_process_rests_on_the_documents_that_it_opens(tmp_path: Path) -> None:
    """By whatever name: it is seen where the system reports opened files."""
    tool = "import sys\nprint(open('READ' + 'ME.' + 'm' + 'd').read())\n"
    tests = """
import subprocess, sys
def test_reads(): subprocess.run([sys.executable, "tool.py"], check=True)
def test_other(): subprocess.run([sys.executable, "-c", "1"], check=True)
"""
    files = {"README.md": "1\n", "NEWS.md": "1\n", "tool.py": tool, "test_a.py": tests}
    folder = repository(tmp_path / "program", files)
    assert record(folder) == 0
    commit(folder, {"NEWS.md": "2\n"})
    assert verify(folder) == 0
    commit(folder, {"README.md": "2\n"})
    assert impacted(folder) == ({"test_a.py::test_reads"} if sys.platform == "linux" else set())


def test_a_new_text_that_pytest_collects_must_run(tmp_path: Path) -> None:
    files = {
        "pytest.ini": "[pytest]\naddopts = --doctest-glob=*.rst\n",
        "usage.rst": ">>> 1 + 1\n2\n",
        "test_a.py": "def test_a(): pass\n",
    }
    folder = repository(tmp_path / "program", files)
    assert record(folder) == 0
    # nothing to run in it, or not collected
    commit(folder, {"other.rst": "Text\n", "NEWS.md": ">>> 1 + 1\n3\n"})
    assert verify(folder) == 0
    commit(folder, {"more.rst": ">>> 1 + 1\n3\n"})
    assert verify(folder) == 1
    assert record(folder, "--kl-impacted") == 1
    commit(folder, {"more.rst": ">>> 1 + 1\n2\n"})
    assert record(folder, "--kl-impacted") == 0
    assert verify(folder) == 0


def test_the_value_of_a_fixture_is_compared_before_it_is_torn_down(tmp_path: Path) -> None:
    conftest = "import pytest\n@pytest.fixture(scope='session')\ndef basket(): return ['apple']\n"
    using = "def test_z(basket): assert basket == ['apple']\n"
    folder = repository(tmp_path / "program", {"conftest.py": conftest, "test_z.py": using})
    assert record(folder) == 0
    commit(folder, {"test_a.py": "def test_a(basket): basket.append('pear')\n"})
    assert record(folder, "--kl-impacted") == 0
    assert impacted(folder) == {"test_a.py::test_a", "test_z.py::test_z"}
    assert verify(folder) == 1


def test_partners_of_partners_run_again_too() -> None:
    """Whichever is looked at first: b has a valid result until a, which must run with it, has
    none.
    """
    tests = [f"test_m.py::test_{letter}" for letter in "abcd"]
    a, b, c, d = tests
    [run] = other_run(made("a1", *tests), dict.fromkeys(tests, Verdict(VALID))).values()
    for partners in ({b: {c: "with b"}, a: {b: "with a"}}, {a: {b: "with a"}, b: {c: "with b"}}):
        stale = {run.original.id: {a: Verdict(STALE, "spoiled")}}
        _retract_partners([run], stale, partners)
        assert {test: verdict.reason for test, verdict in stale[run.original.id].items()} == {
            a: "spoiled",
            b: "with a",
            c: "with b",
        }
        assert d not in stale[run.original.id]
