"""The lines of the hot path: canonical, whole, harmless, and naming what runs next."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.model.canonical import canonical
from kl_hooks.store.spool import SpoolWriter, read_spool
from pytest_kl.listener import LONGEST_ID, Journal, clean_id, without_group

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def lines(
    folder: Path, *calls: tuple[str, str], plan: list[str] | None = None, **more: object
) -> list[object]:
    """What is in the spool after `("s", id)` for a start and `("t", id)` for an end of each
    test.
    """
    with SpoolWriter.create(folder, "run") as writer:
        journal = Journal(writer, **more)  # type: ignore[arg-type]
        journal.expect(plan or [])
        for what, nodeid in calls:
            if what == "s":
                journal.started(nodeid)
            else:
                journal.finished(nodeid, "passed", 0.0015, None)
        assert journal.lines == sum(what == "t" for what, _ in calls)
    return read_spool(folder / "run.jsonl").records


def test_a_planned_run_names_the_next_test_and_writes_one_line_a_test(tmp_path: Path) -> None:
    calls = [("s", "a"), ("t", "a"), ("s", "b"), ("t", "b")]
    assert lines(tmp_path, *calls, plan=["a", "b"]) == [
        ["s", "a"],
        ["t", "a", "passed", 1500, None, "b"],
        ["t", "b", "passed", 1500, None, None],
    ]


def test_another_order_than_planned_is_written_as_it_comes(tmp_path: Path) -> None:
    calls = [("s", "a"), ("t", "a"), ("s", "c"), ("t", "c"), ("s", "b"), ("t", "b")]
    assert [record[:2] for record in lines(tmp_path, *calls, plan=["a", "b", "c"])] == [  # type: ignore[index]
        ["s", "a"],
        ["t", "a"],
        ["s", "c"],
        ["t", "c"],
        ["s", "b"],
        ["t", "b"],
    ]


def test_tests_that_run_side_by_side_keep_their_names(tmp_path: Path) -> None:
    calls = [("s", "a"), ("s", "b"), ("t", "a"), ("t", "b")]
    found = lines(tmp_path, *calls)
    assert [record[1] for record in found] == ["a", "b", "a", "b"]  # type: ignore[index]


def test_prefix_and_group(tmp_path: Path) -> None:
    found = lines(tmp_path, ("t", "test_a.py::b[x@y]@group"), prefix="lib/", grouped=True)
    assert found == [["t", "lib/test_a.py::b[x@y]", "passed", 1500, None, None]]
    assert without_group("test_a.py::b[x@y]") == "test_a.py::b[x@y]"
    assert without_group("at@home/test_a.py::b") == "at@home/test_a.py::b"


def test_a_secret_is_removed_from_every_place_of_an_id(tmp_path: Path) -> None:
    nodeid = f"test_a.py::b[{SECRET}]"
    lines(tmp_path, ("s", nodeid), ("t", nodeid), ("s", "c"), ("t", "c"), plan=[nodeid, "c"])
    assert SECRET.encode() not in (tmp_path / "run.jsonl").read_bytes()


def test_a_long_id_keeps_its_beginning_and_stays_different_from_others() -> None:
    one, two = clean_id("t" * 9000 + "1"), clean_id("t" * 9000 + "2")
    assert one != two
    assert one[:LONGEST_ID] == "t" * LONGEST_ID
    assert len(one) < LONGEST_ID + 40


@given(st.text(max_size=60))
def test_every_line_is_canonical_json_and_can_be_encoded(text: str) -> None:
    class Stored:
        """Keeps lines instead of writing them."""

        def __init__(self) -> None:
            self.seen: list[str] = []
            self.line = self.seen.append
            self.sync = list

    stored = Stored()
    journal = Journal(stored)  # type: ignore[arg-type]
    journal.finished(text, "failed", 0.0, {"message": "é", "line": 3})
    (line,) = stored.seen
    assert canonical(json.loads(line)) == line.encode()
