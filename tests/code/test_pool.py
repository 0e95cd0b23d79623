"""Several processes give what one would; what kills one of them costs that one content and no other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from kl_hooks.code import facts as facts_module
from kl_hooks.code.catch_up import catch_up
from kl_hooks.code.pool import scan_in_processes
from tests.code.making import graph_of, repository, workspace

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def squares(items: Sequence[int]) -> list[tuple[int, int]]:
    for item in items:
        if item in (41, 170):
            os.kill(os.getpid(), signal.SIGSEGV)
    return [(item, item * item) for item in items if item != 7]


def test_every_result_and_a_word_for_what_killed_its_process() -> None:
    found = dict(scan_in_processes(list(range(200)), squares, lambda item: (item, -1), count=2))
    assert found == {n: -1 if n in (41, 170) else n * n for n in range(200) if n != 7}


def test_an_error_of_the_scan_is_raised() -> None:
    def fails(items: Sequence[int]) -> list[int]:
        raise LookupError(items[0])

    with pytest.raises(LookupError):
        list(scan_in_processes([1, 2], fails, lambda item: item, count=2))


def test_a_graph_by_processes_equals_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"p/m{n}.py": f"from p.m{n - 1} import f as g\ndef f(x): return g(x) + {n}\n" for n in range(60)}
    ws = repository(tmp_path / "repo", {"p/__init__.py": "", **files})
    catch_up(ws)
    plain = graph_of(ws)
    monkeypatch.setattr(facts_module, "MANY", 10)
    monkeypatch.setattr("kl_hooks.code.pool.processes", lambda: 2)
    other = workspace(tmp_path / "repo", "elsewhere")
    assert catch_up(other).parsed == 61
    assert graph_of(other) == plain


def running(repo: Path) -> set[int]:
    """The processes of a build of `repo`; one that has ended says nothing of itself any more."""
    found = set()
    for said in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended meanwhile
            text = said.read_bytes()
            if text.endswith(f"\0{repo}\0".encode()) and b"catch_up" in text:
                found.add(int(said.parent.name))
    return found


BUILD = """
import sys
from pathlib import Path
from kl_hooks.code import facts, pool
from kl_hooks.code.catch_up import catch_up
from tests.code.making import workspace
facts.MANY = 1
pool.processes = lambda: 2
catch_up(workspace(Path(sys.argv[1])))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there are several processes used")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_outlives_a_build_that_is_killed(tmp_path: Path, how: signal.Signals) -> None:
    functions = "".join(f"def f{n}(x): return f{n - 1}(x) + {n}\n" for n in range(400))
    repo = tmp_path / "repo"
    repository(repo, {f"m{n}.py": f"N = {n}\n{functions}" for n in range(120)})
    with subprocess.Popen([sys.executable, "-c", BUILD, str(repo)], stderr=subprocess.DEVNULL) as build:
        assert wait_for(lambda: len(running(repo)) == 3), "the build and two that it forked"
        build.send_signal(how)
        build.wait()
    ended = wait_for(lambda: not running(repo))
    for process in running(repo):
        os.kill(process, signal.SIGKILL)
    assert ended


def wait_for(what: Callable[[], bool], seconds: int = 60) -> bool:
    """True as soon as it is so; False if that never came."""
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
