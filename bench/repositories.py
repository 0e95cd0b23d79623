"""Repositories to measure on, made of what others have published: downloaded once, unpacked,
committed to git.

They stay in `KL_BENCH_CACHE` (else a folder in the user's cache), pinned by version and hash.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.corpora import SDISTS
from bench.downloads import archive, extract
from bench.measure import environment

_WHEELS: Final = {
    "homeassistant": (
        "homeassistant==2025.1.4"
        " --hash=sha256:06f273ce6e3d1973d65d67de583f1cba7fcb445a85ce9c16f3618d8cf5048b6c"
    ),
    "twisted": (
        "twisted==24.11.0"
        " --hash=sha256:fe403076c71f04d5d2d789a755b687c5637ec3bcd3b2b8252d76f2ba65f54261"
    ),
}
_KINDS: Final = {"django": ("Django",), "large": ("Django", "homeassistant", "twisted")}
NAMES: Final = tuple(_KINDS)
"""`django`: Django's sdist, 2,800 Python files. `large`: it and two wheels beside, 11,000 Python
files.
"""


class NotHere(Exception):
    """What should be measured could not be had; the text states why."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A git repository with a `.kl/` folder, and a place for what kl caches."""

    name: str
    top: Path
    packages: tuple[str, ...]
    """Importable from `top`."""

    def environ(self) -> dict[str, str]:
        """For processes in it: no settings of the user's, caches of its own."""
        own = {
            "XDG_CACHE_HOME": str(self.top.parent / f"{self.name}.cache"),
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        return environment() | own | {"GIT_CONFIG_GLOBAL": os.devnull}

    def git(self, *args: str) -> bytes:
        """What git prints. CalledProcessError where it fails."""
        run = subprocess.run(
            ["git", *args], cwd=self.top, env=self.environ(), check=True, capture_output=True
        )
        return run.stdout

    def forget(self) -> None:
        """Takes away all that kl has made here, so that the next command starts cold."""
        shutil.rmtree(self.top / ".git" / "kl", ignore_errors=True)
        shutil.rmtree(self.environ()["XDG_CACHE_HOME"], ignore_errors=True)

    def kl(self, *args: str) -> tuple[str, ...]:
        """The command line of kl, from this checkout."""
        return (sys.executable, "-m", "kl_hooks", *args)


def repository(name: str) -> Repository:
    """The repository of that name as it was committed; made if it is not there. NotHere where it
    can't be made.
    """
    top = cache_folder() / name
    made = Repository(name, top, tuple(part.lower() for part in _KINDS[name]))
    if not (top / ".git" / "made").exists():
        shutil.rmtree(top, ignore_errors=True)
        top.mkdir(parents=True)
        for part in _KINDS[name]:
            _unpack(_downloaded(part), top)
        _commit(made)
    made.git("reset", "-q", "--hard", "made")
    made.git("clean", "-qfdx")
    return made


def cache_folder() -> Path:
    """Where downloads and repositories stay."""
    named = os.environ.get("KL_BENCH_CACHE")
    return Path(named).resolve() if named else Path.home() / ".cache" / "kl-bench"


def _commit(made: Repository) -> None:
    (made.top / ".kl").mkdir()
    (made.top / ".kl" / "config.yaml").write_text("", encoding="utf-8")
    (made.top / ".gitignore").unlink(missing_ok=True)
    for args in (
        ("init", "-q"),
        ("config", "user.name", "b"),
        ("config", "user.email", "b@b"),
        ("config", "gc.auto", "0"),
    ):
        made.git(*args)
    made.git("add", "-A", "-f")
    made.git("commit", "-qm", "As published")
    made.git("tag", "made")
    made.git("gc", "-q")
    (made.top / ".git" / "made").touch()


def _downloaded(part: str) -> Path:
    """The archive of a part, downloaded by pip if it is not there."""
    folder = cache_folder() / "archives" / part
    archives = [*folder.glob("*.tar.gz"), *folder.glob("*.whl")]
    if not archives:
        form = (
            ("--no-binary", part)
            if part in SDISTS
            else ("--only-binary", part, "--ignore-requires-python")
        )
        try:
            archives = [archive({**SDISTS, **_WHEELS}[part], folder, *form)]
        except subprocess.CalledProcessError as problem:
            lines = [line for line in problem.stderr.splitlines() if line.startswith("ERROR")] or [
                "no archive came"
            ]
            raise NotHere(f"pip could not get {part}: {lines[-1]}") from problem
    return archives[0]


def _unpack(archive: Path, top: Path) -> None:
    """The content of an archive into `top`; of an sdist, what is in its one folder."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(top)
        return
    with tarfile.open(archive) as packed:
        members = []
        for member in packed.getmembers():
            _, _, inside = member.name.partition("/")
            if inside:
                member.name = inside
                members.append(member)
        extract(packed, top, members)


def python_files(top: Path) -> list[str]:
    """The Python files of a repository, by path."""
    found = (path.relative_to(top).as_posix() for path in top.rglob("*.py") if path.is_file())
    return sorted(path for path in found if not path.startswith("."))
