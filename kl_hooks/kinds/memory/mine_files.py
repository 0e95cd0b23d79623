"""Files that are written again and again within sessions: where the work concentrates. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from kl_hooks.evidence.commits import Logged
from kl_hooks.kinds.memory.seen import Found, Sighting
from kl_hooks.kinds.memory.sessions import of_day
from kl_hooks.kinds.memory.thresholds import (
    GENERATED,
    LARGEST_COMMIT,
    MOST_FILES,
    WRITES_IN_A_SESSION,
    WRITES_IN_SESSIONS,
)  # fmt: skip


def file_patterns(commits: Sequence[Logged]) -> list[Found]:
    """What commits show, oldest first. A session is the day of one author."""
    writes = (
        (path, Sighting(of_day(one.at, one.author), one.receipt or one.sha, "EvidenceGraph", one.at))
        for one in commits
        if len(one.files) <= LARGEST_COMMIT
        for path in one.files
    )
    return written(writes)


def written(writes: Iterable[tuple[str, Sighting]]) -> list[Found]:
    """A pattern for each file that was written more than once in a session; one sighting for each such session.

    Only those written most are worth a person's time: in a lively repository nearly every file is written often.
    """
    by_file: dict[str, dict[str, list[Sighting]]] = {}
    for path, seen in writes:
        if not generated(path):
            by_file.setdefault(path, {}).setdefault(seen.session, []).append(seen)
    often = {path: _often(sessions) for path, sessions in by_file.items()}
    enough = [path for path, seen in often.items() if len(seen) >= WRITES_IN_SESSIONS]
    most = sorted(enough, key=lambda path: (-len(often[path]), -sum(map(len, by_file[path].values())), path))
    return [
        Found(f"File is modified repeatedly in sessions: {path}", "pattern", seen, path in most[:MOST_FILES])
        for path, seen in often.items()
        if seen
    ]


def _often(sessions: Mapping[str, Sequence[Sighting]]) -> tuple[Sighting, ...]:
    """The last write of each session that wrote it more than once."""
    return tuple(seen[-1] for seen in sessions.values() if len(seen) >= WRITES_IN_A_SESSION)


def generated(path: str) -> bool:
    """True for a file that a tool or a habit writes: it says nothing about the work."""
    return PurePosixPath(path).name in GENERATED or path.startswith(".kl/")
