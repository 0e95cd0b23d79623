"""The cache, and what a poisoned one can do: nothing runs, nothing outside is touched, the answer
is a miss.
"""

from __future__ import annotations

import os
import pickle
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import diskcache
import pytest

from kl_hooks.store.cache import _FOLDER, Cache, _prepare

REPO = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def cache(folder: Path) -> Iterator[Cache]:
    with closing(Cache(folder)) as made:
        yield made


def _database(folder: Path) -> Path:
    return folder / _FOLDER / "cache.db"


def _sql(folder: Path, sql: str, *params: Any) -> None:
    with closing(sqlite3.connect(_database(folder), isolation_level=None)) as connection:
        connection.execute(sql, params)


class Bomb:
    """Unpickling it makes a file."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Path.touch, (self.mark,)


def test_values_come_back_small_and_large(cache: Cache) -> None:
    cache.set("small", b"one", ttl=None)
    cache.set("large", b"x" * 100_000, ttl=None)
    cache.set("small", b"two", ttl=60)
    assert (cache.get("small"), cache.get("large"), cache.get("none")) == (
        b"two",
        b"x" * 100_000,
        None,
    )


def test_another_process_reads_them(cache: Cache, folder: Path) -> None:
    cache.set("k", b"value", ttl=None)
    code = "import sys; from pathlib import Path; from kl_hooks.store.cache import Cache; "
    code += f"print(Cache(Path({str(folder)!r})).get('k'))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPO, capture_output=True, text=True, check=True
    )
    assert done.stdout == "b'value'\n"


def test_a_lifetime_ends(cache: Cache) -> None:
    cache.set("k", b"v", ttl=0.05)
    cache.set("kept", b"v", ttl=60)
    time.sleep(0.06)
    assert (cache.get("k"), cache.get("kept")) == (None, b"v")


def test_it_stays_under_its_size(folder: Path) -> None:
    with closing(Cache(folder, size_limit=1_000_000)) as cache:
        for number in range(60):
            cache.set(f"k{number}", os.urandom(50_000), ttl=None)
        assert cache.get("k59") is not None
        assert cache.get("k0") is None
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert size < 1_500_000


def test_looking_makes_nothing_and_imports_nothing(folder: Path) -> None:
    code = f"""
import sys
from pathlib import Path
from kl_hooks.store.cache import Cache
assert Cache(Path({str(folder)!r})).get("k") is None
print(sorted({{"diskcache", "sqlite3", "pickle"}} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPO, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
    assert not folder.exists()


def test_the_folder_is_ours_alone(cache: Cache, folder: Path) -> None:
    cache.set("k", b"v", ttl=None)
    assert (folder / _FOLDER).stat().st_mode & 0o777 == 0o700


def test_a_folder_that_is_a_link_is_not_used(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    folder.mkdir()
    (folder / _FOLDER).symlink_to(tmp_path / "elsewhere")
    with closing(Cache(folder)) as cache:
        cache.set("k", b"v", ttl=None)
        assert cache.get("k") is None
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_folder_of_somebody_else_is_not_used(folder: Path) -> None:
    theirs = Path("/usr")
    if os.geteuid() == 0:
        theirs = folder / _FOLDER
        theirs.mkdir(parents=True)
        os.chown(theirs, 65534, 65534)
    with pytest.raises(PermissionError, match="not a folder of ours"):
        _prepare(theirs)
    with closing(Cache(folder)) as cache:
        cache.set("k", b"v", ttl=None)
        assert cache.get("k") == (None if os.geteuid() == 0 else b"v")


def test_the_poison_used_here_works_on_plain_diskcache(tmp_path: Path) -> None:
    """A control: without our Disk it runs code and removes files, or the tests below would show
    nothing.
    """
    mark, victim = tmp_path / "ran", _outside(tmp_path)
    with (
        diskcache.Cache(str(tmp_path / "plain")) as plain,
        closing(sqlite3.connect(tmp_path / "plain" / "cache.db", isolation_level=None)) as sql,
    ):
        plain.set("k", b"v")
        sql.execute("UPDATE Cache SET mode = 4, value = ?", (pickle.dumps(Bomb(mark)),))
        plain.get("k")
        sql.execute("UPDATE Cache SET mode = 2, filename = ?", (str(victim),))
        plain.clear()
    assert mark.exists()
    assert not victim.exists()


def test_a_pickled_value_is_a_miss_and_runs_nothing(
    cache: Cache, folder: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    cache.set("k", b"v", ttl=None)
    _sql(folder, "UPDATE Cache SET mode = 4, value = ?", pickle.dumps(Bomb(mark)))
    assert cache.get("k") is None
    (folder / _FOLDER / "ab" / "cd").mkdir(parents=True)
    name = "ab/cd/" + "0" * 28 + ".val"
    (folder / _FOLDER / name).write_bytes(pickle.dumps(Bomb(mark)))
    _sql(folder, "UPDATE Cache SET mode = 4, value = NULL, filename = ?", name)
    assert cache.get("k") is None
    cache.set("k", b"w", ttl=None)
    assert cache.get("k") == b"w"
    assert not mark.exists()


def test_a_pickled_key_is_never_opened(cache: Cache, folder: Path, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    cache.set("k", b"v", ttl=None)
    _sql(folder, "UPDATE Cache SET raw = 0, key = ?", pickle.dumps(Bomb(mark)))
    assert cache.get("k") is None
    cache.set("k", b"w", ttl=None)
    assert cache.get("k") == b"w"
    inner = cache._open()
    with pytest.raises(OSError, match="refused"):
        list(inner)
    with pytest.raises(OSError, match="refused"):
        inner.peekitem(last=False)
    with suppress(Exception):
        cache._open().clear()
    assert not mark.exists()


def _outside(tmp_path: Path) -> Path:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    return victim


NAMES = {
    "absolute": lambda victim, folder: str(victim),
    "dots": lambda victim, folder: os.path.relpath(victim, folder / _FOLDER),
    "dots inside": lambda victim, folder: (
        "ab/cd/" + os.path.relpath(victim, folder / _FOLDER / "ab" / "cd")
    ),
    "newline": lambda victim, folder: "ab/cd/" + "0" * 28 + ".val\n",
    "arabic digits": lambda victim, folder: "ab/cd/" + "\u0660" * 28 + ".val",
    "bytes": lambda victim, folder: str(victim).encode(),
    "number": lambda victim, folder: 5,
}


@pytest.mark.parametrize(
    ("name", "mode"), [*((n, 2) for n in NAMES), ("absolute", 1), ("absolute", 3), ("dots", 4)]
)
def test_a_foreign_file_is_neither_read_nor_removed(
    cache: Cache, folder: Path, tmp_path: Path, name: str, mode: int
) -> None:
    victim = _outside(tmp_path)
    planted = NAMES[name](victim, folder)

    def poison(**more: Any) -> None:
        for key in ("k", "other"):
            cache.set(key, b"v", ttl=None)
        columns = {"mode": mode, "filename": planted, "value": None, **more}
        _sql(
            folder, f"UPDATE Cache SET {', '.join(f'{c} = ?' for c in columns)}", *columns.values()
        )

    poison()
    assert cache.get("k") is None
    cache.set("k", b"overwritten", ttl=None)
    assert cache.get("k") == b"overwritten"
    poison()
    cache._open().delete("k")
    poison()
    assert cache._open().pop("k") is None
    poison(expire_time=1.0)
    cache._open().expire()
    poison(expire_time=1.0)
    cache.set("new", b"culls what expired", ttl=None)
    poison(tag="t")
    cache._open().evict("t")
    poison()
    cache._open().cull()
    poison(size=10**12)
    cache.set("newer", b"culls what is too large", ttl=None)
    poison()
    with suppress(Exception):
        cache._open().clear()
    assert victim.read_bytes() == b"precious"


def test_a_folder_swapped_for_a_link_leads_nowhere(
    cache: Cache, folder: Path, tmp_path: Path
) -> None:
    name = "0" * 28 + ".val"
    (tmp_path / "out" / "cd").mkdir(parents=True)
    (tmp_path / "out" / "cd" / name).write_bytes(b"precious")
    cache.set("k", b"v", ttl=None)
    (folder / _FOLDER / "ab").symlink_to(tmp_path / "out")
    _sql(folder, "UPDATE Cache SET mode = 2, value = NULL, filename = ?", f"ab/cd/{name}")
    assert cache.get("k") is None
    with suppress(Exception):
        cache._open().clear()
    assert (tmp_path / "out" / "cd" / name).read_bytes() == b"precious"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("_directory", "OUT"),
        ("disk__directory", "OUT"),
        ("disk_min_file_size", 0),
        ("sqlite_journal_mode", "off"),
        ("sqlite_user_version = 7; --", 1),
        ("_timeout", 999),
        ("directory", "OUT"),
        ("eviction_policy", "none"),
    ],
)
def test_settings_of_the_database_are_not_obeyed(
    folder: Path, tmp_path: Path, key: str, value: Any
) -> None:
    (tmp_path / "out").mkdir()
    with closing(Cache(folder)) as cache:
        cache.set("k", b"v", ttl=None)
    _sql(
        folder,
        "INSERT OR REPLACE INTO Settings VALUES (?, ?)",
        key,
        str(tmp_path / "out") if value == "OUT" else value,
    )
    with closing(Cache(folder)) as cache:
        cache.set("k", b"w", ttl=None)
        assert cache.get("k") in (b"w", None)
    assert list((tmp_path / "out").iterdir()) == []
    with closing(Cache(folder)) as cache:
        cache.set("k", b"x", ttl=None)
        assert cache.get("k") == b"x", (
            "one poisoned database must not switch the cache off for ever"
        )


def test_a_journal_that_names_a_foreign_file_is_not_played(folder: Path, tmp_path: Path) -> None:
    victim = _outside(tmp_path)
    with closing(Cache(folder)) as cache:
        cache.set("k", b"v", ttl=None)
    journal = _database(folder).with_name("cache.db-journal")
    journal.write_bytes(b"\0" * 600 + str(victim).encode() + b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7")
    with closing(Cache(folder)) as cache:
        cache.set("k", b"w", ttl=None)
        assert cache.get("k") == b"w"
    assert victim.exists()


def _garbage(path: Path) -> None:
    path.write_bytes(b"this is not a database at all" * 100)


def _other_tables(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE Settings (key, value); CREATE TABLE Cache (other);")


def _views(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "DROP TABLE Cache; CREATE VIEW Cache AS SELECT 1 AS rowid, 'k' AS key, 1 AS raw"
        )


@pytest.mark.parametrize("harm", [_garbage, _other_tables, _views])
def test_a_broken_one_is_begun_anew(folder: Path, harm: Callable[[Path], None]) -> None:
    with closing(Cache(folder)) as cache:
        cache.set("k", b"v", ttl=None)
    harm(_database(folder))
    with closing(Cache(folder)) as cache:
        assert cache.get("k") is None
        cache.set("k", b"w", ttl=None)
    with closing(Cache(folder)) as cache:
        assert cache.get("k") in (b"w", None)


def test_an_altered_value_and_one_moved_to_another_key_are_misses(
    cache: Cache, folder: Path
) -> None:
    cache.set("a", b"1", ttl=None)
    cache.set("b", b"2", ttl=None)
    _sql(
        folder, "UPDATE Cache SET value = (SELECT value FROM Cache WHERE key = 'a') WHERE key = 'b'"
    )
    assert (cache.get("a"), cache.get("b")) == (b"1", None)
    _sql(folder, "UPDATE Cache SET value = 'text' WHERE key = 'a'")
    assert cache.get("a") is None


def test_a_locked_one_is_a_miss_and_stays_whole(folder: Path) -> None:
    with closing(Cache(folder)) as cache:
        cache.set("k", b"v", ttl=None)
    holder = sqlite3.connect(_database(folder), isolation_level=None)
    with closing(holder):
        holder.execute("BEGIN EXCLUSIVE")
        with closing(Cache(folder)) as cache:
            started = time.monotonic()
            cache.set("k", b"w", ttl=None)
            assert cache.get("k") is None
            assert time.monotonic() - started < 10
        holder.execute("ROLLBACK")
    with closing(Cache(folder)) as cache:
        assert cache.get("k") == b"v"


def test_a_place_that_can_not_be_made_is_a_miss(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with closing(Cache(tmp_path / "file" / "cache")) as cache:
        cache.set("k", b"v", ttl=None)
        assert cache.get("k") is None


@pytest.mark.parametrize("value", ["text", 5, None, Bomb(Path("/nowhere"))])
def test_only_bytes_are_stored(cache: Cache, value: Any) -> None:
    cache.set("k", value, ttl=None)
    assert cache.get("k") is None
    with pytest.raises(OSError, match="refused"):
        cache._open().set("k", value)
    with pytest.raises(OSError, match="refused"):
        cache._open().set(("a", "tuple"), b"v")


def test_what_is_over_is_counted_and_dropped(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    assert cache.expired(0) == 0
    assert not cache.directory.exists(), "counting opens nothing"
    cache.set("short", b"1", 10)
    cache.set("long", b"2", 10_000)
    cache.set("ever", b"3", None)
    later = time.time() + 100
    assert (cache.expired(time.time()), cache.expired(later)) == (0, 1)
    cache.drop_expired(later)
    assert cache.expired(later) == 0
    assert (cache.get("long"), cache.get("ever")) == (b"2", b"3")
    cache.close()
