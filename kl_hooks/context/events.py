"""Events: a line in `events.jsonl` for every package made. An observer: it never costs anybody their answer."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from kl_hooks.errors import KlError
from kl_hooks.store.redact import redact_value
from kl_hooks.store.state import State, prepare

FILE: Final = "events.jsonl"
MOST_BYTES: Final = 2_000_000
"""Of the file; then it becomes `events.jsonl.1`, and the one before that goes."""
MOST_LINE: Final = 16_000


def append(state: State, event: Mapping[str, Any]) -> str:
    """Writes one redacted event. Returns why it could not, or nothing."""
    try:
        prepare(state)
        line = json.dumps(redact_value(dict(event)), sort_keys=True, separators=(",", ":")).encode() + b"\n"
        if len(line) > MOST_LINE:
            return f"event of {len(line)} bytes not recorded"
        _write(state.directory / FILE, line)
    except (OSError, KlError) as problem:
        return f"event not recorded: {problem}"
    return ""


def _write(path: Path, line: bytes) -> None:
    if path.exists() and path.stat().st_size + len(line) > MOST_BYTES:
        path.replace(path.with_name(FILE + ".1"))
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(path, flags, 0o600)
    try:
        os.write(handle, line)
    finally:
        os.close(handle)


def newest_first(state: State) -> Iterator[dict[str, Any]]:
    """The events that can be read, the newest first; lines that can't be read are passed over."""
    for path in (state.directory / FILE, state.directory / (FILE + ".1")):
        try:
            lines = path.read_bytes().splitlines()
        except OSError:
            continue
        for line in reversed(lines):
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict):
                yield event
