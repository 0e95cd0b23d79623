"""`tools/find-python`: which interpreters it sees, and which of them is the oldest and the
newest.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "find-python"
REPORTS = """#!{python}
import builtins, sys
from types import SimpleNamespace
fake = SimpleNamespace(
    implementation=SimpleNamespace(name={implementation!r}), version_info={version}, executable="of a venv",
    _base_executable=sys.argv[0],
)
def find(name, *rest):
    return fake if name == "sys" else __import__(name, *rest)
exec(sys.argv[2], {{"__builtins__": {{**vars(builtins), "__import__": find}}}})
"""


def interpreter(
    path: Path, *version: int, level: str = "final", implementation: str = "cpython"
) -> Path:
    """A program that answers `-c CODE` as an interpreter of this version."""
    path.parent.mkdir(parents=True, exist_ok=True)
    reported = (*version, level, 0)
    path.write_text(
        REPORTS.format(python=sys.executable, version=reported, implementation=implementation)
    )
    path.chmod(0o755)
    return path


def found(which: str, path: str, **environ: str) -> str:
    done = subprocess.run(
        ["/bin/sh", str(TOOL), which],
        env={"PATH": f"{path}:/usr/bin:/bin", **environ},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def system(tmp_path: Path) -> str:
    """Two folders of the path; that the machine's own Python is looked at too changes nothing: it
    lies between them.
    """
    interpreter(tmp_path / "bin" / "python3.12", 3, 12, 99)
    interpreter(tmp_path / "local" / "python3", 3, 11, 0)
    return f"{tmp_path}/bin:{tmp_path}/local"


def test_versions_are_ordered_to_the_patch_release(tmp_path: Path, system: str) -> None:
    home = tmp_path / "home"
    newest = interpreter(home / ".pyenv/versions/3.14.100/bin/python", 3, 14, 100)
    interpreter(home / ".pyenv/versions/3.14.20/bin/python", 3, 14, 20)
    interpreter(home / ".pyenv/versions/3.11.7/bin/python", 3, 11, 7)
    assert found("oldest", system, HOME=str(home)) == f"{tmp_path}/local/python3"
    assert found("newest", system, HOME=str(home)) == str(newest)


@pytest.mark.parametrize("environ", [{}, {"HOME": ""}, {"HOME": "/nowhere"}])
@pytest.mark.share(3)
def test_without_a_home_the_path_is_enough(
    tmp_path: Path, system: str, environ: dict[str, str]
) -> None:
    assert found("oldest", system, **environ) == f"{tmp_path}/local/python3"


def test_what_kl_does_not_run_on_is_passed_over(tmp_path: Path, system: str) -> None:
    versions = tmp_path / "home/.pyenv/versions"
    interpreter(versions / "3.10.99/bin/python", 3, 10, 99)
    interpreter(versions / "3.15.0/bin/python", 3, 15, 0)
    interpreter(versions / "3.14.200/bin/python", 3, 14, 200, level="candidate")
    interpreter(versions / "3.14.300-pypy/bin/python", 3, 14, 300, implementation="pypy")
    (versions / "3.14.400/bin").mkdir(parents=True)
    (versions / "3.14.400/bin/python").symlink_to("gone")
    oldest = interpreter(versions / "3.14.100/bin/python", 3, 14, 100)
    assert found("newest", system, HOME=str(tmp_path / "home")) == str(oldest)
    assert found("oldest", system, HOME=str(tmp_path / "home")) == f"{tmp_path}/local/python3"


def test_interpreters_of_one_minor_version_have_environments_of_their_own(tmp_path: Path) -> None:
    """CI makes both at once: one folder for both would be made twice at the same time."""
    made = set()
    for version in ("3.11.2", "3.11.7"):
        fake = tmp_path / f"python{version}"
        fake.write_text(f"#!/bin/sh\necho {version}\n", encoding="utf-8")
        fake.chmod(0o755)
        command = ["make", "-n", "-B", "environment", f"PYTHON={fake}"]
        # without MAKEFLAGS: under `make test` they carry its PYTHON and how it prints
        environ = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("MAKE", "MFLAGS"))
        }
        run = subprocess.run(
            command,
            cwd=Path(__file__).parents[2],
            env=environ,
            capture_output=True,
            text=True,
            check=True,
        )
        plan = run.stdout
        made |= set(re.findall(r"-m venv\s+(?:--clear\s+)?(\S+)", plan))
    assert made == {".venv-3.11.2", ".venv-3.11.7"}
