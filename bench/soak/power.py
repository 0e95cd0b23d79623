"""Power loss: the calls of a writer are written down, and the disk that a cut at any of them may
leave is built from what was synced by then and a random part of what was not.

Assumed of the file system is what POSIX promises, and what ext4, XFS and Btrfs
add: to sync a folder makes the folders above it durable. A file's name is durable after a sync of
its folder, its content after a sync of the file; of other writes each sector of 512 bytes may be
there or not, in any order.
"""

from __future__ import annotations

import os
import random
import shutil
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from bench.soak.checking import check, next_command
from bench.soak.stage import Outcome, Stage, Subject
from bench.soak.writers import WRITERS, Writer, make_repository, state_folders

STATES: Final = 16
"""States of one recording."""
_SECTOR: Final = 512
_HEADER: Final = struct.Struct("<c3xIIIQq")
MODES: Final = ("nothing", "names", "content", "mixed", "everything")
"""What of that which was not synced is on the disk."""


class Event(NamedTuple):
    """A call that was written down."""

    kind: str
    """The letters of `preload.c`: O(pen), C(reate), W(rite), T(runcate), S(ync), R(ename), L(ink),
    U(nlink), M(kdir), and A for what was acknowledged.
    """
    path: str
    second: str
    """Where a rename or a link leads."""
    inode: int
    offset: int
    """Of a write; of a truncation the new size."""
    data: bytes


def events_in(content: bytes) -> Iterator[Event]:
    """The calls of a log, in their order."""
    at = 0
    while at + _HEADER.size <= len(content):
        kind, path, second, size, inode, offset = _HEADER.unpack_from(content, at)
        at += _HEADER.size
        texts = []
        for length in (path, second):
            texts.append(os.fsdecode(content[at : at + length]))
            at += length
        yield Event(kind.decode(), texts[0], texts[1], inode, offset, content[at : at + size])
        at += size


@dataclass
class File:
    """A file on the disk: its durable content, and what was not synced since."""

    durable: bytes
    pending: list[Event] = field(default_factory=list)

    def content(self, keeps: Callable[[], bool]) -> bytes:
        """The content where each sector that was not synced is there or not."""
        content = bytearray(self.durable)
        for event in self.pending:
            if event.kind == "T":
                if keeps():
                    _resize(content, event.offset)
                continue
            for start in range(0, len(event.data), _SECTOR):
                if keeps():
                    piece = event.data[start : start + _SECTOR]
                    at = event.offset + start
                    _resize(content, max(len(content), at + len(piece)))
                    content[at : at + len(piece)] = piece
        return bytes(content)


def _resize(content: bytearray, size: int) -> None:
    del content[size:]
    content.extend(bytes(size - len(content)))


class Disk:
    """What is durable of the recorded files, and what is not yet."""

    def __init__(self, base: Callable[[str], bytes | None]) -> None:
        self._base = base
        self.files: dict[int, File] = {}
        self.names: dict[str, int] = {}
        """As the process sees them: path → inode; 0: a folder."""
        self.durable: dict[str, int | None] = {}
        """Path → inode that a power loss leaves; None: removed. Paths that no call changed are not
        here.
        """
        self.pending: list[dict[str, int | None]] = []
        """Changes of names that were not synced, each whole or not at all."""

    def apply(self, event: Event) -> None:
        """What a call does."""
        match event.kind:
            case "O":
                self._know(event.path, event.inode)
            case "C":
                self.files[event.inode] = File(b"")
                self._change({event.path: event.inode})
            case "W" | "T":
                self.files.setdefault(event.inode, File(b"")).pending.append(event)
            case "S":
                self._sync(event)
            case "R":
                self._change({event.path: None, event.second: self.names.get(event.path, 0)})
            case "L":
                self._change({event.second: self.names.get(event.path, 0)})
            case "U":
                self._change({event.path: None})
            case "M":
                self._change({event.path: 0})

    def _know(self, path: str, inode: int) -> None:
        """A file that was there before; its content is durable."""
        if inode not in self.files:
            content = self._base(path)
            if content is not None:
                self.files[inode] = File(content)
                self.names[path] = inode

    def _change(self, names: dict[str, int | None]) -> None:
        self.pending.append(names)
        for path, inode in names.items():
            if inode is None:
                self.names.pop(path, None)
            else:
                self.names[path] = inode

    def _sync(self, event: Event) -> None:
        file = self.files.get(event.inode)
        if file:
            file.durable, file.pending = file.content(lambda: True), []
            return
        left = []
        for names in self.pending:
            in_folder = any(os.path.dirname(path) == event.path for path in names)  # noqa: PTH120
            is_above = any(
                event.path == path or event.path.startswith(f"{path}/") for path in names
            )
            if in_folder or is_above:
                self.durable |= names
            else:
                left.append(names)
        self.pending = left

    def after_cut(self, mode: str, dice: random.Random) -> dict[str, bytes | None]:
        """The files that a power loss leaves: path → content, b"" with a final slash for a folder;
        None: no file. Paths that no call changed are not here.
        """
        names = dict(self.durable)
        count = {"nothing": 0, "content": 0, "mixed": dice.randint(0, len(self.pending))}.get(
            mode, len(self.pending)
        )
        for change in self.pending[:count]:
            names |= change
        for path, inode in self.names.items():
            if inode and path not in names and self._base(path) is not None:
                names[path] = inode
        keeps = {
            "nothing": lambda: False,
            "names": lambda: False,
            "mixed": lambda: dice.random() < 0.5,
        }.get(mode, lambda: True)
        contents: dict[str, bytes | None] = {}
        for path, inode in names.items():
            if inode is None:
                contents[path] = None
            elif inode == 0:
                contents[f"{path}/"] = b""
            elif inode in self.files:
                contents[path] = self.files[inode].content(keeps)
        return contents


def play(stage: Stage, dice: random.Random, number: int) -> Outcome:
    """Record one act, and one of another writer after it; check disks that cuts leave."""
    writer = WRITERS[number % len(WRITERS)]
    later = dice.choice(WRITERS)
    template = stage.template("repository", partial(make_repository, stage))
    stage.reset(template)
    events = list(events_in(recorded(stage, [(writer, f"p{number}"), (later, f"q{number}")])))
    outcome = Outcome()
    for state in stage.cases(STATES):
        cut, mode = dice.randint(0, len(events)), MODES[dice.randrange(len(MODES))]
        stage.reset(template)
        acknowledged = lay_out(stage, template, events[:cut], mode, dice)
        attempted = {writer.name: [f"p{number}"], later.name: [f"q{number}"]}
        problems = stage.child(partial(next_command, stage, state)).answer
        problems += stage.child(partial(check, stage, acknowledged, attempted)).answer
        outcome.done += 1
        place = f"{writer.name}+{later.name}, cut {cut} of {len(events)}, {mode}: "
        outcome.problems += [place + problem for problem in problems]
    return outcome


def recorded(stage: Stage, acts: list[tuple[Writer, str]]) -> bytes:
    """The log of acts, played in a child one after the other."""
    log = stage.folder / "log"

    def act() -> None:
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        stage.faults.watch(*state_folders(stage.repo))
        stage.faults.log(handle)
        for writer, key in acts:
            answer = writer.act(stage, key)
            if answer.acknowledged and writer.stored:
                stage.faults.mark(f"{writer.name} {key}")
        stage.faults.log(-1)

    stage.child(act)
    return log.read_bytes()


def lay_out(
    stage: Stage, template: Path, events: list[Event], mode: str, dice: random.Random
) -> dict[str, list[str]]:
    """Make `repo`, a copy of the template, what a power loss after these calls leaves; what was
    acknowledged by then.
    """

    def base(path: str) -> bytes | None:
        with suppress(OSError):
            return (template / Path(path).relative_to(stage.repo)).read_bytes()
        return None

    disk = Disk(base)
    acknowledged: dict[str, list[str]] = {
        writer.name: [f"base{writer.name}"] for writer in WRITERS if writer.stored
    }
    for event in events:
        if event.kind == "A":
            name, _, key = event.path.partition(" ")
            acknowledged[name].append(key)
        else:
            disk.apply(event)
    contents = disk.after_cut(mode, dice)
    for text, content in sorted(contents.items()):
        path = Path(text)
        if content is None:
            if path.is_dir():
                shutil.rmtree(path)
            path.unlink(missing_ok=True)
        elif text.endswith("/"):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
    for text, content in sorted(contents.items()):
        path = Path(text)
        if content is not None and not text.endswith("/") and path.parent.is_dir():
            path.write_bytes(content)
            path.chmod(0o600)
    return acknowledged


SUBJECT: Final = Subject(
    "power",
    "power loss at a random call: unsynced writes and names are dropped, torn or stored",
    "states",
    5_000,
    play,
)
