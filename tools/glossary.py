"""Find words that the glossary replaces: in names, docstrings, comments, messages and documentation
pages.

`python tools/glossary.py [PATH ...]` prints `file:line: word -> replacement: text` for each and
exits 1 if there are any. tests/self/test_language.py checks the whole repository with it.

Data that other programs read keeps its spelling: a string of one word (a key, a column), SQL, `code
spans` and fenced code are not looked at, and `DATA_NAMES` are attributes that are written as keys
of such data.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tools.syntax import nodes

ROOT: Final = Path(__file__).resolve().parents[1]
CODE: Final = ("kl_hooks", "pytest_kl")
TESTS: Final = ("tests", "bench", "tools")
"""Folders in which strings are data of tests or of measurements: names, docstrings and comments are
looked at.
"""
PAGES: Final = (
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "docs",
    "templates/seed",
    ".kl/knowledge",
)

WORDS: Final = {
    r"ways? out": "suggested fix, hint",
    r"(?:nothing |that |who |which )?(?:bears?|borne)": "matches, is named",
    r"called so": "is named",
    r"mend(?:s|ed|ing)?": "fix",
    r"h(?:o|e)lds? (?:\w+ ){1,4}against": "check X against Y",
    r"(?:not|longer|still|always|must|what|that|which|all|everything|exception|entry|default|rules?|limits?|it)"
    r" holds?"
    r"(?= ?(?:[.,;:!?)|]|for |of |again|everywhere|through|otherwise|together|now))": (
        "is valid, applies, is right"
    ),
    r"below (?:the (?:root|top|repository|folders?|class|working|current|source)|it|them)": (
        "under, in, inherited from"
    ),
    r"below the floor": "below the threshold",
    r"keeper|holder of": "store",
    r"stands?|stood|standing": "is, is in, means; verification status",
    r"beside (?:it|them)": "siblings, next to it",
    r"(?:left|leaves?|leaving) out": "omitted",
    r"told|tells?|telling": "shown, reported",
    r"said|says?|saying": "reported, states",
    r"(?:taken|takes?|taking|took) in": "import, ingest",
    r"g(?:i|a)v(?:e|es|en|ing) out": "export",
    r"gone|went|came": "removed, added",
    r"(?:files?|rows?|imports?|links?|records?|removed|that|which|it|they) go(?:es)?(?= "
    r"?[.,;:)])": ("is removed"),
    r"lets? go": "release",
    r"kept|held": "stored, cached, retained, quarantined",
    r"circles?": "cycle",
    r"things?|what is known": "records, knowledge base",
    r"may take|takes from": "imports, uses",
    r"gists?": "summary",
    r"rooms?|houses?|doors?|furniture": "package, interface, entry point, module layout",
    r"c(?:atch|atches|aught|atching) up": "sync, update",
    r"wrong use|(?:our|own) faults?|on our account": (
        "usage error, internal error, because of a bug in kl"
    ),
    r"to be done|is no day|who comes|to a name only|nothing proves": "see the glossary",
    r"work trees?": "working tree",
}
DATA_NAMES: Final = frozenset[str]()
"""Names of attributes and parameters that are keys of files, answers or columns, and so can't be
renamed.
"""
_WORD: Final = re.compile(
    r"\b(?:" + "|".join(f"({word})" for word in WORDS) + r")\b", re.IGNORECASE
)
_REPLACEMENTS: Final = list(WORDS.values())
_SQL: Final = re.compile(
    r"\b(SELECT|INSERT|UPDATE|DELETE|CREATE|WHERE|VALUES|PRAGMA|ORDER BY|GROUP BY)\b"
)
_DATA: Final = re.compile(r"""^(?:[rR]["']|[bBfF]*(["'])[\w.:/-]*\1$)""")
"""A string of one word, or a raw one: a pattern."""
_CODE_SPAN: Final = re.compile(r"`[^`\n]*`")


class Found(NamedTuple):
    """One word of the glossary's left column."""

    path: Path
    line: int
    word: str
    replacement: str
    text: str


def words_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield (word found, replacement) of a text in plain language."""
    for match in _WORD.finditer(text):
        yield match[0], _REPLACEMENTS[(match.lastindex or 1) - 1]


def of_python(path: Path, source: str, strings: bool = True) -> Iterator[Found]:
    """Yield what is found in a Python file: names that it defines, docstrings, comments, and other
    `strings`.
    """
    texts, names = _texts_and_names(source)
    for name, line in names:
        if name in DATA_NAMES:
            continue
        for word, replacement in words_in(re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name).strip()):
            yield Found(path, line, word, replacement, name)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        kind = tokenize.tok_name[token.type]
        if kind not in ("STRING", "COMMENT", "FSTRING_MIDDLE"):
            continue
        if not strings and kind != "COMMENT" and texts.get(token.start[0]) != token.end[0]:
            continue
        if (kind == "STRING" and _DATA.match(token.string)) or (
            kind != "COMMENT" and _SQL.search(token.string)
        ):
            continue
        for number, text in enumerate(_CODE_SPAN.sub("", token.string).splitlines()):
            for word, replacement in words_in(text):
                yield Found(path, token.start[0] + number, word, replacement, text.strip())


def of_page(path: Path, source: str) -> Iterator[Found]:
    """Yield what is found in a Markdown page outside of code."""
    fenced = False
    for number, text in enumerate(source.splitlines(), 1):
        if text.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        if not fenced:
            for word, replacement in words_in(_CODE_SPAN.sub("", text)):
                yield Found(path, number, word, replacement, text.strip())


def found_in(paths: Iterable[Path]) -> list[Found]:
    """Return all that is found in files and folders, in the order of the paths."""
    found: list[Found] = []
    for path in paths:
        files = (
            sorted(one for one in path.rglob("*") if one.suffix in (".py", ".md"))
            if path.is_dir()
            else [path]
        )
        for file in files:
            source = file.read_text(encoding="utf-8")
            if file.suffix == ".py":
                found += of_python(file, source, strings=not _is_test(file))
            else:
                found += of_page(file, source)
    return found


def _is_test(file: Path) -> bool:
    path = file.resolve()
    return path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in TESTS


def _texts_and_names(source: str) -> tuple[dict[int, int], list[tuple[str, int]]]:
    """First line → last line of strings that are statements, and (name, line) of what is
    defined.
    """
    texts: dict[int, int] = {}
    names: list[tuple[str, int]] = []
    for node in nodes(ast.parse(source)):
        match node:
            case ast.Name(id=name):
                if isinstance(node.ctx, ast.Store):
                    names.append((name, node.lineno))
            case ast.Expr(value=ast.Constant(value=str())):
                texts[node.lineno] = node.end_lineno or node.lineno
            case ast.arg(arg=name):
                names.append((name, node.lineno))
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.append((node.name, node.lineno))
    return texts, names


if __name__ == "__main__":
    everything = found_in(
        [Path(one) for one in sys.argv[1:]] or [ROOT / one for one in (*CODE, *TESTS, *PAGES)]
    )
    for one in everything:
        print(f"{one.path}:{one.line}: {one.word} -> {one.replacement}: {one.text[:100]}")
    print(f"{len(everything)} words to replace")
    sys.exit(bool(everything))
