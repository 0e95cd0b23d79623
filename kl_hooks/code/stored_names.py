"""The modules of the repository as the table `files` holds them: for those who ask for few of thousands."""

from __future__ import annotations

from collections.abc import Sequence

from kl_hooks.code.imports import Known
from kl_hooks.store.database import Rows


class Stored(Known):
    """The same answers, each read when it is first asked for."""

    def __init__(self, db: Rows) -> None:
        super().__init__({})
        self._db = db
        self._found: dict[str, list[tuple[str, str]]] = {}
        self._above: dict[str, bool] = {}
        self._asked: dict[str, str] = {}

    def module_of(self, path: str) -> str:
        found = self._db.rows("SELECT module FROM files WHERE path = ?", (path,))
        if not found:
            raise KeyError(path)
        return str(found[0][0])

    def path_of(self, module: str) -> str:
        if module not in self._asked:
            found = self._db.rows("SELECT path FROM files WHERE module = ?", (module,))
            self._asked[module] = str(found[0][0]) if found else ""
        return self._asked[module]

    def inside(self, name: str) -> bool:
        if "@" in name:
            return False
        if name not in self._above:
            sql = "SELECT 1 FROM files WHERE module >= ? AND module < ? LIMIT 1"
            self._above[name] = bool(self._db.rows(sql, (f"{name}.", f"{name}/")))  # `/` comes right after `.`
        return self._above[name]

    def called(self, name: str) -> Sequence[tuple[str, str]]:
        if "@" in name:
            return ()
        if name not in self._found:
            sql = "SELECT path, module FROM files WHERE module = ? OR (module >= ? AND module < ?)"
            self._found[name] = self._db.rows(sql, (name, f"{name}@", f"{name}A"))  # `A` comes right after `@`
        return self._found[name]
