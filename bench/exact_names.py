"""Whether a class or function that a task names wins: its file comes first.

    python -m bench.exact_names CLONE [CLONE …] [--tasks N] [--losses]

Each clone is a repository with `.kl/`. Of its source, classes and functions at the top level of a
module are taken whose name is defined once: in turn a class of one word (`Resolver`), a class of
several (`HttpParser`), a function of one word (`echo`) and one of several (`format_filename`), in
the order of a digest of the name. The task is a sentence about the name, as users write them. The
figure is the share of tasks whose best file of source is the one that defines the name.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Final, NamedTuple

from kl_hooks.code.query.session import open_graph
from kl_hooks.context.ranking import rank_code
from kl_hooks.index.postings import SOURCE, corpus_of
from kl_hooks.workspace import Workspace, open_workspace

_TASKS: Final = (
    "{} ignores the timeout that was given",
    "Why does {} fail with an empty list?",
    "Add an option to {} to stop early",
    "A warning is printed twice by {} when it is called again",
    "The error message of {} should name the file",
)
_HUMP: Final = re.compile(r"[a-z0-9][A-Z]")


class NamedTask(NamedTuple):
    """A task that names something."""

    text: str
    path: str
    """The file that defines it."""


def named_tasks(ws: Workspace, most: int) -> list[NamedTask]:
    """Return tasks that name a class or function of the source, each kind in turn."""
    with open_graph(ws) as graph:
        rows = graph.db.rows(
            "SELECT r.name, r.sort, r.outer, f.path FROM symbol_rows r"
            " JOIN files f ON f.number = r.file WHERE r.sort IN ('type', 'interface', 'function')"
        )
    paths_of: dict[str, list[tuple[str, bool, str]]] = {}
    for name, sort, outer, path in rows:
        if corpus_of(path) == SOURCE:
            paths_of.setdefault(name, []).append((path, sort != "function", outer))
    groups: dict[tuple[bool, bool], list[tuple[str, str]]] = {}
    for name in sorted(paths_of, key=lambda name: sha256(name.encode()).digest()):
        (path, is_class, outer), *others = paths_of[name]
        if not others and outer == "." and not name.startswith("_") and len(name) > 2:
            has_words = "_" in name or bool(_HUMP.search(name))
            groups.setdefault((is_class, has_words), []).append((name, path))
    in_turn = chain.from_iterable(zip_longest(*(groups[key] for key in sorted(groups))))
    chosen = islice((pair for pair in in_turn if pair), most)
    return [
        NamedTask(_TASKS[number % len(_TASKS)].format(name), path)
        for number, (name, path) in enumerate(chosen)
    ]


def losses(ws: Workspace, tasks: Sequence[NamedTask]) -> Iterator[tuple[NamedTask, str]]:
    """Yield each task whose file is not the best one of source, and which is."""
    for task in tasks:
        files = [file.path for file in rank_code(ws, task.text).files if file.is_source]
        best = files[0] if files else ""
        if best != task.path:
            yield task, best


def main() -> None:
    """Print the figure of each clone, and of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clones", nargs="+", type=Path)
    parser.add_argument("--tasks", type=int, default=80)
    parser.add_argument("--losses", action="store_true")
    options = parser.parse_args()
    wins = total = 0
    for clone in options.clones:
        ws = open_workspace(clone.resolve())
        tasks = named_tasks(ws, options.tasks // len(options.clones))
        lost = list(losses(ws, tasks))
        wins, total = wins + len(tasks) - len(lost), total + len(tasks)
        print(f"{clone.name}: {len(tasks) - len(lost)} of {len(tasks)} first")
        for task, best in lost if options.losses else ():
            print(f"  {task.text}  {task.path}: {best}")
    print(f"all: {wins} of {total}")


if __name__ == "__main__":
    main()
