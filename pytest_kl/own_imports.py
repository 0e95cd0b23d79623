"""What kl imports is found where kl is installed, and leaves no trace in `sys.modules`.

A repository may have a `resource.py` or `yaml.py` of its own, and pytest puts its folder first on
`sys.path`. Whoever imports that name gets the module of the repository, unless one is loaded
already (language reference, 5.3.1 "The module cache"). So a suite would fail with kl and pass
without it, or the reverse; and kl would get a module of the suite. Modules inside of packages that
are loaded are found through these, and stay.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

_YAML: Final = "yaml"
_YAML_IN_C: Final = "yaml._yaml"
_NAMES: Final = sys.stdlib_module_names | {_YAML}
"""What kl imports that a suite may not have loaded: all else is a part of pytest or of kl."""


def _own_path() -> list[str]:
    own_folder = str(Path(__file__).parents[1])
    working_folders = {""}
    with suppress(OSError):  # it was removed
        working_folders.add(str(Path.cwd()))
    return [entry for entry in sys.path if entry == own_folder or entry not in working_folders]


_PATH: Final = _own_path()
"""Where kl is found, and what it needs: before pytest added folders of tests."""
_INSTALLED: Final = tuple(
    f"{folder}{os.sep}" for folder in (Path(os.__file__).parent, Path(pytest.__file__).parents[1])
)
_own: dict[str, ModuleType] = {}
"""Name → what was loaded inside of earlier blocks: kl has one of each."""


@contextmanager
def own_imports() -> Iterator[None]:
    """Inside, modules are found where kl is installed; afterwards those are loaded that were before.

    PyYAML is loaded without its part in C, which can't be loaded a second time: the suite is to be
    the first that does.
    """
    modules, path = sys.modules, sys.path
    hidden = _take_out(modules, _of_the_suite(modules) | set(map(_top, _own)))
    before = set(map(_top, list(modules)))
    modules.update(_own)
    hides_c = _YAML not in before and _YAML_IN_C not in modules
    if hides_c:
        modules[_YAML_IN_C] = None  # type: ignore[assignment]
    sys.path = [*_PATH]
    try:
        yield
    finally:
        sys.path = path
        if hides_c:
            del modules[_YAML_IN_C]
        new = (set(map(_top, list(modules))) - before) & _NAMES
        # `_sqlite3` has the state of `sqlite3`: what its import registers must be there once
        new = {top for top in new if top.removeprefix("_") in new}
        _own.update(_take_out(modules, new))
        modules.update(hidden)


def _top(name: str) -> str:
    return name.partition(".")[0]


def _of_the_suite(modules: dict[str, ModuleType]) -> set[str]:
    """The modules of these names that are not the installed ones."""
    names = set()
    for name in _NAMES & modules.keys():
        file = getattr(modules[name], "__file__", None)
        if isinstance(file, str) and not file.startswith(_INSTALLED):
            names.add(name)
    return names


def _take_out(modules: dict[str, ModuleType], names: set[str]) -> dict[str, ModuleType]:
    """Take out modules, and those inside of them."""
    if not names:
        return {}
    # a list: a thread of the suite may import something meanwhile
    inside = [name for name in list(modules) if _top(name) in names]
    return {name: modules.pop(name) for name in inside}
