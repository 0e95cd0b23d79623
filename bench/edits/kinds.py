"""Kinds of edits as data: a project with green tests, and edits of it, read from TOML files.

A file has a `group` and a table for each kind:

    group = "import"

    [project.plain]                 # files that kinds of this file share by `on = "plain"`
    "app.py" = "def f(): return 1"

    [[kind]]
    name = "annotation"
    common = true                   # people and agents do this; false where it is exotic
    trial = "proven"                # what kl reported at 829f1fdd, where it was tried
    on = "plain"
    files."test_app.py" = "…"
    edits."unbound name" = { "app.py" = ["def f()", "def f(x: Missing)"] }

An edit maps a path to its new text, to `[old, new]` (`old` is there exactly once; empty: append),
to several such pairs, or to false (delete). `$before` and `$git` are git commands before the edit
and after its commit, `$site` are files of the environment's site-packages, `$environ` are variables
of all commands from then on; `$dirty` (true) leaves the files uncommitted. A kind can have `site`,
`environ`, `record` (arguments of the recorded run) and `harmless` (true: each of its edits must
keep the verdict).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

DATA: Final = Path(__file__).parent / "data"
_EDIT_KEYS: Final = frozenset({"$before", "$git", "$site", "$environ", "$dirty"})
_KIND_KEYS: Final = frozenset(
    {"name", "common", "trial", "on", "files", "edits", "site", "environ", "record", "harmless"}
)
Files = Mapping[str, str]


class BadKind(ValueError):
    """A kind that can't be used as it is written; the text names it."""


@dataclass(frozen=True)
class Edit:
    """A change of a project."""

    name: str
    files: Mapping[str, Any] = field(default_factory=dict)
    """Path → new text, pairs, or False; see the module."""
    site: Mapping[str, Any] = field(default_factory=dict)
    before: tuple[tuple[str, ...], ...] = ()
    git: tuple[tuple[str, ...], ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    dirty: bool = False
    """Whether the files stay uncommitted."""


@dataclass(frozen=True)
class Kind:
    """A project with green tests, and the edits of one kind."""

    name: str
    group: str
    files: Files
    edits: tuple[Edit, ...]
    common: bool = False
    trial: str = ""
    site: Files = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict)
    record: tuple[str, ...] = ()
    harmless: bool = False
    source: Path | None = None
    """A folder that is copied before `files` are written."""

    @property
    def project(self) -> str:
        """What distinguishes its project from others."""
        if self.source:
            return self.source.name
        return sha256(repr(sorted(self.files.items())).encode()).hexdigest()[:8]

    def key(self, edit: Edit) -> str:
        """A digest of all that decides how the edit ends, but for the code of kl."""
        kind = replace(self, source=None, edits=())
        return sha256(repr((kind, self.project, edit)).encode()).hexdigest()[:16]


def edited(text: str | None, change: Any, place: str) -> str | None:
    """The new text of a file; None where it is deleted. BadKind where the change does not fit."""
    if isinstance(change, str):
        return change
    if change is False:
        return None
    if not isinstance(change, list):
        raise BadKind(f"{place}: not an edit: {change!r}")
    pairs = [change] if isinstance(change[0], str) else change
    text = text or ""
    for old, new in pairs:
        if old and text.count(old) != 1:
            raise BadKind(f"{place}: {old!r} is there {text.count(old)} times")
        text = text.replace(old, new) if old else text + new
    return text


def kinds_of(text: str, place: str) -> list[Kind]:
    """The kinds of a file. BadKind."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise BadKind(f"{place}: {problem}") from problem
    projects = data.get("project", {})
    return [_kind(data["group"], projects, table, place) for table in data.get("kind", ())]


def _kind(group: str, projects: Mapping[str, Files], table: Mapping[str, Any], place: str) -> Kind:
    name = f"{place}: {table.get('name')}"
    if table.keys() - _KIND_KEYS:
        raise BadKind(f"{name}: unknown: {sorted(table.keys() - _KIND_KEYS)}")
    files = {**projects.get(table.get("on", ""), {}), **table.get("files", {})}
    edits = tuple(_edit(title, changes, name) for title, changes in table["edits"].items())
    kind = Kind(
        table["name"],
        group,
        files,
        edits,
        table.get("common", False),
        table.get("trial", ""),
        table.get("site", {}),
        table.get("environ", {}),
        tuple(table.get("record", ())),
        table.get("harmless", False),
    )
    for edit in edits:  # what does not fit is reported when it is read, not hours later
        for path, change in edit.files.items():
            edited(files.get(path), change, f"{name}: {edit.name}: {path}")
        for path, change in edit.site.items():
            edited(kind.site.get(path), change, f"{name}: {edit.name}: {path}")
    return kind


def _edit(title: str, changes: Mapping[str, Any], name: str) -> Edit:
    special = {key for key in changes if key.startswith("$")}
    if special - _EDIT_KEYS:
        raise BadKind(f"{name}: {title}: unknown: {sorted(special - _EDIT_KEYS)}")
    return Edit(
        title,
        {path: change for path, change in changes.items() if path not in special},
        changes.get("$site", {}),
        _commands(changes.get("$before", ())),
        _commands(changes.get("$git", ())),
        changes.get("$environ", {}),
        changes.get("$dirty", False),
    )


def _commands(lines: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(line) for line in lines)


def kinds_in(folders: Iterable[Path]) -> list[Kind]:
    """The kinds of all TOML files of the folders, in order of their names. BadKind where two are
    named alike.
    """
    files = [path for folder in folders for path in sorted(folder.glob("*.toml"))]
    kinds = [
        kind for path in files for kind in kinds_of(path.read_text(encoding="utf-8"), path.name)
    ]
    names = [(kind.group, kind.name) for kind in kinds]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise BadKind(f"there twice: {sorted(twice)}")
    return kinds
