"""Reads the works of a plan from an agents' configuration in YAML: a list, or a list under `agents` or `tasks`."""

from __future__ import annotations

from typing import Final

from kl_hooks.config.nodes import Listing, Mapping, Node, Text
from kl_hooks.config.problems import Problems
from kl_hooks.config.typed import Reader, snake
from kl_hooks.config.yaml import load
from kl_hooks.kinds.task.plan import Work
from kl_hooks.kinds.task.tokens import token
from kl_hooks.model.problem import Problem

_LISTS: Final = ("agents", "tasks")
_NAMES: Final = ("name", "id", "title")
_NEEDS: Final = ("requires", "needs")
_GIVES: Final = ("produces", "gives")


def read_works(path_name: str, text: bytes) -> list[Work]:
    """The works in `text`, in its order. Keys in PascalCase (`Agents`, `Requires`) are read too; others are left alone,
    since they are somebody else's settings. Raises Problems with everything that is wrong."""
    root, problems = load(path_name, text)
    reader = Reader(path_name, problems)
    works: list[Work] = []
    for node in _items(reader, root):
        work = _work(reader, node)
        first = next((one for one in works if work and one.name.casefold() == work.name.casefold()), None)
        if work and first:
            reader.say(
                node, f'"{work.name}" is there twice (first at line {first.line}).', "Give each a name of its own."
            )
        elif work:
            works.append(work)
    if problems:
        raise Problems(problems)
    return works


def _items(reader: Reader, root: Node | None) -> tuple[Node, ...]:
    if isinstance(root, Listing):
        return root.items
    if isinstance(root, Mapping):
        for key, value in root.entries:
            if snake(key.value) in _LISTS:
                return _named(value) if isinstance(value, Mapping) else reader.items(value, f'"{key.value}"')
        reader.say(root, 'neither "agents" nor "tasks" is there.', "List what is to be done under one of them.")
    elif not reader.problems:
        reader.problems.append(Problem(reader.path, 0, 0, "holds no list of agents or tasks.", 'Begin with "agents:".'))
    return ()


def _named(node: Mapping) -> tuple[Node, ...]:
    """`{writer: {requires: …}}` as a list of maps that have a name."""
    made: list[Node] = []
    for key, value in node.entries:
        entries = value.entries if isinstance(value, Mapping) else ()
        made.append(Mapping(((Text("name", key.line, key.column), key), *entries), key.line, key.column))
    return tuple(made)


def _work(reader: Reader, node: Node) -> Work | None:
    if not isinstance(node, Mapping):
        reader.say(node, "expected a map with name, requires and produces.")
        return None
    found = {snake(key.value): value for key, value in reversed(node.entries)}
    name = next((found[key] for key in _NAMES if key in found), None)
    text = reader.text(name, "its name") if name is not None else ""
    if name is None:
        reader.say(node, 'an entry without "name".')
    needs, gives = (_tokens(reader, found, keys) for keys in (_NEEDS, _GIVES))
    return Work(text.strip(), needs, gives, node.line) if text else None


def _tokens(reader: Reader, found: dict[str, Node], keys: tuple[str, ...]) -> tuple[str, ...]:
    key = next((one for one in keys if one in found), "")
    if not key or (isinstance(found[key], Text) and not found[key].value):  # type: ignore[union-attr]
        return ()
    node = found[key]
    items = [node] if isinstance(node, Text) else reader.items(node, f'"{key}"')
    made = []
    for one in items:
        text = reader.text(one, f'each of "{key}"')
        if text:
            try:
                made.append(token(text))
            except ValueError as error:
                reader.say(one, f'in "{key}": {error}.')
    return tuple(made)
