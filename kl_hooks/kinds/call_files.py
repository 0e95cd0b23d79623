"""Call files: the files of the repository that a call of an agent's tool reads, edits or runs."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kl_hooks.kinds.finding import PATCHED, PATH_ARGUMENTS, path_inside, reads_only, role_of
from kl_hooks.kinds.shell import simple_commands
from kl_hooks.model.definitions import NamedTuple

if TYPE_CHECKING:
    from kl_hooks.kinds.finding import Call
    from kl_hooks.kinds.shell import Command

_TEST_RUNNERS: Final = ("pytest", "py.test")
_INTERPRETER: Final = "python"
_EDITORS: Final = ("sed", "perl", "rm", "mv", "cp", "tee", "patch")


class CallFiles(NamedTuple):
    """Files from the repository's root."""

    read: frozenset[str] = frozenset()
    edited: frozenset[str] = frozenset()
    ran: frozenset[str] = frozenset()
    """Test files and scripts that a command names; a run of a whole folder names none."""

    @property
    def all_files(self) -> frozenset[str]:
        """Each of them."""
        return self.read | self.edited | self.ran


def files_of(call: Call, root: str) -> CallFiles:
    """Return the files of a call. Of a call that failed only those that it ran: a test that fails
    was run, and a file that is not there was not read.
    """
    role = role_of(call.tool)
    if role == "shell":
        line = call.text("command", "cmd", "script") or call.command
        return _files_of_line(line, root, call)
    if call.failed or not role:
        return CallFiles()
    names = [call.text(*PATH_ARGUMENTS)]
    names += [match.strip() for match in PATCHED.findall(call.text("input", "patch"))]
    paths = frozenset(
        filter(None, (path_inside(name, root, call.folder) for name in names if name))
    )
    if role == "writing":
        return CallFiles(edited=paths)
    # a search names the folder that it looks at
    return CallFiles(read=frozenset(path for path in paths if (Path(root) / path).is_file()))


def united(parts: Iterable[CallFiles]) -> CallFiles:
    """Return the files of several calls as those of one."""
    sets = list(zip(*parts, strict=True)) or [(), (), ()]
    return CallFiles(*(frozenset().union(*files) for files in sets))


def _files_of_line(line: str, root: str, call: Call) -> CallFiles:
    folder = call.folder or root
    parts = []
    for command in simple_commands(line):
        if command.name == "cd" and len(command.words) == 2:
            folder = posixpath.join(folder, command.words[1])
            continue
        parts.append(_files_of_command(command, root, folder))
    files = united(parts)
    if call.failed:
        return CallFiles(ran=files.ran)
    return files


def _files_of_command(command: Command, root: str, folder: str) -> CallFiles:
    paths = frozenset(_paths(command.words[1:], root, folder))
    written = frozenset(_paths(command.written, root, folder))
    if command.name in _TEST_RUNNERS or command.name.startswith(_INTERPRETER):
        return CallFiles(edited=written, ran=paths)
    if reads_only(command._replace(written=[])):
        return CallFiles(read=paths, edited=written)
    if command.name in _EDITORS:
        return CallFiles(edited=paths | written)
    return CallFiles(edited=written)


def _paths(words: Iterable[str], root: str, folder: str) -> Iterator[str]:
    for word in words:
        if word[:1] != "-":
            path = path_inside(word.partition("::")[0], root, folder)
        else:
            path = ""
        if path and (Path(root) / path).is_file():
            yield path
