"""The library that makes calls fail, kills before a call, writes calls down and moves the clock.

It is `preload.c`, compiled once, and loaded before the C library. A process that was started with
it drives it from inside (`Faults`); any other command is driven by its environment (`variables`).
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
from enum import IntEnum, IntFlag
from pathlib import Path
from typing import Final

_SOURCE: Final = Path(__file__).with_suffix(".c")


class Call(IntFlag):
    """Kinds of calls that are counted."""

    OPEN = 1
    WRITE = 2
    SYNC = 4
    RENAME = 8
    UNLINK = 16
    LOCK = 32
    MKDIR = 64
    TRUNCATE = 128
    READ = 256


CHANGES: Final = (
    Call.OPEN | Call.WRITE | Call.SYNC | Call.RENAME | Call.UNLINK | Call.MKDIR | Call.TRUNCATE
)
"""What a killed process may leave half-done, and opening, which may make a file."""


class Action(IntEnum):
    """What the armed call does."""

    FAIL = 0
    KILL = 1
    KILL_TORN = 2
    """A write writes half of its bytes before the process is killed."""
    FAIL_SHORT = 3
    """The first write writes half of its bytes; those after it fail."""


def build(folder: Path) -> Path | None:
    """The compiled library in `folder`; None where it can't be compiled or loaded here."""
    source = _SOURCE.read_bytes()
    library = folder / f"faults-{hashlib.sha256(source).hexdigest()[:12]}.so"
    if library.exists():
        return library
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        return None
    folder.mkdir(parents=True, exist_ok=True)
    new = library.with_suffix(f".{os.getpid()}")
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(new), str(_SOURCE), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    new.rename(library)
    return library


def variables(
    library: Path, root: Path, calls: Call, errno: int, at: int = 1, always: bool = True
) -> dict[str, str]:
    """The environment of a process whose `at`th call below `root`, and each after it, fails."""
    return {
        "LD_PRELOAD": str(library),
        "FAULTS_ROOT": str(root),
        "FAULTS": f"{int(calls)}:{at}:{errno}:{int(Action.FAIL)}:{int(always)}",
    }


class Faults:
    """The library of this process, which was started with it."""

    def __init__(self, library: Path) -> None:
        assert str(library) in os.environ.get("LD_PRELOAD", ""), "it must be loaded first"
        self._library = ctypes.CDLL(str(library))
        self._library.fault_clock.argtypes = [ctypes.c_int64]
        self._library.fault_arm.argtypes = [
            ctypes.c_int,
            ctypes.c_long,
            ctypes.c_int,
            ctypes.c_int,
            ctypes.c_int,
        ]

    def watch(self, *roots: Path) -> None:
        """Watch what is below these folders, and nothing else. For the calls that follow."""
        self._library.fault_root(None)
        for root in roots:
            self._library.fault_root(os.fsencode(root))

    def arm(
        self, calls: Call, at: int, errno: int, action: Action = Action.FAIL, always: bool = False
    ) -> None:
        """Let the call with number `at`, from 1, act; 0 only counts. `always`: those after it,
        too.
        """
        self._library.fault_arm(int(calls), at, errno, int(action), int(always))

    def disarm(self) -> None:
        """Let every call through, and count none."""
        self._library.fault_arm(0, 0, 0, 0, 0)

    def log(self, handle: int) -> None:
        """Write the calls that change something to this descriptor; -1: no longer."""
        self._library.fault_log(handle)

    def mark(self, text: str) -> None:
        """Write a line of our own among them, such as what was acknowledged."""
        self._library.fault_mark(text.encode())

    def move_clock(self, microseconds: int) -> None:
        """Move the wall clock of this process; 0: as it is."""
        self._library.fault_clock(microseconds)

    @property
    def counted(self) -> int:
        """Calls since `arm`."""
        return int(self._library.fault_counted())

    @property
    def fired(self) -> int:
        """Calls that were made to fail since `arm`."""
        return int(self._library.fault_fired())
