"""Other people's tools: beside this interpreter, in the environments of `KL_BENCH_PEERS`, or on the
path.

Nothing is installed from here.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

PEERS = "KL_BENCH_PEERS"
"""Names the folders of virtual environments that hold peers, `:` between them."""


def environments() -> list[Path]:
    """The folders of virtual environments that `KL_BENCH_PEERS` names."""
    return [Path(one) for one in os.environ.get(PEERS, "").split(os.pathsep) if one]


@cache
def tool(name: str) -> str | None:
    """The path of a command; None where it is not installed."""
    places = [Path(sys.executable).parent, *(one / "bin" for one in environments())]
    found = shutil.which(name, path=os.pathsep.join(map(str, places)))
    return found or shutil.which(name)


@cache
def interpreter_with(module: str) -> str | None:
    """The path of a Python that can import a module: this one, else a peers' one; None where none
    can.
    """
    if importlib.util.find_spec(module) is not None:
        return sys.executable
    asks = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    for place in environments():
        python = str(place / "bin" / "python")
        if (
            os.access(python, os.X_OK)
            and not subprocess.run([python, "-c", asks], check=False).returncode
        ):
            return python
    return None


@cache
def ctags() -> str | None:
    """The path of universal-ctags; None for none, or for another ctags."""
    path = tool("ctags")
    if path is None:
        return None
    version = subprocess.run(
        [path, "--version"], capture_output=True, text=True, check=False
    ).stdout
    return path if "Universal Ctags" in version else None
