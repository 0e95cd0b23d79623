"""h11 0.16.0 as its authors published it: code nobody here wrote, with 78 tests of its own."""

from __future__ import annotations

import os
from pathlib import Path

from bench.downloads import sdist
from tests.support import FOREIGN, INNER

PIN = "h11==0.16.0 --hash=sha256:4e35b956cf45792e4caa5885e69fba00bdbc6ffafbfa020300e549b208ee5ff1"


def environment(home: Path) -> dict[str, str]:
    """Ours, with a home of its own and nothing of the test run around it."""
    stored = {
        k: v for k, v in os.environ.items() if k == INNER or not k.startswith((*FOREIGN, "COV_"))
    }
    root = str(Path(__file__).resolve().parents[2])
    return stored | {
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_STATE_HOME": str(home / ".state"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "PYTHONPATH": root,
        "CI": "",
        "GIT_AUTHOR_NAME": "T",
        "GIT_AUTHOR_EMAIL": "t@example.org",
        "GIT_COMMITTER_NAME": "T",
        "GIT_COMMITTER_EMAIL": "t@example.org",
    }


def fetch(folder: Path) -> Path:
    """Downloads the sdist, pinned by its hash, and unpacks it; the folder of its content."""
    return sdist(PIN, folder)
