"""Packages as their authors published them: downloaded by pip, each pinned by the hash of its
archive.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_BACKENDS: Final = ("flit_core/buildapi.py", "hatchling/build.py", "setuptools/build_meta.py")
_BACKEND: Final = """\
import email, pathlib, sys
__legacy__ = sys.modules[__name__]
def get_requires_for_build_wheel(config_settings=None):
    return []
def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    stated = pathlib.Path("PKG-INFO").read_text("utf-8")
    head = email.message_from_string(stated)
    folder = pathlib.Path(metadata_directory, f"{head['Name'].replace('-', '_')}-{head['Version']}.dist-info")
    folder.mkdir()
    (folder / "METADATA").write_text(stated, "utf-8")
    return folder.name
"""
"""A build backend that repeats what an sdist states of itself.

pip asks the backend of every sdist that it downloads for metadata, also with --no-deps (pypa/pip
issue 1884). The real one is installed into an environment of its own for that, which takes longer
than all the rest.
"""


def archive(requirement: str, folder: Path, *form: str) -> Path:
    """The one file that pip downloads for a pinned requirement, into an empty `folder` (made if
    missing).

    `form`: options of pip that state which archive is meant. CalledProcessError, its `stderr` text,
    where pip can't.
    """
    (found,) = archives([requirement], folder, *form)
    return found


def archives(requirements: Iterable[str], folder: Path, *form: str) -> list[Path]:
    """The same for several at once, by name: to start pip takes a second."""
    folder.mkdir(parents=True, exist_ok=True)
    pins = "".join(f"{requirement}\n" for requirement in requirements)
    (folder / "pin.txt").write_text(pins, encoding="utf-8")
    how = ("--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes")
    command = [sys.executable, "-m", "pip", "download", *how, *form, "-r", "pin.txt", "-d", "."]
    if not ("--no-binary" in form and _without_its_backend(command, folder)):
        subprocess.run(command, cwd=folder, check=True, stderr=subprocess.PIPE, text=True)
    return sorted([*folder.glob("*.tar.gz"), *folder.glob("*.whl")])


def _without_its_backend(command: list[str], folder: Path) -> bool:
    """Whether the download succeeds with `_BACKEND` instead of the sdist's own: there are others
    than `_BACKENDS`.
    """
    with tempfile.TemporaryDirectory() as instead:
        for name in _BACKENDS:
            (Path(instead) / name).parent.mkdir()
            (Path(instead) / name).with_name(
                "__init__.py"
            ).touch()  # a namespace package would come after a real one
            (Path(instead) / name).write_text(_BACKEND, encoding="utf-8")
        environ = {**os.environ, "PYTHONPATH": instead}
        command = [*command, "--no-build-isolation", "--use-pep517"]
        return (
            subprocess.run(
                command, cwd=folder, env=environ, capture_output=True, check=False
            ).returncode
            == 0
        )


def extract(
    packed: tarfile.TarFile, folder: Path, members: list[tarfile.TarInfo] | None = None
) -> None:
    """Unpack an archive that is pinned by its hash; every file belongs to who unpacks it.

    The filter was added in CPython 3.11.4. Without it root gives files to the archive's users,
    and git refuses the repository.
    """
    if hasattr(tarfile, "data_filter"):
        packed.extractall(folder, members, filter="data")
        return
    for member in members or packed.getmembers():
        member.uid, member.gid, member.uname, member.gname = os.getuid(), os.getgid(), "", ""
    packed.extractall(folder, members)


def sdist(requirement: str, folder: Path) -> Path:
    """The folder of an sdist's content, unpacked in `folder`."""
    with tarfile.open(
        archive(requirement, folder, "--no-binary", requirement.partition("=")[0])
    ) as packed:
        extract(packed, folder)
    (inside,) = (path for path in folder.iterdir() if path.is_dir())
    return inside
