"""Reads the list of layers in a manifest: names, paths, and who may depend on whom."""

from __future__ import annotations

import re
from typing import Final

from kl_hooks.arch.paths import clean_path
from kl_hooks.config.nodes import Listing, Node, Text
from kl_hooks.config.typed import Reader, nearest, snake
from kl_hooks.model.manifest import Layer

BELOW: Final = "below"
AFRESH: Final = "delete this file and propose layers with: kl init"
"""The way on from a manifest that says nothing: `kl init` itself overwrites no file."""
_KEYS: Final = ("name", "paths", "may_depend_on", "decision", "namespaces")

_NAMESPACE: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")

Pair = tuple[Text, Node]
"""A key and its value."""


def read_layers(reader: Reader, node: Node, *, needed: bool = True) -> tuple[Layer, ...]:
    """Every layer of the list, from the bottom up; what is wrong goes to the reader's problems.

    `needed`: an empty list is wrong.
    """
    items = reader.items(node, '"layers"')
    if needed and not items and not reader.problems:
        reader.say(node, '"layers" is empty.', f"List some, or {AFRESH}")
    names: dict[str, Text] = {}
    raw = [one for one in (_layer(reader, item, names) for item in items) if one]
    _refuse_shared_paths(reader, raw)
    _refuse_shared_namespaces(reader, raw)
    made = []
    for place, (name, found) in enumerate(raw):
        below = tuple(other.value for other, _ in raw[:place])
        allowed, line = _allowed(reader, name, found, names, below)
        decision = plain_text(reader, found, "decision", f' of layer "{name.value}"')
        paths = tuple(path for path, _ in _paths(found))
        namespaces = tuple(dict.fromkeys(name for name, _ in _namespaces(found)))
        made.append(Layer(name.value, paths, allowed, line, decision, namespaces))
    return tuple(made)


def _layer(reader: Reader, item: Node, names: dict[str, Text]) -> tuple[Text, dict[str, Pair]] | None:
    """Name and keys of one layer, with everything checked that does not need the other layers."""
    title = _name_of(item)
    found = reader.keys(item, _KEYS, f' in layer "{title}"' if title else " in a layer")
    if not found:
        return None
    name = _checked_name(reader, item, found, names)
    _check_paths(reader, item, found, title)
    if name is None and "may_depend_on" in found:
        node = found["may_depend_on"][1]
        if not isinstance(node, Text):
            reader.texts(node, f'"may_depend_on" of layer "{title}"')
        elif node.value and node.value != BELOW:
            _refuse_text(reader, title, node, names)
    return (name, found) if name is not None else None


def _checked_name(reader: Reader, item: Node, found: dict[str, Pair], names: dict[str, Text]) -> Text | None:
    """The name of a layer, None where it can't be used; it joins `names`."""
    name = found["name"][1] if "name" in found else None
    if name is None:
        reader.say(item, 'a layer without "name".')
        return None
    if not reader.text(name, '"name"') or not isinstance(name, Text):
        return None
    if name.value in names:
        first = names[name.value].line
        reader.say(name, f'layer "{name.value}" is defined twice (first at line {first}).')
        return None
    if name.value == BELOW or re.search(r"[\s,]", name.value) or not name.value.isprintable():
        reader.say(name, f'"{name.value}" can\'t be the name of a layer (no spaces, no commas, not "{BELOW}").')
    names[name.value] = name
    return name


def _check_paths(reader: Reader, item: Node, found: dict[str, Pair], title: str) -> None:
    """Says what is wrong with the paths of a layer."""
    if "paths" not in found and "namespaces" in found:
        return  # packages from outside: no file here belongs to it
    if "paths" not in found:
        place = found["name"][1] if "name" in found else item
        reader.say(place, f'layer "{title}" has no "paths".', "Give the folders it owns.")
        return
    where, node = f'"paths" of layer "{title}"', found["paths"][1]
    if isinstance(node, Listing) and not node.items:
        reader.say(node, f"{where} names no folder.", "Give the folders it owns.")
    for text in reader.texts(node, where):
        _, complaint = clean_path(text.value)
        if complaint:
            reader.say(text, f'path "{text.value}" of layer "{title}" {complaint}.')


def _name_of(item: Node) -> str:
    """The name that a layer gives itself, for messages; empty where it has none."""
    for key, value in getattr(item, "entries", ()):
        if snake(key.value) == "name" and isinstance(value, Text):
            return value.value
    return ""


def _paths(found: dict[str, Pair]) -> list[tuple[str, Text]]:
    """The usable paths of a layer with their places; what is wrong with the others was said before."""
    node = found["paths"][1] if "paths" in found else None
    texts = [item for item in getattr(node, "items", ()) if isinstance(item, Text) and item.value.strip()]
    cleaned = [(clean_path(text.value), text) for text in texts]
    return [(path, text) for (path, complaint), text in cleaned if not complaint]


def _namespaces(found: dict[str, Pair]) -> list[tuple[str, Text]]:
    """The namespaces of a layer with their places; `shop.web.*` means `shop.web`."""
    node = found["namespaces"][1] if "namespaces" in found else None
    texts = [item for item in getattr(node, "items", ()) if isinstance(item, Text)]
    return [(name, text) for text in texts if (name := text.value.strip().removesuffix(".*"))]


def _refuse_shared_namespaces(reader: Reader, raw: list[tuple[Text, dict[str, Pair]]]) -> None:
    owners: dict[str, str] = {}
    for layer, found in raw:
        if "namespaces" in found:
            reader.texts(found["namespaces"][1], f'"namespaces" of layer "{layer.value}"')
        for name, text in _namespaces(found):
            if not _NAMESPACE.fullmatch(name):
                hint = "Write a dotted name, such as shop.web."
                reader.say(
                    text, f'"{text.value}" in "namespaces" of layer "{layer.value}" is no name of a module.', hint
                )
            elif owners.setdefault(name, layer.value) != layer.value:
                both = f'layers "{owners[name]}" and "{layer.value}" both own the namespace {name}.'
                reader.say(text, both, "Give it to one of them; a longer name wins over a shorter one.")


def _refuse_shared_paths(reader: Reader, raw: list[tuple[Text, dict[str, Pair]]]) -> None:
    owners: dict[str, str] = {}
    for name, found in raw:
        for path, text in _paths(found):
            owned = path.rstrip("/")
            if owners.get(owned) == name.value:
                reader.say(text, f'layer "{name.value}" names {path} twice.', "Take one out.")
            elif owned in owners:
                both = f'layers "{owners[owned]}" and "{name.value}" both own {path}.'
                reader.say(text, both, "Give it to one of them; a longer path wins over a shorter one.")
            owners.setdefault(owned, name.value)


def _allowed(
    reader: Reader, name: Text, found: dict[str, Pair], names: dict[str, Text], below: tuple[str, ...]
) -> tuple[tuple[str, ...], int]:
    """The layers that `name` may depend on, and the line that says so."""
    if "may_depend_on" not in found:
        return (), name.line
    key, node = found["may_depend_on"]
    if isinstance(node, Text) and node.value == BELOW:
        return below, key.line
    if isinstance(node, Text) and node.value:
        _refuse_text(reader, name.value, node, names)
        return (), key.line
    allowed = []
    for text in reader.texts(node, f'"may_depend_on" of layer "{name.value}"'):
        if text.value in names:
            allowed.append(text.value)
            continue
        unknown = f'layer "{name.value}" may depend on "{text.value}", which is not a layer.'
        listed = ", ".join(sorted(names))
        reader.say(text, f"{unknown} Layers: {listed}.", nearest(text.value, names))
    return tuple(dict.fromkeys(allowed)), key.line


def _refuse_text(reader: Reader, title: str, node: Text, names: dict[str, Text]) -> None:
    hint = f"Write [{node.value}]." if node.value in names else nearest(node.value, (BELOW,)) or "Write [] for none."
    reader.say(node, f'"may_depend_on" of layer "{title}" must be a list of layers, or {BELOW}.', hint)


def plain_text(reader: Reader, found: dict[str, Pair], key: str, where: str) -> str:
    """A text that may be left out; empty then."""
    return reader.text(found[key][1], f'"{key}"{where}') if key in found else ""
