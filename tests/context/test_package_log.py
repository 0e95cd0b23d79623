"""The log of packages: every event is stored as long as promised, whatever is renamed or
removed.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kl_hooks.clock import iso
from kl_hooks.context.package_log import FILE, expired_logs, rotate_logs
from kl_hooks.model.lifecycle import Lifecycle
from tests.support import NOW, Checkout

DAY = 86_400_000_000
OLD = FILE + ".1"
AGES = st.lists(st.integers(0, 200), max_size=5)


def write(repo: Checkout, name: str, ages: list[int]) -> None:
    lines = [json.dumps({"created_at": iso(NOW - age * DAY), "age": age}) for age in ages]
    (repo.state / name).write_text("".join(f"{line}\n" for line in [*lines, "no json"] if ages))
    if not ages:
        (repo.state / name).unlink()


def stored(repo: Checkout) -> list[int]:
    paths = repo.state.glob(f"{FILE}*")
    lines = [
        line for path in paths for line in path.read_text().splitlines() if line.startswith("{")
    ]
    return sorted(json.loads(line)["age"] for line in lines)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(AGES, AGES)
def test_nothing_young_is_lost_and_a_second_time_changes_nothing(
    repo: Checkout, now: list[int], old: list[int]
) -> None:
    repo.state.mkdir(exist_ok=True)
    for path in repo.state.glob(f"{FILE}*"):
        path.unlink()
    for name, ages in ((FILE, now), (OLD, old)):
        (repo.state / name).touch()
        write(repo, name, ages)
    ws, numbers = repo.workspace(), Lifecycle(package_log_days=90)
    rotate_logs(ws, expired_logs(ws, numbers, NOW), NOW)
    left = stored(repo)
    for age in {age for age in [*now, *old] if age <= 90}:
        assert left.count(age) == [*now, *old].count(age)
    assert expired_logs(ws, numbers, NOW) == []


@pytest.mark.requirement("A68")
def test_0_keeps_it_for_ever(repo: Checkout) -> None:
    repo.state.mkdir(exist_ok=True)
    write(repo, FILE, [900])
    assert expired_logs(repo.workspace(), Lifecycle(package_log_days=0), NOW) == []
