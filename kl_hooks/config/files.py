"""Reads the small files that people write; never waits for, or is led astray by, what stands in their place."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from kl_hooks.errors import UsageProblem

MAX_BYTES: Final = 256 * 1024
"""Of a file that is parsed; nothing that people write is longer."""


def read_small(path: Path, within: Path | None = None, most: int = MAX_BYTES) -> bytes | None:
    """The bytes of a file, None where there is none; one byte more than `most` is the most that is read.

    `within`: a folder that the file must really lie in, links followed (for files of a checkout).
    UsageProblem for a folder, a pipe, a device, a link that leads out, or a file that may not be read.
    """
    try:
        if within is not None and not path.resolve().is_relative_to(within.resolve()):
            raise UsageProblem(
                "a link that leads out of the repository.", place=str(path), hint="Put the file itself here."
            )
        # O_NONBLOCK: a named pipe must not keep us waiting
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageProblem(f"can't be read: {error}.", place=str(path)) from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise UsageProblem("is not a file.", place=str(path), hint="Move it away.")
    with os.fdopen(handle, "rb") as file:
        return file.read(most + 1)
