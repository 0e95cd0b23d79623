"""Signals: what the words of a task point at. Pure; whatever the text, it never raises."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from kl_hooks.model.definitions import lazy_pattern
from kl_hooks.model.package import Signals
from kl_hooks.model.request import Request


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_STOP_WORDS: Final = _words("""
    the and for are but not you all any can had has have was were will with this that these those
    then than them they there their from into onto over under about after before again also because
    been being both cannot could does doing done each else ever every her here him his how its just
    like make more most much must need our out should some such too use used using very want what
    when where which while who why would your please
    """)
"""Too common to point at anything; lower case."""

_FAILURE_WORDS: Final = _words("""
    error errors fail fails failed failing failure failures broken breaks crash crashes crashed
    exception exceptions invalid missing undefined wrong unexpected bug bugs issue problem
    """)
"""Words for failures; lower case."""

_FILE_ENDINGS: Final = _words("""
    py pyi pyx ipynb md rst txt toml yaml yml json jsonl ini cfg conf lock sql sh bash html css js
    jsx mjs ts tsx rs go java kt c cc cpp h hpp cs rb php xml csv tsv proto dockerfile
    """)
"""What may follow the last dot of a word for it to be a file even without a folder before it."""


_MOST_KEYWORDS: Final = 15
_MOST_OTHERS: Final = 10
MOST_TEXT: Final = 50_000
"""Characters of a task that are read: a pasted log must not cost seconds."""

_CHUNK: Final = lazy_pattern(r"`([^`\n]{1,200})`|([^\s`,;()\[\]{}\"'“”‘’«»…–—<>=!?|^%&*#]+)")
"""A span in backticks, or a run of what may belong together: words, dots, slashes, `::`."""
_SPLIT: Final = lazy_pattern(r"[\s,;:.()\[\]{}\"'“”‘’«»…–—`/\\=<>!?@#*+\-&|^%]+")
_URL: Final = lazy_pattern(r"[a-z][a-z0-9+.-]{1,15}://", re.IGNORECASE)
_ENDING: Final = lazy_pattern(r"\.([A-Za-z0-9]{1,10})$")

# CPython: `File "a.py", line 3, in f`; pytest, ruff and mypy: `a.py:3: ValueError`, `a.py:3: in f`,
# `a.py:3:5: E1`
_FRAME: Final = lazy_pattern(
    r"""File ["']([^"'\n]{1,500})["'], line (\d{1,7})|^\s*(?:[E>]\s+)?([^\s:]{1,300}\.py):(\d{1,7})\b""",
    re.M,
)
_TEST: Final = lazy_pattern(
    r"(?<![^\s\"'`(])([\w./-]{1,300}\.py(?:::\w{1,200}){1,5}(?:\[[^\]\n]{0,200}\])?)"
)
_MOST_FRAMES: Final = 50

# pytest's report, as `_pytest/terminal.py` prints it in any of its styles of tracebacks
_REPORT: Final = lazy_pattern(
    r"^=+ (?:test session starts|FAILURES|ERRORS|short test summary info) =+$|^_{3,}"
    r" (?=.{0,200}test).* _{3,}$",
    re.M,
)
_TITLE: Final = lazy_pattern(r"^_{3,} (?:ERROR at \w+ of )?([\w.]{1,300}).* _{3,}$")
_FRAME_LINE: Final = lazy_pattern(r"^\S+\.py:\d+: ?(?:in )?(\w*)")
_TEST_WORD: Final = lazy_pattern(
    r"(?<![a-zA-Z])tests?(?![a-z])_?|(?<![a-zA-Z])Test(?=[A-Z_])|_tests?(?![a-z])"
)
_OF_PYTEST: Final = lazy_pattern(
    r"^(?:[=_-]{3,}|(?:platform|rootdir|configfile|cachedir|plugins|testpaths|collected|hypothesis"
    r" profile)\b)"
    r"|^(?:FAILED|ERROR) |\[ *\d+%\]$|^E +(?:Use -v|Full diff|\.\.\.Full|Omitting \d)|^(?:_ )+_?$"
)
"""Lines that are in every report."""

_WARNINGS: Final = lazy_pattern(r"^=+ warnings summary.*? =+\n(?:(?!=+ .* =+$).*\n?)*", re.M)
"""pytest's list of warnings: most are of other code than what failed, each with a path and a line.
"""
_TITLE_LINE: Final = lazy_pattern(r"^_{3,} .* _{3,}$", re.M)
_CHAINED: Final = lazy_pattern(
    r"^(?:The above exception was the direct cause of the following exception"
    r"|During handling of the above exception, another exception occurred):$",
    re.M,
)
"""What Python and pytest print between exceptions: the first one raised comes first."""

Token = tuple[str, str]
"""(`word`, `name` or `path`, the text): what one piece of the task is."""


def read_signals(text: str, known_names: Collection[str] = ()) -> Signals:
    """The signals of `text`, in its order, each once. Empty text gives empty signals.

    A capitalised word such as `Fix` is a name only if it looks like code (an inner capital, a
    digit, `_`, a dot, in backticks) or is in `known_names`: the start of a sentence is no symbol.
    """
    text = _WARNINGS.sub("", text[:MOST_TEXT])
    tokens = list(_tokens(without_report(text), known_names))
    words = [value.lower() for sort, value in tokens if sort == "word"]
    return Signals(
        keywords=_first(_MOST_KEYWORDS, (w for w in words if len(w) > 2 and w not in _STOP_WORDS)),
        symbols=_first(_MOST_OTHERS, (value for sort, value in tokens if sort == "name")),
        failures=_first(_MOST_OTHERS, _failures(tokens)),
        paths=_first(_MOST_OTHERS, (value for sort, value in tokens if sort == "path")),
        frames=_frames(text),
        tests=_first(_MOST_OTHERS, (match[1] for match in _TEST.finditer(text[:MOST_TEXT]))),
    )


def without_secrets(request: Request) -> Request:
    """Return the request with a task and queries from which no secret can be derived.

    A prompt is where people paste passwords. What makes one a secret (`api_key="…"`) is not in the
    names and words that are read from it, so nothing could remove it from these.
    """
    from kl_hooks.store.redaction import redact

    return request._replace(
        task=redact(request.task),
        queries=tuple(redact(query) for query in request.queries),
    )


def without_report(text: str) -> str:
    """The words of a task; of a pasted report of pytest what is about these failures and not in
    every report.

    First what is before the report, then the names of failing tests and of their files, which
    usually are those of what they test; then what was compared or raised, then the lines of source
    around it.
    """
    text = _WARNINGS.sub("", text)
    start = _REPORT.search(text)
    if start is None:
        return text
    names: list[str] = []
    failures: list[str] = []
    source: list[str] = []
    for line in text[start.start() :].splitlines():
        title = _TITLE.match(line)
        frame = _FRAME_LINE.match(line)
        if title:
            names.append(title[1])
        elif frame:
            names.append("" if frame[1].startswith("test") else frame[1])
        elif not _OF_PYTEST.search(line):
            (failures if line[:1] in ("E", ">") else source).append(
                line.removeprefix("E").removeprefix(">")
            )
    names += [
        match[1].partition("::")[0].rpartition("/")[2].removesuffix(".py")
        for match in _TEST.finditer(text)
    ]
    about = " ".join(dict.fromkeys(_TEST_WORD.sub(" ", name) for name in names if name))
    parts = [text[: start.start()].strip(), about, *dict.fromkeys(failures), *dict.fromkeys(source)]
    return "\n".join(filter(None, parts))


def _frames(text: str) -> tuple[tuple[str, int], ...]:
    """The frames of all failures; of chained exceptions those of the first, which is the cause,
    come last.
    """
    frames: list[tuple[str, int]] = []
    for failure in _TITLE_LINE.split(text):
        for part in reversed(_CHAINED.split(failure)):
            frames += [
                ((frame[1] or frame[3]).replace("\\", "/"), int(frame[2] or frame[4]))
                for frame in _FRAME.finditer(part)
            ]
    return tuple(frames[-_MOST_FRAMES:])


def _first(most: int, values: Iterator[str]) -> tuple[str, ...]:
    return tuple(list(dict.fromkeys(values))[:most])


def _tokens(text: str, known_names: Collection[str]) -> Iterator[Token]:
    for match in _CHUNK.finditer(text):
        bare = (match[1] or "").strip().removesuffix("()")
        if match[1] is None:
            yield from _chunk(match[0], known_names)
        elif all(part.isidentifier() for part in bare.split(".")) and _as_path(bare) is None:
            yield "name", bare  # alone in backticks it is code, however it is spelled
        else:
            for inner in _CHUNK.finditer(match[1]):
                yield from _chunk(inner[0], known_names)


def _chunk(chunk: str, known_names: Collection[str]) -> Iterator[Token]:
    if not _URL.match(chunk):
        # the slash at the end is the only sign of a folder, and strip() removes it
        yield from _plain(chunk.strip(".:-~/\\") + ("/" if chunk[-1:] == "/" else ""), known_names)


def _plain(chunk: str, known_names: Collection[str]) -> Iterator[Token]:
    place, *inside = chunk.split("::")
    path = _as_path(place.partition(":")[0])
    if path is not None:
        yield "path", path
        for part in inside:
            yield from _plain(part, known_names)
    elif _is_dotted(chunk):
        yield "name", chunk
    else:
        for word in filter(None, _SPLIT.split(chunk)):
            yield ("name" if looks_like_code(word) or word in known_names else "word"), word


def looks_like_code(word: str) -> bool:
    """True for `CamelCase`, `camelCase`, `snake_case`, `utf8`; not for `Fix`, `README`, `42` or
    `well`.
    """
    if not word.isidentifier() or len(word) < 2 or not word.strip("_"):
        return False
    if "_" in word or any(c.isdigit() for c in word):
        return True
    return any(c.islower() for c in word) and any(c.isupper() for c in word[1:])


def _is_dotted(chunk: str) -> bool:
    parts = chunk.split(".")
    return (
        len(parts) > 1 and all(p.isidentifier() for p in parts) and any(len(p) > 1 for p in parts)
    )


def _as_path(chunk: str) -> str | None:
    """The path with `/`, where the word looks like a file or, by its last slash, like a folder;
    else None.
    """
    path = chunk.replace("\\", "/").removeprefix("./")
    ending = _ENDING.search(path)
    if ending is None:
        if path.endswith("/") and any(c.isalnum() for c in path):
            return path
        return None
    # `.py` alone names no file; digits behind a dot are a version or a number
    has_known_ending = ending[1].lower() in _FILE_ENDINGS and path != ending[0]
    if has_known_ending or ("/" in path and not ending[1].isdigit()):
        return path
    return None


def _failures(tokens: list[Token]) -> Iterator[str]:
    """Each failure word with the code name right before and right after it."""
    for position, (sort, value) in enumerate(tokens):
        if sort == "word" and value.lower() in _FAILURE_WORDS:
            around = tokens[max(position - 1, 0) : position + 2]
            yield " ".join(
                v.lower() if v is value else v for s, v in around if s == "name" or v is value
            )
