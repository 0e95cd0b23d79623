"""Compares the resolver with 300 references that a person read: `python -m bench.resolver_quality`.

The table is `tests/code/samples/resolver.csv`; `bench.resolver_draw` shows how its rows were drawn.
The column `truth` holds the Id that the reference means, however a reader of the package's text
comes to know it (annotations,
`isinstance`, elements of an annotated list too), or one of
    external     something outside of the package, an attribute of such a value among it
    no symbol    an attribute that the package sets but never declares: the graph has no node for it
    unknowable   nothing in the package states what it is: an argument without annotation, a caller's function
Prints, for each kind of reference and for all, precision (correct links of all links given), recall
(correct links of all references that mean an Id) and what was reported to be unresolved; then every
wrong link, and every reference lost.
"""

from __future__ import annotations

import ast
import csv
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from bench.corpora import python_files, unzipped_wheels
from bench.measure import ROOT
from kl_hooks.code.file_facts import named_facts
from kl_hooks.code.linker import CONSTRUCTOR, Resolver, used_links
from kl_hooks.code.modules import ModuleIndex
from kl_hooks.code.scanner.python import scan_python
from kl_hooks.code.scanner.references import RELATIONS, uses_of
from kl_hooks.code.scanner.symbols import symbol_rows
from kl_hooks.code.scanner.visitor import Frame, walk

TABLE: Final = ROOT / "tests/code/samples/resolver.csv"
COLUMN_TRUTHS: Final = frozenset({"external", "no symbol", "unknowable"})
"""What the column `truth` states where it holds no Id."""
_SUPER: Final = re.compile(r"super\([^.]*\)\.(.*)")
_CALLS: Final = RELATIONS.index("calls")


class Reference(NamedTuple):
    """A row of the table, and what the resolver reported of it."""

    row: Mapping[str, str]
    given: str
    """The Id, `name:x` where it is reported to be unresolved, or empty where nothing is reported.
    """
    method: str

    @property
    def place(self) -> str:
        """package file:line."""
        return f"{self.row['package']} {self.row['path']}:{self.row['line']}"

    @property
    def known(self) -> bool:
        """True where the table states an Id."""
        return ":" in self.row["truth"]

    @property
    def linked(self) -> bool:
        """True where the resolver gives a link to a symbol."""
        return bool(self.given) and not self.given.startswith("name:")

    @property
    def correct(self) -> bool:
        """True where the link is right. A name that is defined twice, as a class and a variable,
        counts as one.
        """
        return self.linked and self.known and _name(self.given) == _name(self.row["truth"])


class Score(NamedTuple):
    """Counts of some references."""

    number: int
    known: int
    linked: int
    correct: int
    unresolved: int
    silent: int
    """Means an Id, and nothing was reported: neither a link nor that it is unresolved."""

    @property
    def precision(self) -> float:
        """Correct links of all links given."""
        return self.correct / self.linked if self.linked else 1.0

    @property
    def recall(self) -> float:
        """Correct links of all references that mean an Id."""
        return self.correct / self.known if self.known else 1.0


def table() -> list[dict[str, str]]:
    """The rows of the table."""
    with TABLE.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def ask(files: Mapping[str, bytes], rows: Iterable[Mapping[str, str]]) -> list[Reference]:
    """What the resolver states of the references in one package; `files`: path → content."""
    facts = named_facts({path: scan_python(content, path, "_") for path, content in files.items()})
    modules = {
        path: one["symbols"][0][0].partition(":")[2]
        for path, one in facts.items()
        if one["symbols"]
    }
    outlines = {modules[path]: facts[path]["outline"] for path in modules}
    resolver = Resolver(ModuleIndex(modules), outlines.get)
    names = {row[0].rpartition(".")[2] for one in facts.values() for row in one["symbols"]}
    found = []
    for row in rows:
        path = row["path"]
        ids = [one[0] for one in facts[path]["symbols"]]
        uses = _uses(files[path], row)
        links = used_links(modules[path], ids, uses, resolver, names.__contains__)
        meant = [
            (link[2], link[4])
            for link in links
            if link[1] != "references" and link[4] != CONSTRUCTOR
        ]
        found.append(Reference(row, *(meant[0] if meant else ("", ""))))
        assert uses.keys() <= facts[path]["uses"].keys(), row
    return found


def _uses(content: bytes, row: Mapping[str, str]) -> dict[str, list[int]]:
    """The uses (see `code.uses`) that one reference makes, every one of them as a call: so that its
    end is known.
    """
    frames = walk(ast.parse(content))
    rows, _ = symbol_rows(frames, content.splitlines(), "_")
    found = _SUPER.match(row["expression"])
    root, rest = ("super()", found[1]) if found else row["expression"].partition(".")[::2]
    wanted = (root, rest, int(row["end_line"]))
    seen = False
    for frame in frames:
        some = [number for number, use in enumerate(frame.uses) if use[:3] == wanted]
        bases = [base for base in frame.bases if row["kind"] == "base" and base == wanted]
        seen = seen or bool(some) or bool(bases)
        _keep(frame, some, bases)
    assert seen, f"the walk does not see {row}"
    return uses_of(frames, {one[0]: place for place, one in enumerate(rows)})


def _keep(frame: Frame, some: Sequence[int], bases: list[tuple[str, str, int]]) -> None:
    frame.head = sum(number < frame.head for number in some)
    frame.uses = [(*frame.uses[number][:3], _CALLS) for number in some]
    if bases:
        frame.head = max(frame.head, 1)
    frame.bases = bases


def _name(identifier: str) -> str:
    return identifier.partition(":")[2]


def score(references: Sequence[Reference]) -> Score:
    """The counts of some references."""
    return Score(
        len(references),
        sum(r.known for r in references),
        sum(r.linked for r in references),
        sum(r.correct for r in references),
        sum(r.given.startswith("name:") for r in references),
        sum(r.known and not r.given for r in references),
    )


def every(folder: Path) -> Iterator[Reference]:
    """All references of the table, their packages downloaded into a folder. CalledProcessError when
    offline.
    """
    rows = table()
    for package, content in unzipped_wheels(folder).items():
        files = python_files(content)
        yield from ask(files, [row for row in rows if row["package"] == package])


def report(references: Sequence[Reference]) -> list[str]:
    """The lines to print."""
    lines = [
        "| kind | references | mean an Id | links | correct | precision | recall | said unresolved"
        " | silent |"
    ]
    lines.append("|---|---|---|---|---|---|---|---|---|")
    kinds = [*dict.fromkeys(sorted(r.row["kind"] for r in references))]
    for kind in (*kinds, "all"):
        one = score([r for r in references if kind in (r.row["kind"], "all")])
        share = f"{one.unresolved / one.number:.0%}"
        cells = (
            one.number,
            one.known,
            one.linked,
            one.correct,
            f"{one.precision:.3f}",
            f"{one.recall:.3f}",
            share,
        )
        lines.append(f"| {kind} | {' | '.join(map(str, cells))} | {one.silent} |")
    for reference in references:
        row = reference.row
        claim = f"{row['expression']} is {row['truth']} ({row['note']})"
        if reference.linked and not reference.correct:
            lines.append(
                f"wrong: {reference.place}: {claim}, linked to {reference.given} by"
                f" {reference.method}"
            )
        elif reference.known and not reference.correct:
            lines.append(
                f"lost: {reference.place}: {claim},"
                f" {'unresolved' if reference.given else 'nothing found'}"
            )
    return lines


def main() -> int:
    """0, and one line where the packages can't be had."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = list(every(Path(folder)))
        except subprocess.CalledProcessError as problem:
            print(
                "skipped: pip could not download the packages"
                f" ({problem.stderr.decode(errors='replace').strip()})"
            )
            return 0
    print("\n".join(report(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
