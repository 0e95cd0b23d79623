"""Entry point: options, and one object registered where a run is recorded. Imports pytest alone until then."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from pytest_kl.ending import EndOfPytest

NAMES = ("kl", "pytest_kl.plugin")
"""The names under which pytest may load this module: the entry point, and `-p pytest_kl.plugin`."""


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, Any, Any]:
    """Registers `EndOfPytest` after every conftest: of wrappers that ask to be first, the last registered is."""
    result = yield
    early_config.pluginmanager.register(EndOfPytest(), "kl-end")
    return result


class SecondName:
    """Stands where this module would be registered a second time, which pytest refuses with a traceback."""


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Adds `--kl`, `--no-kl`, `--kl-strict` and the ini option `kl`; takes both our names."""
    for name in NAMES:
        if not pluginmanager.has_plugin(name) and not pluginmanager.is_blocked(name):
            pluginmanager.register(SecondName(), name)
    group = parser.getgroup("kl", "evidence of test runs (kl)")
    group.addoption(
        "--kl",
        action="store_true",
        default=None,
        dest="kl",
        help="Record this run, even where there is no .kl/ directory.",
    )
    group.addoption("--no-kl", action="store_false", default=None, dest="kl", help="Do not record this run.")
    group.addoption(
        "--kl-strict",
        action="store_true",
        default=False,
        dest="kl_strict",
        help="Record this run; if that fails, end with exit status 3 instead of 0.",
    )
    parser.addini("kl", "Record runs: true even without a .kl/ directory, false never.", type="bool", default=None)


def pytest_configure(config: pytest.Config) -> None:
    """Registers the recorder where this run is to be recorded; in an xdist worker only something that counts."""
    from pytest_kl.activation import folder_to_record

    folder = folder_to_record(config)
    if folder is None:
        return
    if hasattr(config, "workerinput"):
        from pytest_kl.worker import Counter

        config.pluginmanager.register(Counter(config), "kl-worker")
    else:
        from pytest_kl.recorder import Recorder

        config.pluginmanager.register(Recorder(config, folder), "kl-recorder")
