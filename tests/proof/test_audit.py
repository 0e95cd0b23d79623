"""How a hole shows: results that were called valid, and failed where their tests ran."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.proof.audit import sampled_tests
from tests.pytest_kl.recorded import environment, git, repository, run_pytest
from tests.support import run_in_process

needs_monitoring = pytest.mark.skipif(
    not hasattr(sys, "monitoring"), reason="recorded from CPython 3.12 on"
)


def test_the_sample_of_a_content_is_small_and_always_the_same() -> None:
    valid = {f"test_a.py::test_{number}": 4_000 for number in range(100)}
    sample = sampled_tests("aa", valid, 1_000_000)
    assert sample == sampled_tests("aa", dict(reversed(valid.items())), 1_000_000)
    assert len(sample) == 12  # 5 % of a second
    assert sample != sampled_tests("bb", valid, 1_000_000)
    assert sampled_tests("aa", valid, 100_000) == frozenset()
    assert sampled_tests("aa", {"test_a.py::test_long": 60_000}, 1_000_000) == frozenset()
    many = {f"test_a.py::test_{number}": 0 for number in range(10_000)}
    assert len(sampled_tests("aa", many, 10**9)) == 2_000  # two seconds


# what a library in C keeps is not recorded
PROGRAM = {
    "registry.py": (
        "import locale\ndef parse(): return 1\n"
        "def fill(): locale.bindtextdomain('kl-test', f'/{parse()}')\n"
        "def newest(): return int(locale.bindtextdomain('kl-test', None)[1:])\n"
    ),
    "test_registry.py": (
        "import pathlib, registry\n"
        "def test_fills():\n    registry.fill()\n    assert registry.newest() == int('1')\n"
        "def test_gets(): assert registry.newest() == 1\n"
        "def test_weather(): assert not pathlib.Path('rain').exists()\n"
        "def test_other(): assert True\n"
    ),
    ".gitignore": "rain\n",
}


def kl(folder: Path, *args: str) -> str:
    done = run_in_process([*args], folder, environment({}))
    assert done.returncode == 0, done.stderr
    return done.stdout


def audit_of(folder: Path) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(kl(folder, "proof", "audit", "--format", "json"))
    return answer


@needs_monitoring
def test_a_result_that_was_called_valid_and_fails_is_named_and_counted(tmp_path: Path) -> None:
    folder = repository(tmp_path / "program", PROGRAM)
    run_pytest(folder, "-p", "no:randomly")
    assert audit_of(folder)["checked"] == 0
    assert "audit " not in kl(folder, "status")
    for path, old, new in (
        ("registry.py", "return 1", "return 2"),
        ("test_registry.py", "int('1')", "int('2')"),
    ):
        (folder / path).write_text((folder / path).read_text().replace(old, new))
    git(folder, "commit", "-qam", "parse() returns 2")
    # valid by what was recorded, and the whole run shows the contrary; it rains, too
    (folder / "rain").touch()
    assert run_pytest(folder, "-p", "no:randomly").returncode == 1
    assert "audit     2 valid results wrong: kl proof audit" in kl(folder, "status")
    (folder / "rain").unlink()
    run_pytest(folder, "-p", "no:randomly")
    answer = audit_of(folder)
    assert (answer["checked"], answer["wrong"], answer["runs"]) == (3, 1, 3)
    assert 0 < answer["interval"][0] < 1 / 3 < answer["interval"][1]
    states = {entry["test"].partition("::")[2]: entry for entry in answer["disagreements"]}
    assert states["test_gets"]["state"] == "counted"
    assert states["test_gets"]["changed"] == ["registry.py", "test_registry.py"]
    assert states["test_weather"]["state"] == "flaky"  # it passed on the same content
    shown = kl(folder, "proof", "audit")
    assert "1 of 3 valid results wrong (33.33%; 95 %: " in shown
    assert "test_registry.py::test_gets: failed in run " in shown


@needs_monitoring
def test_a_failure_in_a_run_of_few_tests_counts_once_it_is_repeated(tmp_path: Path) -> None:
    folder = repository(tmp_path / "program", PROGRAM)
    run_pytest(folder)
    (folder / "registry.py").write_text(PROGRAM["registry.py"] + "def unused(): return 1\n")
    git(folder, "commit", "-qam", "unused")
    (folder / "rain").touch()
    run_pytest(folder, "test_registry.py::test_weather")
    answer = audit_of(folder)
    assert [entry["state"] for entry in answer["disagreements"]] == ["not run again"]
    assert answer["wrong"] == 0
    assert "hint: pytest test_registry.py::test_weather" in kl(folder, "proof", "audit")
    run_pytest(folder, "test_registry.py")
    answer = audit_of(folder)
    assert [entry["state"] for entry in answer["disagreements"]] == ["counted"]


SLOW = "import time\ndef compute():\n    time.sleep(0.5)\n    return 1\n"
TESTS = """
import os, pytest, slow
def test_slow(): assert slow.compute() == 1
@pytest.mark.parametrize("number", range(40))
def test_quick(number): assert os.environ["RAIN"] == "no"
"""


@needs_monitoring
def test_impacted_runs_a_sample_of_valid_tests(tmp_path: Path) -> None:
    files = {"slow.py": SLOW, "test_slow.py": TESTS}
    folder = repository(tmp_path / "program", files)
    dry = {"RAIN": "no"}
    run_pytest(folder, env=dry)
    (folder / "slow.py").write_text(SLOW.replace("return 1", "return 2 - 1"))
    for args, variables in (("--kl-audit=off",), {}), ((), {"KL_AGENT": "some"}):
        done = run_pytest(folder, "--kl-impacted", "--co", "-q", *args, env=variables | dry)
        assert "1/41 tests collected (40 deselected)" in done.stdout, done.stdout
        assert "sample" not in done.stdout
    # another value of a variable is not compared: a hole that is known
    wet = {"RAIN": "yes"}
    done = run_pytest(folder, "--kl-impacted", env=wet)
    assert "with a valid result run as a sample" in done.stdout, done.stdout
    # a test that fails is a failing test, whatever its earlier result was
    assert done.returncode == 1
    assert "failed, and its earlier result was valid. Run it alone" in done.stdout
    again = run_pytest(folder, "--kl-impacted", "--co", "-q", env=wet)
    assert "test_slow.py::test_quick" in again.stdout  # it failed
