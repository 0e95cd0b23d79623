"""What one command reads of fetched notes: contents that moved, once each, within limits.

Whoever may push to a remote may write as many refs as they like, of any content. So refs with the
same content are read once, and a command stops at its limits. It stores how far it has read: the
next one goes on there, so that all of it is read in the end, and no command takes long.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from kl_hooks.evidence.commits import write_cursor
from kl_hooks.git.notes import NoteRef, own_ref, read_lines
from kl_hooks.git.repository import Repository
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.text import counted
from kl_hooks.store.database import Database

_BYTES_OF_ONE_UNIT: Final = 50_000
"""Of a line: to parse and redact as many takes about as long as to check a signature."""
_LEAST_SHARE: Final = 50
"""Units that each content may use, however many there are."""
_SHOWN: Final = 3


class Limits(NamedTuple):
    """Of one command; without values those of a command that imports what a `git fetch` brought
    before it answers.
    """

    contents: int = 50
    """Different ones: each takes three processes of git."""
    size: int = 32 * 1024 * 1024
    """Bytes of the lines of all of them."""
    units: int = 200
    """A line that is not stored yet takes one, one more for each signature, and for each
    `_BYTES_OF_ONE_UNIT`.
    """


class _Content:
    """What one or more refs have."""

    def __init__(self, refs: list[NoteRef], start: int) -> None:
        self.refs, self.start = refs, start
        self.number = 0
        """Of the line at which reading is."""
        self.end: int | None = None
        """The line where reading stopped; None: all were read."""
        self.units = 0

    @property
    def writer(self) -> str:
        return self.refs[0].name.rpartition("/")[2]


class NoteReading:
    """The reading of notes of one sort, by one command."""

    def __init__(
        self,
        refs: list[NoteRef],
        sort: str,
        cursors: Mapping[str, str],
        limits: Limits,
        state: str = "",
    ) -> None:
        """`cursors`: ref → how far it was read; `state`: read again where it changed."""
        self._limits = limits
        self._state = f" {state}" if state else ""
        own = own_ref(sort, "")
        by_tree: dict[str, list[NoteRef]] = {}
        for ref in refs:
            if cursors.get(ref.name) != self._stamp(ref):
                by_tree.setdefault(ref.tree, []).append(ref)
        # those of strangers last: they may be many
        self._moved = [
            _Content(group, max(self._start(ref, cursors) for ref in group))
            for group in sorted(
                by_tree.values(),
                key=lambda group: (
                    not any(ref.name.startswith(own) for ref in group),
                    not any(ref.name in cursors for ref in group),
                    -max(ref.time for ref in group),
                ),
            )
        ]
        self._share = max(_LEAST_SHARE, limits.units // max(1, len(self._moved)))
        self._read: list[_Content] = []
        self._units = 0

    def __bool__(self) -> bool:
        return bool(self._moved)

    def lines(self, repo: Repository, remarks: list[str]) -> Iterator[tuple[str, str, bytes]]:
        """(writer, file, line) of what was not read yet, as far as the limits and `allows` let."""
        size = 0
        for content in self._moved[: self._limits.contents]:
            if size >= self._limits.size or self._units >= self._limits.units:
                return
            self._read.append(content)
            first = content.refs[0]
            files = read_lines(repo, first.commit, remarks, place=first.name)
            size += sum(len(line) for lines in files.values() for line in lines)
            rows = ((name, line) for name, lines in files.items() for line in lines)
            for content.number, (name, line) in enumerate(rows):
                if content.number >= content.start:
                    yield content.writer, name, line
                if content.end is not None:
                    break

    def allows(self, line: bytes, signatures: int = 1) -> bool:
        """Whether this line may be checked yet; else the reading of its content ends before it."""
        content = self._read[-1]
        units = 1 + signatures + len(line) // _BYTES_OF_ONE_UNIT
        # a content of which nothing was checked yet gets its first line: else it would never move
        if content.units and (
            content.units + units > self._share or self._units + units > self._limits.units
        ):
            content.end = content.number
            return False
        content.units += units
        self._units += units
        return True

    def store_cursors(self, db: Database, prefix: str) -> None:
        """Store how far each ref was read, in a transaction that the caller holds."""
        for content in self._read:
            for ref in content.refs:
                if content.end is None:
                    end = ""
                else:
                    end = f" {content.end}"
                write_cursor(db, f"{prefix}:{ref.name}", f"{self._stamp(ref)}{end}")

    def remark(self) -> str:
        """What the next sync reads, in a sentence; empty: nothing is left."""
        waiting = [content for content in self._read if content.end is not None]
        waiting += self._moved[len(self._read) :]
        if not waiting:
            return ""
        names = ", ".join(content.writer for content in waiting[:_SHOWN])
        if len(waiting) > _SHOWN:
            remaining = f" and {len(waiting) - _SHOWN} more"
        else:
            remaining = ""
        number = counted(len(waiting), "writer")
        return f"notes of {number} not read to their end ({names}{remaining}): run kl sync again."

    def _stamp(self, ref: NoteRef) -> str:
        return f"{ref.commit}{self._state}"

    def _start(self, ref: NoteRef, cursors: Mapping[str, str]) -> int:
        """The first line that was not read, where the ref did not move since."""
        stamp, _, number = cursors.get(ref.name, "").rpartition(" ")
        if stamp == self._stamp(ref) and number.isdecimal():
            return int(number)
        return 0
