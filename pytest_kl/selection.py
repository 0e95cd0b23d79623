"""Which tests a run was asked for: arguments, and every option that leaves tests out, wherever it was set."""

from __future__ import annotations

import os
from typing import Any

import pytest

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


def selection_of(config: pytest.Config) -> dict[str, Any]:
    """`{"args", …}`: what was typed, what configuration and environment added, and the options that narrow the run.

    Options show their value in force, so it makes no difference whether `-k` came from the command line, a file or
    PYTEST_ADDOPTS. Plain values; secrets in them are redacted by whoever writes them down.
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
    return found
