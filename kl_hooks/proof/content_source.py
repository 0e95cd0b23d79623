"""The files of one content, on disk, staged or in a tree, as far as they decide what its tests
are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final

from kl_hooks.config.settings import SETTINGS_FILE
from kl_hooks.git import files
from kl_hooks.git.worktree import STAGED, scan_worktree
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.proof.pytest_config import CONFIG_NAMES

if TYPE_CHECKING:
    from kl_hooks.git.repository import Repository


_TEXTS: Final = (".txt", ".rst", ".md", ".adoc", ".doctest")
"""The endings of texts whose examples pytest may be set to collect."""
_CONFIGS: Final = (".coveragerc", ".cfg", ".ini", ".toml")
"""The endings of files that may configure pytest, or coverage.py for it."""


class _ContentSource(NamedTuple):
    """The parts of `ContentSource`, which stores also what it computes of them."""

    blobs: Mapping[str, str]
    """Path → blob ID of tracked Python files and texts, and of files that may configure pytest,
    coverage.py or kl.
    """
    read: Callable[[Iterable[str]], Iterator[tuple[str, bytes]]]
    """The contents of files by path, of those that can be read."""


class ContentSource(_ContentSource):
    """The files of one content: those on disk, or those of a tree."""

    def text(self, path: str) -> bytes | None:
        """The content of one file; None where there is none."""
        if _configures(path):
            return self._configuration.get(path)
        if path not in self.blobs:
            return None
        return next((content for _, content in self.read([path])), None)

    @cached_property
    def _configuration(self) -> Mapping[str, bytes]:
        """Path → content of the files that may configure pytest or kl: git is asked for all at
        once, where each of them would be a process.
        """
        return dict(self.read(path for path in self.blobs if _configures(path)))


def _configures(path: str) -> bool:
    return path == SETTINGS_FILE or path.rpartition("/")[2] in CONFIG_NAMES


def content_source(repo: Repository, tree: str, *, untracked: bool = False) -> ContentSource:
    """The content of a tree or commit, or of what is `STAGED`; of the tracked files on disk where
    `tree` is empty.

    `untracked`: on disk also the files that git does not track, and does not ignore.
    """
    wanted = (".py", *_TEXTS, *_CONFIGS, SETTINGS_FILE)
    if tree == STAGED:
        entries = {entry.path: entry for entry in files.staged_files(repo, wanted)}
    elif tree:
        entries = {entry.path: entry for entry in files.files_at(repo, tree, wanted)}
    else:
        look = scan_worktree(repo)
        others = {os.fsdecode(path) for path in look.listing.untracked}
        on_disk = files.worktree_files(repo, wanted, look)
        # tracked files only: what a commit would not hold is not expected of its tests
        entries = {entry.path: entry for entry in on_disk if untracked or entry.path not in others}

    def read(paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        asked = [entries[path] for path in paths if path in entries]
        return (
            (entry.path, text)
            for entry, text in files.read_files(repo, asked, "objects" if tree else "worktree")
        )

    return ContentSource({path: entry.blob for path, entry in entries.items()}, read)
