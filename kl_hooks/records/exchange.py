"""Exchange: records of any kind as JSON or YAML, in the layouts of other tools too.

Fields are known by every name that a kind has for them. Reading gives raw values for `records.check`; writing gives
text that reading takes back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kl_hooks.config.nodes import Listing, Node, Text
from kl_hooks.config.nodes import Mapping as Map
from kl_hooks.config.yaml import load
from kl_hooks.model.canonical import replace_surrogates
from kl_hooks.model.kind import Kind
from kl_hooks.model.problem import Problem
from kl_hooks.model.record import Record, Value
from kl_hooks.records.check import checked
from kl_hooks.records.document import besides
from kl_hooks.records.plain import plain_values
from kl_hooks.records.scalars import entry

FORMATS: Final = ("json", "yaml")
_MOST: Final = 10_000
_BEYOND: Final = re.compile("[^\x00-\x7f]")
"""What ASCII has not. In our YAML it stands between double quotes, where it can be escaped."""


@dataclass(frozen=True, slots=True)
class Given:
    """A record as a file gives it."""

    id: str
    raw: Mapping[str, Any]
    """Values under names of fields, as `records.check` takes them."""
    body: str
    """Markdown: what no field bears is in it too."""
    place: tuple[str, int, int]
    """Which of the file it is, line and column, as a Problem has it."""


def read(kind: Kind, path: str, data: bytes) -> tuple[list[Given], list[Problem]]:
    """Each record in a file, and everything wrong in it: with a problem there are no records, and without records one.

    A file holds one object or a list of them; it is JSON if its name says so, else YAML.
    """
    whole, problems = _json(path, data) if path.endswith(".json") else _yaml(path, data)
    items = whole if isinstance(whole, list) else [whole]
    found: list[Given] = []
    if len(items) > _MOST:
        return [], [Problem(path, 0, 0, f"holds {len(items)} records; at most {_MOST} are read.")]
    if not items:
        return [], [
            Problem(path, 0, 0, "holds no record.", "Leave it out, or put one object, or a list of them, in it.")
        ]
    for number, item in enumerate([] if problems else items, 1):
        place = (path if len(items) == 1 else f"{path} ({number})", 0, 0)
        if not isinstance(item, Mapping):
            problems.append(Problem(*place, "expected keys and values.", "One object, or a list of them."))
            continue
        raw = {str(key): value for key, value in item.items()}
        identifier = str(next((raw.pop(name) for name in ("id", "Id", "ID") if name in raw), "") or "")
        body = next((raw.pop(name) for name in ("body", "Body") if name in raw), "") or ""
        if not isinstance(body, str):
            problems.append(Problem(*place, '"body" must be text.', "Markdown: what no field bears."))
            continue
        strange: list[Problem] = []
        problems += checked(kind, raw, lambda name, place=place: place, strange=strange)[1]  # type: ignore[misc]
        known = {name for name in raw if not _is_strange(kind, name)}
        rest = {name: value for name, value in raw.items() if name not in known and value not in (None, "", [], {})}
        said = {name: raw[name] for name in raw if name in known}
        found.append(Given(identifier, said, _whole(replace_surrogates(body), rest), place))
    return ([] if problems else found), problems


def write(kinds: Mapping[str, Kind], records: Sequence[Record], form: str, *, ascii_only: bool = False) -> str:
    """The records as one file: an object, or a list of them where there are several.

    `ascii_only`: every other character is escaped, as JSON and YAML do it, so that any terminal can bear the text.
    """
    texts = [besides(kinds[one.kind], one) for one in records]
    bodies: list[dict[str, Value]] = [{"body": text} if text else {} for text in texts]
    if form == "json":
        plain = [{"id": one.id} | plain_values(one) | body for one, body in zip(records, bodies, strict=True)]
        return json.dumps(plain[0] if len(plain) == 1 else plain, indent=2, ensure_ascii=ascii_only) + "\n"
    blocks = [
        [f"id: {one.id}", *(line for n, v in {**one.values, **body}.items() for line in entry(n, v))]
        for one, body in zip(records, bodies, strict=True)
    ]
    text = "".join(f"{'- ' if not n else '  '}{line}\n" for block in blocks for n, line in enumerate(block))
    text = "\n".join(blocks[0]) + "\n" if len(blocks) == 1 else text
    return _BEYOND.sub(lambda found: f"\\U{ord(found[0]):08x}", text) if ascii_only else text


def _is_strange(kind: Kind, name: str) -> bool:
    strange: list[Problem] = []
    checked(kind, {name: "x"}, lambda _: ("", 0, 0), whole=False, strange=strange)
    return bool(strange)


def _whole(body: str, rest: Mapping[str, Any]) -> str:
    """The body, and behind it, as Markdown, what no field bears: nothing is lost."""
    if not rest:
        return body
    lines = [
        f"- {name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in rest.items()
    ]
    return "\n".join([*([body, ""] if body else []), "Imported besides:", "", *lines])


def _json(path: str, data: bytes) -> tuple[Any, list[Problem]]:
    try:
        return json.loads(data), []
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 0)
        return None, [Problem(path, line, getattr(error, "colno", 0), f"can't be read as JSON: {error}.")]


def _yaml(path: str, data: bytes) -> tuple[Any, list[Problem]]:
    node, problems = load(path, data)
    if node is None:
        return None, problems or [Problem(path, 0, 0, "is empty.")]
    return _plain(node), problems


def _plain(node: Node) -> Any:
    if isinstance(node, Text):
        return node.value if node.value or not node.plain else None
    if isinstance(node, Listing):
        return [_plain(one) for one in node.items]
    assert isinstance(node, Map)
    return {key.value: _plain(value) for key, value in node.entries}
