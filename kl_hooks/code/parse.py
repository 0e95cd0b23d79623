"""From the bytes of a Python file to its syntax tree, or the reason why there is none."""

from __future__ import annotations

import ast
import gc
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kl_hooks.git.files import FileEntry

VERSION: Final = "python-ast/9"
"""Part of the key of remembered facts: raised whenever the same bytes would give other facts."""
LARGEST: Final = 1_000_000
"""Bytes. What is larger was made by a machine, for a machine."""

Facts = dict[str, Any]
Read = Callable[[Sequence["FileEntry"]], Iterator[tuple["FileEntry", bytes]]]
"""Gives the contents of entries, in any order; what can't be had is left out."""


def fresh_tree(content: bytes) -> ast.Module:
    """The tree of a file. Raises what `ast.parse` does: SyntaxError, ValueError, RecursionError, MemoryError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an odd escape in somebody's string is not our reader's business
        return ast.parse(content)


last_tree = lru_cache(maxsize=1)(fresh_tree)
"""The same, for reading only and for few files: that of the last one is kept, because who judges a file asks again."""


def parsed(
    content: bytes, facts: Callable[[ast.Module], Facts], tree: Callable[[bytes], ast.Module] = fresh_tree
) -> Facts:
    """What `facts` makes of the file's tree; `unread` facts where there is none. Never raises for bad source."""
    if len(content) > LARGEST:
        return too_large()
    try:
        return facts(tree(content))
    except SyntaxError as problem:
        return unread(f"{problem.lineno or 0}:{max(problem.offset or 0, 0)}: {problem.msg}")
    except RecursionError:
        return unread("0:0: nested too deeply for Python's parser")
    except MemoryError:
        return unread("0:0: nested too deeply, or too large, for Python's parser")
    except ValueError as problem:  # NUL bytes on some Pythons, numbers with thousands of digits
        return unread(f"0:0: {problem}")


def unread(error: str) -> Facts:
    """The facts of a file that could not be read: `error` is "line:column: reason", 0:0 for the file as a whole."""
    none: dict[str, Any] = {"defs": {}, "names": {}, "bases": {}, "types": {}, "stars": [], "all": None}
    empty: Facts = {
        "symbols": [],
        "words": [],
        "imports": [],
        "decorators": {},
        "uses": {},
        "outline": none,
        "names": "",
    }
    return {"error": " ".join(error.split()), **empty}


def too_large() -> Facts:
    """The facts of a file with more than `LARGEST` bytes."""
    return unread(f"0:0: larger than {LARGEST:,} bytes, so it was not read")


def lost() -> Facts:
    """The facts of a file whose content could not be had."""
    return unread("0:0: its content could not be read (too large, or changed meanwhile)")


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Syntax trees and rows have no circles worth looking for; looking costs a tenth of the time and more."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
