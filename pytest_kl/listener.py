"""Hears every report of every test. Registered while recording goes well; the first trouble of ours takes it out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kl_hooks.model.receipt import REFUTES, worst_outcome
from kl_hooks.store.redaction import redact
from pytest_kl.interference import outside
from pytest_kl.journal import Journal
from pytest_kl.message import detail_of
from pytest_kl.verdict import Test, word_of


class Listener:
    """Folds reports to verdicts and hands each to the journal when it is final.

    `root` is the folder that paths in messages are shortened by; `failed` is called with the first exception of ours.
    """

    def __init__(self, journal: Journal, root: str, failed: Callable[[Exception], None]) -> None:
        self._journal = journal
        self._root = root
        self._failed = failed
        self._open: dict[str, Test] = {}
        self.verdicts: dict[str, str] = {}
        """Of every test that is through."""
        self.collectors: dict[str, str] = {}
        """Of every file or class that could not be collected (`error`) or was skipped as a whole."""

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A test starts, here or in a worker."""
        try:
            self._journal.started(nodeid)
        except Exception as problem:
            self._failed(problem)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One report: of setup, call, teardown, a subtest, or a crash. Called three times a test or more."""
        try:
            nodeid = report.nodeid
            test = self._open.get(nodeid)
            when: str | None = report.when
            if test is None:
                test = self._open[nodeid] = Test()
            elif test.repeat and when == "setup":
                test.closed()  # older rerunfailures say nothing of the teardown of an attempt that is repeated
            facts = report.__dict__
            if report.outcome == "passed" and "wasxfail" not in facts:
                if when == "call" and not test.verdict:
                    test.verdict = "passed"
            else:
                self._unusual(test, report)
            if "context" not in facts:  # the time of a subtest is in the time of its test
                test.seconds += facts.get("duration", 0.0)
            if when == "teardown" or when == "???":
                del self._open[nodeid]
                self._through(nodeid, test)
        except Exception as problem:
            self._failed(problem)

    def _unusual(self, test: Test, report: pytest.TestReport) -> None:
        if report.outcome == "rerun":  # type: ignore[comparison-overlap]
            test.again()
            return
        word = word_of(report.when or "", report.outcome, hasattr(report, "wasxfail"))
        if word in REFUTES:
            test.hear(word, detail_of(report.longrepr, self._root))
        else:
            by = outside(report, self._root) if word else ""
            test.hear(word, {"by": redact(by)} if by else None)

    def _through(self, nodeid: str, test: Test) -> None:
        verdict, detail = test.verdict, test.detail
        if test.repeat or test.reruns:
            if not test.closed():
                self._open[nodeid] = test
                return
            verdict, detail = test.final()
        if not verdict:
            return
        if nodeid in self.verdicts and worst_outcome((before := self.verdicts[nodeid], verdict)) == before:
            return
        self.verdicts[nodeid] = verdict
        self._journal.finished(nodeid, verdict, test.seconds, detail)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file or class that could not be collected, or that was skipped as a whole."""
        if report.outcome == "passed":
            return
        try:
            verdict = "error" if report.failed else "skipped"
            if self.collectors.get(report.nodeid) != "error":
                self.collectors[report.nodeid] = verdict
                detail = detail_of(report.longrepr, self._root) if report.failed else None
                self._journal.finished(report.nodeid, verdict, 0.0, detail)
        except Exception as problem:
            self._failed(problem)

    def settle(self) -> None:
        """At the end: a test that was cut off has no verdict, unless it had failed already."""
        for nodeid, test in self._open.items():
            verdict, detail = test.final()
            if verdict in REFUTES and not test.repeat and nodeid not in self.verdicts:
                self.verdicts[nodeid] = verdict
                self._journal.finished(nodeid, verdict, test.seconds, detail)
        self._open.clear()
