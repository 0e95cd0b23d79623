"""A test whose parameters may have changed is settled by a run that asked for all of them."""

from __future__ import annotations

from pathlib import Path

from tests.evidence.making import executed_sets, leave_run
from tests.support import checkout

SOURCE = """import pytest

@pytest.mark.parametrize("n", [1, 2])
def test_small(n):
    assert n < 3
"""
TEST = "test_small.py::test_small"


def test_a_new_parameter_is_not_covered_by_the_old_ones(tmp_path: Path, home: Path) -> None:
    repo = checkout(tmp_path / "repo", {"test_small.py": SOURCE, "pytest.ini": "[pytest]\n"})
    cases = [(f"{TEST}[{n}]", "passed", 5) for n in (1, 2, 3)]
    part = {"left_out": {"files": 1, "first": ["test_small.py"]}}
    places = dict.fromkeys(
        ("function:test_small.test_small", "namespace:test_small"), "test_small.py"
    )
    sets = {name: {"function:test_small.test_small": "call"} for name, _, _ in cases}
    executed = executed_sets(sets, places)
    leave_run(repo.workspace(), cases[:2], executed=executed)
    repo.write("test_small.py", SOURCE.replace("[1, 2]", "[1, 2, 3]"))
    named = {"args": [name for name, _, _ in cases[:2]], **part}
    leave_run(repo.workspace(), cases[:2], selection=named, executed=executed)
    verdict = repo.kl("verify")
    assert (verdict.returncode, f"hint: pytest {TEST}\n" in verdict.stdout) == (1, True), verdict
    leave_run(repo.workspace(), cases, selection={"args": [TEST], **part}, executed=executed)
    assert repo.kl("verify").returncode == 0


def test_parameters_in_the_body_of_another_module_may_be_new_too(
    tmp_path: Path, home: Path
) -> None:
    source = SOURCE.replace("[1, 2]", "cases.CASES").replace("pytest\n", "pytest, cases\n", 1)
    files = {"test_small.py": source, "cases.py": "CASES = [1, 2]\n", "pytest.ini": "[pytest]\n"}
    repo = checkout(tmp_path / "repo", files)
    results = [(f"{TEST}[{n}]", "passed", 5) for n in (1, 2)]
    places = {
        "function:test_small.test_small": "test_small.py",
        "namespace:test_small": "test_small.py",
        "namespace:cases": "cases.py",
    }
    called = {"function:test_small.test_small": "call", "namespace:cases": "call"}
    executed = executed_sets({name: called for name, _, _ in results}, places)
    leave_run(repo.workspace(), results, executed=executed)
    repo.write("cases.py", "CASES = [1, 2, 3]\n")
    selection = {
        "args": [name for name, _, _ in results],
        "left_out": {"files": 1, "first": ["test_small.py"]},
    }
    leave_run(repo.workspace(), results, selection=selection, executed=executed)
    assert repo.kl("verify").returncode == 1
