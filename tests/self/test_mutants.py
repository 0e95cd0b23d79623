"""The driver of `make mutants`, on a target of two functions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import HERE

DRIVER = HERE / "tools" / "mutants.py"
CODE = '''"""A module."""

LIMIT = 3


def few(number: int) -> bool:
    """True up to the limit."""
    return number <= LIMIT


def unseen(number: int) -> int:
    return max(number, 0)
'''
TEST = """from shop import few, unseen


def test_few():
    assert few(3) and not few(4)


def test_unseen():
    assert unseen(1) == 1
"""
CONFIG = """[target.shop]
modules = ["shop.py"]
tests = ["test_shop.py"]
"""
SURVIVOR = """
[[survivor]]
file = "shop.py"
function = "unseen"
line = "return max(number, 0)"
change = "{}"
reason = "nothing asks for it"
"""


AT_IMPORT = '''"""A module that computes something when it is imported."""

import os


def last(words: list[str]) -> str:
    """The last one, where there is any."""
    return words[-1] if words else ""


VALUES = [last(value.split()) for value in os.environ.values()]
EMPTY = last([])
'''
TEST_AT_IMPORT = """import os

from shop import last


def test_last():
    assert last(["a", "b", "c"]) == "c" and last([]) == "" and "SHOP" not in os.environ
"""


def run(
    folder: Path, survivors: list[str], module: str = CODE, test: str = TEST
) -> tuple[int, str]:
    for name, text in (("shop.py", module), ("test_shop.py", test)):
        (folder / name).write_text(text)
    (folder / "mutants.toml").write_text(
        CONFIG + "".join(SURVIVOR.format(one) for one in survivors)
    )
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    done = subprocess.run(
        [sys.executable, str(DRIVER), "--config", "mutants.toml"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "SHOP": "a variable of the shell"},
    )
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before, (
        "no file is changed"
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is of 3.12")
def test_the_driver_kills_lists_and_checks_its_list(tmp_path: Path) -> None:
    code, out = run(tmp_path, [])
    assert code == 1
    assert "6 of    6 mutants: 5 killed (0 by a timeout), 1 survived (0 listed), 83.3 %" in out
    assert [json.loads(line[9:]) for line in out.splitlines() if line.startswith("change = ")] == [
        "0 -> 1"
    ]
    code, out = run(tmp_path, ["0 -> 1"])
    assert (code, "(1 listed)" in out, "[[survivor]]" in out) == (1, True, False), (
        "83.3 % are too few"
    )
    code, out = run(tmp_path, ["0 -> 1", "max -> min", "gone -> away"])
    assert "killed, but listed as a survivor: shop.py: unseen: max -> min" in out
    assert "there is no such mutant: shop.py: unseen: gone -> away" in out
    (tmp_path / "shop.py").unlink()
    code, out = run(tmp_path, [], CODE.replace("<=", "<"))
    assert (code, "test_few fails without any change" in out) == (2, True)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is of 3.12")
def test_a_change_that_fails_at_import_is_killed_and_the_shell_does_not_matter(
    tmp_path: Path,
) -> None:
    code, out = run(tmp_path, [], AT_IMPORT, TEST_AT_IMPORT)
    assert (code, "0 survived" in out) == (0, True), out
