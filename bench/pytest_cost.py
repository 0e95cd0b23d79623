"""What recording costs a test run: our own code per test, beside pytest-reportlog; and whole runs
with and without.

Run it with `python bench/pytest_cost.py` in an environment that has pytest and pytest-reportlog. It
prints figures and ratios and judges nothing: a busy machine must not fail a build.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HERE))

Reports = Sequence[tuple[str, list[Any]]]
Play = Callable[[Reports], None]


class Grab:
    """A plugin that keeps every report of a run, by test."""

    def __init__(self) -> None:
        self.config: Any = None
        self.tests: list[tuple[str, list[Any]]] = []

    def pytest_configure(self, config: Any) -> None:
        self.config = config

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.tests.append((nodeid, []))

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.tests[-1][1].append(report)


def suite(folder: Path, tests: int, body: str) -> Path:
    """A repository of parametrised tests in classes, ten files."""
    for number in range(10):
        text = (
            "import pytest\nclass TestSomethingUsual:\n"
            f"    @pytest.mark.parametrize('case', range({tests // 10}))\n"
            f"    def test_of_the_usual_length(self, case):\n        {body}\n"
        )
        (folder / "tests").mkdir(exist_ok=True)
        (folder / "tests" / f"test_module_{number}.py").write_text(text, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (folder / ".kl").mkdir()
    for command in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "b"],
    ):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


def real_reports(folder: Path) -> Grab:
    """The reports of one run in this process."""
    import pytest

    grab = Grab()
    pytest.main(
        ["-p", "no:cacheprovider", "-p", "no:terminal", f"--rootdir={folder}", str(folder)],
        plugins=[grab],
    )
    return grab


def ours(folder: Path, tests: Reports) -> Play:
    """Our listener, writing to a real spool file that is open already (what opening costs is in the
    whole runs).
    """
    from kl_hooks.store.spool import SpoolWriter
    from pytest_kl.listener import Journal, Listener

    def failed(problem: Exception) -> None:
        raise problem

    writer = SpoolWriter.create(folder, os.urandom(8).hex())
    journal = Journal(writer)
    journal.expect([nodeid for nodeid, _ in tests])
    listener = Listener(journal, "/", failed)

    def play(tests: Reports) -> None:
        for nodeid, reports in tests:
            listener.pytest_runtest_logstart(nodeid)
            for report in reports:
                listener.pytest_runtest_logreport(report)

    return play


def reportlog(folder: Path, config: Any) -> Play:
    """pytest-reportlog's hook, writing to a real file that is open already."""
    from pytest_reportlog.plugin import ReportLogPlugin

    plugin = ReportLogPlugin(config, folder / os.urandom(8).hex())

    def play(tests: Reports) -> None:
        for _, reports in tests:
            for report in reports:
                plugin.pytest_runtest_logreport(report)

    return play


def nothing(tests: Reports) -> None:
    """The loop alone, with a call of a method that does nothing."""

    class Empty:
        def pytest_runtest_logstart(self, nodeid: str) -> None: ...

        def pytest_runtest_logreport(self, report: Any) -> None: ...

    empty = Empty()
    for nodeid, reports in tests:
        empty.pytest_runtest_logstart(nodeid)
        for report in reports:
            empty.pytest_runtest_logreport(report)


def interleaved(
    ready: dict[str, Callable[[], Play]], tests: Reports, rounds: int
) -> dict[str, list[float]]:
    """Microseconds per test of each, one after another in every round."""
    times: dict[str, list[float]] = {name: [] for name in ready}
    for _ in range(rounds):
        for name, made in ready.items():
            play = made()
            start = time.perf_counter()
            play(tests)
            times[name].append((time.perf_counter() - start) / len(tests) * 1e6)
    return times


def whole_runs(folder: Path, rounds: int) -> dict[str, list[float]]:
    """Seconds of `pytest` in a process of its own, without us and with us, in turns."""
    environ = {**os.environ, "PYTHONPATH": str(HERE), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    variants = {"without": [], "with": ["-p", "pytest_kl.plugin"]}
    times: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(rounds):
        for name, more in variants.items():
            start = time.perf_counter()
            subprocess.run(
                [*command, *more], cwd=folder, env=environ, check=True, capture_output=True
            )
            times[name].append(time.perf_counter() - start)
    return times


def main() -> None:
    """Prints the figures, and as JSON with `--json`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "repository").mkdir()
        folder = suite(Path(name) / "repository", asked.tests, "pass")
        grab = real_reports(folder)
        ready = {
            "loop": lambda: nothing,
            "kl": lambda: ours(Path(name), grab.tests),
            "reportlog": lambda: reportlog(Path(name), grab.config),
        }
        times = interleaved(ready, grab.tests, asked.rounds)
        runs = whole_runs(folder, max(3, asked.rounds // 2))
        with tempfile.TemporaryDirectory() as other:
            slow = suite(Path(other), 400, "import time; time.sleep(0.01)")
            longer = whole_runs(slow, 3)
    best = {key: min(values) for key, values in times.items()}
    kl, log = best["kl"] - best["loop"], best["reportlog"] - best["loop"]
    base, with_us = statistics.median(runs["without"]), statistics.median(runs["with"])
    base_slow, with_slow = statistics.median(longer["without"]), statistics.median(longer["with"])
    figures = {
        "tests": len(grab.tests),
        "kl_us_per_test": round(kl, 2),
        "reportlog_us_per_test": round(log, 2),
        "kl_to_reportlog": round(kl / log, 3),
        "empty_tests_run_s": [round(base, 3), round(with_us, 3)],
        "empty_tests_ratio": round(with_us / base, 3),
        "tests_of_10_ms_run_s": [round(base_slow, 3), round(with_slow, 3)],
        "tests_of_10_ms_ratio": round(with_slow / base_slow, 3),
    }
    if asked.json:
        print(json.dumps(figures))
        return
    print(f"our code            {kl:7.2f} us a test   (goal 5)")
    print(f"pytest-reportlog    {log:7.2f} us a test")
    print(f"ratio               {kl / log:7.3f}             (goal 0.15)")
    for what, (without, us) in (
        ("empty tests", (base, with_us)),
        ("400 tests of 10 ms", (base_slow, with_slow)),
    ):
        ratio = f"{us / without:.3f}, {us - without:+.3f} s (goal 1.01 and 0.1 s)"
        print(f"{what:19} {without:.3f} s without, {us:.3f} s with: {ratio}")


if __name__ == "__main__":
    main()
