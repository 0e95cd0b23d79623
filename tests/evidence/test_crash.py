"""Killed at any moment: what was acknowledged is there once, the next command works, the chain is
intact.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import Any

import pytest

from kl_hooks.evidence.ingestion import sync_evidence
from tests.support import Checkout, run

from .test_audit import problems

ROUNDS, KILLS = 4, 50


def crashing(repo: Checkout, *args: str) -> dict[str, Any]:
    done = run([sys.executable, "-m", "tests.evidence.crashing", *args], repo.root)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def runs(repo: Checkout) -> Counter[str]:
    return Counter(e.receipt.run for e in repo.entries(10_000))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.fault(
    "killed process",
    promised="what was acknowledged is there once, the next command works, the chain is intact",
    injected="SIGKILL of captures and imports at 200 random moments",
)
@pytest.mark.share(4)
def test_kills_at_200_random_moments_lose_and_double_nothing(repo: Checkout, seed: int) -> None:
    done = crashing(repo, "kill", str(KILLS), str(seed))
    assert done["trouble"] == []
    taken = sync_evidence(repo.workspace())
    assert (taken.trouble, taken.waiting) == ("", 0)
    assert repo.kl("status").returncode == 0
    found = runs(repo)
    acknowledged = set(done["acknowledged"])
    assert len(acknowledged) >= 5, "the kills come too early to say anything"
    assert acknowledged - found.keys() == set()
    assert [name for name, count in found.items() if count > 1] == []
    whole = {e.receipt.run for e in repo.entries(10_000) if e.receipt.result["complete"]}
    assert acknowledged <= whole
    assert problems(repo) == ()
    # a writer killed while its file had no name yet leaves that; it is taken away an hour later
    assert [
        left for left in (repo.state / "spool").iterdir() if not left.name.endswith(".jsonl.new")
    ] == []


@pytest.mark.fault(
    "many writers",
    promised="all runs are there once",
    injected="8 captures and 3 imports at once",
)
def test_eight_writers_and_three_that_import_lose_nothing(repo: Checkout) -> None:
    done = crashing(repo, "together", "8", "25")
    assert done["codes"] == [0] * 11
    acknowledged = set(done["acknowledged"])
    assert len(acknowledged) == 200
    sync_evidence(repo.workspace())
    found = runs(repo)
    assert {name: found[name] for name in acknowledged} == dict.fromkeys(acknowledged, 1)
    assert problems(repo) == ()
