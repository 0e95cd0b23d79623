"""Functions of the standard library as they were before the first test: a test may leave `os.read`,
`open` or `time.time` replaced, and what kl does at the end calls them.
"""

from __future__ import annotations

import builtins
import io
import json
import os
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Final

_MODULES: Final[tuple[ModuleType, ...]] = (
    *(builtins, io, json, os, os.path, shutil, stat, subprocess, tempfile, time),
)
_TYPES: Final = frozenset((FunctionType, BuiltinFunctionType, type))


def _functions(module: ModuleType) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if type(value) in _TYPES}


_ORIGINAL: Final = tuple((vars(module), _functions(module)) for module in _MODULES)
"""(namespace, what it defined when this was imported), of each module."""


@contextmanager
def original_functions() -> Iterator[None]:
    """Inside they are what they were; afterwards again what the tests left."""
    left: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for space, functions in _ORIGINAL:
        replaced = {
            name: space[name]
            for name, function in functions.items()
            if name in space and space[name] is not function
        }
        removed = {name: _REMOVED for name in functions if name not in space}
        if replaced or removed:
            left.append((space, replaced | removed))
            space.update((name, functions[name]) for name in (*replaced, *removed))
    try:
        yield
    finally:
        for space, values in left:
            for name, value in values.items():
                if value is _REMOVED:
                    del space[name]
                else:
                    space[name] = value


_REMOVED: Final = object()
