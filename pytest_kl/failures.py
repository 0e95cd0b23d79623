"""Failures in this run: where each was raised, and in pytest's own report what earlier runs show of
it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, cast

import pytest

from kl_hooks.model.receipt import OF_OTHERS, Evidence
from kl_hooks.store.redaction import redact
from pytest_kl.outcome import detail_of, short

if TYPE_CHECKING:
    from types import TracebackType

    from kl_hooks.workspace import Workspace

ATTRIBUTE = "kl_failure"
"""Of a report; xdist sends the attributes of a report that are plain values to its controller."""
SECTION = "kl: earlier failures"
MOST = 20
"""Failures of a run that are looked up: after a broken import everything fails, and nobody reads
on.
"""
_INSTALLED = ("/site-packages/", "/dist-packages/")


class FrameRecorder:
    """Notes the exception and its innermost frame in the repository; in the process that runs the
    tests.
    """

    def __init__(self, root: Path) -> None:
        self._root = f"{root.resolve()}/"
        self._has_ended_wider_fixture = False
        """Whether a fixture of several tests ended since the last report."""

    def pytest_fixture_post_finalizer(self, fixturedef: pytest.FixtureDef[Any]) -> None:
        """A fixture ends, by an exception perhaps: `setup_module` and the like are fixtures, too."""
        if fixturedef.scope != "function":
            self._has_ended_wider_fixture = True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        """Adds them to the report of a failure."""
        report = yield
        with suppress(
            Exception
        ):  # the tests' own exceptions, tracebacks and `__getattr__` are looked at
            if call.excinfo is not None and report.failed:
                place = self._place(call.excinfo)
                is_end_of_fixture = report.when == "teardown" and self._has_ended_wider_fixture
                if is_end_of_fixture or _is_noticed_later(call.excinfo.value):
                    place[OF_OTHERS] = "yes"
                setattr(report, ATTRIBUTE, place)
        self._has_ended_wider_fixture = False
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, Any]:
        """Adds to the report of a file that can't be collected where it is wrong."""
        report = yield
        with suppress(Exception):
            # the call is there until pytest has reported the exception (_pytest.runner)
            call = report.__dict__.get("call")
            if report.failed and call is not None and call.excinfo is not None:
                error = call.excinfo.value
                if isinstance(error, collector.CollectError):
                    cause = error.__cause__
                else:
                    cause = error
                setattr(report, ATTRIBUTE, {"at": self._line(cause or error)})
        return report

    def _line(self, error: BaseException) -> str:
        """`tests/test_a.py:3:8: SyntaxError: invalid syntax`; without a place where it is none of
        the repository.
        """
        places = []
        for frame, line in walk_tb(error.__traceback__):
            places.append(f"{frame.f_code.co_filename}:{line}")
        if isinstance(error, SyntaxError) and error.filename:
            places.append(f"{error.filename}:{error.lineno or 0}:{error.offset or 0}")
        if isinstance(error, SyntaxError):
            text = error.msg
        else:
            text = str(error)
        words = f"{type(error).__name__}: {text}"
        inside = (place.removeprefix(self._root) for place in places if self._is_inside(place))
        *_, last = ["", *inside]
        return short(f"{last}: {words}" if last else words, self._root)

    def _is_inside(self, path: str) -> bool:
        return path.startswith(self._root) and not any(part in path for part in _INSTALLED)

    def _place(self, raised: pytest.ExceptionInfo[BaseException]) -> dict[str, str]:
        frame = ""
        step = cast("TracebackType | None", raised.tb)
        while step is not None:
            code = step.tb_frame.f_code
            path = code.co_filename.removeprefix(self._root)
            inside = self._is_inside(code.co_filename)
            # a helper that hides itself from pytest's traceback is not where the failure is
            if inside and not step.tb_frame.f_locals.get("__tracebackhide__"):
                frame = f"{path}::{code.co_qualname}"
            step = step.tb_next
        return {"exception": raised.typename, **({"frame": frame} if frame else {})}


def _is_noticed_later(error: BaseException) -> bool:
    """Whether an error is of an object or a thread that any earlier test may have left."""
    if isinstance(error, BaseExceptionGroup):
        return any(map(_is_noticed_later, error.exceptions))
    return isinstance(
        error,
        pytest.PytestUnraisableExceptionWarning | pytest.PytestUnhandledThreadExceptionWarning,
    )


def failure_detail(report: pytest.TestReport | pytest.CollectReport, root: str) -> dict[str, Any]:
    """What is recorded of a failure: `message`, `path`, `line`, and where they are known
    `exception` and `frame`; `at` of a file that can't be collected; see `OF_OTHERS`.
    """
    place = getattr(report, ATTRIBUTE, None)
    facts = place if isinstance(place, Mapping) else {}
    return {key: redact(str(value)) for key, value in facts.items()} | detail_of(
        report.longrepr, root
    )


class FailureReport:
    """Adds to the report of a failing test what earlier runs show of it; nothing where there are
    none.
    """

    def __init__(self, ws: Workspace, run: str, branch: str, name: Callable[[str], str]) -> None:
        """`branch` is empty where the content is not that of a commit; `name` gives the ID of a
        test in the record.
        """
        self._ws = ws
        self._run = run
        self._branch = branch
        self._name = name

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None, Any, Any]:
        """Before pytest prints the failures: it does so in a wrapper of its own, which is called
        after this one.
        """
        with suppress(Exception):  # advice: what can't be given must not cost the report
            self._add_sections(terminalreporter)
        return (yield)

    def _add_sections(self, terminalreporter: Any) -> None:
        stats: Mapping[str, Any] = terminalreporter.stats
        reports = [
            one
            for word in ("failed", "error")
            for one in stats.get(word, ())
            if hasattr(one, "when")
        ][:MOST]
        if not reports:
            return
        # imported here: a run without failures needs nothing of it
        from kl_hooks.errors import KlError
        from kl_hooks.proof.failures import failure_histories, history_lines
        from kl_hooks.proof.since_pass import change_line, since_pass, without_change_lines

        named = {self._name(one.nodeid): one for one in reports}
        failures = {
            name: Evidence(
                "TestResult",
                f"test:{name}",
                "failed",
                0,
                None,
                failure_detail(one, f"{self._ws.root}/"),
            )
            for name, one in named.items()
        }
        histories = failure_histories(self._ws, failures, self._run, self._branch)
        lines = {name: history_lines(history) for name, history in histories.items()}
        with suppress(KlError):  # the history of the failures is known without it
            answers = since_pass(self._ws, failures)
            for name, answer in answers.items():
                lines[name] = [*without_change_lines(answer), *lines.get(name, ())]
            if line := change_line(answers, len(failures)):
                terminalreporter.write_line(line)
        for name, texts in lines.items():
            if texts:
                named[name].sections.append((SECTION, "\n".join(texts) + "\n"))
