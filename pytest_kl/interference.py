"""What hooks do to collected tests: how many they take out, marks from outside, functions that are
not called.

What costs time at every test is registered only where there is something to look at. An xdist
worker writes nothing: it sends what it counted and what it imported to the controller.
"""

from __future__ import annotations

import hashlib
import sys
import sysconfig
import threading
import unittest
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dis import get_instructions
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

import _pytest.main
import _pytest.mark
import pytest
from pluggy import HookImpl

from pytest_kl.imported import Content, Observer
from pytest_kl.tracer import TRACE, Tracer

NAMED = 3
SWITCHES = frozenset({"skip", "skipif", "xfail"})
"""Marks that switch a test off."""
BY = "kl_by"
"""Attribute of a report: who switched the test off."""
MARK = "a mark added to it"
SWITCHING = (pytest.skip.Exception, pytest.xfail.Exception, unittest.SkipTest)
PYTEST = Path(pytest.Item.reportinfo.__code__.co_filename).parent
REPLACEABLE = ("pytest_runtest_protocol", "pytest_runtest_makereport", "pytest_runtestloop")
"""Hooks of which one implementation decides; another one than pytest's is named."""
_STATUS: Final = frozenset(["exitstatus", "testsfailed"])
"""What of a session decides about its exit status."""
CONTENT, IMPORTED = "kl_content", "kl_imported"
"""Where the controller puts the paths of the content tree for a worker, and the worker what it
imported.
"""


class Interference:
    """Looks at the items of a run, after everybody had them, and at who implements the hooks that
    run them.
    """

    def __init__(self) -> None:
        self._calls: Calls | None = None
        self._replaced: list[str] = []
        self._session_checks: list[str] = []

    def look(self, items: Sequence[pytest.Item]) -> None:
        """Registers what is needed to observe these items. A failure here must not affect the
        tests.
        """
        try:
            if items and not items[0].config.pluginmanager.has_plugin("kl-switches"):
                self._look(items, items[0].config)
        except Exception as problem:
            self._replaced = [f"(not known: {type(problem).__name__})"]

    def _look(self, items: Sequence[pytest.Item], config: pytest.Config) -> None:
        marked = {item.nodeid for item in items if has_foreign_switch(item)}
        config.pluginmanager.register(Switches(marked), "kl-switches")
        if implementations := list(local_implementations(config, "pytest_pyfunc_call")):
            self._calls = Calls(implementations[0])
            config.pluginmanager.register(self._calls, "kl-calls")
        self._replaced = [
            f"{name} in {file}"
            for name in REPLACEABLE
            for file in local_implementations(config, name)
        ]
        self._session_checks = sorted(set(_session_checks(config)))

    def plain(self) -> dict[str, Any]:
        """`not_called`, `replaced_hooks` and `session_checks`, each where there is any."""
        tally: dict[str, Any] = {"replaced_hooks": self._replaced} if self._replaced else {}
        if self._session_checks:
            tally["session_checks"] = self._session_checks
        if self._calls is not None and self._calls.missed:
            missed = self._calls.missed
            tally["not_called"] = {
                "tests": len(missed),
                "first": missed[:NAMED],
                "by": self._calls.by,
            }
        return tally


def _session_checks(config: pytest.Config) -> Iterator[str]:
    """The files of the repository whose hooks at the end of a session may set its exit status: they
    judge all tests together.
    """
    for name in ("pytest_sessionfinish", "pytest_terminal_summary"):
        for implementation, file in _implementations(config, name):
            namespace = getattr(implementation.function, "__globals__", {})
            if any(map(_sets_status, _codes(namespace.values()))):
                yield file


def _codes(values: Iterable[object]) -> Iterator[CodeType]:
    """The code of the functions and classes of a module, and what is inside."""
    for value in list(values):
        if isinstance(value, type):
            yield from _codes(vars(value).values())
        code = getattr(value, "__code__", None)
        waiting = [code] if isinstance(code, CodeType) else []
        while waiting:
            inner = waiting.pop()
            yield inner
            waiting += [constant for constant in inner.co_consts if isinstance(constant, CodeType)]


def _sets_status(code: CodeType) -> bool:
    return not _STATUS.isdisjoint(code.co_names) and any(
        step.opname == "STORE_ATTR" and step.argval in _STATUS for step in get_instructions(code)
    )


def merge_tallies(first_tally: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The reports of workers, together: all of them collect the same, each calls tests of its
    own.
    """
    merged = {**first_tally, **other}
    first = first_tally.get("not_called")
    second = other.get("not_called")
    if first and second:
        merged["not_called"] = {
            "tests": first["tests"] + second["tests"],
            "by": first["by"],
            "first": [*first["first"], *second["first"]][:NAMED],
        }
    elif first or second:
        merged["not_called"] = first or second
    return merged


def has_foreign_switch(item: pytest.Item) -> bool:
    """Whether a mark of this item switches it off that neither its function nor its parameters
    have.
    """
    switches = [mark for mark in item.own_markers if mark.name in SWITCHES]
    if not switches:
        return False
    marks = getattr(getattr(item, "obj", None), "pytestmark", ())
    own = [
        getattr(mark, "mark", mark)
        for mark in (marks if isinstance(marks, list | tuple) else (marks,))
    ]
    own += getattr(getattr(item, "callspec", None), "marks", ())
    # by identity: marks are equal by value, and a hook may add the very mark that another test has
    return any(not any(mark is getattr(known, "mark", known) for known in own) for mark in switches)


class Switches:
    """Notes in the report of a test who switched it off, if not its own file; xdist carries it to
    the controller.

    The report itself does not show it: since pytest 8.4 a skip in a fixture is given the place of
    the test.
    """

    def __init__(self, marked: set[str]) -> None:
        self._marked = marked

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """One report of one phase."""
        report = yield
        if report.outcome == "skipped" or "wasxfail" in report.__dict__:
            if item.nodeid in self._marked:
                switch = MARK
            else:
                switch = _raised_in(item, call)
            if switch:
                setattr(report, BY, switch)
        return report


def _raised_in(item: pytest.Item, call: pytest.CallInfo[None]) -> str:
    """The file whose code raised the skip, if it is neither the test's nor pytest's own (a mark of
    the test).

    Any other exception is the failure that a mark of the test expects, wherever it comes from.
    """
    if call.excinfo is None or not isinstance(call.excinfo.value, SWITCHING):
        return ""
    for entry in reversed(call.excinfo.traceback):
        path = Path(entry.path)
        # `pytest.skip()` raises inside of `_pytest/outcomes.py`: whoever called it is one frame
        # further up
        if path.name != "outcomes.py" or path.parent != PYTEST:
            # reportinfo: the file in which the function is, also where a class inherited it
            own = path.parent == PYTEST or path in (item.path, Path(item.reportinfo()[0]))
            if own:
                return ""
            return path.as_posix()
    return ""


def outside(report: pytest.TestReport, root: str) -> str:
    """Who switched a test off, if not its own file: a path, from `root` where it is below; empty
    for nobody else.
    """
    switch = str(getattr(report, BY, ""))
    if switch.startswith("/") and not switch.startswith(root):
        return "/".join(switch.split("/")[-2:])
    return switch.removeprefix(root)


def local_implementations(config: pytest.Config, name: str) -> Iterator[str]:
    """The files that implement a hook, as one that decides: without wrappers, pytest and installed
    plugins.
    """
    for implementation, file in _implementations(config, name):
        if not implementation.hookwrapper and not getattr(implementation, "wrapper", False):
            yield file


def _implementations(config: pytest.Config, name: str) -> Iterator[tuple[HookImpl, str]]:
    """The implementations of a hook, with their files; without pytest and installed plugins."""
    own = (str(PYTEST.resolve()), str(Path(__file__).resolve().parent))
    for implementation in getattr(config.hook, name).get_hookimpls():
        code = getattr(implementation.function, "__code__", None)
        if code is None:
            continue
        file = Path(code.co_filename).resolve()
        if str(file.parent) in own or str(file).startswith(_installed()):
            continue
        if file.is_relative_to(config.rootpath):
            yield implementation, file.relative_to(config.rootpath).as_posix()
        else:
            yield implementation, file.name


@cache
def _installed() -> tuple[str, ...]:
    """Folders of installed modules: 2 ms, which a run without further plugins need not spend."""
    paths = sysconfig.get_paths()
    return tuple(f"{Path(paths[key]).resolve()}/" for key in ("purelib", "platlib", "stdlib"))


class Calls:
    """Notices a test that passed although its function never started: a hook that replaces the call
    left it out.

    A hook that runs a coroutine in a loop of its own starts it, and is no trouble.
    """

    def __init__(self, implementer: str) -> None:
        self.by = implementer
        self.missed: list[str] = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
        """One call of one test function."""
        function = getattr(pyfuncitem.obj, "__func__", pyfuncitem.obj)
        code = getattr(function, "__code__", None)
        # a callable without code of its own (a mock, a partial): whether it started can't be seen
        if not isinstance(code, CodeType):
            return (yield)
        with (_monitored if sys.version_info >= (3, 12) else _profiled)(code) as started:
            result = yield
        if not started():
            self.missed.append(pyfuncitem.nodeid)
        return result


@contextmanager
def _monitored(code: CodeType) -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether this code has started since; True where that is
    unknown.

    By `sys.monitoring`, for this code alone: whatever thread or event loop runs it.
    """
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    started: list[CodeType] = []
    # sys.monitoring names 0, 1, 2 and 5 for debuggers, coverage, profilers and optimizers; 3 and 4
    # have no owner
    tool = next((number for number in (4, 3) if monitoring.get_tool(number) is None), None)
    if tool is None:
        yield lambda: True
        return
    start = monitoring.events.PY_START
    monitoring.use_tool_id(tool, "kl")
    try:
        monitoring.register_callback(tool, start, lambda code, offset: started.append(code))
        monitoring.set_local_events(tool, code, start)
        yield lambda: bool(started)
    finally:
        # in CPython 3.12 free_tool_id neither disables events nor unregisters callbacks (its
        # documentation)
        monitoring.set_local_events(tool, code, 0)
        monitoring.register_callback(tool, start, None)
        monitoring.free_tool_id(tool)


@contextmanager
def _profiled(code: CodeType) -> Iterator[Callable[[], bool]]:
    """The same before CPython 3.12, where no other profiler is at work; threads are looked at from
    their start.
    """
    started: list[CodeType] = []

    def profile(frame: FrameType, event: str, value: object) -> None:
        if frame.f_code is code:
            started.append(code)

    # there is one profile function a thread: replacing that of a user's profiler would end their
    # measurement
    if sys.getprofile() is not None or threading.getprofile() is not None:
        yield lambda: True
        return
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield lambda: bool(started)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


# sha256 is bound when this is imported: test modules are loaded before the call, and may replace it
def _text_digest(text: str, sha256: Any = hashlib.sha256) -> str:
    return str(sha256(text.encode("utf-8", "replace")).hexdigest()[:16])


_MOST_FILES: Final = 50
"""Files with deselected tests that a receipt names."""


_BY_OPTIONS: Final = frozenset(
    function.__code__
    for function in (
        _pytest.main.pytest_collection_modifyitems,
        _pytest.mark.pytest_collection_modifyitems,
    )
)
"""pytest's own code that deselects by `--deselect`, and by `-k` and `-m`."""


def _asked_by_options(frame: FrameType | None) -> bool:
    """Whether pytest itself deselects, by an option: a hook of a project may report what it
    likes.
    """
    while frame is not None:
        if frame.f_code in _BY_OPTIONS:
            return True
        # whatever is further out called all hooks of the collection, not this report
        if frame.f_code is _pytest.main.Session.perform_collect.__code__:
            return False
        frame = frame.f_back
    return False


class Tally:
    """Counts what a collection found, what was deselected, and what disappeared without being
    called deselected.
    """

    def __init__(self) -> None:
        self.collected: int | None = None
        self.deselected = 0
        self._deselected_by_options = 0
        self._deselected_files: set[str] = set()
        self.dropped = 0
        self._names = ""
        self._interference = Interference()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, items: list[pytest.Item]
    ) -> Generator[None, None, None]:
        """Counts before anybody else has seen the items, and again after."""
        self.collected = len(items)
        names = sorted(item.nodeid for item in items)
        self._names = _text_digest("\n".join(names))
        try:
            return (yield)
        finally:
            if len(items) < len(names):
                # by what is missing, not by what was reported as deselected: a plugin may name
                # others
                left = {item.nodeid for item in items}
                self._deselected_files = {
                    name.partition("::")[0] for name in names if name not in left
                }
            self.dropped = max(0, self.collected - len(items) - self.deselected)
            self._interference.look(items)

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """`-k`, `-m`, `--lf`, `--deselect` and other plugins report what they deselected."""
        self.deselected += len(items)
        if _asked_by_options(sys._getframe()):
            self._deselected_by_options += len(items)

    def plain(self) -> dict[str, Any]:
        """`{"collected", "deselected"}` as pytest counts; `dropped`, and what the repository's
        hooks do, if any.
        """
        if self.collected is None:
            return {}
        tally = {
            "collected": self.collected,
            "deselected": self.deselected,
            **self._interference.plain(),
        }
        if self.deselected:
            tally["collected_names"] = self._names
            tally["deselected_by_options"] = self._deselected_by_options
            # of all other files every test ran; of very many it is no longer worth a list in each
            # receipt
            if len(self._deselected_files) <= _MOST_FILES:
                tally["deselected_files"] = sorted(self._deselected_files)
        if self.dropped:
            return {**tally, "dropped": self.dropped}
        return tally


class WorkerTally(Tally):
    """The same in a worker, which reports to the controller at its end."""

    def __init__(self, config: pytest.Config, tracer: Tracer | None = None) -> None:
        super().__init__()
        self._config, self._tracer = config, tracer
        packed = getattr(config, "workerinput", {}).get(CONTENT)
        self._observer = Observer(lambda: Content.unpacked(packed)) if packed else None

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self) -> Generator[None, Any, Any]:
        """Attach plain values: xdist can send no others. After what other hooks execute here, which
        may decide about the exit status; before xdist sends the values, in a wrapper around ours.
        """
        try:
            return (yield)
        finally:
            self._attach()

    def _attach(self) -> None:
        output = getattr(self._config, "workeroutput", {})
        output["kl"] = self.plain()
        if self._observer is not None:
            output[IMPORTED] = self._observer.report()
        if self._tracer is not None:
            self._tracer.stop()
            output[TRACE] = self._tracer.plain()
