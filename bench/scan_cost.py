"""What a cold graph costs, against `ast.parse` of the same files and against peers, where they are
installed.

python -m bench.scan_cost [--repository django|large] [--rounds 3] [--no-slow]

Peers: universal-ctags, griffe, grimp, and aider's map (measured once: it takes long), from the
environments that `KL_BENCH_PEERS` names, too. Without a network and without a copy in the cache it
reports that and measures nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from bench import peers
from bench.measure import Cost, Side, cost, median_costs, tree_peak
from bench.repositories import NAMES, NotHere, Repository, repository
from bench.table import Row, against, missing, show

SCANS = str(Path(__file__).with_name("scans.py"))
AST, AST_PACKAGES = "ast.parse of all files", "ast.parse of the packages"
OURS, BUILD, CTAGS, GRIFFE, GRIMP, AIDER = (
    "our scan alone",
    "kl graph build, cold",
    "ctags (definitions)",
    "griffe (visit)",
    "grimp (imports)",
    "aider's map",
)


def cold(repo: Repository) -> Side:
    """`kl graph build` from nothing: symbols, links, terms, on disk."""

    def once() -> Cost:
        repo.forget()
        return cost(*repo.kl("graph", "build"), cwd=repo.top, environ=repo.environ())

    return once


def scan(repo: Repository, way: str, python: str = sys.executable, *packages: str) -> Side:
    """One of `bench.scans`."""
    return lambda: cost(
        python, SCANS, way, str(repo.top), *packages, cwd=repo.top, environ=repo.environ()
    )


def sides(repo: Repository) -> dict[str, Side]:
    """Name → side, of what is installed."""
    found: dict[str, Side] = {AST: scan(repo, "ast"), OURS: scan(repo, "ours"), BUILD: cold(repo)}
    ctags, griffe, grimp = (
        peers.ctags(),
        peers.interpreter_with("griffe"),
        peers.interpreter_with("grimp"),
    )
    if ctags:
        args = (ctags, "-R", "--languages=Python", "-f", os.devnull, ".")
        found[CTAGS] = lambda: cost(*args, cwd=repo.top, environ=repo.environ())
    if griffe:
        found[GRIFFE] = scan(repo, "griffe", griffe)
    if grimp:
        found[AST_PACKAGES] = scan(repo, "ast", sys.executable, *repo.packages)
        found[GRIMP] = scan(repo, "grimp", grimp, *repo.packages)
    return found


def slow(repo: Repository) -> tuple[Cost, Cost] | None:
    """aider's map from nothing, and `ast.parse` next to it; None where aider is not installed."""
    python = peers.interpreter_with("aider")
    if python is None:
        return None
    for left in repo.top.glob(".aider*"):
        shutil.rmtree(left, ignore_errors=True)
    both = median_costs(
        {AIDER: scan(repo, "aider", python), AST: scan(repo, "ast")}, 1, False, (AIDER,)
    )
    return (both[AIDER], both[AST]) if AIDER in both else None


def rows(seen: dict[str, Cost], aider: tuple[Cost, Cost] | None, looked: bool = True) -> list[Row]:
    """The table. Pure."""
    limit, build = seen[AST], seen[BUILD]
    made = [Row(AST, f"{limit.cpu:,.0f} ms CPU", 1.0, AST)]
    made += [
        against(OURS, seen[OURS].cpu, limit.cpu, AST),
        against(BUILD, build.cpu, limit.cpu, AST, 1.5),
    ]
    made.append(
        against(f"{BUILD}, on the clock", build.wall, limit.wall, f"{AST}, on the clock", 0.9, "ms")
    )
    for name, base in ((CTAGS, AST), (GRIFFE, AST), (GRIMP, AST_PACKAGES)):
        there = name in seen
        made.append(against(name, seen[name].cpu, seen[base].cpu, base) if there else missing(name))
    if looked:
        made.append(against(AIDER, aider[0].cpu, aider[1].cpu, AST) if aider else missing(AIDER))
    return made


def memory(repo: Repository, seen: dict[str, Cost]) -> list[Row]:
    """The rows about memory: the largest process of each, and all processes together."""
    largest = against(
        f"{BUILD}: largest process", seen[BUILD].peak, seen[AST].peak, "bare ast scan", 2, "MB"
    )
    repo.forget()
    asked: Callable[..., float | None] = tree_peak
    whole = asked(*repo.kl("graph", "build"), cwd=repo.top, environ=repo.environ())
    bare = asked(sys.executable, SCANS, "ast", str(repo.top), cwd=repo.top, environ=repo.environ())
    name = f"{BUILD}: all its processes"
    if not whole or not bare:
        return [largest, missing(name, "not reported by this system")]
    return [largest, against(name, whole, bare, "bare ast scan", 2, "MB")]


def facts(repo: Repository) -> str:
    """What the graph holds, as a line."""
    asked = repo.kl("graph", "build", "--format", "json")
    run = subprocess.run(asked, cwd=repo.top, env=repo.environ(), check=True, capture_output=True)
    counted = json.loads(run.stdout)
    size = sum(path.stat().st_size for path in (repo.top / ".git" / "kl" / "graph").iterdir()) / 1e6
    counts = (
        f"{counted['files']:,} files, {counted['symbols']:,} symbols, {counted['links']:,} links"
    )
    return f"  {counts}; {len(counted['problems'])} files not assessed; database {size:.0f} MB"


def main() -> None:
    """Measures and prints."""
    options = argparse.ArgumentParser()
    options.add_argument("--repository", choices=NAMES, default="django")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--no-slow", action="store_true", help="leave out what takes minutes")
    asked = options.parse_args()
    try:
        repo = repository(asked.repository)
    except NotHere as why:
        print(f"not measured: {why}")
        return
    seen = median_costs(sides(repo), asked.rounds, asked.rounds > 1, (CTAGS, GRIFFE, GRIMP))
    aider = None if asked.no_slow else slow(repo)
    made = rows(seen, aider, not asked.no_slow) + memory(repo, seen)
    show(f"Cold graph of {asked.repository}: {asked.rounds} rounds", made)
    print(facts(repo), flush=True)


if __name__ == "__main__":
    main()
