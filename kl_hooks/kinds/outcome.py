"""Outcomes of tasks: recorded, queued while the store cannot be written, or read from a task's own file."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import EnvironmentProblem, KlError
from kl_hooks.kinds.catalog import OUTCOME
from kl_hooks.records.repository import IdTaken
from kl_hooks.records.write import create_record, redact_values, validate_or_raise
from kl_hooks.store.files import read_small, write_atomic
from kl_hooks.store.state import spool_directories

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace

_FOLDER: Final = "outcomes"
_NAME: Final = re.compile(r"OUT-[0-9a-f]{8}\.json")


def record_outcome(ws: Workspace, raw: Mapping[str, Any], by: str = "") -> tuple[str, str]:
    """Record an outcome; return (its ID, why it was queued: empty where it was recorded).

    Problems for invalid values; EnvironmentProblem only where it can't be queued either.
    """
    values = redact_values(raw)
    validate_or_raise(OUTCOME, values, "kl outcome capture")
    identifier = f"{OUTCOME.prefix}-{secrets.token_hex(4)}"
    try:
        create_record(ws, OUTCOME, raw, asked=identifier, by=by)
    except EnvironmentProblem as problem:
        # ASCII: JSON has an escape for lone surrogates (undecodable bytes of an argument, PEP 383), UTF-8 has none
        data = json.dumps({"raw": values, "by": by, "at": ws.clock.now()}, ensure_ascii=True).encode()
        for folder in _queue_folders(ws):
            with suppress(OSError):
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                # 0600: what was tried may quote source that others must not read
                write_atomic(folder / f"{identifier}.json", data, mode=0o600)
                return identifier, str(problem)
        raise
    return identifier, ""


def record_queued(ws: Workspace) -> list[str]:
    """Record what was queued, now that the store can be written; return the IDs. Invalid files stay where they are."""
    recorded: list[str] = []
    for path in list(_queued(ws)):
        try:
            queued = json.loads(read_small(path) or b"")
            with suppress(IdTaken):  # recorded by another process, or before a kill
                create_record(ws, OUTCOME, queued["raw"], asked=path.stem, by=str(queued.get("by", "")))
        except EnvironmentProblem:
            return recorded  # the store is still not writable
        except (KlError, ValueError, KeyError, TypeError):
            continue
        # missing_ok: another process may have recorded it and removed the file
        path.unlink(missing_ok=True)
        recorded.append(path.stem)
    return recorded


def _queue_folders(ws: Workspace) -> list[Path]:
    """Next to the spools, outside of the working tree, whose files can be part of a clone."""
    folders = [place.parent / _FOLDER for place, _ in spool_directories(ws.state, ws.root, ws.environ)]
    return [folder for folder in folders if not folder.is_relative_to(ws.root / ".kl")]


def _queued(ws: Workspace) -> Iterator[Path]:
    for folder in _queue_folders(ws):
        with suppress(OSError):
            yield from sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name) and not path.is_symlink())
