"""Liveness: whether a record may be shown to somebody who did not ask for it by its ID.

One rule for context packages, critical context, `memory inject`, agent tools and the default of every search.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.model.record import Record
from kl_hooks.records.prompt_injection import injection_reasons
from kl_hooks.records.query import RecordFilter, get_records
from kl_hooks.records.repository import is_expired

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


def stale_reasons(ws: Workspace, records: Sequence[Record]) -> dict[str, str]:
    """Id of each of these records that no longer holds → why, in one line."""
    if not records:
        return {}
    found: dict[str, str] = {}
    kinds = {record.kind for record in records}
    for answer in ws.plugins.hook.kl_stale():
        for one in answer:
            if one.kind in kinds:
                found |= one.find_stale(ws, [record for record in records if record.kind == one.kind])
    return found


def with_stale_status(ws: Workspace, records: Sequence[Record]) -> list[Record]:
    """Return the records; those that are out of date have the status `stale` where their kind has that status."""
    reasons = stale_reasons(ws, records)
    return [
        record.with_values(status="stale")
        if record.id in reasons and "stale" in ws.kinds[record.kind].statuses
        else record
        for record in records
    ]


_IMPORTED: Final = re.compile(r"^import:|\.(?:md|json|ya?ml)\b", re.IGNORECASE)
"""A `source` that is a file: the record was imported from it."""


def is_live(ws: Workspace, record: Record) -> bool:
    """True for a record that holds today and may be shown unasked."""
    return not not_live_reason(ws, record)


def not_live_reason(ws: Workspace, record: Record) -> str:
    """Return why a record is not shown unasked, in a word or a few; empty: it is."""
    kind = ws.kinds[record.kind]
    if record.broken:
        return "unreadable"
    if record.archived:
        return "archived"
    if is_expired(ws, record):
        return "expired"
    if record.status not in kind.live:
        return record.status
    for field in kind.all_fields:
        if field.ends and record.text(field.name) in field.ends:
            return record.text(field.name)
    if _has_live_successor(ws, record):
        return "superseded"
    return _not_accepted_reason(ws, record) if kind.nature == "directive" else ""


def filter_live(ws: Workspace, found: Sequence[Record], wanted: RecordFilter) -> tuple[list[Record], int]:
    """Return (the records that a search shows unasked, the number of those that it does not).

    All of them where `wanted` names statuses, or wants everything (`expired`).
    """
    if wanted.statuses or wanted.expired:
        return [one for one in found if wanted.expired or not is_expired(ws, one)], 0
    live = [one for one in found if is_live(ws, one)]
    outdated = stale_reasons(ws, live)
    live = [one for one in live if one.id not in outdated]
    return live, len(found) - len(live)


def quarantine_reasons(ws: Workspace, record: Record) -> tuple[str, ...]:
    """Return why the text of a directive is quarantined, one reason each; empty: it is not.

    Quarantined is what an agent, a program or an import wrote, reads like an instruction, and was accepted by nobody.
    What a person wrote, accepted or committed never is. The text is looked at each time: a file can be edited.
    """
    kind = ws.kinds[record.kind]
    if kind.nature != "directive" or (record.authority == "human" and not _IMPORTED.search(record.text("source"))):
        return ()
    noted = [part for part in record.text("quarantine").split("; ") if part]
    written = [record.text(field.name) for field in kind.all_fields if field.type in ("line", "text", "lines")]
    found = tuple(dict.fromkeys([*noted, *injection_reasons("\n".join(one for one in written if one))]))
    return found if found and not _is_committed(ws, record) else ()


def _not_accepted_reason(ws: Workspace, record: Record) -> str:
    """Of a directive with a live status that no person stands behind: why it is not shown.

    Where only a person, or a reviewer, can give that status, the status itself is the acceptance.
    """
    gated = any(verb.person and verb.to == record.status and verb.reviewer for verb in ws.kinds[record.kind].verbs)
    if record.authority == "agent" and not gated and not _is_committed(ws, record):
        return "not accepted"
    return "quarantined" if quarantine_reasons(ws, record) else ""


def _is_committed(ws: Workspace, record: Record) -> bool:
    """True for a file that is as it was committed: people review what they commit."""
    if not record.path or ws.repo is None:
        return False
    from kl_hooks.git.files import differing_from_head

    return not differing_from_head(ws.repo, [record.path])


def _has_live_successor(ws: Workspace, record: Record) -> bool:
    """True where a record that took this one's place is in force itself: a proposal does not end what it would end."""
    if not (later := record.many("superseded_by")):
        return False
    return any(one.status in ws.kinds[one.kind].live for one in get_records(ws, later))
