"""Front matter and blocks of YAML in a decision of another tool: read strictly, with places, and written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Final

from kl_hooks.config.nodes import Listing, Node, Text
from kl_hooks.config.nodes import Mapping as Map
from kl_hooks.config.yaml import load
from kl_hooks.kinds.decision.formats.entry import NotReadable
from kl_hooks.kinds.decision.formats.words import field_of_key
from kl_hooks.model.record import Value
from kl_hooks.records.scalars import entry

_NAMED: Final = re.compile(r"(?i)(?:adr[-_ ]?)?\d{1,9}")
_EMPTY: Final = frozenset(("", "null", "~"))


def front_matter(text: str) -> tuple[dict[str, object], str]:
    """The keys and values between the lines `---` at the top, and the rest; ({}, text) where there are none.

    Values are text, lists of text, or maps of text. NotReadable with the line for YAML that can't be read.
    """
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return {}, text
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), 0)
    if not end:
        raise NotReadable("front matter begins here and never ends; a line `---` is missing.", 1)
    return block("\n".join(lines[1:end]), 1), "\n".join(lines[end + 1 :])


def number_in(keys: dict[str, object]) -> str:
    """Takes the ID of a decision out of the keys, and gives it; empty where they name none."""
    named = keys.get("id")
    if not isinstance(named, str) or not _NAMED.fullmatch(named.strip()):
        return ""
    del keys["id"]
    return named.strip()


def block(text: str, above: int = 0) -> dict[str, object]:
    """The keys and values of a block of YAML that has so many lines above it. NotReadable."""
    root, problems = load("", text.encode("utf-8", "replace"))
    if problems:
        raise NotReadable(
            problems[0].message + (f" {problems[0].hint}" if problems[0].hint else ""), above + problems[0].line
        )
    if root is None:
        return {}
    if not isinstance(root, Map):
        raise NotReadable("front matter must be keys and values.", above + root.line)
    return {key.value: _plain(node) for key, node in root.entries}


def written(values: Mapping[str, Value]) -> str:
    """A block of YAML with these keys and values, that `block` reads back as they are."""
    return "\n".join(_lines(values.items()))


def _lines(items: Iterable[tuple[str, Value]]) -> list[str]:
    return [line for name, value in items for line in entry(name, value, _is_date(name))]


def _plain(node: Node) -> object:
    if isinstance(node, Text):
        return "" if node.plain and node.value.lower() in _EMPTY else node.value
    if isinstance(node, Listing):
        return tuple(map(_leaf, node.items))
    return {key.value: _leaf(item) for key, item in node.entries}


def _leaf(node: Node) -> str:
    """Nothing of a decision is deeper than a list: what is, is kept as one text."""
    return node.value if isinstance(node, Text) else json.dumps(_plain(node), ensure_ascii=False)


def _is_date(key: str) -> bool:
    field = field_of_key(key)
    return field is not None and field.type == "date"
