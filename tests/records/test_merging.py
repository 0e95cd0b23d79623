"""Two branches that learned different facts are merged by git alone: no record is lost, whoever
changed what.
"""

from __future__ import annotations

import random

import pytest

from kl_hooks.records.query import RecordFilter, get_record, list_records
from kl_hooks.records.sync import sync
from kl_hooks.records.write import apply_verb, change_record, create_record, supersede
from kl_hooks.workspace import Workspace
from tests.support import Checkout

from .conftest import FILED, STORED

ALL = RecordFilter(("ruling", "lesson"), archived=True, expired=True)


def work(ws: Workspace, r: random.Random, side: str) -> dict[str, str]:
    """A few changes done on a branch; title → id of the records that it made."""
    made: dict[str, str] = {}
    for step in range(r.randint(1, 5)):
        title = f"{side} {step}"
        if r.random() < 0.6:
            made[title] = create_record(
                ws, FILED, {"title": title, "ruling": f"{side} rules {step}."}
            ).id
        else:
            made[title] = create_record(
                ws, STORED, {"title": title, "pattern": f"{side} learned {step}."}
            ).id
            apply_verb(ws, made[title], "approve")
        if len(made) > 1 and r.random() < 0.3:
            rulings = [one for one in made.values() if one.startswith("RUL")]
            if len(rulings) > 1:
                supersede(ws, rulings[0], rulings[-1])
    return made


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_a_merge_loses_no_record(repo: Checkout, seed: int) -> None:
    r = random.Random(seed)
    ws = repo.workspace()
    common = create_record(ws, FILED, {"title": "common", "ruling": "All."})
    repo.commit()
    repo.git("checkout", "-q", "-b", "other")
    theirs = work(ws, r, "theirs")
    repo.commit()
    repo.git("checkout", "-q", "main")
    ours = work(ws, r, "ours")
    change_record(ws, get_record(ws, common.id), {"tags": ["ours"]})
    repo.commit()
    repo.git("merge", "-q", "--no-edit", "other")
    found = [one.title for one in list_records(ws, ALL)]
    assert sorted(found) == sorted(["common", *theirs, *ours])
    assert get_record(ws, common.id).many("tags") == ("ours",)
    assert sync(ws).problems == (), "ids of branches of one clone never meet"


def test_branches_of_two_clones_may_get_one_id_and_it_is_reported(
    repo: Checkout, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("clone") / "clone"
    repo.git("clone", "-q", str(repo.root), str(other))
    there = Checkout(other)
    one = create_record(repo.workspace(), FILED, {"title": "ours", "ruling": "a"})
    two = create_record(there.workspace(), FILED, {"title": "theirs", "ruling": "b"})
    assert one.id == two.id
    repo.commit()
    there.commit()
    repo.git("pull", "-q", "--no-rebase", "--no-edit", str(other), "main")
    ws = repo.workspace()
    assert sorted(record.title for record in list_records(ws, ALL)) == ["ours", "theirs"]
    (problem,) = sync(ws).problems
    assert "RUL-0001 is the id of" in problem.message and "another id" in problem.hint


def test_both_sides_of_a_conflict_are_still_there_and_it_is_reported(repo: Checkout) -> None:
    ws = repo.workspace()
    made = create_record(ws, FILED, {"title": "common", "ruling": "All."})
    repo.commit()
    repo.git("checkout", "-q", "-b", "other")
    change_record(ws, get_record(ws, made.id), {"ruling": "Theirs."})
    repo.commit()
    repo.git("checkout", "-q", "main")
    change_record(ws, get_record(ws, made.id), {"ruling": "Ours."})
    repo.commit()
    repo.git("merge", "-q", "--no-edit", "other", ok=False)
    found = get_record(ws, made.id)
    assert (found.title, found.text("ruling"), found.broken) == (
        "common",
        "Ours.",
        "holds an unfinished merge.",
    )
    repo.git("checkout", "-q", "--theirs", made.path)
    assert (get_record(ws, made.id).text("ruling"), get_record(ws, made.id).broken) == (
        "Theirs.",
        "",
    )
