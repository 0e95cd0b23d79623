"""Source that nobody here wrote: Python's own library, and three large packages as their authors
published them.
"""

from __future__ import annotations

import sysconfig
import zipfile
from pathlib import Path
from typing import Final

from bench.downloads import archive, archives, sdist

SDISTS: Final = {
    "Django": (
        "Django==5.2 --hash=sha256:1a47f7a7a3d43ce64570d350e008d2949abe8c7e21737b351b6a1611277c6d89"
    ),
    "SQLAlchemy": (
        "SQLAlchemy==2.0.36"
        " --hash=sha256:7f2767680b6d2398aea7082e45a774b2b0767b5c8d8ffb9c8b683088ea9b29c5"
    ),
    "sympy": (
        "sympy==1.13.3"
        " --hash=sha256:b27fd2c6530e0ab39e275fc9b683895367e51d5da91baa8d3d64db2565fec4d9"
    ),
}
"""Name → requirement, pinned by the sdist's hash."""


WHEELS: Final = {
    "attrs": (
        "attrs==25.3.0"
        " --hash=sha256:427318ce031701fea540783410126f03899a97ffc6f61596ad581ac2e40e3bc3"
    ),
    "click": (
        "click==8.1.8"
        " --hash=sha256:63c132bbbed01578a06712a2d1f497bb62d9c1c0d329b7903a866228027263b2"
    ),
    "flask": (
        "flask==3.1.0"
        " --hash=sha256:d667207822eb83f1c4b50949b1623c8fc8d51f2341d65f72e1a1815397551136"
    ),
    "httpx": (
        "httpx==0.28.1"
        " --hash=sha256:d909fcccc110f8c7faf814ca82a9a4d816bc5a6dbfea25d6591d6985b8ba59ad"
    ),
    "networkx": (
        "networkx==3.4.2"
        " --hash=sha256:df5d4365b724cf81b8c6a7312509d0c22386097011ad1abe274afd5e9d3bbc5f"
    ),
    "rich": (
        "rich==14.0.0"
        " --hash=sha256:1c9491e1951aac09caffd42f448ee3d04e58923ffe14993f6e83068dc395d7e0"
    ),
}
"""Name → requirement, pinned by the hash of a wheel without compiled parts: nothing has to be built
to read it.
"""


def unpacked(name: str, folder: Path) -> Path:
    """One of `SDISTS`, downloaded and unpacked; the folder of its content. CalledProcessError where
    pip can't.
    """
    return sdist(SDISTS[name], folder)


def unzipped(name: str, folder: Path) -> Path:
    """The same for one of `WHEELS`."""
    with zipfile.ZipFile(archive(WHEELS[name], folder, "--only-binary", ":all:")) as packed:
        packed.extractall(folder / "content")
    return folder / "content"


def unzipped_wheels(folder: Path) -> dict[str, Path]:
    """Name → the folder of its content, of all `WHEELS`."""
    contents = {}
    for wheel in archives(WHEELS.values(), folder, "--only-binary", ":all:"):
        name = wheel.name.partition("-")[0]
        contents[name] = folder / "content" / name
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(contents[name])
    assert contents.keys() == WHEELS.keys()
    return contents


def library() -> Path:
    """The standard library of this interpreter."""
    return Path(sysconfig.get_paths()["stdlib"])


def python_files(folder: Path) -> dict[str, bytes]:
    """Path below `folder`, with `/`, → content, of every Python file in it; other people's packages
    omitted.
    """
    files = sorted(
        path
        for path in folder.rglob("*.py")
        if "site-packages" not in path.relative_to(folder).parts and path.is_file()
    )
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
