"""Rare words: the lines that have a name of the task which names no symbol.

A task often has the one word that leads to its place: a key, an option, the name of a function in
another language. No symbol has this name, and the class or table that holds it is long. An agent
greps for such a word first; where few files have it, these lines are worth more than any rank.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.context.ranking import StoredCode
from kl_hooks.errors import KlError
from kl_hooks.index.postings import OTHER, SOURCE, Segments, text_terms
from kl_hooks.model.package import Candidate
from kl_hooks.model.symbol import language_of
from kl_hooks.model.text import counted, name_list, one_line
from kl_hooks.store.files import read_small

if TYPE_CHECKING:
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

RARE_WORDS: Final = "rare words"
"""Name of the list, and of the kind of its items until they are among the places."""
_WORDS: Final = 4
"""Words that are looked for."""
_FILES: Final = 3
"""Most files of source, and of tests, that have a word: one in more files leads nowhere."""
_LINES: Final = 3
_LINES_OF_TESTS: Final = 1
"""Lines of a file of source, and of tests, that are shown."""
_LONGEST_LINE: Final = 120


def rare_word_places(
    ws: Workspace,
    db: Database,
    words: Sequence[str],
    is_shown: Callable[[str, str], bool],
    clean: Callable[..., str],
) -> tuple[Candidate, ...]:
    """Return for each file that has one of these words its lines, source before tests.

    `words`: names in a task (`model.package.Signals.symbols`). `is_shown`: (ID, path) → whether the
    reader may see it. `clean` redacts.
    """
    segments = Segments(db)
    corpora = [StoredCode(db, corpus, segments) for corpus in (SOURCE, OTHER)]
    rare_words = _without_symbols(corpora, words)[:_WORDS]
    places: list[Candidate] = []
    for code, most in zip(corpora, (_LINES, _LINES_OF_TESTS), strict=True):
        for path, names in _files_with(code, rare_words).items():
            if is_shown(f"file:{path}", path):
                lines = list(_lines_with(ws, path, names))
                places.extend(_candidate(path, lines, most, clean))
    return tuple(places)


def _without_symbols(corpora: Sequence[StoredCode], words: Sequence[str]) -> list[str]:
    """Return the words that are no name of a symbol: of a symbol its definition is ranked."""
    plain = [word for word in words if word.isidentifier()]
    defined = set[str]().union(*(code.definitions(plain) for code in corpora))
    return [word for word in plain if word not in defined]


def _files_with(code: StoredCode, words: Sequence[str]) -> dict[str, list[str]]:
    """Return the files that have one of the words, for words that few files have: path → words."""
    # of an identifier with several parts the last of its terms is the whole
    term_by_word = {word: text_terms(word)[-1] for word in words if text_terms(word)}
    words_of_file: dict[str, list[str]] = {}
    columns_by_term = code.postings.find(term_by_word.values())
    for word, term in term_by_word.items():
        if term not in columns_by_term:
            continue
        documents = set(columns_by_term[term].docs)
        paths = sorted(set(code.postings.paths_of(documents).values()))
        if len(paths) <= _FILES:
            for path in paths:
                words_of_file.setdefault(path, []).append(word)
    return words_of_file


def _lines_with(
    ws: Workspace, path: str, words: Sequence[str]
) -> Iterator[tuple[int, str, list[str]]]:
    """Yield (number, line, which of the words it has) for the lines of a file."""
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b")
    try:
        content = read_small(ws.root / path, ws.root)
    except KlError:  # a link, or no file any more: the graph is older
        return
    # an editor's lines: `splitlines` ends them at form feeds, too
    for number, line in enumerate((content or b"").decode("utf-8", "replace").split("\n"), 1):
        if names := pattern.findall(line):
            yield number, line.strip(), names


def _candidate(
    path: str,
    lines: Sequence[tuple[int, str, list[str]]],
    most: int,
    clean: Callable[..., str],
) -> Iterator[Candidate]:
    """Yield the item of a file; nothing where no line has a word as it is written in the task."""
    if not lines:
        return
    names = name_list(list(dict.fromkeys(name for *_, names in lines for name in names)), _WORDS)
    title = f"has {names}"
    if len(lines) > most:
        title += f", in {counted(len(lines), 'line')}"
    text = "\n".join(
        f"{number}: {one_line(clean(line, language_of(path)), _LONGEST_LINE)}"
        for number, line, _ in lines[:most]
    )
    first = lines[0][0]
    # not `file:`: the same file may be there for its tests
    identifier = f"lines:{path}"
    yield Candidate(identifier, RARE_WORDS, title, text, title, path, first, is_lasting=True)
