"""Whether the bytes of opened files are on disk what they were when a run opened them.

git may give the same content other bytes on disk: line ends (`core.autocrlf`, the attributes `text` and
`eol`), encodings, filters, keywords (gitattributes(5)). The content is compared as git stores it,
so a fresh checkout may change what a test reads and no blob. A run recorded the IDs of the bytes
themselves (`Executed.files`); files that nobody opened are not looked at.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from typing import Final

from kl_hooks.evidence.executed import Executed
from kl_hooks.git.objects import object_id
from kl_hooks.git.repository import Repository

LARGEST: Final = 16 * 1024 * 1024
"""Bytes of a file whose ID is recorded and compared."""


def bytes_id(repo: Repository, path: str) -> str:
    """The blob ID of the bytes that whoever opens a file gets; empty where it is too large, or
    can't be read.
    """
    file = repo.top / path
    try:
        state = file.stat()
        if stat.S_ISREG(state.st_mode) and state.st_size <= LARGEST:
            return object_id(repo.object_format, b"blob", file.read_bytes())
    except OSError:
        pass
    return ""


class BytesOnDisk:
    """The working tree, of which each file is read once, whichever runs opened it."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self._ids: dict[str, str] = {}

    def differing(self, executed: Executed | None) -> frozenset[str]:
        """The files that a run opened, and that have other bytes now."""
        opened: Mapping[str, str] = executed.files if executed else {}
        return frozenset(
            path
            for path, recorded in opened.items()
            if recorded and (now := self._id(path)) and now != recorded
        )

    def _id(self, path: str) -> str:
        if path not in self._ids:
            self._ids[path] = bytes_id(self._repo, path)
        return self._ids[path]
