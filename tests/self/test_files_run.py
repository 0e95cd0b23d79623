"""The files of kl_hooks in which a command runs code: a reader who follows it opens as many, so
each has a limit.
"""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import HERE, Checkout, checkout, isolate

TOOL = HERE / "tools" / "files_run.py"
LIMITS = {
    ("arch", "check"): (45, 68),
    ("context", "total of an order"): (80, 165),
    # with the scanner and the resolver: possible calls are read from the source
    ("graph", "callers", "total"): (51, 99),
    ("memory", "review"): (45, 112),
    # what is written is read back by the Markdown parser that pages have
    ("decision", "new", "Use SQLite", "--context", "c", "--decision", "d"): (51, 94),
}
"""Command → most files with a function that is called, and most files that are imported."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    patch = pytest.MonkeyPatch()
    base = tmp_path_factory.mktemp("files-run")
    isolate(patch, base / "home")
    made = checkout(base / "shop", runpy.run_path(str(TOOL))["FILES"])
    assert made.kl("init", "--yes").returncode == 0
    yield made
    patch.undo()


@pytest.mark.parametrize("command", LIMITS, ids=" ".join)
def test_a_command_runs_code_in_few_files(
    shop: Checkout, tmp_path: Path, command: tuple[str, ...]
) -> None:
    # what a command leaves changes what others do
    shutil.copytree(shop.root, tmp_path / "shop", symlinks=True)
    call = [sys.executable, str(TOOL), "--repo", str(tmp_path / "shop"), "--list", *command]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = re.search(r"code ran in (\d+) files of kl_hooks, (\d+) were imported", done.stdout)
    assert found, done.stdout
    called, imported = int(found[1]), int(found[2])
    assert (called <= LIMITS[command][0], imported <= LIMITS[command][1]) == (True, True), (
        done.stdout
    )


def test_the_tool_sets_up_a_repository_of_its_own() -> None:
    done = subprocess.run(
        [sys.executable, str(TOOL), "--list", "--cold", "arch", "check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "clean: checked" in done.stderr
    assert "\n  cli/main.py\n" in done.stdout
    assert "\n- __init__.py\n" in done.stdout
