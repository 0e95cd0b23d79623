"""The queue before a lock: in the order of arrival, past dead and stopped waiters, and never needed
to be right.
"""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kl_hooks.errors import StoreBusy
from kl_hooks.store import write_queue
from kl_hooks.store.files import store_lock
from kl_hooks.store.write_queue import acquired_in_turn

REPO = Path(__file__).parents[2]


class Clock:
    """Time that passes when somebody sleeps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(write_queue, "time", self)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@contextmanager
def ticket_of_another(folder: Path, number: int) -> Iterator[Path]:
    """A ticket that somebody holds who does nothing."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{number:08}"
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield path
    path.unlink(missing_ok=True)


def tickets(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def until(condition: Callable[[], bool]) -> None:
    """Wait for what another thread does."""
    pause = threading.Event()
    while not condition():
        pause.wait(0.002)


def test_the_first_to_ask_is_the_first_to_write(tmp_path: Path) -> None:
    lock, order = tmp_path / "store.lock", list[int]()

    def write(number: int) -> None:
        with store_lock(lock, wait=600, what=f"writer {number}"):
            order.append(number)

    threads = []
    with store_lock(lock, wait=0, what="the first"):
        for number in range(12):
            threads.append(threading.Thread(target=write, args=(number,)))
            threads[-1].start()
            until(lambda: len(tickets(tmp_path / "store.queue")) == len(threads))
    for thread in threads:
        thread.join()
    assert order == list(range(12))
    assert tickets(tmp_path / "store.queue") == []


def test_a_free_lock_needs_no_ticket(tmp_path: Path) -> None:
    with store_lock(tmp_path / "store.lock", wait=5, what="kl"):
        assert tickets(tmp_path) == ["store.lock"]


def test_nobody_overtakes_who_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A free lock is not taken while a ticket is ahead; a dead waiter's ticket counts for
    nothing.
    """
    clock, folder = Clock(monkeypatch), tmp_path / "store.queue"
    times: list[float] = []

    def attempt() -> bool:
        times.append(clock.now)
        return True

    with ticket_of_another(folder, 7):
        assert acquired_in_turn(folder, 5, attempt, str)
    assert times[0] >= write_queue._OVERTAKE_AFTER  # whoever is ahead was stopped, or is dead
    (folder / "00000003").touch()  # of a process that was killed
    assert acquired_in_turn(folder, 5, attempt, str)
    assert times[1] == clock.now
    assert tickets(folder) == []


def test_who_waits_in_a_queue_that_moves_is_not_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`wait` is for a queue that does not move; one that does is left after twelve times as
    long.
    """
    clock, folder = Clock(monkeypatch), tmp_path / "store.queue"
    assert acquired_in_turn(folder, 5, lambda: clock.now > 40, lambda: str(clock.now // 4))
    assert 40 < clock.now < 41
    clock.now = 0
    assert not acquired_in_turn(folder, 5, lambda: False, lambda: str(clock.now // 4))
    assert 60 <= clock.now < 61
    clock.now = 0
    assert not acquired_in_turn(folder, 5, lambda: False, lambda: "the same one")
    assert 5 <= clock.now < 5.1
    assert tickets(folder) == []


def test_a_queue_that_can_not_be_made_refuses_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a file system without space, or without locks: then the lock alone is tried."""
    clock, folder = Clock(monkeypatch), tmp_path / "store.queue"
    folder.touch()
    assert acquired_in_turn(folder, 5, lambda: clock.now > 1, str)
    folder.unlink()

    def refuse(handle: int, how: int) -> None:
        raise OSError(37, "no locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert acquired_in_turn(folder, 5, lambda: clock.now > 3, str)
    assert tickets(folder) == []


def test_without_a_wait_nobody_queues(tmp_path: Path) -> None:
    lock = tmp_path / "store.lock"
    with ticket_of_another(tmp_path / "store.queue", 1), store_lock(lock, wait=0, what="kl"):
        with pytest.raises(StoreBusy), store_lock(lock, wait=0, what="kl"):
            pass
        assert tickets(tmp_path / "store.queue") == ["00000001"]


def test_an_older_kl_that_takes_no_ticket_shuts_out_the_first(tmp_path: Path) -> None:
    lock = tmp_path / "store.lock"
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        refused = pytest.raises(StoreBusy, match="another process")
        with refused, store_lock(lock, wait=0.05, what="kl"):
            pass


_WRITERS = """
import json, os, sys, time
from pathlib import Path
from kl_hooks.errors import StoreBusy
from kl_hooks.store.files import store_lock
lock = Path(sys.argv[1])
for number in range(64):
    if os.fork() == 0:
        try:
            with store_lock(lock, wait=2, what="a short command"):
                time.sleep(0.1)
        except StoreBusy:
            os._exit(3)
        os._exit(0)
codes = [os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(64)]
print(json.dumps({code: codes.count(code) for code in codes}))
"""


@pytest.mark.slow
@pytest.mark.fault(
    "many writers",
    promised="all are served, in the order in which they asked",
    injected="64 processes at once",
)
def test_64_writers_are_all_served(tmp_path: Path) -> None:
    """Each has the lock for a tenth of a second: together three times as long as one waits."""
    done = subprocess.run(
        [sys.executable, "-c", _WRITERS, str(tmp_path / "store.lock")],
        cwd=REPO,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == {"0": 64}
    assert tickets(tmp_path / "store.queue") == []
