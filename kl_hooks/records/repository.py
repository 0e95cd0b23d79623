"""Storage of records: files of `.kl/knowledge/`, rows of the database, and the IDs that were ever
used.

Files written in one step are restored if the step fails.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import DAY, iso, micros
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.git.repository import git_in, is_tracked
from kl_hooks.git.run import GitFailed
from kl_hooks.hookspecs import Removal
from kl_hooks.model.canonical import canonical
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.kind import Kind
from kl_hooks.model.manifest import MANIFEST
from kl_hooks.model.record import Record, Value
from kl_hooks.store.files import read_small, write_atomic

if TYPE_CHECKING:
    from kl_hooks.store.database import Database, Row
    from kl_hooks.workspace import Workspace

KNOWLEDGE_FOLDER: Final = ".kl/knowledge/"
_GENERATED: Final = ("README.md", "MEMORY.md")
SKILL_FILE: Final = "SKILL.md"
_PAGE_SUFFIXES: Final = (".md", ".rst")
_MAX_PAGES: Final = 5_000
# Nanoseconds in which a file can change again without a new time (FAT counts in steps of two
# seconds).
_RACY: Final = 2_000_000_000
_WHOLE_FILE: Final = 1 << 30


class StoredRecord(NamedTuple):
    """The row of a record, whether the record is shown or not."""

    record: Record
    rests: str
    """`state` (this row), `file` (a file had it when it was last changed here), `gone` (deleted).
    """


def authored_folder(ws: Workspace, _is_dry_run: bool) -> list[Removal]:
    """Name `.kl/`, which people author and uninstalling leaves."""
    if not ws.initialized:
        return []
    if ws.repo is not None and is_tracked(ws.repo, ".kl"):
        reason = "records, layers and settings, for everybody who has the repository."
        return [Removal(".kl/", "authored files", reason, "git rm -r .kl")]
    reason = "records, layers and settings; nobody has committed them."
    return [Removal(".kl/", "authored files", reason, "rm -r .kl")]


def git_output(ws: Workspace, *args: str) -> bytes:
    """Return what git prints; nothing without a repository, or where git fails (no commit yet, no
    such file).
    """
    try:
        if ws.repo is None:
            return b""
        return git_in(ws.repo, *args)
    except GitFailed:
        return b""


def paths_in_history(ws: Workspace, revision: str, folder: str) -> set[str]:
    """Return every path below a folder that a commit of this revision, or of `--all`, has
    touched.
    """
    # --no-renames: else a renamed file is listed under its new name alone (diff.renames, on since
    # git 2.9)
    options = ("--format=", "--name-only", "--no-renames", "-z")
    out = git_output(ws, "log", revision, *options, "--", f":(top){folder}")
    return {name.decode("utf-8", "replace") for name in re.split(rb"[\0\n]", out) if name}


# --- files


def kind_folder(kind: Kind) -> str:
    """`.kl/knowledge/decisions/`; of a kind in folders of its own the first of those."""
    if kind.folders:
        return f"{kind.folders[0]}/"
    return f"{KNOWLEDGE_FOLDER}{kind.plural}/"


def kind_of_path(path: str, kinds: Mapping[str, Kind]) -> Kind | None:
    """Return the kind whose folder, or archive, the file is in; None for every other file."""
    folder, _, name = path.rpartition("/")
    if name == SKILL_FILE:
        above = folder.rpartition("/")[0]
        return next((kind for kind in kinds.values() if above in kind.folders), None)
    return next((kind for kind in kinds.values() if folder + "/" in _folders(kind)), None)


def is_page_path(ws: Workspace, path: str) -> bool:
    """Return True for a path in the docs folder, or where an authored file can be: not a page that
    kl generates.
    """
    is_authored = (
        kind_of_path(path, ws.kinds) is not None and path.rpartition("/")[2] not in _GENERATED
    )
    return is_authored or path.startswith(f"{_docs_folder(ws)}/")


def authored_files(root: Path, kinds: Mapping[str, Kind], now_ns: int) -> dict[str, str]:
    """Return path → stamp of every Markdown file in the folders of these kinds and their archives.
    Follows no links.

    Equal stamps mean equal content; the stamp is empty where the file is too young for that.
    """
    stamps: dict[str, str] = {}
    for kind in kinds.values():
        if kind.folders:
            for folder in kind.folders:
                _scan_skills(root, folder, now_ns - _RACY, stamps)
        elif kind.storage == "file" or kind.filed:
            for folder in _folders(kind):
                _scan_folder(root, folder, now_ns - _RACY, stamps)
    return stamps


def docs_pages(ws: Workspace) -> dict[str, str]:
    """Return path → stamp (as `authored_files`) of every page in the repository's docs folder, by
    name.
    """
    stamps: dict[str, str] = {}
    docs = ws.root / _docs_folder(ws)
    # A link to a folder outside would index, and show to agents, files that are not of this
    # repository.
    if not docs.is_dir() or not docs.resolve().is_relative_to(ws.root.resolve()):
        return stamps
    old = ws.clock.now() * 1000 - _RACY
    for folder, folders, files in os.walk(docs):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        # once for each folder: of 1,500 pages it was a third of the time of a search
        within = Path(folder).relative_to(ws.root).as_posix()
        for file in sorted(files):
            if not file.endswith(_PAGE_SUFFIXES) or len(stamps) >= _MAX_PAGES:
                continue
            try:
                state = os.lstat(f"{folder}/{file}")  # a third of the time of Path
            except OSError:
                continue
            if stat.S_ISREG(state.st_mode):
                name = f"{within}/{file}"
                stamps[name if name.isascii() else os.fsencode(name).decode("utf-8", "replace")] = (
                    _stamp(state, old)
                )
    return stamps


def files_naming_records(ws: Workspace) -> list[str]:
    """Return every file that may name a record: authored files, pages of docs, the manifest."""
    paths = [*authored_files(ws.root, ws.kinds, 0), *docs_pages(ws)]
    return sorted({*paths, *([MANIFEST] if (ws.root / MANIFEST).is_file() else [])})


def _docs_folder(ws: Workspace) -> str:
    return ws.settings.docs or "docs"


def _folders(kind: Kind) -> tuple[str, ...]:
    if kind.folders:
        return ()
    return (kind_folder(kind), kind_folder(kind) + "archive/")


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    """What is in a folder; nothing of one that is not there."""
    try:
        entries = os.scandir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return
    with entries:
        yield from entries


def _scan_folder(root: Path, folder: str, old: int, stamps: dict[str, str]) -> None:
    for entry in _entries(f"{root}/{folder}"):
        name = entry.name
        if name.endswith(".md") and name not in _GENERATED:
            state = entry.stat(follow_symlinks=False)  # a link may lead out of the repository
            if stat.S_ISREG(state.st_mode):
                path = folder + (
                    name if name.isascii() else os.fsencode(name).decode("utf-8", "replace")
                )
                stamps[path] = _stamp(state, old)


def _scan_skills(root: Path, folder: str, old: int, stamps: dict[str, str]) -> None:
    # each part of the way: agents' own set-up often makes one folder of these a link to another, or
    # out of here
    if any((root / part).is_symlink() for part in (folder.partition("/")[0], folder)):
        return
    for entry in _entries(f"{root}/{folder}"):
        if not entry.is_dir(follow_symlinks=False):
            continue
        try:
            state = os.lstat(os.path.join(entry.path, SKILL_FILE))  # noqa: PTH118 (half the time of Path)
        except OSError:
            continue
        if stat.S_ISREG(state.st_mode):
            name = os.fsencode(entry.name).decode("utf-8", "replace")
            stamps[f"{folder}/{name}/{SKILL_FILE}"] = _stamp(state, old)


def _stamp(state: os.stat_result, old: int) -> str:
    if state.st_mtime_ns >= old or state.st_ctime_ns >= old:
        return ""
    return f"{state.st_size}:{state.st_mtime_ns}:{state.st_ctime_ns}:{state.st_ino}"


class FileChanges:
    """The files that one step writes or removes. If the step fails, they are restored.

    It surrounds the transaction of the step: what is written is there before the transaction ends,
    what is removed is removed after it. So a step that is killed in between leaves a record twice,
    never not at all.
    """

    def __init__(self, ws: Workspace) -> None:
        self._root = ws.root
        self._before: dict[str, bytes | None] = {}
        self.digests: dict[str, str] = {}
        """Path → SHA-256 of what was written."""
        self._removed: list[str] = []

    def __enter__(self) -> FileChanges:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            for path, data in self._before.items():
                # the error on its way is the cause: one of restoring a file must not take its place
                with suppress(OSError):
                    self._put(path, data)
            return
        for path in self._removed:
            try:
                self._put(path, None)
            except OSError as problem:
                raise _write_error(self._root, path, problem) from problem

    def write(self, path: str, data: bytes | None) -> None:
        """Write a file under the root, or remove it at the end (None). EnvironmentProblem where
        that is impossible.
        """
        try:
            _prepare_folders(self._root, Path(path).parent, make=data is not None)
            before = read_small(self._root / path, within=self._root, most=_WHOLE_FILE)
            if data is not None:
                self._before.setdefault(path, before)
                self._put(path, data)
                self.digests[path] = hashlib.sha256(data).hexdigest()
            elif before is not None:
                # asked now, of the folder (unlink(2)): the removal comes after the transaction, too
                # late to refuse
                if not os.access((self._root / path).parent, os.W_OK):
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
                self._removed.append(path)
        except OSError as error:
            raise _write_error(self._root, path, error) from error

    def _put(self, path: str, data: bytes | None) -> None:
        if data is None:
            (self._root / path).unlink(missing_ok=True)
        else:
            write_atomic(self._root / path, data, within=self._root)


def _write_error(root: Path, path: str, error: OSError) -> EnvironmentProblem:
    from kl_hooks.store.disk import cause_of

    cause = cause_of(error, (root / path).parent)
    return EnvironmentProblem(f"can't be written: {cause.words}.", place=path)


def _prepare_folders(root: Path, folder: Path, *, make: bool) -> None:
    """Make the folders of a file; EnvironmentProblem if any of them is a link, which may lead out
    of the repository.
    """
    # without the first, which is `.`: the root itself may be reached through a link
    for place in [*reversed(folder.parents), folder][1:]:
        if (root / place).is_symlink():
            raise EnvironmentProblem(
                "is a link.", place=str(place), hint="Put the folder itself here."
            )
        if make:
            (root / place).mkdir(exist_ok=True)


# --- rows


def select_rows(
    ws: Workspace, sql: str, params: Sequence[Any] = (), database: str = "kl"
) -> list[Row]:
    """Return the rows of a query; none where the database does not exist."""
    with ws.store.reading(database) as db:
        if db is None:
            return []
        return db.rows(sql, params)


def records_in_files(db: Database, where: str, params: Sequence[Any] = ()) -> list[Record]:
    """Return the records of table `authored`, of the graph database, that a condition in SQL
    selects.
    """
    records = []
    for path, kind, identifier, body, packed, error in db.rows(
        f"SELECT path, kind, id, body, rest, error FROM authored WHERE {where}", params
    ):
        text_and_lines = json.loads(packed)
        problems = json.loads(error)
        broken = str(problems[0][3]) if problems else ""
        values = _values_from_json(body)
        records.append(
            Record(
                kind,
                identifier,
                values,
                text_and_lines.get("text", ""),
                path,
                text_and_lines.get("lines", {}),
                broken,
            )
        )
    return records


def records_in_rows(db: Database, where: str, params: Sequence[Any] = ()) -> list[StoredRecord]:
    """Return the rows of table `record`, of the store, that a condition in SQL selects."""
    rows = db.rows(f"SELECT kind, id, body, rests FROM record WHERE {where}", params)
    return [
        StoredRecord(Record(kind, i, _values_from_json(body)), str(rests))
        for kind, i, body, rests in rows
    ]


def shared_columns(record: Record) -> tuple[str, str, str, str, str | None, str]:
    """Return status, title, tags, authority, expires and body, as both tables have them."""
    # Between spaces, so that `LIKE '% tag %'` finds whole tags only.
    if record.many("tags"):
        tags = f" {' '.join(record.many('tags'))} ".lower()
    else:
        tags = ""
    until = expiry_moment(record.text("expires"))
    return (
        record.status,
        record.title,
        tags,
        record.authority,
        until,
        canonical(dict(record.values)).decode(),
    )


def expiry_moment(expires: str) -> str | None:
    """Return the last moment before something expires: of a date the end of its day.

    None: never.
    """
    if not expires:
        return None
    return iso(micros(expires) + (DAY - 1 if len(expires.strip()) == 10 else 0))


def is_expired(ws: Workspace, record: Record) -> bool:
    """Return True for a record whose `expires` has passed."""
    return expired_at(record, iso(ws.clock.now()))


def expired_at(record: Record, now: str) -> bool:
    """Return True for a record whose `expires` has passed at a moment (ISO 8601)."""
    until = expiry_moment(record.text("expires"))
    return until is not None and until < now


def write_row(ws: Workspace, db: Database, record: Record, rests: str) -> None:
    """Write the row of a record. `rests`: as `StoredRecord` has it."""
    old = db.row("SELECT made_at FROM record WHERE id = ?", (record.id,))
    change = db.row("SELECT COALESCE(MAX(change), 0) + 1 FROM record")
    now = iso(ws.clock.now())
    status, title, tags, authority, expires, body = shared_columns(record)
    # Not `INSERT OR REPLACE`: SQL is to run on PostgreSQL too (`store.database`).
    db.execute("DELETE FROM record WHERE id = ?", (record.id,))
    db.execute(
        "INSERT INTO record (id, kind, status, title, tags, authority, made_at, changed_at,"
        " expires, rests, change, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            record.id,
            record.kind,
            status,
            title,
            tags,
            authority,
            old[0] if old else now,
            now,
            expires,
            rests,
            change[0] if change else 1,
            body,
        ),
    )


def _values_from_json(body: str) -> dict[str, Value]:
    return {name: tuple(v) if isinstance(v, list) else v for name, v in json.loads(body).items()}


# --- IDs


class IdTaken(UsageProblem):
    """The ID of a new record belongs to another one, which may have been written a moment ago."""

    def __init__(self, kind: Kind, identifier: str) -> None:
        super().__init__(
            "is there already.", place=identifier, hint=f"See: kl {kind.name} show {identifier}"
        )


class NewIds:
    """IDs of new records of a kind; one that was ever used is never used again.

    Files, rows and git's history are searched once, for the first serial ID.
    """

    def __init__(self, ws: Workspace, db: Database, kind: Kind) -> None:
        self._ws = ws
        self._db = db
        self._kind = kind
        self._last: int | None = None
        self._given: set[str] = set()

    def take(self, values: dict[str, Any], requested: str = "") -> str:
        """Return the ID of the next record: `requested` if somebody names it.

        UsageProblem if that is no ID of the kind, IdTaken if another record has it.
        """
        if requested and not self._kind.has_id(requested):
            reason = f"{requested!r} is no id of a {self._kind.name}."
            raise UsageProblem(reason, place="--id", hint=f"Such as {self._kind.prefix}-0001.")
        identifier = requested or self._next(values)
        if identifier in self._given or self._is_taken(identifier):
            raise IdTaken(self._kind, identifier)
        self._given.add(identifier)
        return identifier

    def _next(self, values: dict[str, Any]) -> str:
        kind = self._kind
        if kind.numbering == "hash":
            return f"{kind.prefix}-{identity_digest(kind, values)}"
        if kind.numbering == "random":
            return f"{kind.prefix}-{os.urandom(8).hex()[: kind.digits or 8]}"
        if self._last is None:
            self._last = max(
                [*_numbers_of_files(self._ws, kind), *_numbers_in_rows(self._db, kind)], default=0
            )
        self._last += 1
        # Stored, so that the number of a file that was never committed is not used again after its
        # deletion.
        self._db.execute("DELETE FROM record_number WHERE prefix = ?", (kind.prefix,))
        self._db.execute(
            "INSERT INTO record_number (prefix, highest) VALUES (?, ?)", (kind.prefix, self._last)
        )
        return f"{kind.prefix}-{self._last:0{kind.digits or 4}}"

    def _is_taken(self, identifier: str) -> bool:
        # An ID that is a hash of its record may come back after a deletion: it is the same record
        # again.
        if self._kind.numbering == "hash":
            ignored = "gone"
        else:
            ignored = ""
        if self._db.row("SELECT 1 FROM record WHERE id = ? AND rests <> ?", (identifier, ignored)):
            return True
        # on disk too: another process may have written a file since the index was read
        files = (
            path
            for folder in _folders(self._kind)
            for path in self._ws.root.glob(f"{folder}{identifier}[.-]*")
        )
        if any(path.suffix == ".md" and path.is_file() for path in files):
            return True
        return bool(
            select_rows(self._ws, "SELECT 1 FROM authored WHERE id = ?", (identifier,), "graph")
        )


def used_numbers(ws: Workspace, kind: Kind) -> set[int]:
    """Return every number that an ID of this kind ever had here, as far as files, rows and git's
    history show.
    """
    with ws.store.reading() as db:
        if db is None:
            in_rows = []
        else:
            in_rows = [*_numbers_in_rows(db, kind)]
    return {*_numbers_of_files(ws, kind), *in_rows}


def identity_digest(kind: Kind, values: dict[str, Any]) -> str:
    """Return hex digits over what makes two records of a kind the same, whatever the case and the
    spaces.
    """
    texts = [" ".join(str(values.get(name, "")).split()).casefold() for name in kind.identity]
    # NUL between them: (`a b`, `c`) and (`a`, `b c`) are not the same
    return hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()[
        : kind.digits or 8
    ]


def _numbers_of_files(ws: Workspace, kind: Kind) -> Iterable[int]:
    """Yield the numbers in the names of a kind's files: on disk, and in git on any branch, deleted
    ones too.
    """
    folder = kind_folder(kind)
    names = [path.name for path in (ws.root / folder).rglob("*.md")]
    committed = paths_in_history(ws, "--all", folder)
    return _parse_numbers(kind, [*names, *(path.rpartition("/")[2] for path in committed)])


def _parse_numbers(kind: Kind, names: Iterable[str]) -> Iterable[int]:
    pattern = re.compile(re.escape(kind.prefix) + r"-([0-9]{1,9})(?![0-9])")
    return (int(match[1]) for name in names if (match := pattern.match(name)))


def _numbers_in_rows(db: Database, kind: Kind) -> Iterable[int]:
    yield from (
        int(n)
        for (n,) in db.rows("SELECT highest FROM record_number WHERE prefix = ?", (kind.prefix,))
    )
    yield from _parse_numbers(
        kind, (i for (i,) in db.rows("SELECT id FROM record WHERE kind = ?", (kind.name,)))
    )
