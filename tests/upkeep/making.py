"""A repository with something for every policy to do."""

from __future__ import annotations

import os
from pathlib import Path

from kl_hooks.clock import DAY, iso
from kl_hooks.context import package_log
from kl_hooks.evidence.assertions import add_claim
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.provenance import worktree_state
from tests.evidence.making import leave_run
from tests.support import NOW, Checkout


def aged(path: Path, days: int) -> Path:
    """The file, last written so many days ago; made if it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    then = NOW / 1_000_000 - days * 86_400
    os.utime(path, (then, then))
    return path


def untidy(repo: Checkout) -> None:
    """Expired claims, old runs, the graph of a removed worktree, old events, a cache that is over,
    ephemera.
    """
    long_ago = repo.workspace(now=NOW - 200 * DAY)
    place = worktree_state(long_ago.repo)
    for number in range(53):
        leave_run(long_ago, [("t.py::test_a", "passed", 10 + number)], place=place)
    sync_evidence(long_ago)
    add_claim(long_ago, "is quick", "file:a.py", NOW - 150 * DAY)
    add_claim(long_ago, "is small", "file:a.py", None)
    for days in (200, 20):
        package_log.append_event(
            long_ago.state, {"event": "context_assembly", "created_at": iso(NOW - days * DAY)}
        )
    repo.write("a.py", "A = 1\n")
    repo.commit()
    sync_evidence(repo.workspace(now=NOW - 20 * DAY))
    long_ago.cache.set("old", b"x", ttl=0.001)
    aged(repo.state / "graph" / "gone-12345678.db", 20)
    aged(repo.state / "crash" / "report.txt", 1)
    repo.write(".kl/.klignore", "crash/*\n!crash/kept.txt\nkl.*\nhigh-water*\nspool/\nbackup/\n")
    aged(repo.state / "crash" / "kept.txt", 1)
