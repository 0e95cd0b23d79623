"""Whatever the numbers and the time: done twice is done once, and what a dry run shows is what a
run does.
"""

from __future__ import annotations

import random

import pytest

from kl_hooks.clock import DAY
from kl_hooks.model.lifecycle import LIFECYCLE_FILE, Lifecycle
from kl_hooks.records.write import apply_verb, create_record, supersede
from kl_hooks.upkeep.run import apply_policies, preview
from tests.support import NOW, Checkout

from .making import untidy


def fill(repo: Checkout) -> None:
    untidy(repo)
    ws = repo.workspace()
    for title in ("Old way", "New way"):
        create_record(
            ws,
            ws.kinds["decision"],
            {"title": title, "context": "c", "decision": "d", "status": "accepted"},
        )
    supersede(ws, "ADR-0001", "ADR-0002")
    for number in range(6):
        printed = {"title": f"m{number}", "pattern": f"Test passes: {number}", "source": "receipts"}
        made = create_record(
            ws, ws.kinds["memory"], printed | {"authority": "auto" if number % 2 else "human"}
        )
        if number < 3:
            apply_verb(ws, made.id, "approve")
        create_record(
            ws,
            ws.kinds["finding"],
            {"title": "f", "entity": f"{number}.py", "finding": "x", "authority": "agent"},
        )


@pytest.mark.slow
@pytest.mark.requirement("A66", "A67")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.share(3)
def test_twice_is_once_and_a_dry_run_is_right(repo: Checkout, seed: int) -> None:
    fill(repo)
    chance, now, made = random.Random(seed), NOW, 0
    for _ in range(6):
        now += chance.randrange(0, 90) * DAY
        numbers = {name: chance.choice([0, 1, 30, 90, 400]) for name in Lifecycle._fields}
        repo.write(LIFECYCLE_FILE, "".join(f"{name}: {days}\n" for name, days in numbers.items()))
        ws = repo.workspace(now=now)
        shown = preview(ws)
        done = apply_policies(ws)
        assert [one.trouble for one in done.results if one.trouble] == []
        assert done.changes == shown.changes
        assert apply_policies(ws).changes == ()
        made += len(done.changes)
    assert made > 5
    assert repo.kl("evidence", "verify").returncode == 0
