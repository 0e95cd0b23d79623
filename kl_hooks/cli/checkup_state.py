"""Is what kl keeps its things in what it must be: folders folders, files files, git's index readable?"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path

from kl_hooks.cli.checkup_git import Said
from kl_hooks.git.run import GitFailed
from kl_hooks.workspace.open import Workspace

def store(ws: Workspace) -> Iterator[Said]:
    """About the state directory: only what is wrong."""
    state = ws.state
    above = () if state.origin == "override" else (state.directory,)
    for folder in (*above, state.spool, state.graph.parent):
        yield from _no_folder(folder)
    for path in (state.database, state.lock, state.high_water):
        if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
            yield _aside(path, f"is {_what(path)}, where kl keeps a file")
    if state.graph.is_dir() and not state.graph.is_symlink():
        yield _aside(state.graph, "is a folder, where kl keeps a file")


def knowledge(ws: Workspace) -> Iterator[Said]:
    """About the folder of records: only what is wrong."""
    from kl_hooks.records.repository import KNOWLEDGE_FOLDER

    yield from _no_folder(ws.root / KNOWLEDGE_FOLDER)


def index(ws: Workspace) -> Iterator[Said]:
    """About git's index: only what is wrong."""
    from kl_hooks.git.index import rows

    if ws.repo is None or ws.repo.bare:
        return
    try:
        rows(ws.repo)
    except GitFailed as problem:
        path = ws.repo.git_dir / "index"
        fix = f"{_mv(path, 'damaged')}; git reset -q   (then stage again what was staged)"
        yield "wrong", problem.reason, fix if path.name in problem.reason else problem.hint


def _no_folder(path: Path) -> Iterator[Said]:
    if os.path.lexists(path) and not path.is_dir():
        yield _aside(path, f"is {_what(path)}, where kl keeps a folder")


def _what(path: Path) -> str:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return "a link" if path.exists() else "a link that leads nowhere"
    return "a folder" if stat.S_ISDIR(mode) else "a file" if stat.S_ISREG(mode) else "no regular file"


def _aside(path: Path, says: str) -> Said:
    return "wrong", f"{path} {says}.", _mv(path, "aside")


def _mv(path: Path, end: str) -> str:
    return f"mv {shlex.quote(str(path))} {shlex.quote(f'{path}.{end}')}"
