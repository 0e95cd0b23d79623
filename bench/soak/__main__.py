"""Inject faults for as long as you let it, and check what kl promises.

    python -m bench.soak [--minutes 60] [--only kills,power] [--seed 7] [--share 4]
        [--folder DIR] [--figures]

Rounds are decided by the seed, which is printed, and by their number: a problem is played again
with `--seed`, `--only` and `--round`. What was done is in `soak.json` of the folder; called again,
the soak goes on after it. It ends with 1 where a problem was found. `--figures` writes what was
reached to bench/data/soak.json, from which docs/faults.md is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bench.measure import ROOT
from bench.soak.preload import Faults, build

FIGURES: Final = ROOT / "bench" / "data" / "soak.json"
_SHOWN: Final = 5.0
"""Seconds between two lines of progress."""


class State:
    """What was done under a seed, in a file."""

    def __init__(self, file: Path, seed: int) -> None:
        self._file = file
        self.seed = seed
        self.subjects: dict[str, dict[str, Any]] = {}
        if file.exists():
            content = json.loads(file.read_text("utf-8"))
            if content["seed"] == seed:
                self.subjects = content["subjects"]

    def of(self, name: str) -> dict[str, Any]:
        """The rounds and units of a subject, and its problems."""
        return self.subjects.setdefault(name, {"rounds": 0, "done": 0, "problems": []})

    def save(self) -> None:
        """Write it, whole or not at all."""
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps({"seed": self.seed, "subjects": self.subjects}, indent=1))
        new.replace(self._file)


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=0.0, help="so long; 0: until all is done")
    parser.add_argument("--only", default="", help="subjects, with commas")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=0, help="so many rounds of each subject")
    parser.add_argument("--share", type=int, default=1, help="one of so many cases of a round")
    parser.add_argument("--round", type=int, default=None, help="play this round again")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "kl-soak")
    parser.add_argument("--figures", action="store_true", help="write bench/data/soak.json")
    return parser.parse_args(argv)


def with_library(folder: Path) -> Path | None:
    """The library, where this process was started with it; otherwise start it so. None: it can't
    be compiled here.
    """
    library = build(folder / "library")
    if library is None:
        return None
    if str(library) not in os.environ.get("LD_PRELOAD", ""):
        # bytecode is wanted: every run of pytest would compile the plugin again
        variables = {**os.environ, "LD_PRELOAD": str(library)}
        variables.pop("PYTHONDONTWRITEBYTECODE", None)
        command = [sys.executable, "-m", "bench.soak", *sys.argv[1:]]
        os.execve(sys.executable, command, variables)
    return library


def main(argv: Sequence[str] | None = None) -> int:
    """1 where a promise was broken, 3 where this machine can't inject faults."""
    options = arguments(argv)
    library = with_library(options.folder)
    if library is None:
        print("soak: needs Linux and a C compiler (cc).", file=sys.stderr)
        return 3
    # after the start with the library: these import all of kl
    from bench.soak.stage import Stage
    from bench.soak.subjects import SUBJECTS

    names = set(filter(None, options.only.split(",")))
    chosen = [subject for subject in SUBJECTS if not names or subject.name in names]
    print(f"soak: seed {options.seed}, folder {options.folder}", flush=True)
    state = State(options.folder / "soak.json", options.seed)
    memory = Path("/dev/shm")
    place = memory if os.access(memory, os.W_OK) else options.folder
    with tempfile.TemporaryDirectory(prefix="kl-soak-", dir=place) as folder:
        stage = Stage(Path(folder), Faults(library), options.share)
        soak(stage, chosen, state, options)
    lines = table(chosen, state)
    print("\n".join(lines))
    if options.figures:
        write_figures(SUBJECTS, state)
    return int(any(state.of(subject.name)["problems"] for subject in chosen))


def soak(stage: Any, subjects: Sequence[Any], state: State, options: argparse.Namespace) -> None:
    """Play rounds of the subjects in turn, each with its share of what is asked."""
    end = time.monotonic() + options.minutes * 60 if options.minutes else float("inf")
    shown = 0.0
    played = dict.fromkeys((subject.name for subject in subjects), 0)
    while True:
        waiting = [
            subject
            for subject in subjects
            if state.of(subject.name)["done"] < subject.asked
            and (not options.rounds or played[subject.name] < options.rounds)
        ]
        if not waiting or time.monotonic() >= end:
            return
        subject = min(
            waiting,
            key=lambda waiting_subject: (
                state.of(waiting_subject.name)["done"] / waiting_subject.asked
            ),
        )
        figures = state.of(subject.name)
        number = figures["rounds"] if options.round is None else options.round
        dice = random.Random(f"{state.seed} {subject.name} {number}")
        outcome = subject.play(stage, dice, number)
        figures["rounds"] += 1
        figures["done"] += outcome.done
        for problem in outcome.problems:
            figures["problems"].append(f"round {number}: {problem}")
            print(f"soak: {subject.name}, round {number}: {problem}", file=sys.stderr, flush=True)
        played[subject.name] += 1
        state.save()
        if time.monotonic() - shown > _SHOWN:
            shown = time.monotonic()
            print(progress(subjects, state), file=sys.stderr, flush=True)
        if options.round is not None:
            return


def progress(subjects: Sequence[Any], state: State) -> str:
    """One line: how far each subject is."""
    parts = [
        f"{subject.name} {state.of(subject.name)['done']:,}/{subject.asked:,}"
        for subject in subjects
    ]
    return f"soak: {', '.join(parts)}"


def table(subjects: Sequence[Any], state: State) -> list[str]:
    """What was reached, a line for each subject."""
    lines = [f"{'subject':10} {'asked':>8} {'reached':>8}  {'unit':12} problems"]
    for subject in subjects:
        figures = state.of(subject.name)
        lines.append(
            f"{subject.name:10} {subject.asked:8,} {figures['done']:8,}  {subject.unit:12}"
            f" {len(figures['problems'])}"
        )
    return lines


def write_figures(subjects: Sequence[Any], state: State) -> None:
    """Write what was reached under this seed for docs/faults.md, beside what was under others."""
    content = json.loads(FIGURES.read_text("utf-8")) if FIGURES.exists() else {"seeds": {}}
    content["subjects"] = {
        subject.name: {
            "injected": subject.injected,
            "unit": subject.unit,
            "asked": subject.asked,
        }
        for subject in subjects
    }
    content["seeds"][str(state.seed)] = {
        "date": time.strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "reached": {
            name: {"done": figures["done"], "problems": len(figures["problems"])}
            for name, figures in state.subjects.items()
        },
    }
    FIGURES.write_text(json.dumps(content, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
