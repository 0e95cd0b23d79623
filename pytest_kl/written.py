"""Files that a test writes or removes, and that others find: in the folder of the repository, or in
a temporary folder that is not their own.

From the audit events of Python (PEP 578). Who wrote a file last is known by its path; a later test
that opens it, or looks for it, rests on that test. What a test finds, and what it writes or
removes, is noted by names that are the same in the next run: the path from the top, a digest of a
path outside of it, and the name of the fixture for what is in a folder of its own. A folder that
only one test has, such as its `tmp_path`, concerns no other.

Tests replace what they like, so everything that is needed is bound before the first of them.
"""

# A Path would look functions up in `os`, which a suite may have replaced.
# ruff: noqa: PTH100, PTH118, PTH119, PTH120

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from hashlib import sha256
from os.path import abspath, basename, dirname, join, realpath
from pathlib import Path
from types import FrameType
from typing import Any, Final, Protocol

from pytest_kl.reads import STORED, TOUCHED

_CREATES: Final = os.O_CREAT
_WRITES: Final = os.O_WRONLY | os.O_RDWR
_FRESH: Final = os.O_TRUNC | os.O_EXCL
_OF_SYSTEM: Final = tuple(
    {
        *("/proc/", "/sys/", "/dev/", "/usr/", "/lib/", "/lib64/", "/etc/", "/bin/"),
        *(join(realpath(path), "") for path in (sys.prefix, sys.base_prefix)),
        *(join(path, "") for path in (sys.prefix, sys.base_prefix)),
    }
)
"""Folders that tests read and don't write."""
_NOT_OURS: Final = ("/site-packages/", "/dist-packages/", "/__pycache__/", "/.git/", "/.kl/")
_COMPILED: Final = (".pyc", ".py", ".so")
_MOST_FILES: Final = 200_000
"""So many files take about 50 MB. Of more it would not be known who wrote them."""
_MOST_OPEN: Final = 100
"""So many files are asked for their state after each test."""
_NOT_THERE: Final = (-1, -1)
_MKDIR: Final = Path.mkdir.__code__
_MAKERS: Final = ("_pytest/pathlib.py", "_pytest/tmpdir.py")
"""The files of pytest that make a folder for each test."""


class Owner(Protocol):
    """A test, or the set-up of a fixture."""

    name: str
    is_fixture: bool
    reads: set[int]
    rests: set[Any]


class Written:
    """The files of one process that tests write."""

    def __init__(
        self,
        top: str,
        owner: Callable[[], Owner | None],
        acts: Callable[[FrameType | None], bool],
        read: Callable[[str, str], int],
    ) -> None:
        """`owner`: the test that runs; `acts`: whether code does it for itself, and is no tool;
        `read`: the number of a state (`pytest_kl.reads`).
        """
        self._prefix, self._owner, self._acts, self._read = join(top, ""), owner, acts, read
        self._getcwd = os.getcwd
        self._getframe = sys._getframe
        self._lexists = os.path.lexists
        self._writers: dict[str, Owner] = {}
        """Path → who wrote or removed it last."""
        self._own: dict[str, Owner] = {}
        """Folder or file that was made with a name of its own → for whom."""
        self._fresh: dict[str, Owner] = {}
        """Path → who wrote it anew, so that it finds nothing of others there."""
        self._made: dict[str, Owner] = {}
        """Path → who made it where nothing was."""
        self._open_files: dict[str, tuple[int, int]] = {}
        """Files that an import or a fixture opened to write, and that tests may write to later: size
        and time, of the last moment.
        """
        self._stat = os.stat
        self._places: dict[str, str | None] = {}
        self.too_many = False
        """Whether more files were written than are noted."""

    def handlers(self) -> dict[str, Callable[[tuple[Any, ...]], None]]:
        """Audit event → who wants it."""
        return {
            "os.remove": self._on_removal,
            "os.rmdir": self._on_removal,
            "os.truncate": self._on_truncate,
            "os.mkdir": self._on_mkdir,
            "os.rename": self._on_rename,
            "os.link": self._on_link,
            "os.symlink": self._on_link,
            "shutil.rmtree": self._on_rmtree,
            "tempfile.mkdtemp": self._on_own,
            "tempfile.mkstemp": self._on_own,
        }

    # events

    def opens(self, name: str, flags: int, frame: FrameType | None) -> None:
        """A file is opened; `name`: absolute. Most are opened to be read, and no test wrote
        them.
        """
        if not flags & (_WRITES | _CREATES):
            self.finds(name, frame)
            return
        if name.endswith(_COMPILED) and "/__pycache__/" in name:
            return
        owner = self._owner()
        if not self._acts(frame):
            return
        name = abspath(name)
        lasts = owner is None or owner.is_fixture
        if lasts and len(self._open_files) < _MOST_OPEN and self._place(name) is not None:
            self._open_files[name] = _NOT_THERE
        if owner is None:
            return
        if flags & _FRESH:
            self._anew(name, owner)
        else:
            self._find(name, owner)
        self._touch(name, owner)
        self._note_writer(name, owner)

    def compare_open(self, owner: Owner | None) -> None:
        """What was written since the last time to a file that was open before was written by this
        test; None: by none. No event shows it.
        """
        for name, before in [*self._open_files.items()]:
            self._open_files[name] = now = self._state(name)
            if now != before and owner is not None:
                self._touch(name, owner)
                self._note_writer(name, owner)

    def _state(self, name: str) -> tuple[int, int]:
        try:
            state = self._stat(name)
        except OSError:
            return _NOT_THERE
        return state.st_size, state.st_mtime_ns

    def finds(self, name: str, frame: FrameType | None) -> None:
        """A file is opened to be read, or looked for, or a folder is listed."""
        if name not in self._writers and not self._is_wanted(name):
            return
        owner = self._owner()
        if owner is not None and self._acts(frame):
            self._find(name, owner)

    def lists(self, folder: str, frame: FrameType | None) -> None:
        """A folder is listed."""
        if folder not in self._writers and not self._is_wanted(folder):
            return
        owner = self._owner()
        if owner is None or not self._acts(frame):
            return
        writer = self._writers.get(folder)
        if writer is not None and writer is not owner:
            owner.rests.add(writer)
        self._note(STORED, join(folder, "*"), owner)

    def _is_wanted(self, name: str) -> bool:
        """Whether a test may have written it, without that it was seen: in another run."""
        return not name.endswith(_COMPILED) and self._place(name) is not None

    def _on_removal(self, args: tuple[Any, ...]) -> None:
        self._remove(args[0], args[1] if len(args) > 1 else -1)

    def _on_rename(self, args: tuple[Any, ...]) -> None:
        self._remove(args[0], -1)
        self._put(args[1], is_new=True)

    def _on_link(self, args: tuple[Any, ...]) -> None:
        # what it leads to stays as it is: who opens it by the new name finds that, too
        self._put(args[1], is_new=True)

    def _on_truncate(self, args: tuple[Any, ...]) -> None:
        self._put(args[0], is_new=False)

    def _on_rmtree(self, args: tuple[Any, ...]) -> None:
        name = self._absolute(args[0])
        owner = self._owner()
        if not name or owner is None or not self._acts(self._getframe(2)):
            return
        below = join(name, "")
        self._touch(below, owner)
        for path in [path for path in self._writers if path.startswith(below)]:
            self._note_writer(path, owner)

    def _on_mkdir(self, args: tuple[Any, ...]) -> None:
        name = self._absolute(args[0])
        owner = self._owner()
        if not name or owner is None or args[2] not in (-1, None):
            return
        frame: FrameType | None = self._getframe(2)
        while frame is not None and frame.f_code is _MKDIR:
            frame = frame.f_back
        if frame is not None and frame.f_code.co_filename.endswith(_MAKERS):
            self._own[name] = owner
        elif self._acts(frame):
            self._touch(name, owner)

    def _on_own(self, args: tuple[Any, ...]) -> None:
        owner = self._owner()
        name = self._absolute(args[0])
        if owner is not None and name and len(self._own) < _MOST_FILES:
            self._own[name] = owner

    # what they mean

    def _absolute(self, path: object) -> str:
        try:
            name = os.fsdecode(path)  # type: ignore[arg-type]
        except TypeError:  # a descriptor
            return ""
        return abspath(name if name[:1] == "/" else join(self._getcwd(), name))

    def _remove(self, path: object, folder: object) -> None:
        name = self._absolute(path)
        owner = self._owner()
        if not name or owner is None or folder not in (-1, None):
            return
        if not self._acts(self._getframe(3)):
            return
        self._touch(name, owner)
        if self._made.pop(name, None) is owner:
            self._writers.pop(name, None)  # it is as it was before
        else:
            self._note_writer(name, owner)
        self._fresh[name] = owner

    def _put(self, path: object, *, is_new: bool) -> None:
        """A file gets other content. `is_new`: nothing is left of what was there."""
        name = self._absolute(path)
        owner = self._owner()
        if not name or owner is None or not self._acts(self._getframe(3)):
            return
        if is_new:
            self._anew(name, owner)
        else:
            self._find(name, owner)
        self._touch(name, owner)
        self._note_writer(name, owner)

    def _anew(self, name: str, owner: Owner) -> None:
        """It is written anew: what was there is not found."""
        if name not in self._writers and not self._lexists(name):
            self._made[name] = owner
        self._fresh[name] = owner

    def _note_writer(self, name: str, owner: Owner) -> None:
        if self._place(name) is None and self._own_folder(name)[1] is owner:
            return
        if len(self._writers) >= _MOST_FILES:
            self.too_many = True
            return
        self._writers[name] = owner
        # who lists the folder finds it there
        self._writers[dirname(name)] = owner

    def _find(self, name: str, owner: Owner) -> None:
        if self._fresh.get(name) is owner:
            return
        writer = self._writers.get(name)
        if writer is not None and writer is not owner:
            owner.rests.add(writer)
        self._note(STORED, name, owner)

    def _touch(self, name: str, owner: Owner) -> None:
        self._note(TOUCHED, name, owner)

    def _note(self, sort: str, name: str, owner: Owner) -> None:
        place = self._place(name)
        if place is None:
            return
        folder, maker = self._own_folder(name)
        if folder:
            if not maker.is_fixture or maker is owner:
                return
            place = f":{maker.name}{name[len(folder) :]}()"
        number = self._read(sort, place)
        if number >= 0:
            owner.reads.add(number)

    def _own_folder(self, name: str) -> tuple[str, Any]:
        """The folder with a name of its own that it is in, and who has it; empty for none."""
        folder = name
        while self._own and len(folder) > 1:
            if folder in self._own:
                return folder, self._own[folder]
            folder = dirname(folder)
        return "", None

    def _place(self, name: str) -> str | None:
        """What it is called in all runs; None for what is no business of tests."""
        if name in self._places:
            return self._places[name]
        if len(self._places) > _MOST_FILES:
            self._places.clear()
        self._places[name] = place = self._new_place(name)
        return place

    def _new_place(self, name: str) -> str | None:
        if any(part in name for part in _NOT_OURS):
            return None
        if name.startswith(self._prefix):
            return f":{name[len(self._prefix) :]}()"
        if name.startswith(_OF_SYSTEM):
            return None
        folder = dirname(name)
        last = basename(name)
        return f":#{_digest(folder)}/{_digest(last) if last.strip('*') else last}()"


def _digest(name: str) -> str:
    return sha256(os.fsencode(name)).hexdigest()[:12]
