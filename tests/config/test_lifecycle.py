"""The numbers of upkeep: defaults where nothing is said, every problem at once where something is wrong."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.config.lifecycle import KEYS, load_lifecycle, read_lifecycle
from kl_hooks.model.lifecycle import FILE, MOST_DAYS, Lifecycle
from kl_hooks.shipped import form


def write(root: Path, text: str) -> None:
    (root / FILE).parent.mkdir(parents=True, exist_ok=True)
    (root / FILE).write_text(text)


@pytest.mark.requirement("A68")
def test_the_defaults_are_those_that_were_promised(tmp_path: Path) -> None:
    numbers, problems = load_lifecycle(tmp_path)
    assert problems == []
    assert asdict(numbers) == {
        "adr_retention_days": 0, "memory_reinforce_window_days": 90, "confidence_decay_days": 30,
        "orphaned_node_grace_period_days": 7, "max_provenance_age_days": 0, "memory_candidate_pruning_days": 180,
        "purge_expired_days": 30, "run_rows_days": 90, "package_log_days": 90,
    }  # fmt: skip


@pytest.mark.requirement("A66", "A68")
def test_both_styles_of_keys_are_read(tmp_path: Path) -> None:
    write(tmp_path, "AdrRetentionDays: 3\nconfidence_decay_days: 0\nMemoryCandidatePruningDays: 9\n")
    numbers, problems = load_lifecycle(tmp_path, tmp_path / "cache")
    assert (numbers.adr_retention_days, numbers.confidence_decay_days, numbers.memory_candidate_pruning_days) == (
        3,
        0,
        9,
    )
    assert problems == []
    assert load_lifecycle(tmp_path, tmp_path / "cache") == (numbers, []), "the compiled form says the same"


@pytest.mark.requirement("A66")
def test_every_mistake_is_said_and_its_default_holds(tmp_path: Path) -> None:
    write(tmp_path, "run_rows_days: -1\nRunRowsDay: 4\npackage_log_days: [1]\nadr_retention_days: 5\n")
    for _ in range(2):
        numbers, problems = load_lifecycle(tmp_path, tmp_path / "cache")
        assert (numbers.run_rows_days, numbers.package_log_days, numbers.adr_retention_days) == (90, 90, 5)
        assert [str(one) for one in problems] == [
            f'{FILE}:1:16: "run_rows_days" must be a whole number from 0 to {MOST_DAYS}.',
            f'{FILE}:2:1: unknown key "RunRowsDay". Did you mean "run_rows_days"?',
            f'{FILE}:3:19: "package_log_days" must be a whole number from 0 to {MOST_DAYS}.',
        ]


def test_the_form_is_valid_and_says_every_default() -> None:
    numbers, problems = read_lifecycle(form("lifecycle.yaml").encode())
    assert (numbers, problems) == ({}, [])
    for key, value in asdict(Lifecycle()).items():
        assert f"# {key}: {value} " in form("lifecycle.yaml")


def test_a_compiled_form_that_is_not_ours_is_not_used(tmp_path: Path) -> None:
    write(tmp_path, "run_rows_days: 4\n")
    load_lifecycle(tmp_path, tmp_path / "cache")
    (entry,) = (tmp_path / "cache" / "compiled").iterdir()
    entry.write_text(entry.read_text().replace('"run_rows_days": 4', '"run_rows_days": "4"'))
    assert load_lifecycle(tmp_path, tmp_path / "cache")[0].run_rows_days == 4


@given(
    st.binary(max_size=300)
    | st.text(max_size=100).map(str.encode)
    | st.sampled_from(KEYS).map(lambda k: f"{k}: {{".encode())
)
def test_any_bytes_give_numbers_and_problems(text: bytes) -> None:
    numbers, _ = read_lifecycle(text)
    assert all(key in KEYS and 0 <= value <= MOST_DAYS for key, value in numbers.items())
