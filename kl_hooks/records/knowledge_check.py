"""`kl knowledge check` and `verify`: whether authored files are valid, and as they were when they
were sealed.

A seal is the SHA-256 of the whole file, front matter included, in an Event. Writing a file through
kl as a person seals it; `kl knowledge verify --seal` seals what a person has read. Events are
append-only, so every seal that ever was is known. Whoever can write the database can write a seal:
this finds edits, not attackers (SECURITY.md).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kl_hooks.errors import EnvironmentProblem, KlError, UsageProblem
from kl_hooks.git import files
from kl_hooks.git.renames import last_commits_touching
from kl_hooks.git.repository import Repository, tracked_among
from kl_hooks.git.run import GitFailed
from kl_hooks.model.actors import agent
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.kind import REJECTED, Kind
from kl_hooks.model.problem import Problem
from kl_hooks.model.record import Record
from kl_hooks.model.symbol import RECORD_ID, NodeId, split_id
from kl_hooks.model.text import suggest_spelling
from kl_hooks.records.citations import citation_line, cited_records, ended_words
from kl_hooks.records.document import duplicate_id, read_document
from kl_hooks.records.events import CONTENT, Event, append_events, events_by_record
from kl_hooks.records.pages import MOST_PAGE_BYTES, Page, PageNames, PageText, parse_page
from kl_hooks.records.query import RecordFilter, list_records
from kl_hooks.records.redaction import find_secrets, redact_problem
from kl_hooks.records.repository import (
    authored_files,
    docs_pages,
    is_page_path,
    kind_of_path,
    select_rows,
)
from kl_hooks.records.sync import sync
from kl_hooks.records.validate import InvalidValue, node_id
from kl_hooks.store.files import MAX_BYTES, read_small

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace

_SYSTEM: Final = "seed:system"
"""Source of the records that kl brings itself."""
_GOVERNS: Final = "adr_governs"
"""The relation of fields that hold what a decision applies to."""


class CheckedFile(NamedTuple):
    """A file that was checked."""

    node: NodeId
    """`file:PATH`."""
    record: Record | None
    """The one in it; None for a page, and where it can't be read."""
    links: int = 0


class GovernedName(NamedTuple):
    """What a decision names as governed by it."""

    page: str
    record: Record
    field: str
    node: NodeId

    def problem(self, text: str, hint: str = "") -> Problem:
        """Return a problem at the line of the field."""
        line = self.record.lines.get(self.field, 1)
        return Problem(self.page, line, 1, f"{self.field}: {text}", hint)


@dataclass(slots=True)
class CheckResult:
    """The result of a check."""

    findings: list[Problem] = field(default_factory=list)
    unread: list[Problem] = field(default_factory=list)
    """Files that could not be read at all."""
    remarks: list[Problem] = field(default_factory=list)
    """Odd but harmless."""
    files: tuple[CheckedFile, ...] = ()
    """All that were read, whatever is shown of them."""

    @property
    def links(self) -> int:
        """How many links are in the files."""
        return sum(file.links for file in self.files)


def check_knowledge(
    ws: Workspace, only: Sequence[str] = (), *, staged: bool = False
) -> CheckResult:
    """Check authored files and pages of docs, from the disk or as staged. Never needs the store.

    `only`: paths from the root; findings in others are omitted. EnvironmentProblem for `staged`
    without a repository.
    """
    unread: list[Problem] = []
    if staged:
        texts = _staged_files(ws)
    else:
        texts = _working_files(ws, unread)
    result = _check_files(ws.kinds, texts, _ids_in_database(ws))
    result.unread += unread
    for problem, is_removed in _absent_paths(ws, result, staged):
        (result.findings if is_removed else result.remarks).append(redact_problem(problem))
    if only:
        for problems in (result.findings, result.unread, result.remarks):
            problems[:] = [one for one in problems if one.path in only]
    # whichever files are named: records of a broken kind can't be checked
    result.unread += ws.catalog.problems
    for problems in (result.findings, result.unread, result.remarks):
        problems[:] = sorted(set(problems))
    return result


def _check_files(
    kinds: Mapping[str, Kind], files: Mapping[str, bytes], known_ids: frozenset[str]
) -> CheckResult:
    """Check these files (path → content) as a whole. `known_ids`: IDs of records in the
    database.
    """
    result = CheckResult()
    records: dict[str, Record] = {}
    pages: list[Page] = []
    texts: dict[str, PageText] = {}
    for path, data in sorted(files.items()):
        if reason := _why_unreadable(data):
            result.unread.append(Problem(path, *reason))
            continue
        kind = kind_of_path(path, kinds)
        if kind is None or b"[[" in data:
            texts[path] = parse_page(path, data)
        if kind is None:
            pages.append(Page(path, f"file:{path}", "", texts[path].title))
            continue
        document = read_document(kind, path, data)
        result.findings += document.problems
        result.remarks += document.remarks
        for problem, sure in find_secrets(path, data.decode("utf-8-sig")):
            (result.findings if sure else result.remarks).append(problem)
        if document.record:
            records[path] = document.record
            pages.append(Page(path, document.record.id, document.record.id, document.record.title))
    result.findings += [*_duplicate_ids(records), *_broken_chains(kinds, records, known_ids)]
    result.findings += _seeded_twice(kinds, records)
    result.remarks += _ended_citations(kinds, records)
    names = PageNames(pages)
    for path, text in texts.items():
        result.findings += _broken_links(path, text, names, known_ids)
    for problems in (result.findings, result.remarks):
        problems[:] = [redact_problem(one) for one in problems]
    result.files = tuple(
        CheckedFile(
            NodeId(f"file:{path}"),
            records.get(path),
            len(texts[path].links) if path in texts else 0,
        )
        for path in files
    )
    return result


def _working_files(ws: Workspace, unread: list[Problem]) -> dict[str, bytes]:
    contents = {}
    # Only Markdown has `[[links]]`: nothing of kl is in pages of other formats.
    for path in [
        *authored_files(ws.root, ws.kinds, 0),
        *(one for one in docs_pages(ws) if one.endswith(".md")),
    ]:
        try:
            contents[path] = read_small(ws.root / path, within=ws.root, most=MOST_PAGE_BYTES) or b""
        except UsageProblem as wrong:
            unread.append(Problem(path, 0, 0, wrong.reason, wrong.hint))
    return contents


def _staged_files(ws: Workspace) -> dict[str, bytes]:
    if ws.repo is None:
        raise EnvironmentProblem(
            "there is no git repository.", place=str(ws.root), hint="Leave --staged out."
        )
    entries = [one for one in files.staged_files(ws.repo, (".md",)) if is_page_path(ws, one.path)]
    return {entry.path: data for entry, data in files.read_files(ws.repo, entries, "objects")}


def _ids_in_database(ws: Workspace) -> frozenset[str]:
    """Return the IDs of records in the database; none where it can't be read: that must not block a
    commit.
    """
    try:
        return frozenset(
            i for (i,) in select_rows(ws, "SELECT id FROM record WHERE rests = 'state'")
        )
    except (KlError, OSError):
        return frozenset()


def _why_unreadable(data: bytes) -> tuple[int, int, str, str] | None:
    """Return line, column, reason and hint for a file that can't be read."""
    if len(data) > MAX_BYTES:
        return (
            0,
            0,
            f"is too long; at most {MAX_BYTES} bytes are read.",
            "Shorten it; link to the rest.",
        )
    try:
        data.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        return (
            data.count(b"\n", 0, wrong.start) + 1,
            1,
            "this line is not UTF-8.",
            "Save the file as UTF-8.",
        )
    return None


def _duplicate_ids(records: Mapping[str, Record]) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for path, record in sorted(records.items(), key=lambda pair: (pair[1].id, pair[0])):
        if record.id in first:
            yield duplicate_id(
                record.kind, record.id, path, [first[record.id]], record.lines.get("id", 1)
            )
        first.setdefault(record.id, path)


def _seeded_twice(kinds: Mapping[str, Kind], records: Mapping[str, Record]) -> Iterator[Problem]:
    """Yield the records in force that are the same seed as one with a lower ID: two branches
    seeded.
    """
    first: dict[tuple[str, str], str] = {}
    for path, record in sorted(records.items(), key=lambda pair: (pair[1].id, pair[0])):
        seed = record.text("entity_id")
        if not seed or record.status not in kinds[record.kind].live or "/archive/" in path:
            continue
        other = first.setdefault((record.kind, seed), record.id)
        if other != record.id:
            if record.text("source") == _SYSTEM:
                command = "kl seed --system"
            else:
                command = "kl seed"
            line = record.lines.get("entity_id", 1)
            reason = f"{record.id} is the same seed as {other}."
            yield Problem(
                path, line, 1, reason, f"Two branches seeded. Let one of them go: {command}"
            )


def _broken_links(
    path: str, text: PageText, names: PageNames, known_ids: frozenset[str]
) -> Iterator[Problem]:
    for link in text.links:
        pages = names.find(link.target)
        if not pages and link.target not in known_ids:
            reason = f"[[{link.target}]] leads nowhere: no page has this title, slug or id."
            yield Problem(
                path, link.line, link.column, reason, suggest_spelling(link.target, names.all())
            )
        elif len(pages) > 1:
            paths = ", ".join(page.path for page in pages)
            yield Problem(
                path,
                link.line,
                link.column,
                f"[[{link.target}]] may mean any of: {paths}.",
                "Link to the id.",
            )


def _broken_chains(
    kinds: Mapping[str, Kind], records: Mapping[str, Record], known_ids: frozenset[str]
) -> Iterator[Problem]:
    """Yield records that name a missing one, state one half of a supersession only, or supersede
    themselves.
    """
    by_id = {record.id: record for record in records.values()}
    for path, record in sorted(records.items()):
        kind = kinds[record.kind]

        def problem(
            name: str, reason: str, hint: str = "", path: str = path, record: Record = record
        ) -> Problem:
            return Problem(path, record.lines.get(name, 1), 1, reason, hint)

        for name in (f.name for f in kind.all_fields if f.type == "ids"):
            for other in record.many(name):
                if _is_missing(other, kinds, by_id, known_ids):
                    yield problem(
                        name, f"{name}: there is no {other}.", suggest_spelling(other, by_id)
                    )
        for name, inverse in (("supersedes", "superseded_by"), ("superseded_by", "supersedes")):
            if name == "supersedes" and (
                kind.is_pending(record.status) or record.status == REJECTED
            ):
                continue  # it supersedes nothing before it is accepted
            for other in record.many(name):
                if other in by_id and record.id not in by_id[other].many(inverse):
                    reason = f"{name} {other}, but {inverse} is missing in {by_id[other].path}."
                    yield problem(name, reason, f"Add there: {inverse}: [{record.id}]")
        if record.many("superseded_by") and record.status in kind.live:
            reason = (
                f"is {record.status}, and superseded by {', '.join(record.many('superseded_by'))}."
            )
            yield problem("status", reason, "Set its status to superseded.")
        reached = {*record.many("supersedes")}
        todo = [*reached]
        while todo:
            older = by_id.get(todo.pop())
            if older:
                further = {*older.many("supersedes")} - reached
            else:
                further = set[str]()
            reached |= further
            todo += further
        if record.id in reached:
            yield problem("supersedes", f"{record.id} supersedes itself, through others.")


def _ended_citations(kinds: Mapping[str, Kind], records: Mapping[str, Record]) -> Iterator[Problem]:
    """Yield the records that cite one which has ended."""
    by_id = {record.id: record for record in records.values()}
    ended = {name: ended_words(kinds[one.kind], one) for name, one in by_id.items()}
    for path, record in sorted(records.items()):
        if ended[record.id] or "/archive/" in path:
            continue
        for name, cited in cited_records(kinds[record.kind], record):
            if ended.get(cited):
                reason = f"{name}: {citation_line(cited, ended)}."
                yield Problem(path, record.lines.get(name, 1), 1, reason)


def _absent_paths(
    ws: Workspace, result: CheckResult, staged: bool
) -> Iterator[tuple[Problem, bool]]:
    """Yield a problem for each path that a decision governs and that is not there, and whether it
    is a finding: a live decision's, and removed. A path that never was may be planned.

    Decisions that have ended are omitted.
    """
    if ws.repo is None:
        return
    governed_paths = [
        (governed, split_id(governed.node)[1])
        for governed in governed_names(ws.kinds, result.files)
        if split_id(governed.node)[0] == "file"
    ]
    paths = {path for _, path in governed_paths}
    if staged:
        present = tracked_among(ws.repo, paths)
    else:
        present = {path for path in paths if os.path.lexists(ws.root / path)}
        present |= tracked_among(ws.repo, paths - present, only_skipped=True)
    commits = _last_commits(ws.repo, paths - present)
    for governed, path in governed_paths:
        if path in present:
            continue
        if commit := commits.get(path):
            last = f"commit {commit[:8]} was the last to change it."
            reason = f"there is no {path} any more; {last}"
            hint = "Name what has its place, or take the path out."
            is_live = governed.record.status in ws.kinds[governed.record.kind].live
            yield governed.problem(reason, hint), is_live
        else:
            yield governed.problem(f"there is no {path} yet."), False


def governed_names(
    kinds: Mapping[str, Kind], files: Sequence[CheckedFile]
) -> Iterator[GovernedName]:
    """Yield what the decisions in these files govern, but those that have ended."""
    for file in files:
        record = file.record
        if record is None or ended_words(kinds[record.kind], record):
            continue
        for kind_field in kinds[record.kind].all_fields:
            if kind_field.relation != _GOVERNS:
                continue
            for text in record.many(kind_field.name):
                with suppress(InvalidValue):  # written before IDs were validated
                    page = str(file.node).removeprefix("file:")
                    node = NodeId(node_id(text))
                    yield GovernedName(page, record, kind_field.name, node)


def _last_commits(repo: Repository, paths: set[str]) -> dict[str, str]:
    try:
        return last_commits_touching(repo, "HEAD", paths)
    except GitFailed:  # nothing is committed yet
        return {}


def _is_missing(
    other: str, kinds: Mapping[str, Kind], by_id: Mapping[str, Record], known_ids: frozenset[str]
) -> bool:
    """Return True for the ID of a kind whose records are all files, where no file has it."""
    if not RECORD_ID.fullmatch(other) or other in by_id or other in known_ids:
        return False
    return any(
        one.storage == "file" and other.startswith(f"{one.prefix}-") for one in kinds.values()
    )


STATES = _VALID, _TAMPERED, _UNSEALED = "valid", "tampered", "unsealed"
_SEALED: Final = "sealed"


class Seal(NamedTuple):
    """An authored file, and its seal."""

    id: str
    path: str
    state: str
    """valid, tampered (changed, or removed, since it was sealed) or unsealed."""
    at: str = ""
    """When it was sealed; ISO 8601."""
    by: str = ""


def verify_seals(ws: Workspace, ids: Sequence[str] = ()) -> list[Seal]:
    """Return the state of each authored file, archived ones too; of those with these IDs if any are
    given.
    """
    sync(ws)
    records = [
        one for one in list_records(ws, RecordFilter(archived=True, expired=True)) if one.path
    ]
    chosen = [one for one in records if not ids or one.id in ids]
    if missing := set(ids) - {one.id for one in chosen}:
        raise UsageProblem(
            "no authored file has this ID.", place=min(missing), hint="See: kl knowledge list"
        )
    events = events_by_record(ws, [one.id for one in chosen])
    return [_seal(ws, one, events[one.id]) for one in chosen]


def seal_records(ws: Workspace, ids: Sequence[str] = ()) -> list[Seal]:
    """Seal the authored files that are not valid; return them as they are now. UsageProblem for an
    agent.
    """
    if agent(ws.environ):
        raise UsageProblem(
            "a seal is a person's word.", place="--seal", hint="Ask a person to read the files."
        )
    # what is valid is not sealed again: the moment of the first reading is the one that counts
    unsealed = [seal for seal in verify_seals(ws, ids) if seal.state != _VALID]
    events = list[Event]()
    for seal in unsealed:
        if digest := _digest(ws, seal.path):
            events.append(Event(_SEALED, seal.id, "human", {CONTENT: digest}))
    append_events(ws, events)
    if not unsealed:
        return []
    return verify_seals(ws, [seal.id for seal in unsealed])


def _seal(ws: Workspace, record: Record, events: Sequence[Event]) -> Seal:
    # the last one that has a digest: later events (opened, injected) are not about the file
    last = next((one for one in reversed(events) if CONTENT in one.body), None)
    if last is None:
        return Seal(record.id, record.path, _UNSEALED)
    if _digest(ws, record.path) == last.body[CONTENT]:
        state = _VALID
    else:
        state = _TAMPERED
    return Seal(record.id, record.path, state, last.at, last.session)


def _digest(ws: Workspace, path: str) -> str:
    """SHA-256 of a file as it is; empty where it can't be read."""
    with suppress(UsageProblem):
        content = read_small(ws.root / path, within=ws.root)
        if content is None:
            return ""
        return hashlib.sha256(content).hexdigest()
    return ""
