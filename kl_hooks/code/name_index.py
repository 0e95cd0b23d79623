"""An inverted index of names: which files mention an identifier, without looking into all of them.

Names fall into buckets, each with its files. A bucket holds many names, so that not every file of
it mentions the one asked for: callers look into these few.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from kl_hooks.store.database import Rows, chunks, placeholders

_BUCKETS: Final = 16_381
"""A prime: names that begin or end alike fall into different classes."""
_MANY: Final = 50
"""Names from which on it takes less to read all files."""
_SHARE: Final = 8
"""One file in so many, from which on it takes less to look into all."""


def files_mentioning(db: Rows, names: Collection[str]) -> dict[str, str]:
    """Path → every identifier in the file, between spaces; of all files that mention one of
    `names`, and of others.
    """
    if len(names) <= _MANY:
        wanted = _file_numbers(db, names)
        if len(wanted) * _SHARE <= _count(db):
            return {
                path: words
                for numbers in chunks(sorted(wanted))
                for path, words in db.rows(
                    f"SELECT path, names FROM said WHERE number IN ({placeholders(numbers)})",
                    numbers,
                )
            }
    return all_files(db)


def files_with(db: Rows, word: str) -> list[str]:
    """The paths of the files that mention a word that few files do."""
    return sorted(
        path
        for numbers in chunks(sorted(_file_numbers(db, (word,))))
        for path, words in db.rows(
            f"SELECT path, names FROM said WHERE number IN ({placeholders(numbers)})", numbers
        )
        if word in words.split()
    )


def _file_numbers(db: Rows, names: Collection[str]) -> set[int]:
    """The numbers of all files that mention one of `names`, and of some others."""
    return {
        number
        for files in _files(db, {_bucket(name) for name in names}).values()
        for number in files
    }


def all_files(db: Rows) -> dict[str, str]:
    """The same of all files."""
    return dict(db.rows("SELECT path, names FROM said"))


def replace_files(db: Rows, removed: Iterable[str], changed: Mapping[str, str]) -> None:
    """Store path → identifiers of the file, and delete those of removed files. Inside one
    transaction.
    """
    now = {path: names for path, names in changed.items() if names}
    old = sorted({*removed, *changed})
    if len(old) * _SHARE > _count(db):
        db.many("DELETE FROM said WHERE path = ?", [(path,) for path in old])
        _insert(db, now)
        _rebuild(db)
        return
    before = {
        path: (number, words)
        for numbers in chunks(old)
        for path, number, words in db.rows(
            f"SELECT path, number, names FROM said WHERE path IN ({placeholders(numbers)})", numbers
        )
    }
    # a file keeps its number, so that only the buckets of names added to it or removed from it are
    # written
    stay = now.keys() & before.keys()
    db.many(
        "UPDATE said SET names = ? WHERE number = ?",
        [(now[path], before[path][0]) for path in sorted(stay)],
    )
    db.many(
        "DELETE FROM said WHERE number = ?",
        [(before[path][0],) for path in sorted(before.keys() - stay)],
    )
    numbers = {path: number for path, (number, _) in before.items()}
    numbers |= _insert(db, {path: now[path] for path in now.keys() - stay})
    _move(
        db,
        [
            (numbers[path], _buckets(before.get(path, (0, ""))[1]), _buckets(now.get(path, "")))
            for path in sorted(numbers)
        ],
    )


def _count(db: Rows) -> int:
    return int(db.rows("SELECT COUNT(*) FROM said")[0][0])


def _insert(db: Rows, names: Mapping[str, str]) -> dict[str, int]:
    """Gives new files their numbers."""
    if not names:
        return {}
    first = int(db.rows("SELECT COALESCE(MAX(number), 0) + 1 FROM said")[0][0])
    numbers = {path: number for number, path in enumerate(sorted(names), first)}
    rows = [(number, path, names[path]) for path, number in numbers.items()]
    db.many("INSERT INTO said (number, path, names) VALUES (?, ?, ?)", rows)
    return numbers


def _move(db: Rows, files: Iterable[tuple[int, set[int], set[int]]]) -> None:
    """(file, its classes, and those from now on): takes it out of some and puts it into others."""
    out: dict[int, set[int]] = {}
    put: dict[int, set[int]] = {}
    for number, before, now in files:
        for which, classes in ((out, before - now), (put, now - before)):
            for class_number in classes:
                which.setdefault(class_number, set()).add(number)
    files_of = _files(db, out.keys() | put.keys())
    rows = [
        (
            class_number,
            _joined_numbers(
                (files_of.get(class_number, set()) - out.get(class_number, set()))
                | put.get(class_number, set())
            ),
        )
        for class_number in sorted(out.keys() | put.keys())
    ]
    db.many("DELETE FROM said_by WHERE bucket = ?", [row[:1] for row in rows])
    db.many("INSERT INTO said_by (bucket, files) VALUES (?, ?)", rows)


def _rebuild(db: Rows) -> None:
    """Makes all classes anew."""
    files_by_bucket: dict[int, list[int]] = {}
    bucket_of: dict[str, int] = {}
    for number, names in db.rows("SELECT number, names FROM said"):
        words = names.split()
        bucket_of.update((word, _bucket(word)) for word in words if word not in bucket_of)
        for bucket in set(map(bucket_of.__getitem__, words)):
            files_by_bucket.setdefault(bucket, []).append(number)
    db.execute("DELETE FROM said_by")
    rows = [
        (bucket, _joined_numbers(files_by_bucket[bucket])) for bucket in sorted(files_by_bucket)
    ]
    db.many("INSERT INTO said_by (bucket, files) VALUES (?, ?)", rows)


def _files(db: Rows, classes: Collection[int]) -> dict[int, set[int]]:
    """Class → its files."""
    return {
        one: set(map(int, files.split()))
        for numbers in chunks(sorted(classes))
        for one, files in db.rows(
            f"SELECT bucket, files FROM said_by WHERE bucket IN ({placeholders(numbers)})", numbers
        )
    }


def _buckets(names: str) -> set[int]:
    return set(map(_bucket, names.split()))


def _bucket(name: str) -> int:
    # not hash(): that of a text differs from process to process (PYTHONHASHSEED), and this number
    # is stored
    return int.from_bytes(name.encode(), "big") % _BUCKETS


def _joined_numbers(files: Iterable[int]) -> str:
    return " ".join(map(str, sorted(files)))
