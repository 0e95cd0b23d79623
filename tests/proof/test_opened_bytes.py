"""git gives the same content other bytes on a checkout: the tests that opened such a file are
stale.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.pytest_kl.recorded import environment, git, repository, run_pytest
from tests.support import run_in_process

TESTS = """\
import pathlib
HERE = pathlib.Path(__file__).parent

def test_bytes():
    assert (HERE / "text.txt").read_bytes()

def test_other():
    assert (HERE / "other.cfg").read_bytes()

def test_alone():
    assert True
"""
FILES = {"test_a.py": TESTS, "text.txt": "A\nB\n", "other.cfg": "1\n"}
REASON_OF_CHECKOUT = (
    "test_bytes: text.txt has other bytes in a checkout of this content "
    "than when the test opened it"
)
REASON = "text.txt has other bytes on disk than when the test opened it"

pytestmark = pytest.mark.skipif(
    not hasattr(sys, "monitoring"), reason="recorded from CPython 3.12 on"
)


def check_out(folder: Path, name: str) -> None:
    """As a fresh checkout writes it."""
    (folder / name).unlink()
    git(folder, "checkout", "-q", "--", name)


def verify(folder: Path, *args: str) -> int:
    return run_in_process(["verify", *args], folder, environment({})).returncode


def impacted(folder: Path) -> dict[str, str]:
    done = run_in_process(["proof", "impacted", "--format", "json"], folder, environment({}))
    tests = json.loads(done.stdout)["tests"]
    return {test["test"].partition("::")[2]: test["reason"] for test in tests}


@pytest.mark.slow
def test_bytes_that_git_converts_on_checkout_reach_the_tests_that_opened_them(
    tmp_path: Path,
) -> None:
    folder = repository(tmp_path / "converted", FILES)
    run_pytest(folder)
    assert verify(folder) == 0
    # the content is the same, and so are the bytes until the next checkout
    git(folder, "config", "core.autocrlf", "true")
    assert verify(folder) == 0
    check_out(folder, "text.txt")
    assert (folder / "text.txt").read_bytes() == b"A\r\nB\r\n"
    assert git(folder, "status", "--porcelain") == ""
    assert (verify(folder), impacted(folder)) == (1, {"test_bytes": REASON})
    # a checkout of the commit has these bytes on a machine without the setting
    assert verify(folder, "--at", "HEAD") == 0

    git(folder, "config", "--unset", "core.autocrlf")
    check_out(folder, "text.txt")
    assert (verify(folder), impacted(folder)) == (0, {})
    (folder / ".gitattributes").write_text("*.txt eol=crlf\n", encoding="utf-8")
    git(folder, "add", ".gitattributes")
    git(folder, "commit", "-q", "-m", "line ends")
    # a commit is what its checkout is, also while the disk has the old bytes
    assert (verify(folder), impacted(folder)) == (0, {})
    run_pytest(folder)
    assert verify(folder) == 0
    for content in (["--at", "HEAD"], ["--staged"]):
        done = run_in_process(["verify", *content], folder, environment({}))
        assert (done.returncode, REASON_OF_CHECKOUT in done.stdout) == (1, True), content
    check_out(folder, "text.txt")
    assert (verify(folder), impacted(folder)) == (1, {"test_bytes": REASON})
    run_pytest(folder)
    assert (verify(folder), impacted(folder)) == (0, {})
    assert (verify(folder, "--at", "HEAD"), verify(folder, "--staged")) == (0, 0)
