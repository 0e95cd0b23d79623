"""Runs of an interpreter that can't show what tests execute: where a result would need that, the
answer states what is needed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evidence.making import leave_run
from tests.support import Checkout, checkout

FILES = {
    ".gitignore": "__pycache__/\n",
    "shop.py": "def add(a, b):\n    return a + b\n",
    "test_shop.py": "import shop\n\n\ndef test_add():\n    assert shop.add(1, 2) == 3\n",
}
RESULTS = [("test_shop.py::test_add", "passed", 10)]
NEEDED = "CPython 3.12 is needed, and the tests ran on Python 3.11.2"


@pytest.fixture
def repo(tmp_path: Path, home: Path) -> Checkout:
    """A run of Python 3.11, and an edit since."""
    made = checkout(tmp_path / "shop", FILES)
    leave_run(made.workspace(), RESULTS, further_environment={"python": "3.11.2"})
    made.write("shop.py", FILES["shop.py"] + "\n\ndef sub(a, b):\n    return a - b\n")
    return made


def test_verify_and_proof_state_which_python_is_needed(repo: Checkout) -> None:
    reason = f"shop.py changed, and no executed symbols were recorded: {NEEDED}\n"
    verified = repo.kl("verify")
    assert verified.returncode == 1 and verified.stdout.count(reason) == 1, verified
    impacted = repo.kl("proof", "impacted").stdout
    assert impacted.startswith(f"test_shop.py::test_add: {reason}"), impacted
    for args in (("tests", "shop.add"), ("symbols", "test_shop.py::test_add")):
        done = repo.kl("proof", *args)
        assert done.returncode == 2
        assert done.stderr.endswith(f"No run has executed symbols: {NEEDED}.\n"), done


def test_a_trouble_of_the_run_is_stated_as_it_was_recorded(repo: Checkout) -> None:
    trouble = "no tool ID of sys.monitoring is free"
    facts = {"python": "3.13.0", "executed": {"trouble": trouble}}
    repo.write("shop.py", FILES["shop.py"])
    leave_run(repo.workspace(), RESULTS, further_environment=facts)
    repo.write("shop.py", "def add(a, b):\n    return b + a\n")
    assert f"no executed symbols were recorded: {trouble}\n" in repo.kl("verify").stdout


def test_a_newer_python_and_an_unknown_one_state_no_reason(repo: Checkout) -> None:
    repo.write("shop.py", FILES["shop.py"])
    for version in ("3.13.0", "", "4"):
        leave_run(repo.workspace(), RESULTS, further_environment={"python": version})
    repo.write("shop.py", "def add(a, b):\n    return b + a\n")
    shown = repo.kl("verify").stdout
    assert shown.count("no executed symbols were recorded\n") == 2, shown
