"""What scanning TypeScript and Rust costs, against tree-sitter's own parse of the same files, and
what a cold graph of many files does:
`python -m bench.language_cost [--files 10000] [--rounds 3] FOLDER …`.

A folder has sources of one language, such as a clone; nothing of it is run. Between the two is
a walk that asks the kind of every named node: no reader of the tree in Python is faster. For
a cold graph the files are copied until there are as many as asked. With Python's files the limit is
`ast.parse`. CPU seconds, the least of interleaved rounds.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from bench.measure import cost
from kl_hooks.code.file_facts import no_garbage_collection
from kl_hooks.code.languages import scan_file, scanners_of
from kl_hooks.code.scanner.grammars import parser_of
from kl_hooks.workspace import open_workspace

GRAMMARS: Final = {".rs": "rust", ".ts": "typescript", ".tsx": "tsx", ".js": "javascript"}
_LARGEST: Final = 1_000_000


def sources(folder: Path) -> dict[str, bytes]:
    """Path in the folder → content, of the files of a grammar, else of Python's."""
    files = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.suffix in (*GRAMMARS, ".py") and path.is_file() and ".git" not in path.parts
    }
    others = {path: content for path, content in files.items() if Path(path).suffix in GRAMMARS}
    return {path: text for path, text in (others or files).items() if len(text) < _LARGEST}


def seconds(work: Callable[[Mapping[str, bytes]], object], contents: Mapping[str, bytes]) -> float:
    """CPU seconds of one call in this process."""
    start = time.process_time()
    with no_garbage_collection():
        work(contents)
    return time.process_time() - start


def parse(contents: Mapping[str, bytes]) -> None:
    """The limit: the trees are thrown away."""
    for path, content in contents.items():
        grammar = GRAMMARS.get(Path(path).suffix)
        if grammar:
            parser_of(grammar).parse(content)
        else:
            ast.parse(content)


def walk(contents: Mapping[str, bytes]) -> None:
    """Parse, and ask the kind of every named node."""
    kinds = set()
    for path, content in contents.items():
        cursor = parser_of(GRAMMARS[Path(path).suffix]).parse(content).walk()
        is_going_down = True
        while True:
            if is_going_down:
                node = cursor.node
                if node is not None and node.is_named:
                    kinds.add(node.type)
                if cursor.goto_first_child():
                    continue
            if cursor.goto_next_sibling():
                is_going_down = True
            elif cursor.goto_parent():
                is_going_down = False
            else:
                break


def scan(contents: Mapping[str, bytes]) -> None:
    """All facts of each file."""
    scanners = scanners_of(open_workspace(Path.cwd()))
    for path, content in contents.items():
        scan_file(path, content, "_", scanners)


def cold_graph(contents: Mapping[str, bytes], number: int) -> tuple[float, float]:
    """CPU seconds of (`kl graph build` from nothing, the parse) of this number of files."""
    copies = {}
    while len(copies) < number:
        folder = f"copy{len(copies)}"
        # facts are remembered by content: each file has one of its own
        copies |= {
            f"{folder}/{path}": text + _comment(path, len(copies))
            for path, text in contents.items()
        }
    chosen = dict(list(copies.items())[:number])
    with tempfile.TemporaryDirectory() as place:
        top = Path(place) / "repository"
        for path, content in chosen.items():
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_bytes(content)
        (top / ".kl").mkdir()
        (top / ".kl" / "config.yaml").write_text("version: 1\n")
        for command in (["init", "-q"], ["add", "-A"]):
            subprocess.run(["git", *command], cwd=top, check=True)
        build = cost(sys.executable, "-m", "kl_hooks", "graph", "build", cwd=top)
    return build.cpu / 1000, seconds(parse, chosen)


def _comment(path: str, number: int) -> bytes:
    sign = "#" if path.endswith(".py") else "//"
    return f"\n{sign} {number}\n".encode()


def report(folder: Path, rounds: int, number: int) -> str:
    """A line for a folder."""
    contents = sources(folder)
    ways = [parse, scan] if any(path.endswith(".py") for path in contents) else [parse, walk, scan]
    least = {way: min(seconds(way, contents) for _ in range(rounds)) for way in ways}
    size = sum(map(len, contents.values())) / 1e6
    words = [f"{folder.name}: {len(contents)} files, {size:.1f} MB, parse {least[parse]:.2f} s"]
    words += [f"{way.__name__} {least[way] / least[parse]:.1f} x" for way in ways[1:]]
    if number:
        build, parsed = cold_graph(contents, number)
        words.append(f"cold graph of {number:,} files {build:.0f} s, {build / parsed:.1f} x parse")
    return "; ".join(words)


def main(args: Sequence[str] | None = None) -> int:
    """Prints a line for each folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=0, help="of a cold graph; 0: none is built")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("folders", nargs="+", type=Path)
    options = parser.parse_args(args)
    for folder in options.folders:
        print(report(folder, options.rounds, options.files), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
