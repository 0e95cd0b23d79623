"""Rejections that travel: a small authored file of identities, so that every clone knows what was refused.

`.kl/knowledge/memories/rejected.txt` holds a line for each rejected memory: its ID, which follows from its words, and
the reason. The words themselves are not in it. One line per memory, sorted, so that git merges it line by line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kl_hooks.config.files import read_small
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.kinds.memory.kind import KIND, REJECTED
from kl_hooks.model.text import one_line
from kl_hooks.records.events import stored_records
from kl_hooks.records.repository import FileChanges
from kl_hooks.records.write import change_record
from kl_hooks.store.redact import redact

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace

FILE: Final = REJECTED
_HEAD: Final = "# Memories that people rejected: ID, reason. They are not proposed again in any clone.\n"
_LINE: Final = re.compile(rf"({KIND.prefix}-[0-9a-f]{{8}})(?:\s+(.*))?")
_MOST: Final = 10_000_000
"""Bytes: a hundred thousand rejections."""


def rejections(ws: Workspace) -> dict[str, str]:
    """ID → reason of every memory that the file names. What is no such line (a merge left half done) is passed over."""
    data = read_small(ws.root / FILE, within=ws.root, most=_MOST) or b""
    lines = data.decode("utf-8", "replace").splitlines()
    return {found[1]: found[2] or "" for line in lines if (found := _LINE.fullmatch(line.strip()))}


def write_rejections(ws: Workspace, changes: Mapping[str, str | None]) -> None:
    """Adds these IDs with their reasons; None takes one out. A file that says so already stays as it is."""
    with ws.store.writing(what="noting a rejection"), FileChanges(ws) as kept:
        before = rejections(ws)
        after = before | {one: one_line(redact(why), 200) for one, why in changes.items() if why is not None}
        for one in (one for one, why in changes.items() if why is None):
            after.pop(one, None)
        if after != before:
            lines = "".join(f"{one}  {after[one]}".rstrip() + "\n" for one in sorted(after))
            kept.write(FILE, (_HEAD + lines).encode("utf-8", "replace") if after else None)


def sync_rejections(ws: Workspace) -> list[str]:
    """Rejects the candidates of this clone that the file names; the IDs. One that is approved here is left alone.

    Where the store can't be written they stay candidates for now, which nobody is shown either.
    """
    told = rejections(ws)
    waiting = [
        one.record
        for one in (stored_records(ws, list(told)) if told else {}).values()
        if one.rests == "state" and one.record.status == KIND.statuses[0]
    ]
    for record in waiting:
        values = {"status": "rejected", "reason": told[record.id] or None}
        with suppress(EnvironmentProblem, UsageProblem):
            change_record(ws, record, values, how="reject", by="rejected.txt")
    return [one.id for one in waiting]
