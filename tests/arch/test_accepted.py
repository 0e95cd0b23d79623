"""Violations against a baseline: counted, whatever the lines; renames recognised where nothing else is possible."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.arch.baseline.accepted import added, match
from kl_hooks.arch.baseline.file import Accepted, accept
from kl_hooks.model.manifest import Violation

PARTS = st.sampled_from("abcd")
MODULES = st.builds("{}.{}".format, PARTS, PARTS)
LAYERS = st.sampled_from(["low", "high"])


def broken(importer: str, imported: str, line: int = 1, low: str = "low", high: str = "high") -> Violation:
    return Violation(f"{importer}.py", line, importer, imported, low, high, "import x", "import", "m:1")


FOUND = st.lists(st.builds(broken, MODULES, MODULES, st.integers(1, 99), LAYERS, LAYERS), max_size=12)
EXISTING = st.frozensets(MODULES, max_size=16)


def key(one: Violation) -> tuple[str, str, str, str]:
    return one.source_layer, one.target_layer, one.importer, one.imported


@given(FOUND, FOUND, EXISTING)
def test_it_only_shrinks_and_accepts_no_more_than_it_says(
    before: list[Violation], now: list[Violation], modules: frozenset[str]
) -> None:
    entries = accept(before)
    found = match(entries, now, modules)
    assert sorted(map(key, (*found.new, *found.accepted))) == sorted(map(key, now))
    counts = {entry.fingerprint: entry.count for entry in entries}
    assert all(one.count <= counts[one.fingerprint] for one in found.needed), "no entry is new, no count is higher"
    assert sum(one.count for one in found.needed) == len(found.accepted) <= len(before)
    assert sum(one.count for one in found.today) == len(found.accepted)


@given(FOUND, FOUND, EXISTING)
def test_shrinking_changes_no_verdict_and_happens_once(
    before: list[Violation], now: list[Violation], modules: frozenset[str]
) -> None:
    first = match(accept(before), now, modules)
    for entries in (first.needed, first.today):
        again = match(entries, now, modules)
        assert (again.new, again.accepted) == (first.new, first.accepted)
        assert again.needed == entries


@given(FOUND, FOUND, EXISTING, st.randoms(use_true_random=False))
def test_moved_lines_and_another_order_change_nothing(
    before: list[Violation], now: list[Violation], modules: frozenset[str], chance: object
) -> None:
    entries = accept(before)
    moved = [replace(one, line=chance.randint(1, 10**6)) for one in now]  # type: ignore[attr-defined]
    chance.shuffle(moved)  # type: ignore[attr-defined]
    first, second = match(entries, now, modules), match(entries, moved, modules)
    assert Counter(map(key, first.new)) == Counter(map(key, second.new))
    assert first.needed == second.needed


@given(FOUND, FOUND)
def test_without_renames_it_is_plain_counting(before: list[Violation], now: list[Violation]) -> None:
    everything = frozenset(name for one in (*before, *now) for name in (one.importer, one.imported))
    found = match(accept(before), now, everything)
    assert Counter(map(key, found.new)) == Counter(map(key, now)) - Counter(map(key, before))
    assert found.renamed == ()


@given(FOUND, FOUND)
def test_what_is_added_is_what_a_new_baseline_accepts_more(before: list[Violation], now: list[Violation]) -> None:
    more = Counter(
        {(e.source_layer, e.target_layer, e.importer, e.imported): e.count for e in added(accept(before), accept(now))}
    )
    assert more == Counter(map(key, now)) - Counter(map(key, before))


def test_more_of_the_same_is_new_and_the_last_ones_are_shown() -> None:
    found = match((Accepted("low", "high", "a.x", "b.y", 2),), [broken("a.x", "b.y", n) for n in (1, 5, 9)], {"a.x"})
    assert [one.line for one in found.new] == [9]


def test_a_renamed_importer_is_the_same_import() -> None:
    entries = accept([broken("a.old", "b.y"), broken("a.old", "b.y")])
    now = [broken("a.new", "b.y")]
    found = match(entries, now, {"a.new", "b.y"})
    assert found.new == () and found.needed == (Accepted("low", "high", "a.old", "b.y"),)
    assert found.today == accept(now)
    assert match(entries, now, {"a.old", "a.new", "b.y"}).new == tuple(now), "the old module is still there"


def test_a_renamed_target_is_the_same_import() -> None:
    found = match(accept([broken("a.x", "b.old")]), [broken("a.x", "b.new")], {"a.x", "b.new"})
    assert found.new == () and found.today == accept([broken("a.x", "b.new")])


def test_a_renamed_package_is_told_apart_by_the_names_inside() -> None:
    entries = accept([broken("a.old.x", "b.y"), broken("a.old.z", "b.y")])
    now = [broken("a.new.x", "b.y"), broken("a.new.z", "b.y")]
    assert match(entries, now, {"a.new.x", "a.new.z"}).new == ()


def test_what_could_be_several_renames_is_none() -> None:
    entries = accept([broken("a.one", "b.y"), broken("a.two", "b.y")])
    now = [broken("a.three", "b.y"), broken("a.four", "b.y")]
    assert match(entries, now, {"a.three", "a.four"}).new == tuple(now)


def test_a_rename_never_makes_room_for_more() -> None:
    now = [broken("a.new", "b.y", 1), broken("a.new", "b.y", 2)]
    assert [one.line for one in match(accept([broken("a.old", "b.y")]), now, {"a.new"}).new] == [2]


def test_other_layers_are_no_rename() -> None:
    now = [broken("a.new", "b.y", high="top")]
    assert match(accept([broken("a.old", "b.y")]), now, {"a.new"}).new == tuple(now)
