"""Renumbering of a decision whose ID another branch took too: its file gets a new one, and so do
references to it.

It may be killed at any time, and run again it does the rest: the file with the new ID is the first
that is written, and shows which ID it was; the former file is the last that is removed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso, micros
from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.claims import all_claims
from kl_hooks.git.repository import Repository, git_in
from kl_hooks.git.run import GitFailed
from kl_hooks.kinds.catalog import DECISION
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.symbol import RECORD_ID, record_node
from kl_hooks.records.query import RecordFilter, list_records
from kl_hooks.records.repository import (
    FileChanges,
    authored_files,
    files_naming_records,
    kind_folder,
    used_numbers,
)
from kl_hooks.records.sync import sync
from kl_hooks.records.write import Proposal, renumber_links, renumber_proposals
from kl_hooks.store.files import read_small

if TYPE_CHECKING:
    from kl_hooks.model.claim import Claim
    from kl_hooks.model.record import Record
    from kl_hooks.workspace import Workspace

_MAX_BYTES: Final = 1_000_000
"""Of a file in which IDs are changed."""


class Renumbering(NamedTuple):
    """What was done."""

    old: str
    new: str
    path: str
    """Where the file is now."""
    changed: tuple[str, ...]
    """`path:line` of references that were changed."""
    unsure: tuple[str, ...]
    """`path:line` of references that may mean either file."""
    left: tuple[Proposal, ...]
    """Changes that wait for a person, and may mean either file."""
    records: tuple[Record, ...]
    """Records of the database that name the new ID now."""
    unsure_records: tuple[Record, ...]
    """Those that may mean either file."""
    texts: tuple[Record, ...]
    """Records of the database with texts that name the former ID, which stay as they are."""
    claims: tuple[Claim, ...]
    """Claims that are about the former ID or name it: evidence states what it stated."""


class _Move(NamedTuple):
    """A file that gets a new ID."""

    path: str
    old: str
    new: str
    target: str
    """Its path under the new ID."""
    others: tuple[str, ...]
    """Other files with the former ID."""

    @property
    def pattern(self) -> re.Pattern[str]:
        """Matches the former ID."""
        return _id_pattern(self.old)


class _References(NamedTuple):
    """References to a former ID in files and proposals."""

    changed: list[str]
    """`path:line`"""
    unsure: list[str]
    """`path:line` of those that may mean another file."""
    unmoved: list[Proposal]


def renumber(ws: Workspace, place: str) -> Renumbering:
    """Give the record in a file a new ID. `place`: a path from the root or from here, or an ID that
    one file has.

    UsageProblem where there is no such file, or an ID that several have; then nothing was written.
    """
    sync(ws)
    move = _move(ws, place)
    references = _rewrite_references(ws, move)
    records, unsure_records = renumber_links(
        ws, move.old, move.new, lambda record: _is_meant_at(ws, _moment(record), move)
    )
    # after the database: who is killed before this runs the same command again
    with FileChanges(ws) as changes:
        changes.write(move.path, None)
    sync(ws)
    listed = {record.id for record in unsure_records}
    texts = [record for record in _records_naming(ws, move.pattern) if record.id not in listed]
    return Renumbering(
        move.old,
        move.new,
        move.target,
        tuple(references.changed),
        tuple(references.unsure),
        tuple(references.unmoved),
        tuple(records),
        tuple(unsure_records),
        tuple(texts),
        tuple(_claims_naming(ws, move.pattern, move.old)),
    )


def _move(ws: Workspace, place: str) -> _Move:
    """Return what gets which ID; the one of a renumbering that was killed, where there was one."""
    path = _path(ws, place)
    old = _id_in_file(ws, path)
    if not old.startswith(f"{DECISION.prefix}-"):
        raise UsageProblem(
            "is no decision with an id.", place=path, hint="Write `id: ADR-0001` into it."
        )
    following = f"{DECISION.prefix}-{max(used_numbers(ws, DECISION), default=0) + 1:04}"
    new = _unfinished_renumbering(ws, path, old) or following
    others = (
        other_path
        for other_path in _files(ws)
        if other_path != path and _id_in_file(ws, other_path) == old
    )
    return _Move(path, old, new, _target(path, old, new), tuple(others))


def _rewrite_references(ws: Workspace, move: _Move) -> _References:
    """Write the file under its new ID, and change what means it in files and proposals."""
    text, _, unread = _with_new_id(ws, move.path, move)
    if unread:
        raise UsageProblem(
            f"is larger than {_MAX_BYTES} bytes.", place=move.path, hint="Shorten it."
        )
    changed: list[str] = []
    unsure: list[str] = []
    with (
        ws.store.writing(what="renumbering a decision") as db,
        FileChanges(ws) as changes,
        db.transaction(),
    ):
        # before any reference: a reference does not show which file has the new ID
        changes.write(move.target, text.encode("utf-8", "surrogateescape"))
        for name in sorted({*files_naming_records(ws)} - {move.path, move.target}):
            text, changed_places, unsure_places = _with_new_id(ws, name, move)
            if changed_places:
                changes.write(name, text.encode("utf-8", "surrogateescape"))
            changed += changed_places
            unsure += unsure_places
        unmoved = renumber_proposals(
            db,
            partial(move.pattern.sub, move.new),
            lambda proposal: _is_meant_at(ws, proposal.at, move),
            iso(ws.clock.now()),
        )
    return _References(changed, unsure, list(unmoved))


def _claims_naming(ws: Workspace, pattern: re.Pattern[str], old: str) -> Iterator[Claim]:
    """Yield the claims that are about a former ID, or name it."""
    for claim in all_claims(ws):
        if claim.about in (old, record_node(old)) or pattern.search(claim.text):
            yield claim


def _records_naming(ws: Workspace, pattern: re.Pattern[str]) -> Iterator[Record]:
    """Yield the records of the database with a text that a pattern matches."""
    every = RecordFilter(archived=True, expired=True)
    for record in list_records(ws, every):
        if not record.path and any(map(pattern.search, _texts(record.values))):
            yield record


def _texts(value: Any) -> Iterator[str]:
    """Yield each text in the values of a record."""
    if isinstance(value, str):
        yield value
        return
    if isinstance(value, Mapping):
        parts = value.values()
    else:
        parts = value
    if isinstance(parts, Iterable):
        for part in parts:
            yield from _texts(part)


def _moment(record: Record) -> str:
    """Return when a record of the database was written last."""
    return record.text("updated") or record.text("date")


def _is_meant_at(ws: Workspace, at: str, move: _Move) -> bool:
    """Return whether what was written at a moment means the moved file: no other has its ID, or the
    commit that was checked out then had that one, and none of the others.
    """
    if not move.others:
        return True
    # of a database that several clones use: what another one had checked out is unknown here
    if ws.repo is None or ws.store.address is not None:
        return False
    commit = _commit_at(ws.repo, micros(at))
    if not commit or not _exists_in(ws, commit, [move.path]):
        return False
    return not _exists_in(ws, commit, move.others)


def _commit_at(repo: Repository, moment: int) -> str:
    """Return the commit that was checked out at a moment; empty: before the first entry of the log
    of HEAD, or there is no log.
    """
    # not HEAD@{DATE}: for what was before its first entry, git takes the commit of that entry
    options = ("--walk-reflogs", "--no-show-signature", "--date=unix", "--format=%H %gd")
    try:
        entries = git_in(repo, "log", *options, "HEAD").decode("ascii")
    except GitFailed:  # there is no commit, or one of the log is not there any more
        return ""
    for commit, second in re.findall(r"^(\w+) HEAD@\{(\d+)\}$", entries, re.MULTILINE):
        if int(second) <= moment // 1_000_000:
            return str(commit)
    return ""


def _path(ws: Workspace, place: str) -> str:
    if RECORD_ID.fullmatch(place):
        paths = [one for one in _files(ws) if _id_in_file(ws, one) == place]
        if len(paths) == 1:
            return paths[0]
        if paths:
            reason = f"is the id of {', '.join(paths)}; name a file."
        else:
            reason = "is the id of no file."
        raise UsageProblem(reason, place=place, hint="kl decision renumber FILE")
    for full in (Path(os.path.abspath(place)), ws.root / place):  # noqa: PTH100 (which follows links)
        if full.is_relative_to(ws.root):
            path = full.relative_to(ws.root).as_posix()
        else:
            path = ""
        if path in _files(ws):
            return path
    raise UsageProblem(
        f"is no file in {kind_folder(DECISION)}.", place=place, hint="See: kl decision list"
    )


def _files(ws: Workspace) -> list[str]:
    return list(authored_files(ws.root, {DECISION.name: DECISION}, 0))


def _text(ws: Workspace, path: str) -> str:
    # surrogateescape (PEP 383): bytes that are not UTF-8 are written back as they were
    return (read_small(ws.root / path, within=ws.root, most=_MAX_BYTES) or b"").decode(
        "utf-8", "surrogateescape"
    )


def _id_in_file(ws: Workspace, path: str) -> str:
    """The ID in the front matter of a file, else that of its name."""
    front = re.match(
        r"(?:\ufeff)?---[ \t]*\r?\n(.*?)^---", _text(ws, path), re.DOTALL | re.MULTILINE
    )
    if front:
        own = re.search(r"^id:[ \t]*[\"']?([\w-]+)", front[1], re.MULTILINE)
    else:
        own = None
    named = RECORD_ID.match(path.rpartition("/")[2])
    if own:
        return own[1]
    if named:
        return named[0]
    return ""


def _unfinished_renumbering(ws: Workspace, path: str, old: str) -> str:
    """The ID of a file with the same content: a renumbering was killed before it removed this
    file.
    """
    text = _text(ws, path)
    for other_path in _files(ws):
        if other_path != path:
            new = _id_in_file(ws, other_path)
        else:
            new = ""
        moved = new not in ("", old) and other_path == _target(path, old, new)
        if moved and _id_pattern(old).sub(new, text) == _text(ws, other_path):
            return new
    return ""


def _target(path: str, old: str, new: str) -> str:
    """The path of the file under its new ID."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/{new}{name[len(old) :] if name.startswith(old) else '-' + name}"


def _id_pattern(identifier: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){re.escape(identifier)}(?![\w-])")


def _with_new_id(ws: Workspace, path: str, move: _Move) -> tuple[str, list[str], list[str]]:
    """(text of a file with the references that mean the moved one changed, places changed, places
    unsure).
    """
    text = _text(ws, path)
    lines = text.split("\n")
    hits = [number for number, line in enumerate(lines) if move.pattern.search(line)]
    if not hits or path in move.others:
        return text, [], []
    if (
        ws.root / path
    ).stat().st_size > _MAX_BYTES:  # only its beginning was read: it must not be written back
        return text, [], [f"{path}:{number + 1}" for number in hits]
    if path == move.path or not move.others:
        meant = dict.fromkeys(hits, True)
    else:
        meant = _meant_lines(ws, path, hits, move)
    for number in hits:
        if meant.get(number):
            lines[number] = move.pattern.sub(move.new, lines[number])
    changed = [f"{path}:{number + 1}" for number in hits if meant.get(number)]
    return (
        "\n".join(lines),
        changed,
        [f"{path}:{number + 1}" for number in hits if number not in meant],
    )


def _meant_lines(ws: Workspace, path: str, hits: list[int], move: _Move) -> dict[int, bool]:
    """Line → whether it means the moved file: when it was written, that one existed and the others
    did not.
    """
    if ws.repo is None:
        return {}
    try:
        out = git_in(ws.repo, "blame", "--porcelain", "--", path).decode("utf-8", "surrogateescape")
    except GitFailed:
        return {}
    # 40 digits in a repository of SHA-1, 64 in one of SHA-256
    commits = re.findall(r"^([0-9a-f]{40,64}) \d+ (\d+)", out, re.MULTILINE)
    by_line = {int(line) - 1: commit for commit, line in commits}
    meant: dict[int, bool] = {}
    for number in hits:
        commit = by_line.get(number, "")
        if commit.strip("0"):  # git-blame names uncommitted lines by an ID of zeros
            in_moved, in_others = (
                _exists_in(ws, commit, paths) for paths in ([move.path], move.others)
            )
            if in_moved != in_others:
                meant[number] = in_moved
    return meant


def _exists_in(ws: Workspace, commit: str, paths: Sequence[str]) -> bool:
    """True where a commit has any of these files."""
    assert ws.repo is not None
    try:
        # -z: git quotes names with other than plain ASCII letters otherwise (core.quotePath)
        return bool(
            git_in(ws.repo, "ls-tree", "--full-tree", "--name-only", "-z", commit, "--", *paths)
        )
    except GitFailed:
        return False
