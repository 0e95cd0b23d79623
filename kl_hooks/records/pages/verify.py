"""The check of what is written: files valid, ids one file each, links that lead somewhere, chains that fit. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from kl_hooks.config.files import MAX_BYTES
from kl_hooks.config.typed import nearest
from kl_hooks.model.ids import RECORD_ID
from kl_hooks.model.kind import REJECTED, Kind
from kl_hooks.model.problem import Problem
from kl_hooks.model.record import Record
from kl_hooks.records.document import read
from kl_hooks.records.files import kind_of
from kl_hooks.records.hiding import problem_hidden, secrets_in
from kl_hooks.records.pages.names import Names, Page
from kl_hooks.records.pages.read import Text, page_text

_CHAIN: Final = (("supersedes", "superseded_by"), ("superseded_by", "supersedes"))


@dataclass(slots=True)
class Verified:
    """What a check found."""

    findings: list[Problem] = field(default_factory=list)
    unread: list[Problem] = field(default_factory=list)
    """Files that could not be read at all."""
    remarks: list[Problem] = field(default_factory=list)
    """Odd, but no harm."""
    files: int = 0
    links: int = 0


def verify(kinds: Mapping[str, Kind], files: Mapping[str, bytes], known: frozenset[str] = frozenset()) -> Verified:
    """Checks these files (path → content) as a whole. `known`: ids of records that rest elsewhere, in the state."""
    made = Verified(files=len(files))
    records: dict[str, Record] = {}
    pages: list[Page] = []
    texts: dict[str, Text] = {}
    for path, data in sorted(files.items()):
        if reason := _unreadable(data):
            made.unread.append(Problem(path, *reason))
            continue
        kind = kind_of(path, kinds)
        if kind is None or b"[[" in data:
            texts[path] = page_text(path, data)
        if kind is None:
            pages.append(Page(path, f"file:{path}", "", texts[path].title))
            continue
        found = read(kind, path, data)
        made.findings += found.problems
        made.remarks += found.remarks
        for problem, sure in secrets_in(path, data.decode("utf-8-sig")):
            (made.findings if sure else made.remarks).append(problem)
        if found.record:
            records[path] = found.record
            pages.append(Page(path, found.record.id, found.record.id, found.record.title))
    made.findings += [*_twice(records), *_chains(kinds, records, known)]
    names = Names(pages)
    for path, text in texts.items():
        made.links += len(text.links)
        made.findings += _broken(path, text, names, known)
    for some in (made.findings, made.remarks):
        some[:] = [problem_hidden(one) for one in some]
    return made


def _unreadable(data: bytes) -> tuple[int, int, str, str] | None:
    """Line, column, reason and hint where a file is none that can be read."""
    if len(data) > MAX_BYTES:
        return 0, 0, f"is too long; at most {MAX_BYTES} bytes are read.", "Keep the essence; link to the rest."
    try:
        data.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        return data.count(b"\n", 0, wrong.start) + 1, 1, "this line is not UTF-8.", "Save the file as UTF-8."
    return None


def _twice(records: Mapping[str, Record]) -> Iterator[Problem]:
    """An id that two files have."""
    first: dict[str, str] = {}
    for path, one in sorted(records.items(), key=lambda pair: (pair[1].id, pair[0])):
        if one.id in first:
            hint = (
                f"Give one of them a new id: kl decision renumber {path}" if one.kind == "decision" else "Rename one."
            )
            yield Problem(path, one.lines.get("id", 1), 1, f"{one.id} is the id of {first[one.id]} too.", hint)
        first.setdefault(one.id, path)


def _broken(path: str, text: Text, names: Names, known: frozenset[str]) -> Iterator[Problem]:
    """Links that lead nowhere, or to more than one page."""
    for one in text.links:
        found = names.find(one.target)
        if not found and one.target not in known:
            reason = f"[[{one.target}]] leads nowhere: no page has this title, slug or id."
            yield Problem(path, one.line, one.column, reason, nearest(one.target, names.all()))
        elif len(found) > 1:
            some = ", ".join(page.path for page in found)
            yield Problem(path, one.line, one.column, f"[[{one.target}]] may mean any of: {some}.", "Link to the id.")


def _chains(kinds: Mapping[str, Kind], records: Mapping[str, Record], known: frozenset[str]) -> Iterator[Problem]:
    """Records that name others that are not there, say only one half of who took whose place, or make a circle."""
    by_id = {one.id: one for one in records.values()}
    for path, one in sorted(records.items()):
        kind = kinds[one.kind]
        for spoken in (f for f in kind.all_fields if f.type == "ids"):
            for other in one.many(spoken.name):
                if _lost(other, kinds, by_id, known):
                    hint = nearest(other, by_id)
                    yield Problem(path, one.lines.get(spoken.name, 1), 1, f"{spoken.name}: there is no {other}.", hint)
        for there, back in _CHAIN:
            for other in one.many(there):
                if there == "supersedes" and (kind.is_pending(one.status) or one.status == REJECTED):
                    continue  # it takes nobody's place before it is accepted
                if other in by_id and one.id not in by_id[other].many(back):
                    reason = f"{there} {other}, but {by_id[other].path} does not say so."
                    yield Problem(path, one.lines.get(there, 1), 1, reason, f"Add {back}: [{one.id}] there.")
        if one.many("superseded_by") and one.status in kind.live:
            reason = f"is {one.status}, and superseded by {', '.join(one.many('superseded_by'))}."
            yield Problem(path, one.lines.get("status", 1), 1, reason, "Set its status to superseded.")
        if _circles(one, by_id):
            yield Problem(path, one.lines.get("supersedes", 1), 1, f"{one.id} supersedes itself, through others.")


def _lost(other: str, kinds: Mapping[str, Kind], by_id: Mapping[str, Record], known: frozenset[str]) -> bool:
    """True for the id of a kind whose records are all files, and no file has it."""
    if not RECORD_ID.fullmatch(other) or other in by_id or other in known:
        return False
    return any(one.home == "file" and other.startswith(f"{one.prefix}-") for one in kinds.values())


def _circles(one: Record, by_id: Mapping[str, Record]) -> bool:
    seen: set[str] = set()
    todo = list(one.many("supersedes"))
    while todo:
        other = todo.pop()
        if other == one.id:
            return True
        if other not in seen and other in by_id:
            seen.add(other)
            todo += by_id[other].many("supersedes")
    return False
