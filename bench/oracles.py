"""Compares the fast scanner with libcst and grimp on whole corpora: `python -m bench.oracles
[--sample N] [CORPUS …]`.

Prints a table and every difference; exit 1 if there is one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from bench.corpora import SDISTS, library, python_files, unpacked
from bench.measure import ROOT
from kl_hooks.code.file_facts import modules_of
from kl_hooks.code.precise.compare import compare_imports, export_packages
from kl_hooks.code.precise.process import assess_files, grimp_edges
from kl_hooks.code.scanner.parser import no_garbage_collection
from kl_hooks.code.scanner.python import imports_guarded
from kl_hooks.errors import EnvironmentProblem


@dataclass
class Result:
    """What was compared of one corpus, and how long it took (seconds on the clock)."""

    files: int = 0
    refused: int = 0
    """By CPython's parser, and so by the fast scanner."""
    compared: int = 0
    definitions: int = 0
    imports: int = 0
    edges: int = 0
    differences: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    """Files that libcst could not read; grimp as a whole."""
    unseen: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


def sample(files: Mapping[str, bytes], number: int) -> dict[str, bytes]:
    """`number` of the files, always the same, in an order that has nothing to do with their
    names.
    """
    order = sorted(files, key=lambda path: sha256(path.encode("utf-8", "surrogateescape")).digest())
    return {path: files[path] for path in sorted(order[:number])}


def hold(
    files: Mapping[str, bytes], number: int = 0, with_edges: bool = True, largest: int = 0
) -> Result:
    """Compares the files of a corpus: definitions and imports of all or `number` of them (none over
    `largest` bytes, if given: libcst takes a minute for some), edges of all: those of the short way
    to imports, which the gate goes.
    """
    result = Result(len(files))
    started = time.perf_counter()
    with no_garbage_collection():
        facts = {path: imports_guarded(content, path) for path, content in files.items()}
    result.seconds["fast"] = time.perf_counter() - started
    good = {path: one for path, one in facts.items() if not one["error"]}
    result.refused = len(files) - len(good)
    modules = modules_of(good)
    chosen = {path: files[path] for path in good if not largest or len(files[path]) <= largest}
    chosen = sample(chosen, number or len(chosen))
    _definitions(result, chosen, modules)
    if with_edges:
        edges_of(result, good, files, modules)
    return result


def _definitions(result: Result, chosen: Mapping[str, bytes], modules: Mapping[str, str]) -> None:
    started = time.perf_counter()
    answers = assess_files([(path, modules[path], content) for path, content in chosen.items()])
    result.seconds["libcst"] = time.perf_counter() - started
    for path, one in sorted(answers.items()):
        if "differences" not in one:
            result.failed.append(f"{path}: {one.get('failed') or one.get('skipped')}")
            continue
        result.compared += 1
        result.definitions += one["definitions"]
        result.imports += one["imports"]
        for line, what, fast, libcst in one["differences"]:
            line_text = f"{path}:{line}: {what}: fast {fast}, libcst {libcst}"
            result.differences.append(line_text)


def edges_of(
    result: Result, facts: dict[str, Any], files: Mapping[str, bytes], modules: dict[str, str]
) -> None:
    """Compares the imports between the modules of a corpus with grimp's edges, and adds what that
    gave to `result`.
    """
    with tempfile.TemporaryDirectory() as folder:
        packages = export_packages(Path(folder), ((path, files[path]) for path in facts), modules)
        started = time.perf_counter()
        try:
            seen, theirs = grimp_edges(packages)
        except EnvironmentProblem as problem:
            result.failed.append(str(problem))
            return
        result.seconds["grimp"] = time.perf_counter() - started
    result.edges, rows, result.unseen = compare_imports(facts, modules, seen, theirs)
    result.differences += [
        f"{path}:{line}: {what}: fast {ours}, grimp {yours}"
        for path, line, what, ours, yours in rows
    ]


def corpus(name: str, folder: Path) -> dict[str, bytes]:
    """The files of a corpus: `self`, `Lib`, one of `SDISTS`, or a folder."""
    if name == "self":
        return {
            p: c
            for p, c in python_files(ROOT).items()
            if p.startswith(("kl_hooks/", "pytest_kl/", "tests/", "bench/"))
        }
    if name == "Lib":
        return python_files(library())
    return python_files(unpacked(name, folder / name) if name in SDISTS else Path(name))


def main() -> int:
    """1 if there is a difference."""
    parser = argparse.ArgumentParser(prog="python -m bench.oracles")
    parser.add_argument("corpora", nargs="*", default=["self", "Lib", *SDISTS])
    parser.add_argument(
        "--sample", type=int, default=0, help="files of each corpus for libcst (default: all)"
    )
    given = parser.parse_args()
    bad = 0
    print(
        "| corpus | files | refused | compared | definitions | imports | edges | differences | not"
        " assessed | fast s |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in given.corpora:
            result = hold(corpus(name, Path(folder)), given.sample)
            bad += len(result.differences)
            _show(name, result)
    return 1 if bad else 0


def _show(name: str, result: Result) -> None:
    numbers = (
        result.files,
        result.refused,
        result.compared,
        result.definitions,
        result.imports,
        result.edges,
    )
    ends = (len(result.differences), len(result.failed), f"{result.seconds['fast']:.1f}")
    print(f"| {Path(name).name} | {' | '.join(map(str, (*numbers, *ends)))} |", flush=True)
    times = ", ".join(f"{what} {seconds:.1f} s" for what, seconds in result.seconds.items())
    print(f"    {times}; not compared with grimp: {result.unseen}", file=sys.stderr)
    for line, times_seen in Counter([*result.differences, *result.failed]).items():
        print(
            f"    {line}{f' ({times_seen}x)' if times_seen > 1 else ''}",
            file=sys.stderr,
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
