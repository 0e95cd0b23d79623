"""The names of all modules, worked out again only when something they were decided by has changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from kl_hooks.code import remembered
from kl_hooks.code.modules import module_names, names_in
from kl_hooks.code.parse import Facts

_MARKER: Final = 2
"""Instead of an answer: the name is the path of a file that marks a project."""


class Rows(Protocol):
    """What this needs of a database; the store's Database is one."""

    def rows(self, sql: str, params: Any = ()) -> list[tuple[Any, ...]]: ...
    def execute(self, sql: str, params: Any = ()) -> Any: ...
    def many(self, sql: str, rows: Any) -> Any: ...


class Asked(Collection[str]):
    """Names that are imported, which remembers what it was asked for."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names
        self.answers: dict[str, bool] = {}

    def __contains__(self, name: object) -> bool:
        found = name in self._names
        self.answers[str(name)] = found
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def still_holds(db: Rows, old: Collection[str], new: Collection[str]) -> bool:
    """True if names that were decided before stay, now that some files import `new` instead of `old`.

    A name that is no longer imported by these may still be by others: then it is worked out again, to be sure.
    """
    before, now = set(old), set(new)
    changed = [*((name, 0) for name in now - before), *((name, 1) for name in before - now)]
    if not changed:
        return True
    answers = dict(db.rows("SELECT name, asked_for FROM naming WHERE asked_for < 2"))
    return all(answers.get(name, 1 - answer) != answer for name, answer in changed)


def known_markers(db: Rows, condition: str, params: Sequence[str]) -> set[str]:
    """The files that marked projects when names were last decided; of those that fit a condition over `name`."""
    sql = f"SELECT name FROM naming WHERE {condition} AND asked_for = ?"
    return {row[0] for row in db.rows(sql, (*params, _MARKER))}


def decide(
    db: Rows,
    wanted: Mapping[str, remembered.Key],
    markers: Collection[str] = (),
    known: Mapping[remembered.Key, Facts] | None = None,
) -> dict[str, str]:
    """Path → module of all files, from what all of them import; what decided it is kept. Inside one transaction.

    `markers`: paths of the files that mark projects. `known`: facts that need not be read again.
    """
    known = known or {}
    loaded = remembered.load(db, {key for key in wanted.values() if key not in known}, symbols=False)
    asked = Asked(imports_of(facts for key in set(wanted.values()) if (facts := known.get(key) or loaded.get(key))))
    modules = module_names([*wanted, *markers], asked)
    rows = [*asked.answers.items(), *((path, _MARKER) for path in markers)]
    db.execute("DELETE FROM naming")
    db.many("INSERT INTO naming (name, asked_for) VALUES (?, ?)", sorted(rows))
    return modules


def imports_of(facts: Iterable[Mapping[str, Any]]) -> set[str]:
    """The absolute names that these files import."""
    return names_in(one["imports"] for one in facts)
