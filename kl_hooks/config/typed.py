"""Takes typed values out of nodes; what does not fit becomes a Problem with place and nearest right spelling."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence
from typing import Final

from kl_hooks.config.nodes import Listing, Mapping, Node, Text, sort_of
from kl_hooks.model.problem import Problem

_TRUE: Final = frozenset({"true", "yes", "on"})
_FALSE: Final = frozenset({"false", "no", "off"})
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def nearest(word: str, known: Collection[str]) -> str:
    """`Did you mean "…"?` with the known word most like `word`; empty where none is like it."""
    close = difflib.get_close_matches(word[:80], sorted(known), n=1, cutoff=0.6)
    return f'Did you mean "{close[0]}"?' if close else ""


def snake(key: str) -> str:
    """`MayDependOn` → `may_depend_on`; anything that does not begin with a capital stays as it is."""
    return _HUMP.sub("_", key).lower() if key[:1].isupper() else key


class Reader:
    """Reads values of one file and gathers what is wrong with it."""

    def __init__(self, path_name: str, problems: list[Problem]) -> None:
        self.path, self.problems = path_name, problems

    def say(self, node: Node, message: str, hint: str = "") -> None:
        """Adds a problem at the node's place."""
        self.problems.append(Problem(self.path, node.line, node.column, message, hint))

    def keys(self, node: Node, known: Sequence[str], where: str = "") -> dict[str, tuple[Text, Node]]:
        """Key and value by `snake_case` name (`PascalCase` is read too). `where` is like ` in layer "api"`."""
        if not isinstance(node, Mapping):
            self.say(node, f"expected keys and values{where}, found {sort_of(node)}.")
            return {}
        found: dict[str, tuple[Text, Node]] = {}
        for key, value in node.entries:
            name = snake(key.value)
            if name not in known:
                self.say(
                    key,
                    f'unknown key "{key.value}"{where}.',
                    nearest(name, known) or f"Known: {', '.join(known)}.",
                )
            elif name in found:
                first = found[name][0]
                self.say(
                    key,
                    f'"{key.value}" is given twice{where} (first at line {first.line}, as "{first.value}").',
                )
            else:
                found[name] = (key, value)
        return found

    def text(self, node: Node, what: str) -> str:
        """A text that is not empty; empty where it was wrong (and said)."""
        if isinstance(node, Text) and node.value.strip():
            return node.value
        self.say(node, f"{what} must be text, not {'empty' if isinstance(node, Text) else sort_of(node)}.")
        return ""

    def items(self, node: Node, what: str) -> tuple[Node, ...]:
        """What a list holds."""
        if isinstance(node, Listing):
            return node.items
        empty = isinstance(node, Text) and not node.value
        self.say(
            node,
            f"{what} must be a list, {'but is empty' if empty else 'not ' + sort_of(node)}.",
            "Write [] for none.",
        )
        return ()

    def texts(self, node: Node, what: str) -> list[Text]:
        """The texts in a list, with their places."""
        return [n for n in self.items(node, what) if self.text(n, f"each of {what}") and isinstance(n, Text)]

    def boolean(self, node: Node, what: str, default: bool) -> bool:
        """`true` or `false` (also yes, no, on, off, any case)."""
        word = node.value.lower() if isinstance(node, Text) else ""
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
        self.say(node, f"{what} must be true or false.")
        return default

    def choice(self, node: Node, what: str, choices: Sequence[str]) -> str:
        """One of `choices`; the first of them where it was wrong (and said)."""
        word = node.value if isinstance(node, Text) else ""
        if word in choices:
            return word
        self.say(node, f"{what} must be one of: {', '.join(choices)}.", nearest(word, choices))
        return choices[0]

    def number(self, node: Node, what: str, least: int, most: int, default: int) -> int:
        """A whole number within bounds, digits only."""
        word = node.value if isinstance(node, Text) else ""
        if re.fullmatch(r"[0-9]{1,9}", word) and least <= int(word) <= most:
            return int(word)
        self.say(node, f"{what} must be a whole number from {least} to {most}.")
        return default
