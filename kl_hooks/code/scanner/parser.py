"""From the bytes of a Python file to its lines and its syntax tree, or the reason why there is
none.
"""

from __future__ import annotations

import ast
import gc
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypedDict

from kl_hooks.model.definitions import lazy_pattern

if TYPE_CHECKING:
    from kl_hooks.git.files import FileEntry


# without a new number the database would go on giving facts of the older scanner: a blob is read
# once (ADR-0004)
PARSER_VERSION: Final = "python-ast/10"
"""Part of the key of remembered facts: raised whenever the same bytes would give other facts."""
VERSION: Final = f"{PARSER_VERSION}+7"
"""The same for `scanner.python`: raised when it would give other facts, or their links would
differ.
"""
# the ASCII characters that are none, negated: `re` spends 7 ms at every start on a range up to
# U+10FFFF (CPython 3.13)
WORD: Final = lazy_pattern(r"[^\x00-@\[-^`{-\x7f][^\x00-/:-@\[-^`{-\x7f]*")
"""An identifier. `\\w` alone knows neither signs that combine nor all else that Python takes:
`हिन्दी`, `a·b`, `℘`.
"""
LARGEST: Final = 1_000_000
"""Bytes. What is larger was made by a machine, for a machine."""


class Outline(TypedDict, total=False):
    """The part of facts that other files need; empty where a file could not be read. See
    `scanner.references`.
    """

    defs: dict[str, str]
    """Name → prefix of its Id."""
    names: dict[str, str]
    """Imported name → expression."""
    bases: dict[str, list[str]]
    """Class → expressions of its bases, empty for one that is no name."""
    types: dict[str, str]
    """Field or function → expression of what it is or returns."""
    stars: list[str]
    """Expressions of star imports."""
    all: list[str] | None
    """`__all__`."""
    settings: dict[str, str]
    """Of a configuration file: what it states, by name; of Rust the files of its modules."""
    globs: dict[str, list[str]]
    """Module that is written inside the file → expressions of its star imports."""
    extended: dict[str, str]
    """Type with members here that other files may define → its expression."""
    macros: dict[str, str]
    """Macro that other files may call → its dotted name."""


class Facts(TypedDict, total=False):
    """What was read in one file; see `scanner.python`. Plain JSON: rows are lists there."""

    error: str
    symbols: list[list[Any]]
    words: list[str]
    imports: list[list[Any]]
    decorators: dict[str, list[str]]
    uses: dict[str, list[int]]
    outline: Outline
    names: str
    text: list[list[Any]]
    """The words of the source; see `scanner.symbols.source_words`."""
    tests: list[list[Any]]
    """Of a file, not of a content: see `code.file_facts`."""


Key = tuple[str, str]
"""(blob id, scanner's version)"""
Read = Callable[[Sequence["FileEntry"]], Iterator[tuple["FileEntry", bytes]]]
"""Gives the contents of entries, in any order; what can't be read is omitted."""


def parse_tree(content: bytes) -> ast.Module:
    """The tree of a file. Raises what `ast.parse` does: SyntaxError, ValueError, RecursionError,
    MemoryError.
    """
    with warnings.catch_warnings():
        # an odd escape in somebody's string is not our reader's business
        warnings.simplefilter("ignore")
        return ast.parse(content)


def nodes_inside(root: ast.AST) -> list[ast.AST]:
    """A node and all that is inside, level by level: what `ast.walk` gives by a generator for each
    node and one for each field.
    """
    nodes = [root]
    for node in nodes:  # grows by the nodes of the next level
        for field in node._fields:
            child = getattr(node, field, None)
            if isinstance(child, list):
                nodes += [part for part in child if isinstance(part, ast.AST)]
            elif isinstance(child, ast.AST):
                nodes.append(child)
    return nodes


cached_tree = lru_cache(maxsize=1)(parse_tree)
"""The same, for reading only and for few files: several questions about one file parse it once."""


def parse_facts(
    content: bytes,
    facts: Callable[[ast.Module], Facts],
    tree: Callable[[bytes], ast.Module] = parse_tree,
) -> Facts:
    """What `facts` makes of the file's tree; `unreadable_facts` where there is none. Never raises
    for bad source.
    """
    if len(content) > LARGEST:
        return too_large_facts()
    try:
        return facts(tree(content))
    except SyntaxError as problem:
        return unreadable_facts(
            f"{problem.lineno or 0}:{max(problem.offset or 0, 0)}: {problem.msg}"
        )
    except RecursionError:
        return unreadable_facts("0:0: nested too deeply for Python's parser")
    except MemoryError:
        # CPython's parser also raises it where its own stack is full (MAXSTACK), with memory left
        return unreadable_facts("0:0: nested too deeply, or too large, for Python's parser")
    except ValueError as problem:  # NUL bytes on some Pythons, numbers with thousands of digits
        return unreadable_facts(f"0:0: {problem}")


def unreadable_facts(error: str) -> Facts:
    """The facts of a file that could not be read: `error` is "line:column: reason", 0:0 for the
    file as a whole.
    """
    none: Outline = {"defs": {}, "names": {}, "bases": {}, "types": {}, "stars": [], "all": None}
    return {
        "error": " ".join(error.split()),
        "symbols": [],
        "words": [],
        "imports": [],
        "decorators": {},
        "uses": {},
        "outline": none,
        "names": "",
        "text": [],
    }


PARTIAL: Final = "read in part: what could be read is in the graph"
"""The end of an error of a file that has symbols all the same."""

PARTIAL_WITH_IMPORTS: Final = f"read in part, with all its imports{PARTIAL[len('read in part') :]}"
"""The same where no import can be missing."""

MINIFIED: Final = "minified, so it was not read"
"""Why a file that no person writes has no symbols."""


def too_large_facts() -> Facts:
    """The facts of a file with more than `LARGEST` bytes."""
    return unreadable_facts(f"0:0: larger than {LARGEST:,} bytes, so it was not read")


def unavailable_facts() -> Facts:
    """The facts of a file whose content could not be had."""
    return unreadable_facts("0:0: its content could not be read (too large, or changed meanwhile)")


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Syntax trees and rows have no cycles worth looking for; looking costs a tenth of the time and
    more.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


LONGEST: Final = 300
"""Characters of a signature or statement; what is longer ends in `…`."""
_ENOUGH: Final = 4 * LONGEST + 4
"""Bytes that certainly hold `LONGEST` characters and one more: a line may be a megabyte long."""

# the expression of PEP 263, for bytes
_COOKIE: Final = lazy_pattern(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII)
_FIRST_TWO: Final = lazy_pattern(rb"([^\r\n]*)(?:\r\n?|\n)?([^\r\n]*)")
_BOM: Final = b"\xef\xbb\xbf"
_LATIN: Final = ("latin-1", "iso-8859-1", "iso-latin-1")


def lines_of(content: bytes) -> list[bytes]:
    """The lines as UTF-8, without their ends, so that the columns of syntax trees (bytes of UTF-8)
    fit them. Never raises: what can't be decoded is replaced.
    """
    # after a BOM the parser accepts no other encoding than UTF-8 (PEP 263). bytes.splitlines()
    # splits at \n, \r and \r\n only, as the parser does; that of str would split at form feeds and
    # U+2028 too
    if content.startswith(_BOM):
        return content[len(_BOM) :].splitlines()
    encoding = encoding_of(content)
    if encoding == "utf-8":
        return content.splitlines()
    for errors in ("replace", "strict"):  # some codecs know only the strict way
        try:
            return content.decode(encoding, errors).encode("utf-8", "replace").splitlines()
        except (LookupError, ValueError):
            continue
    return content.splitlines()


def encoding_of(content: bytes) -> str:
    """The encoding that one of the first two lines declares, by the parser's own rules:
    `latin-1-unix` is `iso-8859-1`; `utf-8` where none is declared.
    """
    two = _FIRST_TWO.match(content)
    for line in two.groups() if two else ():
        cookie = _COOKIE.match(line)
        if cookie is not None:
            return _normal_encoding(cookie[1].decode("ascii", "replace"))
        if line.strip() and not line.lstrip().startswith(b"#"):
            break
    return "utf-8"


def _normal_encoding(name: str) -> str:
    # as get_normal_name in CPython's tokenizer, which looks at the first 12 characters
    start = name[:12].lower().replace("_", "-")
    if start in ("utf-8", "utf8") or start.startswith("utf-8-"):
        return "utf-8"
    if start in _LATIN or start.startswith(tuple(f"{one}-" for one in _LATIN)):
        return "iso-8859-1"
    return name


def statement(
    lines: Sequence[bytes], line: int, column: int, end_line: int, end_column: int
) -> str:
    """The source between two places on one line; of a longer one the first line and `…`."""
    if end_line == line:
        return shortened(lines[line - 1][column : min(end_column, column + _ENOUGH)])
    return shortened(lines[line - 1][column : column + _ENOUGH].rstrip()) + " …"


def shortened(text: bytes) -> str:
    """The text, at most `LONGEST` characters of it."""
    decoded = text.decode("utf-8", "replace")
    if len(decoded) <= LONGEST:
        return decoded
    return decoded[: LONGEST - 1] + "…"
