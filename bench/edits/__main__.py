"""Whether "proven" is true after edits: each is judged by kl, by pytest-testmon, and by the whole
suite without kl.

    python -m bench.edits [--kinds DIR …] [--group import] [--number 60] [--results FILE]

RUNS TESTS, of the small projects in `bench/edits/data` and of public suites that pip downloads
(`--no-suites`: without them): code of strangers. For each edit a run of the suite is recorded and
committed, then the edit is. *Wrong* is a `kl verify` with exit 0, before or after `pytest
--kl-impacted`, while the suite fails. *False fresh* is a test that ends otherwise and that no
`--kl-impacted` ran until `kl verify` asked for no more. testmon is measured where `KL_BENCH_PEERS`
has it (see `bench.peers`).
`--kinds DIR` reads kinds of your own, in the same format (`bench/edits/kinds.py`), instead of ours.

With `--results FILE` results are written as soon as their kind is done, and what the file has for
the same code of kl is passed over: the command can be stopped and called again. It ends with 1
where a verdict is wrong or a harmless edit loses its verdict.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from bench.edits.judging import Row, code_of_kl, judge
from bench.edits.kinds import DATA, Edit, Kind, kinds_in
from bench.edits.report import lines
from bench.edits.suites import suite_kinds
from bench.edits.trial import (
    Selection,
)

Choice = tuple[Kind, list[Edit]]
_KINDS: Final = 16
"""So many are judged before the processes end."""


class Results:
    """A row for each edit; those of earlier calls too, where a file has them."""

    def __init__(self, file: Path | None) -> None:
        self._file, self._code = file, code_of_kl()
        texts = file.read_text(encoding="utf-8").splitlines() if file and file.exists() else []
        stored = [json.loads(text) for text in texts]
        self.rows: list[Row] = [row for row in stored if row["code"] == self._code]
        self.selections = {
            row["key"]: Selection(**row["testmon"]) for row in stored if row.get("testmon")
        }
        """What testmon selected, by edit: that does not depend on the code of kl."""

    def has(self, key: str) -> bool:
        """Whether that edit was judged with this code of kl."""
        return any(row["key"] == key for row in self.rows)

    def add(self, rows: Sequence[Row]) -> None:
        """Store rows."""
        self.rows += rows
        if self._file:
            with self._file.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(row) + "\n" for row in rows)


def chosen(kinds: Sequence[Kind], number: int, seed: int, results: Results) -> list[Choice]:
    """The kinds in an order by the seed, and of their edits so many in all, if there is a
    number; without those that have a result.
    """
    dice = random.Random(seed)
    pairs = [(kind, edit) for kind in kinds for edit in kind.edits]
    dice.shuffle(pairs)
    wanted = {kind.key(edit) for kind, edit in (pairs[:number] if number else pairs)}
    shuffled = list(kinds)
    dice.shuffle(shuffled)
    choices = [
        (
            kind,
            [
                edit
                for edit in kind.edits
                if kind.key(edit) in wanted and not results.has(kind.key(edit))
            ],
        )
        for kind in shuffled
    ]
    return [choice for choice in choices if choice[1]]


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kinds", type=Path, action="append", help="a folder of TOML files")
    parser.add_argument("--group", default="", help="a regular expression for groups")
    parser.add_argument("--number", type=int, default=0, help="so many edits; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--no-suites", action="store_true", help="without public suites")
    parser.add_argument("--results", type=Path)
    return parser.parse_args(argv)


def _kinds(options: argparse.Namespace) -> Iterator[Kind]:
    for kind in kinds_in(options.kinds or [DATA]):
        if re.search(options.group, kind.group):
            yield kind
    if not options.no_suites and not options.kinds:
        yield from (kind for kind in suite_kinds() if re.search(options.group, kind.group))


def main(argv: Sequence[str] | None = None) -> int:
    """1 where a verdict is wrong, or a harmless edit loses its verdict."""
    options = arguments(argv)
    results = Results(options.results)
    kinds = list(_kinds(options))
    choices = chosen(kinds, options.number, options.seed, results)
    asked = {kind.key(edit) for kind in kinds for edit in kind.edits}
    # processes, not threads: kl is called in them, and changes their folder and environment. They
    # end after some kinds, for kl keeps what it read of each project; `max_tasks_per_child` of the
    # pool may wait for ever (CPython issue 115634)
    for first in range(0, len(choices), _KINDS):
        with ProcessPoolExecutor(options.workers, get_context("spawn")) as pool:
            part = choices[first : first + _KINDS]
            waiting = [pool.submit(judge, *choice, results.selections) for choice in part]
            for future in as_completed(waiting):
                results.add(future.result())
    rows = [row for row in results.rows if row["key"] in asked]
    print("\n".join(lines(rows)))
    return int(
        any(
            not row["problem"] and (row["wrong"] or (row["harmless"] and row["verify"] != 0))
            for row in rows
        )
    )


if __name__ == "__main__":
    sys.exit(main())
