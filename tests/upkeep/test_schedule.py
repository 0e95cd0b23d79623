"""What is done regularly is done when it is due, and what fails is due again."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.clock import DAY, iso
from kl_hooks.errors import StoreBusy
from kl_hooks.store.files import store_lock
from kl_hooks.upkeep.run import (
    ACTIONS,
    LOCK,
    STAMP,
    UNATTENDED,
    due_actions,
    last_runs,
    policies,
    run_maintenance,
)
from tests.support import NOW, Checkout

from .making import untidy


def test_each_is_due_after_its_days_and_not_before() -> None:
    done = {one.name: iso(NOW) for one in ACTIONS}
    assert due_actions(ACTIONS, done, NOW + DAY - 1) == []
    assert [one.name for one in due_actions(ACTIONS, done, NOW + DAY)] == ["ingest", "mine", "tidy"]
    assert len(due_actions(ACTIONS, done, NOW + 7 * DAY)) == 4
    assert len(due_actions(ACTIONS, {}, NOW)) == 4
    assert len(due_actions(ACTIONS, done, NOW - 1)) == 4, "a clock that went back"


@given(
    st.dictionaries(st.sampled_from([one.name for one in ACTIONS]), st.text(max_size=30)),
    st.integers(0, 4 * 10**15),
)
def test_any_stamp_gives_an_answer(done: dict[str, str], now: int) -> None:
    assert set(due_actions(ACTIONS, done, now)) <= set(ACTIONS)


def test_it_tidies_what_needs_no_eye_and_is_not_due_again(repo: Checkout) -> None:
    untidy(repo)
    ws = repo.workspace()
    done = run_maintenance(ws, only_due=True)
    assert [(one.name, one.trouble) for one in done] == [(one.name, "") for one in ACTIONS]
    assert not (repo.state / "crash" / "report.txt").exists()
    assert run_maintenance(ws, only_due=True) == []
    assert set(last_runs(ws)) == {one.name for one in ACTIONS}
    assert len(run_maintenance(ws)) == len(ACTIONS)


def test_policies_that_are_unattended_are_policies_that_there_are(repo: Checkout) -> None:
    names = {one.name for one in policies(repo.workspace())}
    assert set(UNATTENDED) < names
    assert names - set(UNATTENDED) == {
        "aged memory",
        "claim decay",
        "expired files",
        "idle objectives",
        "occurrence counts",
        "review habits",
        "set aside",
        "superseded decisions",
        "waiting proposals",
    }


def test_what_fails_is_reported_and_due_again(repo: Checkout) -> None:
    repo.kl("run", "--", "true")
    repo.write(".kl/knowledge/lifecycle.yaml", "run_rows_days: soon\n")
    ws = repo.workspace()
    trouble = {one.name: one.trouble for one in run_maintenance(ws, only_due=True) if one.trouble}
    assert list(trouble) == ["tidy"]
    assert [one.name for one in run_maintenance(ws, only_due=True)] == ["tidy"]
    assert repo.kl("maintain").returncode == 3


def test_two_at_once_are_one(repo: Checkout) -> None:
    ws = repo.workspace()
    repo.kl("run", "--", "true")
    with store_lock(ws.state.directory / LOCK, wait=0, what="another"), pytest.raises(StoreBusy):
        run_maintenance(ws)


def test_a_stamp_that_is_none_is_no_stamp(repo: Checkout) -> None:
    repo.kl("run", "--", "true")
    for text in ("[]", "{", '{"tidy": 4}', "\xff"):
        (repo.state / STAMP).write_text(text, encoding="latin-1")
        assert len(json.dumps(last_runs(repo.workspace()))) == 2
