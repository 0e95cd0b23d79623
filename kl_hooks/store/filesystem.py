"""Is a folder on a local file system? Write-ahead logs and locks are not safe on the others."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

LOCAL: Final = frozenset(
    ("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "tmpfs", "apfs", "bcachefs", "overlay")
)


def is_local(folder: Path, mounts: Path = Path("/proc/self/mounts")) -> bool:
    """True if the file system of `folder` is known to be local; False for the others and where it can't be told."""
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return False
    real = os.path.realpath(folder)
    best, kind = "", ""
    for line in lines:
        fields = line.split(" ")
        point = fields[1].encode("utf-8", "surrogateescape").decode("unicode_escape") if len(fields) > 2 else ""
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if point and inside and len(point) >= len(best):
            best, kind = point, fields[2]
    return kind in LOCAL
