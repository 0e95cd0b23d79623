"""Seeds: upsert by name and source hash; what a person did is never undone unless forced."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.kinds.catalog import GUIDE
from kl_hooks.kinds.seeds import project_id
from kl_hooks.model.record import Record
from kl_hooks.records.seeding import Seed, content_digest, plan_steps

KINDS = {"guide": GUIDE}
SEED = Seed(
    "guide",
    "shop__readme-usage",
    {"title": "Usage", "text": "Run it."},
    "README.md",
    "Usage\nRun it.",
)


def record(seed: Seed = SEED, **changes: str) -> Record:
    values = {**seed.values, "entity_id": seed.key, "source_hash": seed.hash, "date": "2026-01-01"}
    values["seeded_hash"] = content_digest(GUIDE, values)
    return Record(
        "guide",
        "GUIDE-0001",
        {**values, **changes},
        path=".kl/knowledge/guides/GUIDE-0001-usage.md",
    )


def what(
    there: list[Record], removed: tuple[str, ...] = (), seed: Seed = SEED, force: bool = False
) -> str:
    (step,) = plan_steps(KINDS, [seed], there, removed, force=force)
    return step.what


CHANGED = SEED._replace(
    text="Usage\nRun it twice.", values={**SEED.values, "text": "Run it twice."}
)


@pytest.mark.requirement("B7")
def test_absent_is_created_the_same_is_skipped_different_is_updated() -> None:
    assert what([]) == "created"
    assert what([record()]) == "skipped"
    assert what([record()], seed=CHANGED) == "updated"


def test_what_a_person_did_is_left_alone_unless_forced() -> None:
    edited = record(text="My own words.")
    assert what([edited]) == "skipped"
    assert what([edited], seed=CHANGED) == "kept"
    assert what([edited], seed=CHANGED, force=True) == "updated"
    assert what([], (SEED.key,)) == "kept"
    assert what([], (SEED.key,), force=True) == "created"
    assert what([replace(record(), broken="line 3: no")], seed=CHANGED, force=True) == "kept"


def test_tags_and_status_are_no_edit_of_what_was_seeded() -> None:
    assert what([record(status="outdated", updated="2026-02-02")], seed=CHANGED) == "updated"


@pytest.mark.requirement("B5")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("My_Project 2", "my-project-2"),
        ("Ünï/..\\x", "nx"),
        ("a" * 80, "a" * 50),
        ("", "project"),
        ("---", "project"),
    ],
)
def test_project_ids(name: str, expected: str) -> None:
    assert project_id(name) == expected


@given(st.text(max_size=80))
def test_a_project_id_is_its_own(name: str) -> None:
    made = project_id(name)
    assert project_id(made) == made and 0 < len(made) <= 50
