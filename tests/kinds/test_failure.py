"""How often a failure happened: the base count of its file, and this clone's Events that are not in
it.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.kinds.failure import times_phrase
from kl_hooks.model.record import Record
from kl_hooks.records.events import OccurrenceCount, occurrence_count

DAY = "2026-01-02"


def failure(**values: object) -> Record:
    return Record("failure", "FAIL-1", {"date": DAY, **values})  # type: ignore[dict-item]


@pytest.mark.requirement("B31")
@given(
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 9)),
    st.integers(0, 9),
    st.integers(1, 50),
)
def test_writing_the_count_changes_no_count_in_any_clone(
    locked: dict[str, int], here: int, printed: int
) -> None:
    file = failure(occurrence_count=printed, counted={name: str(n) for name, n in locked.items()})
    moments = [f"2026-02-0{n + 1}" for n in range(here)]
    before = occurrence_count(file, "a", moments)
    written = failure(
        occurrence_count=before.total,
        counted={name: str(n) for name, n in (locked | {"a": max(here, 0)}).items()},
    )
    assert occurrence_count(written, "a", moments).total == before.total
    assert occurrence_count(written, "b", ()).total == before.total
    assert before.total == max(printed, sum(locked.values())) + max(0, here - locked.get("a", 0))


def test_a_file_without_a_count_means_one_occurrence() -> None:
    assert occurrence_count(failure(), "", ()) == OccurrenceCount(1, DAY, DAY, 0, 0)
    assert occurrence_count(failure(), "a", ["2026-03-01"]) == OccurrenceCount(
        2, DAY, "2026-03-01", 1, 1
    )
    assert occurrence_count(failure(), "a", ["2026-03-01"], made_here=True).total == 1


def test_two_clones_that_made_it_at_once_count_both_whatever_number_the_merge_chose() -> None:
    assert (
        occurrence_count(failure(occurrence_count=1, counted={"a": "1", "b": "1"}), "c", ()).total
        == 2
    )


def test_numbers_as_people_write_them() -> None:
    assert [times_phrase(n) for n in (1, 2, 5)] == ["once", "twice", "5 times"]
