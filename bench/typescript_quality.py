"""Compares the TypeScript scanner and the linker with the TypeScript compiler: `python -m
bench.typescript_quality [--differences N] [PACKAGE@VERSION …]`.

The packages come from npm with their sources (`npm pack`), the compiler too. Printed are precision
and recall of symbols, the share of imports that mean the same file, and precision and recall of
uses of imported names. Needs node and npm; nothing of a package is run.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kl_hooks.code.query.session import open_graph
from kl_hooks.graph import links
from kl_hooks.workspace import open_workspace

COMPILER = "typescript@5.6.3"
PACKAGES = (
    "rxjs@7.8.1",
    "@reduxjs/toolkit@2.3.0",
    "mobx@6.13.5",
    "@trpc/server@10.45.2",
    "zod@4.1.0",
)
ORACLE = Path(__file__).parent / "data" / "typescript_oracle.js"
SOURCES = (".ts", ".tsx", ".mts", ".cts", "package.json", "tsconfig.json")


class Score(NamedTuple):
    """How many of what was compared are in both, and what is on one side alone."""

    common: int
    missed: list[str]
    extra: list[str]

    @property
    def recall(self) -> float:
        """Of what the compiler knows, the share that is found."""
        return self.common / max(self.common + len(self.missed), 1)

    @property
    def precision(self) -> float:
        """Of what is found, the share that the compiler knows."""
        return self.common / max(self.common + len(self.extra), 1)


def score(theirs: set[Any], ours: set[Any]) -> Score:
    """The score of two sets."""
    return Score(
        len(theirs & ours), sorted(map(str, theirs - ours)), sorted(map(str, ours - theirs))
    )


def pack(package: str, folder: Path) -> Path:
    """Download a package and unpack it; returns its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    command = ["npm", "pack", "--silent", package]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    with tarfile.open(folder / done.stdout.split()[-1]) as archive:
        archive.extractall(folder, filter="data")
    return next(path for path in folder.iterdir() if path.is_dir())


def repository(package: Path, folder: Path) -> Path:
    """A repository with the sources of a package, without what it built."""
    for path in package.rglob("*"):
        inner = path.relative_to(package)
        is_source = "src" in inner.parts or inner.parent == Path()
        if path.is_file() and is_source and path.name.endswith(SOURCES):
            if ".d." in path.name and "src" not in inner.parts:
                continue
            target = folder / inner
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def compiler_facts(compiler: Path, folder: Path) -> dict[str, Any]:
    """What the compiler knows of a folder."""
    command = ["node", str(ORACLE), str(compiler / "lib" / "typescript.js"), str(folder)]
    done = subprocess.run(command, capture_output=True, check=True)
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


def compare(theirs: Mapping[str, Any], folder: Path, state: Path) -> dict[str, Score]:
    """The scores of one repository."""
    environ = {"HOME": str(state), "KL_STATE": str(state / "state")}
    symbols: set[str] = set()
    imports: dict[str, set[str]] = {}
    uses: set[tuple[str, int, str]] = set()
    with open_graph(open_workspace(folder, environ=environ)) as graph:
        rows = graph.db.rows(
            "SELECT r.sort, f.path, r.outer, r.name FROM symbol_rows r JOIN files f ON "
            "f.number = r.file"
        )
        for sort, path, outer, name in rows:
            suffix = outer if sort == "namespace" else outer + name
            if path in theirs and suffix and "<locals>" not in suffix:
                symbols.add(f"{path} {sort}:{suffix.removeprefix('#')}")
        for link in links.every(graph.db):
            if link.path not in theirs:
                continue
            prefix, _, target = link.target.partition(":")
            if link.relation == "imports" and prefix == "namespace":
                imports.setdefault(f"{link.path}:{link.line}", set()).add(target)
            elif link.relation != "imports" and link.method in ("import", "star import"):
                path, sign, name = target.partition("#")
                if sign and "." not in name and path != link.path:
                    uses.add((link.path, link.line, target))
    known = {f"{path} {text}" for path, facts in theirs.items() for text in facts["symbols"]}
    return {
        "symbols": score(known, symbols),
        "imports": _imports(theirs, imports),
        "references": _references(theirs, uses),
    }


def _imports(theirs: Mapping[str, Any], ours: Mapping[str, set[str]]) -> Score:
    common, missed, extra = 0, [], []
    for path, facts in theirs.items():
        for line, specifier, file in facts["imports"]:
            targets = ours.get(f"{path}:{line}", set())
            inside = {target for target in targets if (target in theirs)}
            if file == path or (file in targets if file else not inside):
                common += 1
            elif file:
                missed.append(f"{path}:{line} {specifier} → {file}, not {sorted(targets)}")
            else:
                extra.append(f"{path}:{line} {specifier} → outside, not {sorted(targets)}")
    return Score(common, missed, extra)


def _references(theirs: Mapping[str, Any], ours: set[tuple[str, int, str]]) -> Score:
    known: set[tuple[str, int, str]] = set()
    missed: list[str] = []
    common = 0
    for path, facts in theirs.items():
        for line, name, targets in facts["references"]:
            shown = [target for target in targets if "." not in target.partition("#")[2]]
            known |= {(path, line, target) for target in targets}
            if not shown or path in {target.partition("#")[0] for target in targets}:
                continue
            if any((path, line, target) in ours for target in shown):
                common += 1
            else:
                missed.append(f"{path}:{line} {name} → {shown}")
    extra = [
        f"{path}:{line} → {target}"
        for path, line, target in sorted(ours - known)
        if theirs[path]["isWhole"]
    ]
    return Score(common, missed, extra)


def _lines(name: str, package: str, one: Score, number: int) -> Iterator[str]:
    total = one.common + len(one.missed)
    yield f"| {package} | {name} | {total} | {one.precision:.4f} | {one.recall:.4f} |"
    for text in one.missed[:number]:
        yield f"    missed {text}"
    for text in one.extra[:number]:
        yield f"    extra  {text}"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.typescript_quality")
    parser.add_argument("packages", nargs="*", default=PACKAGES, metavar="PACKAGE@VERSION")
    parser.add_argument("--differences", type=int, default=0, metavar="N", help="of each sort")
    arguments = parser.parse_args()
    if not shutil.which("npm") or not shutil.which("node"):
        sys.stderr.write("bench.typescript_quality needs node and npm.\n")
        return 3
    sys.stdout.write("| package | what | number | precision | recall |\n|---|---|---|---|---|\n")
    with tempfile.TemporaryDirectory(prefix="kl-typescript-") as name:
        base = Path(name)
        compiler = pack(COMPILER, base / "compiler")
        for place, package in enumerate(arguments.packages):
            source = pack(package, base / f"package-{place}")
            folder = base / f"repository-{place}"
            folder.mkdir()
            repository(source, folder)
            theirs = compiler_facts(compiler, folder)
            scores = compare(theirs, folder, base / f"home-{place}")
            for what, one in scores.items():
                for line in _lines(what, package, one, arguments.differences):
                    sys.stdout.write(line + "\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
