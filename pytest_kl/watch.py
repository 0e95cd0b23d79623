"""Notices which files of the repository other processes open, such as those that tests start.

A process that does not record itself may read anything. By inotify, which Linux has: it reports
each file that is opened in a folder, by whatever process. Nothing is watched before a first process
is started. Where inotify is missing, or there are too many folders, nothing is noticed.

Nothing is imported but the standard library, and ctypes not before it is needed: it takes 4 ms.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

_OPENED: Final = 0x20
"""IN_OPEN (inotify(7))."""
_EVENT: Final = struct.Struct("iIII")
"""`struct inotify_event` without the name: the folder, what happened, a cookie, the length."""
_BUFFER: Final = 1 << 16
_MOST_FOLDERS: Final = 4_000
_SOURCE: Final = (".py", ".pyc", ".so")
"""Endings of files whose opening shows nothing here: a process that executes Python of the
repository is judged by all of it."""
_FOREIGN: Final = frozenset(("node_modules", "__pycache__", ".git", ".kl"))
_OF_TOOLS: Final = frozenset(("pyvenv.cfg", "CACHEDIR.TAG"))
"""Files by which folders of environments and caches are known."""


class Watch:
    """The files below a folder that are opened, from the first process on."""

    def __init__(self, top: str) -> None:
        self._top = top
        self._folders: dict[int, str] = {}
        """Number of a watched folder → its path from the top."""
        self._file = -1
        self._has_begun = False
        self._scandir = os.scandir
        self._read = os.read
        self._close = os.close

    @property
    def is_on(self) -> bool:
        """Whether something is watched."""
        return self._file >= 0

    def begin(self) -> None:
        """A process is going to be started."""
        if self._has_begun or sys.platform != "linux":
            return
        self._has_begun = True
        try:
            self._begin()
        except (OSError, ImportError, AttributeError):  # then nothing is noticed, as elsewhere
            self.end()

    def _begin(self) -> None:
        import ctypes

        library = ctypes.CDLL(None, use_errno=True)
        self._file = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._file < 0:
            return
        for path in self._below():
            folder = os.fsencode(f"{self._top}/{path}")
            number = library.inotify_add_watch(self._file, folder, _OPENED)
            if number < 0 or len(self._folders) >= _MOST_FOLDERS:
                self.end()
                return
            self._folders[number] = path

    def _below(self) -> Iterator[str]:
        """The folders of the repository, from the top; none of tools and environments."""
        waiting = [""]
        while waiting:
            path = waiting.pop()
            try:
                with self._scandir(f"{self._top}/{path}") as entries:
                    inner = list(entries)
            except OSError:
                continue
            if path and any(entry.name in _OF_TOOLS for entry in inner):
                continue
            yield path
            waiting += [
                f"{path}/{entry.name}" if path else entry.name
                for entry in inner
                if entry.name not in _FOREIGN and entry.is_dir(follow_symlinks=False)
            ]

    def take(self) -> set[str]:
        """The files that were opened since the last time: paths from the top."""
        opened: set[str] = set()
        while self._file >= 0:
            try:
                events = self._read(self._file, _BUFFER)
            except BlockingIOError:
                break
            except OSError:  # a test closed it
                self._file = -1
                break
            at = 0
            while at < len(events):
                folder, _, _, length = _EVENT.unpack_from(events, at)
                at += _EVENT.size + length
                name = os.fsdecode(events[at - length : at].rstrip(b"\0"))
                path = self._folders.get(folder)
                if name and path is not None and not name.endswith(_SOURCE):
                    opened.add(f"{path}/{name}" if path else name)
        return opened

    def end(self) -> None:
        """Watch nothing any more."""
        file, self._file = self._file, -1
        if file >= 0:
            with suppress(OSError):
                self._close(file)
