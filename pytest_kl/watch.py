"""Notices which files of the repository are opened without an audit event: by C code of this
process (readline, a parser in C), and by other processes, such as those that tests start.

By inotify, which Linux has: it reports each file that is opened in a folder, by whatever process.
Watched are folders that have other files than source. Where inotify is missing, or there are too
many folders, nothing is noticed; where there are many, nothing before a first process is started.

Nothing is imported but the standard library, and ctypes not before it is needed: it takes 4 ms.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from threading import Thread
from typing import Final

from pytest_kl.own_imports import own_imports

_OPENED: Final = 0x20
"""IN_OPEN (inotify(7))."""
_OF_FOLDER: Final = 0x40000000
"""IN_ISDIR."""
_EVENT: Final = struct.Struct("iIII")
"""`struct inotify_event` without the name: the folder, what happened, a cookie, the length."""
_BUFFER: Final = 1 << 16
_MOST_FOLDERS: Final = 4_000
_MOST_AT_START: Final = 500
"""To look at so many folders takes about 10 ms."""
_SOURCE: Final = (".py", ".pyc", ".so")
"""Endings of files whose opening shows nothing here: a process that executes Python of the
repository is judged by all of it."""
_FOREIGN: Final = frozenset(("node_modules", "__pycache__", ".git", ".kl"))
_OF_TOOLS: Final = frozenset(("pyvenv.cfg", "CACHEDIR.TAG"))
"""Files by which folders of environments and caches are known."""


class Watch:
    """The files below a folder that are opened."""

    def __init__(self, top: str) -> None:
        self._top = top
        self._folders: dict[int, str] = {}
        """Number of a watched folder → its path from the top."""
        self._file = -1
        self._has_started_process = False
        self._scandir = os.scandir
        self._read = os.read
        self._close = os.close

    @property
    def is_on(self) -> bool:
        """Whether something is watched."""
        return self._file >= 0

    def begin(self) -> None:
        """The run begins."""
        self._try_to_begin(_MOST_AT_START)

    def begin_process(self) -> None:
        """A process is going to be started. Tests may have made folders."""
        if not self._has_started_process:
            self._has_started_process = True
            self._try_to_begin(_MOST_FOLDERS)

    def _try_to_begin(self, most_folders: int) -> None:
        if sys.platform != "linux":
            return
        try:
            self._begin(most_folders)
        except (OSError, ImportError, AttributeError):  # then nothing is noticed, as elsewhere
            self.end()

    def _begin(self, most_folders: int) -> None:
        folders = list(islice(self._below(), most_folders + 1))
        if len(folders) > most_folders:
            self.end()
            return
        with own_imports():
            import ctypes

        library = ctypes.CDLL(None, use_errno=True)
        if self._file < 0:
            self._file = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        for path, has_data in folders if self._file >= 0 else ():
            if not has_data:
                continue
            number = library.inotify_add_watch(
                self._file, os.fsencode(f"{self._top}/{path}"), _OPENED
            )
            if number < 0:
                self.end()
                return
            self._folders[number] = path

    def _below(self) -> Iterator[tuple[str, bool]]:
        """The folders of the repository, from the top, and whether they have other files than
        source; none of tools and environments.
        """
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
            folders = [entry.name for entry in inner if entry.is_dir(follow_symlinks=False)]
            files = {entry.name for entry in inner}.difference(folders)
            yield path, not all(name.endswith(_SOURCE) for name in files)
            waiting += [
                f"{path}/{name}" if path else name for name in folders if name not in _FOREIGN
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
                folder, what, _, length = _EVENT.unpack_from(events, at)
                at += _EVENT.size + length
                name = os.fsdecode(events[at - length : at].rstrip(b"\0"))
                path = self._folders.get(folder)
                is_file = name and not what & _OF_FOLDER
                if is_file and path is not None and not name.endswith(_SOURCE):
                    opened.add(f"{path}/{name}" if path else name)
        return opened

    def end(self) -> None:
        """Watch nothing any more."""
        file, self._file = self._file, -1
        if file >= 0:
            # the system waits until no event is under way: 20 ms in which others go on
            Thread(target=self._end, args=(file,)).start()

    def _end(self, file: int) -> None:
        with suppress(OSError):
            self._close(file)
