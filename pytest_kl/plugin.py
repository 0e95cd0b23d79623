"""Entry point: options, whether a run is recorded, and how pytest and its process end.

Imported in every project of the environment: nothing but the standard library and pytest until a run is recorded.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path
from typing import Any

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
            # not is_dir: in a linked worktree and in a submodule `.git` is a file (gitrepository-layout)
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
    # `-p no:kl` blocks the entry point's name only: loaded as `-p pytest_kl.plugin` it must not record either
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


AT_EXIT: list[Callable[[], None]] = []
"""What is left to do when the process ends. Registered when this module is imported, long before a conftest can
register something: Python calls the last registered first, so that ours comes after theirs."""


@atexit.register
def _at_exit() -> None:
    while AT_EXIT:
        AT_EXIT.pop()()


class EndOfPytest:
    """Sees how pytest ended: `pytest_unconfigure` and the cleanups of `config.add_cleanup` are over when
    `pytest_cmdline_main` returns or raises (pytest 8.2 to 9.2), and what it returns is the exit status.
    """

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Generator[None, Any, Any]:
        """Closes the record with the exit status, or with what was raised."""
        config.stash[RUNNING] = True
        try:
            status = yield
        except BaseException as problem:
            _close_record(config, None, problem)
            raise
        return _close_record(config, status, None)


RUNNING = pytest.StashKey[bool]()
"""True where an `EndOfPytest` waits for the end."""


def _close_record(config: pytest.Config, status: Any, problem: BaseException | None) -> Any:
    recorder = config.pluginmanager.get_plugin("kl-recorder")
    return status if recorder is None else recorder.close(status, problem)


NAMES = ("kl", "pytest_kl.plugin")
"""The names under which pytest may load this module: the entry point, and `-p pytest_kl.plugin`."""


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, Any, Any]:
    """Registers `EndOfPytest` after every conftest: of wrappers that ask to be first, the last registered is."""
    result = yield
    early_config.pluginmanager.register(EndOfPytest(), "kl-end")
    return result


class SecondName:
    """A placeholder where this module would be registered twice, which pytest refuses with a traceback."""


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
    group.addoption(
        "--kl-impacted",
        nargs="?",
        const="",
        default=None,
        dest="kl_impacted",
        metavar="A...B",
        help="Run only the tests without a valid result for this content, or that a change between two "
        "commits reaches; see: kl proof impacted.",
    )
    # None is "not set": then it depends on .kl/
    parser.addini("kl", "Record runs: true even without a .kl/ directory, false never.", type="bool", default=None)


def select_impacted(config: pytest.Config, folder: Path | None) -> None:
    """Registers the selection where it is asked for. pytest.UsageError for what is no range, and without a record."""
    asked = config.getoption("kl_impacted", None)
    if asked is None:
        return
    if asked and "..." not in asked:
        raise pytest.UsageError(f"--kl-impacted: {asked!r} is no A...B; put files before the option")
    if folder is None:
        raise pytest.UsageError("--kl-impacted: no runs are recorded here; see: kl init")
    from pytest_kl.impacted import Selection

    config.pluginmanager.register(Selection(config, folder.resolve(), asked), "kl-impacted-tests")


def pytest_configure(config: pytest.Config) -> None:
    """Registers the recorder where this run is to be recorded; in an xdist worker only something that counts."""

    folder = folder_to_record(config)
    select_impacted(config, folder)
    if folder is None:
        return
    # where the tests run: in a worker, or in this process
    from pytest_kl.failures import FrameRecorder

    config.pluginmanager.register(FrameRecorder(folder), "kl-frames")
    # xdist sets it in its workers only
    if hasattr(config, "workerinput"):
        from pytest_kl.interference import WorkerTally

        config.pluginmanager.register(WorkerTally(config), "kl-worker")
    else:
        from pytest_kl.recorder import Recorder

        supervised = partial(config.stash.get, RUNNING, False)
        config.pluginmanager.register(Recorder(config, folder, AT_EXIT, supervised), "kl-recorder")
