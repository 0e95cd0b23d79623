"""Executed symbols: who ran what, by whatever way, and nothing else about a run changes."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from kl_hooks.evidence.executed import Executed, read_executed
from kl_hooks.evidence.reads import SHARED, Read
from kl_hooks.evidence.reads import STORED as STORED_STATE
from kl_hooks.proof.execution import _without_unnamed

from .recorded import HERE, environment, only, repository, run_pytest

RECORDED = pytest.mark.skipif(
    not hasattr(sys, "monitoring"), reason="recorded from CPython 3.12 on"
)
APP = {
    "src/app/__init__.py": "from app.core import add\n",
    "src/app/core.py": (
        """
import asyncio, functools
def helper(x):
    return [y for y in (lambda z: z)(range(x))]
def registered(f):
    return f
class Base:
    x = helper(2)
    def m(self):
        return self.n()
    def n(self):
        return 1
    @property
    def p(self):
        class Inner:
            def q(self):
                return 1
        return Inner().q()
@registered
def add(a, b):
    return a + b
def gen():
    yield helper(1)
    yield 2
async def co():
    await asyncio.sleep(0)
    return helper(2)
def lazy():
    from app import late
    return late.f()
def again():
    import app.late
    return helper(1)
"""
    ),
    "src/app/late.py": "from app.core import helper\nV = helper(5)\ndef f():\n    return V\n",
    "src/app/broken.py": "from app.core import helper\nhelper(1)\n1 / 0\n",
    "tests/conftest.py": (
        """
import pytest
from app.core import Base, gen, helper
def choose(items):
    return items
def pytest_collection_modifyitems(items):
    choose(items)
@pytest.fixture(scope="session")
def wide():
    made = gen()
    next(made)
    return made
@pytest.fixture(scope="module")
def wider(request):
    return request.getfixturevalue("wide")
@pytest.fixture
def narrow():
    yield Base()
    helper(1)
"""
    ),
    "tests/test_app.py": (
        """
import asyncio, os, pathlib, subprocess, sys, threading, unittest
import pytest
import app
from app import core
def test_add():
    assert app.add(1, 2) == 3
@pytest.mark.parametrize("n", [1, 2])
def test_wide(wide, n):
    assert wide
def test_wider(wider):
    assert next(wider) == 2
def test_narrow(narrow):
    assert narrow.m() == 1 and narrow.p
def test_async():
    assert asyncio.run(core.co()) == [0, 1]
def test_thread():
    thread = threading.Thread(target=core.helper, args=(2,))
    thread.start()
    thread.join()
def test_lazy():
    assert core.lazy() == [0, 1, 2, 3, 4]
def test_again():
    sys.modules.pop("app.late", None)
    assert core.again() == [0]
def test_broken():
    with pytest.raises(ZeroDivisionError):
        import app.broken
    assert core.helper(0) == []
def test_process():
    subprocess.run([sys.executable, "-c", ""], check=True)
def test_fork():
    if not os.fork():
        os._exit(0)
    os.wait()
def test_data():
    assert pathlib.Path(__file__).with_name("data.txt").read_text()
def test_fails():
    assert core.add(1, 1) == 3
@pytest.mark.skip
def test_skipped():
    pass
class TestOld(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        core.registered(cls)
    def test_one(self):
        assert core.helper(0) == []
"""
    ),
    "tests/data.txt": "hi\n",
    "pytest.ini": "[pytest]\npythonpath = src\n",
}
OWN = "function:tests.test_app."
SETS: Mapping[str, Mapping[str, str]] = {
    "test_add": {"function:app.core.add": "call"},
    "test_wide[1]": {
        "function:app.core.gen": "setup",
        "function:app.core.helper": "setup",
        "function:tests.conftest.wide": "setup",
    },
    "test_wide[2]": {
        "function:app.core.gen": "setup",
        "function:app.core.helper": "setup",
        "function:tests.conftest.wide": "setup",
    },
    "test_wider": {
        "function:app.core.gen": "setup",
        "function:app.core.helper": "setup",
        "function:tests.conftest.wide": "setup",
        "function:tests.conftest.wider": "setup",
    },
    "test_narrow": {
        "function:tests.conftest.narrow": "setup",
        "method:app.core.Base.m": "call",
        "method:app.core.Base.n": "call",
        "property:app.core.Base.p": "call",
        "type:app.core.Base.p.<locals>.Inner": "call",
        "function:app.core.helper": "teardown",
        "method:app.core.Base.p.<locals>.Inner.q": "call",
    },
    "test_async": {"function:app.core.co": "call", "function:app.core.helper": "call"},
    "test_thread": {"function:app.core.helper": "call"},
    "test_lazy": {"function:app.core.lazy": "call", "function:app.late.f": "call"},
    "test_again": {"function:app.core.again": "call", "function:app.core.helper": "call"},
    "test_broken": {"function:app.core.helper": "call"},
    "test_process": {},
    "test_fork": {},
    "test_data": {},
    "test_fails": {"function:app.core.add": "call"},
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return repository(tmp_path_factory.mktemp("symbols") / "shop", APP)


def executed(folder: Path) -> Executed:
    """What the only run in a spool left, whose receipt names it."""
    facts = only(folder).end["environment"]["executed"]
    (path,) = (folder / ".git" / "kl" / "spool").glob("*.executed")
    found = read_executed(path, facts["digest"])
    assert (facts["symbols"], facts["tests"]) == (len(found.symbols), len(found.tests))
    return found


def clear(folder: Path) -> None:
    for path in (folder / ".git" / "kl" / "spool").glob("*"):
        path.unlink()


def sets_of(found: Executed) -> dict[str, dict[str, str]]:
    """Test → symbol → phase, by short names, without the test's own function."""
    sets = {}
    for nodeid in found.tests:
        name = nodeid.partition("::")[2]
        some = {found.symbols[at].symbol: phase for at, phase in found.tests[nodeid].items()}
        sets[name] = {
            key: phase for key, phase in some.items() if key != OWN + name.partition("[")[0]
        }
    return sets


@RECORDED
@pytest.mark.parametrize("how", [(), ("-n", "2")], ids=["here", "xdist"])
def test_every_way_to_run_a_function_is_noted(shop: Path, how: tuple[str, ...]) -> None:
    clear(shop)
    done = run_pytest(shop, "--kl-symbols=on", *how)
    assert "1 failed, 14 passed, 1 skipped" in done.stdout, done.stdout + done.stderr
    found = executed(shop)
    sets = sets_of(found)
    assert {name: some for name, some in sets.items() if name in SETS} == SETS
    assert sets["test_skipped"] == {}
    assert sets["TestOld::test_one"] == {
        "method:tests.test_app.TestOld.setUpClass": "setup",
        "function:app.core.registered": "setup",
        "method:tests.test_app.TestOld.test_one": "call",
        "function:app.core.helper": "call",
    }
    assert found.incomplete == {
        "tests/test_app.py::test_process": (
            f"it started another process ({Path(sys.executable).name})"
        ),
        "tests/test_app.py::test_fork": "it started another process",
    }
    modules = {
        path: {found.symbols[at].symbol for at in some} for path, some in found.modules.items()
    }
    assert modules == {
        "src/app/__init__.py": {"namespace:app"},
        "src/app/core.py": {
            "namespace:app.core",
            "type:app.core.Base",
            "function:app.core.helper",
            "function:app.core.registered",
            "function:app.core.add",
        },
        "src/app/late.py": {"namespace:app.late", "function:app.core.helper"},
        "src/app/broken.py": {"namespace:app.broken", "function:app.core.helper"},
        "tests/conftest.py": {
            "namespace:tests.conftest",
            "function:tests.conftest.choose",
            "function:tests.conftest.pytest_collection_modifyitems",
        },
        "tests/test_app.py": {
            "namespace:tests.test_app",
            "type:tests.test_app.TestOld",
        },
    }
    assert found.imports["src/app/core.py"] == ("src/app/__init__.py", "src/app/late.py")
    assert found.imports["src/app/late.py"] == ("src/app/__init__.py", "src/app/core.py")
    # another worker of xdist may read its configuration during a test of this one (ADR-0100)
    assert [path for path in found.files if path != "pytest.ini"] == ["tests/data.txt"]
    assert found.unknown == {}
    places = {found.symbols[at].symbol for at in found.dependencies("tests/test_app.py::test_add")}
    assert places >= {
        "namespace:app.late",
        "function:app.core.helper",
        "function:tests.conftest.choose",
    }


STORED = {
    "lib.py": (
        """
import functools
@functools.lru_cache
def platform(): return libc() + 1
def libc(): return 1
def tags(): return [platform()]
def clears(): return platform.cache_clear
_config = None
def config():
    global _config
    if _config is None:
        _config = load()
    return _config
def load(): return {"a": 1}
def direct(): return _config["a"]
CACHE = {}
def of_key(key):
    if key not in CACHE:
        CACHE[key] = large(key) if key > 1 else small(key)
    return CACHE[key]
def small(key): return key
def large(key): return key
class Command:
    option = broken = None
    def help(self):
        if self.option is None:
            self.option = make_option()
        return self.option
    def late(self, fails):
        if self.broken is None:
            self.broken = may_fail(fails)
        return self.broken
    @functools.cached_property
    def table(self): return make_table()
def make_option(): return 3
def make_table(): return 5
def may_fail(fails): return 1 // (1 - fails)
def other(): return 1
"""
    ),
    "test_lib.py": (
        """
import pytest
from lib import *
import lib
COMMAND = Command()
def test_all():
    assert libc() == 1
    with pytest.raises(ZeroDivisionError):
        COMMAND.late(1)
    assert other() and tags() and config() and of_key(1) and of_key(2) and COMMAND.help() and COMMAND.late(0)
    assert COMMAND.table
def test_tags(): assert tags()
def test_clears(): assert clears()
def test_config(): assert config()
def test_direct(): assert direct()
def test_key(): assert of_key(1)
def test_help(): assert COMMAND.help()
def test_late(): assert COMMAND.late(0)
def test_table(): assert COMMAND.table
"""
    ),
}


@RECORDED
def test_a_stored_value_rests_on_what_computed_it(tmp_path: Path) -> None:
    """In an earlier test: the one that gets it executes none of that."""
    folder = repository(tmp_path / "r", STORED)
    done = run_pytest(folder, "--kl-symbols=on", "-p", "no:randomly")
    assert "9 passed" in done.stdout, done.stdout
    found = executed(folder)
    more = {
        nodeid.partition("::")[2]: {
            found.symbols[at].symbol.partition(":")[2].removeprefix("lib.")
            for at in {*found.needed(nodeid)} - {*found.tests.indexes(nodeid)}
        }
        for nodeid in found.tests
    }
    assert more == {
        "test_all": set(),
        "test_tags": {"platform", "libc"},
        "test_clears": set(),
        "test_config": {"load"},
        "test_direct": {"config", "load"},
        "test_key": {"small", "large"},
        "test_help": {"make_option"},
        "test_late": {"may_fail"},
        "test_table": {"Command.table", "make_table"},
    }
    assert {found.symbols[at].symbol for at in found.dependencies("test_lib.py::test_tags")} >= {
        "function:lib.libc"
    }


AUDITED = """
import sys
from collections import Counter
COUNTED = Counter()
sys.addaudithook(lambda event, args: COUNTED.update((event,)))
"""


@RECORDED
def test_the_start_of_a_function_raises_no_audit_event(tmp_path: Path) -> None:
    # each event calls the hooks of the process; `id()` raises one
    names = [f"f{number}" for number in range(100)]
    calls = "".join(f"    many.{name}()\n" for name in names)
    files = {
        "conftest.py": AUDITED,
        "many.py": "".join(f"def {name}():\n    return 1\n" for name in names),
        "test_many.py": (
            "import conftest, many, pytest\n@pytest.mark.parametrize('n', range(10))\ndef"
            f" test_all(n):\n{calls}    before = conftest.COUNTED.setdefault('before',"
            " conftest.COUNTED['builtins.id'])\n    assert conftest.COUNTED['builtins.id'] -"
            " before < 500\n"
        ),
    }
    folder = repository(tmp_path / "r", files)
    done = run_pytest(folder, "--kl-symbols=on")
    assert done.returncode == 0, done.stdout
    # its own function among them
    assert len(sets_of(executed(folder))["test_all[9]"]) == 101


@RECORDED
def test_an_edit_while_the_tests_run_makes_the_file_unknown(tmp_path: Path) -> None:
    files = {
        "shop.py": "def f():\n    return 1\n",
        "rest.py": "def g():\n    return 1\n",
        "test_shop.py": (
            "import pathlib, rest, shop\ndef test_f():\n    rest.g()\n    assert shop.f()\n"
            "    with open(shop.__file__, 'a') as file:\n        file.write('# more\\n')\n"
        ),
    }
    folder = repository(tmp_path / "r", files)
    assert run_pytest(folder, "--kl-symbols=on").returncode == 0
    found = executed(folder)
    assert found.unknown == {"shop.py": "it was changed while the tests ran"}
    assert sets_of(found) == {
        "test_f": {"function:rest.g": "call"} | {"function:test_shop.test_f": "call"}
    }


@RECORDED
def test_a_plugin_of_the_repository_that_was_loaded_before_counts_whole(tmp_path: Path) -> None:
    files = {
        "early.py": "def used():\n    return 1\ndef called():\n    return 2\nX = called()\n",
        "test_it.py": "import early\ndef test_it():\n    assert early.used()\n",
    }
    folder = repository(tmp_path / "r", files)
    assert (
        run_pytest(
            folder,
            "--kl-symbols=on",
            "-p",
            "early",
            env={"PYTHONPATH": f"{folder}{os.pathsep}{HERE}"},
        ).returncode
        == 0
    )
    found = executed(folder)
    assert sets_of(found)["test_it"].keys() >= {"function:early.used"}
    assert {found.symbols[at].symbol for at in found.modules["early.py"]} == {
        "namespace:early",
        "function:early.used",
        "function:early.called",
    }


TAKEN = """
import sys
for tool in (3, 4):
    sys.monitoring.use_tool_id(tool, "somebody")
"""
OLDER = "import sys\nif hasattr(sys, 'monitoring'):\n    del sys.monitoring\n"
"""An interpreter before CPython 3.12, as far as the plugin can see."""
OURS = (
    "import pytest_kl.tracer as t\ndef broken(*args):\n    raise"
    " RuntimeError('ours')\nt.Tracer.begin = broken\n"
)
NEEDS_312 = f"CPython 3.12 is needed, this is Python {platform.python_version()}"


@pytest.mark.parametrize(
    ("files", "args", "why"),
    [
        pytest.param(
            {"early.py": TAKEN},
            ("-p", "early"),
            "no tool ID of sys.monitoring is free",
            marks=RECORDED,
            id="no tool ID",
        ),
        pytest.param(
            {"early.py": OURS},
            ("-p", "early"),
            "RuntimeError: ours",
            marks=RECORDED,
            id="our fault",
        ),
        pytest.param(
            {"early.py": OURS.replace(".begin", ".plain")},
            ("-p", "early"),
            "RuntimeError: ours",
            marks=RECORDED,
            id="our fault at the end",
        ),
        pytest.param({"early.py": OLDER}, ("-p", "early"), NEEDS_312, id="before 3.12"),
        pytest.param(
            {"early.py": OLDER, "pytest.ini": "[pytest]\nkl_symbols = on\n"},
            ("-p", "early"),
            NEEDS_312,
            id="before 3.12 by ini",
        ),
        pytest.param({"early.py": OLDER}, ("-p", "early", "--kl-symbols=auto"), "", id="auto"),
        pytest.param({}, ("--kl-symbols=off",), "", id="off"),
        pytest.param({"pytest.ini": "[pytest]\nkl_symbols = off\n"}, (), "", id="off by ini"),
    ],
)
@pytest.mark.share(3)
def test_a_run_without_symbols_is_recorded_as_before(
    tmp_path: Path, files: Mapping[str, str], args: tuple[str, ...], why: str
) -> None:
    folder = repository(tmp_path / "r", {"test_it.py": "def test_it():\n    pass\n", **files})
    stated = any(word in str((args, files)) for word in ("--kl-symbols", "kl_symbols"))
    on = () if stated else ("--kl-symbols=on",)
    done = run_pytest(folder, *on, *args, env={"PYTHONPATH": f"{folder}{os.pathsep}{HERE}"})
    assert done.returncode == 0, done.stdout + done.stderr
    end = only(folder).end
    assert end["result"]["verdict"] == "passed"
    assert not list((folder / ".git" / "kl" / "spool").glob("*.executed"))
    facts = end["environment"].get("executed")
    assert facts is None if not why else facts["trouble"] == why, facts
    # what goes wrong after the summary is reported after it
    printed = (done.stdout + done.stderr).splitlines()
    lines = [line for line in printed if "which functions each test executes" in line]
    assert len(lines) == bool(why)
    assert not why or lines[0].partition(" is not recorded: ")[2] == why


CHILDREN = {
    "src/app.py": (
        "import sys\ndef one():\n    return 1\ndef two():\n    return 2\ndef main():\n   "
        " print(one())\ndef deep():\n    import subprocess\n    code = 'import app; app.two()'\n   "
        " subprocess.run([sys.executable, '-c', code], check=True)\nif __name__ == '__main__':\n   "
        " main()\n"
    ),
    "own/sitecustomize.py": (
        "import os\nOWN = [one for one in os.sys.path if 'kl-symbols' in one]\n"
    ),
    "tests/conftest.py": (
        "import os\ndef pytest_unconfigure():\n    print('after', os.environ['PYTHONPATH'])\n"
    ),
    "tests/test_app.py": (
        """
import multiprocessing, os, subprocess, sys, time
import pytest
def run(*args, **more):
    return subprocess.run([sys.executable, *args], check=True, capture_output=True, text=True, **more).stdout
def test_script():
    assert run("src/app.py") == "1\\n"
def test_module():
    run("-m", "app")
def test_deep():
    run("-c", "import app; app.deep(); open('tests/conftest.py').close()")
@pytest.fixture(scope="module")
def server():
    code = "import app, sys; sys.stdin.read(); app.two()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
        yield process
        process.stdin.close()
def test_server(server):
    pass
def test_server_again(server):
    pass
def test_own_start():
    assert run("-c", "import sys, sitecustomize; print(sitecustomize.OWN, 'typing' in sys.modules)").startswith("[] ")
def test_isolated():
    run("-I", "-c", "")
def test_other_environment():
    run("-c", "", env={})
def test_killed():
    run("-c", "import os; os._exit(0)")
def test_copy(tmp_path):
    (tmp_path / "copied.py").write_text("")
    run(str(tmp_path / "copied.py"))
def test_shell():
    subprocess.run("true", shell=True, check=True)
def test_fork():
    run("-c", "import os; os.fork() and os.wait()")
"""
    ),
    "pytest.ini": "[pytest]\nkl_symbols_subprocess = true\n",
}
SEEN = {
    "test_script": {"function:app.main", "function:app.one", "namespace:app"},
    "test_module": {"function:app.main", "function:app.one", "namespace:app"},
    "test_deep": {"function:app.deep", "function:app.two", "namespace:app"},
    "test_server": {"function:tests.test_app.server", "function:app.two", "namespace:app"},
    "test_server_again": {"function:tests.test_app.server", "function:app.two", "namespace:app"},
    "test_own_start": set(),
}
NOT_SEEN = {
    "test_isolated": (
        f"it started another process ({Path(sys.executable).name}), which recorded nothing"
    ),
    "test_other_environment": (
        f"it started another process ({Path(sys.executable).name}), which recorded nothing"
    ),
    "test_killed": "a process that it started did not end by itself",
    "test_copy": (
        "of a process that it started: it executed copied.py, which is not in the repository"
    ),
    "test_shell": "it started another process (sh)",
    "test_fork": "of a process that it started: it started another process",
}


@RECORDED
def test_processes_of_the_same_interpreter_record_themselves(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r", CHILDREN)
    path = os.pathsep.join([str(folder / "own"), str(folder / "src"), str(HERE)])
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    done = run_pytest(
        folder, "--kl-symbols=on", "-s", env={"PYTHONPATH": path, "TMPDIR": str(temporary)}
    )
    assert "12 passed" in done.stdout, done.stdout + done.stderr
    # the user's environment is what it was, and nothing of ours is left
    assert f"after {path}\n" in done.stdout
    assert [one for one in temporary.iterdir() if one.name.startswith("kl-")] == []
    found = executed(folder)
    start = "namespace:own.sitecustomize"
    sets = {
        name: some.keys() - {"function:tests.test_app.run"} for name, some in sets_of(found).items()
    }
    assert {name: some for name, some in sets.items() if name in SEEN} == {
        n: {*s, start} for n, s in SEEN.items()
    }
    assert {name.partition("::")[2]: why for name, why in found.incomplete.items()} == NOT_SEEN
    # source that is read as data, and nothing that the import system opens and lists
    assert found.reads is not None
    shared = {Read(sort, "tests/test_app.py:server()") for sort in (STORED_STATE, SHARED)}
    assert found.reads.tests == {
        "tests/test_app.py::test_deep": {Read("tests/conftest.py")},
        "tests/test_app.py::test_server": shared,
        "tests/test_app.py::test_server_again": shared,
    }
    # the program's own code is that of its test, not what every import of the file executes
    assert {found.symbols[at].symbol for at in found.modules["src/app.py"]} == {"namespace:app"}
    assert found.unknown == {}


ONE_CHILD = {
    ".coveragerc": "[run]\npatch = subprocess\nparallel = true\nsource = .\n",
    ".gitignore": ".coverage*\n",
    "shop.py": "def f():\n    return 1\n",
    "test_shop.py": (
        """
import glob, os, shutil, subprocess, sys, tempfile
import pytest
def test_child():
    subprocess.run([sys.executable, "-c", "import shop; shop.f()"], check=True)
@pytest.mark.skipif("REMOVE" not in os.environ, reason="to be asked for")
def test_remove():
    for one in glob.glob(os.path.join(tempfile.gettempdir(), "kl-symbols-*")):
        shutil.rmtree(one)
"""
    ),
}


@RECORDED
def test_children_beside_coverage_and_without_their_folder(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r", ONE_CHILD)
    more = {"PYTHONPATH": str(HERE), "TMPDIR": str(tmp_path)}
    # coverage.py's own way into children: a .pth file that its patch activates
    how = (
        sys.executable,
        "-m",
        "coverage",
        "run",
        "-m",
        "pytest",
        "-p",
        "pytest_kl.plugin",
        "--kl-symbols=on",
    )
    done = subprocess.run(
        [*how, "--kl-symbols-subprocess"],
        cwd=folder,
        env=environment(more),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 passed, 1 skipped" in done.stdout, done
    assert "function:shop.f" in sets_of(executed(folder))["test_child"]
    for args in (("combine", "-q"), ("report", "--include=shop.py")):
        done = subprocess.run(
            [sys.executable, "-m", "coverage", *args],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
    assert "100%" in done.stdout, done.stdout
    clear(folder)
    done = run_pytest(
        folder, "--kl-symbols=on", "--kl-symbols-subprocess", env={**more, "REMOVE": "1"}
    )
    assert "2 passed" in done.stdout, done
    assert list(executed(folder).incomplete) == ["test_shop.py::test_child"], (
        "the others keep what they executed"
    )


IN_A_PROGRAM = """
import sys
from pytest_kl.tracer import HANDLERS, Tracer
scope = {}
exec(compile("def f():\\n    return 1\\n", "made.py", "exec"), scope)
made, second = Tracer("."), Tracer(".")
made.start()
exec(compile("def g():\\n    return 1\\n", "made.py", "exec"), scope)
second.start()
made.begin("made.py::test")
scope["g"]()
made.end("made.py::test")
made.stop()
scope["g"]()
plain = made.plain()
assert [code[:3] for code in plain["codes"]] == [["made.py", "g", 1]], plain
assert len(plain["tests"]) == 1 and not plain["trouble"]
assert (second.on, second.trouble) == (False, "another run of this process is recorded")
assert not HANDLERS and not made.on
assert {sys.monitoring.get_tool(number) for number in range(6)} == {None}
made.start()
assert made.on
"""


@RECORDED
def test_nothing_stays_in_a_program_that_calls_pytest(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IN_A_PROGRAM],
        cwd=tmp_path,
        env=environment({}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("f", "f"),
        ("C.m", "C.m"),
        ("f.<locals>.g", "f.<locals>.g"),
        ("f.<locals>.<lambda>", "f"),
        ("<lambda>", ""),
        ("C.<genexpr>", "C"),
        ("f.<locals>.<listcomp>.<locals>.<lambda>", "f"),
        ("<module>", ""),
        ("C.m.__annotate__", "C.m"),
        ("<generic parameters of f>", ""),
        ("f.<locals>.C.<lambda>", "f.<locals>.C"),
    ],
)
def test_what_has_no_name_is_part_of_what_it_is_written_in(name: str, short: str) -> None:
    assert _without_unnamed(name) == short


@RECORDED
def test_each_file_of_tests_needs_the_plugins_of_the_repository(tmp_path: Path) -> None:
    files = {
        "conftest.py": "pytest_plugins = ['plugin']\n",
        "plugin.py": "import pytest\n\n@pytest.fixture\ndef answer():\n    return 42\n",
        "other.py": "X = 1\n",
        "test_a.py": "def test_answer(answer):\n    assert answer == 42\n",
        "test_b.py": "def test_nothing():\n    pass\n",
    }
    folder = repository(tmp_path / "repo", files)
    assert run_pytest(folder, "--kl-symbols=on").returncode == 0
    assert executed(folder).imports == {"test_a.py": ("plugin.py",), "test_b.py": ("plugin.py",)}
