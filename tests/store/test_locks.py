"""The store lock: one holder, never a stale one, and whoever waits in vain learns for whom.

The lock on a folder: one at a time, nothing left behind, and no way to wait for ever.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kl_hooks.errors import EnvironmentProblem, StoreBusy
from kl_hooks.store.files import folder_lock, store_lock

REPO = Path(__file__).parents[2]


@contextmanager
def _holder(path: Path, more: str = "") -> Iterator[subprocess.Popen[bytes]]:
    code = f"""
import os, subprocess, sys, time
from pathlib import Path
from kl_hooks.store.files import store_lock
with store_lock(Path(sys.argv[1]), wait=5, what="taking in captures"):
    {more}
    os.write(1, b"held\\n")
    time.sleep(60)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], cwd=REPO, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"held\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_who_waits_in_vain_learns_for_whom(tmp_path: Path) -> None:
    path = tmp_path / "store.lock"
    with _holder(path) as holder:
        started = time.monotonic()
        with pytest.raises(StoreBusy) as reported, store_lock(path, wait=0.2, what="kl"):
            pass
        assert 0.2 <= time.monotonic() - started < 5
    assert f"pid {holder.pid} (taking in captures)" in str(reported.value)
    assert str(reported.value).startswith(str(path))
    assert "kl doctor" in str(reported.value)


@pytest.mark.fault(
    "stale lock",
    promised="the next process gets the lock at once",
    injected="SIGKILL of the holder",
)
def test_a_killed_holder_leaves_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "store.lock"
    with _holder(path) as holder:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        with store_lock(path, wait=0, what="kl"):
            assert path.read_text() == f"{os.getpid()} kl\n"


@pytest.mark.fault(
    "stale lock",
    promised="a child of the holder keeps nothing",
    injected="SIGKILL of the holder while its child lives",
)
def test_a_program_started_meanwhile_keeps_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "store.lock"
    start = (
        "child = subprocess.Popen(['sleep', '60'], close_fds=False); os.write(1, b'%d\\n' %"
        " child.pid)"
    )
    code = f"""
import os, subprocess, sys
from pathlib import Path
from kl_hooks.store.files import store_lock
with store_lock(Path(sys.argv[1]), wait=5, what="x"):
    {start}
    os.kill(os.getpid(), 9)
"""
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], cwd=REPO, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        orphan = int(process.stdout.readline())
        process.wait()
        try:
            with store_lock(path, wait=1, what="kl"):
                pass
        finally:
            os.kill(orphan, signal.SIGKILL)


@pytest.mark.fault(
    "stale lock",
    promised="a forked child neither keeps nor frees it",
    injected="fork within the lock",
)
def test_a_forked_child_neither_keeps_it_nor_lets_it_go(tmp_path: Path) -> None:
    path = tmp_path / "store.lock"
    code = f"""
import os, sys, time
from pathlib import Path
from kl_hooks.errors import StoreBusy
from kl_hooks.store.files import store_lock
path = Path({str(path)!r})
with store_lock(path, wait=5, what="parent"):
    if os.fork() == 0:
        raise SystemExit(0)
    os.wait()
    try:
        with store_lock(path, wait=0, what="second"):
            print("the child let go")
    except StoreBusy as busy:
        print(busy.reason)
    if os.fork() == 0:
        time.sleep(60)
with store_lock(path, wait=0, what="again"):
    print("free")
sys.stdout.flush()
os.killpg(0, 9)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=REPO,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    out, _ = process.communicate(timeout=60)
    assert out == f"the store is busy: pid {process.pid} (parent) holds it. Waited 0 s.\nfree\n"


@pytest.mark.fault(
    "many writers",
    promised="no write is lost",
    injected="8 processes that each add to one file 25 times",
)
def test_it_waits_for_its_turn(tmp_path: Path) -> None:
    """Eight processes, each adding one to a number many times: none sees another's half-done
    work.
    """
    (tmp_path / "number").write_text("0")
    code = """
import sys
from pathlib import Path
from kl_hooks.store.files import store_lock
folder = Path(sys.argv[1])
for _ in range(25):
    with store_lock(folder / "lock", wait=60, what="adding"):
        number = int((folder / "number").read_text())
        (folder / "number").write_text(str(number + 1))
"""
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], cwd=REPO) for _ in range(8)
    ]
    assert [process.wait(timeout=120) for process in processes] == [0] * 8
    assert (tmp_path / "number").read_text() == "200"


def test_it_is_free_after_a_fault_and_follows_no_link(tmp_path: Path) -> None:
    path = tmp_path / "store.lock"
    with pytest.raises(KeyError), store_lock(path, wait=0, what="kl"):
        raise KeyError
    with store_lock(path, wait=0, what="evil\x1b[2J\nname"):
        assert "\x1b" not in path.read_text()
    assert path.read_text() == ""
    assert path.stat().st_mode & 0o777 == 0o600
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(OSError), store_lock(tmp_path / "link", wait=0, what="kl"):
        pass
    assert not (tmp_path / "target").exists()


def test_one_at_a_time_and_free_afterwards(tmp_path: Path) -> None:
    busy = pytest.raises(EnvironmentProblem, match="another kl is writing here")
    with folder_lock(tmp_path), busy, folder_lock(tmp_path, 0.02):
        pass
    with folder_lock(tmp_path, 0):
        assert list(tmp_path.iterdir()) == []


def test_a_failure_inside_releases_it(tmp_path: Path) -> None:
    with pytest.raises(KeyError), folder_lock(tmp_path):
        raise KeyError
    with folder_lock(tmp_path, 0):
        pass


@pytest.mark.fault(
    "no locks",
    promised="files that people write are written without a lock",
    injected="flock fails with EOPNOTSUPP",
)
def test_a_file_system_without_locks_is_written_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(handle: int, how: int) -> None:
        raise OSError(95, "not supported")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with folder_lock(tmp_path), folder_lock(tmp_path):
        (tmp_path / "written").touch()
    assert [path.name for path in tmp_path.iterdir()] == ["written"]


def test_no_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), folder_lock(tmp_path / "none"):
        pass
