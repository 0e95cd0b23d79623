"""The baseline as a file: reviewable, the same for the same entries, and never taken for what it is not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.arch.baseline.file import Accepted, accept, baseline_bytes, plain
from kl_hooks.arch.baseline.read import BaselineProblems, read_baseline
from kl_hooks.model.manifest import BASELINE, Violation

ONE = Accepted("core", "web", "shop.core.order", "shop.web.page", 2)
TWO = Accepted("core", "web", "shop.core.price", "shop.web.page")
NAMES = st.text(min_size=1, max_size=12)


def broken(importer: str, line: int) -> Violation:
    return Violation("p.py", line, importer, "shop.web.page", "core", "web", "import x", "import", "m:1")


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
        "from": "core", "to": "web", "importer": "shop.core.order", "imported": "shop.web.page", "count": 2,
        "fingerprint": broken("shop.core.order", 9).fingerprint,
    }  # fmt: skip
    assert json.loads(rows[4]) == plain(TWO) and rows[5:] == ["  ]", "}"]
    assert read_baseline(BASELINE, baseline_bytes([])) == ()


def test_accepting_counts_and_forgets_lines() -> None:
    some = [broken("shop.core.price", 3), broken("shop.core.order", 1), broken("shop.core.order", 8)]
    assert accept(some) == (ONE, TWO)


@given(st.lists(st.builds(Accepted, NAMES, NAMES, NAMES, NAMES, st.integers(1, 10**6)), max_size=5))
def test_what_is_written_is_read(entries: list[Accepted]) -> None:
    wanted = {(e.source_layer, e.target_layer, e.importer, e.imported): e for e in entries}
    data = baseline_bytes(wanted.values())
    try:
        assert read_baseline(BASELINE, data) == tuple(sorted(wanted.values()))
    except BaselineProblems:  # lone surrogates are one and the same in a hash, so two names may be too
        assert len({e.fingerprint for e in wanted.values()}) < len(wanted)
    assert data.isascii() and data == baseline_bytes(reversed(list(wanted.values())))


def test_a_merge_conflict_is_named_line_by_line() -> None:
    rows = baseline_bytes([ONE, TWO]).decode().splitlines()
    rows[3:5] = ["<<<<<<< HEAD", rows[3], "=======", rows[4], ">>>>>>> branch"]
    assert [one.partition(" ")[0] for one in problems("\n".join(rows))] == ["4:1", "6:1", "8:1"]


def test_everything_wrong_is_said_at_once_with_its_line() -> None:
    good = json.dumps(plain(ONE))
    rows = [
        good, json.dumps({**plain(TWO), "count": 0}), json.dumps({**plain(TWO), "importer": 7, "line": 3}), good, "[]",
        json.dumps({**plain(TWO), "imported": "shop.web.other"}), '{"from": "core", "from": "web"}',
    ]  # fmt: skip
    text = '{"schema": "kl.baseline/1", "more": 1,\n"violations": [\n' + ",\n".join(rows) + "\n]}"
    found = problems(text)
    for part in (
        '1:1 unknown key "more"', '4:1 "count" must be a whole number', '5:1 "importer" must be text',
        '5:1 unknown key "line"', "6:1 shop.core.order -> shop.web.page stands here twice (first at line 3)",
        "7:1 an entry must be an object", "8:1 the fingerprint does not fit", '9:1 "from" is given twice',
        '9:1 the key "to" is missing',
    ):  # fmt: skip
        assert any(one.startswith(part) for one in found), (part, found)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "1:1 is not JSON"), (b"{", "1:2 is not JSON"), (b'{"schema": 1}\n}', "2:1 is not JSON"),
        (b"\xff\n", "1:1 this byte is not UTF-8"), (b"[]", "1:1 must be a JSON object"),
        (b'{"schema": "kl.baseline/2", "violations": []}', '1:1 "schema" is "kl.baseline/2"'),
        (b'{"schema": "kl.baseline/1"}', '1:1 "violations" must be a list'),
        (b'{"schema": "kl.baseline/1", "violations": {}}', '1:1 "violations" must be a list'),
        (b"[" * 200_000, "0:0 can't be read"), (b"1" * 10_000, "0:0 can't be read"),
        (b" " * (16 * 1024 * 1024 + 1), "0:0 is too large"),
        (b'{"schema": "kl.baseline/1", "violations": [true]}', "1:1 an entry must be an object"),
        (b'{"schema": "kl.baseline/1", "violations": [], "violations": []}', '1:1 "violations" is given twice'),
    ],
    ids=range(13),
)  # fmt: skip
def test_a_bad_baseline_never_passes(data: bytes, said: str) -> None:
    assert any(one.startswith(said) for one in problems(data)), problems(data)


@given(st.binary(max_size=200) | st.integers(0, 400).map(lambda n: baseline_bytes([ONE, TWO])[:n]))
def test_any_bytes_are_a_baseline_or_problems(data: bytes) -> None:
    whole = baseline_bytes([ONE, TWO])
    if data.strip() == whole.strip():
        assert read_baseline(BASELINE, data) == (ONE, TWO)
    else:
        problems(data)


KEYS = st.sampled_from(["schema", "violations", "from", "to", "importer", "imported", "count", "fingerprint", "x"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inside: st.lists(inside) | st.dictionaries(KEYS, inside),
    max_leaves=8,
)


@given(JSON)
def test_any_json_is_refused_or_says_what_it_accepts(value: object) -> None:
    text = json.dumps({"schema": "kl.baseline/1", "violations": [value]})
    assert problems(text)
