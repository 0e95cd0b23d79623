"""The edits of a kind, one by one in its project, as rows of results."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from bench.edits.kinds import Edit, Kind
from bench.edits.trial import (
    Peer,
    Processes,
    Project,
    Selection,
    Verdicts,
    environment_in,
    restored,
)
from bench.measure import ROOT
from bench.peers import interpreter_with

Row = dict[str, Any]


@cache
def code_of_kl() -> str:
    """A digest of the code that is judged."""
    files = [path for name in ("kl_hooks", "pytest_kl") for path in (ROOT / name).rglob("*.py")]
    return sha256(b"".join(path.read_bytes() for path in sorted(files))).hexdigest()[:16]


def project_in(folder: Path, kind: Kind, python: str) -> Project:
    """The kind's project below a folder, with an environment of its own where it has files of
    one.
    """
    root, home = folder / "project", folder / "home"
    root.mkdir(parents=True)
    home.mkdir()
    site = None
    if kind.site:
        python, site = environment_in(folder / "venv", python)
    project = Project(kind, root, Processes(root, home, python), site)
    project.create()
    return project


def judge(kind: Kind, edits: Sequence[Edit], selections: Mapping[str, Selection]) -> list[Row]:
    """Record the project's suite once, and judge the edits one by one; a row for each.

    `selections`: what testmon selected in earlier calls, by the key of the edit.
    """
    with tempfile.TemporaryDirectory(prefix="kl-edits-") as place:
        project = project_in(Path(place) / "ours", kind, sys.executable)
        ran = project.record()
        before = project.commands.kl("verify", environ=project.environ)
        if ran.code or before.code:
            word = "the suite fails" if ran.code else "not proven before the edit"
            output = (ran.text + before.text)[-2000:]
            return [_row(kind, edit, problem=word, output=output) for edit in edits]
        measured = all(kind.key(edit) in selections for edit in edits)
        peer = None if measured else peer_in(Path(place) / "theirs", kind)
        rows = []
        for edit in edits:
            try:
                verdicts, selection = _judged(project, peer, edit, Path(place))
            except Exception as problem:  # an edit that does not apply must not end all others
                rows.append(_row(kind, edit, problem=f"{type(problem).__name__}: {problem}"))
                continue
            selection = selection or selections.get(kind.key(edit))
            rows.append(_row(kind, edit, **fields_of(verdicts, selection)))
        return rows


def _row(kind: Kind, edit: Edit, **fields: Any) -> Row:
    return {
        "key": kind.key(edit),
        "code": code_of_kl(),
        "group": kind.group,
        "kind": kind.name,
        "project": kind.project,
        "edit": edit.name,
        "common": kind.common,
        "harmless": kind.harmless,
        "problem": "",
        **fields,
    }


def _judged(
    project: Project, peer: Peer | None, edit: Edit, place: Path
) -> tuple[Verdicts, Selection | None]:
    with restored(place / "ours", place / "ours-before"):
        project.apply(edit)
        verdicts = project.judge()
    if peer is None:
        return verdicts, None
    with restored(place / "theirs", place / "theirs-before"):
        return verdicts, peer.select(edit, verdicts.outcomes)


def peer_in(folder: Path, kind: Kind) -> Peer | None:
    """testmon with its own copy of the project; None where it is not installed, or the suite is
    not green with it.
    """
    python = interpreter_with("testmon")
    if python is None:
        return None
    peer = Peer(project_in(folder, kind, python))
    return peer if peer.record() else None


def fields_of(verdicts: Verdicts, selection: Selection | None) -> Mapping[str, Any]:
    """What is stored of an edit."""
    fields = {name: value for name, value in asdict(verdicts).items() if name != "outcomes"}
    return {
        **fields,
        "wrong": verdicts.wrong,
        "effect": bool(verdicts.changed or verdicts.suite),
        "testmon": selection and asdict(selection),
    }
