"""A share of the soak: a few rounds of each subject, the same on every run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.soak.preload import build
from tests.support import HERE


@pytest.fixture
def library_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "soak"
    folder.mkdir()
    if build(folder / "library") is None:
        pytest.skip("there is no C compiler, or no loader that takes it")
    return folder


SUBJECTS = ("kills", "power", "calls", "damage", "clock", "trees")
"""The 64 writers at once are those of tests/store/test_write_queue.py."""
EVERY_CASE = pytest.param(1, marks=pytest.mark.sweep, id="every case")


@pytest.mark.slow
@pytest.mark.local_database
@pytest.mark.fault(
    "killed process",
    promised="what was acknowledged is there once, nothing is falsely proven, the next command works",
    injected="SIGKILL of every writer before a random call, or at a random moment",
)
@pytest.mark.fault(
    "power loss",
    promised="what was acknowledged is there once, and the store is whole",
    injected="unsynced writes and names of a recorded act are dropped, torn or stored, in any order",
)
@pytest.mark.fault(
    "failing call",
    promised="no traceback; what was acknowledged is there, what was not is whole or absent",
    injected="the n-th open, write, fsync, rename, unlink, mkdir, truncate, lock or read of `kl run` fails",
)
@pytest.mark.fault(
    "damaged file",
    promised="a change of evidence is found; nothing is falsely proven",
    injected="flipped bits, an older database, a cut log",
)
@pytest.mark.fault(
    "clock jump",
    promised="nothing is lost; the newest run decides",
    injected="the wall clock jumps between commands by up to 40 years",
)
@pytest.mark.fault(
    "working tree state",
    promised="no traceback, no changed file or index, nothing falsely proven",
    injected="a working tree after a few random changes",
)
@pytest.mark.parametrize("part", [pytest.param(6, id="a sixth of the cases"), EVERY_CASE])
def test_a_round_of_each_subject_breaks_no_promise(library_folder: Path, part: int) -> None:
    command = [sys.executable, "-m", "bench.soak", "--folder", str(library_folder)]
    command += ["--only", ",".join(SUBJECTS), "--rounds", "1", "--seed", "3", "--share", str(part)]
    done = subprocess.run(
        command,
        cwd=HERE,
        env={**os.environ, "PYTHONPATH": str(HERE)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads((library_folder / "soak.json").read_text("utf-8"))["subjects"]
    assert [name for name in SUBJECTS if figures[name]["done"] == 0] == []
