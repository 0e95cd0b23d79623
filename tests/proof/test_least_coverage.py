"""The least coverage that the configuration of a suite asks for."""

from __future__ import annotations

from typing import Any

import pytest

from kl_hooks.evidence.measured_coverage import MeasuredCoverage
from kl_hooks.proof.least_coverage import LeastCoverage, least_coverage
from kl_hooks.proof.pytest_config import PytestConfigs
from tests.support import Checkout

APP = "def f(x):\n    y = x + 1\n    z = y + 1\n    return z\n"
LATER = "\n\ndef later(x):\n    a = 1\n    b = 2\n    c = 3\n    return x\n"
MEASURING = "[pytest]\naddopts = -p pytest_cov.plugin --cov=app --cov-report=\n"


def asked(files: dict[str, str]) -> list[tuple[str, float, str]]:
    read = {path: text.encode() for path, text in files.items()}.get
    configs = PytestConfigs.of(files, read).by_folder.values()
    return [tuple(least) for least in least_coverage(configs, read)]


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
        ({"pytest.ini": MEASURING, ".coveragerc": "[report]\nfail_under = all\n"}, None),
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
        ({"pytest.ini": MEASURING, "setup.cfg": "[coverage:report"}, None),
    ],
)
def test_what_a_configuration_asks_for(
    files: dict[str, str], least: tuple[Any, ...] | None
) -> None:
    assert asked(files) == ([(*least, "")[:3]] if least else [])


def test_a_total_is_rounded_as_coverage_does() -> None:
    def is_met(percent: float, hundredths: int, precision: int = 0) -> bool:
        coverage = MeasuredCoverage(hundredths, precision, (), "run", False)
        return LeastCoverage("pytest.ini", percent).is_met_by(coverage)

    assert is_met(90, 8950) and not is_met(90, 8949) and not is_met(90, 8950, 2)
    assert is_met(100, 10_000) and not is_met(100, 9999)


@pytest.mark.slow
def test_a_content_whose_coverage_nobody_measured_is_not_proven(repo: Checkout) -> None:
    pytest.importorskip("pytest_cov")
    repo.write("app.py", APP)
    repo.write("test_app.py", "import app\n\n\ndef test_f():\n    assert app.f(1) == 3\n")
    repo.write("pytest.ini", MEASURING)
    repo.write(".coveragerc", "[report]\nfail_under = 50\n")
    repo.write(".gitignore", ".coverage\n")
    repo.write("README.md", "A program.\n")
    repo.commit()
    repo.pytest("-q")
    assert repo.kl("verify").returncode == 0

    # a document changes no coverage
    repo.write("README.md", "The program.\n")
    repo.commit()
    assert "transferred" in repo.kl("verify").stdout

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
    # tests that pass without being measured show nothing of it
    repo.pytest("-q", "--no-cov")
    assert repo.kl("verify").returncode == 1
    repo.pytest("-q")
    assert repo.kl("verify").returncode == 0

    repo.write(".coveragerc", "[report]\nfail_under = 90\n")
    repo.commit()
    assert repo.kl("verify").returncode == 1
    assert repo.pytest("-q").returncode == 1
    assert repo.kl("verify").returncode == 1
