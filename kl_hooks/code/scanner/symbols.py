"""From the frames of a file to its symbols: position, signature, content hash, and the words of
their source.

A content hash covers what a symbol's code is, without comments, docstrings, layout and position. A
signature is cut from the source, since unparsing is slow and differs by Python version.

The words are what the ranking of a task is made of. Every word belongs to the innermost function,
method or class around it, else to the module. Comments and the inside of strings are read from the
bytes: syntax trees hold no comments, and no text as it was written.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import accumulate
from keyword import iskeyword
from typing import Any, Final

from kl_hooks.code.scanner.parser import LONGEST, shortened, statement
from kl_hooks.code.scanner.visitor import Frame, docstring
from kl_hooks.model.definitions import lazy_pattern


def set_digests(frames: Sequence[Frame]) -> None:
    """Sets `own` and `full` of every frame; inner frames come after the outer ones, so from the
    last to the first.

    A class and a module omit the functions and classes defined in them, which have hashes of their
    own; their fields stay. A function includes everything inside it: a changed inner function is a
    changed function.
    """
    for frame in reversed(frames):
        # surrogatepass: a literal such as '\ud800' is a lone surrogate, which UTF-8 can't hold
        digest = sha256("\0".join(frame.text).encode("utf-8", "surrogatepass"))
        if not frame.kids:
            frame.own = frame.full = digest.digest()
            continue
        full = digest.copy()
        for kid in frame.kids:
            full.update(kid.full)
        frame.full = full.digest()
        if frame.kind == "function" or (frame.kind == "block" and frame.scope == "function"):
            frame.own = frame.full
            continue
        for kid in frame.kids:
            if kid.kind not in ("function", "class"):
                digest.update(kid.own)
        frame.own = digest.digest()


def combined_digest(digests: Sequence[bytes]) -> str:
    """16 hexadecimal digits: of the one definition, or of all definitions of one name in their
    order.
    """
    if len(digests) == 1:
        return digests[0].hex()[:16]
    return sha256(b"".join(digests)).hexdigest()[:16]


# bytes: a signature shows LONGEST characters of them, while a default may be a megabyte long
_HEADER = 20_000
_PAIRS = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"))
_PIECE = lazy_pattern(
    rb"""(?xs)
    (?P<comment>\#[^\r\n]*)
    |(?P<text>\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\\r\n])*"|'(?:\\.|[^'\\\r\n])*')
    |(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<colon>:)|(?P<gap>\\?[\s]+)|(?P<rest>[^\s#"'()\[\]{}:\\]+|.)"""
)


def header(lines: Sequence[bytes], node: Any) -> str:
    """`def feed(self, data: bytes) -> int` or `class Parser(Base)`: up to the colon, without
    comments, on one line.

    `lines` are the source's lines in UTF-8, `node` a function's or class's ast node.
    """
    first = lines[node.lineno - 1][node.col_offset :].rstrip()
    if (
        first.endswith(b":")
        and b"#" not in first
        and not any(first.count(a) != first.count(b) for a, b in _PAIRS)
    ):
        return shortened(tidy(first[:-1]))
    following = lines[node.lineno : node.body[0].end_lineno]
    whole = b"\n".join([first, *following])[:_HEADER]
    return shortened(_until_colon(whole))


def _until_colon(text: bytes) -> bytes:
    depth = 0
    parts = []
    for piece in _PIECE.finditer(text):
        kind = piece.lastgroup
        if kind == "comment":
            continue
        if kind == "colon" and depth == 0:
            break
        depth += (kind == "open") - (kind == "close")
        parts.append(b" " if kind == "gap" else piece[0])
    return tidy(b"".join(parts))


def tidy(text: bytes) -> bytes:
    """One line: gaps are one blank, none inside round brackets, no comma after the last of the
    outermost ones.
    """
    line = b" ".join(text.split()).replace(b"( ", b"(").replace(b" )", b")")
    place = line.find(b",)")
    while place >= 0:
        outermost = line.count(b"(", 0, place) - line.count(b")", 0, place) == 1
        if outermost:
            line = line[:place] + line[place + 1 :]
        place = line.find(b",)", place + 1)
    return line


_INTERFACES: Final = frozenset({"Protocol", "ABC"})
_AROUND: Final = (ast.Subscript, ast.Call)
_ACCESSORS: Final = frozenset({"setter", "getter", "deleter"})
Row = list[Any]
"""[id, line, end_line, signature, doc, content_hash], plain JSON."""


_SOURCE_KINDS: Final = ("module", "class", "function")
"""Frames that have source of their own: its words are those of the symbol."""


def symbol_rows(
    frames: Sequence[Frame], lines: Sequence[bytes], module: str
) -> tuple[list[Row], list[str]]:
    """The symbols of a file, the module first, then in the order of their lines; and for each the
    words of its code, where these are not the words of its source (`source_words`): of fields and
    aliases.

    Definitions of one Id (overloads, a property and its setter, `if`/`else`) are one row: place and
    signature of the first that is no `@overload`, the docstring of the first that has one, a hash
    over all of them.
    """
    set_ids(frames, module)
    frames_by_name: dict[str, list[Frame]] = {}
    for frame in frames:
        for name in frame.ids:
            frames_by_name.setdefault(name, []).append(frame)
    rows: list[tuple[Row, str]] = []
    for name, same in frames_by_name.items():
        if len(same) > 1:
            # `else` was walked before `if`
            same.sort(key=lambda frame: getattr(frame.node, "lineno", 0))
        chosen = same[0]
        doc = _doc(same[0])
        texts = dict.fromkeys(same[0].text)
        if len(same) > 1:
            # an @overload is a declaration for type checkers; what is called is the definition
            # after them (PEP 484)
            chosen = next((f for f in same if not _is_overload(f)), chosen)
            doc = next(filter(None, (_doc(f) for f in same)), "")
            texts = dict.fromkeys(text for f in same for text in f.text)
        line, end_line = _place(chosen, lines)
        row = [
            name,
            line,
            end_line,
            _signature(chosen, lines, module),
            doc,
            combined_digest([f.own for f in same]),
        ]
        # no mark of a text is an identifier
        if chosen.kind in _SOURCE_KINDS:
            words = ""
        else:
            words = " ".join(sorted(filter(str.isidentifier, texts)))
        rows.append((row, words))
    # the outer before the inner
    rows.sort(key=lambda pair: (not pair[0][0].startswith("namespace:"), pair[0][1]))
    return [row for row, _ in rows], [words for _, words in rows]


def set_ids(frames: Sequence[Frame], module: str) -> None:
    """Sets the Ids of what each frame defines; resolving a name needs them."""
    for frame in frames:
        frame.ids = _ids(frame, module)


def decorators_of(
    frames: Sequence[Frame], lines: Sequence[bytes], places: Mapping[str, int]
) -> dict[str, list[str]]:
    """Place of a symbol → its decorators as written, one line each; of several definitions those of
    the first.
    """
    decorators: dict[str, list[str]] = {}
    for frame in sorted(frames, key=lambda frame: getattr(frame.node, "lineno", 0)):
        if frame.kind in ("class", "function") and frame.node.decorator_list:
            shown = [_decorator(node, lines) for node in frame.node.decorator_list]
            for identifier in frame.ids:
                decorators.setdefault(str(places[identifier]), shown)
    return decorators


def _decorator(node: ast.expr, lines: Sequence[bytes]) -> str:
    end_line = node.end_lineno or node.lineno
    end_column = node.end_col_offset or 0
    return "@" + statement(lines, node.lineno, node.col_offset, end_line, end_column)


def namespace_signature(module: str) -> str:
    """The signature of a module."""
    return f"module {module}"


def _ids(frame: Frame, module: str) -> list[str]:
    outer = frame.outer
    if outer is None:
        return [f"namespace:{module}"]
    if frame.kind == "block":
        return []
    if frame.kind == "field" and outer.scope == "function":
        # `self.x: int` in a method: the prefix is `C.m.<locals>.`, the field belongs to `C`
        owner = outer.prefix.rpartition(".<locals>.")[0].rpartition(".")[0]
        return [f"field:{module}.{owner}.{name}" for name in frame.names]
    sort = _id_prefix(frame, outer)
    names = [name if name in outer.globals else outer.prefix + name for name in frame.names]
    return [f"{sort}:{module}.{name}" for name in dict.fromkeys(names)]


def _id_prefix(frame: Frame, outer: Frame) -> str:
    if frame.kind == "class":
        bases = [*frame.node.bases, *(k.value for k in frame.node.keywords if k.arg == "metaclass")]
        if any(_last_name(b) in _INTERFACES or _last_name(b) == "ABCMeta" for b in bases):
            return "interface"
        return "type"
    if frame.kind == "function":
        if outer.scope != "class":
            return "function"
        if any(map(_makes_property, frame.node.decorator_list)):
            return "property"
        return "method"
    if frame.kind == "alias":
        return "type"
    return "field"


def _last_name(node: ast.expr) -> str:
    while isinstance(node, _AROUND):
        if isinstance(node, ast.Subscript):
            node = node.value
        else:
            node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    return ""


def _makes_property(decorator: ast.expr) -> bool:
    name = _last_name(decorator)
    return name.endswith("property") or (
        name in _ACCESSORS and isinstance(decorator, ast.Attribute)
    )


def _is_overload(frame: Frame) -> bool:
    return frame.kind == "function" and any(
        _last_name(d) == "overload" for d in frame.node.decorator_list
    )


def _place(frame: Frame, lines: Sequence[bytes]) -> tuple[int, int]:
    if frame.kind == "module":
        return 1, max(len(lines), 1)
    return frame.node.lineno, frame.node.end_lineno


def _signature(frame: Frame, lines: Sequence[bytes], module: str) -> str:
    if frame.kind == "module":
        return namespace_signature(module)
    node = frame.node
    if frame.kind in ("class", "function"):
        return header(lines, node)
    return statement(lines, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)


def _doc(frame: Frame) -> str:
    if frame.kind not in ("module", "class", "function"):
        return ""
    text = docstring(frame.node)
    if not text:
        return ""
    clean = text.lstrip().partition("\n")[0].rstrip()
    if not clean.isascii() or "\0" in clean:
        # sqlite3 raises UnicodeEncodeError for a lone surrogate
        from kl_hooks.model.canonical import replace_surrogates

        clean = str(replace_surrogates(clean)).replace("\0", "")
    if len(clean) <= LONGEST:
        return clean
    return clean[: LONGEST - 1] + "…"


# one group: split() gives what is between tokens and the tokens in turn, at the speed of C
_TOKEN: Final = lazy_pattern(
    rb"""(?xs)
    (\#[^\n]*
    |[rRbBuUfFtT]{0,2}(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''
        |"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    |[A-Za-z_\x80-\xff][\w\x80-\xff]*)"""
)
_WORD: Final = lazy_pattern(r"[^\W\d]\w*")
_LONGEST: Final = 100
_END: Final = -1
_BODY: Final = -2
"""In the place of a symbol: the innermost one ends, or its field changes."""
_MOST: Final = 20_000
"""Words of a symbol: what has more is a table of data."""
Text = list[Any]
"""[place of the symbol, its name, its class, its words]; see `kl_hooks.index.postings.SymbolText`.
"""


def source_words(
    frames: Sequence[Frame], lines: Sequence[bytes], places: Mapping[str, int]
) -> list[Text]:
    """The texts of the module, and of every class and function, in the order of `places`.

    Several definitions of one Id (overloads, a property and its setter) are one text.
    """
    source = b"\n".join(lines)
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    owners: dict[int, list[str]] = {}
    words: dict[int, list[str]] = {}
    events: list[tuple[int, int, int, str]] = []
    for frame in frames:
        if frame.kind not in _SOURCE_KINDS or not frame.ids:
            continue
        place = places[frame.ids[0]]
        owners.setdefault(place, _names(frame))
        words.setdefault(place, [])
        events += _events(frame, place, starts)
    pieces = _TOKEN.split(source)
    tokens = pieces[1::2]
    offsets = [*accumulate(map(len, pieces))][::2]
    hidden = _in_lines(secret_lines(source, "python"), starts, tokens, offsets)
    last = dict.fromkeys(words, "")
    for place, mark, start, end in _regions(sorted(events), offsets[: len(tokens)]):
        if len(words[place]) < _MOST:
            last[place] = _add_words(
                words[place], last[place], mark, tokens, range(start, end), hidden
            )
    return [[place, *owners[place], " ".join(_at_most(words[place]))] for place in sorted(words)]


def _at_most(words: list[str]) -> list[str]:
    # a sign is never the last one
    if len(words) <= _MOST:
        return words
    return words[: _MOST + (words[_MOST - 1] in _MARKS)]


def _names(frame: Frame) -> list[str]:
    """The name of what a frame defines and of the class it is in; empty where there is none."""
    if frame.kind == "module":
        return ["", ""]
    if frame.outer is not None:
        home = frame.outer.home
    else:
        home = None
    return [frame.names[0], home.names[0] if home is not None and home.kind == "class" else ""]


def _events(frame: Frame, place: int, starts: Sequence[int]) -> Iterator[tuple[int, int, int, str]]:
    """(offset, order, place, field) wherever the words that follow belong to another symbol or
    field.
    """
    # of what changes at one offset: ends, then the start of the module or a body, then a docstring,
    # then what is inside
    node = frame.node
    body = node.body
    if frame.kind == "module":
        yield 0, 1, place, "."
    else:
        yield _start(node, starts), 3, place, "("
        yield _start(body[0], starts), 1, _BODY, "."
        yield starts[node.end_lineno - 1] + node.end_col_offset, 0, _END, ""
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        doc = body[0].value
        if (
            isinstance(doc.value, str)
            and doc.end_lineno is not None
            and doc.end_col_offset is not None
        ):
            yield _start(doc, starts), 2, _BODY, "'"
            yield starts[doc.end_lineno - 1] + doc.end_col_offset, 2, _BODY, "."


def _start(node: Any, starts: Sequence[int]) -> int:
    """The offset of a node with its decorators."""
    first = min(
        [node, *getattr(node, "decorator_list", ())], key=lambda candidate: int(candidate.lineno)
    )
    return int(starts[first.lineno - 1] + first.col_offset)


def _regions(
    events: Sequence[tuple[int, int, int, str]], offsets: Sequence[int]
) -> Iterator[tuple[int, str, int, int]]:
    """(place, field, first token, end) of each stretch in one symbol and field, in the order of the
    source.
    """
    stack: list[list[Any]] = []
    start = 0
    for offset, _, place, mark in events:
        end = bisect_left(offsets, offset, start)
        if end > start:
            yield stack[-1][0], stack[-1][1], start, end
            start = end
        if place >= 0:
            stack.append([place, mark])
        elif place == _END:
            stack.pop()
        else:
            stack[-1][1] = mark
    if start < len(offsets):
        yield stack[-1][0], stack[-1][1], start, len(offsets)


_known: Final[dict[bytes, str]] = {}
"""Identifier → its word, empty for what is none: source repeats the same ones over and over."""
_MOST_KNOWN: Final = 100_000
_MARKS: Final = frozenset(".#\"('")


def _add_words(
    into: list[str],
    last: str,
    mark: str,
    tokens: Sequence[bytes],
    places: range,
    hidden: Collection[int],
) -> str:
    """Add the words of some tokens, each other field announced by its sign; returns the last
    sign.
    """
    of_names, of_text = (".", "'") if mark == "'" else (mark, '"')
    find = _known.get
    add = into.append
    for place in places:
        token = tokens[place]
        word = find(token)
        if word is None:
            if (
                token[0] == 35 or token[-1] in b"\"'"
            ):  # `#`, or a literal; no name ends in a quotation mark
                if place in hidden:
                    continue
                sign = "#" if token[0] == 35 else of_text
                token_words = [
                    written
                    for written in _WORD.findall(token.decode("utf-8", "replace"))
                    if len(written) <= _LONGEST
                ]
                if token_words:
                    if sign != last:
                        add(sign)
                        last = sign
                    into += token_words
                continue
            word = _known_word(token)
        if word:
            if last != of_names:
                add(of_names)
                last = of_names
            add(word)
    return last


def _known_word(token: bytes) -> str:
    """The word that an identifier is; empty for a keyword, and for what is no identifier."""
    name = token.decode("utf-8", "replace")
    if not iskeyword(name) and len(name) <= _LONGEST and name.isidentifier():
        word = name
    else:
        word = ""
    if len(_known) > _MOST_KNOWN:
        _known.clear()
    _known[token] = word
    return word


def _in_lines(
    lines: Collection[int], starts: Sequence[int], tokens: Sequence[bytes], offsets: Sequence[int]
) -> set[int]:
    """Those of the tokens that are, wholly or in part, on any of these lines."""
    numbers = set[int]()
    for line in lines:
        start = starts[line]
        if line + 1 < len(starts):
            end = starts[line + 1]
        else:
            end = offsets[-1]
        first = bisect_left(offsets, start)
        # a literal of several lines may begin above
        first -= first > 0 and offsets[first - 1] + len(tokens[first - 1]) > start
        numbers.update(range(first, bisect_left(offsets, end)))
    return numbers


def secret_lines(source: bytes, language: str) -> set[int]:
    """The lines, from 0, that hold what looks like a secret: what is written in them is not
    stored. `language`: of `store.redaction.redact`.
    """
    from kl_hooks.model.text import safe_text
    from kl_hooks.store.redaction import redact

    text = source.decode("utf-8", "replace")
    clean = text.replace("\r", "\n")
    hidden = redact(clean, language)
    if hidden == clean:
        return set()
    lines = safe_text(text).split("\n")
    whole = "\n".join(lines)
    redacted = (hidden if whole == clean else redact(whole, language)).split("\n")
    if len(redacted) != len(lines):  # a key of several lines
        numbers = {number for number, line in enumerate(lines) if redact(line, language) != line}
    else:
        numbers = {
            number
            for number, pair in enumerate(zip(lines, redacted, strict=True))
            if pair[0] != pair[1]
        }
    # what is seen in the whole only: then no text of this file is stored
    remainder = "\n".join("" if number in numbers else line for number, line in enumerate(lines))
    if redact(remainder, language) == remainder:
        return numbers
    return set(range(source.count(b"\n") + 1))
