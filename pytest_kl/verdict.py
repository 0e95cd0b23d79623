"""One verdict per test out of all that is reported of it: the worst counts, and a later attempt is no clean pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kl_hooks.model.receipt import TEST_OUTCOMES

RANK = {name: rank for rank, name in enumerate(TEST_OUTCOMES)}


def word_of(when: str, outcome: str, marked: bool) -> str:
    """What one report says: a verdict, or empty where it says nothing (a setup or teardown that went well).

    `when` is setup, call, teardown or `???` (a worker crashed); `outcome` passed, failed or skipped; `marked` is true
    where the report carries `wasxfail`. A strict xfail that passes arrives as failed, and stays that.
    """
    if outcome == "failed":
        return "error" if when in ("setup", "teardown") else "failed"
    if outcome == "skipped":
        return "xfailed" if marked else "skipped"
    if outcome != "passed":
        raise ValueError(f"pytest reported an outcome that is not known: {outcome!r}")
    if marked:
        return "xpassed"
    return "passed" if when == "call" else ""


class Test:
    """What has been reported of one test so far."""

    __test__ = False  # no test class, whatever its name says
    verdict = ""
    seconds = 0.0
    reruns = 0
    repeat = False
    detail: Mapping[str, Any] | None = None

    def hear(self, word: str, detail: Mapping[str, Any] | None = None) -> None:
        """One more report: it counts if it is worse than what was heard before."""
        if word and (not self.verdict or RANK[word] > RANK[self.verdict]):
            self.verdict = word
            self.detail = detail

    def again(self) -> None:
        """This attempt failed and is going to be repeated."""
        self.repeat = True

    def closed(self) -> bool:
        """The attempt is over. True if it is the last one; else what was heard of it is forgotten."""
        if not self.repeat:
            return True
        self.verdict, self.detail, self.repeat = "", None, False
        self.reruns += 1
        return False

    def final(self) -> tuple[str, Mapping[str, Any] | None]:
        """The verdict and what is known about it; the verdict is empty for a test that never ran (`--setup-only`)."""
        if not self.reruns:
            return self.verdict, self.detail
        verdict = "flaky" if self.verdict == "passed" else self.verdict
        return verdict, {**(self.detail or {}), "attempts": self.reruns + 1}
