"""The high-water mark: how far the store had come, remembered beside it. An older copy of the store then shows."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from kl_hooks.store.atomic import write_atomic


def read(path: Path) -> dict[str, Any] | None:
    """The mark: `seq` and `chain`; None where there is none that can be read."""
    try:
        mark = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    good = isinstance(mark, dict) and isinstance(mark.get("seq"), int) and isinstance(mark.get("chain"), str)
    return mark if good else None


def write(path: Path, mark: dict[str, Any], *, sync: bool = True) -> None:
    """Replaces the mark. OSError as it comes. Without `sync` a power loss may take it.

    Root (in a container, under sudo) leaves it to the owner of the folder, who could not read it otherwise.
    """
    write_atomic(path, json.dumps(mark, sort_keys=True).encode() + b"\n", mode=0o600, sync=sync)
    if os.geteuid() == 0:
        folder = path.parent.stat()
        if folder.st_uid:
            os.chown(path, folder.st_uid, folder.st_gid)
