"""What a suite may do to us without losing a verdict, and what our own trouble must never do to a
suite.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .recorded import environment, git, only, repository, run_pytest

ROUGH = {
    "conftest.py": (
        """
import builtins, hashlib, json, os, shutil, sqlite3, subprocess, sys, time
import pytest

def refuse(*args, **kwargs):
    raise AssertionError("mocked")

@pytest.fixture(scope="module")
def nothing_works():
    patch = pytest.MonkeyPatch()
    for module, names in (
        (os, ["write", "open", "close", "getpid", "fdatasync", "fsync"]),
        (time, ["time", "monotonic", "time_ns", "perf_counter_ns"]),
        (hashlib, ["sha256"]), (json, ["dumps", "loads"]), (sqlite3, ["connect"]), (builtins, ["open"]),
        (subprocess, ["run", "Popen"]),
    ):
        for name in names:
            patch.setattr(module, name, refuse)
    yield
    patch.undo()
"""
    ),
    "test_rough.py": (
        """
import os

def test_mocks(nothing_works): pass
def test_mocks_and_fails(nothing_works): raise ValueError("found")
def test_still_mocked(nothing_works): pass
"""
    ),
    "test_then.py": (
        """
import os, tempfile

def test_moves_away(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
def test_moves_away_for_good():
    gone = tempfile.mkdtemp()
    os.chdir(gone)
    os.rmdir(gone)
def test_forgets_the_environment():
    os.environ.clear()
def test_last(): pass
"""
    ),
}


@pytest.mark.fault(
    "hostile test",
    promised="every verdict is recorded",
    injected="tests replace os, open and time, and remove their folder",
)
def test_mocks_a_lost_folder_and_a_lost_environment_lose_no_verdict(tmp_path: Path) -> None:
    repository(tmp_path, ROUGH)
    done = run_pytest(tmp_path, "-p", "no:cacheprovider")
    run = only(tmp_path)
    assert run.verdicts == {
        "test_rough.py::test_mocks": "passed",
        "test_rough.py::test_mocks_and_fails": "failed",
        "test_rough.py::test_still_mocked": "passed",
        "test_then.py::test_moves_away": "passed",
        "test_then.py::test_moves_away_for_good": "passed",
        "test_then.py::test_forgets_the_environment": "passed",
        "test_then.py::test_last": "passed",
    }, done.stdout
    assert run.details["test_rough.py::test_mocks_and_fails"]["message"] == "ValueError: found"
    assert run.result["verdict"] == "failed"
    assert run.end["moved"] is False


LIVES = {
    "app.py": """
import weakref

RECEIVERS = []

class Base: pass

def emit(): return [r() for receiver in RECEIVERS if (r := receiver()) is not None]
def names(): return sorted(kind.__name__ for kind in Base.__subclasses__())
""",
    "test_a.py": """
import weakref, pytest, app

@pytest.fixture(scope="module")
def receiver():
    def answers(): return 1
    app.RECEIVERS.append(weakref.ref(answers))
    yield answers

@pytest.fixture(scope="module")
def local():
    class Local(app.Base):
        def method(self): return super().__repr__()
    return Local()

def test_receives(receiver): assert app.emit() == [1]
def test_is_made(local): assert local.method() and app.names() == ["Local"]
""",
    "test_b.py": """
import gc, app

def test_receives_nothing():
    gc.collect()
    assert app.emit() == []
def test_is_gone():
    gc.collect()
    assert app.names() == []
""",
}


def test_nothing_of_a_suite_lives_longer_for_us(tmp_path: Path) -> None:
    repository(tmp_path, LIVES)
    done = run_pytest(tmp_path, "-p", "no:cacheprovider")
    assert done.returncode == 0, done.stdout


FORKS = """
import os
def test_child_leaves():
    if os.fork() == 0: os._exit(0)
    os.wait()
def test_child_goes_on():
    pid = os.fork()
    if pid: os.waitpid(pid, 0)
def test_after(): pass
"""


@pytest.mark.fault(
    "hostile test",
    promised="a forked child records nothing",
    injected="tests fork",
)
def test_a_forked_child_writes_nothing_even_if_it_runs_the_rest_of_the_suite(
    tmp_path: Path,
) -> None:
    repository(tmp_path, {"test_fork.py": FORKS})
    done = run_pytest(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    run = only(tmp_path)
    assert len([row for row in run.rows if row[0] == "t"]) == 3
    assert (
        sum(record["t"] == "end" for record in run.spool.records if isinstance(record, dict)) == 1
    )
    assert run.result["verdict"] == "passed"


NESTED = """
import pytest
pytest_plugins = ["pytester"]

@pytest.mark.parametrize("way", ["inprocess", "subprocess"])
def test_inner(pytester, way):
    pytester.mkdir(".kl")
    pytester.makepyfile("def test_deep_pass(): pass\\ndef test_deep_fail(): assert 0")
    run = getattr(pytester, "runpytest_" + way)
    run("-p", "pytest_kl.plugin").assert_outcomes(passed=1, failed=1)

def test_after(): pass
"""


def test_runs_inside_of_tests_keep_their_own_record(tmp_path: Path) -> None:
    project = repository(tmp_path / "p", {"test_nest.py": NESTED})
    states = {"XDG_STATE_HOME": str(tmp_path / "state")}
    done = run_pytest(
        project, "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "t"), env=states
    )
    assert done.returncode == 0, done.stdout + done.stderr
    run = only(project)
    assert run.verdicts == {
        "test_nest.py::test_inner[inprocess]": "passed",
        "test_nest.py::test_inner[subprocess]": "passed",
        "test_nest.py::test_after": "passed",
    }
    assert run.result["verdict"] == "passed"


SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def every_byte(folder: Path) -> bytes:
    """All files of the state directory, one after another."""
    state = Path(git(folder, "rev-parse", "--path-format=absolute", "--git-common-dir")) / "kl"
    return b"".join(path.read_bytes() for path in state.rglob("*") if path.is_file())


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_secret_in_ids_messages_and_arguments_never_reaches_the_disk(
    tmp_path: Path, workers: str
) -> None:
    body = f"""
import pytest
pytestmark = pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("token", ["{SECRET}", "plain"])
def test_token(token): assert token == "plain", "for {SECRET}"
def test_exit(): pytest.exit("with {SECRET}")
"""
    repository(tmp_path, {"test_s.py": body})
    args = ["-n", workers, "-k", f"token or exit or {SECRET}"]
    env = {"KL_PARENT": "a" * 32, "MY_TOKEN": SECRET}
    run_pytest(tmp_path, *args, "-p", "no:cacheprovider", env=env)
    run = only(tmp_path)
    assert "test_s.py::test_token[plain]" in run.verdicts
    assert len(run.verdicts) >= 2
    assert SECRET.encode() not in every_byte(tmp_path)


def test_control_characters_and_endless_ids_are_made_harmless(tmp_path: Path) -> None:
    body = """
def make(name):
    def test(): raise AssertionError("\\x1b]0;title\\x07" + name[:20])
    return test
for name in ("test_\\x1b[2J", "test_\\u202e", "test_\\udc80", "test_" + "x" * 500_000):
    globals()[name] = make(name)
"""
    repository(tmp_path, {"test_c.py": body})
    run_pytest(tmp_path, "-p", "no:terminal", "-p", "no:cacheprovider", "-p", "no:faulthandler")
    run = only(tmp_path)
    assert len(run.verdicts) == 4
    assert set(run.verdicts.values()) == {"failed"}
    assert max(map(len, run.verdicts)) < 5000
    assert b"\x1b" not in run.path.read_bytes()
    assert all("\\x1b]0;title" in detail["message"] for detail in run.details.values())


PASSES = {"test_x.py": "def test_a(): pass\n"}


def blocked(folder: Path) -> dict[str, str]:
    """Every place for a spool taken away: files are where folders should."""
    for place in (folder / ".git" / "kl", folder / "file"):
        place.write_text("", encoding="utf-8")
    (folder / ".kl" / "spool").write_text("", encoding="utf-8")
    return {
        "XDG_STATE_HOME": str(folder / "file"),
        "HOME": str(folder / "file"),
        "XDG_RUNTIME_DIR": "",
        "TMPDIR": "",
    }


@pytest.mark.parametrize(
    ("args", "exit_code"),
    [([], 0), (["-qq"], 0), (["-p", "no:terminal"], 0), (["-n", "2"], 0), (["--kl-strict"], 3)],
)
@pytest.mark.fault(
    "read-only place",
    promised="the tests' exit code is unchanged; one line reports that nothing was recorded",
    injected="every place for a capture is a file",
)
@pytest.mark.share(2)
def test_a_record_that_can_not_be_opened_is_one_line(
    tmp_path: Path, args: list[str], exit_code: int
) -> None:
    repository(tmp_path, PASSES)
    env = blocked(tmp_path)
    done = run_pytest(tmp_path, *args, env=env)
    assert done.returncode == exit_code, done.stdout + done.stderr
    lines = [line for line in (done.stdout + done.stderr).splitlines() if "kl:" in line]
    assert len(lines) == (2 if exit_code else 1)  # pytest.exit() is shown twice by pytest itself
    assert "kl: not recorded - " in lines[0]
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize(("strict", "exit_code"), [([], 0), (["--kl-strict"], 3)])
@pytest.mark.parametrize(
    "hook",
    [
        "listener.Listener._add_unless_passed",
        "listener.Journal.started",
        "listener.Journal.finished",
        "recorder.end_record",
        "outcome.run_result",
    ],
)
@pytest.mark.fault(
    "fault of kl",
    promised="results and exit code are those of a run without kl",
    injected="functions of the plugin raise",
)
@pytest.mark.share(3)
def test_an_internal_error_changes_no_outcome(
    tmp_path: Path, hook: str, strict: list[str], exit_code: int
) -> None:
    """A fault in any place of ours: what it would have broken is made to raise from a conftest."""
    target, _, name = hook.rpartition(".")
    module, _, owner = target.partition(".")
    fault = f"""
import importlib, pytest
@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    module = importlib.import_module("pytest_kl.{module}")
    owner = getattr(module, "{owner}") if "{owner}" else module
    def broken(*args, **kwargs): raise RuntimeError("our fault")
    setattr(owner, "{name}", broken)
"""
    files = {
        "test_x.py": "import pytest\ndef test_a(): pass\ndef test_b(): pytest.skip()\n",
        "conftest.py": fault,
    }
    repository(tmp_path, files)
    done = run_pytest(tmp_path, *strict)
    assert done.returncode == exit_code, done.stdout + done.stderr
    assert (done.stdout + done.stderr).count("our fault") == 1
    assert not only(tmp_path).spool.ended
    assert "1 passed, 1 skipped" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.fault(
    "full disk",
    promised="the run is incomplete; the tests go on",
    injected="RLIMIT_FSIZE of 10 bytes within a test",
)
def test_a_full_disk_stops_the_record_and_not_the_tests(tmp_path: Path) -> None:
    limit = """
import resource, signal, pytest
def test_a(): pass
def test_b():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, resource.RLIM_INFINITY))
def test_c(): pass
"""
    repository(tmp_path, {"test_x.py": limit})
    # forked, stdout is a file: the limit would be one for what pytest prints, too
    done = run_pytest(tmp_path, "-p", "no:cacheprovider", forked=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout
    assert "kl: recording stopped, this run is stored as incomplete - " in done.stdout
    run = only(tmp_path)
    assert not run.spool.ended
    assert run.verdicts["test_x.py::test_a"] == "passed"


@pytest.mark.once
@pytest.mark.parametrize(
    ("args", "exit_code"), [([], 0), (["-qq"], 0), (["-p", "no:terminal"], 0), (["--kl-strict"], 3)]
)
@pytest.mark.parametrize("place", [".git/kl/spool", ".git/kl", ".git"])
@pytest.mark.fault(
    "moved file",
    promised="the run is not recorded, and that is reported",
    injected="a test removes the capture, the state folder or .git",
)
@pytest.mark.share(4)
def test_a_record_that_a_test_removed_is_reported_as_removed(
    tmp_path: Path, place: str, args: list[str], exit_code: int
) -> None:
    repository(
        tmp_path, {"test_x.py": f"import shutil\n\n\ndef test_a():\n    shutil.rmtree('{place}')\n"}
    )
    done = run_pytest(tmp_path, *args)
    assert done.returncode == exit_code, done.stdout + done.stderr
    printed = [
        line
        for line in (done.stdout + done.stderr).splitlines()
        if line.startswith("kl: ") and "tree" not in line
    ]
    assert len(printed) == 1
    assert printed[0].startswith(
        "kl: not recorded - the file of this run was removed while it ran: "
    )
    assert printed[0].endswith(".jsonl")


@pytest.mark.parametrize(
    ("act", "why"),
    [
        ("path.write_bytes(b'')", "was cut or overwritten"),
        ("path.write_bytes(path.read_bytes()[:40])", "was cut or overwritten"),
        ("path.unlink(); path.write_text('x')", "was replaced"),
        ("path.rename('elsewhere')", "was removed"),
    ],
)
@pytest.mark.fault(
    "moved file",
    promised="the run is not recorded, and that is reported",
    injected="a test cuts, replaces or renames the capture",
)
@pytest.mark.share(2)
def test_a_record_that_a_test_spoiled_is_reported_as_none(
    tmp_path: Path, act: str, why: str
) -> None:
    test = (
        "from pathlib import Path\n\n\ndef test_a():\n    (path,) ="
        f" Path('.git/kl/spool').glob('*.jsonl')\n    {act}\n"
    )
    repository(tmp_path, {"test_x.py": test})
    done = run_pytest(tmp_path)
    assert done.returncode == 0
    assert "1 passed" in done.stdout
    assert f"kl: not recorded - the file of this run {why} while it ran: " in done.stdout
    assert "recorded as" not in done.stdout


def test_a_record_that_is_removed_at_the_very_end_is_reported_as_removed(tmp_path: Path) -> None:
    late = """
import pytest, shutil
@pytest.hookimpl(trylast=True)
def pytest_unconfigure():
    shutil.rmtree(".git/kl")
"""
    repository(tmp_path, {**PASSES, "conftest.py": late})
    done = run_pytest(tmp_path, "--kl-strict")
    assert done.returncode == 3
    assert "kl: not recorded - the file of this run was removed while it ran: " in done.stderr


def test_who_walks_the_whole_repository_does_not_list_what_kl_writes(tmp_path: Path) -> None:
    test = (
        "import os\n\n\ndef test_walk():\n"
        "    assert 'config.yaml' in [name for _, _, names in os.walk('.') for name in names]\n"
    )
    project = repository(tmp_path, {"test_walk.py": test})
    (project / ".kl" / "config.yaml").write_text("version: 1\n", encoding="utf-8")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "a walk")
    assert run_pytest(project, forked=False).returncode == 0
    done = subprocess.run(
        [sys.executable, "-m", "kl_hooks", "verify"],
        cwd=project,
        env=environment({}),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def test_a_collector_has_the_set_up_that_the_suite_gave_it(tmp_path: Path) -> None:
    conftest = """
import pytest
class Line(pytest.Item):
    def runtest(self):
        own = vars(self.parent).get("setup")
        assert (own is not None) is (self.parent.name == "own.lines")
        assert self.parent.calls == [self.parent.name]
class Lines(pytest.File):
    def setup(self): self.calls.append(self.name)
    def collect(self):
        self.calls = []
        if self.name == "own.lines":
            self.setup = lambda: self.calls.append(self.name)
        yield from (Line.from_parent(self, name=name) for name in ("first", "second"))
def pytest_collect_file(parent, file_path):
    if file_path.suffix == ".lines":
        return Lines.from_parent(parent, path=file_path)
"""
    project = repository(tmp_path, {"conftest.py": conftest, "own.lines": "", "plain.lines": ""})
    done = run_pytest(project)
    assert "4 passed" in done.stdout, done.stdout
