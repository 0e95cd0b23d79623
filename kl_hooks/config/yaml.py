"""A strict reader of YAML: places for everything, all problems at once, and no bytes that bring it
down.

Nodes are built from the parser's events rather than from finished objects: so duplicate keys are
seen, aliases never expand, limits hold before anything deep or large is built, nothing recurses,
and no type is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.problem import Problem
from kl_hooks.model.text import suggest_spelling
from kl_hooks.store.files import MAX_BYTES


class TextNode(NamedTuple):
    """A scalar as it was written, escapes and folding resolved."""

    value: str
    line: int
    column: int
    plain: bool = True
    """Written without quotes: only then is an empty text a missing value."""


class ListNode(NamedTuple):
    """A sequence."""

    items: tuple[Node, ...]
    line: int
    column: int


class MapNode(NamedTuple):
    """Keys and values in the order of the file; keys are unique."""

    entries: tuple[tuple[TextNode, Node], ...]
    line: int
    column: int


Node = TextNode | ListNode | MapNode


def _node_type(node: Node) -> str:
    """`text`, `a list` or `a map`, for messages."""
    if isinstance(node, TextNode):
        return "text"
    if isinstance(node, ListNode):
        return "a list"
    return "a map"


_MAX_DEPTH: Final = 50
_MAX_NODES: Final = 10_000
_SURROGATE: Final = lazy_pattern("[\ud800-\udfff]")


class _OpenNode:
    """A list or map that is still being read."""

    __slots__ = ("column", "is_map", "items", "key", "line", "seen")

    def __init__(self, is_map: bool, line: int, column: int) -> None:
        self.is_map = is_map
        self.line = line
        self.column = column
        self.items: list[Any] = []
        self.key: TextNode | None = None
        self.seen: dict[str, int] = {}

    def node(self) -> Node:
        if self.is_map:
            return MapNode(tuple(self.items), self.line, self.column)
        return ListNode(tuple(self.items), self.line, self.column)


class _Builder:
    """A builder of nodes from events without recursion; reports what is not allowed and goes on
    wherever it can.
    """

    def __init__(self, path_name: str, problems: list[Problem]) -> None:
        self.root: Node | None = None
        self.last = (0, 0)
        self._path, self._problems = path_name, problems
        self._open: list[_OpenNode] = []
        self._documents = self._nodes = 0

    def _report(self, message: str, hint: str = "", place: tuple[int, int] | None = None) -> None:
        self._problems.append(Problem(self._path, *(place or self.last), message, hint))

    def take(self, event: Any) -> bool:
        """Take one event; False where parsing must stop."""
        # by name: the classes are yaml's, which is imported where a file is parsed, not with this
        # module
        name = type(event).__name__
        self.last = (event.start_mark.line + 1, event.start_mark.column + 1)
        if name == "DocumentStartEvent":
            self._documents += 1
            if self._documents > 1:
                self._report(
                    "a second document starts here; a file holds one.", "Take the `---` out."
                )
                return False
        elif name in ("SequenceEndEvent", "MappingEndEvent"):
            self._put(self._open.pop().node())
        elif name in ("AliasEvent", "ScalarEvent", "SequenceStartEvent", "MappingStartEvent"):
            return self._node(name, event)
        return True

    def _node(self, name: str, event: Any) -> bool:
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            self._report(f"more than {_MAX_NODES} values; this file is too large.")
            return False
        if name == "AliasEvent":
            marks = [("alias", "*", event.anchor)]
        else:
            marks = [("anchor", "&", event.anchor)]
        for mark, sign, word in [*marks, ("tag", "", getattr(event, "tag", None))]:
            if word is not None:
                self._report(
                    f"the {mark} `{sign}{word}` is not allowed here.", "Write the value out."
                )
        if name in ("AliasEvent", "ScalarEvent"):
            value = getattr(event, "value", "")
            if _SURROGATE.search(value):
                self._report("half a character (a lone surrogate).", "Write the character itself.")
                value = _SURROGATE.sub("\ufffd", value)
            self._put(TextNode(value, *self.last, plain=not getattr(event, "style", None)))
            return True
        if len(self._open) >= _MAX_DEPTH:
            self._report(f"nested deeper than {_MAX_DEPTH} levels.")
            return False
        self._open.append(_OpenNode(name == "MappingStartEvent", *self.last))
        return True

    def _put(self, node: Node) -> None:
        """Put a finished node where it belongs."""
        if not self._open:
            self.root = node
            return
        parent = self._open[-1]
        if not parent.is_map:
            parent.items.append(node)
        elif parent.key is None:
            parent.key = self._as_key(parent, node)
        else:
            key, parent.key = parent.key, None
            if key.value not in parent.seen:
                parent.seen[key.value] = key.line
                parent.items.append((key, node))

    def _as_key(self, parent: _OpenNode, node: Node) -> TextNode:
        if not isinstance(node, TextNode):
            self._report("a key must be text.", place=(node.line, node.column))
            return TextNode("", node.line, node.column)
        if node.value == "<<" and node.plain:
            self._report("the merge key `<<` is not allowed here.", "Write the values out.")
        elif node.value in parent.seen:
            first = parent.seen[node.value]
            self._report(f'"{node.value}" is given twice (first at line {first}).')
        return node


_MAX_PROBLEMS: Final = 100

# as a negated class `re` would spend 6 ms at every start on its range up to U+10FFFF (CPython 3.13)
_UNPRINTABLE: Final = lazy_pattern(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]"
)
_DIFFERS: Final = lazy_pattern("[\t?]|[|>][-+0-9]*#")
"""What libyaml reads otherwise than Python's parser (found by mutation): it takes tabs in a text, a
`?` that no space follows, a comment right behind the sign of a block.
"""
_BREAK: Final = lazy_pattern("\r\n|[\n\r\x85\u2028\u2029]")
_DASH: Final = "this `-` is not indented like the list it belongs to."
_PARSER_MESSAGES: Final = {
    "mapping values are not allowed here": (
        "a `:` that does not fit here; look at the line above and the indentation."
    ),
    "could not find expected ':'": "a key without its `:`.",
    "expected <block end>, but found '-'": _DASH,
    "expected <block end>, but found '<block sequence start>'": _DASH,
    "expected <block end>, but found '<block mapping start>'": (
        "this line is indented deeper than others."
    ),
    "expected <block end>, but found '<scalar>'": (
        "this text does not belong here; are quotes or a `:` missing?"
    ),
    "while scanning a quoted scalar": "a quote that is never closed.",
}


def load_yaml(path_name: str, text: bytes) -> tuple[Node | None, list[Problem]]:
    """The document in `text` and everything wrong with it, in the order of the file.

    `path_name` is what the problems call the file. No document (an empty file, only comments, or a
    file that can't be read at all) is None. Raises nothing, whatever the bytes.
    """
    problems: list[Problem] = []
    decoded = _decode(path_name, text, problems)
    if decoded is None:
        return None, problems
    if conflicts := _merge_conflicts(path_name, decoded):
        return None, conflicts
    if _DIFFERS.search(decoded) is None and (root := _read_by_libyaml(path_name, decoded)):
        return root, problems
    return _read(path_name, decoded, problems)


def _read_by_libyaml(path_name: str, text: str) -> Node | None:
    """The document, by the parser in C; None where there is none, or anything is wrong: what and
    where it is, Python's parser states better.
    """
    import yaml

    if not yaml.__with_libyaml__:
        return None
    problems: list[Problem] = []
    builder = _Builder(path_name, problems)
    # events alone: what it makes of nested ones by itself recurses
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            if not builder.take(event) or _is_empty(event):
                return None
    except (yaml.YAMLError, ValueError):
        return None
    if problems:
        return None
    return builder.root


def _is_empty(event: Any) -> bool:
    """Whether an event is a missing value, whose place libyaml gives one column further."""
    return not (getattr(event, "value", "x") or event.style)


def _read(path_name: str, text: str, problems: list[Problem]) -> tuple[Node | None, list[Problem]]:
    """The document and everything wrong with it."""
    import yaml

    builder = _Builder(path_name, problems)
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if not builder.take(event):
                break
    except yaml.MarkedYAMLError as error:
        builder.root = None
        problems.append(_from_parser(path_name, error))
    except (yaml.YAMLError, ValueError, OverflowError, IndexError, RecursionError) as error:
        # Beyond its own errors the parser raises these for escapes and numbers out of range (found
        # by mutation).
        builder.root = None
        problems.append(
            Problem(path_name, *builder.last, f"can't be read as YAML after this place: {error}.")
        )
    return builder.root, sorted(set(problems))[:_MAX_PROBLEMS]


def _merge_conflicts(path_name: str, text: str) -> list[Problem]:
    """Each conflict that a merge left in the text; YAML's parser would only report a key without
    its `:`.
    """
    if not text.startswith("<<<<<<<") and "\n<<<<<<<" not in text:
        return []
    hint = "Keep one side or both, and delete the lines that git added."
    problems = []
    start = 0
    for number, line in enumerate(_BREAK.split(text), 1):
        if line.startswith("<<<<<<<"):
            start = number
        elif line.startswith(">>>>>>>") and start:
            message = f"unresolved merge conflict, to line {number}."
            problems.append(Problem(path_name, start, 1, message, hint))
            start = 0
    return problems[:_MAX_PROBLEMS]


def _decode(path_name: str, text: bytes, problems: list[Problem]) -> str | None:
    """The text, or None with the reason added to `problems`."""
    if len(text) > MAX_BYTES:
        problems.append(
            Problem(
                path_name, 0, 0, f"{len(text)} bytes are too many; at most {MAX_BYTES} are read."
            )
        )
        return None
    try:
        # utf-8-sig: editors on Windows write a byte order mark
        decoded = text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, column = _place(text[: error.start].decode("utf-8-sig", "replace"))
        problems.append(
            Problem(path_name, line, column, "this byte is not UTF-8.", "Save the file as UTF-8.")
        )
        return None
    # before the parser, which reports such a character by its offset, without line and column
    bad = _UNPRINTABLE.search(decoded)
    if bad:
        line, column = _place(decoded[: bad.start()])
        problems.append(
            Problem(
                path_name,
                line,
                column,
                f"the character U+{ord(bad[0]):04X} is not allowed in YAML.",
            )
        )
        return None
    return decoded


def _place(before: str) -> tuple[int, int]:
    """Line and column (from 1) of what follows the text `before`."""
    lines = _BREAK.split(before)
    return len(lines), len(lines[-1]) + 1


def _from_parser(path_name: str, error: Any) -> Problem:
    """The parser's own complaint in our words where we have better ones."""
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
    message = str(error.problem or error.context or "it ends too early")
    if "'\\t'" in message:
        return Problem(path_name, line, column, "found a tab; YAML needs spaces.")
    better = _PARSER_MESSAGES.get(message) or (
        _PARSER_MESSAGES.get(str(error.context)) if "unexpected end" in message else None
    )
    return Problem(path_name, line, column, better or f"can't be read as YAML: {message}.")


_TRUE: Final = frozenset({"true", "yes", "on"})
_FALSE: Final = frozenset({"false", "no", "off"})
_HUMP: Final = lazy_pattern(r"(?<=[a-z0-9])(?=[A-Z])")


def snake_case(key: str) -> str:
    """`MayDependOn` → `may_depend_on`; anything that does not begin with a capital stays as it
    is.
    """
    if key[:1].isupper():
        return _HUMP.sub("_", key).lower()
    return key


class NodeReader:
    """A reader of the values of one file that gathers what is wrong with it."""

    def __init__(self, path_name: str, problems: list[Problem]) -> None:
        self.path, self.problems = path_name, problems

    def report(self, node: Node, message: str, hint: str = "") -> None:
        """Add a problem at the node's place."""
        self.problems.append(Problem(self.path, node.line, node.column, message, hint))

    def keys(
        self, node: Node, allowed: Sequence[str], where: str = ""
    ) -> dict[str, tuple[TextNode, Node]]:
        """Key and value by `snake_case` name (`PascalCase` is read too). `where` is like ` in layer
        "api"`.
        """
        if not isinstance(node, MapNode):
            self.report(node, f"expected keys and values{where}, found {_node_type(node)}.")
            return {}
        pairs: dict[str, tuple[TextNode, Node]] = {}
        for key, value in node.entries:
            name = snake_case(key.value)
            if name not in allowed:
                hint = suggest_spelling(name, allowed) or f"Known: {', '.join(allowed)}."
                self.report(key, f'unknown key "{key.value}"{where}.', hint)
            elif name in pairs:
                first = pairs[name][0]
                twice = f'"{key.value}" is given twice{where}'
                self.report(key, f'{twice} (first at line {first.line}, as "{first.value}").')
            else:
                pairs[name] = (key, value)
        return pairs

    def text(self, node: Node, what: str) -> str:
        """A text that is not empty; empty where it was wrong (and reported)."""
        if isinstance(node, TextNode) and node.value.strip():
            return node.value
        self.report(
            node,
            f"{what} must be text, not"
            f" {'empty' if isinstance(node, TextNode) else _node_type(node)}.",
        )
        return ""

    def items(self, node: Node, what: str) -> tuple[Node, ...]:
        """What a list holds."""
        if isinstance(node, ListNode):
            return node.items
        is_empty = isinstance(node, TextNode) and not node.value
        if is_empty:
            shape = "but is empty"
        else:
            shape = f"not {_node_type(node)}"
        self.report(node, f"{what} must be a list, {shape}.", "Write [] for none.")
        return ()

    def texts(self, node: Node, what: str) -> list[TextNode]:
        """The texts in a list, with their places."""
        return [
            n
            for n in self.items(node, what)
            if self.text(n, f"each of {what}") and isinstance(n, TextNode)
        ]

    def boolean(self, node: Node, what: str, default: bool) -> bool:
        """`true` or `false` (also yes, no, on, off, any case)."""
        if isinstance(node, TextNode):
            word = node.value.lower()
        else:
            word = ""
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
        self.report(node, f"{what} must be true or false.")
        return default

    def choice(self, node: Node, what: str, choices: Sequence[str]) -> str:
        """One of `choices`; the first of them where it was wrong (and reported)."""
        if isinstance(node, TextNode):
            word = node.value
        else:
            word = ""
        if word in choices:
            return word
        self.report(
            node, f"{what} must be one of: {', '.join(choices)}.", suggest_spelling(word, choices)
        )
        return choices[0]

    def number(self, node: Node, what: str, least: int, most: int, default: int) -> int:
        """A whole number within bounds, digits only."""
        if isinstance(node, TextNode):
            word = node.value
        else:
            word = ""
        if re.fullmatch(r"[0-9]{1,9}", word) and least <= int(word) <= most:
            return int(word)
        self.report(node, f"{what} must be a whole number from {least} to {most}.")
        return default
