"""Suites of other projects, run again and again: each run is a fork of one process that has
imported pytest already.

RUNS THE TESTS OF THESE REPOSITORIES in scratch clones: code of strangers, so nothing here is a
command of kl.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from bench.failing_tests import git, scratch
from bench.measure import environment
from pytest_kl.listener import clean_id

CLONES: Final = "KL_BENCH_CLONES"
"""A folder with clones, by the names of `SUITES`."""
PLUGIN: Final = ("-p", "pytest_kl.plugin", "--kl")
_SECONDS: Final = 300
# a file that a broken test leaves open fails the later test in which it is collected: nothing that
# this one executes
_QUIET: Final = (
    "-p",
    "no:unraisableexception",
    "-p",
    "no:randomly",
    "-o",
    "cache_dir=.git/pytest_cache",
)
_FIXED: Final = ("-q", "--tb=no", "--continue-on-collection-errors", *_QUIET, "-o", "addopts=")


@dataclass(frozen=True)
class Suite:
    """A project whose tests are run."""

    name: str
    source: str
    """The folder of what is mutated."""
    module: str
    quick: tuple[str, ...]
    """Files of tests that take seconds together."""
    full: tuple[str, ...] = ("tests",)
    """With the options that omit what needs hours, or more than this machine."""


_CROSS_PRODUCTS: Final = (
    "test_version.py::TestVersion::test_comparison_true",
    "test_version.py::TestVersion::test_comparison_false",
    "test_requirements.py::test_basic_valid_requirement_parsing",
)
"""56,000 of packaging's 62,000 tests: every version compared with every other one."""
SUITES: Final = (
    Suite(
        "attrs",
        "src/attr",
        "attr",
        ("tests/test_converters.py", "tests/test_funcs.py", "tests/test_functional.py"),
        ("tests", "--ignore=tests/test_mypy.yml", "--ignore=tests/test_pyright.py"),
    ),
    Suite(
        "click",
        "src/click",
        "click",
        (
            "tests/test_basic.py",
            "tests/test_parser.py",
            "tests/test_formatting.py",
            "tests/test_arguments.py",
            "tests/test_commands.py",
        ),
        ("tests", "-m", "not stress"),
    ),
    Suite(
        "flask",
        "src/flask",
        "flask",
        (
            "tests/test_basic.py",
            "tests/test_config.py",
            "tests/test_helpers.py",
            "tests/test_json.py",
            "tests/test_views.py",
        ),
    ),
    Suite(
        "packaging",
        "src/packaging",
        "packaging",
        (
            "tests/test_utils.py",
            "tests/test_direct_url.py",
            "tests/test_metadata.py",
            "tests/test_errors.py",
        ),
        (
            "tests",
            "--ignore=tests/property",
            *(f"--deselect=tests/{name}" for name in _CROSS_PRODUCTS),
        ),
    ),
)


def found_suites(repos: Sequence[Path]) -> list[tuple[Suite, Path]]:
    """The suites of which a clone is there: those that are named, else those in the folder of
    `CLONES`.
    """
    folder = os.environ.get(CLONES)
    paths = list(repos) or ([Path(folder) / one.name for one in SUITES] if folder else [])
    known = {one.name: one for one in SUITES}
    found = [(known[path.name], path) for path in paths if path.name in known and path.is_dir()]
    if not found:
        print(
            f"  not measured: give --repo, or name a folder with clones of {', '.join(known)} in"
            f" {CLONES}"
        )
    return found


@contextmanager
def clone_of(path: Path) -> Iterator[Path]:
    """A scratch clone at HEAD, in which kl is set up."""
    with tempfile.TemporaryDirectory() as folder:
        clone = scratch(path, Path(folder))
        git(clone, "checkout", "--quiet", "--detach", "HEAD")
        (clone / ".kl").mkdir(exist_ok=True)
        (clone / ".kl" / "config.yaml").write_text("", encoding="utf-8")
        (clone / ".git" / "info").mkdir(exist_ok=True)
        with (clone / ".git" / "info" / "exclude").open("a") as file:
            file.write(".kl/\n.hypothesis/\n.testmondata*\n")
        yield clone


class _Outcomes:
    """The verdict of each test: the worst of its phases; of a file that can't be collected, under
    its path.
    """

    def __init__(self) -> None:
        self.found: dict[str, str] = {}

    def pytest_configure(self) -> None:
        """Hypothesis with the same examples each time, without deadlines: a loaded machine must not
        fail a test.
        """
        if importlib.util.find_spec("hypothesis") is None:
            return
        # not before the recording begins: it imports attrs
        from hypothesis import HealthCheck, settings

        settings.register_profile(
            "bench",
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        settings.load_profile("bench")

    def pytest_runtest_logreport(self, report: Any) -> None:
        if (
            report.failed
            or report.nodeid not in self.found
            or self.found[report.nodeid] == "passed"
        ):
            before = self.found.get(report.nodeid)
            self.found[report.nodeid] = before if report.passed and before else report.outcome

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.found[report.nodeid] = "failed"


def run_suite(
    clone: Path, module: str, *args: str, environ: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Node ID → `passed`, `failed`, `skipped`, of a run in a process of its own; empty where it did
    not finish.
    """
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "outcomes.json"
        child = os.fork()
        if not child:
            _in_child(clone, module, args, answer, environ or {})
        until = time.monotonic() + _SECONDS
        while os.waitpid(child, os.WNOHANG)[0] == 0:
            if time.monotonic() > until:
                os.kill(child, 9)
                os.waitpid(child, 0)
                break
            time.sleep(0.02)
        with contextlib.suppress(OSError, ValueError):
            # as in receipts: a parameter may look like a secret, or be very long
            return {
                clean_id(name): outcome for name, outcome in json.loads(answer.read_text()).items()
            }
    return {}


def _in_child(
    clone: Path, module: str, args: Sequence[str], answer: Path, environ: Mapping[str, str]
) -> None:
    try:
        os.chdir(clone)
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        os.environ.update(
            {
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
                "PYTHONPATH": str(clone / "src"),
                "COLUMNS": "80",
                **environ,
            }
        )
        # of a file that was written within a second Python may use the old bytecode (PEP 552)
        sys.dont_write_bytecode = True
        sys.path[:0] = [str(clone / "src"), str(clone)]
        for name in [
            name for name in sys.modules if name == module or name.startswith(f"{module}.")
        ]:
            del sys.modules[name]
        outcomes = _Outcomes()
        pytest.main([*_FIXED, *args], plugins=[outcomes])
        answer.write_text(json.dumps(outcomes.found))
    finally:
        os._exit(0)


def first_parents(repo: Path, number: int) -> list[str]:
    """The newest commits of the first-parent line, oldest first."""
    out = subprocess.run(
        ["git", "rev-list", "--first-parent", f"--max-count={number}", "HEAD"],
        cwd=repo,
        env=environment(),
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return out.split()[::-1]
