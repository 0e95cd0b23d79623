"""Entry point: options, whether a run is recorded, and how pytest and its process end.

Imported in every project of the environment: nothing but the standard library and pytest until a
run is recorded.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable, Generator
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pytest_kl.own_imports import own_imports

WATCHES_ONLY = ("showfixtures", "show_fixtures_per_test", "cacheshow")
"""Options that make pytest print something and run no test at all."""


def governed(start: Path) -> Path | None:
    """The nearest folder at or above `start` with a `.kl/` directory, not above the repository that
    `start` lies in.

    A symbolic link is none of ours: it could lead anywhere.
    """
    for folder in (start, *start.parents):
        marker = folder / ".kl"
        try:
            if marker.is_dir() and not marker.is_symlink():
                return folder
            # not is_dir: in a linked worktree and in a submodule `.git` is a file
            # (gitrepository-layout)
            if (folder / ".git").exists():
                return None
        except OSError:  # a folder that may not be looked at governs nothing
            return None
    return None


def folder_to_record(
    config: pytest.Config, option: Callable[..., Any] | None = None
) -> Path | None:
    """The folder whose record this run belongs to; None where nothing is to be recorded. `option`:
    see `getoption`.

    `--no-kl` and `--kl` come first, then the ini option `kl`, then whether there is a `.kl/`
    directory. `--kl-strict` asks for a record as `--kl` does.
    """
    # `-p no:kl` blocks the entry point's name only: loaded as `-p pytest_kl.plugin` it must not
    # record either
    option = option or config.getoption
    if sys.platform == "win32":
        return None  # kl does not run there, and must not break the tests of others
    if config.pluginmanager.is_blocked("kl") or any(option(name, None) for name in WATCHES_ONLY):
        return None
    asked = option("kl", None)
    if asked is None and option("kl_strict", False):
        asked = True
    if asked is None:
        asked = config.getini("kl")
    if asked is False:
        return None
    here = governed(config.rootpath) or governed(config.invocation_params.dir)
    return here or (config.rootpath if asked else None)


AT_EXIT: list[Callable[[], None]] = []
"""What is left to do when the process ends. Registered when this module is imported, long before a
conftest can register something: Python calls the last registered first, so that ours comes after
theirs."""


@atexit.register
def _at_exit() -> None:
    while AT_EXIT:
        AT_EXIT.pop()()


class EndOfPytest:
    """Sees how pytest ended: `pytest_unconfigure` and the cleanups of `config.add_cleanup` are over
    when `pytest_cmdline_main` returns or raises (pytest 8.2 to 9.2), and what it returns is the
    exit status.
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
    if recorder is None:
        return status
    return recorder.close(status, problem)


NAMES = ("kl", "pytest_kl.plugin")
"""The names under which pytest may load this module: the entry point, and `-p pytest_kl.plugin`."""


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, Any, Any]:
    """Registers `EndOfPytest` after every conftest: of wrappers that ask to be first, the last
    registered is.

    Before the first conftest: what is imported from now on is noted, where executed symbols are
    recorded.
    """
    with own_imports():
        _start_tracer(
            early_config,
            lambda name, default: getattr(early_config.known_args_namespace, name, default),
        )
    result = yield
    early_config.pluginmanager.register(EndOfPytest(), "kl-end")
    return result


TRACER = pytest.StashKey[Any]()
"""The `Tracer` of this process; None where no executed symbols are recorded here."""


def _start_tracer(config: pytest.Config, option: Callable[..., Any]) -> None:
    """Begin to note executed symbols. Never raises.

    Also in the controller of xdist: what hooks execute there reaches the tests by the environment,
    by files, or by the input of the workers.
    """
    config.stash[TRACER] = None
    mode = option("kl_symbols", None) or config.getini("kl_symbols")
    if (
        mode == "off"
        or (mode != "on" and not hasattr(sys, "monitoring"))
        or option("collectonly", False)
    ):
        return
    folder = folder_to_record(config, option)
    if folder:
        top = next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)
    else:
        top = None
    if top is not None:
        from pytest_kl import docstrings, memoization, reads, states, watch, written
        from pytest_kl.tracer import Tracer

        children = None
        if option("kl_symbols_subprocess", None) or config.getini("kl_symbols_subprocess"):
            from pytest_kl.children import Children

            children = Children(os.path.realpath(top))
        tracer = config.stash[TRACER] = Tracer(
            str(top),
            children,
            memoization=memoization,
            reads=reads,
            states=states,
            watch=watch,
            written=written,
            docstrings=docstrings,
        )
        _import_what_records(tracer)
        try:
            tracer.start()
        except Exception as problem:
            tracer.fail(problem)


def _import_what_records(tracer: Any) -> None:
    """Import what this process will need before anything is watched: an import that is watched
    costs half as much again, and a conftest, or a suite, may replace what an import needs.

    Not where it is part of the repository: what a file defines that is loaded before the recording
    counts as executed by who imports it.
    """
    if tracer.is_of_repository(__file__):
        return
    names = ["pytest_kl.failures"]
    if "PYTEST_XDIST_WORKER" in os.environ:
        names.append("pytest_kl.interference")
    else:
        names += ["kl_hooks.proof.execution", "pytest_kl.recorder"]
    for name in names:
        # it is imported again where it is needed, and what is wrong is reported there
        with suppress(Exception):
            import_module(name)


class _SymbolHooks:
    """What the tracer must know of the course of the tests. Never raises, and changes nothing."""

    def __init__(self, tracer: Any) -> None:
        self.tracer = tracer

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """One test from its beginning to its end, its repetitions included."""
        self._do(self.tracer.begin, item.nodeid)
        try:
            return (yield)
        finally:
            self._do(self.tracer.end, item.nodeid)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """The set-up, and within it that of the collectors around the test, where it is the first
        one in them.
        """
        self._do(self.tracer.enter_phase, item, 0)
        collectors = [
            (node, vars(node).get("setup"))
            for node in item.listchain()[:-1]
            # most collectors have no set-up of their own
            if type(node).setup is not pytest.Collector.setup or "setup" in vars(node)
        ]
        for collector, _ in collectors:
            self._watch_set_up(collector)
        try:
            return (yield)
        finally:
            for collector, own_set_up in collectors:
                if own_set_up is not None:
                    collector.setup = own_set_up  # type: ignore[method-assign]
                else:
                    vars(collector).pop("setup", None)

    def _watch_set_up(self, collector: Any) -> None:
        set_up = collector.setup

        def watched_set_up() -> None:
            context = self._do(self.tracer.begin_collector, collector)
            try:
                set_up()
            finally:
                if context is not None:
                    self._do(self.tracer.end_collector, context)

        collector.setup = watched_set_up

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """The call."""
        self._do(self.tracer.enter_phase, item, 1)
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """The teardown."""
        self._do(self.tracer.enter_phase, item, 2)
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        """The set-up of a fixture."""
        if fixturedef.scope == "function":
            return (yield)
        context = self._do(self.tracer.begin_fixture, fixturedef)
        try:
            return (yield)
        finally:
            if context is not None:
                self._do(self.tracer.end_fixture, context, fixturedef)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, Any, Any]:
        """All tests, one after the other."""
        try:
            return (yield)
        finally:
            self._do(self.tracer.finish)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Each file of tests needs the plugins that pytest has: it calls their hooks around all
        tests.
        """
        plugins = [
            plugin.__file__
            for plugin in session.config.pluginmanager.get_plugins()
            if isinstance(plugin, ModuleType) and plugin.__file__
        ]
        self._do(
            self.tracer.needs_plugins,
            {str(item.path) for item in session.items},
            plugins,
        )

    def _do(self, action: Callable[..., Any], *args: Any) -> Any:
        if self.tracer.on:
            try:
                return action(*args)
            except Exception as problem:
                self.tracer.fail(problem)
        return None


class SecondName:
    """A placeholder where this module would be registered twice, which pytest refuses with a
    traceback.
    """


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Adds our options, on the command line and in the configuration; takes both our names."""
    for name in NAMES:
        if not pluginmanager.has_plugin(name) and not pluginmanager.is_blocked(name):
            pluginmanager.register(SecondName(), name)
    group = parser.getgroup("kl", "evidence of test runs (kl)")
    _add_recording_options(group)
    _add_selection_options(group)
    _add_tracing_options(group)
    _add_settings(parser)


def _add_recording_options(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--kl",
        action="store_true",
        default=None,
        dest="kl",
        help="Record this run, even where there is no .kl/ directory.",
    )
    group.addoption(
        "--no-kl", action="store_false", default=None, dest="kl", help="Do not record this run."
    )
    group.addoption(
        "--kl-strict",
        action="store_true",
        default=False,
        dest="kl_strict",
        help="Record this run; if that fails, end with exit status 3 instead of 0.",
    )


def _add_selection_options(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--kl-impacted",
        nargs="?",
        const="",
        default=None,
        dest="kl_impacted",
        metavar="A...B",
        help=(
            "Run only the tests without a valid result for this content, or that a change between"
            " two commits reaches; see: kl proof impacted."
        ),
    )
    group.addoption(
        "--kl-unrecorded",
        choices=("all", "imports", "none"),
        default="all",
        dest="kl_unrecorded",
        help=(
            "With --kl-impacted, which tests that no run recorded: all, imports (those with an"
            " import path to what changed), none. Default: all."
        ),
    )
    group.addoption(
        "--kl-audit",
        choices=("auto", "off"),
        default=None,
        dest="kl_audit",
        help=(
            "With --kl-impacted, also run a few tests whose results are valid, at most 5 %% of the"
            " time and 2 seconds: auto (not for coding agents), off. Default: auto."
        ),
    )


def _add_tracing_options(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--kl-symbols",
        choices=("auto", "on", "off"),
        default=None,
        dest="kl_symbols",
        help=(
            "Record which functions each test executes, which needs CPython 3.12: auto, on (states"
            " where that is not possible), off. Default: auto."
        ),
    )
    group.addoption(
        "--kl-symbols-subprocess",
        action="store_true",
        default=None,
        dest="kl_symbols_subprocess",
        help=(
            "Record also what processes of this interpreter execute that a test starts: PYTHONPATH"
            " names a temporary folder while tests run."
        ),
    )


def _add_settings(parser: pytest.Parser) -> None:
    parser.addini(
        "kl_symbols_subprocess",
        "Record processes of this interpreter as well.",
        type="bool",
        default=False,
    )
    parser.addini(
        "kl_symbols", "Record which functions each test executes: auto, on or off.", default="auto"
    )
    parser.addini(
        "kl_audit", "Run a sample of valid tests with --kl-impacted: auto or off.", default="auto"
    )
    # None is "not set": then it depends on .kl/
    parser.addini(
        "kl",
        "Record runs: true even without a .kl/ directory, false never.",
        type="bool",
        default=None,
    )


def select_impacted(config: pytest.Config, folder: Path | None) -> None:
    """Registers the selection where it is asked for. pytest.UsageError for what is no range, and
    without a record.
    """
    asked = config.getoption("kl_impacted", None)
    if asked is None:
        if config.getoption("kl_unrecorded", "all") != "all":
            raise pytest.UsageError("--kl-unrecorded: it narrows --kl-impacted, which is not given")
        return
    if asked and "..." not in asked:
        raise pytest.UsageError(
            f"--kl-impacted: {asked!r} is no A...B; put files before the option"
        )
    if folder is None:
        raise pytest.UsageError("--kl-impacted: no runs are recorded here; see: kl init")
    from pytest_kl.impacted import Selection
    from pytest_kl.outcome import IMPACTED

    config.pluginmanager.register(Selection(config, folder.resolve(), asked), IMPACTED)


def pytest_configure(config: pytest.Config) -> None:
    """Registers the recorder where this run is to be recorded; in an xdist worker only something
    that counts.
    """
    with own_imports():
        _configure(config)


def _configure(config: pytest.Config) -> None:
    folder = folder_to_record(config)
    select_impacted(config, folder)
    if TRACER not in config.stash:  # loaded by a conftest, after the initial ones
        _start_tracer(config, config.getoption)
    tracer = config.stash[TRACER]
    if folder is None:
        if tracer is not None:
            tracer.stop()
        return
    if tracer is not None:
        config.pluginmanager.register(_SymbolHooks(tracer), "kl-symbols")
    # where the tests run: in a worker, or in this process
    from pytest_kl.failures import FrameRecorder

    config.pluginmanager.register(FrameRecorder(folder), "kl-frames")
    # xdist sets it in its workers only
    if hasattr(config, "workerinput"):
        from pytest_kl.interference import WorkerTally

        config.pluginmanager.register(WorkerTally(config, tracer), "kl-worker")
    else:
        from pytest_kl.recorder import Recorder

        supervised = partial(config.stash.get, RUNNING, False)
        config.pluginmanager.register(
            Recorder(config, folder, AT_EXIT, supervised, tracer), "kl-recorder"
        )
