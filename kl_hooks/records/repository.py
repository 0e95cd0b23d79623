"""Storage of records: files of `.kl/knowledge/`, rows of the database, and the IDs that were ever used.

Files written in one step are restored if the step fails.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso, micros
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.model.canonical import canonical
from kl_hooks.model.kind import Kind
from kl_hooks.model.manifest import MANIFEST
from kl_hooks.model.record import Record, Value
from kl_hooks.model.symbol import RECORD_ID
from kl_hooks.model.text import slug
from kl_hooks.records.document import change_fields, render_document
from kl_hooks.store.database import Database
from kl_hooks.store.files import read_small, write_atomic

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


KNOWLEDGE_FOLDER: Final = ".kl/knowledge/"
_GENERATED: Final = ("README.md", "MEMORY.md")
_RACY: Final = 2_000_000_000
"""Nanoseconds in which a file can change again without a new time: one as young as that is read again."""


def kind_folder(kind: Kind) -> str:
    """`.kl/knowledge/decisions/`."""
    return f"{KNOWLEDGE_FOLDER}{kind.plural}/"


def _new_file_path(kind: Kind, identifier: str, title: str) -> str:
    """Where a new file of a record goes: `.kl/knowledge/decisions/ADR-0007-two-scanners.md`."""
    end = slug(title)
    return f"{kind_folder(kind)}{identifier}{'-' if end else ''}{end}.md"


def authored_files(root: Path, kinds: Mapping[str, Kind], now_ns: int) -> dict[str, str]:
    """Path → stamp of every Markdown file in the folders of these kinds and in their `archive/`. No links.

    Equal stamps: the same content. The stamp is empty where that is not sure yet.
    """
    found: dict[str, str] = {}
    for kind in kinds.values():
        if kind.home == "file" or kind.filed:
            for place in (kind_folder(kind), kind_folder(kind) + "archive/"):
                _scan_folder(root, place, now_ns, found)
    return found


def _scan_folder(root: Path, place: str, now_ns: int, found: dict[str, str]) -> None:
    try:
        entries = os.scandir(root / place)
    except (FileNotFoundError, NotADirectoryError):
        return
    old, regular = now_ns - _RACY, stat.S_ISREG
    with entries:
        for entry in entries:
            name = entry.name
            if name.endswith(".md") and name not in _GENERATED:
                state = entry.stat(follow_symlinks=False)
                if regular(state.st_mode):
                    path = place + (name if name.isascii() else os.fsencode(name).decode("utf-8", "replace"))
                    made, changed = state.st_mtime_ns, state.st_ctime_ns
                    sure = made < old and changed < old
                    found[path] = f"{state.st_size}:{made}:{changed}:{state.st_ino}" if sure else ""


def has_file(root: Path, kind: Kind, identifier: str) -> bool:
    """True if a file of this ID, whatever its slug, is in the folder of the kind or in its archive."""
    for place in (kind_folder(kind), kind_folder(kind) + "archive/"):
        try:
            names = [path.name for path in (root / place).iterdir() if not path.is_dir()]
        except (FileNotFoundError, NotADirectoryError):
            continue
        if any(name.startswith((f"{identifier}.", f"{identifier}-")) and name.endswith(".md") for name in names):
            return True
    return False


def kind_of_path(path: str, kinds: Mapping[str, Kind]) -> Kind | None:
    """The kind whose folder, or archive, the file lies in; None for every other file."""
    place = path.rpartition("/")[0] + "/"
    return next((kind for kind in kinds.values() if place in (kind_folder(kind), kind_folder(kind) + "archive/")), None)


def is_authored_path(path: str, kinds: Mapping[str, Kind]) -> bool:
    """Return True for a path where an authored file can be; not for a page that kl generates there."""
    return kind_of_path(path, kinds) is not None and path.rpartition("/")[2] not in _GENERATED


DEFAULT_DOCS: Final = "docs"
_PAGE_ENDINGS: Final = (".md", ".rst")
_MOST_PAGES: Final = 5_000
"""Pages of docs that are looked at."""
_RACY_PAGE: Final = 2_000_000_000


def _docs_folder(ws: Workspace) -> str:
    """The folder of pages, from the root, with `/` at its end; empty where there is none."""
    name = ws.settings.docs or DEFAULT_DOCS
    place = ws.root / name
    here = place.is_dir() and place.resolve().is_relative_to(ws.root.resolve())
    return f"{name}/" if here else ""


def docs_pages(ws: Workspace) -> dict[str, str]:
    """Path → stamp of every page of docs, by name; the stamp is empty where the file is too young to be sure."""
    place = _docs_folder(ws)
    return dict(_scan_docs(ws.root, place, ws.clock.now() * 1000 - _RACY_PAGE)) if place else {}


def files_naming_records(ws: Workspace) -> list[str]:
    """Every text that may name a record: authored files, pages of docs, the manifest."""
    found = [*authored_files(ws.root, ws.kinds, 0), *docs_pages(ws)]
    return sorted({*found, *([MANIFEST] if (ws.root / MANIFEST).is_file() else [])})


def _scan_docs(root: Path, place: str, old: int) -> Iterator[tuple[str, str]]:
    count = 0
    for below, folders, files in os.walk(root / place):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.endswith(_PAGE_ENDINGS) and count < _MOST_PAGES:
                try:
                    state = os.lstat(os.path.join(below, name))  # noqa: PTH118 (half the time of Path)
                except OSError:
                    continue
                if stat.S_ISREG(state.st_mode):
                    count += 1
                    path = Path(below).relative_to(root).as_posix() + "/" + name
                    sure = state.st_mtime_ns < old and state.st_ctime_ns < old
                    stamp = f"{state.st_size}:{state.st_mtime_ns}:{state.st_ctime_ns}:{state.st_ino}" if sure else ""
                    yield os.fsencode(path).decode("utf-8", "replace"), stamp


AUTHORED_COLUMNS: Final = "path, kind, id, body, rest, error"
RECORD_COLUMNS: Final = "kind, id, body"


def _values_to_json(values: Mapping[str, Value]) -> str:
    """The values as canonical JSON."""
    return canonical({name: dict(v) if isinstance(v, Mapping) else v for name, v in values.items()}).decode()


def _values_from_json(body: str) -> dict[str, Value]:
    """The way back."""
    return {name: tuple(v) if isinstance(v, list) else v for name, v in json.loads(body).items()}


def record_of_file_row(row: Sequence[Any]) -> Record:
    """A record from a row of `authored`, its columns as in `AUTHORED_COLUMNS`."""
    path, kind, identifier, body, rest, error = row
    more = json.loads(rest)
    wrong = json.loads(error)
    broken = str(wrong[0][3]) if wrong else ""
    return Record(kind, identifier, _values_from_json(body), more.get("text", ""), path, more.get("lines", {}), broken)


def record_of_row(row: Sequence[Any]) -> Record:
    """A record from a row of `record`, its columns as in `RECORD_COLUMNS`."""
    kind, identifier, body = row
    return Record(kind, identifier, _values_from_json(body))


def _tags_column(record: Record) -> str:
    """Its tags between spaces, lower case, as the column has them."""
    return f" {' '.join(record.many('tags'))} ".lower() if record.many("tags") else ""


def shared_columns(record: Record) -> tuple[str, str, str, str, str | None, str]:
    """status, title, tags, authority, expires and body, as both tables have them."""
    until = expiry_moment(record.text("expires"))
    return (record.status, record.title, _tags_column(record), record.authority, until, _values_to_json(record.values))


def expiry_moment(expires: str) -> str | None:
    """The last moment at which something holds that expires so: of a date the end of its day. None: it never ends."""
    if not expires:
        return None
    return iso(micros(expires) + (86_400_000_000 - 1 if len(expires.strip()) == 10 else 0))


def is_expired(ws: Workspace, record: Record) -> bool:
    """True for a record whose `expires` has passed."""
    until = expiry_moment(record.text("expires"))
    return until is not None and until < iso(ws.clock.now())


def _next_change(db: Database) -> int:
    """The number of the change that is being made."""
    row = db.row("SELECT COALESCE(MAX(change), 0) + 1 FROM record")
    return int(row[0]) if row else 1


_NO_SIZE_LIMIT: Final = 1 << 30
"""Bytes: of a file that may have to be put back, all is read."""


class FileChanges:
    """The files that one step wrote or removed. If it fails, they are as they were.

    It goes around the transaction of the step: what is written is there before the transaction ends, what is removed
    goes after it. So whoever is killed in between leaves a thing twice, never not at all.
    """

    def __init__(self, ws: Workspace) -> None:
        self._root = ws.root
        self._before: dict[str, bytes | None] = {}
        self._gone: list[str] = []

    def __enter__(self) -> FileChanges:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            for path, data in self._before.items():
                with suppress(OSError):
                    self._put(path, data)
            return
        for path in self._gone:
            try:
                self._put(path, None)
            except OSError as problem:
                raise _write_error(path, problem) from problem

    def write(self, path: str, data: bytes | None) -> None:
        """Writes a file below the root, or removes it at the end (None). EnvironmentProblem where that can't be."""
        try:
            _prepare_folders(self._root, Path(path).parent, make=data is not None)
            before = read_small(self._root / path, within=self._root, most=_NO_SIZE_LIMIT)
            if data is not None:
                self._before.setdefault(path, before)
                self._put(path, data)
            elif before is not None:
                if not os.access((self._root / path).parent, os.W_OK):
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
                self._gone.append(path)
        except OSError as error:
            raise _write_error(path, error) from error

    def _put(self, path: str, data: bytes | None) -> None:
        place = self._root / path
        if data is None:
            place.unlink(missing_ok=True)
            return
        write_atomic(place, data, within=self._root)


def _write_error(path: str, error: OSError) -> EnvironmentProblem:
    return EnvironmentProblem(f"can't be written: {error.strerror or error}.", place=path)


def store_new(ws: Workspace, db: Database, kind: Kind, record: Record, kept: FileChanges) -> Record:
    """Puts a new record where its kind and status say. Inside a transaction."""
    if kind.home == "state" and record.status not in kind.filed:
        write_row(ws, db, record, "state")
        return record
    return _write_new_file(ws, db, kind, record, kept)


def store_change(
    ws: Workspace, db: Database, kind: Kind, before: Record, after: Record, how: str, kept: FileChanges
) -> Record:
    """Puts a changed record in the place of what it was; a status may move it from row to file, or back."""
    if before.path and (kind.home == "file" or after.status in kind.filed):
        text = (read_small(ws.root / before.path, within=ws.root) or b"").decode("utf-8")
        names = before.values.keys() | after.values.keys()
        differ = {name: after.values.get(name) for name in names if before.values.get(name) != after.values.get(name)}
        ordered = {f.name: differ[f.name] for f in kind.all_fields if f.name in differ}
        kept.write(before.path, change_fields(kind, text, ordered).encode("utf-8"))
        return Record(after.kind, after.id, after.values, before.body, before.path)
    if before.path:
        write_row(ws, db, Record(after.kind, after.id, after.values), "state")
        remove_file(ws, before, kept)
        return Record(after.kind, after.id, after.values)
    _save_version(ws, db, before, how)
    if after.status in kind.filed:
        return _write_new_file(ws, db, kind, after, kept)
    write_row(ws, db, after, "state")
    return after


def remove_file(ws: Workspace, record: Record, kept: FileChanges) -> None:
    """Deletes the file of a record."""
    kept.write(record.path, None)


def write_row(ws: Workspace, db: Database, record: Record, rests: str) -> None:
    """The row of a record as it is from now on: `state`, `file` (the file says it), `gone`."""
    old = db.row("SELECT made_at FROM record WHERE id = ?", (record.id,))
    change, now = _next_change(db), iso(ws.clock.now())
    status, title, tags, authority, expires, body = shared_columns(record)
    db.execute("DELETE FROM record WHERE id = ?", (record.id,))
    db.execute(
        "INSERT INTO record (id, kind, status, title, tags, authority, made_at, changed_at, expires, rests, change,"
        " body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
            change,
            body,
        ),
    )


def _write_new_file(ws: Workspace, db: Database, kind: Kind, record: Record, kept: FileChanges) -> Record:
    path = _new_file_path(kind, record.id, record.title)
    if os.path.lexists(ws.root / path):
        raise EnvironmentProblem("is there already.", place=path, hint="Move it away, then try again.")
    kept.write(path, render_document(kind, record).encode("utf-8"))
    if kind.home == "state":
        write_row(ws, db, record, "file")
    return Record(record.kind, record.id, record.values, record.body, path)


def _save_version(ws: Workspace, db: Database, before: Record, how: str) -> None:
    row = db.row("SELECT COALESCE(MAX(version), 0) + 1 FROM record_version WHERE id = ?", (before.id,))
    db.execute(
        "INSERT INTO record_version (id, version, until, how, body) VALUES (?, ?, ?, ?, ?)",
        (before.id, row[0] if row else 1, iso(ws.clock.now()), how, _values_to_json(before.values)),
    )


def _prepare_folders(root: Path, folder: Path, *, make: bool) -> None:
    """Makes the folders of a file; EnvironmentProblem if any of them is a link."""
    for place in [*reversed(folder.parents), folder][1:]:
        if (root / place).is_symlink():
            raise EnvironmentProblem("is a link.", place=str(place), hint="Put the folder itself here.")
        if make:
            (root / place).mkdir(exist_ok=True)


def new_id(
    ws: Workspace, db: Database, kind: Kind, values: dict[str, Any], asked: str = "", last: int | None = None
) -> str:
    """The id of a new record; `asked` if somebody names it. UsageProblem for one that is taken or is none.

    `last`: the highest number ever given, where the caller knows it; else files, rows and git's history are asked.
    """
    if asked:
        return _requested_id(db, kind, asked)
    if kind.numbering == "hash":
        return f"{kind.prefix}-{identity_digest(kind, values)}"
    if kind.numbering == "random":
        return f"{kind.prefix}-{secrets.token_hex(8)[: kind.digits or 8]}"
    if last is None:
        last = max([*_numbers(kind, _file_names_ever_used(ws, kind)), *_numbers_in_rows(db, kind)], default=0)
    highest = last + 1
    db.execute("DELETE FROM record_number WHERE prefix = ?", (kind.prefix,))
    db.execute("INSERT INTO record_number (prefix, highest) VALUES (?, ?)", (kind.prefix, highest))
    return f"{kind.prefix}-{highest:0{kind.digits or 4}}"


def serial_number(kind: Kind, identifier: str) -> int | None:
    """The number of a serial id; None for any other."""
    return next(iter(_numbers(kind, [identifier])), None) if kind.numbering in ("serial", "given") else None


def is_id_of_kind(kind: Kind, text: str) -> bool:
    """True if a record of this kind can have it for its id."""
    return bool(RECORD_ID.fullmatch(text)) and text.startswith(f"{kind.prefix}-")


def used_numbers(ws: Workspace, kind: Kind) -> set[int]:
    """Every number that an id of this kind ever had here, as far as files, rows and git's history tell."""
    with ws.store.reading() as db:
        return {
            *_numbers(kind, _file_names_ever_used(ws, kind)),
            *(_numbers_in_rows(db, kind) if db is not None else ()),
        }


def identity_digest(kind: Kind, values: dict[str, Any]) -> str:
    """Hexadecimal digits over what makes two records of a kind the same, whatever the case and the space around it."""
    said = [" ".join(str(values.get(name, "")).split()).casefold() for name in kind.identity]
    return hashlib.sha256("\0".join(said).encode("utf-8", "replace")).hexdigest()[: kind.digits or 8]


def _requested_id(db: Database, kind: Kind, asked: str) -> str:
    if not is_id_of_kind(kind, asked):
        raise UsageProblem(f"{asked!r} is no id of a {kind.name}.", place="--id", hint=f"Such as {kind.prefix}-0001.")
    return asked


def _file_names_ever_used(ws: Workspace, kind: Kind) -> Iterable[str]:
    """The names of its files: on disk, and every one that git has seen on any branch, deleted ones too."""
    place = kind_folder(kind)
    for path in (ws.root / place).rglob("*.md"):
        yield path.name
    if ws.repo is not None:
        from kl_hooks.git.repository import git_in
        from kl_hooks.git.run import GitFailed

        try:
            out = git_in(
                ws.repo, "log", "--all", "--format=", "--name-only", "--no-renames", "-z", "--", f":(top){place}"
            )
        except GitFailed:
            return  # no commit yet
        for name in re.split(rb"[\0\n]", out):
            yield name.decode("utf-8", "replace").rpartition("/")[2]


def _numbers(kind: Kind, names: Iterable[str]) -> Iterable[int]:
    begins = re.compile(re.escape(kind.prefix) + r"-([0-9]{1,9})(?![0-9])")
    return (int(found[1]) for name in names if (found := begins.match(name)))


def _numbers_in_rows(db: Database, kind: Kind) -> Iterable[int]:
    yield from (int(n) for (n,) in db.rows("SELECT highest FROM record_number WHERE prefix = ?", (kind.prefix,)))
    yield from _numbers(kind, (i for (i,) in db.rows("SELECT id FROM record WHERE kind = ?", (kind.name,))))
