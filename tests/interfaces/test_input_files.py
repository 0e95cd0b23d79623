"""No command opens a file for an agent that the policy hides, whatever argument or option names it:
what it read would be printed, or stored under no rule.

An audit hook of Python notes what is opened, so a command is found that nobody thought of.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
import pytest

from kl_hooks import operations
from kl_hooks.operations.operation import Operation
from tests.interfaces.canaries import AGENT, FOLDER, Canaries, planted
from tests.interfaces.commands import calls, every_command

pytestmark = pytest.mark.slow

HIDDEN_INPUT: Final = f"{FOLDER}input.data"
"""No index reads it: what opens it was given its name."""
ABSENT_INPUT: Final = f"{FOLDER}absent.data"
WRITTEN: Final = frozenset({"commits trailer --write"})
"""Options whose file is written. git adds to it, and nothing of it is printed or stored."""
DIGESTED: Final = frozenset({"claim add --about", "claim list --about"})
"""Options whose file is compared with what it was, by its digest."""
BY_HAND: Final = frozenset({"interview --answers"})
"""Options of commands that are no operations."""
SAME: Final = {"document new": "document add", "document create": "document add"}
"""Command → the one that it is another name of."""
_OPENED: list[str] = []
_WATCHED: list[str] = []


def _note_open(event: str, arguments: tuple[Any, ...]) -> None:
    if _WATCHED and event == "open" and isinstance(arguments[0], str | bytes):
        path = os.path.realpath(os.fsdecode(arguments[0]))
        if path in _WATCHED:
            _OPENED.append(path)


sys.addaudithook(_note_open)  # can't be removed; without a watched file it does nothing


class Naming(NamedTuple):
    """A call of a command that names the hidden file."""

    interface: str
    parameter: str
    """`--manifest`; of an argument its name."""
    argv: tuple[str, ...]
    input: str

    @property
    def name(self) -> str:
        """Command and parameter."""
        return f"{SAME.get(self.interface, self.interface)} {self.parameter}"

    def of(self, file: str) -> Naming:
        """Return the same call with another file."""
        return self._replace(argv=tuple(word.replace(HIDDEN_INPUT, file) for word in self.argv))


def namings(canaries: Canaries, is_share: bool) -> Iterator[Naming]:
    """Yield, for each text that each command takes, or those of a share, a call in which it is the
    hidden file.
    """
    commands = {" ".join(words): command for words, command in every_command(canaries.repo.root)}
    verbs = Counter(name.rpartition(" ")[2] for name in commands)
    kinds, done = canaries.repo.workspace().kinds, set[str]()
    for call in calls(canaries, first_only=True, is_share=is_share):
        command, verb = commands[call.interface], call.interface.rpartition(" ")[2]
        # what every kind has is one function: one kind is enough
        is_shared = call.interface.partition(" ")[0] in kinds and verbs[verb] > len(kinds) // 2
        shared_name = verb if is_shared else call.interface
        for parameter, argv in _with_hidden_input(call.interface, call.argv, command):
            key = f"{shared_name} {parameter}"
            if key not in done:
                done.add(key)
                yield Naming(call.interface, parameter, argv, call.input)


def _with_hidden_input(
    interface: str, argv: tuple[str, ...], command: click.Command
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the name of an argument or option, and the arguments with the hidden file as its
    value.
    """
    size = len(interface.replace(" TASK", "").split())
    arguments = [one.name for one in command.params if isinstance(one, click.Argument)]
    names = {name: option for option in command.params for name in option.opts}
    position = 0
    for index, word in enumerate(argv[size:], size):
        before = names.get(argv[index - 1])
        changed = (*argv[:index], HIDDEN_INPUT, *argv[index + 1 :])
        if word.startswith("--") or not arguments:
            continue
        if isinstance(before, click.Option) and not before.is_flag:
            continue
        yield str(arguments[min(position, len(arguments) - 1)]), changed
        position += 1
    if position < len(arguments):
        yield str(arguments[position]), (*argv, HIDDEN_INPUT)
    for option in command.params:
        is_text = isinstance(option.type, click.Path | type(click.STRING))
        if isinstance(option, click.Option) and is_text and not option.is_flag:
            name = max(option.opts, key=len)
            yield name, (*argv, name, HIDDEN_INPUT)


def declared_inputs() -> set[str]:
    """Return the fields of operations that are declared to be read, as commands name them."""
    found = set[str]()
    for module in pkgutil.iter_modules(operations.__path__, f"{operations.__name__}."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, Operation):
                found |= {
                    f"{value.name} {_shown_name(field)}" for field in value.fields if field.is_input
                }
    return found


def _shown_name(field: Any) -> str:
    if field.parameter.argument:
        return str(field.name)
    return f"--{field.public_name.replace('_', '-')}"


def opened(canaries: Canaries, naming: Naming) -> bool:
    """Return whether an agent's call opens the hidden file."""
    _OPENED.clear()
    _WATCHED[:] = [str((canaries.repo.root / HIDDEN_INPUT).resolve())]
    try:
        canaries.repo.kl(*naming.argv, env=AGENT, input=naming.input)
    finally:
        _WATCHED.clear()
    return bool(_OPENED)


@pytest.mark.share("one")
@pytest.mark.parametrize("scope", ["one", "every"])
def test_what_a_command_reads_is_declared_and_not_opened_where_the_policy_hides_it(
    tmp_path: Path, home: Path, scope: str
) -> None:
    canaries = planted(tmp_path)
    canaries.repo.write(HIDDEN_INPUT, "{}\n")
    canaries.repo.commit("a file that nothing reads by itself")
    reading = [naming for naming in namings(canaries, scope == "one") if opened(canaries, naming)]
    names = {naming.name for naming in reading}
    print(sorted(names))
    known = declared_inputs() | WRITTEN | DIGESTED | BY_HAND
    # a check of the whole working tree opens it whatever is named
    undeclared = {
        naming.name
        for naming in reading
        if naming.name not in known and not opened(canaries, naming.of(ABSENT_INPUT))
    }
    assert not undeclared, f"declare them as InputFile: {undeclared}"
    canaries.hide("deny")
    read = {
        naming.name
        for naming in reading
        if naming.name in known - WRITTEN - DIGESTED and opened(canaries, naming)
    }
    assert not read, read
