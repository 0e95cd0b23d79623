"""The names of all modules, worked out again only when something they were decided by has changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from kl_hooks.code import marks, remembered
from kl_hooks.code.modules import module_names, names_in
from kl_hooks.code.parse import Facts
from kl_hooks.store.database import Rows


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
    answers = dict(db.rows("SELECT name, asked_for FROM naming"))
    return all(answers.get(name, 1 - answer) != answer for name, answer in changed)


class Decision(NamedTuple):
    """What all modules are called, and what that was decided by."""

    modules: dict[str, str]
    """Path → module."""
    answers: dict[str, bool]
    """Name that somebody might import → whether somebody does."""


def decided(paths: Iterable[str], markers: Collection[str], imports: Collection[str]) -> Decision:
    """The names of the modules of these files. `imports`: what all of them import."""
    asked = Asked(imports)
    modules = module_names([*paths, *markers], asked)
    return Decision(modules, asked.answers)


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
    imports = imports_of(facts for key in set(wanted.values()) if (facts := known.get(key) or loaded.get(key)))
    return note(db, decided(wanted, markers, imports), markers)


def note(db: Rows, decision: Decision, markers: Collection[str]) -> dict[str, str]:
    """Keeps what decided the names; gives them."""
    db.execute("DELETE FROM naming")
    db.many("INSERT INTO naming (name, asked_for) VALUES (?, ?)", sorted(decision.answers.items()))
    marks.note(db, markers)
    return decision.modules


def imports_of(facts: Iterable[Mapping[str, Any]]) -> set[str]:
    """The absolute names that these files import."""
    return names_in(one["imports"] for one in facts)
