"""Executed symbols: what recording them costs a suite, and whether every test that a mutant breaks
had executed it.

`python -m bench.executed_symbols [--suite FOLDER …]` in an environment in which these suites run:
each folder is a git checkout whose tests are in `tests`. Without one the quick tests of attrs,
click, flask and packaging, from clones in `KL_BENCH_CLONES` (see `bench.suite_runs`). First it is
checked that outcomes, exit status and the rest of the output are the same with and without symbols.
The sides then run in turns, after one run that fills the cache of facts, and CPU time is compared,
beside pytest-cov and pytest-testmon where they are installed. `--mutants N` changes N executed
functions of each, one at a time.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import importlib.util
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from bench.measure import ROOT, Failed, cost
from bench.suite_runs import clone_of, found_suites

SIDES = {
    "plain": ("--no-kl",),
    "outcomes alone": ("--kl-symbols=off",),
    "with symbols": ("--kl-symbols=on",),
    "pytest-cov": ("--no-kl", "-p", "pytest_cov", "--cov=src"),
    "pytest-cov, symbols": ("--kl-symbols=on", "-p", "pytest_cov", "--cov=src"),
    "pytest-testmon": ("--no-kl", "-p", "testmon.pytest_testmon", "--testmon-noselect"),
}
NEEDS = {
    "pytest-cov": "pytest_cov",
    "pytest-cov, symbols": "pytest_cov",
    "pytest-testmon": "testmon",
}


def environment(folder: Path, state: Path) -> dict[str, str]:
    """Nothing but our plugin and what a side names; results of earlier runs in a folder of their
    own.
    """
    variables = {k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "CI")}
    return variables | {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder / "src")]),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "KL_STATE": str(state),
        "COVERAGE_FILE": str(state / "coverage"),
        "TESTMON_DATAFILE": str(state / "testmon"),
    }


def command(options: Sequence[str], more: Sequence[str]) -> list[str]:
    """One run of a suite."""
    fixed = ("-q", "-p", "pytest_kl.plugin", "--kl", "-p", "no:cacheprovider", "-p", "no:randomly")
    return [sys.executable, "-m", "pytest", *fixed, *options, *more]


def same_with_and_without(folder: Path, state: Path, more: Sequence[str]) -> bool:
    """Whether outcomes, exit status and output are the same without us and with symbols; prints
    what differs.
    """
    seen = []
    for name in ("plain", "with symbols"):
        run = command(SIDES[name], ["-v", *more])
        done = subprocess.run(
            run,
            cwd=folder,
            env=environment(folder, state),
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )
        lines = (
            re.sub(r"in \d+\.\d+s.*|0x[0-9a-f]+|=+", "", line).strip()
            for line in done.stdout.splitlines()
        )
        seen.append(
            [str(done.returncode), *(line for line in lines if not line.startswith("kl: "))]
        )
    apart = list(difflib.unified_diff(*seen, "without", "with symbols", lineterm="", n=0))
    print(
        f"  outcomes, exit status and output: {'the same' if not apart else 'differ'}",
        *apart[:6],
        sep="\n  ",
    )
    return not apart


def overhead(folder: Path, state: Path, rounds: int, more: Sequence[str]) -> None:
    """Prints the ratio of each side to the plain run."""
    sides = {
        name: some
        for name, some in SIDES.items()
        if importlib.util.find_spec(NEEDS.get(name, "pytest"))
    }
    times: dict[str, list[float]] = {name: [] for name in sides}
    cost(
        *command(sides["with symbols"], more),
        cwd=folder,
        environ=environment(folder, state),
        codes=(0, 1),
    )
    for _ in range(rounds):
        for name, options in sides.items():
            try:
                used = cost(
                    *command(options, more),
                    cwd=folder,
                    environ=environment(folder, state),
                    codes=(0, 1),
                )
                times[name].append(used.cpu)
            except Failed as problem:
                print(f"  {name}: {problem}")
    base, without = (statistics.median(times[name]) for name in ("plain", "outcomes alone"))
    for name, some in times.items():
        if some:
            middle, least = statistics.median(some), min(some)
            ratios = f"{middle / base:.3f}   least {least / min(times['plain']):.3f}"
            ratios += (
                f"   to outcomes alone {middle / without:.3f}" if name == "with symbols" else ""
            )
            print(f"  {name:22} {middle / 1000:7.2f} s CPU   {ratios}")


def outcomes(
    folder: Path, state: Path, more: Sequence[str], options: Sequence[str]
) -> dict[str, str] | None:
    """Test → outcome of one run; None where the tests could not be collected."""
    with tempfile.TemporaryDirectory() as name:
        report = Path(name) / "report.xml"
        run = command(options, [*more, f"--junitxml={report}", "-o", "junit_family=xunit1"])
        done = subprocess.run(
            run,
            cwd=folder,
            env=environment(folder, state),
            capture_output=True,
            check=False,
            timeout=900,
        )
        if done.returncode not in (0, 1) or not report.exists():
            return None
        found = {}
        for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
            inside = [one.tag for one in case]
            bad = "error" in inside or "failure" in inside
            file, names = case.get("file") or "", (case.get("classname") or "").split(".")
            classes = names[len(Path(file).with_suffix("").parts) :]
            found["::".join([file, *classes, case.get("name") or ""])] = (
                "failed" if bad else "passed"
            )
        return found


def mutated(source: str, line: int, name: str) -> str | None:
    """The source with a function that raises at once; None where there is none at this line."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.name == name
            and node.lineno == line
        ):
            first = node.body[0]
            if first.lineno == node.lineno:
                return None
            lines = source.splitlines(keepends=True)
            pad = " " * first.col_offset
            start = min(
                [first.lineno, *(one.lineno for one in getattr(first, "decorator_list", ()))]
            )
            lines.insert(start - 1, f"{pad}raise RuntimeError('mutant')\n")
            return "".join(lines)
    return None


def edges(folder: Path, state: Path, number: int, more: Sequence[str]) -> tuple[int, int]:
    """(tests that broke, those of them that had executed the mutant); prints what was missed."""
    from kl_hooks.evidence.executed import read_executed
    from kl_hooks.store.spool import read_spool

    before = outcomes(folder, state, more, SIDES["with symbols"])
    assert before is not None
    path = max((state / "spool").glob("*.executed"), key=lambda one: one.stat().st_mtime)
    facts = read_spool(path.with_suffix(".jsonl")).records[-1]["environment"]["executed"]
    known = read_executed(path, facts["digest"])
    own = {at for file in known.tests.files.values() for at in file.symbols}
    places = {known.symbols[at].symbol: known.places[known.symbols[at].symbol] for at in own}
    source = [one for one in sorted(places) if not places[one].startswith("test") and ":" in one]
    dice = random.Random(7)
    dice.shuffle(source)
    broke = right = done = 0
    for symbol in source:
        if done >= number:
            break
        found = one_mutant(folder, places[symbol], symbol.rpartition(".")[2], state, more)
        if found is None:
            continue
        done += 1
        failing = [
            test
            for test, outcome in found.items()
            if outcome == "failed" and before.get(test) == "passed"
        ]
        executed = {
            test
            for test in known.tests
            if any(known.symbols[at].symbol == symbol for at in known.dependencies(test))
        }
        missed = [test for test in failing if test not in executed and test not in known.incomplete]
        broke, right = broke + len(failing), right + len(failing) - len(missed)
        if missed:
            print(f"  missed: {symbol}: {len(missed)} of {len(failing)}, such as {missed[0]}")
    print(
        f"  {done} mutants broke {broke} tests; {right} had executed the mutant:"
        f" {right / max(broke, 1):.4f}"
    )
    return broke, right


def one_mutant(
    folder: Path, path: str, name: str, state: Path, more: Sequence[str]
) -> Mapping[str, str] | None:
    """The outcomes with a function that raises."""
    file = folder / path
    text = file.read_text(encoding="utf-8")
    lines = [
        n.lineno
        for n in ast.walk(ast.parse(text))
        if getattr(n, "name", None) == name and hasattr(n, "body")
    ]
    changed = mutated(text, lines[0], name) if len(lines) == 1 else None
    if changed is None:
        return None
    try:
        file.write_text(changed, encoding="utf-8")
        return outcomes(folder, state, more, SIDES["plain"])
    finally:
        file.write_text(text, encoding="utf-8")


def suites(named: Sequence[str]) -> Iterator[tuple[Path, list[str]]]:
    """Folder and further arguments of each: `FOLDER` or `FOLDER::ARGUMENT ARGUMENT`."""
    for one in named:
        folder, _, rest = one.partition("::")
        yield Path(folder).resolve(), rest.split() or ["tests"]


def main() -> int:
    """Prints the figures; 1 where recording changed a run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", action="append", default=[])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mutants", type=int, default=0)
    asked = parser.parse_args()
    totals = [0, 0]
    same = True
    with ExitStack() as stack:
        named = list(suites(asked.suite))
        for suite, path in [] if named else found_suites(()):
            named.append((stack.enter_context(clone_of(path)), list(suite.quick)))
        for folder, more in named:
            print(f"{folder.name}: {' '.join(more)}", flush=True)
            with tempfile.TemporaryDirectory() as name:
                same &= same_with_and_without(folder, Path(name), more)
                if asked.rounds:
                    overhead(folder, Path(name), asked.rounds, more)
                if asked.mutants:
                    broke, right = edges(folder, Path(name), asked.mutants, more)
                    totals = [totals[0] + broke, totals[1] + right]
    if asked.mutants:
        print(
            json.dumps(
                {
                    "broke": totals[0],
                    "had_executed": totals[1],
                    "recall": totals[1] / max(totals[0], 1),
                }
            )
        )
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
