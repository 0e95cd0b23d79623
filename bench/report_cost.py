"""What `kl report` costs: CPU, memory, the size of its page, and how long a browser takes to show
it.

    python -m bench.report_cost [--repository FOLDER] [--runs 200] [--tests 20000]

Measured are Django's sdist without a run, a store of many runs of many tests, and the folders that
are named, such as a clone of kl with its recorded suite. The second call counts: the first one
reads each file.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from bench.corpora import unpacked
from bench.measure import cost
from bench.table import MISSING, Row, show
from bench.team_scale import ingest, receipt
from kl_hooks.workspace import open_workspace

_REPORT: Final = (sys.executable, "-m", "kl_hooks", "report", "-o")
_SECONDS: Final = 10.0
_MEGABYTES: Final = 300.0
_PAGE: Final = 15.0
"""Megabytes of the page with its data."""
_SHOWN: Final = 2.0
"""Seconds until a view can be used."""
_TESTS_OF_FILE: Final = 40


def repository(folder: Path) -> None:
    """Commit what is in a folder, and let kl keep its state there."""
    (folder / ".kl").mkdir(exist_ok=True)
    (folder / ".kl" / "config.yaml").touch()
    identity = ("-c", "user.name=b", "-c", "user.email=b@b")
    for command in (("init", "-q"), ("add", "-A"), (*identity, "commit", "-qm", "Begin")):
        subprocess.run(["git", "-C", str(folder), *command], check=True)


def history(folder: Path, runs: int, tests: int) -> None:
    """A repository with tests, and a store with the receipts of its runs."""
    for first in range(0, tests, _TESTS_OF_FILE):
        place = folder / f"tests/unit/test_{first // _TESTS_OF_FILE:03}.py"
        place.parent.mkdir(parents=True, exist_ok=True)
        numbers = range(first, min(first + _TESTS_OF_FILE, tests))
        place.write_text("\n".join(f"def test_case_{n}():\n    pass\n" for n in numbers))
    repository(folder)
    store = open_workspace(folder).store
    for number in range(runs):
        ingest(store, receipt(number, tests))


def seconds_until_shown(page: Path) -> float | None:
    """Of the view of the tests, in Chromium; None without it."""
    program = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if program is None:
        return None
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        tab: Any = browser.new_page()
        started = time.perf_counter()
        tab.goto(f"{page.as_uri()}#tests")
        tab.wait_for_function("document.body.dataset.shown === '#tests'")
        passed = time.perf_counter() - started
        browser.close()
    return passed


def limited(side: str, amount: float, unit: str, limit: float) -> Row:
    """A row for an amount that has a limit of its own."""
    return Row(side, f"{amount:,.1f} {unit}", amount / limit, f"{limit:g} {unit}", 1.0)


def rows(name: str, folder: Path, place: Path) -> Iterator[Row]:
    """What the report of a repository costs. `place`: a folder for the page."""
    page = place / f"{name}.html"
    for _ in range(2):
        took = cost(*_REPORT, str(page), cwd=folder)
    yield limited(f"{name}: report", took.cpu / 1000, "s CPU", _SECONDS)
    yield limited(f"{name}: memory", took.peak, "MB", _MEGABYTES)
    yield limited(f"{name}: page", page.stat().st_size / 1e6, "MB", _PAGE)
    shown = seconds_until_shown(page)
    if shown is None:
        yield Row(f"{name}: shown", MISSING)
    else:
        yield limited(f"{name}: shown", shown, "s", _SHOWN)


def main() -> int:
    """0 if all was measured."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repository", type=Path, action="append", default=[])
    options.add_argument("--runs", type=int, default=200)
    options.add_argument("--tests", type=int, default=20_000)
    choices = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        os.environ["XDG_CACHE_HOME"] = str(place / "cache")
        os.environ["XDG_STATE_HOME"] = str(place / "state")
        (place / "runs").mkdir()
        history(place / "runs", choices.runs, choices.tests)
        folders = {f"{choices.runs} runs": place / "runs"}
        try:
            folders["Django"] = unpacked("Django", place / "django")
            repository(folders["Django"])
        except subprocess.CalledProcessError as problem:
            print(f"without Django: {problem}", file=sys.stderr)
        folders |= {folder.name: folder for folder in choices.repository}
        measured = [row for name, folder in folders.items() for row in rows(name, folder, place)]
    show("kl report", measured)
    return 0


if __name__ == "__main__":
    sys.exit(main())
