"""Sources: the files that added documents are read from again, and why others are not.

The source of a document is text that whoever added it wrote. What `kl document refresh` opens in
its owner's name is therefore decided by another fact, `added_path`: the file that a person added by
its path. It lies in the repository, is reached by no link, and is read only where the policy shows
it.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kl_hooks.errors import UsageProblem
from kl_hooks.git.objects import MAX_BLOB_BYTES
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.text import one_line
from kl_hooks.store.files import read_without_links

if TYPE_CHECKING:
    from kl_hooks.documents.indexing import Visibility
    from kl_hooks.model.record import Record
    from kl_hooks.workspace import Workspace

_STREAM: Final = "-"
_KINDS: Final = ("file", "page", "document")
"""The kinds by which a rule of the policy may name a file of documentation."""


class Source(NamedTuple):
    """What the source of a document has now."""

    data: bytes | None
    """None: it was not read."""
    problem: str = ""
    """Why not, and what to do."""


def repository_path(ws: Workspace, path: Path) -> str:
    """Return a file's path in the repository, links of its folders followed; empty where it is
    outside, or in what is never read: git's and kl's own folders, and other repositories.
    """
    root = ws.root.resolve()
    real = path.resolve()
    if not real.is_relative_to(root):
        return ""
    inside = real.relative_to(root)
    if _foreign_folder(ws, inside):
        return ""
    return inside.as_posix()


def is_refreshable(record: Record) -> bool:
    """Return whether a document has a file that a person added."""
    # a row of the store: a field in a file of the checkout is whatever its author wrote
    return bool(record.text("added_path")) and not record.path


def read_source(ws: Workspace, record: Record, may: Visibility) -> Source:
    """Read the file that a person added as this document. `may`: the policy of whoever asks."""
    if not is_refreshable(record):
        return Source(None, _not_refreshable(record))
    path = Path(record.text("added_path"))
    place = one_line(str(path), 200)
    add_again = "Add it again: kl document add PATH"
    if path.is_absolute() or ".." in path.parts:
        return Source(None, f"{place} is outside the repository. {add_again}")
    if folder := _foreign_folder(ws, path):
        return Source(None, f"{place} is in {folder}, which refresh does not read. {add_again}")
    if not all(may.shows_node(f"file:{path.as_posix()}", kind, path.as_posix()) for kind in _KINDS):
        reason = f"{place} is denied or redacted by .kl/policy.yaml."
        return Source(None, f"{reason} Change the rule, or: kl document remove {record.id}")
    try:
        data = read_without_links(ws.root, path, most=MAX_BLOB_BYTES)
    except UsageProblem as problem:
        return Source(None, f"{place} {problem.reason} Put the file itself there.")
    return Source(data, "" if data is not None else "its source was removed.")


def _not_refreshable(record: Record) -> str:
    """Return why there is no file that may be read, and what to do."""
    source = record.text("source")
    if source in ("", _STREAM):
        return "was read from a stream."
    if record.authority != "human":
        # no command to copy: the path would be an agent's choice
        reason = "an agent added it, so its source is not read."
        return f"{reason} A person adds a file by its path: kl document add PATH"
    command = f"kl document add {shlex.quote(source)} --collection {record.text('collection')}"
    if Path(source).is_absolute():
        return f"its source is outside the repository, where refresh reads nothing. Run: {command}"
    return f"no file of the repository was stored with it, as earlier versions did. Run: {command}"


def _foreign_folder(ws: Workspace, path: Path) -> str:
    """Return the folder on the way to a file whose content is not the repository's; empty: none."""
    owned = {identity for folder in _private_folders(ws) if (identity := _identity(folder))}
    for folder in reversed(path.parents[:-1]):
        # by identity: names differ by case on some file systems, and folders can be mounted twice
        if _identity(ws.root / folder) in owned:
            return f"{folder.as_posix()} (git's or kl's own folder)"
        if os.path.lexists(ws.root / folder / ".git"):
            return f"{folder.as_posix()} (another repository)"
    # in a submodule or a linked worktree the root's `.git` is a file
    if path.parts[:1] == (".git",):
        return ".git"
    return ""


def _private_folders(ws: Workspace) -> Iterator[Path]:
    yield from (ws.state.directory, ws.state.spool, ws.state.cache, ws.root / ".git")
    if ws.repo is not None:
        yield from (ws.repo.git_dir, ws.repo.common_dir)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino
