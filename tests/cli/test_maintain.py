"""`kl maintain`, by hand and behind another command: at most once a day, and never where it would
be in the way.
"""

from __future__ import annotations

import json
import time

import pytest

from kl_hooks.cli.maintain import MARK, may_run
from kl_hooks.upkeep.run import STAMP
from tests.support import Checkout


def test_by_hand(repo: Checkout) -> None:
    done = repo.kl("maintain", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert [one["action"] for one in json.loads(done.stdout)["done"]] == [
        "ingest",
        "mine",
        "tidy",
        "verify",
    ]
    assert repo.kl("maintain", "--due").stdout == "Nothing is due.\n"


def stamped(repo: Checkout, seconds: float = 30.0) -> bool:
    """True once maintenance has run to its end."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if (repo.state / STAMP).exists() and "verify" in (repo.state / STAMP).read_text():
            return True
        time.sleep(0.05)
    return False


def test_whoever_asks_for_it_gets_it_once_a_day_behind_a_command(repo: Checkout) -> None:
    assert repo.kl("status").returncode == 0
    assert not (repo.state / MARK).exists(), "nobody asked"
    repo.git("config", "kl.maintain", "daily")
    repo.kl_process("run", "--", "true")
    assert stamped(repo)
    began = (repo.state / MARK).stat().st_mtime_ns
    assert repo.kl_process("status").returncode == 0
    assert (repo.state / MARK).stat().st_mtime_ns == began


@pytest.mark.parametrize(
    "name", ["CI", "GIT_DIR", "GIT_INDEX_FILE", "PRE_COMMIT", "GITHUB_ACTIONS", "KL_MAINTAINING"]
)
def test_never_in_ci_nor_in_a_git_hook(name: str) -> None:
    assert may_run({})
    assert not may_run({name: "1"})


def test_in_a_git_hook_nothing_is_started(repo: Checkout) -> None:
    repo.git("config", "kl.maintain", "daily")
    assert repo.kl("commits", "record", env={"GIT_INDEX_FILE": ".git/index"}).returncode == 0
    assert repo.kl("status", env={"CI": "1"}).returncode == 0
    assert not (repo.state / MARK).exists()


def test_a_state_that_cannot_be_written_costs_the_command_nothing(repo: Checkout) -> None:
    repo.kl("run", "--", "true")
    repo.git("config", "kl.maintain", "daily")
    (repo.state / MARK).mkdir()
    (repo.state / MARK / "x").touch()
    assert repo.kl("status").returncode == 0
