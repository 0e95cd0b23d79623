"""What a run read of this machine alone: variables of the environment, and files that git ignores.

Neither is content, and both may be secret: a run records a digest under a key of the clone (the one
of its captures), with which nobody else can try out values. Another clone has another key, and
compares nothing.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from hashlib import sha256
from hmac import digest
from typing import TYPE_CHECKING, Final

from kl_hooks.evidence.reads import SET_VARIABLES
from kl_hooks.store.state import spool_key

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace

_OF_PROCESSES: Final = frozenset(
    ("PATH", "PWD", "OLDPWD", "SHLVL", "_", "TERM", "COLUMNS", "LINES", "TMPDIR")
)
"""Variables that the shell, the terminal and git set for each process (POSIX, "Environment
Variables"; git-sh-setup): another value has no meaning. They decide a note alone.
"""
_PREFIXES_OF_PROCESSES: Final = ("GIT_", "KL_", "PYTEST_")
_MOST_BYTES: Final = 1024 * 1024
"""Of a larger file its size and time are compared, so that a run reads no data sets."""


class PrivateDigests:
    """Digests of values that only this clone can make; empty ones where it has no key."""

    def __init__(self, ws: Workspace) -> None:
        self._key = spool_key(ws.state)
        self._top = ws.repo.top if ws.repo else ws.root
        self._prefix = sha256(b"private\0" + self._key).hexdigest()[:12]

    def is_own(self, recorded: str) -> bool:
        """Whether a digest was made with the key of this clone."""
        return bool(self._key) and recorded.startswith(f"{self._prefix}:")

    def of_file(self, path: str, before: int | None = None) -> str:
        """That of the bytes of a file; empty where it is no regular file. `before`: nor of one that
        was written since then (nanoseconds since 1970).
        """
        file = self._top / path
        try:
            state = file.stat()
            if not stat.S_ISREG(state.st_mode):
                return ""
            if before is not None and max(state.st_mtime_ns, state.st_ctime_ns) >= before:
                return ""
            is_small = state.st_size <= _MOST_BYTES
            if is_small:
                content = file.read_bytes()
            else:
                content = b"%d %d" % (state.st_size, state.st_mtime_ns)
        except OSError:
            return ""
        return self._of(path, content)

    def of_variable(self, name: str, environ: Mapping[str, str]) -> str:
        """That of the value of a variable; empty where it is not set, or is of each process."""
        if name in _OF_PROCESSES or name.startswith(_PREFIXES_OF_PROCESSES):
            return ""
        if name not in environ:
            return ""
        return self._of(name, os.fsencode(environ[name]))

    def _of(self, name: str, value: bytes) -> str:
        if not self._key:
            return ""
        text = b"private\0" + os.fsencode(name) + b"\0" + value
        return f"{self._prefix}:{digest(self._key, text, 'sha256').hex()[:32]}"


def variable_key(name: str) -> str:
    """The key of a variable among the digests of a run."""
    return f"{SET_VARIABLES}/{name}"
