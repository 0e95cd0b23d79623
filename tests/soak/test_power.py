"""What a power loss leaves, by the rules of POSIX: of recorded calls, without a disk."""

from __future__ import annotations

import random

import pytest

from bench.soak.power import MODES, Disk, Event

FOLDER, OLD, NEW = "/r", "/r/old", "/r/new"


def event(kind: str, path: str = "", **more: object) -> Event:
    fields = {"second": "", "inode": 0, "offset": 0, "data": b""} | more
    return Event(kind, path, **fields)  # type: ignore[arg-type]


WRITE_NEW = [event("C", NEW, inode=2), event("W", inode=2, data=b"new")]
SYNC_NEW, SYNC_FOLDER = event("S", NEW, inode=2), event("S", FOLDER, inode=9)
RENAME = event("R", NEW, second=OLD)


def left(events: list[Event], mode: str, seed: int = 0) -> dict[str, bytes | None]:
    disk = Disk(lambda path: b"old" if path == OLD else None)
    for call in [event("O", OLD, inode=1), *events]:
        disk.apply(call)
    return disk.after_cut(mode, random.Random(seed))


def test_what_is_not_synced_may_be_lost() -> None:
    assert left(WRITE_NEW, "nothing") == {OLD: b"old"}
    assert left(WRITE_NEW, "names") == {OLD: b"old", NEW: b""}
    assert left(WRITE_NEW, "everything") == {OLD: b"old", NEW: b"new"}


def test_a_rename_before_its_sync_may_leave_an_empty_file() -> None:
    assert left([*WRITE_NEW, RENAME], "names") == {OLD: b"", NEW: None}


@pytest.mark.parametrize("mode", MODES)
def test_synced_in_the_right_order_it_is_old_or_new(mode: str) -> None:
    content = left([*WRITE_NEW, SYNC_NEW, RENAME], mode)[OLD]
    assert content in (b"old", b"new")
    assert left([*WRITE_NEW, SYNC_NEW, RENAME, SYNC_FOLDER], mode)[OLD] == b"new"


def test_a_name_is_durable_after_a_sync_of_its_folder_alone() -> None:
    assert NEW not in left([*WRITE_NEW, SYNC_NEW], "nothing")
    assert left([*WRITE_NEW, SYNC_NEW, SYNC_FOLDER], "nothing")[NEW] == b"new"


def test_a_folder_is_durable_with_what_was_synced_in_it() -> None:
    calls = [event("M", "/r/a"), event("C", "/r/a/f", inode=3), event("S", "/r/a", inode=8)]
    assert left(calls, "nothing") == {OLD: b"old", "/r/a/": b"", "/r/a/f": b""}


def test_a_long_write_may_be_torn_between_its_sectors() -> None:
    calls = [event("O", OLD, inode=1), event("W", inode=1, data=b"x" * 2048)]
    contents = {left(calls, "mixed", seed)[OLD] for seed in range(40)}
    assert len(contents) > 5
    assert all(set(content or b"") <= set(b"old\0x") for content in contents)
