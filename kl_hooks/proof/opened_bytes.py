"""Whether on disk, or in a checkout, is what was there when a run read it, where git does not show
that.

git may give the same content other bytes on disk: line ends (`core.autocrlf`, the attributes `text`
and `eol`), encodings, filters, keywords (gitattributes(5)). The content is compared as git stores
it, so a fresh checkout may change what a test reads and no blob. A run recorded the IDs of the
bytes themselves (`Executed.files`); files that nobody opened are not looked at. They are compared
with the disk where the working tree is judged, else with what a checkout of the content writes.

Files that git ignores are in no content. Of these a run recorded the places where it looked for
something that was not there (`Executed.absent`), the names in the folders that it listed
(`Executed.listed`), and digests of those that it opened (`Executed.private`).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Final

from kl_hooks.evidence.executed import Executed
from kl_hooks.evidence.private import PrivateDigests
from kl_hooks.git.checkout import checkout_ids
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


def names_id(repo: Repository, listing: str) -> str:
    """A digest of the names that a listing shows (`books/*.txt`); empty where it can't be
    listed.
    """
    folder, _, pattern = listing.rpartition("/")
    try:
        names = [path.name for path in (repo.top / folder).iterdir()]
    except OSError:
        return ""
    shown = sorted(name for name in names if fnmatchcase(name, pattern) and name != "__pycache__")
    return sha256("\0".join(shown).encode("utf-8", "surrogateescape")).hexdigest()[:16]


class BytesOnDisk:
    """The working tree, of which each file is read once, whichever runs opened it."""

    def __init__(self, repo: Repository, digests: PrivateDigests) -> None:
        self._repo, self._digests = repo, digests
        self._ids: dict[str, str] = {}
        self._seals: dict[str, str] = {}
        self._names: dict[str, str] = {}

    def appeared(self, executed: Executed | None) -> frozenset[str]:
        """The places where a run looked in vain, and where something is now."""
        if executed:
            absent = executed.absent
        else:
            absent = frozenset[str]()
        return frozenset(path for path in absent if os.path.lexists(self._repo.top / path))

    def relisted(self, executed: Executed | None) -> frozenset[str]:
        """The listings that show other names now."""
        listed: Mapping[str, str] = executed.listed if executed else {}
        return frozenset(
            listing for listing, recorded in listed.items() if self._listing(listing) != recorded
        )

    def _listing(self, listing: str) -> str:
        if listing not in self._names:
            self._names[listing] = names_id(self._repo, listing)
        return self._names[listing]

    def differing(self, executed: Executed | None) -> dict[str, str]:
        """The files that a run opened, and that have other bytes now → in words."""
        if executed is None:
            return {}
        tracked = {
            path: f"{path} has other bytes on disk than when the test opened it"
            for path, recorded in executed.files.items()
            if recorded and (now := self._id(path)) and now != recorded
        }
        return tracked | self._differing_ignored(executed)

    def _differing_ignored(self, executed: Executed) -> dict[str, str]:
        words: dict[str, str] = {}
        for path, recorded in executed.private.items():
            if path.startswith("/") or not self._digests.is_own(recorded):
                continue
            if path not in self._seals:
                self._seals[path] = self._digests.of_file(path)
            verb = "writes" if path.startswith(".git/") else "ignores"
            if not self._seals[path]:
                words[path] = f"{path}, which the test opened and git {verb}, is not there now"
            elif self._seals[path] != recorded:
                words[path] = f"{path}, which git {verb}, changed since the test opened it"
        return words

    def _id(self, path: str) -> str:
        if path not in self._ids:
            self._ids[path] = bytes_id(self._repo, path)
        return self._ids[path]


class BytesOfCheckout:
    """What a checkout of a content writes, of which git is asked once for each file."""

    def __init__(self, repo: Repository, content: str) -> None:
        """`content`: a tree, or `STAGED`."""
        self._repo, self._content = repo, content
        self._ids: dict[str, frozenset[str]] = {}
        self._asked: set[str] = set()

    def differing(self, executed: Executed | None) -> dict[str, str]:
        """The files that a run opened, and that a checkout writes otherwise → in words."""
        if executed:
            opened = {path: recorded for path, recorded in executed.files.items() if recorded}
        else:
            opened = {}
        if new := opened.keys() - self._asked:
            self._asked |= new
            self._ids |= checkout_ids(self._repo, self._content, sorted(new))
        return {
            path: f"{path} has other bytes in a checkout of this content than when the test "
            "opened it"
            for path, recorded in opened.items()
            if path in self._ids and recorded not in self._ids[path]
        }
