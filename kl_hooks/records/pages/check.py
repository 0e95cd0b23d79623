"""`kl knowledge check`: the files that are judged, from the disk or as they are staged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kl_hooks.config.files import read_small
from kl_hooks.errors import EnvironmentProblem, KlError, UsageProblem
from kl_hooks.git import files
from kl_hooks.model.problem import Problem
from kl_hooks.records.files import KNOWLEDGE, authored, kind_of
from kl_hooks.records.pages.places import DOCS, docs
from kl_hooks.records.pages.read import MOST_BYTES
from kl_hooks.records.pages.verify import Verified, verify

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace


def check(ws: Workspace, only: Sequence[str] = (), *, staged: bool = False) -> Verified:
    """Checks what is written. `only`: paths from the root, of which alone findings are told. Never needs the store.

    EnvironmentProblem where what is staged is asked for and there is no repository.
    """
    unread: list[Problem] = []
    texts = _staged(ws) if staged else _on_disk(ws, unread)
    found = verify(ws.kinds, texts, _resting(ws))
    found.unread += unread
    if only:
        wanted = set(only)
        for some in (found.findings, found.unread, found.remarks):
            some[:] = [one for one in some if one.path in wanted]
    found.unread += ws.catalogue.problems  # whichever files were named: nobody can judge those of such a kind
    for some in (found.findings, found.unread, found.remarks):
        some[:] = sorted(set(some))
    return found


def _on_disk(ws: Workspace, unread: list[Problem]) -> dict[str, bytes]:
    made = {}
    # Only Markdown has links of ours: what else is in docs is not ours to judge.
    for path in [*authored(ws.root, ws.kinds, 0), *(one for one in docs(ws) if one.endswith(".md"))]:
        try:
            made[path] = read_small(ws.root / path, within=ws.root, most=MOST_BYTES) or b""
        except UsageProblem as wrong:
            unread.append(Problem(path, 0, 0, wrong.reason, wrong.hint))
    return made


def _staged(ws: Workspace) -> dict[str, bytes]:
    if ws.repo is None:
        raise EnvironmentProblem("there is no git repository.", place=str(ws.root), hint="Leave --staged out.")
    place = f"{ws.settings.docs or DOCS}/"
    entries = [
        one for one in files.staged(ws.repo, (".md",))
        if one.path.startswith(place) or (one.path.startswith(KNOWLEDGE) and _is_authored(ws, one.path))
    ]  # fmt: skip
    return {entry.path: data for entry, data in files.read(ws.repo, entries, "objects")}


def _is_authored(ws: Workspace, path: str) -> bool:
    return kind_of(path, ws.kinds) is not None and path.rpartition("/")[2] not in ("README.md", "MEMORY.md")


def _resting(ws: Workspace) -> frozenset[str]:
    """Ids of records in the state; none where the store can't be read: it may not cost a commit."""
    try:
        with ws.store.reading() as db:
            rows = db.rows("SELECT id FROM record WHERE rests = 'state'") if db is not None else []
    except (KlError, OSError):
        return frozenset()
    return frozenset(row[0] for row in rows)


def shortened(found: Verified, most: int) -> Verified:
    """The same with at most so many findings, for a terminal."""
    return replace(found, findings=found.findings[:most])
