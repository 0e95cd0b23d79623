"""Which bytes a checkout writes: git may give a content other ones on disk than it stores.

Line ends, encodings and `$Id$` are converted (gitattributes(5)), by the attributes of the content
itself and by git's configuration. git converts here as a checkout would; nothing of the working
tree or the index is written, and no filter's program is run.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from kl_hooks.git.files import files_at, staged_files, states_at
from kl_hooks.git.objects import object_id
from kl_hooks.git.repository import Repository, git_in
from kl_hooks.git.run import git
from kl_hooks.git.worktree import STAGED

_ATTRIBUTES: Final = ".gitattributes"
_CONVERSIONS: Final = ("text", "crlf", "eol", "ident", "working-tree-encoding")
_UNSET: Final = ("unspecified", "unset")
_REGULAR: Final = ("100644", "100755")
_PLAIN: Final = (("core.autocrlf", "false"), ("core.eol", "lf"))
"""As a machine without configuration checks out."""
_MANY: Final = 300
"""Paths beyond which git lists a whole tree sooner than each of them."""
_AT_ONCE: Final = 100
"""Files whose bytes are in memory at the same time."""


def checkout_ids(repo: Repository, content: str, paths: Iterable[str]) -> dict[str, frozenset[str]]:
    """Path → the IDs (as blobs) of the bytes that a checkout writes: with the configuration of this
    clone, and of a machine that has none.

    `content`: a tree, or `STAGED`. Omitted are paths that are no regular files there, those that a
    filter's program writes, and what git does not have. Up to six git processes. GitFailed.
    """
    wanted = [path for path in paths if "\n" not in path]
    folders = {parent for path in wanted for parent in _folders_above(path)}
    attribute_files = [f"{folder}{_ATTRIBUTES}" for folder in sorted(folders)]
    blobs = _blobs(repo, content, [*wanted, *attribute_files])
    with TemporaryDirectory(prefix="kl-") as scratch:
        top = Path(scratch)
        _write_attributes(repo, top, attribute_files, blobs)
        attributes = _attributes(repo, top, [path for path in wanted if path in blobs])
        asks = _is_converted_everywhere(repo)
        ids = {
            path: frozenset({blobs[path]})
            for path, values in attributes.items()
            if values["filter"] in _UNSET
        }
        converted = [
            path
            for path in ids
            if asks or any(attributes[path][name] != "unspecified" for name in _CONVERSIONS)
        ]
        here, plain = (
            _converted_ids(repo, top, blobs, converted, config) for config in ((), _PLAIN)
        )
    for path in converted:
        if path in here and path in plain:
            ids[path] = frozenset({here[path], plain[path]})
        else:
            del ids[path]
    return ids


def _folders_above(path: str) -> Iterator[str]:
    """The folders in which a path's attributes are looked for: `a/b/`, `a/`, and the top."""
    parts = path.split("/")[:-1]
    return ("".join(f"{part}/" for part in parts[:depth]) for depth in range(len(parts) + 1))


def _blobs(repo: Repository, content: str, paths: Sequence[str]) -> dict[str, str]:
    """Path → blob of those that are regular files in a content."""
    wanted = set(paths)
    if content != STAGED and len(paths) <= _MANY:
        states = (
            (path, *state.split(" ")) for path, state in states_at(repo, content, paths).items()
        )
        return {path: blob for path, mode, blob in states if mode in _REGULAR}
    if content == STAGED:
        entries = staged_files(repo)
    else:
        entries = files_at(repo, content)
    return {entry.path: entry.blob for entry in entries if entry.path in wanted}


def _write_attributes(
    repo: Repository, top: Path, names: Sequence[str], blobs: Mapping[str, str]
) -> None:
    """Make a working tree that has the attributes of a content and nothing else. An empty file is
    there where the content has none: git would look into the index for it.
    """
    for name in names:
        file = top / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(git_in(repo, "cat-file", "blob", blobs[name]) if name in blobs else b"")


def _options(repo: Repository, top: Path) -> tuple[str, str]:
    return f"--git-dir={repo.git_dir}", f"--work-tree={top}"


def _attributes(repo: Repository, top: Path, paths: Sequence[str]) -> dict[str, dict[str, str]]:
    """Path → attribute → its value."""
    attributes: dict[str, dict[str, str]] = {}
    if not paths:
        return attributes
    stdin = b"".join(os.fsencode(path) + b"\0" for path in paths)
    names = ("filter", *_CONVERSIONS)
    out = git(*_options(repo, top), "check-attr", "-z", "--stdin", *names, cwd=top, stdin=stdin)
    cells = (os.fsdecode(cell) for cell in out.split(b"\0")[:-1])
    for path, name, value in zip(cells, cells, cells, strict=True):
        attributes.setdefault(path, {})[name] = value
    return attributes


def _is_converted_everywhere(repo: Repository) -> bool:
    """Whether the configuration asks for a conversion of files without attributes."""
    setting = git_in(repo, "config", "--get", "core.autocrlf", ok=(0, 1)).strip().lower()
    return setting not in (b"", b"false", b"no", b"off", b"0", b"input")


def _converted_ids(
    repo: Repository,
    top: Path,
    blobs: Mapping[str, str],
    paths: Sequence[str],
    config: Sequence[tuple[str, str]],
) -> dict[str, str]:
    """Path → the ID of the bytes that git writes for it."""
    ids: dict[str, str] = {}
    for start in range(0, len(paths), _AT_ONCE):
        part = paths[start : start + _AT_ONCE]
        # the size in a header is that of the stored object: a line that no file has parts them
        mark = os.urandom(20).hex()
        stdin = b"".join(f"{blobs[path]} ".encode() + os.fsencode(path) + b"\n" for path in part)
        command = ("cat-file", f"--batch={mark}", "--filters")
        out = git(*_options(repo, top), *command, cwd=top, stdin=stdin, config=config)
        contents = out.split(f"{mark}\n".encode())[1:]
        if len(contents) == len(part):  # else git does not have one of them
            for path, content in zip(part, contents, strict=True):
                ids[path] = object_id(repo.object_format, b"blob", content.removesuffix(b"\n"))
    return ids
