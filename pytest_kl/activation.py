"""Whether a run is to be recorded, and for which folder. Starts no process, prints nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

WATCHES_ONLY = ("showfixtures", "show_fixtures_per_test", "cacheshow")
"""Options that make pytest print something and run no test at all."""


def governed(start: Path) -> Path | None:
    """The nearest folder at or above `start` with a `.kl/` directory, not above the repository that `start` lies in.

    A symbolic link is none of ours: it could lead anywhere.
    """
    for folder in (start, *start.parents):
        marker = folder / ".kl"
        try:
            if marker.is_dir() and not marker.is_symlink():
                return folder
            if (folder / ".git").exists():
                return None
        except OSError:  # a folder that may not be looked at governs nothing
            return None
    return None


def folder_to_record(config: pytest.Config) -> Path | None:
    """The folder whose record this run belongs to; None where nothing is to be recorded.

    `--no-kl` and `--kl` come first, then the ini option `kl`, then whether there is a `.kl/` directory. `--kl-strict`
    asks for a record as `--kl` does.
    """
    if config.pluginmanager.is_blocked("kl") or any(config.getoption(name, None) for name in WATCHES_ONLY):
        return None
    asked = config.getoption("kl", None)
    if asked is None and config.getoption("kl_strict", False):
        asked = True
    if asked is None:
        asked = config.getini("kl")
    if asked is False:
        return None
    here = governed(config.rootpath) or governed(config.invocation_params.dir)
    return here or (config.rootpath if asked else None)
