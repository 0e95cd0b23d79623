"""The files of a content of which only a hook of the repository may make tests
(`pytest_collect_file`): no configuration names them, and nothing executes them before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from kl_hooks.code.import_time import ImportTime
from kl_hooks.proof.facts import Difference, FileChange
from kl_hooks.proof.run_files import CONFTEST, last_name

_HOOKS: Final = frozenset({"pytest_collect_file", "pytest_collect_directory"})


def newly_collected(difference: Difference, tested: Collection[str]) -> dict[str, str]:
    """File that is new since a run → the file with a hook that may collect it; so for a file that
    had no test in the run, is no Python, and changed, if the hook's file names its ending.

    A hook of a `conftest.py` gets the files of its folder at any depth, that of another plugin all
    files. `tested`: the files with a test in the run. A file with such a hook that is new or
    changed is one of them, in place of all that it may collect.
    """
    waiting = {
        path: change
        for path, change in difference.changes.items()
        if path not in tested and _may_be_collected(difference, change)
    }
    collected = {path: path for path in _changed_hooks(difference)}
    for hook, folder in _hooks(difference) if waiting else ():
        text = difference.text(hook, 1) or b""
        for path, change in waiting.items():
            is_below = not folder or path.startswith(f"{folder}/")
            if is_below and (not change.state_before or _ending(path).encode() in text):
                collected.setdefault(path, hook)
    return collected


def _changed_hooks(difference: Difference) -> Iterator[str]:
    for path, change in sorted(difference.changes.items()):
        before, now = change.symbols_before, change.symbols_now
        if now is None or _HOOKS.isdisjoint(now.names | {*map(last_name, now.hashes)}):
            continue
        # layout and comments are in no hash
        is_same = before is not None and before.hashes == now.hashes
        if not is_same and not _HOOKS.isdisjoint(_defined_names(difference, path)):
            yield path


def _may_be_collected(difference: Difference, change: FileChange) -> bool:
    """Whether pytest asks hooks for a file, and makes no tests of it by its name itself."""
    if not change.state_now or (change.state_before and change.path.endswith(".py")):
        return False
    config = difference.pytest_config(change.path)
    is_test = change.path.endswith(".py") and config.collects(change.path)
    is_loaded = change.path.rpartition("/")[2] == CONFTEST
    return config.collects_by(change.path, ("*",)) and not (is_test or is_loaded)


def _ending(path: str) -> str:
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2] or name


def _hooks(difference: Difference) -> Iterator[tuple[str, str]]:
    """(file with such a hook, folder whose files the hook gets) in the content of now."""
    naming = frozenset[str]().union(*difference.mentions(_HOOKS).values())
    for path in sorted(naming):
        if not _HOOKS.isdisjoint(_defined_names(difference, path)):
            folder, _, name = path.rpartition("/")
            yield path, folder if name == CONFTEST else ""


def _defined_names(difference: Difference, path: str) -> Iterator[str]:
    """The functions and methods that a file defines, what it imports, and what it assigns."""
    content = difference.text(path, 1)
    read: ImportTime = difference.source.import_time(content or b"")
    yield from map(last_name, (*read.headers, *read.imports))
    yield from (
        hook
        for hook in _HOOKS
        for statement in read.order
        if f"id='{hook}', ctx=Store" in statement
    )
