"""Reads every Python file of a folder once: `python bench/scans.py ast|ours|griffe|grimp|aider
FOLDER [PACKAGE …]`.

Each way is a process of its own, so that its CPU time and its memory are its own; the interpreter
is one that has the peer. Only the standard library is imported before the way is known. Prints how
many files were read.
"""

from __future__ import annotations

import ast
import os
import sys
import warnings
from collections.abc import Iterator, Sequence


def paths(folder: str, below: Sequence[str] = ()) -> Iterator[str]:
    """The Python files of a folder, or of some folders in it; none in a folder whose name starts
    with a dot.
    """
    for top in [os.path.join(folder, one) for one in below] or [folder]:  # noqa: PTH118
        for place, folders, names in os.walk(top):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            yield from (os.path.join(place, name) for name in sorted(names) if name.endswith(".py"))  # noqa: PTH118


def contents(folder: str, below: Sequence[str] = ()) -> Iterator[tuple[str, bytes]]:
    """Path and content of each."""
    for path in paths(folder, below):
        with open(path, "rb") as file:  # noqa: PTH123
            yield path, file.read()


def by_ast(folder: str, packages: Sequence[str]) -> int:
    """The limit: Python's own parser, its trees thrown away. Of the packages alone where some are
    named.
    """
    number = 0
    for _, content in contents(folder, packages):
        try:
            ast.parse(content)
        except (SyntaxError, ValueError, RecursionError):
            continue
        number += 1
    return number


def by_ours(folder: str, packages: Sequence[str]) -> int:
    """Our scanner, its facts thrown away."""
    from kl_hooks.code.file_facts import no_garbage_collection
    from kl_hooks.code.scanner.python import scan_guarded

    number = 0
    with no_garbage_collection():
        for path, content in contents(folder):
            number += not scan_guarded(content, path, "_")["error"]
    return number


def by_griffe(folder: str, packages: Sequence[str]) -> int:
    """griffe's visitor, file by file, nothing resolved between them."""
    from pathlib import Path

    import griffe

    number = 0
    for path, content in contents(folder):
        try:
            griffe.visit("module", Path(path), content.decode("utf-8"))
        except (SyntaxError, ValueError, RecursionError):
            continue
        number += 1
    return number


def by_grimp(folder: str, packages: Sequence[str]) -> int:
    """grimp's graph of imports, without its cache: of the packages only."""
    import grimp

    sys.path.insert(0, folder)
    return len(grimp.build_graph(packages[0], *packages[1:], cache_dir=None).modules)


def by_aider(folder: str, packages: Sequence[str]) -> int:
    """aider's map of the repository, in 1,024 tokens of its own rough count; its cache of tags is
    in `folder`.
    """
    from aider.io import InputOutput
    from aider.repomap import RepoMap

    class Counting:
        """What aider asks of a model for its map."""

        def token_count(self, text: str) -> int:
            """A quarter of the letters."""
            return len(text) // 4

    files = list(paths(folder))
    RepoMap(root=folder, main_model=Counting(), io=InputOutput(yes=True)).get_repo_map([], files)
    return len(files)


WAYS = {"ast": by_ast, "ours": by_ours, "griffe": by_griffe, "grimp": by_grimp, "aider": by_aider}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(WAYS[sys.argv[1]](sys.argv[2], sys.argv[3:]))
