"""From pytest's reports to lines in the spool, one per test at the moment its verdict is known. The
hot path.

Everything that a line needs is bound before the first test runs, so that a test suite that replaces
`os`, `time`, `json` or `open` with its own does not reach us.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from json.encoder import JSONEncoder, encode_basestring
from typing import Any

import pytest

from kl_hooks.model.canonical import replace_surrogates
from kl_hooks.model.receipt import REFUTES, TEST_OUTCOMES, worst_outcome
from kl_hooks.store.redaction import redact
from kl_hooks.store.spool import SpoolWriter
from pytest_kl.failures import failure_detail
from pytest_kl.interference import outside

ENCODE = JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode
"""Canonical JSON of values that we made ourselves; `json.dumps` could be somebody's mock by now."""
LONGEST_ID = 4096
"""Characters; of a longer test ID the beginning and a digest of the whole are stored."""
RANK = {name: rank for rank, name in enumerate(TEST_OUTCOMES)}
SYNC_EVERY = 1.0
"""Seconds between two calls of fdatasync: what a power cut may cost."""


def clean_id(nodeid: str) -> str:
    """The id as it may reach the disk: redacted, encodable, and not longer than it needs to be."""
    # redaction comes before cutting, lest half a secret pass as none
    nodeid = redact(nodeid)
    if not nodeid.isascii():
        nodeid = replace_surrogates(nodeid)
    if len(nodeid) > LONGEST_ID:
        nodeid = nodeid[:LONGEST_ID] + "…sha256:" + hashlib.sha256(nodeid.encode()).hexdigest()[:16]
    return nodeid


def without_group(nodeid: str) -> str:
    """The id without the `@group` that xdist's `--dist loadgroup` appends: the same test has one
    name everywhere.
    """
    mark = nodeid.rfind("@")
    if mark > nodeid.rfind("]") and mark > nodeid.rfind("::"):
        return nodeid[:mark]
    return nodeid


class Journal:
    """The lines of the tests of one run.

    `prefix` leads from the repository's root to pytest's; `grouped` is true where xdist appends
    groups to ids.
    """

    def __init__(self, writer: SpoolWriter, prefix: str = "", grouped: bool = False) -> None:
        self._line = writer.line
        self._sync = writer.sync
        self._now = time.monotonic
        self._synced = self._now()
        self._prefix = prefix
        self._grouped = grouped
        self._plan: Sequence[str] = ()
        self._place = 0
        self._announced: str | None = None
        self._quoted = ""
        self._names: dict[str, str] = {}
        """ID of pytest → name: each is asked for several times in a run."""
        self._cleaned: dict[str, tuple[str, Mapping[str, Any] | None]] = {}
        """Names that are not the tests' own IDs → verdict and details: several tests may share one.
        """
        self.lines = 0

    def expect(self, nodeids: Sequence[str]) -> None:
        """The tests in the order in which they will run; then each line can name the test that
        starts next.
        """
        self._plan = nodeids

    def name(self, nodeid: str) -> str:
        """The ID in the record."""
        name = self._names.get(nodeid)
        if name is None:
            own = self._prefix + (without_group(nodeid) if self._grouped else nodeid)
            name = self._names[nodeid] = clean_id(own)
            if name != own:
                self._cleaned.setdefault(encode_basestring(name), ("", None))
        return name

    def _quote(self, nodeid: str) -> str:
        """The name as JSON."""
        return encode_basestring(self.name(nodeid))

    def started(self, nodeid: str) -> None:
        """A test starts. Writes only where no line before has named it."""
        if nodeid != self._announced:
            if not self._plan or self._plan[self._place : self._place + 1] != [nodeid]:
                # somebody runs them in an order of their own: from now on each start is written
                self._plan = ()
            self._announced, self._quoted = nodeid, self._quote(nodeid)
            self._line(f'["s",{self._quoted}]')

    def finished(
        self, nodeid: str, verdict: str, seconds: float, detail: Mapping[str, Any] | None
    ) -> None:
        """The verdict of a test; a later one for the same test replaces it."""
        own = self._quoted
        following = None
        quoted_following = "null"
        if nodeid != self._announced:
            own = self._quote(nodeid)
        elif self._plan:
            self._place += 1
            if self._place < len(self._plan):
                following = self._plan[self._place]
                quoted_following = self._quote(following)
            self._announced, self._quoted = following, quoted_following
        if own in self._cleaned:
            before = self._cleaned[own]
            # the last line counts, and must not hide that another test of this name failed
            if before[0] and worst_outcome((before[0], verdict)) == before[0]:
                verdict, detail = before
            self._cleaned[own] = verdict, detail
        if detail is None:
            detail_text = "null"
        else:
            detail_text = ENCODE(detail)
        self._line(f'["t",{own},"{verdict}",{int(seconds * 1e6)},{detail_text},{quoted_following}]')
        self.lines += 1
        now = self._now()
        if now - self._synced > SYNC_EVERY:
            self._synced = now
            self._sync()


def word_of(when: str, outcome: str, marked: bool) -> str:
    """The verdict of one report; empty where it has none (a setup or teardown that passed).

    `when` is setup, call, teardown or `???` (a worker crashed); `outcome` passed, failed or
    skipped; `marked` is true where the report carries `wasxfail`. A strict xfail that passes
    arrives as failed, and stays that.
    """
    if outcome == "failed":
        # as pytest's own summary counts: a fixture that fails is an error, only the call is a
        # failure
        if when in ("setup", "teardown"):
            return "error"
        return "failed"
    if outcome == "skipped":
        if marked:
            return "xfailed"
        return "skipped"
    if outcome != "passed":
        raise ValueError(f"pytest reported an outcome that is not known: {outcome!r}")
    if marked:
        return "xpassed"
    if when == "call":
        return "passed"
    return ""


class TestState:
    """What has been reported of one test so far."""

    __test__ = False  # no test class, whatever its name
    verdict = ""
    seconds = 0.0
    reruns = 0
    repeat = False
    detail: Mapping[str, Any] | None = None

    def add(self, word: str, detail: Mapping[str, Any] | None = None) -> None:
        """One more report: it counts if it is worse than those before."""
        if word and (not self.verdict or RANK[word] > RANK[self.verdict]):
            self.verdict = word
            self.detail = detail

    def again(self) -> None:
        """This attempt failed and is going to be repeated."""
        self.repeat = True

    def closed(self) -> bool:
        """The attempt is over. True if it is the last one; else its reports are forgotten."""
        if not self.repeat:
            return True
        self.verdict = ""
        self.detail = None
        self.repeat = False
        self.reruns += 1
        return False

    def final(self) -> tuple[str, Mapping[str, Any] | None]:
        """The verdict and its details; the verdict is empty for a test that never ran
        (`--setup-only`).
        """
        if not self.reruns:
            return self.verdict, self.detail
        if self.verdict == "passed":
            verdict = "flaky"
        else:
            verdict = self.verdict
        return verdict, {**(self.detail or {}), "attempts": self.reruns + 1}


class Listener:
    """Folds reports to verdicts and hands each to the journal when it is final.

    `root` is the folder that paths in messages are shortened by; `failed` is called with the first
    exception of ours.
    """

    def __init__(self, journal: Journal, root: str, failed: Callable[[Exception], None]) -> None:
        self._journal = journal
        self._root = root
        self._failed = failed
        self._open: dict[str, TestState] = {}
        self.verdicts: dict[str, str] = {}
        """Of every test that is through."""
        self.collectors: dict[str, str] = {}
        """Of every file or class that could not be collected (`error`) or was skipped as a whole.
        """

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A test starts, here or in a worker."""
        try:
            self._journal.started(nodeid)
        except Exception as problem:
            self._failed(problem)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One report: of setup, call, teardown, a subtest, or a crash. Called three times a test or
        more.
        """
        try:
            nodeid = report.nodeid
            test = self._open.get(nodeid)
            when: str | None = report.when
            if test is None:
                test = self._open[nodeid] = TestState()
            elif test.repeat and when == "setup":
                # older rerunfailures report no teardown of an attempt that is repeated
                test.closed()
            facts = report.__dict__
            if report.outcome == "passed" and "wasxfail" not in facts:
                if when == "call" and not test.verdict:
                    test.verdict = "passed"
            else:
                self._add_unless_passed(test, report)
            if "context" not in facts:  # the time of a subtest is in the time of its test
                test.seconds += facts.get("duration", 0.0)
            # `???` is how xdist reports the test that a crashed worker was running: no teardown
            # follows
            if when == "teardown" or when == "???":
                del self._open[nodeid]
                self._finish_if_done(nodeid, test)
        except Exception as problem:
            self._failed(problem)

    def _add_unless_passed(self, test: TestState, report: pytest.TestReport) -> None:
        if report.outcome == "rerun":  # type: ignore[comparison-overlap]
            test.again()
            return
        word = word_of(report.when or "", report.outcome, hasattr(report, "wasxfail"))
        if word in REFUTES:
            test.add(word, failure_detail(report, self._root))
        else:
            switched_off_by = outside(report, self._root) if word else ""
            test.add(word, {"by": redact(switched_off_by)} if switched_off_by else None)

    def _finish_if_done(self, nodeid: str, test: TestState) -> None:
        verdict = test.verdict
        detail = test.detail
        if test.repeat or test.reruns:
            if not test.closed():
                self._open[nodeid] = test
                return
            verdict, detail = test.final()
        if not verdict:
            return
        if (
            nodeid in self.verdicts
            and worst_outcome((before := self.verdicts[nodeid], verdict)) == before
        ):
            return
        self.verdicts[nodeid] = verdict
        self._journal.finished(nodeid, verdict, test.seconds, detail)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file or class that could not be collected, or that was skipped as a whole."""
        if report.outcome == "passed":
            return
        try:
            if report.failed:
                verdict = "error"
            else:
                verdict = "skipped"
            if self.collectors.get(report.nodeid) != "error":
                self.collectors[report.nodeid] = verdict
                if report.failed:
                    detail = failure_detail(report, self._root)
                else:
                    detail = None
                self._journal.finished(report.nodeid, verdict, 0.0, detail)
        except Exception as problem:
            self._failed(problem)

    def settle(self) -> None:
        """At the end: a test that was cut off has no verdict, unless it had failed already."""
        for nodeid, test in self._open.items():
            verdict, detail = test.final()
            # an attempt that is going to be repeated decides nothing
            if verdict in REFUTES and not test.repeat and nodeid not in self.verdicts:
                self.verdicts[nodeid] = verdict
                self._journal.finished(nodeid, verdict, test.seconds, detail)
        self._open.clear()
