"""Packages as their authors published them: downloaded by pip, each pinned by the hash of its archive."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path


def archive(requirement: str, folder: Path, *form: str) -> Path:
    """The one file that pip downloads for a pinned requirement, into an empty `folder` (made if missing).

    `form`: options of pip that state which archive is meant. CalledProcessError, its `stderr` text, where pip can't.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pin.txt").write_text(requirement + "\n", encoding="utf-8")
    how = ("--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes")
    command = [sys.executable, "-m", "pip", "download", *how, *form, "-r", "pin.txt", "-d", "."]
    subprocess.run(command, cwd=folder, check=True, stderr=subprocess.PIPE, text=True)
    (found,) = [*folder.glob("*.tar.gz"), *folder.glob("*.whl")]
    return found


def extract(packed: tarfile.TarFile, folder: Path, members: list[tarfile.TarInfo] | None = None) -> None:
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
    with tarfile.open(archive(requirement, folder, "--no-binary", requirement.partition("=")[0])) as packed:
        extract(packed, folder)
    (inside,) = (path for path in folder.iterdir() if path.is_dir())
    return inside
