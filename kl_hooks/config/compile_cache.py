"""The compiled form of files that people write, so that a commit needs no YAML parser.

It is plain JSON under the hash of the file's bytes: other bytes, another entry. It is a convenience
and nothing more: whatever is odd about an entry (not ours, not private, not whole, not JSON) means
compiling again.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

_FORMAT: Final = 1
"""Of the entry itself; what a kind's compiled form looks like is numbered in the kind's name."""
_MAX_BYTES: Final = 32 * 1024 * 1024
_MAX_ENTRIES: Final = 40

_Json = Any
"""What JSON can hold."""


def load_compiled(
    cache_dir: Path | None, text: bytes, kind: str, compile: Callable[[], _Json]
) -> _Json:
    """Return the compiled form of `text`: from the cache, else from `compile()`, which is then
    cached.

    `kind` names what it was compiled to and in which version (`manifest-1`). What `compile` raises
    is passed on, and nothing is cached then. Trouble with the cache is never seen by the caller.
    """
    if cache_dir is None:
        return compile()
    key = hashlib.sha256(text).hexdigest()
    plain = read_entry(cache_dir, kind, key)
    if plain is None:
        plain = compile()
        write_entry(cache_dir, kind, key, plain)
    return plain


def read_entry(cache_dir: Path, kind: str, key: str) -> _Json | None:
    """The entry of a key (hexadecimal digits); None where it is missing, or not as we wrote it."""
    try:
        # neither a link nor a named pipe is ours; without O_NONBLOCK, opening a pipe waits for a
        # writer, see fifo(7)
        handle = os.open(
            _entry_path(cache_dir, kind, key),
            os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC,
        )
    except OSError:
        return None
    facts = os.fstat(handle)
    # asked of the open file: one that is looked at by name can be exchanged before it is opened
    if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_mode & 0o022:
        os.close(handle)
        return None
    try:
        with os.fdopen(handle, "rb") as file:
            entry = json.loads(file.read(_MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(entry, dict) or [entry.get(k) for k in ("format", "kind", "sha256")] != [
        _FORMAT,
        kind,
        key,
    ]:
        return None
    return entry.get("plain")


def write_entry(cache_dir: Path, kind: str, key: str, plain: _Json) -> None:
    """Store an entry, in folders that are private; evict the oldest ones. Trouble is never seen by
    the caller.
    """
    from kl_hooks.store.files import write_atomic

    entry = {"format": _FORMAT, "kind": kind, "sha256": key, "plain": plain}
    place = _entry_path(cache_dir, kind, key)
    try:
        _make_private(place.parent)
        for old in sorted(place.parent.iterdir(), key=lambda path: path.lstat().st_mtime_ns)[
            :-_MAX_ENTRIES
        ]:
            old.unlink()
        # not synced: an entry that a power loss tore is no JSON, and is compiled again
        write_atomic(place, json.dumps(entry).encode(), mode=0o600, sync=False)
    except (OSError, ValueError, TypeError):
        return  # slower next time, nothing else


def _entry_path(cache_dir: Path, kind: str, key: str) -> Path:
    return cache_dir / "compiled" / f"{kind}-{key}.json"


def _make_private(folder: Path) -> None:
    if not folder.is_dir():
        _make_private(folder.parent)
        # folder by folder: mkdir(parents=True) gives its mode to the last one only
        folder.mkdir(mode=0o700, exist_ok=True)
