"""Records whose kind nothing describes any more: omitted, reported, and back as soon as the kind is."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.support import Checkout

RISK = """\
name: risk
prefix: RISK
purpose: What may go wrong.
home: {home}
statuses: [open, over]
"""


def with_a_risk(repo: Checkout, home: str = "state") -> None:
    repo.write(".kl/kinds/risk.yaml", RISK.format(home=home))
    assert repo.kl("risk", "new", "The disk may fill up").returncode == 0
    assert repo.kl("objective", "new", "Ship it").returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("how", ["broken", "gone"])
@pytest.mark.parametrize("rests", ["state", "file"])
def test_records_of_a_kind_that_nothing_describes_hinder_no_command(repo: Checkout, how: str, rests: str) -> None:
    with_a_risk(repo, rests)
    path = repo.root / ".kl/kinds/risk.yaml"
    before = path.read_text()
    path.write_text(before + "nme: x\n") if how == "broken" else path.unlink()
    fix = "risk.yaml, or restore it" if rests == "state" else ".kl/kinds/, or restore it"
    where = "1 record of the kind risk" if rests == "state" else "1 record in .kl/knowledge/risks/"
    for args in (["list"], ["search", "disk", "ship"], ["health"], ["status"]):
        done = repo.kl("knowledge", *args)
        assert done.returncode == 0 and "RISK" not in done.stdout, (args, done.stdout, done.stderr)
        assert done.stderr.count(where) == 1 and fix in done.stderr, (args, done.stderr)
    done = repo.kl("status")
    assert (done.returncode, "1 objective" in done.stdout, where in done.stderr) == (0, True, True), done.stderr
    found = json.loads(repo.kl("knowledge", "list", "--format", "json").stdout)
    assert ([one["id"] for one in found["records"]], found["total"]) == (["OBJ-0001"], 1)
    shown = repo.kl("knowledge", "show", "RISK-0001")
    assert (shown.returncode, shown.stdout) == (2, "")
    assert rests == "file" or fix in shown.stderr, shown.stderr
    path.write_text(before)
    assert "RISK-0001" in repo.kl("knowledge", "list").stdout
    assert repo.kl("knowledge", "show", "RISK-0001").returncode == 0
    assert "left out" not in repo.kl("knowledge", "list").stderr


def test_fixed_they_are_found_again_though_the_graph_was_made_without_them(repo: Checkout) -> None:
    with_a_risk(repo)
    path = repo.root / ".kl/kinds/risk.yaml"
    before = path.read_text()
    path.unlink()
    shutil.rmtree(repo.state / "graph")
    assert repo.kl("knowledge", "list").returncode == 0
    path.write_text(before)
    assert "RISK-0001" in repo.kl("knowledge", "search", "disk").stdout


def test_what_is_wrong_with_a_kind_is_reported_once(repo: Checkout) -> None:
    with_a_risk(repo)
    repo.write(".kl/kinds/risk.yaml", RISK.format(home="state") + "nme: x\n")
    for args in (["risk", "list"], ["knowledge", "check"], ["knowledge", "list"]):
        done = repo.kl(*args)
        assert (done.stdout + done.stderr).count("risk.yaml:6:1") == 1, (args, done.stdout, done.stderr)
