"""What comparisons of revisions and the history measure: commands of kl and runs of pytest, each
with a floor.

A row is one process in a small project that is made here, by the revision that is measured: the
stores of two revisions may differ. The floor is what the same takes without kl.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.measure import ROOT, Failed, cost, environment

_KL: Final = (sys.executable, "-m", "kl_hooks")
_PYTEST: Final = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
_RECORDED: Final = (*_PYTEST, "-p", "pytest_kl.plugin")
_PLAIN: Final = (*_PYTEST, "-p", "no:kl")
_CLICK: Final = (sys.executable, "-c", "import click")
_ANSWERS: Final = (sys.executable, str(ROOT / "bench" / "floor.py"), "worktree")
_STAGED: Final = (sys.executable, str(ROOT / "bench" / "floor.py"), "staged")
_MODULES: Final = 100
_CALLS: Final = 25
"""Functions that each test of the recorded project calls."""


@dataclass(frozen=True, slots=True)
class Row:
    """A command that is measured, and what it costs at least."""

    name: str
    project: str
    """Of `PROJECTS`."""
    command: tuple[str, ...]
    floor: tuple[str, ...]


ROWS: Final = (
    Row("version", "modules", (*_KL, "--version"), _CLICK),
    Row("status", "modules", (*_KL, "status"), _ANSWERS),
    Row("staged check", "modules", (*_KL, "arch", "check", "--staged"), _STAGED),
    Row("context", "modules", (*_KL, "context", "rounding of the totals in part 7"), _ANSWERS),
    Row("verify", "recorded", (*_KL, "verify"), _ANSWERS),
    Row("verify transferred", "edited", (*_KL, "verify"), _ANSWERS),
    Row("impacted", "edited", (*_KL, "proof", "impacted"), _ANSWERS),
    Row("pytest one test", "one test", _RECORDED, _PLAIN),
    Row("pytest empty tests", "empty tests", _RECORDED, _PLAIN),
    Row("pytest calls", "calls", _RECORDED, _PLAIN),
)


@dataclass(frozen=True)
class Revision:
    """The code of a revision in a folder, and a place for the projects that it has made."""

    name: str
    code: Path
    place: Path
    _projects: dict[str, Path] = field(default_factory=dict)

    def environ(self) -> dict[str, str]:
        """For its processes: its code first on the path, no settings of the user's, folders of its
        own.
        """
        own = {
            "PYTHONPATH": str(self.code),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "HOME": str(self.place),
        }
        foreign = ("XDG_", "KL_", "GIT_", "PYTEST_")
        variables = {k: v for k, v in environment().items() if not k.startswith(foreign)}
        return variables | own

    def project(self, name: str) -> Path:
        """The folder of a project, made at the first call."""
        if name not in self._projects:
            folder = self.place / name.replace(" ", "-")
            folder.mkdir(parents=True)
            PROJECTS[name](folder, self.environ())
            self._projects[name] = folder
        return self._projects[name]

    def milliseconds(self, row: Row) -> float:
        """CPU of the row's command. Failed where it ends otherwise than with 0."""
        return cost(*row.command, cwd=self.project(row.project), environ=self.environ()).cpu

    def floor(self, row: Row) -> float:
        """CPU of the row's floor."""
        return cost(*row.floor, cwd=self.project(row.project), environ=self.environ()).cpu


def _committed(folder: Path, files: Mapping[str, str], environ: Mapping[str, str]) -> None:
    """Write the files, and commit all that is there."""
    for name, text in {".gitignore": "__pycache__/\n", ".kl/config.yaml": "", **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    if not (folder / ".git").exists():
        _run(folder, environ, "git", "init", "-q")
        _run(folder, environ, "git", "config", "user.name", "b")
        _run(folder, environ, "git", "config", "user.email", "b@b")
    _run(folder, environ, "git", "add", "-A")
    _run(folder, environ, "git", "commit", "-qm", "Change")


def _run(folder: Path, environ: Mapping[str, str], *argv: str) -> None:
    done = subprocess.run(
        argv, cwd=folder, env=environ, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Failed(f"{' '.join(argv)[:200]}: {(done.stdout + done.stderr)[-300:]}")


def _module(number: int) -> str:
    functions = "".join(
        f"def total_{number}_{at}(price):\n"
        f'    """Rounding of the total {at} in part {number}."""\n'
        f"    return price + {at} if price else 0\n\n\n"
        for at in range(6)
    )
    return f"import decimal\n\n\n{functions}"


def _modules(folder: Path, environ: Mapping[str, str]) -> None:
    """Modules without tests."""
    files = {f"pkg/part_{number}.py": _module(number) for number in range(_MODULES)}
    _committed(folder, {"pkg/__init__.py": "", **files}, environ)


def _calls(folder: Path, environ: Mapping[str, str]) -> None:
    """Tests that execute functions of several modules; one function is executed by none."""
    lines = ["import pytest\n", *(f"from pkg import part_{n}\n" for n in range(_MODULES))]
    parts = f"[{', '.join(f'part_{n}' for n in range(_MODULES))}]"
    body = (
        "@pytest.mark.parametrize('first', range(40))\n"
        "def test_totals(first):\n"
        f"    for at in range({_CALLS}):\n"
        f"        number = (first + at) % {_MODULES}\n"
        f"        part = {parts}[number]\n"
        "        assert getattr(part, f'total_{number}_{at % 5}')(1)\n"
    )
    tests = {f"test_{letter}.py": "".join([*lines, "\n\n", body]) for letter in "abcde"}
    _modules(folder, environ)
    _committed(folder, tests, environ)


def _recorded(folder: Path, environ: Mapping[str, str]) -> None:
    """The same, with a recorded run of this content."""
    _calls(folder, environ)
    _run(folder, environ, *_RECORDED)


def _edited(folder: Path, environ: Mapping[str, str]) -> None:
    """The same, and after it a change of a function that no test executes."""
    _recorded(folder, environ)
    text = _module(7).replace("return price + 5", "return price + 50")
    _committed(folder, {"pkg/part_7.py": text}, environ)


def _one_test(folder: Path, environ: Mapping[str, str]) -> None:
    _committed(folder, {"test_one.py": "def test_one():\n    assert 1\n"}, environ)


def _empty_tests(folder: Path, environ: Mapping[str, str]) -> None:
    body = (
        "import pytest\n@pytest.mark.parametrize('case', range(100))\ndef test(case):\n    pass\n"
    )
    _committed(folder, {f"test_{number}.py": body for number in range(10)}, environ)


PROJECTS: Final[Mapping[str, Callable[[Path, Mapping[str, str]], None]]] = {
    "modules": _modules,
    "recorded": _recorded,
    "edited": _edited,
    "one test": _one_test,
    "empty tests": _empty_tests,
    "calls": _calls,
}
"""Name → what makes the project in a folder."""
