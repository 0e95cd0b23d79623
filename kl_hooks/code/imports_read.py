"""The imports of a few files, read from the files themselves: sooner than any memory of them could be asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kl_hooks.code.parse import no_garbage_collection

if TYPE_CHECKING:
    from kl_hooks.code.parse import Read
    from kl_hooks.git.files import FileEntry
    from kl_hooks.hookspecs import Scanner


def imports_of(entries: Sequence[FileEntry], read: Read, scanners: Sequence[Scanner]) -> dict[str, dict[str, Any]]:
    """Path → `error` and `imports` of the facts (see `code.scan`) of every entry that a scanner knows.

    What can't be read is left out.
    """
    known = {entry.path: scanner for entry in entries if (scanner := scanner_of(entry.path, scanners))}
    found = {}
    with no_garbage_collection():
        for entry, content in read([entry for entry in entries if entry.path in known]):
            scanner = known[entry.path]
            whole = scanner.imports(content, entry.path) if scanner.imports else scanner.scan(content, entry.path, "_")
            found[entry.path] = _imports(whole)
    return found


def scanners_of(plugins: Any) -> list[Scanner]:
    """All scanners that a plugin manager knows, the ones to be asked first first."""
    return [scanner for some in plugins.hook.kl_scanners() for scanner in some]


def scanner_of(path: str, scanners: Sequence[Scanner]) -> Scanner | None:
    """The scanner for a file: the first that knows its suffix."""
    for scanner in scanners:
        if path.endswith(scanner.suffixes):
            return scanner
    return None


def _imports(facts: dict[str, Any]) -> dict[str, Any]:
    hide_literals(facts["imports"])
    return {"error": facts["error"], "imports": facts["imports"]}


def hide_literals(rows: Sequence[list[Any]]) -> None:
    """Takes secrets out of the statements that hold free text: calls that import by a name in quotes."""
    for row in rows:
        if row[4] == "dynamic import":
            from kl_hooks.store.redaction import redact

            row[5] = redact(row[5])
