"""Print what a stranger has to learn here: meaningless names, tokens, nested expressions, long
sentences.

`python tools/measures.py` prints one line per measure: what is there now and what is to be reached.
`--worst` also prints the files with most names that mean nothing. tests/self/test_measures.py holds
those that are reached.

The models in the last column are click, coverage.py, import-linter, pre-commit, pytest and tox.
"""

from __future__ import annotations

import ast
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tools.syntax import nodes

ROOT: Final = Path(__file__).resolve().parents[1]
PRODUCT: Final = ("kl_hooks", "pytest_kl")

VAGUE_NAMES: Final = frozenset(
    {
        *("one", "found", "some", "made", "known", "given", "all_", "both", "each", "more", "rest"),
        *("took", "kept", "said", "told", "seen", "got", "has", "was"),
        *("at", "by", "of", "so", "how", "who"),
    }
)
"""Names that mean nothing by themselves."""
GENERIC_NAMES: Final = frozenset(
    {
        *("item", "items", "value", "values", "result", "results", "data", "name", "names"),
        *("entry", "entries", "obj", "object", "info", "thing", "things", "element", "elements"),
        *("content", "contents", "output", "input"),
    }
)
"""Names that hold only a role. Models have about 9 % of them."""

LAYOUT: Final = frozenset(
    {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENCODING,
        tokenize.ENDMARKER,
    }
)
"""Tokens that are not counted: comments and layout."""

FSTRING_START: Final = getattr(tokenize, "FSTRING_START", None)
FSTRING_END: Final = getattr(tokenize, "FSTRING_END", None)

LONGEST_LINE: Final = 100
LONGEST_SENTENCE: Final = 30


class BoundNames(NamedTuple):
    """How many names a file binds: variables, arguments and targets, without elements of
    comprehensions, and how many of them are vague or generic.
    """

    total: int
    vague: Counter[str]
    generic: Counter[str]

    def __add__(self, other: BoundNames) -> BoundNames:  # type: ignore[override]
        return BoundNames(
            self.total + other.total, self.vague + other.vague, self.generic + other.generic
        )


NO_NAMES: Final = BoundNames(0, Counter(), Counter())


def product_files(root: Path = ROOT) -> list[Path]:
    """The Python files of the product, in order."""
    return sorted(path for folder in PRODUCT for path in (root / folder).rglob("*.py"))


def token_count(path: Path) -> int:
    """The tokens of a file, without comments and layout. An f-string is one, as CPython 3.11 has
    it: newer ones give its parts.
    """
    count = depth = 0
    with path.open("rb") as source:
        for token in tokenize.tokenize(source.readline):
            count += depth == 0 and token.type not in LAYOUT
            if token.type == FSTRING_START:
                depth += 1
            elif token.type == FSTRING_END:
                depth -= 1
    return count


def bound_names(tree: ast.AST) -> BoundNames:
    """Count the names that a module binds."""
    names = Counter(_names(tree))
    return BoundNames(
        names.total(),
        Counter({name: count for name, count in names.items() if name in VAGUE_NAMES}),
        Counter({name: count for name, count in names.items() if name in GENERIC_NAMES}),
    )


def _names(tree: ast.AST) -> Iterator[str]:
    """Names that are bound outside of comprehensions' targets."""
    every_node = list(nodes(tree))
    targets = {
        id(name)
        for node in every_node
        if isinstance(node, ast.comprehension)
        for name in nodes(node.target)
    }
    for node in every_node:
        if isinstance(node, ast.arg):
            yield node.arg
        elif (
            isinstance(node, ast.Name)
            and isinstance(node.ctx, ast.Store)
            and id(node) not in targets
        ):
            yield node.id


def nested_conditionals(tree: ast.AST) -> list[int]:
    """Lines of conditional expressions that hold another one as test, body or alternative."""
    return [
        node.lineno
        for node in nodes(tree)
        if isinstance(node, ast.IfExp)
        and any(isinstance(part, ast.IfExp) for part in (node.test, node.body, node.orelse))
    ]


def conditional_count(tree: ast.AST) -> int:
    """The number of conditional expressions."""
    return sum(isinstance(node, ast.IfExp) for node in nodes(tree))


def sentences(page: str) -> list[str]:
    """The sentences of a Markdown page: its paragraphs and list items, without code and tables."""
    without_code = re.sub(r"^(```|~~~).*?^\1", "", page, flags=re.MULTILINE | re.DOTALL)
    paragraphs = re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", without_code)
    return [
        sentence
        for paragraph in paragraphs
        if not paragraph.lstrip().startswith(("#", "|", "    ", "<", "---"))
        for sentence in re.split(r"(?<=[.!?:])\s+(?=[A-Z`*\"])", " ".join(paragraph.split()))
        if len(sentence.split()) > 2
    ]


def long_sentence_share(pages: Iterable[Path]) -> float:
    """The share of sentences over 30 words, in percent."""
    lengths = [
        len(sentence.split())
        for page in pages
        for sentence in sentences(page.read_text(encoding="utf-8"))
    ]
    return 100 * sum(length > LONGEST_SENTENCE for length in lengths) / max(1, len(lengths))


def guides(root: Path = ROOT) -> list[Path]:
    """The pages that people wrote: no printed ones, no decision records, no history."""
    docs = root / "docs"
    pages = {*docs.glob("*.md"), *docs.glob("reference/*.md"), *docs.glob("how/*.md")}
    printed = {docs / name for name in ("hookspecs.md", "requirements.md", "reference/modules.md")}
    history = {docs / "reference" / "before-0.1.md"}
    return [root / "README.md", *sorted(pages - printed - history)]


class Measure(NamedTuple):
    """One line: what is measured, its figure now, what to reach, the figure of the models."""

    subject: str
    now: str
    goal: str
    models: str = ""


def measures(root: Path = ROOT) -> list[Measure]:
    """All measures of the checkout at `root`."""
    paths = product_files(root)
    sources = [path.read_text(encoding="utf-8") for path in paths]
    trees = [ast.parse(source) for source in sources]
    tokens = Counter({path: token_count(path) for path in paths})
    names = sum((bound_names(tree) for tree in trees), NO_NAMES)
    tracer_tokens = sum(
        count for path, count in tokens.items() if path.is_relative_to(root / "pytest_kl")
    )
    lines = [line for source in sources for line in source.splitlines()]
    conditionals = sum(map(conditional_count, trees))
    return [
        Measure("tokens of kl_hooks", f"{tokens.total() - tracer_tokens:,}", "540,000 at 829f1fdd"),
        Measure("tokens of pytest_kl", f"{tracer_tokens:,}", "25,000 at 829f1fdd"),
        Measure("vague names, %", _percent(names.vague.total(), names.total), "1.5", "0.0-0.4"),
        Measure("generic names, %", _percent(names.generic.total(), names.total), "9", "8.7-9.3"),
        Measure("formatter skips", str(_skips(lines)), "10", "0-14"),
        Measure(
            f"lines over {LONGEST_LINE} columns",
            str(sum(len(line) > LONGEST_LINE for line in lines)),
            "0",
            "0-5 %",
        ),
        Measure(
            "conditional expressions per 1,000 tokens",
            f"{1000 * conditionals / tokens.total():.2f}",
            "2",
            "0.3-1.7",
        ),
        Measure("nested conditional expressions", str(_nested_count(trees)), "0"),
        Measure(
            f"sentences over {LONGEST_SENTENCE} words in guides, %",
            f"{long_sentence_share(guides(root)):.1f}",
            "10",
            "0",
        ),
    ]


def _skips(lines: Iterable[str]) -> int:
    return sum("# fmt: skip" in line or "# fmt: off" in line for line in lines)


def _nested_count(trees: Iterable[ast.AST]) -> int:
    return sum(len(nested_conditionals(tree)) for tree in trees)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / max(1, whole):.2f}"


def worst_files(root: Path = ROOT, count: int = 40) -> list[tuple[str, BoundNames]]:
    """The files with most vague names, those first."""
    by_file = [
        (path.relative_to(root).as_posix(), bound_names(ast.parse(path.read_text("utf-8"))))
        for path in product_files(root)
    ]
    return sorted(by_file, key=lambda pair: -pair[1].vague.total())[:count]


def main() -> None:
    """Print the table."""
    print(f"{'measure':50} {'now':>10}  {'to reach':20} models")
    for measure in measures():
        print(f"{measure.subject:50} {measure.now:>10}  {measure.goal:20} {measure.models}")
    if "--worst" in sys.argv:
        for path, names in worst_files():
            spelled = ", ".join(f"{name} {count}" for name, count in names.vague.most_common(6))
            print(f"{names.vague.total():5} of {names.total:5}  {path}: {spelled}")


if __name__ == "__main__":
    main()
