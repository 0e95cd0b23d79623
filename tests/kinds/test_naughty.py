"""What people type, however odd, comes back as it was typed, or is refused with a reason; nothing
in between.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kl_hooks.errors import UsageProblem
from kl_hooks.kinds.failure import record_failure
from kl_hooks.kinds.interview import QUESTIONS, record_answer
from kl_hooks.kinds.objective import add_turn, link_task
from kl_hooks.model.problem import Problems
from kl_hooks.records.query import get_record
from kl_hooks.records.write import create_record, redact_values
from kl_hooks.workspace import Workspace
from tests.records.naughty import naughty
from tests.shares import by_steps
from tests.support import Checkout

pytestmark = pytest.mark.slow
TEXTS = [text for text in naughty() if text.strip()]


@pytest.fixture
def ws(repo: Checkout) -> Workspace:
    return repo.workspace()


def files(ws: Workspace) -> set[Path]:
    return set((ws.root / ".kl").rglob("*"))


def stored(text: str) -> str:
    """As it is stored: without secrets, and with what no terminal can show written out."""
    return str(redact_values({"x": text})["x"])


@by_steps(5)
def test_answers(ws: Workspace, step: int) -> None:
    for text in TEXTS[::step]:
        made, _ = record_answer(ws, QUESTIONS[0], text)
        assert get_record(ws, made.id).text("answer") == stored(text.strip()), repr(text)
    assert len(list((ws.root / ".kl/knowledge/facts").iterdir())) == 1


@by_steps(5)
def test_tasks_of_objectives(ws: Workspace, step: int) -> None:
    made = create_record(ws, ws.kinds["objective"], {"title": "X"})
    for text in TEXTS[::step]:
        link_task(ws, made.id, text, done=True)
        completed = {one.strip().casefold() for one in get_record(ws, made.id).many("completed")}
        assert stored(text.strip()).casefold() in completed, repr(text)


@by_steps(5)
def test_turns(ws: Workspace, step: int) -> None:
    for text in TEXTS[::step]:
        made = add_turn(
            ws,
            "FEAT-A-1",
            "T",
            {"player_summary": text, "acceptance_criteria_status": {text[:100]: text}},
        )
        assert get_record(ws, made.id).text("player_summary") == stored(text), repr(text)


@by_steps(5)
def test_failures_are_found_again_or_refused(ws: Workspace, step: int) -> None:
    for text in TEXTS[::step]:
        approach = " ".join(text.split())
        before = files(ws)
        try:
            first, _ = record_failure(ws, {"approach": approach})
        except (Problems, UsageProblem) as problem:
            assert str(problem) and files(ws) == before
            continue
        again, how_often = record_failure(ws, {"approach": approach.upper()})
        assert how_often.total >= 2 or again.id != first.id, repr(text)
        assert get_record(ws, first.id).text("approach").casefold() == stored(approach).casefold()
