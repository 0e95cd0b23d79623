"""How a failure is recognized, how its history is read, and which tests are called flaky."""

from __future__ import annotations

import json
import random
import string
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.evidence.flaky import FlakyTest, flaky_tests, wilson_interval
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.ledger import failed_results
from kl_hooks.model.receipt import Evidence
from kl_hooks.proof.failures import failure_histories, normalize_message, signature
from kl_hooks.workspace import Workspace, open_workspace
from tests.pytest_kl.recorded import git, repository, run_pytest
from tests.support import run_in_process

from tests.pytest_kl.recorded import environment  # isort: skip


def flaky_in(ws: Workspace) -> list[FlakyTest]:
    sync_evidence(ws)
    with ws.store.reading() as db:
        return flaky_tests(ws, db)


VARIABLE = st.one_of(
    st.integers(0, 10**12).map(str),
    st.floats(0, 1e6).map(str),
    st.integers(16, 2**64).map(hex),
    st.uuids().map(str),
    st.lists(
        st.text(string.ascii_lowercase + "_", min_size=1, max_size=8), min_size=2, max_size=5
    ).map(lambda parts: "/" + "/".join(parts) + "/f.py"),
)


def failure(message: str, **detail: Any) -> Evidence:
    return Evidence(
        "TestResult", "test:test_a.py::test_b", "failed", 0, None, {"message": message, **detail}
    )


@given(st.text(max_size=80))
def test_normalizing_twice_changes_nothing(text: str) -> None:
    once = normalize_message(text)
    assert normalize_message(once) == once


@given(st.lists(VARIABLE, min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_what_differs_from_run_to_run_makes_no_other_failure(
    values: list[str], chance: random.Random
) -> None:
    message = "KeyError: " + " and ".join(values)
    # the same sort of value with other digits
    other = "".join(chance.choice("123456789") if c in "123456789" else c for c in message)
    assert signature(failure(message)) == signature(failure(other))


def test_exception_frame_and_words_make_other_failures() -> None:
    one = failure("no such key: total", exception="KeyError", frame="a.py::f")
    assert signature(one) == signature(
        failure("no such key: total", exception="KeyError", frame="a.py::f", line=7)
    )
    for other in (
        failure("no such key: sum", exception="KeyError", frame="a.py::f"),
        failure("no such key: total", exception="LookupError", frame="a.py::f"),
        failure("no such key: total", exception="KeyError", frame="a.py::g"),
    ):
        assert signature(one) != signature(other)


@pytest.mark.parametrize(
    ("hits", "number", "low", "high"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (1, 1, 0.2065, 1.0)],
)
def test_intervals_are_those_of_the_literature(
    hits: int, number: int, low: float, high: float
) -> None:
    assert wilson_interval(hits, number) == pytest.approx((low, high), abs=5e-4)


# chance is a file beside the repository: no run records what it holds
RANDOM_SUITE = """
import pathlib, random
seed = int((pathlib.Path(__file__).parents[1] / "seed").read_text())
chance = random.Random(seed)

def test_by_chance():
    assert chance.random() >= 0.4

def test_by_state():
    assert seed % 3

def test_stable():
    assert True

def test_broken():
    assert False
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = repository(tmp_path_factory.mktemp("flaky") / "suite", {"test_luck.py": RANDOM_SUITE})
    for seed in range(6):
        (folder.parent / "seed").write_text(str(seed), encoding="utf-8")
        run_pytest(folder)
    # a change that matters: what failed before and passes now is no flaky test
    fixed = RANDOM_SUITE.replace("assert False", "assert True")
    (folder / "test_luck.py").write_text(fixed, encoding="utf-8")
    git(folder, "commit", "-qam", "Fix")
    (folder.parent / "seed").write_text("2", encoding="utf-8")
    run_pytest(folder)
    return folder


def test_flaky_tests_are_found_without_a_rerun_and_no_other(suite: Path) -> None:
    ws = open_workspace(suite)
    found = {one.test.partition("::")[2]: one for one in flaky_in(ws)}
    seeds = [random.Random(seed).random() < 0.4 for seed in range(6)]
    assert found.keys() == {"test_by_chance", "test_by_state"}
    # 6 runs of one content; the seventh is of another
    assert (found["test_by_chance"].failures, found["test_by_chance"].runs) == (sum(seeds), 6)
    assert (found["test_by_state"].failures, found["test_by_state"].runs) == (2, 6)
    low, high = found["test_by_state"].interval
    assert low < 2 / 6 < high
    assert all(one.failed.failed and one.passed.passed for one in found.values())


@pytest.mark.skipif(
    not hasattr(sys, "monitoring"), reason="executed symbols are recorded from CPython 3.12 on"
)
def test_a_pass_of_a_flaky_test_is_no_hard_evidence(suite: Path) -> None:
    def kl(*args: str) -> str:
        return run_in_process(args, suite, environment({})).stdout

    # the newest run is of other content, which is equal in all that the test depends on
    tiers = {
        one["about"]: one["tier"]
        for one in json.loads(kl("claim", "list", "--format", "json"))["claims"]
    }
    assert (
        tiers["test:test_luck.py::test_by_chance"],
        tiers["test:test_luck.py::test_stable"],
    ) == (
        "guessed",
        "inferred",
    )
    done = run_in_process(["verify"], suite, environment({}))
    flaky = [
        f"test_luck.py::test_by_{name} (failed in {hits} of 6 runs ("
        for name, hits in (("chance", 3), ("state", 2))
    ]
    assert done.returncode == 0 and "proven (inferred) except flaky " in done.stdout
    assert all(one in done.stdout and one in kl("status") for one in flaky)
    assert len(json.loads(kl("verify", "--format", "json"))["flaky"]) == 2
    for shown in (
        kl("graph", "show", "test_luck.test_by_state"),
        kl("proof", "tests", "test_luck.test_by_state"),
    ):
        assert " runs, flaky: failed in 2 of 6 runs (10% to 70%)" in shown
    assert "1 commit ago" not in kl("proof", "tests", "test_luck.test_by_state")


def test_both_commands_name_their_runs(suite: Path) -> None:
    listed = run_in_process(["proof", "flaky"], suite, environment({})).stdout.splitlines()
    assert len(listed) == 2
    assert any(
        "test_by_state: failed in 2 of 6 runs (10% to 70%); runs " in line for line in listed
    )
    answer = json.loads(
        run_in_process(
            ["proof", "why", "test_broken", "--format", "json"], suite, environment({})
        ).stdout
    )
    assert answer["schema"] == "kl.proof.why/3"
    assert [one["outcome"] for one in answer["results"]] == ["passed"] + ["failed"] * 6
    assert answer["history"][0].startswith("failed like this in 5 earlier runs, since ")
    shown = run_in_process(["proof", "why", "test_stable"], suite, environment({})).stdout
    assert "failures  none in 7 recorded runs" in shown


def test_a_test_that_nobody_recorded_or_that_several_are_named_like(suite: Path) -> None:
    none = run_in_process(["proof", "why", "test_nothing"], suite, environment({}))
    assert (none.returncode, none.stderr) == (
        2,
        "kl: test_nothing: no recorded run had a test of this name. See: kl evidence list\n",
    )


@pytest.mark.skipif(
    not hasattr(sys, "monitoring"), reason="executed symbols are recorded from CPython 3.12 on"
)
def test_what_changed_since_the_pass_is_named_and_chance_is_no_change(tmp_path: Path) -> None:
    source = (
        "def one():\n    return 1\n\ndef two():\n    return {two}\n\ndef far():\n    return {far}\n"
    )
    tests = "import pathlib, lib\n\ndef test_two():\n    assert lib.one() + lib.two() == 3\n\n"
    # chance is a file beside the repository: no run records what it holds
    tests += "luck = pathlib.Path(__file__).parents[1] / 'luck'\n\n"
    tests += "def test_luck():\n    assert lib.one() and luck.read_text() == 'good'\n"
    folder = repository(
        tmp_path / "lib", {"lib.py": source.format(two=2, far=0), "test_lib.py": tests}
    )
    for two, far, luck in ((2, 0, "good"), (3, 1, "bad"), (2, 2, "good")):
        (folder / "lib.py").write_text(source.format(two=two, far=far), encoding="utf-8")
        (tmp_path / "luck").write_text(luck, encoding="utf-8")
        run_pytest(folder)
    done = run_in_process(["proof", "why", "test_two", "--format", "json"], folder, environment({}))
    answer = json.loads(done.stdout)
    # not `far`, which no test executes
    assert answer["changed"] == ["function:lib.two"]
    assert answer["passed_before"] == answer["results"][2]["run"]
    assert answer["history"] == []
    pasted = "FAILED test_lib.py::test_two - assert 4 == 3"
    package = json.loads(
        run_in_process(["context", pasted, "--format", "json"], folder, environment({})).stdout
    )
    items = {one["id"]: one["reasons"] for one in package["items"]}
    assert "changed since the failing test passed" in items["function:lib.two"]
    ws = open_workspace(folder)
    # it failed and passed on three contents that are equal in all that it rests on; test_two did
    # not
    assert [(one.test, one.failures, one.runs) for one in flaky_in(ws)] == [
        ("test_lib.py::test_luck", 1, 2)
    ]


@pytest.mark.skipif(
    not hasattr(sys, "monitoring"), reason="executed symbols are recorded from CPython 3.12 on"
)
def test_another_environment_variable_is_no_chance(tmp_path: Path) -> None:
    source = "import os\n\ndef color():\n    return os.environ.get('COLOR', 'red')\n"
    tests = """
import os, lib

PLAIN = os.environ.get("PLAIN")

def test_color():
    assert lib.color() == "red"

def test_at_import():
    assert not PLAIN

def test_number():
    assert lib.color()
"""
    folder = repository(tmp_path / "lib", {"lib.py": source, "test_lib.py": tests})
    for variables in ({}, {"COLOR": "blue"}, {"COLOR": "red"}, {"PLAIN": "1"}):
        run_pytest(folder, env=variables)
    assert flaky_in(open_workspace(folder)) == []
    why = run_in_process(["proof", "why", "test_color"], folder, environment({})).stdout
    assert "changed   the variable COLOR, since it passed in run " in why


@pytest.mark.skipif(
    not hasattr(sys, "monitoring"), reason="executed symbols are recorded from CPython 3.12 on"
)
def test_a_variable_with_another_value_in_each_run_explains_nothing(tmp_path: Path) -> None:
    tests = """
import os, pathlib

# chance is a file beside the repository: no run records what it holds
luck = pathlib.Path(__file__).parents[1] / "luck"

def test_build():
    assert os.environ["BUILD"] and luck.read_text() == "good"
"""
    folder = repository(tmp_path / "lib", {"test_lib.py": tests})
    flaky_after = []
    for build, luck in enumerate(("good", "bad", "good", "bad")):
        (tmp_path / "luck").write_text(luck, encoding="utf-8")
        run_pytest(folder, env={"BUILD": str(build)})
        flaky_after.append([flaky.test for flaky in flaky_in(open_workspace(folder))])
    # of two runs the value may be the reason
    name = "test_lib.py::test_build"
    assert flaky_after == [[], [], [name], [name]]
    (tmp_path / "luck").write_text("good", encoding="utf-8")
    run_pytest(folder, env={"BUILD": "4"})
    # a pass of it is no evidence
    done = run_in_process(["verify"], folder, environment({}))
    assert done.returncode == 1 and "only flaky tests passed" in done.stdout


@pytest.mark.skipif(
    not hasattr(sys, "monitoring"), reason="executed symbols are recorded from CPython 3.12 on"
)
def test_what_another_process_ran_is_no_chance(tmp_path: Path) -> None:
    tests = (
        "import subprocess, sys\n\ndef test_cli():\n    subprocess.run([sys.executable, 'prog.py'],"
        " check=True)\n"
    )
    folder = repository(
        tmp_path / "cli", {"prog.py": "raise SystemExit(0)\n", "test_cli.py": tests}
    )
    run_pytest(folder)
    (folder / "prog.py").write_text("raise SystemExit(1)\n", encoding="utf-8")
    run_pytest(folder)
    ws = open_workspace(folder)
    sync_evidence(ws)
    assert flaky_in(ws) == []
    assert (
        "changed"
        not in run_in_process(["proof", "why", "test_cli"], folder, environment({})).stdout
    )


def test_a_failure_that_only_another_source_reports_is_no_relative(suite: Path) -> None:
    # JUnit has the failure of a test that every run of pytest passed
    report = suite.parent / "junit.xml"
    case = (
        '<testcase classname="test_luck" name="test_stable" file="test_luck.py"><failure'
        ' message="no luck"/></testcase>'
    )
    report.write_text(
        f'<testsuites><testsuite name="s">{case}</testsuite></testsuites>', encoding="utf-8"
    )
    tree = git(suite, "rev-parse", "HEAD^{tree}")
    done = run_in_process(
        ["evidence", "import", "junit", str(report), "--tree", tree], suite, environment({})
    )
    assert done.returncode == 0, done.stderr
    ws = open_workspace(suite)
    with ws.store.reading() as db:
        assert db is not None
        one = next(
            one
            for _, one in failed_results(db, 100)
            if one.subject == "test:test_luck.py::test_stable"
        )
    # the same failure, of another test: it leads to the attempts of this one, which all passed
    assert failure_histories(ws, {"test_luck.py::test_new": one}) == {}
