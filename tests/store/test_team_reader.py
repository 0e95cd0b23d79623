"""Whoever may only read a team's database learns once what becomes of his runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evidence.making import leave_run
from tests.support import checkout
from tests.team_server import TeamServer

from .test_team import used_by

FILES = {"test_a.py": "def test_a(): pass\n"}


@pytest.mark.slow
def test_a_reader_learns_once_what_waits_and_how_it_gets_in(
    tmp_path: Path, home: Path, team: TeamServer
) -> None:
    admin = used_by(tmp_path / "one", team, "--create", files=FILES)
    team.sql("CREATE ROLE ruth LOGIN")
    admin.kl("store", "grant", "ruth", "reader")
    reader = checkout(tmp_path / "two", FILES)
    reader.kl("store", "use", team.url("team", "ruth"), "--repository", "shop")
    run = leave_run(reader.workspace(), [("test_a.py::test_a", "passed", 5)])
    first = reader.kl("verify")
    assert (first.returncode, f"run {run[:8]} passed" in first.stdout) == (0, True)
    asked = (
        "you may only read in repository 'shop'. Its administrator runs: kl store grant ruth writer"
    )
    assert asked in first.stderr and "permission denied" not in first.stderr
    assert "the team does not see them" in first.stderr
    leave_run(reader.workspace(), [("test_a.py::test_a", "passed", 5)])
    for command in (["verify"], ["status"], ["proof", "impacted"]):
        assert reader.kl(*command).stderr == "", command
    # what is not in an answer is stated with it
    listed = reader.kl("evidence", "list").stderr
    assert listed == "kl: not in this answer: 2 captured, waiting in the spool. Nothing is lost.\n"
    refused = reader.kl("remember", "a", "b")
    assert refused.returncode == 3 and asked in refused.stderr
    shown = reader.kl("store", "status").stdout
    assert "waiting  2 captures in the spool; you may only read here." in shown
    # allowed, they get in; and whoever may only read again learns it again
    admin.kl("store", "grant", "ruth", "writer")
    assert reader.kl("verify").stderr == ""
    assert "waiting" not in reader.kl("store", "status").stdout
    assert run[:8] in admin.kl("evidence", "list").stdout
    admin.kl("store", "grant", "ruth", "reader")
    leave_run(reader.workspace(), [("test_a.py::test_a", "passed", 5)])
    assert [asked in reader.kl("verify").stderr for _ in range(2)] == [True, False]
