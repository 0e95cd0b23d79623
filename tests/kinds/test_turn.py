"""Turns: the last five of the same feature and task, oldest first; a rejection is not
overlooked.
"""

from __future__ import annotations

import pytest

from kl_hooks.kinds.objective import continuation, last_turns, next_id, next_number
from kl_hooks.model.record import Record, Value
from kl_hooks.model.symbol import RECORD_ID


def turn(number: int, **values: Value) -> Record:
    printed = {"feature_id": "FEAT-AUTH-12", "task_id": "T-1", "turn_number": number, **values}
    return Record("turn", f"TURN-FEAT-AUTH-12-{number}", printed)


@pytest.mark.requirement("B30")
def test_the_last_five_of_the_same_feature_and_task_ascending() -> None:
    turns = [turn(n) for n in (3, 1, 7, 2, 6, 5, 4, 10)] + [
        turn(11, task_id="T-2"),
        turn(12, feature_id="FEAT-PAY-1"),
    ]
    assert [one.number("turn_number") for one in last_turns(turns, "feat-auth-12", "t-1")] == [
        4,
        5,
        6,
        7,
        10,
    ]
    assert next_number(turns, "FEAT-AUTH-12", "T-1") == 11
    assert next_number(turns, "FEAT-AUTH-12", "T-9") == 1


def test_ids_are_counted_per_feature() -> None:
    known = ["TURN-FEAT-AUTH-12-9", "TURN-FEAT-AUTH-12-10", "TURN-FEAT-AUTH-123-4", "ADR-0001"]
    assert next_id(known, "FEAT-AUTH-12") == "TURN-FEAT-AUTH-12-11"
    assert next_id(known, "FEAT-PAY-1") == "TURN-FEAT-PAY-1-1"
    assert RECORD_ID.fullmatch(next_id(known, "FEAT-USER-AUTH-1"))


@pytest.mark.requirement("B30")
def test_a_rejected_last_turn_shows_its_feedback_as_must_address() -> None:
    rejected = turn(
        2,
        coach_decision="rejected",
        coach_feedback="No test for UTF-8.",
        tests_passed=3,
        tests_failed=1,
    )
    text = continuation([turn(1, player_summary="Wrote it.", coach_decision="approved"), rejected])
    assert "### Turn 1: approved\n\nWrote it." in text
    assert "### Turn 2: rejected, 3 passed, 1 failed" in text
    assert text.endswith("## MUST ADDRESS (turn 2 was rejected)\n\nNo test for UTF-8.\n")


def test_an_older_rejection_is_history_only() -> None:
    text = continuation(
        [
            turn(1, coach_decision="rejected", coach_feedback="No."),
            turn(2, coach_decision="approved"),
        ]
    )
    assert "MUST ADDRESS" not in text and "Feedback: No." in text


def test_without_turns_there_is_nothing_to_state() -> None:
    assert continuation([]) == ""
