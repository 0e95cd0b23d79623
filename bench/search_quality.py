"""What a search in documentation finds: questions whose answer is known, by words, by meaning and by both.

    python -m bench.search_quality [--set NAME] [--clones FOLDER] [--losses] [--fusion rrf|weighted|simple|cascade]

The questions are in `bench/data/questions`: each with the page and the heading that answers it. A file
names a repository and a commit; it is cloned from there unless `--clones` has `owner+name` in it. An answer is found
where a passage of that page, under that heading or inside it, is among the first results. R@5 is the share of the
questions of which one is among the first five; MRR the mean of one over its place. `datasette` is for tuning weights,
the others judge them.
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
from kl_hooks.documents.search import MODES, MOST, Options, Result, search
from kl_hooks.index.fusion import FUSIONS
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


def checked_out(found: QuestionSet, clones: Path | None, folder: Path, *, code: bool = False) -> Path:
    """The repository at its commit, with only the documentation in it (`code`: and everything else): in `folder`."""
    name = "+".join(found.url.split("/")[-2:])
    source = next(
        (str(p) for p in ((clones or folder) / name / "repo", (clones or folder) / name) if p.exists()), found.url
    )
    target = folder / found.name
    for command in (
        ("git", "clone", "--quiet", "--no-checkout", source, str(target)),
        ("git", "-C", str(target), "checkout", "--quiet", found.commit, "--", "." if code else found.base),
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


def places(ws: Workspace, found: QuestionSet, mode: str, options: Options) -> list[int]:
    """Of each question the place of the first result that answers it; 0: none of the first fifty does."""
    made = []
    for one in found.questions:
        answer = search(ws, one.text, mode, top_k=MOST, kinds=("document",), options=options)
        if answer.mode != mode:
            raise SystemExit(f"{mode} can't run: {answer.notes}")
        hits = (place for place, result in enumerate(answer.results, 1) if answers(one, found.base, result))
        made.append(next(hits, 0))
    return made


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
    gain = recall(found["hybrid"]) - recall(found["keyword"])
    over = recall(found["hybrid"]) - recall(found["vector"])
    yield f"  hybrid - keyword {100 * gain:+.1f} points (goal +{100 * GAIN:g}): {'met' if gain >= GAIN else 'missed'}"
    yield f"  hybrid - vector {100 * over:+.1f} points (goal 0): {'met' if over >= 0 else 'missed'}"


def main() -> int:
    """Print the tables; 0 if all ran."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = sorted(path.stem for path in QUESTIONS.glob("*.txt"))
    parser.add_argument("--set", dest="names", action="append", choices=names)
    parser.add_argument("--clones", type=Path)
    parser.add_argument("--losses", action="store_true", help="list what hybrid loses that keyword finds")
    parser.add_argument("--fusion", choices=FUSIONS, default=Options().fusion)
    parser.add_argument("--rerank", action="store_true")
    parser.add_argument("--strategy", choices=STRATEGIES, default=STRATEGIES[0], help="how documents are cut")
    parser.add_argument("--code", action="store_true", help="with the source, as a repository has it")
    parser.add_argument("--mode", dest="modes", action="append", choices=MODES)
    args = parser.parse_args()
    for name in args.names or names:
        some = read_questions(name)
        with tempfile.TemporaryDirectory() as folder:
            ws = open_workspace(checked_out(some, args.clones, Path(folder), code=args.code))
            options = Options(args.fusion, args.rerank)
            settings = f"version: 1\ndocuments:\n  strategy: {args.strategy}\n"
            (ws.root / ".kl/config.yaml").write_text(settings, encoding="utf-8")
            ws = open_workspace(ws.root)
            modes = [mode for mode in MODES if mode in (args.modes or MODES)]
            found = {mode: places(ws, some, mode, options) for mode in modes}
        print(f"{name}{' (tuning)' if name == TUNING else ''}: {len(some.questions)} questions")
        judged = judgements(found) if {"keyword", "vector", "hybrid"} <= found.keys() else ()
        print("\n".join([*lines(found), *judged]), flush=True)
        if args.losses and {"keyword", "hybrid"} <= found.keys():
            for one, words, both in zip(some.questions, found["keyword"], found["hybrid"], strict=True):
                if 0 < words <= 5 and not 0 < both <= 5:
                    print(f"    lost: {words} -> {both or 'none'}  {one.page}  {one.heading}  <- {one.text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
