"""What a search in documentation finds: questions whose answer is known, by words, by meaning and
by both.

    python -m bench.search_quality [--set NAME] [--clones FOLDER] [--losses] [--fusion NAME]
    python -m bench.search_quality --ids [--set NAME] [--clones FOLDER]
    python -m bench.search_quality --strategies [--set NAME] [--clones FOLDER]

The questions are in `bench/data/questions`: each with the page and the heading that answers it. A
file names a repository and a commit; it is cloned from there unless `--clones` has `owner+name` in
it. An answer is found where a passage of that page, under that heading or inside it, is among the
first results. R@5 is the share of the questions of which one is among the first five; MRR the mean
of one over its place. `datasette` is for tuning weights, the others judge them. Last are all
questions together; differences have a 95 % interval.

`--ids` asks for IDs instead, alone and in a question: numbers of issues, options and settings that
one passage alone has. What names an ID means that passage; it should be among the first three.

`--strategies` compares the ways of cutting documents. There an answer is found where a passage has
a line of the section that answers: most ways know no headings, and their passages begin under one
and end under another.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import fmean
from typing import Final, NamedTuple

from kl_hooks.config.settings import STRATEGIES
from kl_hooks.context.replay import bootstrap
from kl_hooks.documents.chunking import Chunking, cut
from kl_hooks.documents.search import FUSIONS, MODES, MOST, Options, Result, search
from kl_hooks.workspace import Workspace, open_workspace

QUESTIONS: Final = Path(__file__).with_name("data") / "questions"
TUNING: Final = "datasette"
GAIN: Final = 0.05
"""That hybrid should find more than keyword, R@5."""


class Question(NamedTuple):
    """A question, and where its answer is."""

    page: str
    heading: str
    text: str


_IDS: Final = (
    re.compile(r"\bCVE-\d{4}-\d{4,}\b"),
    re.compile(r"(?<=#)\d{4,5}\b"),
    re.compile(r"(?<=:issue:`)\d{4,5}\b"),
    re.compile(r"(?<!\w)--[a-z][a-z-]{8,}\b"),
    re.compile(r"\b[a-z]+_[a-z]+_[a-z_]{4,}\b"),
    re.compile(r"\b[A-Z]+_[A-Z]+_[A-Z_]{4,}\b"),
)
_MOST_IDS: Final = 12
"""Of each kind, at even distances in the order of the alphabet."""
_ASKED: Final = ("{}", "what was changed for {}")
_FIRST: Final = 3


class QuestionSet(NamedTuple):
    """Questions on one documentation."""

    name: str
    url: str
    commit: str
    globs: tuple[str, ...]
    questions: tuple[Question, ...]

    @property
    def base(self) -> str:
        """The folder that pages are named from."""
        return self.globs[0].partition("*")[0]


def read_questions(name: str) -> QuestionSet:
    """The set of a name."""
    lines = (QUESTIONS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    url, commit, *globs = lines[0].removeprefix("# ").split()
    questions = [Question(*line.split(" | ")) for line in lines if not line.startswith("#")]
    return QuestionSet(name, url, commit, tuple(globs), tuple(questions))


def plain(heading: str) -> str:
    """A heading without markup: what is compared."""
    text = re.sub(r":[a-z:]+:`([^`<]*)(<[^`]*)?`", r"\1", heading)
    return re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()


def answers(one: Question, base: str, result: Result) -> bool:
    """Whether a result answers a question."""
    chunk = result.chunk
    if chunk is None or chunk.document != f"{base}{one.page}":
        return False
    return plain(one.heading) in {plain(heading) for heading in (chunk.title, *chunk.heading)}


def sections(found: QuestionSet, root: Path) -> dict[tuple[str, str], tuple[int, int]]:
    """(page, heading) of each question → the first and the last line under it."""
    known = {}
    for one in found.questions:
        name = f"{found.base}{one.page}"
        own = [
            passage
            for passage in cut(name, (root / name).read_bytes(), Chunking()).passages
            if plain(one.heading) in {plain(heading) for heading in passage.heading}
        ]
        # under the title alone: the page up to its first section
        some = own or cut(name, (root / name).read_bytes(), Chunking()).passages[:1]
        known[one.page, one.heading] = (
            min(p.first_line for p in some),
            max(p.last_line for p in some),
        )
    return known


def checked_out(
    found: QuestionSet, clones: Path | None, folder: Path, *, code: bool = False
) -> Path:
    """The repository at its commit, with only the documentation in it (`code`: and everything
    else): in `folder`.
    """
    name = "+".join(found.url.split("/")[-2:])
    source = next(
        (
            str(p)
            for p in ((clones or folder) / name / "repo", (clones or folder) / name)
            if p.exists()
        ),
        found.url,
    )
    target = folder / found.name
    for command in (
        ("git", "clone", "--quiet", "--no-checkout", source, str(target)),
        (
            "git",
            "-C",
            str(target),
            "checkout",
            "--quiet",
            found.commit,
            "--",
            "." if code else found.base,
        ),
        ("git", "-C", str(target), "reset", "--quiet", "--soft", found.commit),
    ):
        subprocess.run(command, check=True)
    (target / ".kl").mkdir()
    for path in [p for p in target.rglob("*") if p.is_file() and ".git" not in p.parts]:
        if code and path.suffix == ".py":
            continue
        if not any(_is_of(path.relative_to(target).as_posix(), glob) for glob in found.globs):
            path.unlink()
    return target


def _is_of(path: str, glob: str) -> bool:
    return fnmatchcase(path, glob) and path.count("/") == glob.count("/")


def places(
    ws: Workspace,
    found: QuestionSet,
    mode: str,
    options: Options,
    lines_of: Mapping[tuple[str, str], tuple[int, int]] | None = None,
) -> list[int]:
    """Of each question the place of the first result that answers it; 0: none of the first fifty
    does.

    `lines_of`: see `sections`; then a passage answers that has one of these lines.
    """
    made = []
    for one in found.questions:
        answer = search(ws, one.text, mode, top_k=MOST, kinds=("document",), options=options)
        if answer.mode != mode:
            raise SystemExit(f"{mode} can't run: {answer.notes}")
        hits = (
            place
            for place, result in enumerate(answer.results, 1)
            if (
                answers(one, found.base, result)
                if lines_of is None
                else has_lines(f"{found.base}{one.page}", lines_of[one.page, one.heading], result)
            )
        )
        made.append(next(hits, 0))
    return made


def has_lines(page: str, wanted: tuple[int, int], result: Result) -> bool:
    """Whether a passage of a page has one of these lines."""
    return result.path == page and result.line <= wanted[1] and result.end_line >= wanted[0]


def recall(found: Sequence[int], first: int = 5) -> float:
    """The share of questions that are answered among the first results."""
    return fmean(0 < place <= first for place in found)


def lines(found: Mapping[str, Sequence[int]]) -> Iterator[str]:
    """A table of one set: mode → places."""
    yield "  mode      R@1   R@5   R@10  MRR"
    for mode, some in found.items():
        mean = fmean(1 / place if place else 0 for place in some)
        shares = "  ".join(f"{recall(some, first):.3f}" for first in (1, 5, 10))
        yield f"  {mode:8}  {shares}  {mean:.3f}"


def judgements(found: Mapping[str, Sequence[int]]) -> Iterator[str]:
    """Whether hybrid finds what it should."""
    for other, goal in (("keyword", GAIN), ("vector", 0.0)):
        pairs = zip(found["hybrid"], found[other], strict=True)
        gain, low, high = bootstrap([(0 < one <= 5) - (0 < two <= 5) for one, two in pairs], 1)
        verdict = f"(goal {100 * goal:+g}): {'met' if gain >= goal else 'missed'}"
        yield (
            f"  hybrid - {other} {100 * gain:+.1f} points [{100 * low:+.1f}, {100 * high:+.1f}]"
            f" {verdict}"
        )


def lone_ids(ws: Workspace) -> dict[str, int]:
    """ID → the passage that alone has it, at most twelve of each kind."""
    with ws.store.reading("graph") as db:
        assert db is not None
        texts: dict[int, str] = dict(db.rows("SELECT id, text FROM document_chunks"))
    passage_of: dict[str, int] = {}
    for pattern in _IDS:
        passages: dict[str, set[int]] = {}
        for number, text in texts.items():
            for match in pattern.finditer(text):
                passages.setdefault(match[0], set()).add(number)
        lone = [
            identifier
            for identifier in sorted(name for name, own in passages.items() if len(own) == 1)
            if sum(
                f" {identifier} " in re.sub(r"[^\w-]", " ", f" {text} ") for text in texts.values()
            )
            <= 1
        ][: 10 * _MOST_IDS]
        chosen = lone[:: max(1, len(lone) // _MOST_IDS)][:_MOST_IDS]
        passage_of |= {identifier: next(iter(passages[identifier])) for identifier in chosen}
    return passage_of


def id_lines(ws: Workspace, options: Options) -> Iterator[str]:
    """A line for each mode and way to ask."""
    search(ws, "documents", top_k=1)  # makes the index
    passage_of = lone_ids(ws)
    for form in _ASKED:
        for mode in ("keyword", "hybrid", "graph"):
            ranks = []
            for identifier, number in passage_of.items():
                answer = search(
                    ws,
                    form.format(identifier),
                    mode,
                    top_k=MOST,
                    kinds=("document",),
                    options=options,
                )
                ranked = [result.chunk.id for result in answer.results if result.chunk]
                ranks.append(ranked.index(number) + 1 if number in ranked else 0)
            yield (
                f"  {form.format('ID'):28} {mode:8}  first {recall(ranks, 1):.3f}"
                f"  among {_FIRST} {recall(ranks, _FIRST):.3f}  of {len(ranks)}"
            )


def compare_strategies(found: QuestionSet, clones: Path | None, options: Options) -> Iterator[str]:
    """A line for each way of cutting documents."""
    yield "  strategy   passages  keyword R@5  MRR    hybrid R@5  MRR"
    for strategy in STRATEGIES:
        with tempfile.TemporaryDirectory() as folder:
            root = checked_out(found, clones, Path(folder))
            lines_of = sections(found, root)
            ws = opened(root, strategy)
            cells = []
            for mode in ("keyword", "hybrid"):
                some = places(ws, found, mode, options, lines_of)
                cells.append(
                    f"{recall(some):11.3f} "
                    f" {fmean(1 / place if place else 0 for place in some):.3f}"
                )
            with ws.store.reading("graph") as db:
                assert db is not None
                ((count,),) = db.rows("SELECT COUNT(*) FROM document_chunks")
        yield f"  {strategy:10} {count:8}  {'  '.join(cells)}"


def opened(root: Path, strategy: str) -> Workspace:
    """A workspace whose documents are cut so."""
    (root / ".kl/config.yaml").write_text(
        f"version: 1\ndocuments:\n  strategy: {strategy}\n", encoding="utf-8"
    )
    return open_workspace(root)


def main() -> int:
    """Print the tables; 0 if all ran."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = sorted(path.stem for path in QUESTIONS.glob("*.txt"))
    parser.add_argument("--set", dest="names", action="append", choices=names)
    parser.add_argument("--clones", type=Path)
    parser.add_argument(
        "--losses", action="store_true", help="list what hybrid loses that keyword finds"
    )
    parser.add_argument("--fusion", choices=FUSIONS, default=Options().fusion)
    parser.add_argument("--rerank", action="store_true")
    parser.add_argument(
        "--strategy", choices=STRATEGIES, default=STRATEGIES[0], help="how documents are cut"
    )
    parser.add_argument(
        "--strategies", action="store_true", help="compare the ways of cutting documents"
    )
    parser.add_argument(
        "--code", action="store_true", help="with the source, as a repository has it"
    )
    parser.add_argument("--ids", action="store_true", help="ask for IDs that one passage has")
    parser.add_argument("--mode", dest="modes", action="append", choices=MODES)
    args = parser.parse_args()
    every: dict[str, list[int]] = {}
    for name in args.names or names:
        some, options = read_questions(name), Options(args.fusion, args.rerank)
        if args.strategies:
            print(f"{name}: {len(some.questions)} questions")
            for line in compare_strategies(some, args.clones, options):
                print(line, flush=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            ws = opened(checked_out(some, args.clones, Path(folder), code=args.code), args.strategy)
            if args.ids:
                print(name)
                print("\n".join(id_lines(ws, options)), flush=True)
                continue
            modes = [mode for mode in MODES if mode in (args.modes or MODES)]
            found = {mode: places(ws, some, mode, options) for mode in modes}
        print(f"{name}{' (tuning)' if name == TUNING else ''}: {len(some.questions)} questions")
        _print_table(found)
        for mode, some_places in found.items():
            every.setdefault(mode, []).extend(some_places)
        if args.losses and {"keyword", "hybrid"} <= found.keys():
            for one, words, both in zip(
                some.questions, found["keyword"], found["hybrid"], strict=True
            ):
                if 0 < words <= 5 and not 0 < both <= 5:
                    print(
                        f"    lost: {words} -> {both or 'none'}  {one.page}  {one.heading}  <-"
                        f" {one.text}"
                    )
    if every:
        print(f"all: {len(next(iter(every.values())))} questions")
        _print_table(every)
    return 0


def _print_table(found: Mapping[str, Sequence[int]]) -> None:
    judged = judgements(found) if {"keyword", "vector", "hybrid"} <= found.keys() else ()
    print("\n".join([*lines(found), *judged]), flush=True)


if __name__ == "__main__":
    sys.exit(main())
