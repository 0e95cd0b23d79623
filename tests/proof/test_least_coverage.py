"""The least coverage that the configuration of a suite asks for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.evidence.measured_coverage import MeasuredCoverage
from kl_hooks.proof.least_coverage import LeastCoverage, least_coverage
from kl_hooks.proof.pytest_config import PytestConfig, PytestConfigs
from tests.support import Checkout

APP = "def f(x):\n    y = x + 1\n    z = y + 1\n    return z\n"
LATER = "\n\ndef later(x):\n    a = 1\n    b = 2\n    c = 3\n    return x\n"
MEASURING = "[pytest]\naddopts = -p pytest_cov.plugin --cov=app --cov-report=\n"


def asked(files: dict[str, str]) -> list[tuple[Any, ...]]:
    """(file that asks, percentage, folder) of each demand."""
    read = {path: text.encode() for path, text in files.items()}.get
    configs = PytestConfigs.of(files, read).by_folder.values()
    return [least[:3] for least in least_coverage([*configs, *configs], read)]


@pytest.mark.parametrize(
    ("files", "least"),
    [
        ({"pytest.ini": "[pytest]\naddopts = --cov --cov-fail-under=90\n"}, ("pytest.ini", 90)),
        ({"pytest.ini": "[pytest]\naddopts = --cov-fail-under=90\n"}, None),
        ({"pytest.ini": "[pytest]\naddopts = --cov=a --no-cov --cov-fail-under=90\n"}, None),
        ({"pytest.ini": "[pytest]\naddopts = --cov=a --cov-reset --cov-fail-under=9\n"}, None),
        ({"pytest.ini": "[pytest]\naddopts = --cov --cov-fail-under=much\n"}, None),
        ({"pytest.ini": MEASURING}, None),
        (
            {"pytest.ini": MEASURING, ".coveragerc": "[report]\nfail_under = 50\n"},
            (".coveragerc", 50),
        ),
        (
            {"pytest.ini": MEASURING, ".coveragerc": "[coverage:report]\nfail_under: 1.5"},
            (".coveragerc", 1.5),
        ),
        ({"pytest.ini": MEASURING, ".coveragerc": "[report]\nfail_under = 0\n"}, None),
        (
            {"pytest.ini": MEASURING, ".coveragerc": "[report]\nfail_under = all\n"},
            (".coveragerc", None),
        ),
        # the first file counts, though another one asks for more
        (
            {
                "pytest.ini": MEASURING,
                ".coveragerc": "[run]\nbranch = true\n",
                "pyproject.toml": "[tool.coverage.report]\nfail_under = 80\n",
            },
            None,
        ),
        (
            {
                "pytest.ini": MEASURING,
                "setup.cfg": "[metadata]\nname = a\n",
                "tox.ini": "[testenv]\ndeps = a\n",
                "pyproject.toml": "[tool.coverage.report]\nfail_under = 80\n",
            },
            ("pyproject.toml", 80),
        ),
        (
            {"pytest.ini": MEASURING, "setup.cfg": "[coverage:report]\nfail_under = 70\n"},
            ("setup.cfg", 70),
        ),
        (
            {
                "pytest.ini": MEASURING,
                "setup.cfg": "[coverage:run]\nbranch = true\n",
                "tox.ini": "[coverage:report]\nfail_under = 70\n",
            },
            None,
        ),
        (
            {"pytest.ini": MEASURING, ".coveragerc.toml": "[report]\nfail_under = 3\n"},
            (".coveragerc.toml", 3),
        ),
        (
            {
                "pyproject.toml": '[tool.pytest.ini_options]\naddopts = ["--cov", "--cov-config=c.cfg"]\n',
                "c.cfg": "[report]\nfail_under = 60\n",
                ".coveragerc": "[report]\nfail_under = 50\n",
            },
            ("c.cfg", 60),
        ),
        (
            {"a/pytest.ini": MEASURING, "a/.coveragerc": "[report]\nfail_under = 5\n"},
            ("a/.coveragerc", 5, "a"),
        ),
        # what can't be read may ask for any
        ({"pytest.ini": MEASURING, "setup.cfg": "[coverage:report"}, ("setup.cfg", None)),
        (
            {"pytest.ini": MEASURING, ".coveragerc": "[report]\nfail_under = ${LEAST-90}\n"},
            (".coveragerc", None),
        ),
        ({"pytest.ini": "[pytest]\naddopts = --cov --cov-config=ci.conf"}, ("ci.conf", None)),
        (
            {
                "a/pytest.ini": "[pytest]\naddopts = --cov --cov-config=../.coveragerc\n",
                ".coveragerc": "[report]\nfail_under = 5\n",
            },
            (".coveragerc", 5, "a"),
        ),
    ],
)
def test_what_a_configuration_asks_for(
    files: dict[str, str], least: tuple[Any, ...] | None
) -> None:
    assert asked(files) == ([(*least, "")[:3]] if least else [])


def test_a_configuration_of_many_files_is_asked_once() -> None:
    """Each of a thousand test files has it."""
    asked: list[str] = []

    def read(path: str) -> bytes | None:
        asked.append(path)
        return b"[report]\nfail_under = 5\n" if path == ".coveragerc" else None

    config = PytestConfig("pytest.ini", addopts=("--cov",))
    (least,) = least_coverage([config] * 1000, read)
    assert (least.path, asked) == (".coveragerc", [".coveragerc"])


def coverage(hundredths: int, *, least: float | None = None, **more: Any) -> MeasuredCoverage:
    precision, sources = more.get("precision", 0), more.get("sources", ())
    return MeasuredCoverage(hundredths, precision, sources, "run", False, least)


@given(st.integers(0, 10_000), st.integers(0, 1000), st.integers(0, 2))
def test_a_run_that_coverage_accepts_has_reached_it(
    total: int, tenths: int, precision: int
) -> None:
    """As coverage.py compares: what it found itself is recorded, too."""
    results = pytest.importorskip("coverage.results")
    percent = tenths / 10
    fails = results.should_fail_under(total / 100, percent, precision)
    judged = coverage(total, least=None if fails else percent, precision=precision)
    assert judged.has_reached(percent) is not fails or (
        # without a judgement a total is rounded to the digits of the run alone
        fails and judged.rounded >= percent
    )


def test_what_was_measured_must_be_the_same() -> None:
    demand = LeastCoverage("pytest.ini", 90, sources=("app",))
    assert demand.is_met_by(coverage(9500, sources=("app",)))
    assert not demand.is_met_by(coverage(9500, sources=("tests",)))
    # a shared run has no names of folders
    assert demand.is_met_by(coverage(9500))
    assert not demand.is_met_by(coverage(8900))
    assert LeastCoverage(".coveragerc", None).is_met_by(coverage(100))


@pytest.mark.slow
def test_a_content_whose_coverage_nobody_measured_is_not_proven(repo: Checkout) -> None:
    pytest.importorskip("pytest_cov")
    repo.write("app.py", APP)
    repo.write("test_app.py", "import app\n\n\ndef test_f():\n    assert app.f(1) == 3\n")
    repo.write("pytest.ini", MEASURING)
    repo.write(".coveragerc", "[report]\nfail_under = 50\n")
    repo.write(".gitignore", ".coverage\n__pycache__/\n.pytest_cache/\n")
    repo.write("README.md", "A program.\n")
    repo.commit()
    repo.pytest("-q")
    assert repo.kl("verify").returncode == 0

    # a document changes no coverage
    repo.write("README.md", "The program.\n")
    repo.commit()
    assert "transferred" in repo.kl("verify").stdout

    repo.pytest("-q", "--no-cov")
    assert repo.kl("verify").returncode == 0

    repo.write("app.py", APP + LATER)
    repo.commit()
    verdict = repo.kl("verify")
    assert (verdict.returncode, verdict.stdout.splitlines()[0].partition(": ")[2]) == (
        1,
        "not proven: .coveragerc asks for 50 % coverage, and no run of all tests measured that of"
        " this content",
    )
    assert "hint: pytest\n" in verdict.stdout
    assert "not proven: .coveragerc asks for 50 %" in repo.kl("status").stdout
    # tests that pass without being measured, or part of them, or of other code, show nothing of it
    for options in (["--no-cov"], ["test_app.py::test_f"], ["--cov-reset", "--cov=test_app"]):
        repo.pytest("-q", *options)
        assert repo.kl("verify").returncode == 1, options
    repo.pytest("-q")
    assert repo.kl("verify").returncode == 0

    repo.write(".coveragerc", "[report]\nfail_under = 90\n")
    repo.commit()
    assert repo.kl("verify").returncode == 1
    assert repo.pytest("-q").returncode == 1
    assert repo.kl("verify").returncode == 1
