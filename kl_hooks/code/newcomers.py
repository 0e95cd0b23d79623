"""The names of a few files that came, where no other file is called otherwise for them, nor for those that went.

Which folders are packages and projects is asked of the table `files`, and who imports a name of the few files that say
it: of thousands of files none but these is looked into.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from typing import Final

from kl_hooks.code import remembered, said
from kl_hooks.code.marks import known_markers
from kl_hooks.code.modules import imported_names, module_name, plain_name
from kl_hooks.code.stored_names import Stored
from kl_hooks.code.uses import WORD
from kl_hooks.store.database import Rows, placeholders

_FEW: Final = 50
"""Files that came or went, up to which it is tried."""
_SAYING: Final = 300
"""Files that are looked into for one name."""
_DECIDING: Final = ("__init__.py", "setup.py")
"""Files that decide how others are called."""


class Unsure(Exception):
    """It would take a look at all files."""


def newcomers(
    db: Rows, came: Collection[str], went: Mapping[str, str], changed: Collection[str], new: Collection[str]
) -> dict[str, str] | None:  # fmt: skip
    """Path → module of the files that came; None where another file may be called otherwise now.

    `went`: path → module; `changed`: the paths of all files whose content is not as the database has it; `new`: the
    names that these import. The tables are as they were. Marks of projects are the same, and what is imported now or no
    longer decides nothing that was decided before (`still_holds`). In one transaction.
    """
    if len(came) + len(went) > _FEW or any(path.rpartition("/")[2] in _DECIDING for path in (*came, *went)):
        return None
    modules, imported = Stored(db), _Imported(db, {*changed, *went}, new)
    packages, projects = _Packages(db), _Projects(db)
    if any(len(modules.called(plain_name(module))) != 1 or "@" in module for module in went.values()):
        return None
    found: dict[str, str] = {}
    try:
        for path in sorted(came):
            name = module_name(path, packages, projects, imported) if path.endswith(".py") else path
            if path.endswith(".py") and ("@" in name or modules.called(name) or name in found.values()):
                return None
            found[path] = name
    except Unsure:
        return None
    imported.keep()
    return found


class _Packages(Container[str]):
    """The folders that hold an `__init__.py`."""

    def __init__(self, db: Rows) -> None:
        self._db = db

    def __contains__(self, folder: object) -> bool:
        return _is_there(self._db, f"{folder}/__init__.py" if folder else "__init__.py")


class _Projects(Container[str]):
    """The folders that hold a mark of a project, or `setup.py`."""

    def __init__(self, db: Rows) -> None:
        self._db = db
        self._marked = {path.rpartition("/")[0] for path in known_markers(db, "path >= ?", ("",))}

    def __contains__(self, folder: object) -> bool:
        return folder in self._marked or _is_there(self._db, f"{folder}/setup.py" if folder else "setup.py")


def _is_there(db: Rows, path: str) -> bool:
    return bool(db.rows("SELECT 1 FROM files WHERE path = ?", (path,)))


class _Imported(Container[str]):
    """The names that are imported: as was decided the last time, else by whoever says them."""

    def __init__(self, db: Rows, changed: Collection[str], new: Collection[str]) -> None:
        self._db, self._changed, self._new = db, changed, new
        self._answers: dict[str, bool] = {}
        self._known = dict(db.rows("SELECT name, asked_for FROM naming"))

    def __contains__(self, name: object) -> bool:
        text = str(name)
        if text not in self._answers:
            self._answers[text] = self._answer(text)
        return self._answers[text]

    def keep(self) -> None:
        """Remembers what was asked: whoever imports it one day, or no longer, decides again."""
        rows = sorted(self._answers.items())
        self._db.many("DELETE FROM naming WHERE name = ?", [row[:1] for row in rows])
        self._db.many("INSERT INTO naming (name, asked_for) VALUES (?, ?)", rows)

    def _answer(self, name: str) -> bool:
        if name in self._new:
            return True
        known = self._known.get(name)
        return bool(known) if known is not None else self._by_others(name)

    def _by_others(self, name: str) -> bool:
        """True if a file imports it that is as it was. Unsure where too many say it."""
        words = WORD.findall(name.rpartition(".")[2])
        paths = sorted(said.saying(self._db, {words[-1]}).keys() - self._changed) if words else []
        if not words or len(paths) > _SAYING:
            raise Unsure
        sql = f"SELECT blob, scanner FROM files WHERE path IN ({placeholders(paths)})"
        facts = remembered.load(self._db, {(blob, scanner) for blob, scanner in self._db.rows(sql, paths)}, False)
        return name in imported_names(dict(enumerate(facts.values())))  # type: ignore[arg-type]
