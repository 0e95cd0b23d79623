"""Tests that passed and were removed are named beside the verdict: an emptied file has no failing
test.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support import Checkout, checkout

FILES = {
    "tests/test_a.py": "import pytest\n@pytest.mark.parametrize('n', [1, 2])\ndef "
    "test_1(n):\n    pass\ndef test_2():\n    pass\n",
    "tests/test_b.py": "def test_3():\n    pass\ndef test_4():\n    assert len('abc') == 3\n",
}


def notes(repo: Checkout, code: int = 0) -> list[str]:
    done = repo.kl("verify")
    assert done.returncode == code, done.stdout
    lines = (line.strip() for line in done.stdout.splitlines())
    return [line.partition(" since run ")[0] for line in lines if " removed since " in line]


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="recorded from CPython 3.12 on")
@pytest.mark.slow
def test_tests_that_passed_and_were_removed_are_named(tmp_path: Path, home: Path) -> None:
    repo = checkout(tmp_path / "removed", FILES)
    repo.write("README.md", "Text.\n")
    repo.commit()
    assert repo.pytest("-q").returncode == 0
    assert notes(repo) == []
    repo.write("tests/test_a.py", "")
    emptied = ["note: tests/test_a.py: 2 tests that passed were removed"]
    # of another run
    assert notes(repo) == emptied
    # of the complete run before
    assert repo.pytest("-q").returncode == 0
    assert notes(repo) == emptied
    (repo.root / "tests" / "test_a.py").unlink()
    assert notes(repo) == emptied
    # what has another name is not removed, and neither is what the settings take out
    repo.write("tests/test_b.py", FILES["tests/test_b.py"].replace("test_4", "test_new"))
    assert repo.pytest("-q").returncode == 0
    assert notes(repo) == []
    repo.write(".kl/config.yaml", "verify:\n  exclude: [tests/test_b.py]\n")
    repo.write("tests/test_c.py", "def test_5():\n    pass\n")
    repo.commit()
    assert repo.pytest("-q", "--ignore", "tests/test_b.py").returncode == 0
    assert notes(repo) == []
