"""The baseline as a file: reviewable, the same for the same entries, and never taken for what it is
not.

Violations against a baseline: counted, whatever the lines; renames recognised where nothing else is
possible.
"""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.arch.baseline import (
    BaselineEntry,
    BaselineProblems,
    added_entries,
    baseline_bytes,
    entries_for,
    match_baseline,
    read_baseline,
)
from kl_hooks.model.manifest import BASELINE, Violation

ONE = BaselineEntry("core", "web", "shop.core.order", "shop.web.page", 2)
TWO = BaselineEntry("core", "web", "shop.core.price", "shop.web.page")
NAMES = st.text(min_size=1, max_size=12)


def broken(importer: str, line: int) -> Violation:
    return Violation(
        "p.py", line, importer, "shop.web.page", "core", "web", "import x", "import", "m:1"
    )


def problems(data: bytes | str) -> list[str]:
    with pytest.raises(BaselineProblems) as refused:
        read_baseline(BASELINE, data.encode() if isinstance(data, str) else data)
    assert refused.value.exit_code == 2
    assert all(one.hint for one in refused.value.problems), "every problem has a next step"
    return [f"{one.line}:{one.column} {one.message}" for one in refused.value.problems]


def test_one_entry_on_each_line_and_no_line_numbers() -> None:
    rows = baseline_bytes([TWO, ONE]).decode().splitlines()
    assert rows[:3] == ["{", '  "schema": "kl.baseline/1",', '  "violations": [']
    assert json.loads(rows[3].rstrip(",")) == {
        "from": "core",
        "to": "web",
        "importer": "shop.core.order",
        "imported": "shop.web.page",
        "count": 2,
        "fingerprint": broken("shop.core.order", 9).fingerprint,
    }
    assert json.loads(rows[4]) == TWO.to_dict() and rows[5:] == ["  ]", "}"]
    assert read_baseline(BASELINE, baseline_bytes([])) == ()


def test_accepting_counts_and_forgets_lines() -> None:
    some = [
        broken("shop.core.price", 3),
        broken("shop.core.order", 1),
        broken("shop.core.order", 8),
    ]
    assert entries_for(some) == (ONE, TWO)


@given(
    st.lists(
        st.builds(BaselineEntry, NAMES, NAMES, NAMES, NAMES, st.integers(1, 10**6)), max_size=5
    )
)
def test_what_is_written_is_read(entries: list[BaselineEntry]) -> None:
    wanted = {(e.source_layer, e.target_layer, e.importer, e.imported): e for e in entries}
    data = baseline_bytes(wanted.values())
    try:
        assert read_baseline(BASELINE, data) == tuple(sorted(wanted.values()))
    except (
        BaselineProblems
    ):  # lone surrogates are one and the same in a hash, so two names may be too
        assert len({e.fingerprint for e in wanted.values()}) < len(wanted)
    assert data.isascii() and data == baseline_bytes(reversed(list(wanted.values())))


def test_a_merge_conflict_is_named_line_by_line() -> None:
    rows = baseline_bytes([ONE, TWO]).decode().splitlines()
    rows[3:5] = ["<<<<<<< HEAD", rows[3], "=======", rows[4], ">>>>>>> branch"]
    assert [one.partition(" ")[0] for one in problems("\n".join(rows))] == ["4:1", "6:1", "8:1"]


def test_everything_wrong_is_reported_at_once_with_its_line() -> None:
    good = json.dumps(ONE.to_dict())
    rows = [
        good,
        json.dumps({**TWO.to_dict(), "count": 0}),
        json.dumps({**TWO.to_dict(), "importer": 7, "line": 3}),
        good,
        "[]",
        json.dumps({**TWO.to_dict(), "imported": "shop.web.other"}),
        '{"from": "core", "from": "web"}',
    ]
    text = '{"schema": "kl.baseline/1", "more": 1,\n"violations": [\n' + ",\n".join(rows) + "\n]}"
    found = problems(text)
    for part in (
        '1:1 unknown key "more"',
        '4:1 "count" must be a whole number',
        '5:1 "importer" must be text',
        '5:1 unknown key "line"',
        "6:1 shop.core.order -> shop.web.page is listed twice (first at line 3)",
        "7:1 an entry must be an object",
        "8:1 the fingerprint does not fit",
        '9:1 "from" is given twice',
        '9:1 the key "to" is missing',
    ):
        assert any(one.startswith(part) for one in found), (part, found)


@pytest.mark.parametrize(
    ("data", "printed"),
    [
        (b"", "1:1 is not JSON"),
        (b"{", "1:2 is not JSON"),
        (b'{"schema": 1}\n}', "2:1 is not JSON"),
        (b"\xff\n", "1:1 this byte is not UTF-8"),
        (b"[]", "1:1 must be a JSON object"),
        (b'{"schema": "kl.baseline/2", "violations": []}', '1:1 "schema" is "kl.baseline/2"'),
        (b'{"schema": "kl.baseline/1"}', '1:1 "violations" must be a list'),
        (b'{"schema": "kl.baseline/1", "violations": {}}', '1:1 "violations" must be a list'),
        (b"[" * 200_000, "0:0 can't be read"),
        (b"1" * 10_000, "0:0 can't be read"),
        (b" " * (16 * 1024 * 1024 + 1), "0:0 is too large"),
        (b'{"schema": "kl.baseline/1", "violations": [true]}', "1:1 an entry must be an object"),
        (
            b'{"schema": "kl.baseline/1", "violations": [], "violations": []}',
            '1:1 "violations" is given twice',
        ),
    ],
    ids=range(13),
)
def test_a_bad_baseline_never_passes(data: bytes, printed: str) -> None:
    assert any(one.startswith(printed) for one in problems(data)), problems(data)


@given(st.binary(max_size=200) | st.integers(0, 400).map(lambda n: baseline_bytes([ONE, TWO])[:n]))
def test_any_bytes_are_a_baseline_or_problems(data: bytes) -> None:
    whole = baseline_bytes([ONE, TWO])
    if data.strip() == whole.strip():
        assert read_baseline(BASELINE, data) == (ONE, TWO)
    else:
        problems(data)


KEYS = st.sampled_from(
    ["schema", "violations", "from", "to", "importer", "imported", "count", "fingerprint", "x"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inside: st.lists(inside) | st.dictionaries(KEYS, inside),
    max_leaves=8,
)


@given(JSON)
def test_any_json_is_refused_or_states_what_it_accepts(value: object) -> None:
    text = json.dumps({"schema": "kl.baseline/1", "violations": [value]})
    assert problems(text)


PARTS = st.sampled_from("abcd")
MODULES = st.builds("{}.{}".format, PARTS, PARTS)
LAYERS = st.sampled_from(["low", "high"])


def violation_of(
    importer: str, imported: str, line: int = 1, low: str = "low", high: str = "high"
) -> Violation:
    return Violation(
        f"{importer}.py", line, importer, imported, low, high, "import x", "import", "m:1"
    )


FOUND = st.lists(
    st.builds(violation_of, MODULES, MODULES, st.integers(1, 99), LAYERS, LAYERS), max_size=12
)
EXISTING = st.frozensets(MODULES, max_size=16)


def key(one: Violation) -> tuple[str, str, str, str]:
    return one.source_layer, one.target_layer, one.importer, one.imported


@given(FOUND, FOUND, EXISTING)
def test_it_only_shrinks_and_accepts_no_more_than_it_states(
    before: list[Violation], now: list[Violation], modules: frozenset[str]
) -> None:
    entries = entries_for(before)
    found = match_baseline(entries, now, modules)
    assert sorted(map(key, (*found.new, *found.accepted))) == sorted(map(key, now))
    counts = {entry.fingerprint: entry.count for entry in entries}
    assert all(one.count <= counts[one.fingerprint] for one in found.needed), (
        "no entry is new, no count is higher"
    )
    assert sum(one.count for one in found.needed) == len(found.accepted) <= len(before)
    assert sum(one.count for one in found.today) == len(found.accepted)


@given(FOUND, FOUND, EXISTING)
def test_shrinking_changes_no_verdict_and_happens_once(
    before: list[Violation], now: list[Violation], modules: frozenset[str]
) -> None:
    modules |= {one.importer for one in now}  # a module that was removed imports nothing
    first = match_baseline(entries_for(before), now, modules)
    for entries in (first.needed, first.today):
        again = match_baseline(entries, now, modules)
        assert (again.new, again.accepted) == (first.new, first.accepted)
        assert again.needed == entries


@given(FOUND, FOUND, EXISTING, st.randoms(use_true_random=False))
def test_moved_lines_and_another_order_change_nothing(
    before: list[Violation], now: list[Violation], modules: frozenset[str], chance: object
) -> None:
    entries = entries_for(before)
    moved = [one._replace(line=chance.randint(1, 10**6)) for one in now]  # type: ignore[attr-defined]
    chance.shuffle(moved)  # type: ignore[attr-defined]
    first, second = match_baseline(entries, now, modules), match_baseline(entries, moved, modules)
    assert Counter(map(key, first.new)) == Counter(map(key, second.new))
    assert first.needed == second.needed


@given(FOUND, FOUND)
def test_without_renames_it_is_plain_counting(
    before: list[Violation], now: list[Violation]
) -> None:
    everything = frozenset(name for one in (*before, *now) for name in (one.importer, one.imported))
    found = match_baseline(entries_for(before), now, everything)
    assert Counter(map(key, found.new)) == Counter(map(key, now)) - Counter(map(key, before))
    assert found.renamed == ()


@given(FOUND, FOUND)
def test_what_is_added_is_what_a_new_baseline_accepts_more(
    before: list[Violation], now: list[Violation]
) -> None:
    more = Counter(
        {
            (e.source_layer, e.target_layer, e.importer, e.imported): e.count
            for e in added_entries(entries_for(before), entries_for(now))
        }
    )
    assert more == Counter(map(key, now)) - Counter(map(key, before))


def test_more_of_the_same_is_new_and_the_last_ones_are_shown() -> None:
    found = match_baseline(
        (BaselineEntry("low", "high", "a.x", "b.y", 2),),
        [violation_of("a.x", "b.y", n) for n in (1, 5, 9)],
        {"a.x"},
    )
    assert [one.line for one in found.new] == [9]


def test_a_renamed_importer_is_the_same_import() -> None:
    entries = entries_for([violation_of("a.old", "b.y"), violation_of("a.old", "b.y")])
    now = [violation_of("a.new", "b.y")]
    found = match_baseline(entries, now, {"a.new", "b.y"})
    assert found.new == () and found.needed == (BaselineEntry("low", "high", "a.old", "b.y"),)
    assert found.today == entries_for(now)
    assert match_baseline(entries, now, {"a.old", "a.new", "b.y"}).new == tuple(now), (
        "the old module is still there"
    )


def test_a_renamed_target_is_the_same_import() -> None:
    found = match_baseline(
        entries_for([violation_of("a.x", "b.old")]),
        [violation_of("a.x", "b.new")],
        {"a.x", "b.new"},
    )
    assert found.new == () and found.today == entries_for([violation_of("a.x", "b.new")])


def test_a_renamed_package_is_recognized_by_the_names_inside() -> None:
    entries = entries_for([violation_of("a.old.x", "b.y"), violation_of("a.old.z", "b.y")])
    now = [violation_of("a.new.x", "b.y"), violation_of("a.new.z", "b.y")]
    assert match_baseline(entries, now, {"a.new.x", "a.new.z"}).new == ()


def test_what_could_be_several_renames_is_none() -> None:
    entries = entries_for([violation_of("a.one", "b.y"), violation_of("a.two", "b.y")])
    now = [violation_of("a.three", "b.y"), violation_of("a.four", "b.y")]
    assert match_baseline(entries, now, {"a.three", "a.four"}).new == tuple(now)


def test_a_rename_never_makes_space_for_more() -> None:
    now = [violation_of("a.new", "b.y", 1), violation_of("a.new", "b.y", 2)]
    assert [
        one.line
        for one in match_baseline(entries_for([violation_of("a.old", "b.y")]), now, {"a.new"}).new
    ] == [2]


def test_other_layers_are_no_rename() -> None:
    now = [violation_of("a.new", "b.y", high="top")]
    assert match_baseline(entries_for([violation_of("a.old", "b.y")]), now, {"a.new"}).new == tuple(
        now
    )
