"""Receipts and commits for the tests of mining, built by hand: what was run, when, by whom, with
which outcome.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from kl_hooks.clock import iso
from kl_hooks.evidence.commits import LoggedCommit
from kl_hooks.evidence.ledger import Entry
from kl_hooks.model.receipt import Evidence, Receipt

DAY = 86_400_000_000
START = 1_800_000_000_000_000


def tree(name: str) -> str:
    """The tree id of content of this name."""
    return hashlib.sha1(name.encode()).hexdigest()


class Story:
    """A store that fills, receipt by receipt. Time goes on an hour with each; `days()` lets days
    pass.
    """

    def __init__(self) -> None:
        self.now = START
        self.entries: list[Entry] = []
        self.commits: list[LoggedCommit] = []
        self.content = "begin"
        self.who = "local:ada@box"

    @property
    def head(self) -> str:
        """The newest commit."""
        return self.commits[-1].sha if self.commits else "0" * 40

    def days(self, days: int = 1) -> None:
        """Lets days pass."""
        self.now += days * DAY

    def _add(self, source: str, evidence: tuple[Evidence, ...], **more: Any) -> Entry:
        seq = len(self.entries) + 1
        self.now += 3_600_000_000
        values: dict[str, Any] = {
            "run": f"{seq:032x}",
            "source": source,
            "observer": source,
            "producer": self.who,
            "evidence": evidence,
            "started": iso(self.now),
            "ended": iso(self.now + 1_000_000),
            "tree": tree(self.content),
            "tree_all": tree(self.content),
            "head": self.head,
            "result": {"complete": True, "verdict": "passed"},
        }
        origin = more.pop("origin", "local")
        receipt = Receipt(**(values | more))
        self.entries.append(Entry(seq, "", origin, receipt.id, receipt))
        return self.entries[-1]

    def command(
        self, line: str, code: int = 0, tail: str = "", took: int = 0, **more: Any
    ) -> Entry:
        """A run of a command; `took`: microseconds."""
        detail = {"exit": code} | ({"tail": tail} if tail else {})
        word = "failed" if code else "passed"
        return self._add(
            "command", (Evidence("ExitCode", f"command:{line}", word, took, None, detail),), **more
        )

    def tests(self, outcomes: Mapping[str, str], message: str = "", **more: Any) -> Entry:
        """A run of tests: id → outcome. All that failed failed with the same message."""
        evidence = tuple(
            Evidence(
                "TestResult",
                f"test:{name}",
                what,
                0,
                None,
                {"message": message} if what == "failed" else {},
            )
            for name, what in outcomes.items()
        )
        return self._add("pytest", evidence, **more)

    def edit(self, content: str) -> None:
        """The working tree has other content from now on."""
        self.content = content

    def commit(
        self, subject: str, *files: str, author: str = "Ada <ada@example.org>"
    ) -> LoggedCommit:
        """Commits what is in the working tree."""
        self.now += 60_000_000
        sha = hashlib.sha1(f"{subject}{len(self.commits)}".encode()).hexdigest()
        receipt = f"r{len(self.commits)}"
        made = LoggedCommit(
            sha,
            iso(self.now),
            subject,
            "",
            files,
            tree(self.content),
            author,
            receipt,
            (self.head,),
        )
        self.commits.append(made)
        return made
