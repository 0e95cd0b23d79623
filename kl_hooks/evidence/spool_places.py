"""The places where captures wait: which there are, and which of their files count as this clone's.

Decided once for a command, from the state directory and git; what reads or writes a spool takes
the places as they are.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.git.repository import Repository, is_tracked
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.store.state import spool_directories, spool_key
from kl_hooks.workspace import Workspace

QUARANTINED: Final = ".aside"
"""Added to the name of a file that has content, and no capture."""
_WORKING_TREE: Final = "spool:checkout"
"""The origin of what was found in `.kl/spool/`."""


class SpoolPlace(NamedTuple):
    """A folder for spool files."""

    folder: Path
    origin: str
    """Of the receipts that are imported from it."""
    key: bytes = b""
    """Of the checksums in it: others can write into the working tree."""
    repo: Repository | None = None

    @property
    def in_working_tree(self) -> bool:
        """Whether an archive, a submodule or a commit could have brought its files."""
        return self.origin == _WORKING_TREE

    def owns(self, path: Path) -> bool:
        """Whether a file in it is no file of the repository: in the working tree only untracked
        files of this user count.
        """
        if not self.in_working_tree:
            return True
        try:
            status = path.lstat()
            mine = stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid()
            return mine and not (self.repo and is_tracked(self.repo, path))
        except (EnvironmentProblem, OSError):
            return False

    def believes(self, path: Path) -> bool:
        """Whether a file in it may be a capture of this clone: there is a key by which that is
        seen.
        """
        return not self.in_working_tree or (bool(self.key) and self.owns(path))


def spool_places(ws: Workspace) -> list[SpoolPlace]:
    """The places, in the order in which they are tried.

    Without the one in the working tree where it is a link: a link may belong to the repository, and
    could point our writing and our cleaning anywhere.
    """
    places = []
    for folder, origin in spool_directories(ws.state, ws.root, ws.environ):
        if origin != _WORKING_TREE:
            places.append(SpoolPlace(folder, origin))
        elif not (folder.is_symlink() or folder.parent.is_symlink()):
            places.append(SpoolPlace(folder, origin, spool_key(ws.state), ws.repo))
    return places
