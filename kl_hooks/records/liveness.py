"""Liveness: whether a record may be shown to somebody who did not ask for it by its ID.

One rule for context packages, critical context, `memory inject`, agent tools, the graph and the
default of every search. Lists for agents, which show what waits, too, have nothing of the text of
what is quarantined.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.model.definitions import lazy_pattern
from kl_hooks.model.kind import VERIFICATION
from kl_hooks.model.record import Record, untitled_path
from kl_hooks.model.symbol import RECORD_ID
from kl_hooks.records.query import RecordFilter, get_records
from kl_hooks.records.repository import is_expired

if TYPE_CHECKING:
    from kl_hooks.model.kind import Kind
    from kl_hooks.model.symbol import Link
    from kl_hooks.workspace import Workspace

# A `source` that is a file: the record was imported from it.
_IMPORTED: Final = lazy_pattern(r"^import:|\.(?:md|json|ya?ml)\b", re.IGNORECASE)


def live_records(ws: Workspace, records: Sequence[Record]) -> list[Record]:
    """Return those of the records that are live; git is asked once for all of them."""
    return [record for record, reason in _with_reasons(ws, records) if not reason]


def not_live_reason(ws: Workspace, record: Record) -> str:
    """Return why a record is not shown unasked, in a word or a few; empty: it is."""
    ((_, reason),) = _with_reasons(ws, [record])
    return reason


def filter_live(
    ws: Workspace, records: Sequence[Record], wanted: RecordFilter
) -> tuple[list[Record], int]:
    """Return (the records that a search shows unasked, the number of the others).

    All of them where `wanted` names statuses, or includes expired ones.
    """
    if wanted.statuses or wanted.expired:
        return [record for record in records if wanted.expired or not is_expired(ws, record)], 0
    live = live_records(ws, records)
    stale = stale_reasons(ws, live)
    live = [record for record in live if record.id not in stale]
    return live, len(records) - len(live)


class LiveRecords:
    """The records that a search of the graph may show."""

    def __init__(self, ws: Workspace) -> None:
        self._ws = ws

    def unasked(self, ids: Collection[str]) -> frozenset[str]:
        """Return those of the IDs whose records a search shows unasked."""
        live, _ = filter_live(self._ws, get_records(self._ws, sorted(ids)), RecordFilter())
        return frozenset(record.id for record in live)

    def links(self, links: Sequence[Link]) -> tuple[Link, ...]:
        """Return the links without those of quarantined records: their files are named by their
        texts.
        """
        hidden = self._quarantined_links(links)
        return tuple(link for link in links if link not in hidden)

    def untitled(self, links: Sequence[Link]) -> tuple[Link, ...]:
        """Return all of the links; of those of quarantined records the file's name without its
        title.
        """
        hidden = self._quarantined_links(links)
        return tuple(
            link._replace(path=untitled_path(link.path, hidden[link])) if link in hidden else link
            for link in links
        )

    def path(self, identifier: str, path: str) -> str:
        """Return the path of a record's file, of a quarantined one without its title."""
        hidden = quarantines(self._ws, get_records(self._ws, [identifier]))
        if identifier not in hidden:
            return path
        return untitled_path(path, identifier)

    def _quarantined_links(self, links: Sequence[Link]) -> dict[Link, str]:
        """The links that quarantined records have → the ID of the record."""
        ids = {link: link.source.rpartition(":")[2] for link in links}
        ids = {link: name for link, name in ids.items() if RECORD_ID.fullmatch(name)}
        if ids:
            hidden = quarantines(self._ws, get_records(self._ws, sorted(set(ids.values()))))
        else:
            hidden = {}
        return {link: name for link, name in ids.items() if name in hidden}

    def mark(self, identifier: str) -> str:
        """Return the label of a record that somebody asked for by its ID: why it is quarantined."""
        name = identifier.rpartition(":")[2]
        if not RECORD_ID.fullmatch(name):
            return ""
        records = get_records(self._ws, [name])
        reasons = [
            reason
            for record_reasons in quarantines(self._ws, records).values()
            for reason in record_reasons
        ]
        if not reasons:
            return ""
        return f"quarantined until a person has read it: {'; '.join(reasons)}"


def quarantines(ws: Workspace, records: Sequence[Record]) -> dict[str, tuple[str, ...]]:
    """Return the ID of each quarantined record → why, as `quarantine_reasons`; git is asked once
    for all of them.
    """
    reasons = {record.id: _injection_reasons(ws, record) for record in records}
    suspects = [record for record in records if reasons[record.id]]
    uncommitted = uncommitted_paths(ws, [record.path for record in suspects])
    return {record.id: reasons[record.id] for record in suspects if record.path in uncommitted}


QUARANTINED: Final = "(quarantined: no person has read it. It is shown by its ID)"
"""In place of the title of what is quarantined. Its text is in its file's name, too."""


def withhold_quarantined(ws: Workspace, records: Sequence[Record]) -> list[Record]:
    """Return the records of a list for an agent, which asked for none of them by its ID: of
    quarantined ones the kind, the ID and the status.
    """
    hidden = quarantines(ws, records)
    return [
        Record(record.kind, record.id, {"title": QUARANTINED, "status": record.status})
        if record.id in hidden
        else record
        for record in records
    ]


def stale_reasons(ws: Workspace, records: Sequence[Record]) -> dict[str, str]:
    """Return the ID of each record that the content as it is now contradicts → why, in one line."""
    if not records:
        return {}
    reasons: dict[str, str] = {}
    kinds = {record.kind for record in records}
    for answer in ws.plugins.hook.kl_stale():
        for staleness in answer:
            if staleness.kind in kinds:
                reasons |= staleness.find_stale(
                    ws, [record for record in records if record.kind == staleness.kind]
                )
    return reasons


def with_stale_status(ws: Workspace, records: Sequence[Record]) -> list[Record]:
    """Return the records; those that are out of date have the status `stale` where their kind has
    that status.
    """
    reasons = stale_reasons(ws, records)
    return [
        record.with_values(status="stale")
        if record.id in reasons and "stale" in ws.kinds[record.kind].statuses
        else record
        for record in records
    ]


def quarantine_reasons(ws: Workspace, record: Record) -> tuple[str, ...]:
    """Return why the text of a directive is quarantined, one reason each; empty: it is not.

    Quarantined is what an agent, a program or an import wrote, reads like an instruction, and was
    accepted by nobody. What a person wrote, accepted or committed never is. The text is inspected
    each time: a file can be edited.
    """
    return quarantines(ws, [record]).get(record.id, ())


def uncommitted_paths(ws: Workspace, paths: Collection[str]) -> frozenset[str]:
    """Return the files among these that differ from what is committed; without git all of them."""
    files = sorted({path for path in paths if path})
    if not files or ws.repo is None:
        return frozenset(paths)
    from kl_hooks.git.files import differing_from_head

    # an empty path is a row of the database, which no commit has
    return differing_from_head(ws.repo, files) | ({""} & {*paths})


def _with_reasons(ws: Workspace, records: Sequence[Record]) -> list[tuple[Record, str]]:
    """Return each record with the reason why it is not live. People review what they commit: that
    counts as acceptance.
    """
    not_in_force = {
        record.id: reason for record in records if (reason := _not_in_force_reason(ws, record))
    }
    # what is not in force is not shown: the reading of its text would be for nothing
    not_accepted = {
        record.id: reason
        for record in records
        if record.id not in not_in_force and (reason := _not_accepted_reason(ws, record))
    }
    doubtful = [record for record in records if record.id in not_accepted]
    uncommitted = uncommitted_paths(ws, [record.path for record in doubtful])
    reasons = not_in_force | {
        record.id: not_accepted[record.id] for record in doubtful if record.path in uncommitted
    }
    reasons = _seeded_twice([record for record in records if record.id not in reasons]) | reasons
    return [(record, reasons.get(record.id, "")) for record in records]


def _seeded_twice(records: Sequence[Record]) -> dict[str, str]:
    """Return ID → why it is not live, of each that is the same seed as one with a lower ID: two
    branches seeded, and were merged.
    """
    first: dict[tuple[str, str], str] = {}
    twice = {}
    for record in sorted(records, key=lambda record: record.id):
        seed = record.text("entity_id")
        if seed and first.setdefault((record.kind, seed), record.id) != record.id:
            twice[record.id] = "seeded twice"
    return twice


ENDED_VERIFICATIONS: Final = ("disproven", "deprecated", "superseded")


def verification_status(kind: Kind, record: Record) -> str:
    """Return how a record fared since it was made; empty for a kind whose records are not
    verified.
    """
    if VERIFICATION not in kind.fields:
        return ""
    return record.text(VERIFICATION.name)


def _not_in_force_reason(ws: Workspace, record: Record) -> str:
    kind = ws.kinds[record.kind]
    if record.broken:
        return "unreadable"
    if record.archived:
        return "archived"
    if is_expired(ws, record):
        return "expired"
    if record.status not in kind.live:
        return record.status
    if (verification := verification_status(kind, record)) in ENDED_VERIFICATIONS:
        return verification
    later = get_records(ws, record.many("superseded_by"))
    # A successor that is only proposed ends nothing yet.
    if any(successor.status in ws.kinds[successor.kind].live for successor in later):
        return "superseded"
    return ""


def _not_accepted_reason(ws: Workspace, record: Record) -> str:
    """Return why a directive in force is not shown unless it is committed: no person accepted it.

    Where only a person, or a reviewer, can give its status, the status itself is the acceptance.
    """
    kind = ws.kinds[record.kind]
    gated = any(
        verb.person and verb.to == record.status and "reviewer" in verb.agents
        for verb in kind.verbs
    )
    unvouched = record.authority == "agent" or _is_unvouched(kind, record)
    if kind.nature == "directive" and unvouched and not gated:
        return "not accepted"
    if _injection_reasons(ws, record):
        return "quarantined"
    return ""


def _injection_reasons(ws: Workspace, record: Record) -> tuple[str, ...]:
    kind = ws.kinds[record.kind]
    from_person = record.authority == "human" and not _is_unvouched(kind, record)
    if kind.nature != "directive" or (from_person and not _IMPORTED.search(record.text("source"))):
        return ()
    # compiling its patterns takes 11 ms
    from kl_hooks.records.prompt_injection import injection_reasons

    stored = [part for part in record.text("quarantine").split("; ") if part]
    written = [
        record.text(field.name)
        for field in kind.all_fields
        if field.type in ("line", "text", "lines")
    ]
    written += [record.body] * bool(kind.folders)
    return tuple(
        dict.fromkeys([*stored, *injection_reasons("\n".join(text for text in written if text))])
    )


def _is_unvouched(kind: Kind, record: Record) -> bool:
    """Return True for a file in a folder that other programs write to, too, in which nobody states
    who made it.
    """
    return bool(kind.folders) and not record.text("authority")
