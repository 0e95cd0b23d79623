"""The imports of the few files that changed since the survey was kept: a content is parsed once, not at every check."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kl_hooks.config.compiled import keep, kept
from kl_hooks.git.files import Entry

_KIND: Final = "imports-1"
_ROW: Final = (str, str, int, int, str, str)
"""What stands in a row of imports, see `code.imports_found`."""
Facts = Mapping[str, Any]
Imports = Callable[[Sequence[Entry]], Mapping[str, Facts]]
"""Reads `error` and `imports` of files, by path; what can't be had is left out."""


def recent(cache_dir: Path | None, key: str, entries: Sequence[Entry], read: Imports) -> dict[str, Facts]:
    """Path → `error` and `imports` of these files: those of the last time, where the content is the same, else read.

    `key`: as of the survey. Of what was kept only these files stay.
    """
    memory = kept(cache_dir, _KIND, key) if cache_dir else None
    memory = memory if isinstance(memory, dict) else {}
    known = {entry.path: facts for entry in entries if (facts := _facts(memory.get(entry.path), entry.blob))}
    fresh = read([entry for entry in entries if entry.path not in known]) if len(known) < len(entries) else {}
    found = {**known, **fresh}
    if cache_dir and fresh:
        rows = {e.path: [e.blob, found[e.path]["error"], found[e.path]["imports"]] for e in entries if e.path in found}
        keep(cache_dir, _KIND, key, rows)
    return found


def _facts(one: Any, blob: str) -> Facts | None:
    """What was kept of a file; None where it is another content, or not as we leave it."""
    if type(one) is not list or len(one) != 3 or one[0] != blob or type(one[1]) is not str or type(one[2]) is not list:
        return None
    whole = all(type(row) is list and tuple(map(type, row)) == _ROW for row in one[2])
    return {"error": one[1], "imports": one[2]} if whole else None
