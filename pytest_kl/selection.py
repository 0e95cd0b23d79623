"""Which tests a run was asked for: arguments, and every option that leaves tests out, wherever it was set."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest

from kl_hooks.git.repository import Repository
from pytest_kl.left_out import left_out

NARROWING = {
    "keyword": "keyword",
    "markexpr": "markers",
    "lf": "lf",
    "stepwise": "stepwise",
    "deselect": "deselect",
    "ignore": "ignore",
    "ignore_glob": "ignore_glob",
    "maxfail": "maxfail",
    "collectonly": "collect_only",
    "setuponly": "setup_only",
    "setupplan": "setup_plan",
}
"""pytest's name of an option, and ours."""


OVERRIDES = ("python_files", "python_classes", "python_functions", "testpaths", "norecursedirs")
"""Settings that say what a test is: `-o` on the command line makes another project of it."""


def selection_of(config: pytest.Config, repo: Repository | None = None) -> dict[str, Any]:
    """`{"args", …}`: what was typed, what configuration and environment added, and the options that narrow the run.

    Options show their value in force, so it makes no difference whether `-k` came from the command line, a file or
    PYTEST_ADDOPTS. `left_out`: test files of the project that the arguments leave out; `overridden`: `-o` for what a
    test is; `config_file`: `-c` with a file from outside the repository; `weakened`:
    see there. Plain values; secrets in them are redacted by
    whoever writes them down.
    """
    found: dict[str, Any] = {"args": [str(arg) for arg in config.invocation_params.args]}
    added = [str(arg) for arg in config.getini("addopts")]
    if more := os.environ.get("PYTEST_ADDOPTS"):
        added.append(more)
    if added:
        found["addopts"] = added
    for option, ours in NARROWING.items():
        value = config.getoption(option, None)
        if value:
            found[ours] = value if isinstance(value, bool | int | str) else [str(one) for one in value]
    overridden = [one for one in config.getoption("override_ini", None) or () if one.partition("=")[0] in OVERRIDES]
    if overridden:
        found["overridden"] = overridden
    if config.getoption("inifilename", None) and repo and not _inside(config, repo):
        found["config_file"] = str(config.inipath)
    if weaker := weakened(config):
        found["weakened"] = weaker
    if missing := left_out(config, repo):
        found["left_out"] = missing
    return found


def weakened(config: pytest.Config) -> list[str]:
    """What was typed, or set in the environment, that makes checks of the content not count.

    Options in the configuration are part of the content, and are not listed.
    """
    typed = [str(arg) for arg in config.invocation_params.args]
    typed += (os.environ.get("PYTEST_ADDOPTS") or "").split()
    found = []
    if sys.flags.optimize:
        found.append("python -O: assert statements are not run")
    if "--noconftest" in typed:
        found.append("--noconftest")
    found += [arg for arg in typed if arg.partition("=")[0] == "--confcutdir"]
    if any(str(line).lstrip().startswith("error") for line in config.getini("filterwarnings")):
        configured = " ".join(str(arg) for arg in config.getini("addopts"))
        ignored = [str(one) for one in config.getoption("pythonwarnings", None) or ()]
        found += [f"-W {one}" for one in ignored if not one.startswith("error") and one not in configured]
        if "no:warnings" in " ".join(typed):
            found.append("-p no:warnings")
    return found


def _inside(config: pytest.Config, repo: Repository) -> bool:
    return config.inipath is not None and config.inipath.resolve().is_relative_to(repo.top.resolve())
