"""The compiled form of a file: used where it is whole and ours, made again for anything else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kl_hooks.config.compile_cache import load_compiled
from kl_hooks.model.problem import Problem, Problems


class Compiler:
    """Counts how often it was asked."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> dict[str, int]:
        self.calls += 1
        return {"answer": 42}


def entry(cache: Path) -> Path:
    (only,) = (cache / "compiled").iterdir()
    return only


def test_the_second_time_nothing_is_compiled(tmp_path: Path) -> None:
    cache, make = tmp_path / "cache", Compiler()
    for _ in range(3):
        assert load_compiled(cache, b"text", "k-1", make) == {"answer": 42}
    assert make.calls == 1
    assert (cache.stat().st_mode & 0o777, entry(cache).stat().st_mode & 0o777) == (0o700, 0o600)


def test_other_bytes_or_another_kind_are_another_entry(tmp_path: Path) -> None:
    make = Compiler()
    for text, kind in ((b"a", "k-1"), (b"b", "k-1"), (b"a", "k-2")):
        load_compiled(tmp_path / "cache", text, kind, make)
    assert make.calls == 3


def test_no_place_for_it_means_compiling(tmp_path: Path) -> None:
    make = Compiler()
    load_compiled(None, b"a", "k", make)
    (tmp_path / "file").write_text("")
    load_compiled(tmp_path / "file", b"a", "k", make)
    assert make.calls == 2 and [p.name for p in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"[" * 100_000,
        b"\xff",
        b'{"plain": {"answer": 0}}',
        b'{"format": 99, "plain": 1}',
    ],
)
def test_a_damaged_entry_is_made_again(tmp_path: Path, bad: bytes) -> None:
    cache, make = tmp_path / "cache", Compiler()
    load_compiled(cache, b"text", "k", make)
    entry(cache).write_bytes(bad)
    assert load_compiled(cache, b"text", "k", make) == {"answer": 42}
    assert load_compiled(cache, b"text", "k", make) == {"answer": 42}
    assert make.calls == 2


def test_an_entry_under_a_wrong_name_is_not_believed(tmp_path: Path) -> None:
    cache, make = tmp_path / "cache", Compiler()
    load_compiled(cache, b"loose", "k", lambda: {"answer": 0})
    other = json.loads(entry(cache).read_text())
    entry(cache).unlink()
    load_compiled(cache, b"text", "k", make)
    entry(cache).write_text(json.dumps(other))
    assert load_compiled(cache, b"text", "k", make) == {"answer": 42}


def test_an_entry_that_others_may_write_is_not_believed(tmp_path: Path) -> None:
    cache, make = tmp_path / "cache", Compiler()
    load_compiled(cache, b"text", "k", make)
    entry(cache).chmod(0o666)
    load_compiled(cache, b"text", "k", make)
    assert make.calls == 2


def test_a_link_or_a_pipe_in_its_place_is_not_followed(tmp_path: Path) -> None:
    cache, make = tmp_path / "cache", Compiler()
    load_compiled(cache, b"text", "k", make)
    place = entry(cache)
    target = tmp_path / "target.json"
    place.rename(target)
    place.symlink_to(target)
    load_compiled(cache, b"text", "k", make)
    assert make.calls == 2
    place.unlink()
    os.mkfifo(place)
    load_compiled(cache, b"text", "k", make)
    assert make.calls == 3


def test_what_compile_raises_is_passed_on_and_nothing_stored(tmp_path: Path) -> None:
    def fail() -> None:
        raise Problems([Problem("f", 1, 1, "no")])

    with pytest.raises(Problems):
        load_compiled(tmp_path / "cache", b"text", "k", fail)
    assert not (tmp_path / "cache").exists()


def test_the_oldest_entries_make_space(tmp_path: Path) -> None:
    for number in range(60):
        load_compiled(tmp_path / "cache", b"%d" % number, "k", Compiler())
    assert len(list((tmp_path / "cache" / "compiled").iterdir())) == 41
    newest = Compiler()
    load_compiled(tmp_path / "cache", b"59", "k", newest)
    assert newest.calls == 0
